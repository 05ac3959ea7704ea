"""The sets of `why_not` told: which facts of which condition, and what their fields would have to be.

Invariants: facts that need the same change are told together, however many they are; what a condition demands stands apart
from what a law of the kind makes of it; a hidden plan's expectations are masked here.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from idkmesh_rules.audit.changes import Change, Group
from idkmesh_rules.audit.domains import SOME_DIGEST, SOME_TEXT, new_text
from idkmesh_rules.audit.record import Record
from idkmesh_rules.audit.veil import Veil
from idkmesh_rules.audit.whynot import WhyNot, why_not
from idkmesh_rules.model.facts import FactKind, FieldType, Row, Unknown, Value
from idkmesh_rules.policy.spelling import leaf_text, value_text
from idkmesh_rules.result.findings import concealed, shape_of

LISTED = 100
"""How many keys of facts that change alike are told."""


class NewValue(NamedTuple):
    """What a field would have to be. `implied` says that only a law of the kind asks for it, `stand_in` that any would do."""

    name: str
    value: str
    implied: bool
    stand_in: bool


class ToldChange(NamedTuple):
    """The same change of some facts: `change`, `drop` or `add`; `facts` are the keys of the first of them."""

    action: str
    kind: str
    number: int
    facts: tuple[str, ...]
    fields: tuple[NewValue, ...]


class ToldGroup(NamedTuple):
    """What one condition would need. `role` is `rules`, `floor` or `escalation`; an escalating one would have to fail."""

    condition: str
    role: str
    line: int | None
    column: int | None
    rule: str
    completes: str | None
    changes: tuple[ToldChange, ...]


class Wanted(NamedTuple):
    """What would have led to an acceptance: any one of `sets`, each a tuple of groups all of which are needed."""

    name: str
    subject: str
    recommendation: str
    forged: bool
    accepted: bool
    sets: tuple[tuple[ToldGroup, ...], ...]
    impossible: str | None
    more: bool


def wanted(record: Record, *, revealed: bool) -> Wanted:
    """Find and tell what would have had to differ from what a record holds."""
    found: WhyNot = why_not(record.basis)
    veil = record.veil(revealed=revealed)
    return Wanted(
        record.files.name,
        record.subject,
        found.recommendation.value,
        record.forged,
        found.accepted,
        tuple([tuple([_group(group, record, veil) for group in groups]) for groups in found.sets]),
        found.impossible,
        found.more,
    )


def _group(group: Group, record: Record, veil: Veil) -> ToldGroup:
    leaf = group.leaf
    line, column = leaf.mark if leaf.mark is not None else (None, None)
    alike: dict[object, list[Change]] = {}
    for change in _ordered(group.changes, veil):
        alike.setdefault(_likeness(change), []).append(change)
    return ToldGroup(
        leaf.name,
        "floor" if group.below_floor else "rules" if group.wanted else "escalation",
        line,
        column,
        leaf_text(leaf, record.basis.parameters),
        leaf.kind.name if group.completes else None,
        tuple([_told(changes, group, veil) for changes in alike.values()]),
    )


def _ordered(changes: tuple[Change, ...], veil: Veil) -> Iterable[Change]:
    if not veil.hidden:
        return changes
    # In the order of secret keys, the worker's own ones would tell where an expectation stands among them.
    return sorted(changes, key=lambda change: shape_of(change.kind, change.before or change.after or ()))


def _likeness(change: Change) -> object:
    """What two changes have in common that are told together."""
    if change.after is None:
        return "drop"
    if change.before is None:
        return "add", change.after
    return "change", tuple([(position, change.after[position]) for position in change.changed])


def _told(changes: list[Change], group: Group, veil: Veil) -> ToldChange:
    first, kind = changes[0], group.leaf.kind
    action = "drop" if first.after is None else "add" if first.before is None else "change"
    keys = tuple([_key(change, veil) for change in changes[:LISTED]])
    fields = tuple(_fields(first, group, veil)) if first.after is not None else ()
    return ToldChange(action, kind.name, len(changes), keys, fields)


def _fields(change: Change, group: Group, veil: Veil) -> Iterator[NewValue]:
    kind, row = change.kind, change.after or ()
    demanded = {demand.field.name for demand in group.leaf.demands}
    positions = change.changed or [n for n, declared in enumerate(kind.fields) if not declared.key]
    for position in positions:
        declared, value = kind.fields[position], row[position]
        implied = declared.name not in demanded
        free = implied and value is not None and not _determined(kind, position, change)
        yield NewValue(declared.name, _spelled(change, position, value, veil), implied, free)


def _determined(kind: FactKind, position: int, change: Change) -> bool:
    """Whether an implied value is the only one that serves: it is a bool or enum, or that of another field."""
    declared, row = kind.fields[position], change.after or ()
    value = row[position]
    if declared.type in (FieldType.BOOL, FieldType.ENUM):
        return change.before is not None
    beside = [other for n, other in enumerate(row) if n != position and kind.fields[n].type is declared.type]
    return value in beside and value not in (SOME_TEXT, SOME_DIGEST) and declared.type is not FieldType.INT


def _key(change: Change, veil: Veil) -> str:
    row: Row = change.after if change.after is not None else change.before or ()
    kind = change.kind
    return ", ".join(
        f"{kind.fields[position].name} {_spelled(change, position, row[position], veil)}"
        for position in kind.key_positions
    )


def _spelled(change: Change, position: int, value: Value | Unknown, veil: Veil) -> str:
    """A value as text; a secret one masked, unless the candidate shows by itself what the fact is about, as it is now."""
    declared, text = change.kind.fields[position], value_text(value)
    shown = change.before is not None and change.kind.shows(change.before)
    if not declared.secret or shown or value in (SOME_TEXT, new_text(declared.name)):
        return text
    return concealed(declared, text, veil.mask)
