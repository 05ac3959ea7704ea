"""Rule bundles in a whole evaluation: which one is used, what a wrong one leads to, and the floor without its prover."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from idkmesh_rules import Limits, Refusal
from idkmesh_rules.contracts.schema import load_schema
from idkmesh_rules.pipeline import rules as rules_module
from tests.support.bundles import Bundle, blamed, builder, make
from tests.support.command import idkrules

EXTENSION = "org.idkmesh.rules"


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return make(tmp_path / "case")


def rules(bundle: Bundle, edit: Callable[[str], str]) -> Path:
    """The shipped rules, changed, in a directory of their own."""
    place = bundle.place / "rules"
    place.mkdir(exist_ok=True)
    text = edit(builder.shipped_bundle())
    assert text != builder.shipped_bundle()
    (place / "bundle.yaml").write_text(text)
    return place


def pin(case: Bundle, **extension: Any) -> None:
    case.rewrite("evaluator-plan.json", lambda plan: plan.update(extensions={EXTENSION: extension}))


def refused(case: Bundle, **options: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        case.evaluate(**options)
    return caught.value


REFUSALS: dict[str, tuple[Callable[[Bundle], dict[str, Any]], str]] = {
    "a bundle of another backend": (lambda b: {"bundle": "workspace"}, "bundle-backend"),
    "kinds of another backend": (
        lambda b: {"bundle": rules(b, lambda text: text.replace("backend: unified_diff", "backend: workspace"))},
        "bundle-invalid",
    ),
    "no such id": (lambda b: {"bundle": "unified-dif"}, "bundle-unknown"),
    "no such directory": (lambda b: {"bundle": b.place / "nowhere"}, "bundle-unknown"),
    "a directory without a bundle": (lambda b: {"bundle": b.candidate.parent}, "document-unreadable"),
    "another id than the pinned one": (
        lambda b: pin(b, bundle={"id": "our-rules"}) or {"bundle": rules(b, lambda text: text + "\n")},
        "bundle-pin-mismatch",
    ),
    "a pinned id that isn't shipped": (lambda b: pin(b, bundle={"id": "our-rules"}) or {}, "bundle-unknown"),
    "no pin where one is demanded": (lambda b: {"require_pin": True}, "bundle-unpinned"),
    "an unknown parameter": (lambda b: pin(b, parameters={"max_files": 3}) or {}, "parameters-invalid"),
    "a parameter of another type": (
        lambda b: pin(b, parameters={"max_changed_files": True}) or {},
        "parameters-invalid",
    ),
    "a key that nobody knows": (lambda b: {"bundle": rules(b, lambda text: text + "extra: 1\n")}, "bundle-invalid"),
    "a tab": (
        lambda b: {"bundle": rules(b, lambda text: text.replace("    must: {valid", "\tmust: {valid"))},
        "bundle-invalid",
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_wrong_rules_are_refused_for_their_reason(bundle: Bundle, what: str) -> None:
    arrange, reason = REFUSALS[what]
    refusal = refused(bundle, **arrange(bundle))
    assert (refusal.reason, refusal.fault) == (reason, "verifier")
    assert refusal.problems


def test_mistakes_of_documents_and_rules_are_told_together(bundle: Bundle) -> None:
    bundle.rewrite("work-unit.json", lambda unit: unit.update(kind="code"))
    refusal = refused(bundle, bundle=rules(bundle, lambda text: text.replace("role: candidate", "rolle: candidate")))
    assert refusal.reason == "document-invalid"
    assert [Path(problem.document or "").name for problem in refusal.problems] == ["work-unit.json", "bundle.yaml"]


def test_parameters_of_the_plan_decide(bundle: Bundle) -> None:
    assert bundle.evaluate().exit_code == 0
    pin(bundle, parameters={"max_changed_files": 0})
    evaluation = bundle.evaluate()
    assert blamed(evaluation) == {("independent-review", "few-files")}
    assert [finding.summary for finding in evaluation.findings] == [
        "the patch changes more files than its plan lets it (patch.file facts in its scope: 1)"
    ]


def without_paths(text: str) -> str:
    return text.replace("          paths-authorized, no-symlinks", "          no-symlinks")


def test_the_floor_holds_where_its_prover_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lock 1 alone: let the prover be wrong about a bundle without any scope rule; a forbidden path is rejected all the same."""
    bundle = make(
        tmp_path / "case",
        lambda draft: setattr(draft, "patch", draft.patch + builder.OTHER_FILE.format(path="SECURITY.md")),
    )
    holed = rules(
        bundle,
        lambda text: without_paths(
            text[: text.index("  # Every path, before")] + text[text.index("  # No symbolic link is") :]
        ),
    )
    assert refused(bundle, bundle=holed).reason == "bundle-below-floor"
    monkeypatch.setattr(rules_module, "_holes", lambda *_: ())
    evaluation = bundle.evaluate(bundle=holed, output_dir=tmp_path / "out")
    assert (evaluation.recommendation.value, evaluation.exit_code) == ("reject_candidate", 1)
    assert blamed(evaluation) == {("floor", "paths-authorized")}
    floor = evaluation.result["checks"][-1]
    assert (floor["id"], floor["type"], floor["required"], floor["status"]) == ("floor", "policy", True, "failed")
    assert floor["evidence_ids"]
    assert "floor (paths-authorized)" in evaluation.result["decision_support"]["rationale"]
    assert [finding.path for finding in evaluation.findings] == ["SECURITY.md"]
    jsonschema.Draft202012Validator(load_schema("verification-result-0.1")).validate(evaluation.result)


