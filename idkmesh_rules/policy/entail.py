"""What the passing of leaves implies, decided over abstract rows, kind by kind (design: facts-and-policy, *The floor*).

A leaf passes (is true or not applicable) exactly if: its kind is complete, where its form asks for that; every fact
obeys its law; at least so many facts are certainly in some scope; at most so many are perhaps in some scope.

Invariants: `implied` is sound (what it grants holds of every fact set, with unknown fields too), and grants what it
should: leaves are taken together, so that split, tightened and negated spellings count; a refusal shows a fact set.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from idkmesh_rules.model.bundle import Form, Leaf, OnEmpty
from idkmesh_rules.model.facts import FactKind, Value
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.abstract import AbstractRow, Conjunction, TooManyRows, Unknowns, atoms, linked_fields, rows
from idkmesh_rules.policy.predicate import filled

_TRUE, _FALSE, _UNKNOWN = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN
_NONEMPTY = (OnEmpty.FAIL, OnEmpty.INCONCLUSIVE)


Bound = tuple[Conjunction, int | None, int | None]
"""A scope, how many facts are certainly in it, and how many at most perhaps; None says nothing."""


class Claim(NamedTuple):
    """What the passing of one leaf says of the facts of its kind.

    `bounds` are (scope, fewest, most): that many facts are certainly, at most that many perhaps, in the scope; a
    bound that is None says nothing. `settled` is a scope in which a fact is certain, or from which every fact is
    certainly out.
    """

    leaf: Leaf
    where: Conjunction
    must: Conjunction
    complete: bool
    bounds: tuple[Bound, ...] = ()
    settled: Conjunction | None = None

    def obeys(self, row: AbstractRow) -> bool:
        """The law: whether a fact may stand in a store in which the leaf passes."""
        scope = row.conjunction(self.where)
        match self.leaf.form:
            case Form.EVERY:
                return scope is _FALSE or row.conjunction(self.must) is _TRUE
            case Form.ONE:
                return scope is _FALSE or (scope is _TRUE and row.conjunction(self.must) is _TRUE)
            case Form.NONE:
                return scope is _FALSE
        return not any(most == 0 for _scope, _fewest, most in self.bounds) or scope is _FALSE

    @property
    def atoms(self) -> Conjunction:
        """Every atom that the claim speaks of."""
        scopes = [atom for scope, _fewest, _most in self.bounds for atom in scope]
        return tuple(dict.fromkeys((*self.where, *self.must, *scopes)))

    @property
    def fields(self) -> frozenset[str]:
        """The fields that the claim speaks of."""
        return frozenset([atom.field for atom in self.atoms])


def claim(leaf: Leaf, parameters: Mapping[str, Value]) -> Claim:
    """The claim of a leaf under `parameters`."""
    where, must = atoms(leaf.where, parameters), atoms(leaf.must, parameters)
    match leaf.form:
        case Form.ONE:
            return Claim(leaf, where, must, True, ((where + must, 1, None), (where, None, 1)))
        case Form.EVERY:
            nonempty = ((where, 1, None),) if leaf.on_empty in _NONEMPTY else ()
            return Claim(leaf, where, must, True, nonempty, where if leaf.on_empty is OnEmpty.NOT_APPLICABLE else None)
        case Form.NONE:
            return Claim(leaf, where, must, True, (((), 1, None),) if leaf.on_empty in _NONEMPTY else ())
        case Form.SOME:
            return Claim(leaf, where, must, False, ((where, 1, None),))
    fewest, most = filled(leaf.at_least, parameters), filled(leaf.at_most, parameters)
    return Claim(leaf, where, must, most is not None, ((where, fewest, most),))  # type: ignore[arg-type]  # bounds are integers


class Gap(NamedTuple):
    """Why something is not implied: what is missing, in words, and a fact that shows it (None if facts are missing)."""

    missing: str
    row: AbstractRow | None = None


def implied(goal: Claim, given: Sequence[Claim], unknowns: Unknowns) -> Gap | None:
    """None if the leaf of `goal` passes wherever all of `given` do, else a gap; claims over other kinds don't count."""
    kind = goal.leaf.kind
    known = [each for each in given if each.leaf.kind.name == kind.name]
    if goal.complete and not any(each.complete for each in known):
        return Gap(f"nothing demands that all {kind.name} facts were seen")
    with suppress(TooManyRows):
        return _Proof(kind, known, unknowns).gap(goal)
    # Too many together. What some of them can't prove isn't thereby shown to be wrong, so that their gaps would mislead.
    for fewer in (*([each] for each in known), _narrowed(goal, known)):
        with suppress(TooManyRows):
            if _Proof(kind, fewer, unknowns).gap(goal) is None:
                return None
    return Gap(f"the conditions over {kind.name} tell too many cases apart for a proof; split them")


