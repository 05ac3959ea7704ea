"""Cases that are still missing: edits of the base that meet an open obligation or notice a surviving mutant.

Candidates are made from the leaves (each field that a leaf demands unknown, each value that its demands tell apart, facts
dropped and added, as many as a bound speaks of), tried, and kept if they show something new; what they come to is
written down for a person to judge and to name (design: facts-and-policy, *Bundle tests*).

Invariant: every candidate obeys the invariants of its kinds; one that can't be made is left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from idkmesh_rules.errors import PolicyError
from idkmesh_rules.model.bundle import Demand, Floor, Leaf, Mark, Operator
from idkmesh_rules.model.facts import FactKind, Row, Value
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.policy.abstract import TooManyRows, Unknowns, atoms, rows
from idkmesh_rules.policy.parameters import bind_parameters
from idkmesh_rules.policy.predicate import filled
from idkmesh_rules.policy.testing.coverage import Obligation, met
from idkmesh_rules.policy.testing.edits import Stage
from idkmesh_rules.policy.testing.examples import fitting
from idkmesh_rules.policy.testing.fields import PLACEHOLDER
from idkmesh_rules.policy.testing.mutants import Mutant, other_values
from idkmesh_rules.policy.testing.repair import consistent, fresh_key
from idkmesh_rules.policy.testing.run import Staged, run_bare, run_case
from idkmesh_rules.policy.testing.study import noticed
from idkmesh_rules.policy.testing.suite import Action, Case, Edit, Expectation, Numbered, Suite

_AT = Mark(1, 1)
_MOST_ROWS = 64
_MOST_PAIRS = 4_000
_MOST_REPEATED = 2_000
_NOTHING = Expectation(Recommendation.ACCEPT)
_DEFAULTS: Mapping[str, Value] = {}


class Proposal(NamedTuple):
    """A case for a person to name: edits and parameters, what they come to today, and what that shows."""

    edits: tuple[Edit, ...]
    parameters: Mapping[str, Value]
    observed: Expectation
    shows: str


class Proposals(NamedTuple):
    """What the search found, and how many obligations and mutants it found nothing for."""

    found: tuple[Proposal, ...]
    left: int


def propose(
    suite: Suite,
    kinds: Mapping[str, FactKind],
    floor: Floor,
    missing: Iterable[Obligation],
    survivors: Iterable[Mutant],
) -> Proposals:
    """Cases that show as much as possible of what is `missing` and notice as many `survivors` as possible."""
    search = _Search(suite, kinds, floor, missing, survivors)
    singles = [*_candidates(suite, [*search.leaves()])]
    search.try_all(singles)
    if search.open:
        pairs = ((*one, *other) for one in singles for other in singles if one is not other)
        search.try_all(islice(pairs, _MOST_PAIRS))
    for parameter in suite.bundle.parameters.values() if search.open else ():
        # That a plan may set it shows only in a case in which one does.
        for value in other_values(parameter.default):
            search.try_all([(), *singles], {parameter.name: value})
    return Proposals(tuple(search.found), search.left)


class _Search:
    def __init__(
        self,
        suite: Suite,
        kinds: Mapping[str, FactKind],
        floor: Floor,
        missing: Iterable[Obligation],
        survivors: Iterable[Mutant],
    ) -> None:
        self._bundle, self._floor = suite.bundle, floor
        self._stage = Stage(suite, kinds)
        self._missing = dict.fromkeys(missing)
        self._survivors = [*survivors]
        self.found: list[Proposal] = []

    @property
    def open(self) -> bool:
        """Whether anything is left to be shown."""
        return bool(self._missing or self._survivors)

    @property
    def left(self) -> int:
        """How many obligations are still open and how many mutants still unnoticed, together."""
        return len(self._missing) + len(self._survivors)

    def leaves(self) -> Iterator[Leaf]:
        """The leaves that open points speak of, and mutants of them; all leaves where one speaks of a combination."""
        named = {each.condition for each in self._missing} | {mutant.leaf or "" for mutant in self._survivors}
        conditions = self._bundle.conditions
        narrow = all(isinstance(conditions.get(name), Leaf) for name in named)
        for leaf in conditions.values():
            if isinstance(leaf, Leaf) and (leaf.name in named or not narrow):
                yield leaf
        for mutant in self._survivors:
            changed = mutant.bundle.conditions.get(mutant.leaf) if mutant.leaf else None
            if isinstance(changed, Leaf):
                yield changed

    def try_all(self, candidates: Iterable[tuple[Edit, ...]], parameters: Mapping[str, Value] = _DEFAULTS) -> None:
        """Keep each candidate that shows something new."""
        for edits in candidates:
            if not self.open:
                return
            self._try(edits, parameters)

    def _try(self, edits: tuple[Edit, ...], parameters: Mapping[str, Value]) -> None:
        case = Case("proposed", _AT, edits, parameters, _NOTHING)
        try:
            staged = Staged(case, self._stage.store(case))
        except PolicyError:
            return
        shown = [each for each in met(self._bundle, run_bare(self._bundle, staged)) if each in self._missing]
        killed = [mutant for mutant in self._survivors if noticed(self._bundle, mutant, staged)]
        if not shown and not killed:
            return
        for obligation in shown:
            del self._missing[obligation]
        self._survivors = [mutant for mutant in self._survivors if mutant not in killed]
        told = [f"{each.condition} {each.value.letter} in {each.owner}" for each in shown]
        told += [f"notices {mutant.what}" for mutant in killed]
        observed = run_case(self._bundle, staged, self._floor).observed
        self.found.append(Proposal(edits, parameters, observed, "; ".join(told[:3]) + ("; …" if len(told) > 3 else "")))


def _candidates(suite: Suite, leaves: list[Leaf]) -> Iterator[tuple[Edit, ...]]:
    seen: set[object] = set()
    for leaf in leaves:
        for edit in _edits(suite, leaf):
            spelled = (edit.action, edit.kind.name, edit.where, edit.values, edit.repeat)
            if spelled not in seen:
                seen.add(spelled)
                yield (edit,)


def _edits(suite: Suite, leaf: Leaf) -> Iterator[Edit]:
    kind = leaf.kind
    base = [fact.values for fact in suite.base.get(kind.name, ())]
    defaults = bind_parameters(suite.bundle, {})
    told = atoms(leaf.demands, defaults)
    fields = dict.fromkeys(kind.index[atom.field] for atom in told)
    try:
        wanted_rows = rows(kind, told, unknowns=Unknowns.NONE)[:_MOST_ROWS]
    except TooManyRows:
        wanted_rows = []
    values: list[dict[int, object]] = [
        {kind.index[name]: fitting(row, name) for name in row.sample} for row in wanted_rows
    ]
    for row in base[:3]:
        where = _key_of(kind, row) if len(base) > 1 else ()
        for wanted in values:
            changed = consistent(kind, row, wanted)
            if changed is not None and changed != row:
                differing = [(at, new) for at, (old, new) in enumerate(zip(row, changed, strict=True)) if old != new]
                yield Edit(Action.SET, kind, _AT, where, tuple(differing))
        for position in fields:
            if not kind.fields[position].key:
                yield Edit(Action.UNKNOWN, kind, _AT, where, ((position, None),))
    yield Edit(Action.UNKNOWN, kind, _AT)
    yield Edit(Action.DROP, kind, _AT)
    if leaf.where:
        yield Edit(Action.DROP, kind, _AT, tuple([_with_defaults(demand, defaults) for demand in leaf.where]))
    if not kind.singleton:
        bounds = [filled(bound, defaults) for bound in (leaf.at_least, leaf.at_most)]
        yield from _additions(kind, base, values, [bound for bound in bounds if type(bound) is int])


def _additions(kind: FactKind, base: list[Row], values: list[dict[int, object]], bounds: list[int]) -> Iterator[Edit]:
    """One more fact of each sort, and as many as lie around a bound."""
    repeats = {1} | {bound + step - len(base) for bound in bounds for step in (-1, 0, 1, 2)}
    for wanted in values or [{}]:
        row = consistent(kind, base[0] if base else None, wanted)
        fresh = fresh_key(kind, base, row, wanted) if row is not None else None
        if fresh is None or any(isinstance(each, str) and PLACEHOLDER in each for each in fresh):
            continue  # a text with a placeholder in it can't be spelled in a fact that is added
        for repeat in sorted(repeats):
            if repeat == 1 or (1 < repeat <= _MOST_REPEATED and any(isinstance(each, Numbered) for each in fresh)):
                yield Edit(Action.ADD, kind, _AT, (), tuple(enumerate(fresh)), repeat)


def _with_defaults(demand: Demand, defaults: Mapping[str, Value]) -> Demand:
    """A demand as a case can spell it: a case knows no parameters."""
    return demand._replace(operands=tuple([filled(operand, defaults) for operand in demand.operands]))


def _key_of(kind: FactKind, row: Row) -> tuple[Demand, ...]:
    return tuple(
        [
            Demand(kind.fields[position], Operator.IN, (row[position],), _AT)  # type: ignore[arg-type]  # a key is known
            for position in kind.key_positions
        ]
    )
