"""The nearest fact that a condition would be content with: as few fields changed as possible, the kind's laws kept.

Invariants: key fields are never changed; what comes out satisfies every declared invariant, as far as its fields are known;
a change that would make another condition discontent is taken only if there is no other; the search is bounded, and rows
that look alike to all conditions are searched for once.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, islice, product
from typing import NamedTuple

from idkmesh_rules.audit.changes import key_of
from idkmesh_rules.audit.domains import Domains
from idkmesh_rules.model.bundle import Form, Leaf
from idkmesh_rules.model.facts import FactKind, Row, Unknown, Value
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.predicate import compiled
from idkmesh_rules.policy.scan import Part, part

_TRIES = 20_000
_NEW_TRIES = 4_000
_NEW_KEYS = 64
_ALL_TRIES = 2_000_000

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
        demands = [demand for look in all_looks for demand in look.leaf.demands]
        self._domains = Domains(kind, demands, parameters)
        demanded = {kind.index[demand.field.name] for demand in demands}
        self._watched = tuple(sorted(demanded - set(kind.key_positions)))
        self._key_tests = tuple(
            (kind.index[demand.field.name], compiled(demand, parameters)) for demand in demands if demand.field.key
        )
        self._found: dict[object, tuple[tuple[int, Value | Unknown], ...] | None] = {}
        self._chosen: dict[tuple[int, ...], tuple[tuple[int, ...], ...]] = {}
        self._left = _ALL_TRIES

    def nearest(self, row: Row, look: Look, target: str) -> Row | None:
        """The nearest row of which `look` says `target` (`good`, `bad`, `out`); None if none was found."""
        free = self._free(look.leaf)
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
        options = product(*[self._domains.key_values(n, taken) for n in self._kind.key_positions])
        drafts = [self._draft(key, pattern) for key in islice(options, _NEW_KEYS) if key not in keys]
        for wary in (True, False):
            for draft in drafts:
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
        options = [self._domains.values(position, row) for position in free]
        fallback: Row | None = None
        candidates = (
            (chosen, values)
            for chosen in self._selections(free)
            for values in product(*[options[index] for index in chosen])
        )
        for chosen, values in islice(candidates, min(most, self._left)):
            self._left -= 1
            made = list(row)
            for index, value in zip(chosen, values, strict=True):
                made[free[index]] = value
            new = tuple(made)
            if accepts(new) and self._domains.lawful(new):
                if self._discontent(new) <= discontent:
                    return self._domains.settled(new, free)
                if not wary and fallback is None:
                    fallback = self._domains.settled(new, free)
        return fallback

    def _selections(self, free: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Which of the free fields to change: few before many, where fields that follow from others count last."""
        if free not in self._chosen:
            found = [chosen for count in range(len(free) + 1) for chosen in combinations(range(len(free)), count)]
            follow = self._domains.determined
            found.sort(key=lambda chosen: (sum(free[index] not in follow for index in chosen), len(chosen)))
            self._chosen[free] = tuple(found)
        return self._chosen[free]

    def _discontent(self, row: Row) -> frozenset[int]:
        return frozenset(number for number, look in enumerate(self._looks) if not look.content(row))

    def _free(self, leaf: Leaf) -> tuple[int, ...]:
        """The positions that may change: what the leaf speaks of, and what laws tie to that, the demanded ones first.

        Laws name what was expected before what was observed, and rather than the former the latter is changed.
        """
        index, kind = self._kind.index, self._kind
        found = dict.fromkeys(demand.field.name for demand in (*leaf.must, *leaf.where) if not demand.field.key)
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
        plain = self._domains.plain()
        base = [new if type(old) is Unknown else old for old, new in zip(pattern or plain, plain, strict=True)]
        return tuple([keys.get(position, value) for position, value in enumerate(base)])
