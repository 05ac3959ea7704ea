"""What `grade` refuses before anything is consumed, each with its reason, its place, and no job started."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import Refusal
from idkmesh_rules.pipeline.grade import grade
from idkmesh_rules.sandbox.local import LocalSandbox
from tests.support.command import idkrules
from tests.support.graded import Graded, builder, needs


@pytest.fixture
def example(tmp_path: Path) -> Graded:
    return Graded(tmp_path / "example")


def refused(example: Graded, tmp_path: Path, *, sandbox: LocalSandbox | None = None, **options: Any) -> Refusal:
    """The refusal of grading the honest case; no job may have been accepted."""
    needs()
    case = example.place / "cases" / "honest"
    arguments = {
        "work_unit": example.place / "work-unit.json",
        "result_manifest": case / "result-manifest.json",
        "evaluator_plan": example.plan,
        "candidate_root": case / "candidate",
        "journal": tmp_path / "journal",
        "output_dir": tmp_path / "out",
    } | options
    known = set(Path(arguments["journal"]).glob("jobs/*"))
    with pytest.raises(Refusal) as caught:
        grade(**arguments, sandbox=sandbox or LocalSandbox())
    assert set(Path(arguments["journal"]).glob("jobs/*")) == known
    refusal = caught.value
    if not refusal.reason.startswith("output"):
        assert json.loads((tmp_path / "out" / "refusal.json").read_text())["reason"] == refusal.reason
    return refusal


def rebound(example: Graded, edit: Callable[[Any], Any]) -> None:
    """Change the WorkUnit, and bind plan and manifest to the changed one."""
    example.rewrite(edit, "work-unit.json")
    digest = builder.canonical(json.loads((example.place / "work-unit.json").read_text()))
    example.rewrite(lambda value: value["binding"].update(work_unit_digest=digest))
    manifest = "cases/honest/result-manifest.json"
    example.rewrite(lambda value: value["provenance"].update(work_unit_digest=digest), manifest)


def no_execution(example: Graded) -> None:
    rebound(example, lambda unit: unit["permissions"].update(process_execution=False))


def small_budget(example: Graded) -> None:
    rebound(example, lambda unit: unit["budget"].update(wall_seconds=5))


def missing_file(example: Graded) -> None:
    (example.place / "protected" / "grader" / "run.py").unlink()


def other_file(example: Graded) -> None:
    (example.place / "protected" / "expected.json").write_bytes(b"{}")


def huge_file(example: Graded) -> None:
    data = b" " * (1 << 20) + (example.place / "protected" / "test-bundle.json").read_bytes()
    example.protect("protected/test-bundle.json", data)


def directory(example: Graded) -> None:
    (example.place / "protected" / "grader" / "run.py").unlink()
    (example.place / "protected" / "grader" / "run.py").mkdir()


def no_protocol(example: Graded) -> None:
    example.protect("protected/test-bundle.json", b'{"protocol": "cortex.json-equality.v2", "checks": ["empty"]}')


def other_checks(example: Graded) -> None:
    example.protect("protected/result-schema.json", b'{"protocol": "cortex.json-equality.v1", "checks": ["empty"]}')


def other_names(example: Graded) -> None:
    example.protect("protected/expected.json", b'{"protocol": "cortex.json-equality.v1", "values": {"empty": []}}')


def huge_candidates(example: Graded) -> None:
    example.rewrite(lambda plan: plan.update(max_candidate_bytes=(64 << 20) + 1))


def long_argument(example: Graded) -> None:
    example.rewrite(lambda plan: plan["jobs"]["grader"]["command"].append("x" * 5000))


def zero_byte(example: Graded) -> None:
    example.rewrite(lambda plan: plan["jobs"]["grader"]["command"].append("a\0b"))


def candidate_as_program(example: Graded) -> None:
    example.rewrite(lambda plan: plan["jobs"]["candidate"].update(command=["/inputs/candidate"]))


def control(example: Graded) -> None:
    example.rewrite(lambda plan: plan["required_controls"].append("tamper-proof-clock"))


def runtime(example: Graded) -> None:
    example.rewrite(lambda plan: plan["jobs"]["grader"].update(runtime="python-2.7"))


def command(example: Graded) -> None:
    example.rewrite(lambda plan: plan["jobs"]["candidate"].update(command=["/usr/bin/no-such-program"]))


def output(example: Graded) -> None:
    example.rewrite(lambda plan: plan["jobs"]["candidate"]["limits"].update(output_bytes=1 << 40))


REFUSALS: dict[str, tuple[Callable[[Graded], None], str, str, str]] = {
    "the WorkUnit allows no execution": (
        no_execution,
        "plan-exceeds-work-unit",
        "/execution_mode",
        "process_execution",
    ),
    "both jobs together exceed its wall time": (small_budget, "plan-exceeds-work-unit", "/jobs", "6 seconds"),
    "a protected file is missing": (missing_file, "protected-invalid", "/jobs/grader/evaluator/0", "can't be read"),
    "a protected file is a directory": (directory, "protected-invalid", "/jobs/grader/evaluator/0", "regular file"),
    "a protected file isn't the pinned one": (other_file, "protected-invalid", "/fixture", "has the digest sha256:"),
    "a protected file is too large": (huge_file, "protected-invalid", "/test_bundle", "more than 1048576 bytes"),
    "a test bundle of another protocol": (no_protocol, "protected-invalid", "/test_bundle", "not of the protocol"),
    "a result schema of other checks": (other_checks, "protected-invalid", "/result_schema", "other checks"),
    "expected values of other checks": (other_names, "protected-invalid", "/fixture", "exactly the declared checks"),
    "candidates that would be cut": (huge_candidates, "sandbox-unfit", "/max_candidate_bytes", "67108864"),
    "a command that no result could hold": (long_argument, "sandbox-unfit", "/jobs", "4096 characters"),
    "a command with a zero byte": (zero_byte, "document-invalid", "/jobs/grader/command/3", "[hidden]"),
    "the candidate as its own driver": (
        candidate_as_program,
        "sandbox-unfit",
        "/jobs/candidate",
        "neither in the runtime python3 nor among its evaluator files",
    ),
    "a control that nobody enforces": (
        control,
        "sandbox-unfit",
        "/required_controls",
        "tamper-proof-clock is no control",
    ),
    "a runtime that isn't there": (runtime, "sandbox-unfit", "/jobs/grader", "there is no runtime 'python-2.7' here"),
    "a command that isn't there": (command, "sandbox-unfit", "/jobs/candidate", "neither in the runtime python3 nor"),
    "more output than a host holds": (
        output,
        "sandbox-unfit",
        "/jobs/candidate",
        "limits.output_bytes is at most 16777216",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_grading_that_can_not_be_is_refused(example: Graded, tmp_path: Path, name: str) -> None:
    edit, reason, pointer, said = REFUSALS[name]
    edit(example)
    refusal = refused(example, tmp_path)
    assert (refusal.reason, refusal.fault) == (reason, "verifier")
    told = {problem.pointer: problem.message for problem in refusal.problems}
    assert pointer in told, told
    assert said in told[pointer]


def test_a_plan_of_metadata_is_for_evaluate(tmp_path: Path) -> None:
    from tests.support.bundles import make

    bundle = make(tmp_path / "case")
    run = idkrules(*bundle.arguments(tmp_path / "out", "grade"), "--journal", tmp_path / "journal")
    assert run.returncode == 4
    assert run.stderr.startswith("refused  plan-metadata-only (fault: verifier)")
    assert "idkrules evaluate" in run.stderr
    assert not (tmp_path / "journal").exists()


def test_without_bubblewrap_it_says_how_to_get_it(example: Graded, tmp_path: Path) -> None:
    refusal = refused(example, tmp_path, sandbox=LocalSandbox(bwrap=str(tmp_path / "bwrap")))
    assert refusal.reason == "sandbox-unavailable"
    assert "apt-get install bubblewrap libseccomp2" in str(refusal.problems[0])


def test_an_old_bubblewrap_is_none(example: Graded, tmp_path: Path) -> None:
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho bubblewrap 0.4.1\n")
    old.chmod(0o755)
    refusal = refused(example, tmp_path, sandbox=LocalSandbox(bwrap=str(old)))
    assert refusal.reason == "sandbox-unavailable"
    assert "0.8.0 is needed" in str(refusal.problems[0])


def test_a_bubblewrap_that_makes_no_sandbox_is_none(example: Graded, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit 0\necho no namespaces >&2\nexit 1\n'
    )
    broken.chmod(0o755)
    for each in (tmp_path, *tmp_path.parents[:-1]):
        if each.stat().st_uid == os.geteuid() and each != Path("/tmp"):
            each.chmod(0o755)
    refusal = refused(example, tmp_path, sandbox=LocalSandbox(bwrap=str(broken)))
    assert refusal.reason == "sandbox-unavailable"
    assert "no namespaces" in str(refusal.problems[0])
    assert "user namespaces" in str(refusal.problems[0])


def test_protected_files_inside_the_candidate_are_refused(example: Graded, tmp_path: Path) -> None:
    inside = example.candidate("honest") / "expected.json"
    os.link(example.place / "protected" / "expected.json", inside)
    refusal = refused(example, tmp_path)
    assert refusal.reason == "control-inside-candidate"
    assert "/fixture" in str(refusal.problems[0])


def test_a_journal_inside_the_candidate_is_refused(example: Graded, tmp_path: Path) -> None:
    refusal = refused(example, tmp_path, journal=example.candidate("honest") / "journal")
    assert refusal.reason == "control-inside-candidate"
    assert not (example.candidate("honest") / "journal").exists()


def test_a_state_that_the_runtime_would_show_is_refused(example: Graded, tmp_path: Path) -> None:
    refusal = refused(example, tmp_path, journal=Path("/usr/lib64/idkrules-journal"))
    assert refusal.reason == "sandbox-unfit"
    assert "could read it" in refusal.problems[0].message
    assert not Path("/usr/lib64/idkrules-journal").exists()


def test_a_journal_that_git_would_track_is_refused(example: Graded, tmp_path: Path) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    refusal = refused(example, tmp_path, journal=tmp_path / "repository" / "state")
    assert refusal.reason == "journal-unusable"
    assert "git working tree" in refusal.problems[0].message
    (tmp_path / "repository" / ".gitignore").write_text("/state/\n")
    shutil.rmtree(tmp_path / "out")
    assert idkrules(*example.arguments("honest", tmp_path / "out", tmp_path / "repository" / "state")).returncode == 0


def test_what_ended_under_a_key_that_was_rotated_is_answered_still(example: Graded, tmp_path: Path) -> None:
    needs()
    assert idkrules(*example.arguments("honest", tmp_path / "first", tmp_path / "journal")).returncode == 0
    assert idkrules("broker", "init", tmp_path / "journal" / "broker", "--rotate").returncode == 0
    assert idkrules(*example.arguments("honest", tmp_path / "second", tmp_path / "journal")).returncode == 0
    for file in ("facts.json", "attestations/broker.json", "attestations/grader-result.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    for each in (tmp_path / "journal" / "jobs").glob("assessment-*"):
        each.unlink()  # as if the host had died before it was signed
    lost = idkrules(*example.arguments("honest", tmp_path / "lost", tmp_path / "journal"))
    assert lost.returncode == 3
    assert "its evidence or its key was taken away" in " ".join(lost.stdout.split())
    for each in (tmp_path / "journal" / "broker" / "retired").iterdir():
        each.unlink()
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    refusal = refused(example, tmp_path)
    assert refusal.reason == "journal-unusable"
    assert "another key" in str(refusal.problems[0])


def test_the_expected_values_are_given_to_no_job_under_any_name(example: Graded, tmp_path: Path) -> None:
    data = (example.place / "protected" / "expected.json").read_bytes()
    (example.place / "protected" / "candidate" / "help.json").write_bytes(data)
    entry = {"path": "protected/candidate/help.json", "digest": builder.sha256(data)}
    example.rewrite(lambda plan: plan["jobs"]["candidate"]["evaluator"].append(entry))
    refusal = refused(example, tmp_path, reveal_hidden=True)
    assert refusal.reason == "document-invalid"
    assert refusal.problems[0].pointer == "/jobs/candidate/evaluator/2/digest"
    assert "shown to no job" in refusal.problems[0].message


def test_validate_looks_at_the_pinned_files(example: Graded) -> None:
    fitting = ("validate", "--work-unit", example.place / "work-unit.json", "--evaluator-plan", example.plan)
    assert idkrules(*fitting).returncode == 0
    (example.place / "protected" / "expected.json").write_bytes(b"{}")
    run = idkrules(*fitting)
    assert run.returncode == 1  # a problem found
    assert "protected-invalid" in run.stderr


def test_a_protected_file_that_leads_into_a_runtime_is_refused(example: Graded, tmp_path: Path) -> None:
    """Wherever the plan's own directory lies: what counts is where its files lead."""
    root = tmp_path / "root"
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "usr" / "bin" / "python3").write_text("")
    shown = root / "usr" / "answers.json"
    shutil.move(example.place / "protected" / "expected.json", shown)
    (example.place / "protected" / "expected.json").symlink_to(shown)
    for each in (tmp_path, *tmp_path.parents[:-2]):
        each.chmod(each.stat().st_mode | 0o055)
    example.rewrite(lambda plan: [job.update(runtime="mine") for job in plan["jobs"].values()])
    refusal = refused(example, tmp_path, sandbox=LocalSandbox({"mine": root}))
    assert refusal.reason == "sandbox-unfit"
    assert [problem.pointer for problem in refusal.problems] == ["/fixture", "/fixture"]
    assert "its runtime shows where it leads" in refusal.problems[0].message


