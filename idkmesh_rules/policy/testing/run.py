"""Decide the cases of a suite and hold each against its expectation: outcome, exact causes, exactly what doesn't apply.

Invariants: all validators of the bundle are required; causes are told exactly as a verdict tells them (design:
facts-and-policy, *Bundle tests*). Only a suite whose every edit could be made is run at all.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from idkmesh_rules.errors import PolicyError, Problem
from idkmesh_rules.model.bundle import Bundle, Floor
from idkmesh_rules.model.facts import FactKind, FactStore
from idkmesh_rules.model.proof import Decision, ProofNode, Recommendation, Status, causes
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.decide import decide, decide_unsafe_without_floor
from idkmesh_rules.policy.parameters import bind_parameters
from idkmesh_rules.policy.testing.edits import Stage
from idkmesh_rules.policy.testing.suite import Case, Expectation, Suite


class Staged(NamedTuple):
    """A case with its facts, ready to be decided by any bundle that speaks of the same kinds."""

    case: Case
    store: FactStore


class CaseResult(NamedTuple):
    """What a case came to; `observed` is spelled as an expectation is, so that the two can be compared."""

    case: Case
    observed: Expectation
    decision: Decision

    @property
    def passed(self) -> bool:
        """Whether the case came out exactly as expected."""
        return self.observed == self.case.expected

    def differences(self) -> Iterator[str]:
        """What is otherwise than expected, a sentence each."""
        expected, observed = self.case.expected, self.observed
        if observed.outcome is not expected.outcome:
            yield f"expected {expected.outcome.value}, came to {observed.outcome.value}"
        for what, wanted, seen in (
            ("cause", expected.causes, observed.causes),
            ("not applicable", expected.not_applicable, observed.not_applicable),
        ):
            for name in sorted(wanted - seen):
                yield f"expected as {what}, but isn't: {name}"
            for name in sorted(seen - wanted):
                yield f"{what}, but not expected: {name}"


def staged(suite: Suite, kinds: Mapping[str, FactKind]) -> tuple[Staged, ...]:
    """Every case with its facts. Raises `PolicyError` with every edit that can't be made or makes nothing."""
    stage = Stage(suite, kinds)
    problems: list[Problem] = []
    found = []
    for case in suite.cases:
        try:
            found.append(Staged(case, stage.store(case)))
        except PolicyError as error:
            problems.extend(error.problems)
    if problems:
        raise PolicyError(tuple(problems))
    return tuple(found)


def run_case(bundle: Bundle, each: Staged, floor: Floor) -> CaseResult:
    """Decide one case under its backend's floor."""
    parameters = bind_parameters(bundle, each.case.parameters)
    decision = decide(bundle, each.store, parameters=parameters, required=tuple(bundle.validators), floor=floor)
    return CaseResult(each.case, observed(decision), decision)


def run_bare(bundle: Bundle, each: Staged) -> Decision:
    """Decide one case by the bundle alone, as the study of a bundle needs it."""
    parameters = bind_parameters(bundle, each.case.parameters)
    return decide_unsafe_without_floor(bundle, each.store, parameters=parameters, required=tuple(bundle.validators))


def observed(decision: Decision) -> Expectation:
    """A decision in the terms in which a case expects one."""
    blamed = [
        f"{outcome.id}/{leaf.condition}"
        for outcome in decision.validators
        if outcome.status is not Status.PASSED
        for leaf in causes(outcome.node)
    ]
    if decision.recommendation is Recommendation.ESCALATE:
        asking = [node for node in decision.escalations if node.value in (Truth.TRUE, Truth.UNKNOWN)]
        blamed += [f"escalate/{leaf.condition}" for node in asking for leaf in causes(node)]
    if decision.floor is not None and decision.floor.decides:
        blamed += [f"floor/{leaf.condition}" for leaf in causes(decision.floor.node)]
    idle = frozenset(node.condition for node in nodes_of(decision) if node.value is Truth.NOT_APPLICABLE)
    return Expectation(decision.recommendation, frozenset(blamed), idle)


def nodes_of(decision: Decision) -> Iterator[ProofNode]:
    """Every node of a condition in a decision's proof, perhaps several times; the floor's aside."""
    pending = [child for outcome in decision.validators for child in outcome.node.children]
    pending += decision.escalations
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.children)
