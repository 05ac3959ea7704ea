"""From a frozen fact store and a bundle to a decision with its whole proof (design: facts-and-policy, *Truth tables*).

Invariants:
- A decision is a pure function of facts, bundle, parameters, the set of required validators, and the backend's floor.
- Nothing required, nothing passes: without a required validator, or without a floor, there is never an acceptance.
- The floor is a conjunct of every decision; it is shown to decide exactly where the recommendation would be another one
  without it (design: *The floor*, lock 1).
"""

from collections.abc import Mapping
from functools import lru_cache
from graphlib import TopologicalSorter
from typing import NamedTuple

from idkmesh_rules.model.bundle import Bundle, Combination, Floor, Form, Leaf
from idkmesh_rules.model.facts import FactStore, Origin, Row, Value
from idkmesh_rules.model.proof import (
    Decision,
    FloorOutcome,
    ProofNode,
    Recommendation,
    Status,
    ValidatorOutcome,
    causes,
)
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.compile import LeafEvaluator, NodeBuilder, combination_builder, leaf_evaluator


class _Program(NamedTuple):
    """A bundle under parameters, ready to run: leaves, combinations with children before parents, validators."""

    leaves: tuple[tuple[str, LeafEvaluator], ...]
    combinations: tuple[tuple[str, tuple[str, ...], NodeBuilder], ...]
    validators: tuple[tuple[str, tuple[str, ...], NodeBuilder], ...]


def decide(
    bundle: Bundle, store: FactStore, *, parameters: Mapping[str, Value], required: tuple[str, ...], floor: Floor
) -> Decision:
    """Decide `store` under `bundle`; `parameters` are those that `bind_parameters` returned.

    A required validator that the bundle doesn't have is inconclusive. The store has every kind of the bundle's backend.
    """
    outcomes, escalations = _judge(bundle, store, parameters, required)
    leaves, build = _floor_program(floor)
    node = build(tuple([evaluate(store.kinds) for evaluate in leaves]))
    status = _status(node)
    considered = [outcome.status for outcome in outcomes if outcome.required]
    said = _recommend(considered, escalations)
    decides = False
    if considered and status is not Status.PASSED:
        with_floor = _recommend([*considered, status], escalations)
        decides = with_floor[0] is not said[0]
        said = with_floor if decides else said
    return Decision(outcomes, FloorOutcome(node, status, decides), escalations, *said)


def decide_unsafe_without_floor(
    bundle: Bundle, store: FactStore, *, parameters: Mapping[str, Value], required: tuple[str, ...]
) -> Decision:
    """Decide by the bundle alone: for the study of bundles (mutants, the floor's prover), never for a verdict."""
    outcomes, escalations = _judge(bundle, store, parameters, required)
    recommendation, status = _recommend([outcome.status for outcome in outcomes if outcome.required], escalations)
    return Decision(outcomes, None, escalations, recommendation, status)


class Violation(NamedTuple):
    """A fact that makes a leaf false: its position among its kind's rows, its values, and where it was seen."""

    position: int
    row: Row
    origins: tuple[Origin, ...]


def violations(node: ProofNode, store: FactStore) -> tuple[Violation, ...]:
    """The facts that make the leaf `node` false, as far as it lists them; `node.leaf.deciding` is how many there are.

    Empty for a node that isn't false, is no leaf, or is false because facts are missing; and for `count`, where no single
    fact is the one too many.
    """
    if node.leaf is None or node.value is not Truth.FALSE or node.form is Form.COUNT:
        return ()
    facts = store[node.leaf.kind]
    return tuple([Violation(seen.index, facts.rows[seen.index], facts.origins[seen.index]) for seen in node.leaf.rows])


def _judge(
    bundle: Bundle, store: FactStore, parameters: Mapping[str, Value], required: tuple[str, ...]
) -> tuple[tuple[ValidatorOutcome, ...], tuple[ProofNode, ...]]:
    program = _program(bundle, tuple(parameters.items()))
    kinds = store.kinds
    nodes = {name: evaluate(kinds) for name, evaluate in program.leaves}
    for name, children, build in program.combinations:
        nodes[name] = build(tuple([nodes[child] for child in children]))
    outcomes = []
    for name, children, build in program.validators:
        node = build(tuple([nodes[child] for child in children]))
        outcomes.append(ValidatorOutcome(name, name in required, node, _status(node)))
    for name in required:
        if name not in bundle.validators:
            outcomes.append(ValidatorOutcome(name, True, ProofNode(name, Form.VALIDATOR, Truth.NOT_APPLICABLE)))
    return tuple(outcomes), tuple([nodes[name] for name in bundle.escalate])


@lru_cache(maxsize=64)
def _program(bundle: Bundle, parameters: tuple[tuple[str, Value], ...]) -> _Program:
    values = dict(parameters)
    conditions = bundle.conditions
    order = TopologicalSorter(
        {name: condition.children for name, condition in conditions.items() if isinstance(condition, Combination)}
    ).static_order()
    combinations = [condition for name in order if isinstance(condition := conditions[name], Combination)]
    return _Program(
        tuple([(name, leaf_evaluator(leaf, values)) for name, leaf in conditions.items() if isinstance(leaf, Leaf)]),
        tuple(
            [(each.name, each.children, combination_builder(each.name, each.form, each.mark)) for each in combinations]
        ),
        tuple(
            [
                (each.id, each.children, combination_builder(each.id, Form.VALIDATOR, each.mark))
                for each in bundle.validators.values()
            ]
        ),
    )


@lru_cache(maxsize=16)
def _floor_program(floor: Floor) -> tuple[tuple[LeafEvaluator, ...], NodeBuilder]:
    return tuple([leaf_evaluator(leaf, {}) for leaf in floor.leaves]), combination_builder("floor", Form.ALL, None)


def _status(node: ProofNode) -> Status:
    """A validator's status: an unknown that rests on a crashed check is an error, any other inconclusive."""
    value = node.value
    if value is Truth.TRUE:
        return Status.PASSED
    if value is Truth.FALSE:
        return Status.FAILED
    crashed = any(leaf.leaf is not None and leaf.leaf.crashed for leaf in causes(node))
    return Status.ERROR if value is Truth.UNKNOWN and crashed else Status.INCONCLUSIVE


def _recommend(statuses: list[Status], escalations: tuple[ProofNode, ...]) -> tuple[Recommendation, Status]:
    """The decision over the required validators (and the floor), and the status of the result."""
    if Status.FAILED in statuses:
        return Recommendation.REJECT, Status.FAILED
    if Status.ERROR in statuses:
        return Recommendation.INSUFFICIENT_EVIDENCE, Status.ERROR
    if Status.INCONCLUSIVE in statuses or not statuses:
        # Where nothing at all was required, silence is no consent.
        return Recommendation.INSUFFICIENT_EVIDENCE, Status.INCONCLUSIVE
    if any(node.value in (Truth.TRUE, Truth.UNKNOWN) for node in escalations):
        return Recommendation.ESCALATE, Status.PASSED
    return Recommendation.ACCEPT, Status.PASSED
