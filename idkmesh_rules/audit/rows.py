"""The nearest fact that a condition would be content with: as few fields changed as possible, the kind's laws kept.

Invariants: key fields are never changed; what comes out satisfies every declared invariant, as far as its fields are known;
a change that would make another condition discontent is taken only if there is no other; the search is bounded, and rows
that look alike to all conditions are searched for once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, islice, product
from typing import NamedTuple

from idkmesh_rules.audit.changes import key_of
from idkmesh_rules.model.bundle import Demand, Form, Leaf, Operator
from idkmesh_rules.model.facts import FactKind, Field, FieldType, Invariant, Row, Unknown, Value
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.predicate import compiled, filled
from idkmesh_rules.policy.scan import Part, part

SOME_TEXT = "(some text)"
SOME_DIGEST = "sha256:" + "0" * 64
"""Stand-ins for a text or a digest of which nothing is demanded."""


def new_text(name: str, number: int = 1) -> str:
    """A stand-in for the text of a new fact's key field."""
    return f"(some {name})" if number == 1 else f"(some {name} {number})"


_TRIES = 20_000
_NEW_TRIES = 4_000
_NEW_KEYS = 64

Accepts = Callable[[Row], bool]


class Look(NamedTuple):
    """How a condition looks at one fact: is it in scope, does it meet what is demanded."""

    leaf: Leaf
    where: Part
    must: Part

    @classmethod
    def of(cls, leaf: Leaf, parameters: Mapping[str, Value]) -> "Look":
        """The look of a leaf; under `none` the whole kind is in scope, and `where` is what must not hold."""
        return cls(leaf, part(leaf, leaf.where, parameters), part(leaf, leaf.must, parameters))

    def good(self, row: Row) -> bool:
        """In scope, and as demanded."""
        if self.leaf.form is Form.NONE:
            return self.where.judge(row) is Truth.FALSE
        return self.where.judge(row) is Truth.TRUE and self.must.judge(row) is Truth.TRUE

    def bad(self, row: Row) -> bool:
        """In scope, and not as demanded."""
        if self.leaf.form is Form.NONE:
            return self.where.judge(row) is Truth.TRUE
        return self.where.judge(row) is Truth.TRUE and self.must.judge(row) is Truth.FALSE

    def out(self, row: Row) -> bool:
        """Out of scope."""
        return self.leaf.form is not Form.NONE and self.where.judge(row) is Truth.FALSE

    def content(self, row: Row) -> bool:
        """Whether this fact by itself is no reason for the condition not to hold."""
        if self.leaf.form in (Form.SOME, Form.COUNT):
            return True
        return self.good(row) or self.out(row)


