"""What broke the verifier once: odd environments, odd streams, odd names, and expectations that leaked."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import Limits, Refusal, evaluate
from tests.support.bundles import Bundle, blamed, make
from tests.support.command import idkrules
from tests.support.places import ROOT

PYTHON = [sys.executable, "-m", "idkmesh_rules"]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return make(tmp_path / "case")


def test_a_working_directory_that_is_gone(bundle: Bundle, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    # The libraries are loaded first: what some of them make of such a place is theirs.
    code = (
        "import os, sys; from idkmesh_rules.cli import main; main(['self-test'])\n"
        "os.rmdir(os.getcwd()); sys.exit(main(sys.argv[1:]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, *bundle.arguments(tmp_path / "out")],
        cwd=gone, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")


def test_a_bundle_name_that_is_no_text(bundle: Bundle, tmp_path: Path) -> None:
    run = idkrules(*bundle.arguments(tmp_path / "out"), "--bundle", "bad\udcff")
    assert run.returncode == 4
    assert json.loads((tmp_path / "out" / "refusal.json").read_text())["reason"] == "bundle-unknown"


@pytest.mark.parametrize("output", ["a\0b", "a\udcffb\ud800", "foo/..", "case/work-unit.json/out"])
def test_an_output_path_that_cannot_be_made_is_refused(bundle: Bundle, tmp_path: Path, output: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Refusal) as caught:
        bundle.evaluate(output_dir=tmp_path / output)
    assert caught.value.reason == "output-unwritable"
    assert sorted(tmp_path.rglob("*")) == before


def test_paths_may_be_texts(bundle: Bundle, tmp_path: Path) -> None:
    paths = map(str, (bundle.work_unit, bundle.manifest, bundle.plan, bundle.candidate))
    assert evaluate(*paths, output_dir=str(tmp_path / "out"), durable=False).exit_code == 0


def test_more_bytes_than_a_patch_may_have_are_no_patch(bundle: Bundle) -> None:
    """Within the plan's limit, over the verifier's: hashed, not kept, and refused by the reader for its size."""
    evaluation = bundle.evaluate(limits=Limits(patch_bytes=50))
    structure = evaluation.store["patch.structure"]
    assert structure.rows[0][structure.kind.index["reason"]] == "limit"
    assert ("independent-review", "patch-well-formed") in blamed(evaluation)
    assert ("independent-review", "patch-intact") not in blamed(evaluation)


FULL = {
    "a refusal": (["validate", "--work-unit", "nothing", "--evaluator-plan", "nothing"], 4),
    "wrong usage": (["evaluate", "--nope"], 2),
    "an unknown reason": (["reasons", "no-such-reason"], 1),
    "a file that isn't there": (["digest", "no-such-file"], 4),
}


@pytest.mark.parametrize("what", FULL)
def test_a_full_stderr_changes_no_exit_code(what: str) -> None:
    arguments, code = FULL[what]
    with open("/dev/full", "w") as full:
        run = subprocess.run([*PYTHON, *arguments], stderr=full, stdout=subprocess.DEVNULL, cwd=ROOT)
    assert run.returncode == code


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "--help"], ["--version"]])
def test_help_that_cannot_be_written_is_no_bug(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run([*PYTHON, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert run.returncode == 4
    assert "Traceback" not in run.stderr


def test_a_closed_standard_input_is_a_file_that_cannot_be_read() -> None:
    run = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *PYTHON, "patch", "-"], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 3
    assert "unreadable" in run.stdout


UNPRIVILEGED = """
import os, sys
from idkmesh_rules.cli import main
from pathlib import Path
good, closed, *arguments = sys.argv[1:]
main(["patch", good]); main([*arguments, "--output-dir", closed + "-warm", "--quiet"])
Path(closed).chmod(0)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try: open(closed); sys.exit("opening did not fail")
except PermissionError: pass
sys.stdout.flush()
print("CODES", main(["patch", closed, good]), main(["digest", closed]), main([*arguments, "--output-dir", "/nowhere/out"]))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="dropping to another uid needs root")
def test_what_may_not_be_read_is_no_wrong_usage() -> None:
    """A file without permission: patch goes on to the next and exits 3, digest and evaluate exit 4; never 2."""
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        bundle = make(Path(scratch) / "case")
        arguments = bundle.arguments("")[:-2]
        run = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, str(bundle.candidate / "changes.patch"), str(bundle.plan), *arguments],
            capture_output=True, text=True, cwd=ROOT,
        )  # fmt: skip
        assert run.stdout.splitlines()[-1] == "CODES 3 4 4", run.stderr
        assert run.stdout.count("accept (1 files") >= 2


