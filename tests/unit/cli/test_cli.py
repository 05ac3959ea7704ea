"""The command line as people and scripts meet it: exit codes, streams, formats, and errors without tracebacks."""

import importlib.util
import io
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import __version__
from idkmesh_rules.model.reasons import REFUSALS
from tests.support.bundles import Bundle, make
from tests.support.command import hearing_interrupts, idkrules, idkrules_here
from tests.support.places import ROOT


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return make(tmp_path / "case")


VERBS = ("evaluate", "validate", "patch", "digest", "reasons", "self-test", "explain", "why-not", "replay", "impact")


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example_and_fits_a_terminal(verb: str) -> None:
    run = idkrules(verb, "--help", env={"COLUMNS": "80"})
    assert run.returncode == 0
    assert f"Example: idkrules {verb}" in " ".join(run.stdout.split())
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_version_and_bare_call() -> None:
    assert idkrules("--version").stdout == f"idkrules {__version__}\n"
    assert "evaluate" in idkrules().stdout + idkrules().stderr


USAGE = {
    "no such verb": ["evaluat"],
    "no such option": ["evaluate", "--work-units", "x"],
    "a missing option": ["evaluate"],
    "a format of its own": ["reasons", "--format", "xml"],
    "a missing value": ["evaluate", "--work-unit"],
    "a stray argument": ["self-test", "x"],
    "no file": ["digest"],
}


@pytest.mark.parametrize("what", USAGE)
def test_wrong_usage_exits_2_and_prints_only_on_stderr(what: str) -> None:
    run = idkrules(*USAGE[what])
    assert (run.returncode, run.stdout) == (2, "")
    assert "Error" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", ["work-unit", "evaluator-plan", "result-manifest"])