def test_findings_are_bounded_and_the_rest_is_counted(tmp_path: Path) -> None:
    def many(draft: Any) -> None:
        draft.patch += "".join(builder.OTHER_FILE.format(path=f"src/{number}.py") for number in range(150))
        draft.plan["backend"]["max_candidate_bytes"] = 10**6

    bundle = make(tmp_path / "case", many)
    evaluation = bundle.evaluate()
    assert len(evaluation.findings) == 101
    assert evaluation.findings[-1].summary == "paths-authorized: 50 more violations of the same kind"
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert "… and 91 more findings" in run.stdout
    assert " ".join(run.stdout.split()).count("it is outside the allowed paths") == 10


def test_a_plan_without_a_source_revision_in_the_work_unit_is_bound_all_the_same(tmp_path: Path) -> None:
    bundle = make(tmp_path, lambda draft: draft.unit["provenance"].pop("source_revision"))
    assert bundle.evaluate().exit_code == 0


def test_a_validator_without_any_condition_that_applies_is_no_pass(bundle: Bundle) -> None:
    """A validator over nothing but not-applicable conditions is inconclusive, and says why."""
    bundle.rewrite(
        "work-unit.json", lambda unit: unit["validators"].append({"id": "logs", "type": "benchmark", "required": True})
    )

    def edit(draft: Any) -> None:
        draft.unit["validators"].append({"id": "logs", "type": "benchmark", "required": True})
        draft.plan["required_validator_ids"].append("logs")
        draft.manifest["verification_request"]["expected_validator_ids"].append("logs")
        draft.manifest["logs"], draft.plan["backend"]["required_log_types"] = [], []

    other = make(bundle.place / "other", edit)
    condition = (
        "  log-kept:\n    every: candidate.file\n    where: {role: log}\n    must: {state: regular, bytes: {at_least: 1}}\n"
        "    on_empty: not_applicable\n\nvalidators:\n  logs: {all: [log-kept]}\n"
    )
    evaluation = other.evaluate(bundle=rules(other, lambda text: text.replace("\nvalidators:\n", "\n" + condition, 1)))
    assert evaluation.recommendation.value == "insufficient_evidence"
    assert blamed(evaluation) == {("logs", "log-kept")}
    assert [check["type"] for check in evaluation.result["checks"] if check["id"] == "logs"] == ["other"]
    assert [finding.summary for finding in evaluation.findings] == [
        "log-kept could not be decided: nothing of what it speaks of is there"
    ]


def test_a_wrong_parameter_is_told_at_its_place_in_the_plan(bundle: Bundle) -> None:
    pin(bundle, parameters={"max_changed_fils": 3})
    problem = refused(bundle).problems[0]
    assert (problem.document, problem.pointer) == (
        str(bundle.plan),
        f"/extensions/{EXTENSION}/parameters/max_changed_fils",
    )
    assert "max_changed_files" in str(problem)


