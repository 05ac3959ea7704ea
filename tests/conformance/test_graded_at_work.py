"""`grade` in use: interrupted, asked twice at once, many plans over one state, graders that fail, and every format."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from idkmesh_rules.resources import schema_bytes
from tests.support.command import hearing_interrupts, idkrules, idkrules_here
from tests.support.graded import Graded, builder, needs
from tests.support.places import ROOT


@pytest.fixture
def example(tmp_path: Path) -> Graded:
    needs()
    return Graded(tmp_path / "example")


def slowed(example: Graded, seconds: float) -> None:
    """Make the honest candidate take its time."""
    path = example.candidate("honest") / "solution.py"
    path.write_text(path.read_text() + f"import time\ntime.sleep({seconds})\n")
    digest = builder.sha256(path.read_bytes())
    manifest = "cases/honest/result-manifest.json"
    example.rewrite(lambda value: value["produced_artifacts"][0].update(digest=digest), manifest)


def started(*arguments: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "idkmesh_rules", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hearing_interrupts,
    )


def wait_for(pattern: str, place: Path) -> None:
    until = time.monotonic() + 20
    while not list(place.glob(pattern)):
        assert time.monotonic() < until, f"no {pattern} in {place}"
        time.sleep(0.005)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupted_grading_leaves_nothing_and_stays_undecided(
    example: Graded, tmp_path: Path, sent: int, code: int
) -> None:
    slowed(example, 2)
    journal = tmp_path / "journal"
    run = started(*example.arguments("honest", tmp_path / "out", journal))
    wait_for("jobs/receipt-*", journal)
    time.sleep(0.1)
    run.send_signal(sent)
    _out, error = run.communicate(timeout=30)
    assert run.returncode == code
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".idkrules-*"))
    again = idkrules(*example.arguments("honest", tmp_path / "again", journal))
    assert again.returncode == 3
    told = json.loads((tmp_path / "again" / "verification-result.json").read_text())
    assert told["decision_support"]["recommendation"] == "insufficient_evidence"
    facts = (tmp_path / "again" / "facts.json").read_text()
    assert "a job was begun by a process that is gone, and nobody can say what it came to" in facts
    assert idkrules("replay", tmp_path / "again").returncode == 0


def test_two_that_ask_for_one_grading_at_once_run_it_once(example: Graded, tmp_path: Path) -> None:
    slowed(example, 0.5)
    journal = tmp_path / "journal"
    first = started(*example.arguments("honest", tmp_path / "first", journal))
    wait_for("jobs/receipt-*", journal)
    second = idkrules(*example.arguments("honest", tmp_path / "second", journal))
    assert second.returncode == 4
    assert second.stderr.startswith("refused  journal-unusable (fault: verifier)")
    assert "another process holds this journal" in " ".join(second.stderr.split())
    first.communicate(timeout=30)
    assert first.returncode == 0
    assert len(list(journal.glob("jobs/receipt-*"))) == 2


def test_many_plans_are_graded_beside_each_other_over_one_state(example: Graded, tmp_path: Path) -> None:
    plans = []
    for number in range(4):
        plan = json.loads(example.plan.read_text())
        plan["assessment_id"] = f"merge-intervals/{number}"
        for role, job in plan["jobs"].items():
            job["job_id"] = f"merge-intervals/{number}/{role}"
        path = example.place / f"plan-{number}.json"
        path.write_text(json.dumps(plan))
        plans.append(path)
    runs = []
    for number, path in enumerate(plans):
        arguments = example.arguments("honest", tmp_path / f"out-{number}", tmp_path / "journal")
        arguments[arguments.index(example.plan)] = path
        runs.append(started(*arguments))
    for run in runs:
        out, error = run.communicate(timeout=60)
        assert run.returncode == 0, out + error
    assert len(list((tmp_path / "journal" / "jobs").glob("result-*"))) == 8


GRADERS = {
    "crashes": b"raise SystemExit(3)\n",
    "never ends": b"import time\ntime.sleep(60)\n",
    "says nonsense": b'import os\nos.write(3, b"everything is fine")\n',
    "speaks of other checks": b'import os\nos.write(3, b\'{"protocol":"cortex.json-equality.v1","checks":{"x":"passed"}}\')\n',
}


@pytest.mark.parametrize("name", GRADERS)
def test_a_grader_that_fails_is_never_held_against_an_honest_candidate(
    example: Graded, tmp_path: Path, name: str
) -> None:
    example.protect("protected/grader/run.py", GRADERS[name])
    example.rewrite(lambda plan: plan["jobs"]["grader"]["limits"].update(wall_seconds=1))
    honest = idkrules(*example.arguments("honest", tmp_path / "honest", tmp_path / "journal"))
    assert honest.returncode == 3, honest.stdout
    wrong = idkrules(*example.arguments("wrong", tmp_path / "wrong", tmp_path / "other"))
    assert wrong.returncode == 1, wrong.stdout


def test_a_grader_that_passes_everything_is_a_disagreement_about_a_wrong_value(example: Graded, tmp_path: Path) -> None:
    said = {"protocol": builder.PROTOCOL, "checks": dict.fromkeys(builder.EXPECTED, "passed")}
    example.protect("protected/grader/run.py", f"import os\nos.write(3, {json.dumps(said).encode()!r})\n".encode())
    run = idkrules(*example.arguments("wrong", tmp_path / "out", tmp_path / "journal"))
    assert run.returncode == 1
    assert "values and grader disagree about the protected check touching" in " ".join(run.stdout.split())


def test_the_result_is_printed_as_one_valid_document(example: Graded, tmp_path: Path) -> None:
    arguments = [*example.arguments("wrong", tmp_path / "out", tmp_path / "journal"), "--format", "json"]
    run = idkrules(*arguments, "--output", f"junit={tmp_path / 'junit.xml'}")
    assert run.returncode == 1
    value = json.loads(run.stdout)
    jsonschema.Draft202012Validator(json.loads(schema_bytes("verification-result-0.1"))).validate(value)
    assert value["decision_support"]["recommendation"] == "reject_candidate"
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    failed = [each.get("name") for each in suite.iter("testcase") if each.find("failure") is not None]
    assert failed == ["values-equal"]


def test_quietly_only_the_exit_code_tells(example: Graded, tmp_path: Path) -> None:
    run = idkrules(*example.arguments("honest", tmp_path / "out", tmp_path / "journal"), "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    again = idkrules_here(*example.arguments("honest", tmp_path / "again", tmp_path / "journal"), "--quiet")
    assert (again.returncode, again.stdout) == (0, "")


def test_graded_results_can_be_decided_by_other_rules(example: Graded, tmp_path: Path) -> None:
    for case in ("honest", "wrong"):
        idkrules(*example.arguments(case, tmp_path / case, tmp_path / f"journal-{case}"))
    bundle = ROOT / "policies" / "sandboxed-equality"
    run = idkrules("impact", bundle, bundle, tmp_path / "honest", tmp_path / "wrong")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2" in run.stdout


@pytest.mark.parametrize("given", ["python", "=dir", "name=", "a=b=c"])
def test_a_runtime_is_named_with_its_directory(example: Graded, tmp_path: Path, given: str) -> None:
    run = idkrules_here(*example.arguments("honest", tmp_path / "out", tmp_path / "journal"), "--runtime", given)
    assert run.returncode == (4 if given == "a=b=c" else 2)
    assert "--runtime" in run.stderr
    assert "Traceback" not in run.stderr


def test_without_cryptography_it_says_how_to_get_it(
    example: Graded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "cryptography" else find(name, *more)
    )
    run = idkrules_here(*example.arguments("honest", tmp_path / "out", tmp_path / "journal"))
    assert run.returncode == 4
    assert "idkmesh-rules[grading]" in run.stderr


def test_a_full_disk_is_the_hosts_affair(example: Graded, tmp_path: Path) -> None:
    """A state that has no room left: refused or undecided, and never a word against the candidate."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    small = tmp_path / "small"
    small.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", small], check=True)
    try:
        for size in (60, 44, 28, 12):
            journal = small / f"journal-{size}"
            filler = small / "filler"
            filler.write_bytes(b"x" * (size << 10))
            run = idkrules(*example.arguments("honest", tmp_path / f"out-{size}", journal))
            assert run.returncode in (0, 3, 4), run.stdout + run.stderr
            assert "Traceback" not in run.stderr, run.stderr
            assert "bug" not in run.stderr, run.stderr
            filler.unlink()
            for each in sorted(journal.rglob("*"), reverse=True):
                each.unlink() if each.is_file() else each.rmdir()
    finally:
        subprocess.run(["umount", small], check=True)
