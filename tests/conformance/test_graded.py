"""The worked example of grading through the command line: what each candidate comes to, for which reason, and the traces."""

import json
from pathlib import Path

import pytest

from idkmesh_rules import __version__
from tests.support.command import idkrules
from tests.support.graded import CASES, PLACE, Graded, builder, needs

STARTED = [name for name, case in CASES.items() if case["outcome"] == "accept_candidate" or case["state"]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every case graded once: `<case>/out` and `<case>/journal`."""
    needs()
    place = tmp_path_factory.mktemp("graded")
    example = Graded(place / "example")
    for name in CASES:
        (place / name).mkdir()
        run = idkrules(*example.arguments(name, place / name / "out", place / name / "journal"))
        assert "Traceback" not in run.stderr, run.stderr
        (place / name / "exit").write_text(str(run.returncode))
    return place


def facts(output: Path, kind: str) -> list[dict]:
    kinds = json.loads((output / "facts.json").read_text())["kinds"]
    return [row["fields"] for row in next(each for each in kinds if each["kind"] == kind)["facts"]]


def failed(node: dict) -> set[str]:
    """The conditions of a proof tree that are false."""
    mine = {node["condition"]} if node.get("value") == "F" and "children" not in node else set()
    return mine.union(*(failed(each) for each in node.get("children", ())))


def test_the_committed_example_is_what_its_builder_builds(tmp_path: Path) -> None:
    builder.build(tmp_path)
    for path in sorted(each for each in tmp_path.rglob("*") if each.is_file()):
        name = path.relative_to(tmp_path).as_posix()
        assert (PLACE / name).read_bytes() == path.read_bytes(), f"{name}: run `make fixtures`"


@pytest.mark.parametrize("name", CASES)
def test_a_candidate_comes_to_what_it_deserves_for_the_right_reason(place: Path, name: str) -> None:
    case = CASES[name]
    if "needs" in case:
        needs(case["needs"])
    result = json.loads((place / name / "out" / "verification-result.json").read_text())
    assert result["decision_support"]["recommendation"] == case["outcome"]
    assert (place / name / "exit").read_text() == ("0" if case["outcome"] == "accept_candidate" else "1")
    told = json.loads((place / name / "out" / "decision.json").read_text())
    causes = set().union(*(failed(each["proof"]) for each in told["validators"]))
    assert causes == set(case.get("causes", ()))
    (assessment,) = facts(place / name / "out", "grading.assessment")
    if case.get("state"):
        assert assessment["state"] == case["state"], assessment["reason"]


@pytest.mark.parametrize("name", CASES)
def test_what_the_metadata_reject_is_never_started(place: Path, name: str) -> None:
    started = (place / name / "journal").exists()
    assert started == (name in STARTED)
    attested = (place / name / "out" / "attestations").exists()
    assert attested == (name in STARTED)


@pytest.mark.parametrize("name", CASES)
def test_explain_why_not_and_replay_work_on_it(place: Path, name: str) -> None:
    output = place / name / "out"
    outcome = CASES[name]["outcome"]
    for verb in ("explain", "why-not"):
        run = idkrules(verb, output)
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout.startswith(outcome)
    run = idkrules("replay", output, "--candidate-root", place / "example" / "cases" / name / "candidate")
    assert run.returncode == 0, run.stdout
    assert run.stdout.startswith("consistent")
    assert "led to the same facts, decision and" in run.stdout


@pytest.mark.parametrize("name", STARTED)
def test_asking_again_runs_nothing_and_comes_to_the_same(place: Path, tmp_path: Path, name: str) -> None:
    example, before = Graded(tmp_path / "example"), place / name
    jobs = sorted(each.name for each in (before / "journal" / "jobs").iterdir())
    idkrules(*example.arguments(name, tmp_path / "out", before / "journal"))
    assert sorted(each.name for each in (before / "journal" / "jobs").iterdir()) == jobs
    for file in ("facts.json", "decision.json", "attestations/assessment.json"):
        assert (tmp_path / "out" / file).read_bytes() == (before / "out" / file).read_bytes()


@pytest.mark.parametrize("name", STARTED)
def test_no_result_shows_an_expected_value_or_what_a_candidate_printed(place: Path, name: str) -> None:
    written = b"".join(each.read_bytes() for each in sorted((place / name / "out").rglob("*")) if each.is_file())
    assert b"[[1,7]]" not in written.replace(b" ", b"").replace(b"\n", b"")
    assert b"6 passed, 0 failed" not in written


@pytest.mark.parametrize("name", STARTED)
def test_what_a_job_took_is_measured_and_recorded(place: Path, name: str) -> None:
    needs("cpu-total", "memory-total")
    result = json.loads((place / name / "out" / "verification-result.json").read_text())
    used = {each["role"]: each for each in facts(place / name / "out", "grading.usage")}["candidate"]
    assert used["wall_ms"] >= 1
    assert used["cpu_ms"] >= 1
    assert used["peak_bytes"] > 1 << 20  # no Python runs in less
    assert {key: result["metrics"][f"candidate_job_{key}"] for key in ("wall_ms", "cpu_ms", "peak_bytes")} == {
        key: used[key] for key in ("wall_ms", "cpu_ms", "peak_bytes")
    }
    ceilings = builder.LIMITS
    if name == "never-ends":
        assert used["wall_ms"] >= ceilings["wall_seconds"] * 1000
    if name == "takes-too-much":
        assert used["peak_bytes"] >= ceilings["memory_bytes"]


def test_every_required_control_is_reported_enforced(place: Path) -> None:
    told = {each["control"]: each for each in facts(place / "honest" / "out", "grading.isolation")}
    assert set(builder.REQUIRED) <= told.keys()
    assert all(told[name]["required"] and told[name]["enforced"] for name in builder.REQUIRED)


def test_the_result_names_the_engine_and_lists_every_attestation(place: Path) -> None:
    result = json.loads((place / "honest" / "out" / "verification-result.json").read_text())
    listed = {each["locator"]: each["type"] for each in result["evidence"]}
    files = {f"attestations/{each.name}" for each in (place / "honest" / "out" / "attestations").iterdir()}
    assert {path for path, kind in listed.items() if kind == "attestation"} == files
    assert len(files) == 7
    assert result["provenance"]["environment"]["tool_versions"] == {"idkmesh-rules": __version__}
