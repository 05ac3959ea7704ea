"""facts.json and the evidence files as JSON values, and their exact bytes.

Invariants: the same facts give the same bytes on every machine: kinds in name order, facts in key order, origins in a
fixed order; no time, host or engine version inside (design: outputs, *facts.json*).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from idkmesh_rules.checks import AnyCheck
from idkmesh_rules.contracts.digest import canonical_bytes
from idkmesh_rules.model.documents import Document
from idkmesh_rules.model.evaluation import CheckCrash
from idkmesh_rules.model.facts import FactStore, KindFacts, Origin, Row, Unknown

SCHEMA_VERSION = "1.0"


def file_bytes(value: Mapping[str, Any]) -> bytes:
    """The bytes of a written document: its canonical form and one LF."""
    return canonical_bytes(value) + b"\n"


def facts_document(store: FactStore, backend: str, documents: Iterable[Document]) -> dict[str, Any]:
    """facts.json: every kind of the backend, whether it is complete, and its facts with their origins."""
    return {
        "schema_version": SCHEMA_VERSION,
        "backend": backend,
        "documents": {document.name: document.digest for document in documents},
        "kinds": [_kind(facts) for facts in store],
    }


def evidence_document(check: AnyCheck, store: FactStore, crash: CheckCrash | None) -> dict[str, Any]:
    """evidence/<check>.json: what one check looked at and the facts that it emitted."""
    value: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "check": check.id,
        "meaning": check.meaning,
        "kinds": [_kind(store[kind.name], only=check.id) for kind in sorted(check.kinds, key=lambda kind: kind.name)],
    }
    if crash is not None:
        value["error"] = crash.error
    return value


def _kind(facts: KindFacts, only: str | None = None) -> dict[str, Any]:
    names = tuple(field.name for field in facts.kind.fields)
    value: dict[str, Any] = {"kind": facts.kind.name, "complete": facts.complete}
    if facts.reason is not None:
        value["reason"] = facts.reason
    if facts.crashed:
        value["crashed"] = True
    value["facts"] = [
        _fact(names, row, origins)
        for row, origins in zip(facts.rows, facts.origins, strict=True)
        if only is None or any(origin.check == only for origin in origins)
    ]
    return value


def _fact(names: tuple[str, ...], row: Row, origins: tuple[Origin, ...]) -> dict[str, Any]:
    known, unknown = {}, {}
    for name, value in zip(names, row, strict=True):
        if type(value) is Unknown:
            unknown[name] = value.reason
        elif value is not None:
            known[name] = value
    return {"fields": known, "unknown": unknown, "origins": [_origin(origin) for origin in origins]}


def _origin(origin: Origin) -> dict[str, Any]:
    value: dict[str, Any] = {"check": origin.check, "locator": origin.locator}
    if origin.line is not None:
        value["line"] = origin.line
    if origin.pointer is not None:
        value["pointer"] = origin.pointer
    return value
