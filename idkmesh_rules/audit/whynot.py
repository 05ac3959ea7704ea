"""What would have had to be different for an acceptance: sets of fact changes, grouped by condition.

Invariants: a set is told only if deciding over the changed facts accepts, and deciding without any one of its groups doesn't
(for small sets: without any selection of them); the cheapest sets come first, changed fields before facts that come or go;
the work is linear in the number of facts, the number of sets bounded (design: facts-and-policy, *For the auditor*).
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import combinations, count
from typing import NamedTuple

from idkmesh_rules.audit.changes import Group, applied, lawful, merged
from idkmesh_rules.audit.repairs import Repairer
from idkmesh_rules.audit.rows import Look, RowFinder
from idkmesh_rules.model.bundle import Form, Leaf
from idkmesh_rules.model.facts import FactStore
from idkmesh_rules.model.proof import Decision, ProofNode, Recommendation, Status
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.result.assembly import Basis

MOST_SETS = 64
"""How many sets are looked for."""

_WORK = 400_000
_STEPS = 400
_SMALL = 6
_TWICE = 2

Groups = tuple[Group, ...]


class WhyNot(NamedTuple):
    """The sets of changes that lead to an acceptance. `impossible` says why there is none that facts could bring about.

    `more` says that the search ended at its bounds, so that other sets may exist.
    """

    recommendation: Recommendation
    sets: tuple[Groups, ...]
    impossible: str | None = None
    more: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the decision is an acceptance as it is."""
        return self.recommendation is Recommendation.ACCEPT


def why_not(basis: Basis) -> WhyNot:
    """Look for the changes after which `basis` would lead to an acceptance."""
    decision = basis.decide()
    if decision.recommendation is Recommendation.ACCEPT:
        return WhyNot(decision.recommendation, ())
    uncovered = [outcome.id for outcome in decision.validators if outcome.required and not outcome.node.children]
    if uncovered or not basis.required:
        named = ", ".join(uncovered)
        why = f"no rule implements the required validator {named}" if uncovered else "no validator is required"
        return WhyNot(decision.recommendation, (), why)
    search = _Search(basis)
    sets = search.run()
    return WhyNot(decision.recommendation, sets, None, search.exhausted)


class _Wish(NamedTuple):
    """A leaf that has to hold or not to hold."""

    name: str
    below_floor: bool
    wanted: bool


