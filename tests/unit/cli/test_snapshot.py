"""`idkrules snapshot`: complete and deterministic, or not made at all, each refusal with its exit code."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from idkmesh_rules import Limits, Refusal
from idkmesh_rules.contracts.schema import load_schema
from idkmesh_rules.pipeline.snapshot import snapshot
from tests.support.command import hearing_interrupts, idkrules
from tests.support.places import ROOT


@pytest.fixture
def pristine(tmp_path: Path) -> Path:
    root = tmp_path / "pristine"
    for name, data in {"src/b.py": b"b", "src/a.py": b"", "README.md": b"hi", ".git/HEAD": b"ref", "ü/é": b"x"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "src" / "a.py").chmod(0o755)
    return root


def test_a_baseline_is_complete_sorted_and_fits_a_plan(pristine: Path, tmp_path: Path) -> None:
    output = tmp_path / "control" / "baseline.json"
    run = idkrules("snapshot", "--root", pristine, "--output", output, "--ignore", ".git")
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{output}: 4 files, 4 bytes\n", "")
    found = json.loads(output.read_text())
    assert (found["algorithm"], found["complete"], found["ignore_paths"]) == ("sha256", True, [".git"])
    assert [file["path"] for file in found["files"]] == ["README.md", "src/a.py", "src/b.py", "ü/é"]
    shape = load_schema("evaluator-plan-0.1-workspace")["properties"]["baseline"]["properties"]
    assert found.keys() == shape.keys()
    assert all(file.keys() == {"path", "digest"} for file in found["files"])
    assert os.listdir(output.parent) == ["baseline.json"]


def test_the_same_tree_gives_the_same_bytes_and_modes_only_when_asked(pristine: Path, tmp_path: Path) -> None:
    for name, options in {"a": (), "b": (), "c": ("--modes",)}.items():
        assert idkrules("snapshot", "--root", pristine, "--output", tmp_path / name, *options).returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    modes = {file["path"]: file["mode"] for file in json.loads((tmp_path / "c").read_text())["files"]}
    assert modes["src/a.py"] == "100755"
    assert modes["src/b.py"] == "100644"
    assert ".git/HEAD" in modes, "nothing is ignored by itself"


def shut(root: Path) -> None:
    (root / "src" / "hole").write_bytes(b"")
    os.truncate(root / "src" / "hole", 2**41)


def not_utf8(root: Path) -> None:
    with open(os.fsencode(root) + b"/\xff", "wb"):
        pass


IMPURE: dict[str, tuple[Callable[[Path], object], int, str, str]] = {
    "a link": (lambda root: (root / "src" / "l").symlink_to("a.py"), 1, "tree-not-plain", "src/l"),
    "a FIFO": (lambda root: os.mkfifo(root / "pipe"), 1, "tree-not-plain", "pipe"),
    "a name that isn't UTF-8": (not_utf8, 1, "tree-not-plain", "\\xff"),
    "more than can be read": (shut, 3, "tree-unseen", "src/hole"),
}


@pytest.mark.parametrize("name", IMPURE)
def test_what_a_baseline_cannot_describe_is_refused(pristine: Path, tmp_path: Path, name: str) -> None:
    arrange, code, reason, place = IMPURE[name]
    arrange(pristine)
    run = idkrules("snapshot", "--root", pristine, "--output", tmp_path / "out.json")
    assert (run.returncode, run.stdout) == (code, "")
    assert run.stderr.startswith(f"refused  {reason} (fault: verifier)")
    assert f"pristine/{place}" in run.stderr
    assert not (tmp_path / "out.json").exists()


def test_what_is_ignored_may_be_anything(pristine: Path, tmp_path: Path) -> None:
    (pristine / "node_modules").mkdir()
    (pristine / "node_modules" / "link").symlink_to("/etc")
    run = idkrules(
        "snapshot", "--root", pristine, "--output", tmp_path / "o", "--ignore", "node_modules", "--ignore", ".git"
    )
    assert run.returncode == 0
    assert len(json.loads((tmp_path / "o").read_text())["files"]) == 4


WRONG: dict[str, tuple[Callable[[Path, Path], list[str]], int, str]] = {
    "no such root": (lambda root, out: ["--root", f"{root}-x", "--output", str(out)], 4, "candidate-root-unusable"),
    "a file as root": (lambda root, out: ["--root", f"{root}/README.md", "--output", str(out)], 4, "candidate-root-unusable"),
    "an output that exists": (lambda root, out: ["--root", str(root), "--output", str(root.parent)], 4, "output-exists"),
    "an output inside": (lambda root, out: ["--root", str(root), "--output", f"{root}/b.json"], 4, "output-inside-candidate"),
    "an output below a file": (
        lambda root, out: ["--root", str(root), "--output", f"{root}/README.md/x"], 4, "output-unwritable"),
    "an ambiguous pattern": (
        lambda root, out: ["--root", str(root), "--output", str(out), "--ignore", "!x"], 2, "begins with `!`"),
    "no output": (lambda root, out: ["--root", str(root)], 2, "Missing option '--output'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_told_with_its_exit_code(pristine: Path, tmp_path: Path, name: str) -> None:
    arguments, code, words = WRONG[name]
    run = idkrules("snapshot", *arguments(pristine, tmp_path / "out.json"))
    assert (run.returncode, run.stdout) == (code, "")
    assert words in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "out.json").exists()


def test_a_bound_is_no_baseline(pristine: Path, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        snapshot(pristine, tmp_path / "out.json", limits=Limits(tree_entries=3))
    assert caught.value.reason == "tree-unseen"
    assert not (tmp_path / "out.json").exists()


def test_a_full_disk_leaves_nothing(pristine: Path, tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "from idkmesh_rules.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    out = tmp_path / "out"
    run = subprocess.run(
        [sys.executable, "-c", code, "snapshot", "--root", str(pristine), "--output", str(out / "baseline.json")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 4
    assert "output-unwritable" in run.stderr
    assert os.listdir(out) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_snapshot_ends_at_once_and_leaves_nothing(tmp_path: Path, number: int, code: int) -> None:
    """Whoever stops it doesn't wait until a file of 30 GiB has been hashed."""
    root, out = tmp_path / "root", tmp_path / "out"
    root.mkdir()
    out.mkdir()
    with (root / "huge").open("wb") as file:
        file.truncate(30 * 2**30)
    run = subprocess.Popen(
        [sys.executable, "-m", "idkmesh_rules", "snapshot", "--root", str(root), "--output", str(out / "b")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hearing_interrupts,
    )
    task = Path(f"/proc/{run.pid}/task")
    deadline = time.monotonic() + 60
    while len(list(task.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(number)
    started = time.monotonic()
    assert run.wait(timeout=60) == code
    assert time.monotonic() - started < 10
    assert os.listdir(out) == []


def test_progress_is_shown_on_a_terminal_and_taken_away(tmp_path: Path) -> None:
    root = tmp_path / "many"
    root.mkdir()
    for number in range(1000):
        (root / str(number)).write_bytes(b"x")
    arguments = [sys.executable, "-m", "idkmesh_rules", "snapshot", "--root", str(root), "--output"]
    piped = subprocess.run([*arguments, str(tmp_path / "a")], capture_output=True, cwd=ROOT)
    assert (piped.returncode, piped.stderr) == (0, b"")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)}
    run = subprocess.Popen(
        [*arguments, str(tmp_path / "b")], stdout=subprocess.PIPE, stderr=theirs, cwd=ROOT, env=environment
    )
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.5)[0]:
            try:
                shown += os.read(ours, 4096)
            except OSError:
                break
    os.close(ours)
    stdout, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert b"hashing: 256 files" in shown
    assert shown.endswith(b"\r\x1b[K")
    assert stdout.endswith(b"b: 1,000 files, 1,000 bytes\n")
