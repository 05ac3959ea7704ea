"""Every fixture, through the API and through the command line: outcome, exit code, cause, and what was written."""

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest

from idkmesh_rules import Refusal, evaluate
from idkmesh_rules.contracts.digest import canonical_digest
from idkmesh_rules.model.bundle import Leaf
from idkmesh_rules.resources import schema_bytes
from tests.support.bundles import blamed, builder
from tests.support.command import idkrules
from tests.support.places import FIXTURES, ROOT

OUTCOMES = ("accept", "reject", "refuse", "inconclusive", "escalate")
CASES = sorted(path.parent for outcome in OUTCOMES for path in (FIXTURES / outcome).glob("*/expected.json"))


def case_id(case: Path) -> str:
    return f"{case.parent.name}/{case.name}"


def arguments(case: Path, scratch: Path) -> tuple[dict, Path, str | None]:
    """The expectation, where the output goes and which bundle is named."""
    expected = json.loads((case / "expected.json").read_text())
    given = expected.get("arguments", {})
    output = case / given["output_dir"] if "output_dir" in given else scratch / "out"
    return expected, output, str(case / given["bundle"]) if "bundle" in given else None


def manifest_of(case: Path, expected: dict) -> Path:
    return case / expected.get("arguments", {}).get("result_manifest", "result-manifest.json")


def valid(name: str, value: object) -> None:
    jsonschema.Draft202012Validator(json.loads(schema_bytes(name))).validate(value)


def test_there_are_cases_of_every_outcome() -> None:
    assert {case.parent.name for case in CASES} == set(OUTCOMES)
    assert len(CASES) == len(builder.STORIES) >= 50


def tree(place: Path) -> dict[str, bytes | str]:
    """Every file below the outcomes' directories with its bytes, every link with its target."""
    found = (path for outcome in OUTCOMES for path in (place / outcome).rglob("*"))
    return {
        path.relative_to(place).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in found
        if path.is_symlink() or path.is_file()
    }


def test_committed_fixtures_are_what_the_builder_builds(tmp_path: Path) -> None:
    builder.build(tmp_path)
    builder.build(tmp_path / "selftest", builder.SELF_TEST)
    assert tree(tmp_path) == tree(FIXTURES), "run `make fixtures`"
    assert tree(tmp_path / "selftest") == tree(ROOT / "idkmesh_rules" / "selftest"), "run `make fixtures`"


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_through_the_api(case: Path, tmp_path: Path) -> None:
    expected, output, bundle = arguments(case, tmp_path)
    plan = case / expected.get("arguments", {}).get("evaluator_plan", "evaluator-plan.json")
    try:
        evaluation = evaluate(
            case / "work-unit.json",
            manifest_of(case, expected),
            plan,
            case / "candidate",
            output_dir=output,
            bundle=bundle,
            durable=False,
        )
    except Refusal as refusal:
        assert (expected["outcome"], expected.get("reason"), expected.get("fault")) == (
            "refused",
            refusal.reason,
            refusal.fault,
        )
        assert refusal.problems, "a refusal says where and what"
        if output.exists():
            assert [path.name for path in output.iterdir()] == ["refusal.json"]
            written = json.loads((output / "refusal.json").read_text())
            valid("refusal-1", written)
            assert written["reason"] == refusal.reason
        return
    assert evaluation.recommendation.value == expected["outcome"]
    assert evaluation.exit_code == expected["exit"]
    assert blamed(evaluation) == set(map(tuple, expected.get("causes", ())))
    if expected["outcome"] == "reject_candidate" and not expected.get("categories_any"):
        assert {finding.category.value for finding in evaluation.findings} == set(expected["categories"])
    if expected["outcome"] == "accept_candidate":
        assert evaluation.findings == ()
    if "patch_reason" in expected:
        structure = evaluation.store["patch.structure"]
        assert structure.rows[0][structure.kind.index["reason"]] == expected["patch_reason"]
    if "uncovered" in expected:
        gaps = {label.id for label in evaluation.labels if not label.covered}
        assert gaps == set(expected["uncovered"])
        told = {check["id"]: check["status"] for check in evaluation.result["checks"]}
        assert {told.pop(gap) for gap in gaps} == {"inconclusive"}
        assert set(told.values()) == {"passed"}
    if "conditions" in expected:
        assert [node.condition for node in evaluation.decision.escalations] == expected["conditions"]
    assert_written(output, evaluation.result, evaluation.facts_digest, evaluation.decision_digest)