class _Search:
    """Best first: take the cheapest way on, decide again, and go on from there."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis
        self.exhausted = False
        self._repairers = dict(_repairers(basis))
        rows = sum(len(facts.rows) for facts in basis.store)
        self._steps = max(24, min(_STEPS, _WORK // (rows + 1)))
        self._small = _SMALL if rows < _WORK // 100 else 0

    def run(self) -> tuple[Groups, ...]:
        found: dict[frozenset[object], Groups] = {}
        order = count()
        pending: list[tuple[int, int, FactStore, Groups]] = []
        heappush(pending, (0, next(order), self._basis.store, ()))
        steps = 0
        while pending:
            cost, _, store, groups = heappop(pending)
            steps += 1
            if steps > self._steps or len(found) >= MOST_SETS:
                self.exhausted = True
                break
            seen = self._basis._replace(store=store).decide()
            if seen.recommendation is Recommendation.ACCEPT:
                least = self._minimal(merged(groups))
                atoms = frozenset().union(*[group.atoms for group in least or ()])
                if least is not None and not any(known <= atoms for known in found):
                    # A set that asks for all that another does and for more is no smallest one.
                    found = {other: theirs for other, theirs in found.items() if not atoms <= other} | {atoms: least}
                continue
            taken = [_Wish(group.leaf.name, group.below_floor, group.wanted) for group in groups]
            for wish in dict.fromkeys(_wishes(seen)):
                if taken.count(wish) < _TWICE:
                    repairer, kind = self._repairers[wish.name, wish.below_floor]
                    for group in repairer.ways(store[kind], wanted=wish.wanted):
                        entry = (cost + group.cost, next(order), applied(store, (group,)), (*groups, group))
                        heappush(pending, entry)
        return tuple(sorted(found.values(), key=lambda groups: sum(group.cost for group in groups)))

    def _accepts(self, groups: Groups) -> bool:
        store = applied(self._basis.store, groups)
        return self._basis._replace(store=store).decide().recommendation is Recommendation.ACCEPT

    def _minimal(self, groups: Groups) -> Groups | None:
        """What is left when groups are taken out as long as the rest is accepted.

        None if changes of one fact that were found one after the other don't go together.
        """
        if not self._accepts(groups):
            return None
        for group in sorted(groups, key=lambda group: -group.cost):
            rest = tuple([each for each in groups if each is not group])
            if rest and self._accepts(rest):
                groups = rest
        if len(groups) <= self._small:
            smaller = (part for size in range(1, len(groups)) for part in combinations(groups, size))
            groups = next((part for part in smaller if self._accepts(part)), groups)
        return groups if lawful(applied(self._basis.store, groups), groups) else None


def _repairers(basis: Basis) -> Iterator[tuple[tuple[str, bool], tuple[Repairer, str]]]:
    """A repairer for each leaf that the decision rests on, and the kind it is over; conditions over one kind share a finder."""
    bundle, parameters = basis.bundle, basis.parameters
    roots = [
        child for name in basis.required if name in bundle.validators for child in bundle.validators[name].children
    ]
    leaves = {(leaf.name, False): leaf for leaf in bundle.leaves(tuple(roots))}
    watched: dict[tuple[str, bool], Leaf] = {**leaves, **{(leaf.name, True): leaf for leaf in basis.floor.leaves}}
    asking = {(leaf.name, False): leaf for leaf in bundle.leaves(bundle.escalate)}
    looks = {key: Look.of(leaf, parameters) for key, leaf in {**asking, **watched}.items()}
    finders: dict[str, RowFinder] = {}
    for key, look in looks.items():
        kind = look.leaf.kind
        if kind.name not in finders:
            own = tuple([each for name, each in looks.items() if name in watched and each.leaf.kind is kind])
            others = tuple([each for each in looks.values() if each.leaf.kind is kind])
            finders[kind.name] = RowFinder(kind, own, others, parameters)
        yield key, (Repairer(look, key[1], finders[kind.name], parameters), kind.name)


def _wishes(decision: Decision) -> Iterator[_Wish]:
    """What would bring a decision nearer to an acceptance: the alternatives for the first thing that stands in its way."""
    for outcome in decision.validators:
        if outcome.required and outcome.status is not Status.PASSED:
            yield from (_Wish(name, False, True) for name in _to_hold(outcome.node))
            return
    floor = decision.floor
    if floor is not None and floor.status is not Status.PASSED:
        yield from (_Wish(name, True, True) for name in _to_hold(floor.node))
        return
    for node in decision.escalations:
        if node.value in (Truth.TRUE, Truth.UNKNOWN):
            yield from (_Wish(name, False, False) for name in _to_fail(node))
            return


def _to_hold(node: ProofNode) -> Iterator[str]:
    """The leaves any one of which is worth mending so that `node` becomes true."""
    if node.leaf is not None:
        yield node.condition
        return
    troubled = [child for child in node.children if child.value in (Truth.FALSE, Truth.UNKNOWN)]
    # An `any` holds if one child does; an `all` needs each of them, so the first is as good as any; and where nothing
    # applies, something has to.
    chosen = troubled[:1] if troubled and node.form is not Form.ANY else node.children
    for child in chosen:
        yield from _to_hold(child)


def _to_fail(node: ProofNode) -> Iterator[str]:
    """The leaves any one of which is worth changing so that `node` stops being true or unknown."""
    if node.leaf is not None:
        yield node.condition
        return
    asking = [child for child in node.children if child.value in (Truth.TRUE, Truth.UNKNOWN)]
    for child in asking[:1] if node.form is Form.ANY else node.children:
        yield from _to_fail(child)
