"""The safety suite on data that the package carries: each case must come out for the expected reason, not only outcome.

Invariants: it runs the same use case as every evaluation; links and control data inside the candidate are made at run
time in a scratch directory; no case, no pass.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from idkmesh_rules.errors import Refusal
from idkmesh_rules.model.evaluation import Evaluation
from idkmesh_rules.model.proof import Status, causes
from idkmesh_rules.pipeline.evaluation import evaluate
from idkmesh_rules.resources import self_test_cases

_HONEST = "accept/unified-diff--honest-patch"
_WORKSPACE = "accept/workspace--honest-change"


class SelfTestOutcome(NamedTuple):
    """What one case came to, and what it had to come to: an outcome and its reason, as one text each."""

    case: str
    expected: str
    observed: str

    @property
    def passed(self) -> bool:
        """Whether the outcome and its reason are the expected ones."""
        return self.expected == self.observed

    def as_json(self) -> Mapping[str, Any]:
        """The outcome as a JSON object."""
        return {"case": self.case, "expected": self.expected, "observed": self.observed, "passed": self.passed}


def run_self_test() -> tuple[SelfTestOutcome, ...]:
    """Run every case and return what came of it, in order."""
    with tempfile.TemporaryDirectory(prefix="idkrules-self-test-") as scratch:
        return tuple(_run(case, Path(scratch) / str(number)) for number, case in enumerate(_cases()))


class _Case(NamedTuple):
    name: str
    source: Path
    expected: str
    alter: Callable[[Path], None] | None = None
    plan: str = "evaluator-plan.json"
    output: str = "out"


def _cases() -> Iterator[_Case]:
    for source in self_test_cases():
        expected = json.loads((source / "expected.json").read_bytes())
        reasons = (
            [expected["reason"]] if "reason" in expected else [condition for _, condition in expected.get("causes", ())]
        )
        plan = expected.get("arguments", {}).get("evaluator_plan", "evaluator-plan.json")
        yield _Case(f"{source.parent.name}/{source.name}", source, _told(expected["outcome"], reasons), plan=plan)
    honest = next(source for source in self_test_cases() if f"{source.parent.name}/{source.name}" == _HONEST)
    yield _Case(
        "reject/patch-intact--symlinked-patch", honest, _told("reject_candidate", ["patch-intact"]), _link_patch
    )
    changed = next(source for source in self_test_cases() if f"{source.parent.name}/{source.name}" == _WORKSPACE)
    yield _Case(
        "reject/only-plain-files--link-out-of-the-workspace",
        changed,
        _told("reject_candidate", ["only-plain-files"]),
        _link_out,
    )
    yield _Case(
        "refuse/control-inside-candidate--plan",
        honest,
        _told("refused", ["control-inside-candidate"]),
        _move_plan,
        plan="candidate/plan.json",
    )
    yield _Case(
        "refuse/output-inside-candidate", honest, _told("refused", ["output-inside-candidate"]), output="candidate/out"
    )


def _link_patch(case: Path) -> None:
    patch = case / "candidate" / "changes.patch"
    patch.rename(case / "candidate" / "real.patch").parent.joinpath("changes.patch").symlink_to("real.patch")


def _link_out(case: Path) -> None:
    (case / "candidate" / "docs" / "more.md").symlink_to("../../work-unit.json")


def _move_plan(case: Path) -> None:
    (case / "evaluator-plan.json").rename(case / "candidate" / "plan.json")


def _run(case: _Case, place: Path) -> SelfTestOutcome:
    shutil.copytree(case.source, place)
    if case.alter is not None:
        case.alter(place)
    try:
        evaluation = evaluate(
            place / "work-unit.json",
            place / "result-manifest.json",
            place / case.plan,
            place / "candidate",
            output_dir=place / case.output,
            durable=False,
        )
        observed = _told(evaluation.recommendation.value, _causes(evaluation))
    except Refusal as refusal:
        observed = _told("refused", [refusal.reason])
    return SelfTestOutcome(case.name, case.expected, observed)


def _causes(evaluation: Evaluation) -> list[str]:
    return [
        leaf.condition
        for outcome in evaluation.decision.validators
        if outcome.status is not Status.PASSED
        for leaf in causes(outcome.node)
    ]


def _told(outcome: str, reasons: list[str]) -> str:
    return f"{outcome} ({', '.join(sorted(reasons))})" if reasons else outcome