def test_sigterm_takes_away_what_is_half_made(bundle: Bundle, tmp_path: Path) -> None:
    """Terminated after ever longer delays, until runs get through: nothing half-made is left beside the output."""
    started = time.monotonic()
    assert idkrules(*bundle.arguments(tmp_path / "outs" / "whole")).returncode == 0
    step, survived, number = (time.monotonic() - started) / 20, 0, 0
    while survived < 3:
        run = subprocess.Popen([*PYTHON, *bundle.arguments(tmp_path / "outs" / str(number)), "--quiet"], cwd=ROOT)
        time.sleep(step * number)
        run.terminate()
        assert run.wait() in (0, 143, -signal.SIGTERM)
        survived += (tmp_path / "outs" / str(number)).exists()
        number += 1
    assert [path.name for path in (tmp_path / "outs").iterdir() if path.name.startswith(".")] == []


def test_file_names_forge_no_lines_and_drive_no_terminal(tmp_path: Path) -> None:
    name = tmp_path / "x\nevil.patch: accept (9 files)\x1b[2J\u202e"
    name.write_bytes(b"nothing\n")
    for run in (idkrules("patch", name), idkrules("digest", "--raw", name)):
        assert "\x1b" not in run.stdout
        assert "\u202e" not in run.stdout
        assert not any(line.startswith("evil.patch") for line in run.stdout.splitlines())


def test_printed_json_drives_no_terminal(tmp_path: Path) -> None:
    hostile = "id-\x9b31m\u202e\u200b\x7f"
    bundle = make(tmp_path / "case", lambda draft: draft.manifest.update(id=hostile))
    run = idkrules(*bundle.arguments(tmp_path / "out"), "--format", "json")
    assert run.returncode == 0
    assert not {"\x9b", "\u202e", "\u200b", "\x7f"} & set(run.stdout)
    assert json.loads(run.stdout)["result_manifest_id"] == hostile
    assert json.loads(run.stdout) == json.loads((tmp_path / "out" / "verification-result.json").read_text())


LEAKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "the backend is a list": lambda plan: plan.update(backend=[{"required_added_text": ["SECRET"]}]),
    "the backend is a text": lambda plan: plan.update(backend="SECRET"),
    "a value in a wrong place": lambda plan: plan["backend"].update(max_log_bytes="SECRET"),
    "a key in a wrong place": lambda plan: plan["backend"].update(SECRET=1),
    "a key on top": lambda plan: plan.update(SECRET=1),
    "a key that begins like another": lambda plan: plan.update(idSECRET=1),
    "an expectation under a wrong name": lambda plan: plan["backend"].update(required_added_SECRET=["x"]),
    "a parameter": lambda plan: plan.update(extensions={"org.idkmesh.rules": {"parameters": {"x": ["SECRET"]}}}),
    "the name of a parameter": lambda plan: plan.update(
        extensions={"org.idkmesh.rules": {"parameters": {"SECRET": 1}}}
    ),
    "a parameter of a wrong type": lambda plan: plan.update(
        extensions={"org.idkmesh.rules": {"parameters": {"max_prose_lines": "SECRET"}}}
    ),
    "the schema version": lambda plan: plan.update(schema_version="SECRET"),
    "the plan's id": lambda plan: plan.update(id=["SECRET"]),
    "the visibility itself": lambda plan: (
        plan.update(visibility="SECRET-hidden") or plan["backend"].update(type="SECRET")
    ),
}


@pytest.mark.parametrize("what", LEAKS)
def test_a_hidden_plan_that_is_wrong_shows_nothing_of_its_expectations(tmp_path: Path, what: str) -> None:
    bundle = make(tmp_path / "case", lambda draft: draft.plan.update(visibility="hidden"))
    bundle.rewrite("evaluator-plan.json", LEAKS[what])
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert run.returncode == 4
    shown = run.stdout + run.stderr + (tmp_path / "out" / "refusal.json").read_text()
    # The visibility is no expectation, and it is the one thing that its owner has to see.
    assert "SECRET" not in shown.replace("SECRET-hidden", "")
    assert "[hidden]" in shown
    revealed = idkrules(*bundle.arguments(tmp_path / "revealed"), "--reveal")
    assert "SECRET" in revealed.stderr


def test_a_plan_that_is_no_strict_json_shows_nothing_either(bundle: Bundle, tmp_path: Path) -> None:
    bundle.plan.write_text('{"SECRET": 1, "SECRET": 2}')
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert "evaluator-plan.json:1:15: a key stands twice in one object" in " ".join(run.stderr.split())
    assert "SECRET" not in run.stderr + (tmp_path / "out" / "refusal.json").read_text()


def test_digest_knows_shipped_bundles_and_reasons_answers_what_it_can() -> None:
    assert (
        idkrules("digest", "unified-diff").stdout.split()[0]
        == idkrules("digest", ROOT / "policies/unified-diff").stdout.split()[0]
    )
    run = idkrules("reasons", "binding-drift", "paths-authorized")
    assert run.returncode == 1
    assert "binding-drift" in run.stdout
    assert "a condition's name is explained in its rule bundle" in run.stderr
