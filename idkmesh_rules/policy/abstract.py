"""Facts in the abstract: finitely many rows that stand for all facts of a kind, as far as given demands can tell them
apart.

Invariants:
- Every fact that satisfies the kind's declared invariants is represented by some row here with the same truths of all
  demands: literals that occur, one other value, the neighbours of bounds, absent, unknown (design: *The floor*).
- The converse need not hold: globs and `contains` are opaque (either truth is thought possible of a text that occurs
  nowhere), and only invariants over bools and enums cut rows away, because only those can be tried on all values. So
  what holds of all rows holds of all facts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from enum import Enum
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

from idkmesh_rules.model.bundle import Demand, Operator
from idkmesh_rules.model.facts import FactKind, Field, FieldType, Invariant, Unknown, Value
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.predicate import filled, test_of

MAX_CELLS = 60_000
UNOBSERVED = Unknown("not observed")

_OPAQUE = (Operator.GLOB, Operator.CONTAINS)
_FINITE = (FieldType.BOOL, FieldType.ENUM)


class Unknowns(Enum):
    """Which fields of a row may be unknown."""

    NONE = "none"
    UNDETERMINED = "those of which the invariants leave more than one value"
    ANY = "any but the key"


class Atom(NamedTuple):
    """A demand with its parameters filled in: field name, operator, operands."""

    field: str
    operator: Operator
    operands: tuple[Value, ...]


Conjunction = tuple[Atom, ...]


def atoms(demands: Iterable[Demand], parameters: Mapping[str, Value]) -> Conjunction:
    """The demands of a `where` or a `must` as atoms under `parameters`."""
    return tuple(
        [
            Atom(
                demand.field.name, demand.operator, tuple([filled(operand, parameters) for operand in demand.operands])
            )
            for demand in demands
        ]
    )


class TooManyRows(Exception):
    """The demands tell so many rows apart that they would fill more than `MAX_CELLS`; nothing is said about them."""


class AbstractRow(NamedTuple):
    """One row: a sample value a field, and the truth of every atom."""

    sample: Mapping[str, Value | Unknown]
    truths: Mapping[Atom, Truth]

    def conjunction(self, part: Conjunction) -> Truth:
        """The truth of some atoms together; true if there are none."""
        value = Truth.TRUE
        for atom in part:
            said = self.truths[atom]
            if said is Truth.FALSE:
                return said
            if said is Truth.UNKNOWN:
                value = said
        return value

    @property
    def known(self) -> bool:
        """Whether no field of it is unknown."""
        return UNOBSERVED not in self.sample.values()


def linked_fields(kind: FactKind, fields: Iterable[str], groups: Iterable[frozenset[str]]) -> frozenset[str]:
    """`fields` with all that is tied to them by a group of demands or by an invariant that cuts rows away."""
    ties = [*groups, *(frozenset(law.fields) for law in finite_invariants(kind))]
    found = frozenset(fields)
    while True:
        more = found.union(*(tie for tie in ties if tie & found))
        if more == found:
            return found
        found = more


def finite_invariants(kind: FactKind) -> tuple[Invariant, ...]:
    """The invariants of a kind that can be tried on all values: those over bools and enums."""
    finite = {declared.name for declared in kind.fields if declared.type in _FINITE}
    return tuple([law for law in kind.invariants if finite.issuperset(law.fields)])


def rows(kind: FactKind, wanted: Iterable[Atom], *, unknowns: Unknowns) -> list[AbstractRow]:
    """All rows that `wanted` can tell apart, with such unknown fields. Raises `TooManyRows`."""
    told: dict[str, tuple[Atom, ...]] = {}
    for atom in dict.fromkeys(wanted):
        told[atom.field] = (*told.get(atom.field, ()), atom)
    parts: list[list[AbstractRow]] = []
    while told:
        name, own = next(iter(told.items()))
        tied = linked_fields(kind, (name,), ())
        together = {field: told.pop(field) for field in tuple(told) if field in tied}
        # An invariant matters only if it can tie two mentioned fields together; leaving others out keeps more rows,
        # which is safe.
        parts.append(
            _tied(kind, together, tied, unknowns)
            if len(together) > 1
            else [
                AbstractRow({name: value}, dict(truths))
                for value, truths in _domain(_field(kind, name), own, False, unknowns)
            ]
        )
    _check_size(parts, sum(len(part[0].truths) for part in parts))
    found = parts.pop() if parts else [AbstractRow({}, {})]
    for part in parts:
        found = [
            AbstractRow({**one.sample, **other.sample}, {**one.truths, **other.truths})
            for one in part
            for other in found
        ]
    return found


def _tied(
    kind: FactKind, told: Mapping[str, tuple[Atom, ...]], tied: frozenset[str], unknowns: Unknowns
) -> list[AbstractRow]:
    """The rows of fields that invariants tie together, those with the same truths once."""
    names = sorted(tied, key=kind.index.__getitem__)
    domains = [_domain(_field(kind, name), told.get(name, ()), True, unknowns) for name in names]
    _check_size(domains, sum(map(len, told.values())))
    possible = [_Possible(kind, law, names, unknowns) for law in finite_invariants(kind) if tied.issuperset(law.fields)]
    distinct: dict[tuple[tuple[tuple[Atom, Truth], ...], ...], AbstractRow] = {}
    for values in product(*domains):
        truths = tuple([truths for _value, truths in values])
        if truths not in distinct and all(allowed(values) for allowed in possible):
            sample = {name: value for name, (value, _truths) in zip(names, values, strict=True) if name in told}
            distinct[truths] = AbstractRow(sample, {atom: truth for each in truths for atom, truth in each})
    return list(distinct.values())


def _check_size(domains: Iterable[Sized], columns: int) -> None:
    if prod(map(len, domains)) * columns > MAX_CELLS:
        raise TooManyRows


def _field(kind: FactKind, name: str) -> Field:
    return kind.fields[kind.index[name]]


_AbstractValue = tuple[Value | Unknown, tuple[tuple[Atom, Truth], ...]]


@lru_cache(maxsize=1024)
def _domain(declared: Field, told: tuple[Atom, ...], bound: bool, unknowns: Unknowns) -> tuple[_AbstractValue, ...]:
    """The values of a field that atoms tell apart (all of them, if an invariant binds it), with the atoms' truths."""
    if len(told) ** 2 > MAX_CELLS:
        raise TooManyRows
    tests = [(atom, test_of(atom.operator, atom.operands)) for atom in told]
    values: list[_AbstractValue] = [
        (value, tuple([(atom, test(value)) for atom, test in tests])) for value in _samples(declared, told)
    ]
    if declared.type in (FieldType.STRING, FieldType.DIGEST):
        values.extend(_other_texts(told, tests))
    if declared.optional:
        values.append((None, tuple([(atom, test(None)) for atom, test in tests])))
    if unknowns is not Unknowns.NONE and not declared.key:
        values.append((UNOBSERVED, tuple([(atom, Truth.UNKNOWN) for atom in told])))
    if bound:
        return tuple(values)
    distinct: dict[tuple[tuple[Atom, Truth], ...], _AbstractValue] = {}
    for value in values:
        distinct.setdefault(value[1], value)
    return tuple(distinct.values())


