"""The output directory: whole or absent, never over something, whatever dies."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from idkmesh_rules import Refusal
from idkmesh_rules.result.directory import publish
from tests.support.bundles import make
from tests.support.command import idkrules
from tests.support.places import ROOT

FILES = {"verification-result.json": b"{}\n", "inputs/plan.json": b"1", "evidence/a.json": b""}


def left_behind(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


@pytest.mark.parametrize("durable", [False, True])
def test_it_is_written_whole_and_private(tmp_path: Path, durable: bool) -> None:
    publish(tmp_path / "new" / "out", FILES, durable=durable)
    out = tmp_path / "new" / "out"
    assert {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()} == FILES
    assert [
        out.stat().st_mode & 0o777,
        (out / "inputs").stat().st_mode & 0o777,
        (out / "evidence/a.json").stat().st_mode & 0o777,
    ] == [0o700, 0o700, 0o600]
    assert left_behind(tmp_path / "new") == ["out"]


OBSTACLES: dict[str, Callable[[Path], object]] = {
    "an empty directory": Path.mkdir,
    "a file": Path.touch,
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "a full directory": lambda path: (path.mkdir(), (path / "x").touch()),
    "a link to a directory": lambda path: path.symlink_to("."),
}


@pytest.mark.parametrize("what", OBSTACLES)
def test_nothing_that_exists_is_replaced(tmp_path: Path, what: str) -> None:
    out = tmp_path / "out"
    OBSTACLES[what](out)
    before = (out.lstat().st_ino, left_behind(tmp_path))
    with pytest.raises(Refusal) as caught:
        publish(out, FILES, durable=False)
    assert caught.value.reason == "output-exists"
    assert (out.lstat().st_ino, left_behind(tmp_path)) == before


def test_evaluate_refuses_an_existing_output_before_it_looks_at_anything(tmp_path: Path) -> None:
    bundle = make(tmp_path / "case")
    bundle.plan.unlink()
    (tmp_path / "out").mkdir()
    with pytest.raises(Refusal) as caught:
        bundle.evaluate(output_dir=tmp_path / "out")
    assert caught.value.reason == "output-exists"
    assert left_behind(tmp_path / "out") == []


def test_two_runs_for_one_place_give_one_winner(tmp_path: Path) -> None:
    bundle = make(tmp_path / "case")
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "idkmesh_rules", *bundle.arguments(tmp_path / "out"), "--quiet"],
            cwd=ROOT,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    codes = sorted(run.wait() for run in runs)
    assert codes == [0, 4, 4, 4]
    for run in runs:
        assert run.stderr
        run.stderr.close()
    assert left_behind(tmp_path) == ["case", "out"]
    assert json.loads((tmp_path / "out" / "verification-result.json").read_text())["status"] == "passed"


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes every write beyond 1,000 bytes fail, as a full disk would."""
    bundle = make(tmp_path / "case")
    run = idkrules(
        *bundle.arguments(tmp_path / "out"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    )
    assert run.returncode == 4
    assert run.stderr.startswith("refused  output-unwritable (fault: verifier)")
    assert left_behind(tmp_path) == ["case"]


UNPRIVILEGED = """
import os, sys
from idkmesh_rules.cli import main
arguments, parent = sys.argv[2:], sys.argv[1]
# Everything is loaded while it can still be read.
assert main([*arguments, "--output-dir", parent + "-warm", "--quiet"]) == 0
os.chdir(parent); os.setgroups([]); os.setgid(65534); os.setuid(65534)
try: os.mkdir("probe"); sys.exit("making a directory did not fail")
except PermissionError: pass
sys.exit(main([*arguments, "--output-dir", "out"]))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="dropping to another uid needs root")
def test_a_read_only_parent_leaves_nothing() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        bundle, parent = make(Path(scratch) / "case"), Path(scratch) / "parent"
        parent.mkdir(mode=0o555)
        run = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, str(parent), *bundle.arguments("")[:-2]],
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        assert (run.returncode, run.stderr.partition(" (")[0]) == (4, "refused  output-unwritable")
        assert left_behind(parent) == []


def test_killed_at_any_moment_it_is_whole_or_absent(tmp_path: Path) -> None:
    """SIGKILL after ever longer delays, until runs have got through: the directory is complete or isn't there."""
    bundle = make(tmp_path / "case")
    started = time.monotonic()
    assert idkrules(*bundle.arguments(tmp_path / "whole")).returncode == 0
    whole, step = {path.name for path in (tmp_path / "whole").rglob("*")}, (time.monotonic() - started) / 20
    killed = survived = number = 0
    while survived < 3:
        out = tmp_path / f"out-{number}"
        run = subprocess.Popen([sys.executable, "-m", "idkmesh_rules", *bundle.arguments(out), "--quiet"], cwd=ROOT)
        time.sleep(step * number)
        run.send_signal(signal.SIGKILL)
        killed += run.wait() == -signal.SIGKILL
        if out.exists():
            survived += 1
            assert {path.name for path in out.rglob("*")} == whole
        number += 1
    assert killed


def test_a_file_system_without_noreplace_still_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the C library has no renameat2, a directory of our own making is replaced, and nobody else's."""
    import ctypes

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    publish(tmp_path / "out", FILES, durable=True)
    assert (tmp_path / "out" / "inputs" / "plan.json").read_bytes() == b"1"
    (tmp_path / "empty").mkdir()
    with pytest.raises(Refusal) as caught:
        publish(tmp_path / "empty", FILES, durable=False)
    assert caught.value.reason == "output-exists"
    assert left_behind(tmp_path) == ["empty", "out"]
    assert left_behind(tmp_path / "empty") == []
