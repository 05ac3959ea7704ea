"""From two signed results to a recommendation: the supervisor, the facts, the shipped rules and their floor together."""

from typing import Any

import pytest

from idkmesh_rules.checks import backend_kinds, collect
from idkmesh_rules.checks.grading import CHECK, GradingCase
from idkmesh_rules.grading.evidence import SqliteRepository
from idkmesh_rules.grading.observed import observed
from idkmesh_rules.grading.values import JobOutcome
from idkmesh_rules.model.facts import FactStore, KindFacts
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.policy import decide, floor_for, load_bundle
from idkmesh_rules.policy.testing.read import read_suite
from idkmesh_rules.policy.testing.run import observed as told
from idkmesh_rules.policy.testing.run import staged
from idkmesh_rules.resources import shipped_bundle
from tests.support.grading import CONTROLS, manifest_in, result_of, statuses, supervisor_of, values

PLACE = shipped_bundle("sandboxed-equality")
assert PLACE is not None
KINDS = backend_kinds("sandboxed_equality")
BUNDLE = load_bundle((PLACE / "bundle.yaml").read_bytes(), "bundle.yaml", backend_kinds)
FLOOR = floor_for("sandboxed_equality", KINDS)
# What isn't about grading is as in the base of the bundle's own tests.
BASE = staged(read_suite((PLACE / "tests.yaml").read_bytes(), "tests.yaml", BUNDLE, KINDS, FLOOR), KINDS)[0].store


class Plan:
    """As much of a plan as the check asks for."""

    class demands:  # noqa: N801
        required_controls = CONTROLS


def decided(exported: bytes | None, said: bytes | None, **changes: Any) -> tuple[Recommendation, set[str]]:
    repository = SqliteRepository(":memory:").open()
    manifest = manifest_in(repository)
    supervisor = supervisor_of(repository, manifest, refused=changes.pop("refused", lambda: None))
    exports = [None if data is None else repository.put("export", data) for data in (exported, said)]
    results = (
        result_of(manifest.candidate, exports[0], **changes.pop("candidate", {})),
        result_of(manifest.grader, exports[1], **changes.pop("grader", {})),
    )
    grading = observed(manifest, supervisor.assess(manifest.digest, *results), results)
    case = GradingCase(None, None, Plan, {}, None, grading)  # type: ignore[arg-type]  # the check asks for no more
    seen, crashes = collect((CHECK,), case)
    assert not crashes
    kinds: dict[str, KindFacts] = {**BASE.kinds, **seen.kinds}
    decision = decide(BUNDLE, FactStore(kinds), parameters={}, required=tuple(BUNDLE.validators), floor=FLOOR)
    return decision.recommendation, {cause.rpartition("/")[2] for cause in told(decision).causes}


GOOD, SAID = values('{"answer": 42}'), statuses(answer="passed")
STORIES: dict[str, tuple[bytes | None, bytes | None, dict[str, Any], str, set[str]]] = {
    "honest": (GOOD, SAID, {}, "accept_candidate", set()),
    "wrong": (values('{"answer": 41}'), statuses(answer="failed"), {}, "reject_candidate", {"values-equal"}),
    "spelled otherwise": (
        values('{"answer": 42.0}'),
        statuses(answer="failed"),
        {},
        "reject_candidate",
        {"values-equal"},
    ),
    "the grader is fooled": (values('{"answer": 41}'), SAID, {}, "reject_candidate", {"values-equal", "grader-agrees"}),
    "the grader is wrong": (GOOD, statuses(answer="failed"), {}, "reject_candidate", {"grader-agrees"}),
    "nothing exported": (None, SAID, {}, "reject_candidate", {"assessment-valid"}),
    "an export that is no JSON": (b"{", SAID, {}, "reject_candidate", {"assessment-valid"}),
    "out of time": (
        GOOD,
        SAID,
        {"candidate": {"outcome": JobOutcome.WALL}},
        "reject_candidate",
        {"assessment-valid", "jobs-within-bounds"},
    ),
    "the sandbox could not begin": (
        GOOD,
        SAID,
        {"candidate": {"outcome": JobOutcome.SETUP_FAILED}},
        "insufficient_evidence",
        {"assessment-valid", "values-equal", "grader-agrees", "jobs-within-bounds"},
    ),
    "a control was not enforced": (
        GOOD,
        SAID,
        {"grader": {"enforced": ("wall-clock",)}},
        "insufficient_evidence",
        {"assessment-valid", "grader-agrees", "controls-enforced"},
    ),
    "the candidate ran without a control": (
        GOOD,
        SAID,
        {"candidate": {"enforced": ("wall-clock",)}},
        "insufficient_evidence",
        {"assessment-valid", "values-equal", "grader-agrees", "controls-enforced"},
    ),
    "authority was revoked": (
        GOOD,
        SAID,
        {"refused": lambda: "revoked"},
        "insufficient_evidence",
        {"assessment-valid", "values-equal", "grader-agrees"},
    ),
    "the grader said nothing": (
        GOOD,
        None,
        {},
        "insufficient_evidence",
        {"assessment-valid", "grader-agrees"},
    ),
    "the grader did not end": (
        GOOD,
        None,
        {"grader": {"outcome": JobOutcome.WALL}},
        "insufficient_evidence",
        {"assessment-valid", "grader-agrees", "jobs-within-bounds"},
    ),
    "the candidate did not end": (
        None,
        None,
        {"candidate": {"outcome": JobOutcome.WALL}},
        "reject_candidate",
        {"assessment-valid", "jobs-within-bounds"},
    ),
    "the grader failed on a wrong value": (
        values('{"answer": 41}'),
        None,
        {"grader": {"outcome": JobOutcome.SIGNALED}},
        "reject_candidate",
        {"values-equal", "jobs-within-bounds"},
    ),
    "the grader failed on what is no export": (
        b"[" * 40,
        None,
        {"grader": {"outcome": JobOutcome.WALL}},
        "reject_candidate",
        {"assessment-valid", "jobs-within-bounds"},
    ),
    "the grader ran without a control, and the value is wrong": (
        values('{"answer": 41}'),
        SAID,
        {"grader": {"enforced": ()}},
        "reject_candidate",
        {"values-equal", "controls-enforced"},
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_from_signed_results_to_a_recommendation(name: str) -> None:
    exported, said, changes, recommendation, causes = STORIES[name]
    found = decided(exported, said, **dict(changes))
    assert (found[0].value, found[1]) == (recommendation, causes)