def test_a_journal_named_from_a_directory_that_is_gone_is_refused(
    example: Graded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    needs()
    with pytest.raises(Refusal) as caught:
        grade(
            example.place / "work-unit.json",
            example.place / "cases" / "honest" / "result-manifest.json",
            example.plan,
            example.candidate("honest"),
            "state",
            sandbox=LocalSandbox(),
        )
    assert caught.value.reason == "journal-unusable"


@pytest.mark.parametrize("place", ["jobs", "broker/broker.json", "broker/signing.key"])
def test_a_state_with_something_strange_in_it_is_refused_and_not_waited_for(
    example: Graded, tmp_path: Path, place: str
) -> None:
    assert graded(example, tmp_path, "honest", "first") == 0
    paths = [tmp_path / "journal" / place]
    if place == "jobs":
        example.rewrite(lambda plan: plan.update(assessment_id="merge-intervals/another"))
        paths = list(paths[0].glob("receipt-*"))
    for path in paths:
        path.unlink()
        os.mkfifo(path, 0o400)
    refusal = refused(example, tmp_path)
    assert refusal.reason == "journal-unusable"


def test_evidence_that_is_not_what_it_was_is_found_before_anything_runs(example: Graded, tmp_path: Path) -> None:
    assert graded(example, tmp_path, "honest", "first") == 0
    example.rewrite(_renamed)
    digest = builder.sha256((example.place / "protected" / "candidate" / "run.py").read_bytes()).partition(":")[2]
    file = tmp_path / "journal" / "evidence" / digest
    file.chmod(0o600)
    file.write_bytes(b"print('mine')")
    refusal = refused(example, tmp_path)
    assert refusal.reason == "journal-unusable"
    assert "not those that were observed" in str(refusal.problems[0])


def _renamed(plan: Any) -> None:
    plan["assessment_id"] = "merge-intervals/another"
    for role, job in plan["jobs"].items():
        job["job_id"] = f"merge-intervals/another/{role}"


def test_a_journal_that_others_reach_is_refused(example: Graded, tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir(mode=0o755)
    refusal = refused(example, tmp_path)
    assert refusal.reason == "journal-unusable"
    assert "0700" in str(refusal.problems[0])


def graded(example: Graded, tmp_path: Path, case: str, output: str) -> int:
    needs()
    return idkrules(*example.arguments(case, tmp_path / output, tmp_path / "journal")).returncode


def test_an_assessment_never_moves_to_another_candidate(example: Graded, tmp_path: Path) -> None:
    assert graded(example, tmp_path, "honest", "first") == 0
    run = idkrules(*example.arguments("wrong", tmp_path / "second", tmp_path / "journal"))
    assert run.returncode == 4
    assert run.stderr.startswith("refused  assessment-used (fault: verifier)")
    assert graded(example, tmp_path, "honest", "third") == 0


def test_a_job_id_of_another_plan_is_never_used_again(example: Graded, tmp_path: Path) -> None:
    assert graded(example, tmp_path, "honest", "first") == 0
    example.rewrite(lambda plan: plan.update(assessment_id="merge-intervals/another"))
    refusal = refused(example, tmp_path)
    assert refusal.reason == "assessment-used"
    assert refusal.problems[0].pointer == "/jobs/candidate/job_id"


def test_a_damaged_journal_is_refused(example: Graded, tmp_path: Path) -> None:
    assert graded(example, tmp_path, "honest", "first") == 0
    record = next((tmp_path / "journal" / "calls").glob("*/finished-*"))
    record.chmod(0o600)
    record.write_bytes(record.read_bytes().replace(b"finished", b"finishes"))
    refusal = refused(example, tmp_path)
    assert refusal.reason == "journal-unusable"


def test_a_deleted_export_blocks_the_result(example: Graded, tmp_path: Path) -> None:
    """The assessment is made anew from the bytes: without them, nothing passes, and nothing runs to get them back."""
    assert graded(example, tmp_path, "honest", "first") == 0
    needle = b'"values"'
    for each in (tmp_path / "journal" / "evidence").iterdir():
        if needle in each.read_bytes() and b"unsorted" in each.read_bytes():
            each.unlink()
    (tmp_path / "gone").mkdir()
    for each in (tmp_path / "journal" / "jobs").glob("export-*"):
        shutil.move(each, tmp_path / "gone")
    assert graded(example, tmp_path, "honest", "second") == 3
    told = json.loads((tmp_path / "second" / "verification-result.json").read_text())
    assert told["decision_support"]["recommendation"] == "insufficient_evidence"
