"""facts.json back into the fact store that it was made of, by strict typing against the declared kinds.

Invariants: whatever no evaluation would have written is tampering and is refused, never turned into an unknown: a value of
another type, an undeclared kind or field, a missing key, a broken order, a second fact with one key (design:
facts-and-policy, *Facts*); what is read here gives the same bytes when it is written again.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from idkmesh_rules.errors import ContractError, Problem
from idkmesh_rules.model.documents import Document
from idkmesh_rules.model.facts import (
    FactKind,
    FactStore,
    Field,
    FieldType,
    KindFacts,
    Origin,
    Row,
    Unknown,
    Value,
    key_order,
    origin_order,
)

UNRECORDED = "the version of idkrules that wrote these facts did not record it"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TOP = ("schema_version", "backend", "documents", "kinds")
_MOST = 20


def read_store(document: Document, kinds: Mapping[str, FactKind], *, other_version: bool = False) -> FactStore:
    """The store that facts.json records, over the declared `kinds` of its backend; raises ContractError for tampering.

    `other_version` says that another version of the engine wrote it: fields and kinds that it may not have known yet are
    unknown and incomplete then. No message quotes a value, since a hidden plan's expectations may be among them.
    """
    reader = _Reader(document.source)
    store = reader.store(document.value, kinds, other_version)
    if reader.problems:
        raise ContractError(tuple(reader.problems))
    return store


class _Reader:
    def __init__(self, source: str) -> None:
        self.problems: list[Problem] = []
        self._source = source

    @property
    def full(self) -> bool:
        """Whether nothing more can be told, so that looking on would only take time."""
        return len(self.problems) >= _MOST

    def fault(self, pointer: str, message: str) -> None:
        if not self.full:
            self.problems.append(Problem(message, self._source, pointer))

    def store(self, value: Mapping[str, Any], kinds: Mapping[str, FactKind], other_version: bool) -> FactStore:
        if not self._object(value, "", _TOP):
            return FactStore({})
        if value["schema_version"] != "1.0":
            self.fault("/schema_version", 'this version reads facts of schema_version "1.0"')
        if not _is_table(value["documents"], lambda digest: _DIGEST.fullmatch(digest) is not None):
            self.fault("/documents", "expected names of documents with their digests")
        read = dict(self._kinds(value["kinds"], kinds, other_version))
        if list(read) != sorted(read):
            self.fault("/kinds", "the kinds are not in the order of their names")
        for name in kinds.keys() - read.keys():
            if other_version:
                read[name] = KindFacts(kinds[name], reason=UNRECORDED)
            else:
                self.fault("/kinds", f"the kind {name} is missing")
        return FactStore({name: read[name] for name in sorted(read)})

    def _kinds(
        self, entries: Any, kinds: Mapping[str, FactKind], other_version: bool
    ) -> Iterator[tuple[str, KindFacts]]:
        seen: set[str] = set()
        for position, entry in enumerate(self._array(entries, "/kinds")):
            if self.full:
                return
            pointer = f"/kinds/{position}"
            if not self._object(entry, pointer, ("kind", "complete", "facts"), ("reason", "crashed")):
                continue
            name = entry["kind"]
            kind = kinds.get(name) if isinstance(name, str) else None
            if kind is None:
                self.fault(f"{pointer}/kind", "this backend has no such kind of fact")
            elif name in seen:
                self.fault(f"{pointer}/kind", f"the kind {name} stands here a second time")
            else:
                seen.add(name)
                yield name, self._kind(kind, entry, pointer, other_version)

    def _kind(self, kind: FactKind, entry: Mapping[str, Any], pointer: str, other_version: bool) -> KindFacts:
        for name, typed in (("complete", bool), ("reason", str), ("crashed", bool)):
            if name in entry and type(entry[name]) is not typed:
                self.fault(f"{pointer}/{name}", "expected true or false" if typed is bool else "expected a text")
        rows, origins, before = [], [], None
        for position, fact in enumerate(self._array(entry["facts"], f"{pointer}/facts")):
            if self.full:
                break
            place = f"{pointer}/facts/{position}"
            faults = len(self.problems)
            if not self._object(fact, place, ("fields", "unknown", "origins")):
                continue
            row = self._row(kind, fact, place, other_version)
            seen_at = self._origins(fact["origins"], f"{place}/origins")
            if len(self.problems) > faults:
                continue
            key = key_order(tuple([row[index] for index in kind.key_positions]))  # type: ignore[misc]  # keys are known
            if before is not None and key <= before:
                self.fault(place, "its key stands already" if key == before else "the facts are not in key order")
            before = key
            rows.append(row)
            origins.append(seen_at)
        return KindFacts(
            kind,
            tuple(rows),
            tuple(origins),
            entry["complete"] is True,
            entry.get("reason"),
            entry.get("crashed") is True,
        )

    def _row(self, kind: FactKind, fact: Mapping[str, Any], place: str, other_version: bool) -> Row:
        fields, unknown = fact["fields"], fact["unknown"]
        for part, name in ((fields, "fields"), (unknown, "unknown")):
            if not isinstance(part, dict):
                self.fault(f"{place}/{name}", "expected an object")
                return ()
            for field in part.keys() - kind.index.keys():
                self.fault(f"{place}/{name}", f"{kind.name} has no field {_named(field)}")
        return tuple([self._value(declared, fields, unknown, place, other_version) for declared in kind.fields])

    def _value(
        self,
        declared: Field,
        fields: Mapping[str, Any],
        unknown: Mapping[str, Any],
        place: str,
        other_version: bool,
    ) -> Value | Unknown:
        name = declared.name
        if name in unknown:
            if name in fields:
                self.fault(f"{place}/unknown/{name}", "the field is known as well")
            elif declared.key:
                self.fault(f"{place}/unknown/{name}", "a key field is never unknown")
            elif not isinstance(unknown[name], str):
                self.fault(f"{place}/unknown/{name}", "expected the reason why it is unknown")
            else:
                return Unknown(unknown[name])
        elif name in fields:
            value: Value = fields[name]
            if _is_of(declared, value):
                return value
            self.fault(f"{place}/fields/{name}", f"the value is not of type {declared.type.value}")
        elif not declared.optional:
            if other_version and not declared.key:
                return Unknown(UNRECORDED)
            self.fault(f"{place}/fields", f"the {'key ' if declared.key else ''}field {name} is missing")
        return None

    def _origins(self, entries: Any, pointer: str) -> tuple[Origin, ...]:
        found = []
        for position, entry in enumerate(self._array(entries, pointer)):
            place = f"{pointer}/{position}"
            if self._object(entry, place, ("check", "locator"), ("line", "pointer")):
                line = entry.get("line", 1)
                texts = [entry[name] for name in ("check", "locator", "pointer") if name in entry]
                if not all(isinstance(text, str) for text in texts) or type(line) is not int or line < 1:
                    self.fault(place, "expected a check, a locator, and a line from 1 or a pointer")
                else:
                    found.append(Origin(entry["check"], entry["locator"], entry.get("line"), entry.get("pointer")))
        if not found:
            self.fault(pointer, "a fact has at least one origin")
        if any(origin_order(one) >= origin_order(other) for one, other in pairwise(found)):
            self.fault(pointer, "the origins are not in order")
        return tuple(found)

    def _array(self, value: Any, pointer: str) -> list[Any]:
        if isinstance(value, list):
            return value
        self.fault(pointer, "expected an array")
        return []

    def _object(self, value: Any, pointer: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> bool:
        if not isinstance(value, dict):
            self.fault(pointer, "expected an object")
            return False
        missing = [name for name in required if name not in value]
        unknown = [name for name in value if name not in required and name not in optional]
        for name in missing:
            self.fault(pointer, f"the key {name} is missing")
        for name in unknown:
            self.fault(pointer, f"the key {_named(name)} is unknown")
        return not missing and not unknown


def _named(name: str) -> str:
    return f'"{name}"' if name.isidentifier() and name.isascii() and len(name) < 60 else "of that name"


def _is_of(declared: Field, value: Any) -> bool:
    match declared.type:
        case FieldType.BOOL:
            return type(value) is bool
        case FieldType.INT:
            return type(value) is int
        case FieldType.ENUM:
            return value in declared.values if isinstance(value, str) else False
        case FieldType.DIGEST:
            return isinstance(value, str) and _DIGEST.fullmatch(value) is not None
    return isinstance(value, str)


def _is_table(value: Any, fits: Callable[[str], bool]) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) and fits(each) for each in value.values())
