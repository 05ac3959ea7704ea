"""What the fields of a kind may become, and which values go together: the material that imagined facts are made of.

Invariants: values come in a fixed order, those that conditions name first; laws are tried, never solved, on a bounded number
of values, so that no rule bundle can make it take long; a law whose unknown fields could satisfy it is kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice, product

from idkmesh_rules.model.bundle import Demand, Operator
from idkmesh_rules.model.facts import FactKind, Field, FieldType, Invariant, Row, Unknown, Value
from idkmesh_rules.policy.predicate import filled

SOME_TEXT = "(some text)"
SOME_DIGEST = "sha256:" + "0" * 64
"""Stand-ins for a text or a digest of which nothing is demanded."""

_MOST_VALUES = 64
_COMPLETIONS = 512


def new_text(name: str, number: int = 1) -> str:
    """A stand-in for the text of a new fact's key field."""
    return f"(some {name})" if number == 1 else f"(some {name} {number})"


class Domains:
    """The values that the fields of one kind may take, as far as `demands` and the kind's laws tell them apart."""

    def __init__(self, kind: FactKind, demands: Iterable[Demand], parameters: Mapping[str, Value]) -> None:
        self._kind = kind
        demands = tuple(demands)
        self._literals = {
            declared.name: tuple(
                _literals(declared, [each for each in demands if each.field.name == declared.name], parameters)
            )
            for declared in kind.fields
        }
        self._tied = {
            declared.name: tuple(
                dict.fromkeys(
                    kind.index[name]
                    for law in kind.invariants
                    if declared.name in law.fields
                    for name in law.fields
                    if name != declared.name and kind.fields[kind.index[name]].type is declared.type
                )
            )
            for declared in kind.fields
            if declared.type is not FieldType.BOOL
        }

    @cached_property
    def determined(self) -> frozenset[int]:
        """Positions of the bools that follow from the other fields of some law, such as authorized from allowed and others."""
        return frozenset(
            self._kind.index[name]
            for law in self._kind.invariants
            for name in law.fields
            if self._kind.fields[self._kind.index[name]].type is FieldType.BOOL and self._follows(law, name)
        )

    def _follows(self, law: Invariant, name: str) -> bool:
        """Whether a law leaves a bool exactly one value, whatever the others are (of a bounded number of values)."""
        plain = self.plain()
        others = [other for other in law.fields if other != name]
        choices = [(plain[self._kind.index[other]], *self.values(self._kind.index[other], plain)) for other in others]
        for values in islice(product(*choices), _COMPLETIONS):
            given = dict(zip(others, values, strict=True))
            if law.holds(*[given.get(each, True) for each in law.fields]) is law.holds(
                *[given.get(each, False) for each in law.fields]
            ):
                return False
        return True

    def values(self, position: int, row: Row) -> tuple[Value, ...]:
        """What a field of a row may become: anything that conditions tell apart, or that a law compares it with."""
        declared, old = self._kind.fields[position], row[position]
        values = list(self._literals[declared.name])
        for other in self._tied.get(declared.name, ()):
            beside = row[other]
            if beside is not None and not isinstance(beside, Unknown):
                values.append(beside)
        if declared.optional:
            values.append(None)
        return tuple([value for value in dict.fromkeys(values) if type(value) is not type(old) or value != old])

    def key_values(self, position: int, taken: tuple[Row, ...]) -> tuple[Value, ...]:
        """What a key field of a new fact may be, beside the facts that are there."""
        declared = self._kind.fields[position]
        values = list(self._literals[declared.name])
        if declared.type is FieldType.INT:
            values.append(max([0, *[row[position] + 1 for row in taken]]))  # type: ignore[operator]  # an INT field
        elif declared.type is FieldType.STRING:
            values = [value for value in values if value != SOME_TEXT]
            values += [new_text(declared.name, number) for number in range(1, len(taken) + 2)]
        return tuple(dict.fromkeys(values))

    def plain(self) -> Row:
        """A row of which nothing is demanded; laws aside."""
        plain: dict[FieldType, Value] = {
            FieldType.BOOL: True,
            FieldType.INT: 0,
            FieldType.STRING: SOME_TEXT,
            FieldType.DIGEST: SOME_DIGEST,
        }
        return tuple(
            [
                None if declared.optional else plain.get(declared.type, next(iter(declared.values), None))
                for declared in self._kind.fields
            ]
        )

    def lawful(self, row: Row) -> bool:
        """Whether every law of the kind holds, or could hold if the row's unknown fields were known."""
        return all(self._possible(law, row) for law in self._kind.invariants)

    def settled(self, row: Row, free: tuple[int, ...]) -> Row:
        """The row with those unknown fields among `free` filled in that the laws leave one value."""
        made = list(row)
        for law in self._kind.invariants:
            for name in law.fields:
                position = self._kind.index[name]
                if position in free and isinstance(made[position], Unknown):
                    fitting = [
                        value
                        for value in self.values(position, tuple(made))
                        if self._possible(law, (*made[:position], value, *made[position + 1 :]))
                    ]
                    if len(fitting) == 1 and (fitting[0] is None or isinstance(fitting[0], bool)):
                        made[position] = fitting[0]
        return tuple(made)

    def _possible(self, law: Invariant, row: Row) -> bool:
        choices = [self._known(self._kind.index[name], row) for name in law.fields]
        return any(law.holds(*values) for values in islice(product(*choices), _COMPLETIONS))

    def _known(self, position: int, row: Row) -> tuple[Value, ...]:
        value = row[position]
        return self.values(position, row) if isinstance(value, Unknown) else (value,)


def _literals(declared: Field, demands: list[Demand], parameters: Mapping[str, Value]) -> Iterator[Value]:
    if declared.type is FieldType.BOOL:
        yield from (True, False)
        return
    if declared.type is FieldType.ENUM:
        yield from declared.values
        return
    named = ((demand.operator, filled(operand, parameters)) for demand in demands for operand in demand.operands)
    operands = list(islice(named, _MOST_VALUES))
    if declared.type is FieldType.INT:
        numbers = [value for _operator, value in operands if isinstance(value, int)]
        yield from dict.fromkeys([*numbers, *[value + step for value in numbers for step in (1, -1)], 1, 0])
        return
    for operator, operand in operands:
        yield _sample(str(operand)) if operator is Operator.GLOB else operand
    yield SOME_DIGEST if declared.type is FieldType.DIGEST else SOME_TEXT


def _sample(pattern: str) -> str:
    """A text that a glob pattern most likely matches; whoever uses it tries."""
    text = pattern.replace("**", "x").replace("*", "x").replace("?", "x")
    return text + "x" if text.endswith("/") else text
