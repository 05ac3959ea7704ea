"""The fact catalogue for a terminal and for programs: what a rule can speak of."""

import json
from collections.abc import Iterable

from idkmesh_rules.checks.catalog import Entry
from idkmesh_rules.model.facts import Field, FieldType
from idkmesh_rules.render.layout import wrapped


def names_text(entries: Iterable[Entry]) -> str:
    """Each kind with its meaning, and nothing more."""
    return "\n".join(line for entry in entries for line in (entry.kind.name, *wrapped(entry.kind.meaning, 4)))


def catalogue_text(entries: Iterable[Entry]) -> str:
    """Each kind whole: meaning, emitting checks, fields, invariants, default finding; key fields have a star."""
    return "\n\n".join("\n".join(_entry(entry)) for entry in entries)


def _entry(entry: Entry) -> list[str]:
    kind = entry.kind
    lines = [kind.name, *wrapped(kind.meaning, 2)]
    lines += wrapped(f"emitted by {', '.join(entry.checks)} in {', '.join(entry.backends)}", 2)
    for field in kind.fields:
        star = "*" if field.key else " "
        lines += wrapped(f"{star} {field.name}: {_type(field)}. {field.meaning}", 4)
    lines += wrapped(
        f"finding: {kind.finding.severity.value}, {kind.finding.category.value}: {kind.finding.summary}", 2
    )
    for law in kind.invariants:
        lines += wrapped(f"always: {law.text}", 2)
    return lines


def _type(field: Field) -> str:
    told = " | ".join(field.values) if field.type is FieldType.ENUM else field.type.value
    return f"{told}, optional" if field.optional else told


def catalogue_json(entries: Iterable[Entry]) -> str:
    """The same as a JSON array."""
    return json.dumps([_object(entry) for entry in entries], indent=2, ensure_ascii=False)


def _object(entry: Entry) -> dict[str, object]:
    kind = entry.kind
    return {
        "kind": kind.name,
        "meaning": kind.meaning,
        "checks": list(entry.checks),
        "backends": list(entry.backends),
        "fields": [
            {
                "name": field.name,
                "type": field.type.value,
                "meaning": field.meaning,
                "key": field.key,
                "optional": field.optional,
                **({"values": list(field.values)} if field.values else {}),
            }
            for field in kind.fields
        ],
        "invariants": [law.text for law in kind.invariants],
        "finding": {
            "severity": kind.finding.severity.value,
            "category": kind.finding.category.value,
            "summary": kind.finding.summary,
        },
    }
