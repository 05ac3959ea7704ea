"""What would have led to an acceptance, for a person and for a program."""

from collections.abc import Iterator
from typing import Any

from idkmesh_rules.audit.wanted import NewValue, ToldChange, ToldGroup, Wanted
from idkmesh_rules.model.proof import Status
from idkmesh_rules.model.text import printable
from idkmesh_rules.render.layout import wrapped
from idkmesh_rules.render.lines import as_json, drawn

_SHOWN = 5
_SETS = 8


def wanted_text(told: Wanted, *, colour: bool) -> str:
    """The recommendation, then each set of changes, condition by condition."""
    status = Status.PASSED if told.accepted else Status.FAILED
    lines = [f"{drawn(told.recommendation, status, colour)}  {printable(told.subject)}"]
    if told.forged:
        lines += wrapped(
            "! Tampered: the recorded decision is not the one that follows from the facts, rules and inputs. This is about "
            "the one that does. See `idkrules replay`.",
            0,
        )
    lines += wrapped(_heading(told), 2)
    for number, groups in enumerate(told.sets[:_SETS], 1):
        lines.append("")
        for position, group in enumerate(groups):
            lines += _group(group, f"{number}. " if position == 0 else "   and ")
    if len(told.sets) > _SETS:
        lines += ["", f"… and {len(told.sets) - _SETS} more sets, which cost more; --format json has them all."]
    return "\n".join(lines)


def wanted_json(told: Wanted) -> str:
    """The same as one JSON object."""
    return as_json(
        {
            "directory": told.name,
            "recommendation": told.recommendation,
            "follows": not told.forged,
            "accepted": told.accepted,
            "impossible": told.impossible,
            "more": told.more,
            "sets": [[_group_json(group) for group in groups] for groups in told.sets],
        }
    )


def _heading(told: Wanted) -> str:
    if told.accepted:
        return "It is accepted: nothing had to be different."
    if told.impossible is not None:
        return f"No change of facts leads to an acceptance: {told.impossible}."
    if not told.sets:
        return "No change of facts that leads to an acceptance was found; the rules may contradict each other."
    if len(told.sets) == 1:
        return "It would have been accepted with these changes, and with no part of them:"
    return (
        f"It would have been accepted with any one of these {len(told.sets)} sets of changes, and with no part of one:"
    )


def _group(group: ToldGroup, start: str) -> Iterator[str]:
    place = f" (inputs/bundle.yaml:{group.line}:{group.column})" if group.line is not None else ""
    verb = "would not ask for a person" if group.role == "escalation" else "would hold"
    name = f"the floor's {group.condition}" if group.role == "floor" else group.condition
    yield f"{start}{printable(name)} {verb}{place}"
    if group.completes is not None:
        yield from wrapped(f"if no {group.completes} fact were missing", 5)
    for change in group.changes:
        yield from _change(change)


def _change(change: ToldChange) -> Iterator[str]:
    number = f"{change.number} {change.kind} fact{'s' * (change.number != 1)}"
    own, implied = [_listed(field for field in change.fields if field.implied is wanted) for wanted in (False, True)]
    if change.action == "drop":
        said = f"without {number}"
    elif change.action == "add":
        said = f"with a new {change.kind} fact" + (f" that has {own}" if own else "")
    else:
        said = f"if {number} had {own}" + (f", and so {implied}" if implied else "")
    yield from wrapped(said, 5)
    for key in [key for key in change.facts if key][:_SHOWN]:
        yield from wrapped(f"• {printable(key, 1000)}", 7)
    if change.number > _SHOWN:
        yield f"       … and {change.number - _SHOWN} more"


def _listed(fields: Iterator[NewValue]) -> str:
    return ", ".join(
        f"{field.name} {'(any that fits)' if field.stand_in else printable(field.value)}" for field in fields
    )


def _group_json(group: ToldGroup) -> dict[str, Any]:
    place = (
        {"file": "inputs/bundle.yaml", "line": group.line, "column": group.column} if group.line is not None else None
    )
    return {
        "condition": group.condition,
        "role": group.role,
        "rule_at": place,
        "rule": group.rule,
        "completes": group.completes,
        "changes": [
            {**change._asdict(), "fields": [field._asdict() for field in change.fields]} for change in group.changes
        ],
    }
