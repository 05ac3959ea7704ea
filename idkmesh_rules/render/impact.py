"""What other rules would have decided, for a person and for a program."""

from collections.abc import Iterator
from typing import Any

from idkmesh_rules.audit.impact import Answerable, Flip, Impact, Turn
from idkmesh_rules.model.bundle import Bundle, Mark
from idkmesh_rules.model.proof import Status
from idkmesh_rules.model.text import printable
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.render.layout import wrapped
from idkmesh_rules.render.lines import as_json, drawn

_WORDS = {
    Truth.TRUE: "true",
    Truth.FALSE: "false",
    Truth.UNKNOWN: "unknown",
    Truth.NOT_APPLICABLE: "not applicable",
    None: "not there",
}
_GRAVITY = {
    Turn.NEWLY_ACCEPTED: Status.FAILED,
    Turn.NEWLY_REJECTED: Status.INCONCLUSIVE,
    Turn.OTHERWISE: Status.INCONCLUSIVE,
    Turn.INSIDE: Status.PASSED,
}


def impact_text(told: Impact, *, colour: bool) -> str:
    """Both bundles, what changes with the conditions that are answerable, and how many results were looked at."""
    lines = [_bundle("old", told.old), _bundle("new", told.new)]
    for warning in told.warnings:
        lines += wrapped(f"! {printable(warning, 1000)}", 2)
    for turn in Turn:
        flips = [flip for flip in told.flips if flip.turn is turn]
        if flips:
            lines += ["", drawn(f"{turn.value} ({len(flips)})", _GRAVITY[turn], colour)]
            lines += [line for flip in flips for line in _flip(flip)]
    if told.unread:
        lines += ["", drawn(f"not read ({len(told.unread)})", Status.ERROR, colour)]
        for each in told.unread:
            lines += wrapped(f"{printable(each.name, 4096)}: {printable(each.why, 1000)}", 2)
    lines += ["", *wrapped(_summary(told), 0)]
    return "\n".join(lines)


def impact_json(told: Impact) -> str:
    """The same as one JSON object."""
    return as_json(
        {
            "old": _bundle_json(told.old),
            "new": _bundle_json(told.new),
            "warnings": list(told.warnings),
            "looked_at": told.looked_at,
            "unchanged": told.unchanged,
            "without_decision": told.refusals,
            "unread": [each._asdict() for each in told.unread],
            "flips": [
                {
                    "directory": flip.name,
                    "subject": flip.subject,
                    "turn": flip.turn.value,
                    "old": flip.old.value,
                    "new": flip.new.value,
                    "conditions": [_answerable_json(each) for each in flip.answerable],
                    "validators": [
                        {"id": name, "old": old and old.value, "new": new and new.value}
                        for name, old, new in flip.statuses
                    ],
                }
                for flip in told.flips
            ],
        }
    )


def _bundle(side: str, bundle: Bundle) -> str:
    return f"{side}  {bundle.id} {bundle.version}  {printable(bundle.name, 4096)}"


def _flip(flip: Flip) -> Iterator[str]:
    yield f"  {printable(flip.name, 4096)}"
    yield from wrapped(f"{printable(flip.subject)}: {flip.old.value} → {flip.new.value}", 4)
    for each in flip.answerable:
        places = ", ".join(
            f"{side} line {mark.line}"
            for side, mark in (("old", each.old_mark), ("new", each.new_mark))
            if mark is not None
        )
        where = f" ({places})" if places else ""
        yield from wrapped(f"{printable(each.condition)}: {_WORDS[each.old]} → {_WORDS[each.new]}{where}", 6)
    for name, old, new in flip.statuses:
        told = [status.value if status is not None else "not there" for status in (old, new)]
        yield from wrapped(f"{printable(name)}: {told[0]} → {told[1]}", 6)


def _summary(told: Impact) -> str:
    parts = [f"{told.looked_at} looked at", f"{told.unchanged} unchanged"]
    if told.refusals:
        parts.append(f"{told.refusals} without a decision")
    if told.unread:
        parts.append(f"{len(told.unread)} not read")
    return ", ".join(parts)


def _bundle_json(bundle: Bundle) -> dict[str, Any]:
    return {"id": bundle.id, "version": bundle.version, "digest": bundle.digest, "file": bundle.name}


def _answerable_json(each: Answerable) -> dict[str, Any]:
    return {
        "condition": each.condition,
        "old": each.old.letter if each.old is not None else None,
        "new": each.new.letter if each.new is not None else None,
        "old_at": _mark_json(each.old_mark),
        "new_at": _mark_json(each.new_mark),
    }


def _mark_json(mark: Mark | None) -> dict[str, int] | None:
    return None if mark is None else {"line": mark.line, "column": mark.column}