def assert_written(output: Path, result: object, facts_digest: str, decision_digest: str) -> None:
    """The directory holds the result, every other file is referenced by it with its digest, and all fit their schemas."""
    written = json.loads((output / "verification-result.json").read_text())
    assert written == result
    valid("verification-result-0.1", written)
    valid("facts-1", json.loads((output / "facts.json").read_text()))
    valid("decision-1", json.loads((output / "decision.json").read_text()))
    found = {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}
    referenced = {entry["locator"]: entry["digest"] for entry in written["evidence"]}
    assert found - {"verification-result.json"} == set(referenced)
    for locator, digest in referenced.items():
        assert "sha256:" + hashlib.sha256((output / locator).read_bytes()).hexdigest() == digest, locator
    ids = {entry["id"] for entry in written["evidence"]}
    for check in written["checks"]:
        assert check["evidence_ids"], check["id"]
        assert set(check["evidence_ids"]) <= ids
    assert canonical_digest(json.loads((output / "facts.json").read_text())) == facts_digest
    assert canonical_digest(json.loads((output / "decision.json").read_text())) == decision_digest
    assert output.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_through_the_command_line(case: Path, tmp_path: Path) -> None:
    expected, output, bundle = arguments(case, tmp_path)
    plan = case / expected.get("arguments", {}).get("evaluator_plan", "evaluator-plan.json")
    run = idkrules(
        "evaluate",
        "--work-unit",
        case / "work-unit.json",
        "--result-manifest",
        manifest_of(case, expected),
        "--evaluator-plan",
        plan,
        "--candidate-root",
        case / "candidate",
        "--output-dir",
        output,
        *(["--bundle", bundle] if bundle else []),
    )
    assert run.returncode == expected["exit"]
    assert "Traceback" not in run.stderr
    if expected["outcome"] == "refused":
        assert run.stdout == ""
        assert run.stderr.startswith(f"refused  {expected['reason']} (fault: {expected['fault']})")
    else:
        assert run.stderr == ""
        assert run.stdout.startswith(expected["outcome"])
        for _, condition in expected.get("causes", ()):
            assert f"{condition}: " in run.stdout
        assert all(
            len(line) <= 80 or " " not in line.strip() or "sha256:" in line or "evidence" in line
            for line in run.stdout.splitlines()
        ), run.stdout


# What no candidate can fire; tests/unit/policy decides it on facts. The schema of a manifest is judged before a result can
# name it, and the second parser never disagrees with a patch that anybody knows of.
UNFIRED = {
    "accept/unified-diff--honest-patch": {"manifest-schema-valid", "second-opinion"},
    "accept/exact-json--honest-answer": {"manifest-schema-valid"},
    "accept/workspace--honest-change": {"manifest-schema-valid"},
}


@pytest.mark.parametrize("honest", UNFIRED)
def test_every_condition_of_a_shipped_bundle_has_a_fixture_that_fires_it_and_one_that_passes_it(honest: str) -> None:
    documents = ("work-unit.json", "result-manifest.json", "evaluator-plan.json", "candidate")
    bundle = evaluate(*(FIXTURES / honest / name for name in documents)).bundle
    fired = {
        condition
        for case in CASES
        if case.parent.name == "reject"
        for validator, condition in json.loads((case / "expected.json").read_text())["causes"]
        if validator in bundle.validators
    }
    leaves = {name for name, condition in bundle.conditions.items() if isinstance(condition, Leaf)}
    assert leaves - fired == UNFIRED[honest]
