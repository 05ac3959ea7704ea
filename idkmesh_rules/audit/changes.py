"""Changes of facts as values, and the store that they lead to.

Invariants: a change says of one fact what its fields become, that it is gone, or that it is there; changes of other fields of
the same fact don't disturb each other, so that each can be left out; a change of a fact that is gone changes nothing.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from idkmesh_rules.model.bundle import Leaf
from idkmesh_rules.model.facts import FactKind, FactStore, KindFacts, Origin, Row, Unknown, Value, key_order

_IMAGINED = (Origin("why-not", ""),)


class Change(NamedTuple):
    """One fact before and after; None before is a fact that is added, None after one that is dropped."""

    kind: FactKind
    before: Row | None
    after: Row | None

    @property
    def key(self) -> tuple[Value, ...]:
        """The key of the fact, which no change touches."""
        return key_of(self.kind, self.after if self.after is not None else self.before or ())

    @property
    def changed(self) -> tuple[int, ...]:
        """Positions of the fields that become something else; none for a fact that is added or dropped."""
        if self.before is None or self.after is None:
            return ()
        pairs = zip(self.before, self.after, strict=True)
        return tuple([n for n, (old, new) in enumerate(pairs) if type(old) is not type(new) or old != new])


class Group(NamedTuple):
    """What has to change for one condition: facts of its kind, and whether the kind has to be complete.

    `below_floor` says that the condition is one of the floor's; `wanted` whether it has to hold or (where it would ask for a
    person) must not.
    """

    leaf: Leaf
    below_floor: bool
    wanted: bool
    changes: tuple[Change, ...]
    completes: bool = False

    @property
    def atoms(self) -> frozenset[object]:
        """Its single changes, to tell whether one group asks for all that another does."""
        name = self.leaf.kind.name
        return frozenset([*self.changes, *([name] if self.completes else [])])

    @property
    def cost(self) -> int:
        """How much it asks: facts that come or go weigh more than fields, whatever their number."""
        moved = sum(change.before is None or change.after is None for change in self.changes)
        fields = {position for change in self.changes for position in change.changed}
        return 10 + 100 * min(moved, 50) + len(fields) + 2 * self.completes


def key_of(kind: FactKind, row: Row) -> tuple[Value, ...]:
    """The key of a row."""
    return tuple([row[position] for position in kind.key_positions])  # type: ignore[misc]  # a key is never unknown


def applied(store: FactStore, groups: Iterable[Group]) -> FactStore:
    """`store` after the changes of some groups, one after the other."""
    kinds = dict(store.kinds)
    for group in groups:
        name = group.leaf.kind.name
        kinds[name] = _changed(kinds[name], group)
    return FactStore(kinds)


def _changed(facts: KindFacts, group: Group) -> KindFacts:
    kind = facts.kind
    rows = {key_of(kind, row): (row, seen) for row, seen in zip(facts.rows, facts.origins, strict=True)}
    came = False
    for change in group.changes:
        key = change.key
        if change.after is None:
            rows.pop(key, None)
        elif change.before is None:
            came = came or key not in rows
            rows[key] = (change.after, rows[key][1] if key in rows else _IMAGINED)
        elif key in rows:
            row, seen = rows[key]
            new = list(row)
            for position in change.changed:
                new[position] = change.after[position]
            rows[key] = (tuple(new), seen)
    entries = list(rows.items())
    if came:
        entries.sort(key=lambda entry: key_order(entry[0]))
    complete = facts.complete or group.completes
    return KindFacts(
        kind,
        tuple([row for _key, (row, _seen) in entries]),
        tuple([seen for _key, (_row, seen) in entries]),
        complete,
        None if complete else facts.reason,
        facts.crashed and not complete,
    )


def merged(groups: Iterable[Group]) -> tuple[Group, ...]:
    """The groups with those of one condition made one, in the order in which conditions were first met."""
    found: dict[tuple[str, bool, bool], Group] = {}
    for group in groups:
        name = (group.leaf.name, group.below_floor, group.wanted)
        before = found.get(name)
        found[name] = group if before is None else _together(before, group)
    return tuple(found.values())


def lawful(store: FactStore, groups: Iterable[Group]) -> bool:
    """Whether every fact of `store` that `groups` touch keeps the laws of its kind, as far as its fields are known."""
    for group in groups:
        kind, keys = group.leaf.kind, {change.key for change in group.changes}
        for row in store[kind.name].rows:
            if key_of(kind, row) in keys:
                for law in kind.invariants:
                    values = [row[kind.index[name]] for name in law.fields]
                    if not any(isinstance(value, Unknown) for value in values) and not law.holds(*values):
                        return False
    return True


def _composed(first: Change, then: Change) -> Change:
    """One change that does what two do, and nothing of what others did between them."""
    if first.after is None or then.before is None or then.after is None:
        return Change(first.kind, first.before, then.after)
    after = list(first.after)
    for position in then.changed:
        after[position] = then.after[position]
    return Change(first.kind, first.before, tuple(after))


def _together(one: Group, other: Group) -> Group:
    changes: Mapping[tuple[Value, ...], Change] = {change.key: change for change in one.changes}
    joined = dict(changes)
    for change in other.changes:
        first = joined.get(change.key)
        joined[change.key] = change if first is None else _composed(first, change)
    kept = tuple([each for each in joined.values() if each.before is not None or each.after is not None])
    return one._replace(changes=kept, completes=one.completes or other.completes)