def test_a_validator_cannot_take_the_name_of_an_engine_check(bundle: Bundle) -> None:
    renamed = rules(bundle, lambda text: text.replace("  result-manifest-schema:\n", "  floor:\n"))
    problem = refused(bundle, bundle=renamed).problems[0]
    assert "a validator can't be called" in problem.message
    assert problem.line


def test_an_escalation_says_what_it_saw(tmp_path: Path) -> None:
    bundle = make(
        tmp_path / "case",
        lambda draft: setattr(draft, "patch", draft.patch + builder.OTHER_FILE.format(path="README.md")),
    )
    condition = (
        "  touches-readme:\n    some: patch.path\n    where: {path: {glob: [README.md]}}\n"
        '    finding: {severity: low, category: policy, summary: "{path} needs its owner", path: "{path}"}\n\nvalidators:'
    )
    asking = rules(
        bundle,
        lambda text: text.replace("\nvalidators:", "\n" + condition, 1).replace(
            "escalate: []", "escalate: [touches-readme]"
        ),
    )
    evaluation = bundle.evaluate(bundle=asking)
    assert (evaluation.recommendation.value, evaluation.exit_code) == ("escalate", 3)
    assert [(one.validator, one.condition, one.summary, one.path) for one in evaluation.findings] == [
        ("escalate", "touches-readme", "README.md needs its owner", "README.md")
    ]
    run = idkrules(*bundle.arguments(tmp_path / "out"), "--bundle", asking)
    assert "! touches-readme: README.md needs its owner [changes.patch:10]" in run.stdout


def test_evidence_that_is_required_and_not_produced_is_said(tmp_path: Path) -> None:
    wanted = [
        {"type": "attestation", "required": True},
        {"type": "benchmark", "required": False},
        {"type": "artifact_hash", "required": True},
    ]
    evaluation = make(tmp_path, lambda draft: draft.unit.update(evidence_requirements=wanted)).evaluate()
    assert "The WorkUnit requires evidence that this run doesn't produce: attestation." in evaluation.notes
    assert "attestation" in evaluation.result["decision_support"]["rationale"]


def test_what_does_not_apply_is_not_said_to_hold(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.manifest["logs"], draft.plan["backend"]["required_log_types"] = [], []

    summaries = [check["summary"] for check in make(tmp_path, edit).evaluate().result["checks"]]
    assert "passed: 13 conditions hold, 2 do not apply" in summaries


def test_an_escalation_that_cannot_be_decided_asks_for_a_person_too(tmp_path: Path) -> None:
    """Two rules: one speaks of what is unknown here, the other holds without any single fact."""

    def edit(draft: Any) -> None:
        draft.plan["backend"]["max_log_bytes"] = 4
        draft.manifest["logs"], draft.plan["backend"]["required_log_types"] = [], []
        draft.manifest["produced_artifacts"].append({"id": "big", "type": "file", "locator": "logs/stdout.txt"})

    bundle = make(tmp_path / "case", edit)
    conditions = (
        "  odd-artifact:\n    some: candidate.file\n    where: {role: artifact, digest_matches: false}\n"
        "  only-known-logs:\n    none: candidate.file\n    where: {role: log, state: missing}\n    on_empty: pass\n\nvalidators:"
    )
    asking = rules(
        bundle,
        lambda text: text.replace("\nvalidators:", "\n" + conditions, 1).replace(
            "escalate: []", "escalate: [odd-artifact, only-known-logs]"
        ),
    )
    evaluation = bundle.evaluate(bundle=asking, limits=Limits(candidate_bytes=len(builder.PATCH.encode()) + 2))
    assert evaluation.recommendation.value == "escalate"
    assert {(one.condition, one.summary) for one in evaluation.findings} == {
        (
            "odd-artifact",
            "odd-artifact could not be decided: the candidate's files have more bytes than the verifier reads",
        ),
        ("only-known-logs", "only-known-logs holds, and the rules ask for a person then"),
    }
