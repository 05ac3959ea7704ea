"""Make a fact that has some wanted values and can exist: other fields follow until no invariant is broken.

Invariants: a wanted value is never changed; what comes out breaks no invariant of its kind; the search is bounded, and
giving up is an answer.
"""

from collections.abc import Iterator, Mapping

from idkmesh_rules.model.facts import FactKind, Field, FieldType, Invariant, Row, Unknown, Value
from idkmesh_rules.policy.testing.suite import Given, Numbered

_MOST_STEPS = 400
_DIGESTS = ("sha256:" + "0" * 64, "sha256:" + "1" * 64)


def consistent(kind: FactKind, start: Row | None, wanted: Mapping[int, object]) -> Row | None:
    """A fact with the `wanted` values by position that can exist, near to `start`; None if none was found."""
    row = list(start) if start is not None else [_plain(declared) for declared in kind.fields]
    for position, value in wanted.items():
        row[position] = value  # type: ignore[call-overload]  # a value of the field's type
    budget = [_MOST_STEPS]
    return _mended(kind, tuple(row), frozenset(wanted), budget, 6)


def _mended(kind: FactKind, row: Row, fixed: frozenset[int], budget: list[int], depth: int) -> Row | None:
    law = _broken(kind, row)
    if law is None:
        return row
    if not depth:
        return None
    for position in [kind.index[name] for name in law.fields]:
        if position in fixed or kind.fields[position].key:
            continue
        for value in _values(kind, position, row):
            budget[0] -= 1
            if budget[0] < 0:
                return None
            tried = (*row[:position], value, *row[position + 1 :])
            if _holds(kind, law, tried):
                found = _mended(kind, tried, fixed | {position}, budget, depth - 1)
                if found is not None:
                    return found
    return None


def _broken(kind: FactKind, row: Row) -> Invariant | None:
    return next((law for law in kind.invariants if not _holds(kind, law, row)), None)


def _holds(kind: FactKind, law: Invariant, row: Row) -> bool:
    values = [row[kind.index[name]] for name in law.fields]
    return any(isinstance(value, Unknown) for value in values) or law.holds(*values)


def _values(kind: FactKind, position: int, row: Row) -> Iterator[Value]:
    """What a field could hold instead: what its type offers, what stands in its like, and nothing."""
    declared = kind.fields[position]
    if declared.type is FieldType.BOOL:
        yield from (True, False)
    elif declared.type is FieldType.ENUM:
        yield from declared.values
    else:
        like = [row[at] for at, other in enumerate(kind.fields) if other.type is declared.type and at != position]
        yield from [value for value in like if value is not None and not isinstance(value, Unknown)]
        yield from {FieldType.INT: (0, 1, 2), FieldType.DIGEST: _DIGESTS}.get(declared.type, ("some text",))
    if declared.optional:
        yield None


def _plain(declared: Field) -> Value:
    if declared.optional:
        return None
    plain: dict[FieldType, Value] = {FieldType.BOOL: False, FieldType.INT: 1, FieldType.DIGEST: _DIGESTS[0]}
    return declared.values[0] if declared.type is FieldType.ENUM else plain.get(declared.type, "some text")


def fresh_key(kind: FactKind, base: list[Row], row: Row, wanted: Mapping[int, object]) -> tuple[Given, ...] | None:
    """The fact under a key that no fact of the base has, numbered where that is possible; None if its key is wanted."""
    taken = {tuple([each[position] for position in kind.key_positions]) for each in base}
    values: list[Given] = [*row]
    for position in kind.key_positions:
        declared = kind.fields[position]
        if position in wanted:
            continue
        if declared.type is FieldType.STRING:
            values[position] = Numbered(f"another-{declared.name}-{{n}}", False)
            return tuple(values)
        if declared.type is FieldType.INT and all(each[position] in (0, None) for each in base):
            values[position] = Numbered("{n}", True)
            return tuple(values)
        for other in declared.values:
            values[position] = other
            if tuple([values[at] for at in kind.key_positions]) not in taken:
                return tuple(values)
    return tuple(values) if tuple([values[at] for at in kind.key_positions]) not in taken else None