def _narrowed(goal: Claim, given: Sequence[Claim]) -> list[Claim]:
    """Weaker claims that speak of fewer fields: each demand of a `must` by itself, and only if it bears on the goal."""
    kind = goal.leaf.kind
    split = [each._replace(must=(atom,)) for each in given for atom in each.must]
    fields = linked_fields(kind, [atom.field for atom in goal.atoms], ())
    while True:
        bearing = [each for each in split if each.must[0].field in fields]
        more = linked_fields(kind, [*fields, *(atom.field for each in bearing for atom in each.where)], ())
        if more == fields:
            break
        fields = more
    whole = [each for each in given if not each.must]
    return [
        each._replace(bounds=tuple([_widened(bound, fields) for bound in each.bounds])) for each in (*bearing, *whole)
    ]


def _widened(bound: Bound, fields: frozenset[str]) -> Bound:
    """So many facts in a scope are so many in a wider one, too; the reverse holds of upper bounds, which stay as they are."""
    scope, fewest, most = bound
    return bound if most is not None else (tuple([atom for atom in scope if atom.field in fields]), fewest, most)


class _Proof:
    """The claims that may be used, over one kind."""

    def __init__(self, kind: FactKind, given: Sequence[Claim], unknowns: Unknowns) -> None:
        self._kind = kind
        self._unknowns = unknowns
        self._given = given
        self._groups = [each.fields for each in given]
        self._found: dict[Conjunction, tuple[AbstractRow, ...]] = {}

    def gap(self, goal: Claim) -> Gap | None:
        """What of the goal isn't implied."""
        lawless = [row for row in self._rows(goal.atoms) if not goal.obeys(row)]
        if lawless:
            return Gap("such a fact would be accepted", next((row for row in lawless if row.known), lawless[0]))
        for scope, fewest, most in goal.bounds:
            if fewest is not None and fewest > 0 and not self._enough(scope, fewest):
                count = "a fact" if fewest == 1 else f"{fewest} facts"
                return Gap(f"nothing demands {count} of the kind that it speaks of")
            if most is not None and not self._few(scope, most):
                return Gap(f"nothing keeps the facts that it speaks of to {most}")
        if goal.settled is not None and not self._settled(goal.settled):
            return Gap("nothing decides whether there is anything that it speaks of")
        return None

    def _rows(self, told: Conjunction) -> tuple[AbstractRow, ...]:
        """The rows that obey every law which has to do with `told`."""
        found = self._found.get(told)
        if found is None:
            found = self._found[told] = tuple(self._lawful(told))
        return found

    def _lawful(self, told: Conjunction) -> Iterator[AbstractRow]:
        fields = linked_fields(self._kind, [atom.field for atom in told], self._groups)
        used = [each for each, group in zip(self._given, self._groups, strict=True) if group & fields or not group]
        needed = (
            [scope for each in used for scope, fewest, _most in each.bounds if fewest] if self._kind.singleton else []
        )
        for row in rows(self._kind, (*told, *(atom for each in used for atom in each.atoms)), unknowns=self._unknowns):
            if all(each.obeys(row) for each in used) and all(row.conjunction(scope) is _TRUE for scope in needed):
                yield row

    def _enough(self, scope: Conjunction, fewest: int) -> bool:
        return any(
            has is not None
            and has >= fewest
            and all(
                row.conjunction(scope) is _TRUE for row in self._rows(scope + other) if row.conjunction(other) is _TRUE
            )
            for each in self._given
            for other, has, _most in each.bounds
        )

    def _few(self, scope: Conjunction, most: int) -> bool:
        if most >= 1 and self._kind.singleton:
            return True
        if most >= 0 and all(row.conjunction(scope) is _FALSE for row in self._rows(scope)):
            return True
        return any(
            has is not None
            and has <= most
            and all(
                row.conjunction(other) is not _FALSE
                for row in self._rows(scope + other)
                if row.conjunction(scope) is not _FALSE
            )
            for each in self._given
            for other, _fewest, has in each.bounds
        )

    def _settled(self, scope: Conjunction) -> bool:
        if all(row.conjunction(scope) is not _UNKNOWN for row in self._rows(scope)) or self._enough(scope, 1):
            return True
        return any(
            other is not None
            and all(row.conjunction(scope) is row.conjunction(other) for row in self._rows(scope + other))
            for other in (each.settled for each in self._given)
        )