def _samples(declared: Field, told: tuple[Atom, ...]) -> list[Value]:
    if declared.type is FieldType.BOOL:
        return [True, False]
    if declared.type is FieldType.ENUM:
        return list(declared.values)
    operands = [operand for atom in told if atom.operator not in _OPAQUE for operand in atom.operands]
    if declared.type is FieldType.INT:
        around = {operand + step for operand in operands for step in (-1, 0, 1)}  # type: ignore[operator]  # checked when loaded
        return list(sorted(around) or [0])
    return list(dict.fromkeys(operands))


def _other_texts(
    told: tuple[Atom, ...], tests: list[tuple[Atom, Callable[[Value | Unknown], Truth]]]
) -> Iterator[_AbstractValue]:
    """A text that is no literal here: it may meet any selection of the opaque atoms."""
    literals = {operand for atom in told for operand in atom.operands}
    other = next(
        text for number in range(len(literals) + 1) if (text := f"some other text{number or ''}") not in literals
    )
    opaque = [atom for atom in told if atom.operator in _OPAQUE]
    if len(told) << len(opaque) > MAX_CELLS:
        raise TooManyRows
    plain = [(atom, test(other)) for atom, test in tests if atom.operator not in _OPAQUE]
    for truths in product((Truth.TRUE, Truth.FALSE), repeat=len(opaque)):
        yield other, (*plain, *zip(opaque, truths, strict=True))


class _Possible:
    """Whether an invariant allows a row: as it is, or with its unknown fields filled in somehow.

    Where only undetermined fields may be unknown, it must leave each unknown field more than one value.
    """

    def __init__(self, kind: FactKind, law: Invariant, names: list[str], unknowns: Unknowns) -> None:
        self._law = law
        self._fewest = 2 if unknowns is Unknowns.UNDETERMINED else 1
        self._positions = [names.index(name) for name in law.fields]
        self._known = [
            [value for value, _truths in _domain(_field(kind, name), (), True, Unknowns.NONE)] for name in law.fields
        ]

    def __call__(self, values: tuple[_AbstractValue, ...]) -> bool:
        given = tuple([values[position][0] for position in self._positions])
        choices = [known if value is UNOBSERVED else [value] for value, known in zip(given, self._known, strict=True)]
        fitting = [choice for choice in product(*choices) if self._law.holds(*choice)]
        return bool(fitting) and all(
            len(set(values)) >= self._fewest
            for value, values in zip(given, zip(*fitting, strict=True), strict=True)
            if value is UNOBSERVED
        )
