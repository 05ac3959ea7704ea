"""From a frozen fact store and a bundle to a decision with its whole proof (design: facts-and-policy, *Truth tables*).

Invariants:
- A decision is a pure function of facts, bundle, parameters, the set of required validators, and the backend's floor.
- Nothing required, nothing passes: without a required validator, or without a floor, there is never an acceptance.
- The floor is a conjunct of every decision; it is shown to decide exactly where the recommendation would be another one
  without it (design: *The floor*, lock 1).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from graphlib import TopologicalSorter
from operator import itemgetter
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
from idkmesh_rules.policy.compile import QuietNode, combination_builder, leaf_evaluator, quiet_node
from idkmesh_rules.policy.look import Scan, Seen, look_of

_MANY = 256
_MOST_KEPT = 1024


def decide(
    bundle: Bundle, store: FactStore, *, parameters: Mapping[str, Value], required: tuple[str, ...], floor: Floor
) -> Decision:
    """Decide `store` under `bundle`; `parameters` are those that `bind_parameters` returned.

    A required validator that the bundle doesn't have is inconclusive. The store has every kind of the bundle's backend.
    """
    return judge_for(bundle, parameters, required, floor)(store)


def judge_for(bundle: Bundle, parameters: Mapping[str, Value], required: tuple[str, ...], floor: Floor) -> "Judge":
    """What decides any store under these rules, as `decide` does: made once, for whoever decides many stores."""
    return _judge(bundle, tuple(parameters.items()), required, floor)


def decide_unsafe_without_floor(
    bundle: Bundle, store: FactStore, *, parameters: Mapping[str, Value], required: tuple[str, ...]
) -> Decision:
    """Decide by the bundle alone: for the study of bundles (mutants, the floor's prover), never for a verdict."""
    return _judge(bundle, tuple(parameters.items()), required, None)(store)


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


class Judge:
    """A bundle under parameters and a floor, ready to decide: what a store comes to, and what it came to before.

    A store in which every leaf is quiet is told by the figures of the quick look alone, and so is its decision. The look
    is generated when it pays: for many facts, or for a second store. A command that decides once about a small candidate
    would spend more on generating it than on deciding.
    """

    def __init__(
        self, bundle: Bundle, parameters: Mapping[str, Value], required: tuple[str, ...], floor: Floor | None
    ) -> None:
        leaves = [leaf for leaf in bundle.conditions.values() if isinstance(leaf, Leaf)]
        below = floor.leaves if floor is not None else ()
        self._leaves = (*leaves, *below)
        self._own = len(leaves)
        self._parameters = parameters
        self._long_ways = tuple([leaf_evaluator(leaf, parameters) for leaf in self._leaves])
        order = TopologicalSorter(
            {name: each.children for name, each in bundle.conditions.items() if isinstance(each, Combination)}
        ).static_order()
        combinations = [each for name in order if isinstance(each := bundle.conditions[name], Combination)]
        # A node stands where its condition does: leaves first, then combinations, children before parents.
        names = [*(leaf.name for leaf in leaves), *(each.name for each in combinations)]
        places = {name: place for place, name in enumerate(names)}
        self._combinations = tuple(
            [
                (_at(places, each.children), combination_builder(each.name, each.form, each.mark))
                for each in combinations
            ]
        )
        self._validators = tuple(
            [
                (
                    each.id,
                    each.id in required,
                    _at(places, each.children),
                    combination_builder(each.id, Form.VALIDATOR, each.mark),
                )
                for each in bundle.validators.values()
            ]
        )
        self._escalations = _at(places, bundle.escalate)
        self._absent = tuple(
            [
                ValidatorOutcome(name, True, ProofNode(name, Form.VALIDATOR, Truth.NOT_APPLICABLE))
                for name in required
                if name not in bundle.validators
            ]
        )
        self._floor = combination_builder("floor", Form.ALL, None) if floor is not None else None
        self._scan: Scan | None = None
        self._quiet: tuple[tuple[QuietNode, int, int, int | None], ...] = ()
        self._asked = False
        self._known: dict[Seen, Decision] = {}

    def __call__(self, store: FactStore) -> Decision:
        """Decide a store that has every kind of the bundle's backend."""
        kinds = store.kinds
        scan = self._scan
        if scan is None:
            if not self._asked and sum([len(facts.rows) for facts in kinds.values()]) < _MANY:
                self._asked = True
                return self._decision([evaluate(kinds) for evaluate in self._long_ways])
            scan = self._generate()
        seen = scan(kinds)
        known = self._known.get(seen)
        if known is not None:
            return known
        nodes = [
            quiet(seen[facts], seen[figure], None if key is None else seen[key])
            for quiet, facts, figure, key in self._quiet
        ]
        if None in nodes:
            pairs = zip(nodes, self._long_ways, strict=True)
            return self._decision([evaluate(kinds) if node is None else node for node, evaluate in pairs])
        decision = self._decision(nodes)  # type: ignore[arg-type]  # none of them is None
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[seen] = decision
        return decision

    def _generate(self) -> Scan:
        look = look_of(self._leaves, self._parameters)
        self._quiet = tuple(
            [(quiet_node(leaf, self._parameters), *slot) for leaf, slot in zip(self._leaves, look.slots, strict=True)]
        )
        self._scan = look.scan
        return look.scan

    def _decision(self, leaves: list[ProofNode]) -> Decision:
        nodes = leaves[: self._own]
        for children, build in self._combinations:
            nodes.append(build(children(nodes)))
        outcomes = []
        for name, is_required, children, build in self._validators:
            node = build(children(nodes))
            outcomes.append(ValidatorOutcome(name, is_required, node, _status(node)))
        outcomes += self._absent
        escalations = self._escalations(nodes)
        considered = [outcome.status for outcome in outcomes if outcome.required]
        said = _recommend(considered, escalations)
        if self._floor is None:
            return Decision(tuple(outcomes), None, escalations, *said)
        floor = self._floor(tuple(leaves[self._own :]))
        status = _status(floor)
        decides = False
        if considered and status is not Status.PASSED:
            with_floor = _recommend([*considered, status], escalations)
            decides = with_floor[0] is not said[0]
            said = with_floor if decides else said
        return Decision(tuple(outcomes), FloorOutcome(floor, status, decides), escalations, *said)


def _at(places: Mapping[str, int], names: tuple[str, ...]) -> Callable[[list[ProofNode]], tuple[ProofNode, ...]]:
    """How the nodes of some conditions are taken out of all."""
    positions = [places[name] for name in names]
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda nodes: tuple([nodes[position] for position in positions])


@lru_cache(maxsize=64)
def _judge(
    bundle: Bundle, parameters: tuple[tuple[str, Value], ...], required: tuple[str, ...], floor: Floor | None
) -> Judge:
    return Judge(bundle, dict(parameters), required, floor)


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