@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "nul"])
def test_unreadable_documents_are_refused_without_blocking(
    bundle: Bundle, tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / "odd"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    arguments = bundle.arguments(tmp_path / "out")
    arguments[arguments.index(f"--{name}") + 1] = "a/\udcffodd" if kind == "nul" else str(path)
    run = idkrules(*arguments)
    assert run.returncode == 4
    assert run.stderr.startswith("refused  document-unreadable (fault: verifier)")
    assert json.loads((tmp_path / "out" / "refusal.json").read_text())["reason"] == "document-unreadable"


def test_json_is_the_written_result_and_the_written_refusal(bundle: Bundle, tmp_path: Path) -> None:
    run = idkrules(*bundle.arguments(tmp_path / "out"), "--format", "json")
    assert run.stdout == (tmp_path / "out" / "verification-result.json").read_text()
    bundle.rewrite("evaluator-plan.json", lambda plan: plan["binding"].update(work_unit_version=9))
    run = idkrules(*bundle.arguments(tmp_path / "refused"), "--format", "json")
    assert (run.returncode, run.stderr) == (4, "")
    assert run.stdout == (tmp_path / "refused" / "refusal.json").read_text()
    assert set(json.loads(run.stdout)["digests"]) == {"work-unit", "evaluator-plan", "rule-bundle"}


def test_verify_is_evaluate(bundle: Bundle, tmp_path: Path) -> None:
    run = idkrules(*bundle.arguments(tmp_path / "out", verb="verify"), "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert (tmp_path / "out" / "verification-result.json").exists()


def test_a_reader_that_goes_away_does_not_change_the_verdict(bundle: Bundle, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [sys.executable, "-m", "idkmesh_rules", *bundle.arguments(tmp_path / "out")],
        stdout=writer,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    os.close(writer)
    assert (run.returncode, run.stderr) == (0, b"")


def test_an_output_that_cannot_be_written_never_looks_delivered(bundle: Bundle, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "idkmesh_rules", *bundle.arguments(tmp_path / "out"), "--format", "json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
    assert run.returncode == 4
    assert "the output can't be written: " in run.stderr
    assert "Traceback" not in run.stderr


def test_colour_only_on_a_terminal_that_wants_it(bundle: Bundle, tmp_path: Path) -> None:
    def on_a_terminal(output: str, **environment: str) -> bytes:
        leader, follower = pty.openpty()
        subprocess.run(
            [sys.executable, "-m", "idkmesh_rules", *bundle.arguments(tmp_path / output)],
            stdout=follower,
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm", **environment},
            check=True,
        )
        os.close(follower)
        return os.read(leader, 10000)

    assert b"\033[32maccept_candidate\033[0m" in on_a_terminal("one")
    assert b"\033" not in on_a_terminal("two", NO_COLOR="1")
    assert b"\033" not in on_a_terminal("three", TERM="dumb")
    assert "\033" not in idkrules(*bundle.arguments(tmp_path / "four")).stdout


def test_text_survives_an_ascii_terminal(bundle: Bundle, tmp_path: Path) -> None:
    run = idkrules(*bundle.arguments(tmp_path / "out"), env={"PYTHONIOENCODING": "ascii"})
    assert run.returncode == 0
    assert "\\u2713 independent-review: passed" in run.stdout


def test_candidate_text_cannot_drive_the_terminal(tmp_path: Path) -> None:
    def hostile(draft: object) -> None:
        draft.manifest["produced_artifacts"][0]["locator"] = "\x1b]0;owned\x07\u202egnp"  # type: ignore[attr-defined]
        draft.files["\x1b]0;owned\x07\u202egnp"] = b""  # type: ignore[attr-defined]
        draft.after.append(lambda late: late.files.pop("\x1b]0;owned\x07\u202egnp"))  # type: ignore[attr-defined]

    bundle = make(tmp_path / "case", hostile)
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert run.returncode == 1
    assert "\x1b" not in run.stdout
    assert "\u202e" not in run.stdout
    assert "patch is not the declared patch: \\x1b]0;owned\\x07\\u202egnp: nothing stands there" in " ".join(
        run.stdout.split()
    )


def test_validate_tells_what_fits_and_what_does_not(bundle: Bundle) -> None:
    arguments = ["validate", "--work-unit", bundle.work_unit, "--evaluator-plan", bundle.plan]
    run = idkrules(*arguments)
    assert (run.returncode, run.stderr) == (0, "")
    assert "unpinned" in run.stdout
    assert json.loads(idkrules(*arguments, "--format", "json").stdout)["bundle"]["pinned"] is False
    assert idkrules(*arguments, "--require-pin").returncode == 1
    assert idkrules(*arguments, "--bundle", "no-such-bundle").returncode == 4
    bundle.rewrite("work-unit.json", lambda unit: unit.update(version=4, kind="code"))
    bundle.rewrite(
        "evaluator-plan.json", lambda plan: plan["policy"].update(require_verifier_distinct_from_worker=False)
    )
    run = idkrules(*arguments)
    assert run.returncode == 1
    assert "work-unit.json#/kind" in run.stderr
    assert "evaluator-plan.json#/policy/require_verifier_distinct_from_worker" in run.stderr


def test_a_bundle_mistake_is_shown_with_line_column_and_caret(bundle: Bundle, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    text = (ROOT / "policies" / "unified-diff" / "bundle.yaml").read_text()
    (rules / "bundle.yaml").write_text(text.replace("must: {well_formed: true}", "must: {wel_formed: true}"))
    run = idkrules("validate", "--work-unit", bundle.work_unit, "--evaluator-plan", bundle.plan, "--bundle", rules)
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "must: {well_formed" in one)
    assert run.returncode == 1
    assert f"bundle.yaml:{line}:12" in run.stderr
    assert "did you mean" in run.stderr
    lines = run.stderr.splitlines()
    caret = next(number for number, one in enumerate(lines) if one.strip() == "^")
    assert lines[caret - 1][lines[caret].index("^") :].startswith("wel_formed")


def test_digest(bundle: Bundle, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"a": 1, "a": 2}')
    run = idkrules("digest", bundle.work_unit, ROOT / "policies" / "unified-diff")
    assert (
        run.stdout.splitlines()[0]
        == f"{json.loads(bundle.plan.read_text())['binding']['work_unit_digest']}  {bundle.work_unit}"
    )
    assert idkrules("digest", ROOT / "policies/unified-diff/bundle.yaml").stdout[:71] == run.stdout.splitlines()[1][:71]
    run = idkrules("digest", bad, bundle.work_unit)
    assert (run.returncode, len(run.stdout.splitlines())) == (1, 1)
    assert f"{bad}:1:10: the key" in run.stderr
    assert idkrules("digest", "--raw", bad).returncode == 0
    assert idkrules("digest", tmp_path / "nothing").returncode == 4


def test_reasons() -> None:
    everything = idkrules("reasons").stdout
    assert all(f"  {code}\n" in everything for code in [*REFUSALS, "prefix", "repeated"])
    assert [
        row["code"] for row in json.loads(idkrules("reasons", "binding-drift", "prefix", "--format", "json").stdout)
    ] == ["binding-drift", "prefix"]
    run = idkrules("reasons", "binding-drif")
    assert run.returncode == 1
    assert "did you mean binding-drift?" in run.stderr


def test_self_test_exits_0_only_for_the_expected_reasons() -> None:
    run = idkrules("self-test")
    assert run.returncode == 0
    assert "FAIL" not in run.stdout
    cases = json.loads(idkrules("self-test", "--format", "json").stdout)
    assert {case["case"].partition("/")[0] for case in cases} == {"accept", "reject", "refuse"}
    assert all(case["passed"] for case in cases)


def test_a_bug_is_called_a_bug_and_exits_5(tmp_path: Path) -> None:
    """A real fault in the installation: the schemas are damaged."""
    code = (
        "import sys; from idkmesh_rules import resources; resources.schema_bytes = lambda name: b'{'\n"
        "from idkmesh_rules.contracts import schema; schema.schema_bytes = resources.schema_bytes\n"
        "from idkmesh_rules.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    bundle = make(tmp_path / "case")
    run = subprocess.run(
        [sys.executable, "-c", code, *bundle.arguments(tmp_path / "out")], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 5
    assert "This is a bug in idkrules, not a verdict on anything." in run.stderr
    assert not (tmp_path / "out").exists()


def test_an_interrupt_is_no_verdict(tmp_path: Path) -> None:
    """SIGINT while the command waits for its input: exit 130, no traceback, nothing on stdout."""
    os.mkfifo(tmp_path / "patch")
    run = subprocess.Popen(
        [sys.executable, "-m", "idkmesh_rules", "patch", tmp_path / "patch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        preexec_fn=hearing_interrupts,
    )
    # Opening this end returns when the command has opened the other one, and so waits for input.
    writer = os.open(tmp_path / "patch", os.O_WRONLY)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    os.close(writer)
    assert (run.returncode, out) == (130, b"")
    assert b"Traceback" not in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_the_command_still_starts_is_no_verdict(number: int, code: int) -> None:
    """The signal arrives, for real, at the moment when the verbs are about to be imported."""
    start = (
        "import os, sys\n"
        "class AtThisImport:\n"
        "    def find_spec(self, name, *others):\n"
        f"        if name == 'idkmesh_rules.cli.app': os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, AtThisImport())\n"
        "from idkmesh_rules.cli import main\n"
        "sys.exit(main(['reasons']))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, cwd=ROOT, preexec_fn=hearing_interrupts
    )
    assert (run.returncode, run.stdout, run.stderr) == (code, "", "")


def test_closed_streams_are_no_crash(bundle: Bundle, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "idkmesh_rules", *bundle.arguments(tmp_path / "out")]
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command], cwd=ROOT)
    assert closed.returncode in (0, 4)
    assert (tmp_path / "out" / "verification-result.json").exists()


def test_refusals_of_validate_come_as_json_too(bundle: Bundle) -> None:
    bundle.rewrite("work-unit.json", lambda unit: unit.update(kind="code"))
    run = idkrules("validate", "--work-unit", bundle.work_unit, "--evaluator-plan", bundle.plan, "--format", "json")
    assert (run.returncode, run.stderr) == (1, "")
    assert json.loads(run.stdout)["problems"][0]["pointer"] == "/kind"


def test_a_pinned_contract_says_nothing_of_a_missing_pin(bundle: Bundle) -> None:
    digest = idkrules("digest", ROOT / "policies/unified-diff").stdout.split()[0]
    extension = {"org.idkmesh.rules": {"bundle": {"id": "unified-diff", "digest": digest}}}
    bundle.rewrite("evaluator-plan.json", lambda plan: plan.update(extensions=extension))
    run = idkrules("validate", "--work-unit", bundle.work_unit, "--evaluator-plan", bundle.plan, "--require-pin")
    assert run.returncode == 0
    assert "unpinned" not in run.stdout


def test_a_work_unit_that_nothing_can_satisfy_is_noted(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.unit["permissions"]["filesystem_write"] = []
        draft.unit["constraints"].update(allowed_paths=[], forbidden_paths=["**"])

    bundle = make(tmp_path, edit)
    run = idkrules("validate", "--work-unit", bundle.work_unit, "--evaluator-plan", bundle.plan, "--format", "json")
    notes = json.loads(run.stdout)["notes"]
    assert run.returncode == 0
    assert [
        word for word in ("unpinned", "allowed_paths", "filesystem_write", "forbidden_paths") if word in " ".join(notes)
    ] == ["unpinned", "allowed_paths", "filesystem_write", "forbidden_paths"]


@pytest.mark.parametrize(
    ("arguments", "code"), [(["evaluate", "--nope"], 2), (["digest", "no-such-file"], 4), (["reasons", "x"], 1)]
)
def test_a_closed_stderr_changes_no_exit_code(arguments: list[str], code: int) -> None:
    command = [sys.executable, "-m", "idkmesh_rules", *arguments]
    assert subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], cwd=ROOT).returncode == code


def test_a_stream_without_a_descriptor_is_written_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever embeds the command line may have put an object of its own in place of stdout."""
    from idkmesh_rules.cli.output import emit

    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Broken())
    assert emit("text", 0) == 4


@pytest.mark.parametrize("fault", ["raise BrokenPipeError(32, 'gone')", "raise SystemExit(0)", "return None"])
def test_whatever_ends_a_verb_without_a_code_never_says_accept(bundle: Bundle, tmp_path: Path, fault: str) -> None:
    """Exit 0 is `accept_candidate`: a fault that typer or the interpreter would make an exit of is a bug, 5."""
    code = (
        "import sys; from idkmesh_rules.cli import evaluate, main\n"
        "real = evaluate.evaluate\n"
        "import functools\n"
        "@functools.wraps(real)\n"
        f"def broken(**options): {fault}\n"
        "evaluate.evaluate = broken\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, *bundle.arguments(tmp_path / "out")], cwd=ROOT, capture_output=True
    )
    assert run.returncode == 5
    assert not (tmp_path / "out").exists()


def test_broker_init_says_how_to_get_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "cryptography" else find(name, *more)
    )
    run = idkrules_here("broker", "init", tmp_path / "broker")
    assert run.returncode == 4
    assert "idkmesh-rules[grading]" in run.stderr