class RowFinder:
    """Finds rows of one kind. `looks` are the conditions over it that have to hold, `all_looks` those with any that mustn't."""

    def __init__(
        self, kind: FactKind, looks: tuple[Look, ...], all_looks: tuple[Look, ...], parameters: Mapping[str, Value]
    ) -> None:
        self._kind = kind
        self._looks = looks
        self._parameters = parameters
        demands = [demand for look in all_looks for demand in look.leaf.demands]
        self._operands = {
            declared.name: tuple(
                self._literals(declared, [each for each in demands if each.field.name == declared.name])
            )
            for declared in kind.fields
        }
        demanded = {kind.index[demand.field.name] for demand in demands}
        keys = frozenset(kind.key_positions)
        self._watched = tuple(sorted(demanded - keys))
        self._key_tests = tuple(
            (kind.index[demand.field.name], compiled(demand, parameters))
            for demand in demands
            if kind.index[demand.field.name] in keys
        )
        self._found: dict[object, tuple[tuple[int, Value | Unknown], ...] | None] = {}

    def nearest(self, row: Row, look: Look, target: str) -> Row | None:
        """The nearest row of which `look` says `target` (`good`, `bad`, `out`); None if none was found."""
        free = self._free(look.leaf, row)
        watched = sorted({*free, *self._watched})
        keys = tuple([test(row[position]) for position, test in self._key_tests])
        signature = (id(look), target, keys, tuple([(type(row[n]), row[n]) for n in watched]))
        if signature not in self._found:
            new = self._search(row, free, getattr(look, target), self._discontent(row), _TRIES)
            self._found[signature] = None if new is None else tuple([(n, new[n]) for n in free])
        changes = self._found[signature]
        if changes is None:
            return None
        made = list(row)
        for position, value in changes:
            made[position] = value
        return tuple(made)

    def fresh(self, look: Look, target: str, taken: Iterable[Row]) -> Row | None:
        """A row with a key that none of `taken` has, of which `look` says `target`; None if none was found."""
        taken = tuple(taken)
        keys = {key_of(self._kind, row) for row in taken}
        if self._kind.singleton and keys:
            return None
        pattern = next((row for row in taken if look.good(row)), taken[0] if taken else None)
        draws = [
            self._draft(key, pattern)
            for key in islice(product(*[self._key_values(n, taken) for n in self._kind.key_positions]), _NEW_KEYS)
            if key not in keys
        ]
        for wary in (True, False):
            for draft in draws:
                row = self._search(draft, self._changeable(), getattr(look, target), frozenset(), _NEW_TRIES, wary=wary)
                if row is not None:
                    return row
        return None

    def _search(
        self,
        row: Row,
        free: tuple[int, ...],
        accepts: Accepts,
        discontent: frozenset[int],
        most: int,
        *,
        wary: bool = False,
    ) -> Row | None:
        """Fewest changes first; a row that makes nobody else discontent before any other, and no other if `wary`."""
        options = [self._values(position, row) for position in free]
        fallback: Row | None = None
        tries = 0
        for count in range(len(free) + 1):
            for chosen in combinations(range(len(free)), count):
                for values in product(*[options[index] for index in chosen]):
                    tries += 1
                    if tries > most:
                        return fallback
                    made = list(row)
                    for index, value in zip(chosen, values, strict=True):
                        made[free[index]] = value
                    new = tuple(made)
                    if accepts(new) and self._lawful(new):
                        if self._discontent(new) <= discontent:
                            return self._settled(new, free)
                        if not wary and fallback is None:
                            fallback = self._settled(new, free)
        return fallback

    def _discontent(self, row: Row) -> frozenset[int]:
        return frozenset(number for number, look in enumerate(self._looks) if not look.content(row))

    def _free(self, leaf: Leaf, row: Row) -> tuple[int, ...]:
        """The positions that may change: what the leaf speaks of, and what laws tie to that, the demanded ones first.

        Laws name what was expected before what was observed, and rather than the former the latter is changed.
        """
        index, kind = self._kind.index, self._kind
        own = [demand.field.name for demand in (*leaf.must, *leaf.where) if not demand.field.key]
        found = dict.fromkeys(own)
        while True:
            more = [
                name
                for law in kind.invariants
                if not found.keys().isdisjoint(law.fields)
                for name in reversed(law.fields)
            ]
            new = [name for name in more if name not in found and not kind.fields[index[name]].key]
            if not new:
                return tuple([index[name] for name in found])
            found.update(dict.fromkeys(new))

    def _changeable(self) -> tuple[int, ...]:
        """Of a new row: every field that some condition or law speaks of, but for the key."""
        index = self._kind.index
        tied = {index[name] for law in self._kind.invariants for name in law.fields}
        return tuple(sorted({*self._watched, *tied} - set(self._kind.key_positions)))

    def _draft(self, key: tuple[Value, ...], pattern: Row | None) -> Row:
        keys = dict(zip(self._kind.key_positions, key, strict=True))
        blank = [self._plain(declared) for declared in self._kind.fields]
        base = (
            blank
            if pattern is None
            else [new if type(old) is Unknown else old for old, new in zip(pattern, blank, strict=True)]
        )
        return tuple([keys.get(position, value) for position, value in enumerate(base)])

    def _plain(self, declared: Field) -> Value:
        if declared.optional:
            return None
        plain: dict[FieldType, Value] = {
            FieldType.BOOL: True,
            FieldType.INT: 0,
            FieldType.STRING: SOME_TEXT,
            FieldType.DIGEST: SOME_DIGEST,
        }
        return declared.values[0] if declared.type is FieldType.ENUM else plain[declared.type]

    def _key_values(self, position: int, taken: tuple[Row, ...]) -> tuple[Value, ...]:
        declared = self._kind.fields[position]
        values = list(self._literals_of(declared))
        if declared.type is FieldType.INT:
            values.append(max([0, *[row[position] + 1 for row in taken]]))  # type: ignore[operator]
        elif declared.type is FieldType.STRING:
            values = [value for value in values if value != SOME_TEXT]
            values += [new_text(declared.name, number) for number in range(1, len(taken) + 2)]
        return tuple(dict.fromkeys(values))

    def _values(self, position: int, row: Row) -> tuple[Value, ...]:
        """What a field may become: anything that conditions tell apart, or that a law compares it with."""
        declared, old = self._kind.fields[position], row[position]
        values: list[Value] = list(self._literals_of(declared))
        for name in {name for law in self._kind.invariants if declared.name in law.fields for name in law.fields}:
            other = self._kind.index[name]
            if (
                other != position
                and self._kind.fields[other].type is declared.type
                and declared.type is not FieldType.BOOL
            ):
                beside = row[other]
                if beside is not None and not isinstance(beside, Unknown):
                    values.append(beside)
        if declared.optional:
            values.append(None)
        return tuple([value for value in dict.fromkeys(values) if type(value) is not type(old) or value != old])

    def _literals_of(self, declared: Field) -> tuple[Value, ...]:
        return self._operands[declared.name]

    def _literals(self, declared: Field, demands: list[Demand]) -> Iterator[Value]:
        if declared.type is FieldType.BOOL:
            yield from (True, False)
            return
        if declared.type is FieldType.ENUM:
            yield from declared.values
            return
        operands = [
            (demand.operator, filled(operand, self._parameters)) for demand in demands for operand in demand.operands
        ]
        if declared.type is FieldType.INT:
            numbers = [value for _operator, value in operands if isinstance(value, int)]
            yield from dict.fromkeys([*numbers, *[value + step for value in numbers for step in (1, -1)], 1, 0])
            return
        for operator, operand in operands:
            yield _sample(str(operand)) if operator is Operator.GLOB else operand
        yield SOME_DIGEST if declared.type is FieldType.DIGEST else SOME_TEXT

    def _lawful(self, row: Row) -> bool:
        return all(self._possible(law, row) for law in self._kind.invariants)

    def _possible(self, law: Invariant, row: Row) -> bool:
        """Whether a law holds, or could hold if its unknown fields were known."""
        positions = [self._kind.index[name] for name in law.fields]
        choices = [self._known(position, row) for position in positions]
        return any(law.holds(*values) for values in product(*choices))

    def _known(self, position: int, row: Row) -> tuple[Value, ...]:
        value = row[position]
        if not isinstance(value, Unknown):
            return (value,)
        return self._values(position, row)

    def _settled(self, row: Row, free: tuple[int, ...]) -> Row:
        """The row with those unknown fields among `free` filled in that the laws leave one value."""
        made = list(row)
        for law in self._kind.invariants:
            for name in law.fields:
                position = self._kind.index[name]
                if position in free and isinstance(made[position], Unknown):
                    fitting = [
                        value
                        for value in self._values(position, tuple(made))
                        if self._possible(law, (*made[:position], value, *made[position + 1 :]))
                    ]
                    if len(fitting) == 1 and (fitting[0] is None or isinstance(fitting[0], bool)):
                        made[position] = fitting[0]
        return tuple(made)


def _sample(pattern: str) -> str:
    """A text that a glob pattern most likely matches; whoever uses it tries."""
    text = pattern.replace("**", "x").replace("*", "x").replace("?", "x")
    return text + "x" if text.endswith("/") else text
