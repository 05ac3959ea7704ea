"""The fact catalogue as a JSON Schema and as a page, both made from the kinds' own declarations: nothing is listed twice."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from idkmesh_rules.checks.backends import backend_names, checks_of
from idkmesh_rules.model.facts import FactKind, Field, FieldType

_TYPES: dict[FieldType, dict[str, Any]] = {
    FieldType.BOOL: {"type": "boolean"},
    FieldType.INT: {"type": "integer"},
    FieldType.STRING: {"type": "string"},
    FieldType.DIGEST: {"type": "string", "pattern": r"^sha256:[0-9a-f]{64}$(?!\n)"},
}


class Entry(NamedTuple):
    """A kind with the checks that emit it and the backends in which they do."""

    kind: FactKind
    checks: tuple[str, ...]
    backends: tuple[str, ...]


def catalogue() -> tuple[Entry, ...]:
    """Every declared kind, by name."""
    emitters = [
        (kind, check.id, backend) for backend in backend_names() for check in checks_of(backend) for kind in check.kinds
    ]
    kinds = {kind.name: kind for kind, _check, _backend in emitters}
    return tuple(
        [
            Entry(
                kind,
                tuple(dict.fromkeys(check for emitted, check, _backend in emitters if emitted.name == name)),
                tuple(dict.fromkeys(backend for emitted, _check, backend in emitters if emitted.name == name)),
            )
            for name, kind in sorted(kinds.items())
        ]
    )


def facts_schema(kinds: Iterable[FactKind], backends: Iterable[str]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of facts.json for these kinds and backends: a wrongly typed value is tampering, not unknown."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:idkmesh-rules:schema:facts-1",
        "title": "facts 1",
        "description": "What the checks of one evaluation saw. Made from the declarations of the fact kinds.",
        **_object(
            {
                "schema_version": {"const": "1.0"},
                "backend": {"enum": list(backends)},
                "documents": {"type": "object", "additionalProperties": {"$ref": "#/$defs/digest"}},
                "kinds": {
                    "type": "array",
                    "items": {"oneOf": [_kind(kind) for kind in sorted(kinds, key=lambda kind: kind.name)]},
                },
            }
        ),
        "$defs": {
            "digest": _TYPES[FieldType.DIGEST],
            "origin": _object(
                {
                    "check": {"type": "string"},
                    "locator": {"type": "string"},
                    "line": {"type": "integer", "minimum": 1},
                    "pointer": {"type": "string"},
                },
                optional=("line", "pointer"),
            ),
        },
    }


def catalogue_page(entries: Iterable[Entry]) -> str:
    """The catalogue as Markdown: each kind with its meaning, who emits it, fields, invariants and default finding."""
    lines = [
        "# Fact catalogue",
        "",
        "Made from the declarations beside the checks (`make docs`); do not edit by hand. Key fields are **bold**.",
        "A field marked *optional* may be known to be absent; any other field may be unknown, with a reason, but for keys.",
    ]
    for kind, checks, backends in entries:
        told = kind.finding
        emitted = f"Emitted by {_listed(checks)} in {_listed(backends)}."
        lines += ["", f"## `{kind.name}`", "", kind.meaning, emitted, "", "| field | type | meaning |", "|---|---|---|"]
        lines += [f"| {_name(field)} | {_spelled(field)} | {field.meaning} |" for field in kind.fields]
        lines += ["", f"Default finding: {told.severity.value}, {told.category.value}: “{told.summary}”."]
        if kind.invariants:
            lines += ["Invariants: " + "; ".join(invariant.text for invariant in kind.invariants) + "."]
    return "\n".join(lines) + "\n"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _name(field: Field) -> str:
    return f"**{field.name}**" if field.key else field.name


def _spelled(field: Field) -> str:
    text = " \\| ".join(f"`{value}`" for value in field.values) if field.type is FieldType.ENUM else field.type.value
    return f"{text}, *optional*" if field.optional else text


def _kind(kind: FactKind) -> dict[str, Any]:
    keys = [field.name for field in kind.fields if field.key]
    fields = {
        field.name: {"enum": list(field.values)} if field.type is FieldType.ENUM else _TYPES[field.type]
        for field in kind.fields
    }
    unknown = {field.name: {"type": "string"} for field in kind.fields if not field.key}
    fact = _object(
        {
            "fields": {"type": "object", "additionalProperties": False, "required": keys, "properties": fields},
            "unknown": {"type": "object", "additionalProperties": False, "properties": unknown},
            "origins": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/origin"}},
        }
    )
    return _object(
        {
            "kind": {"const": kind.name},
            "complete": {"type": "boolean"},
            "reason": {"type": "string"},
            "crashed": {"const": True},
            "facts": {"type": "array", "items": fact},
        },
        optional=("reason", "crashed"),
    )


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }
