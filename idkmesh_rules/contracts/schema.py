"""Documents against the shipped JSON Schemas: validity decided quickly, messages made with care.

Invariants:
- Whether a document is valid is decided by jsonschema-rs (compiled once a process) plus one rule that it lacks: `1.0` is no
  integer. What is wrong with an invalid one is told by jsonschema, which is imported only then. A test holds both to the
  same verdicts; should they ever differ, the document is refused (docs/adr: two schema validators).
"""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import Any

from idkmesh_rules.contracts.mistaken import mistaken
from idkmesh_rules.contracts.pointer import json_pointer
from idkmesh_rules.contracts.timestamps import is_timestamp
from idkmesh_rules.errors import ContractError, Problem
from idkmesh_rules.model.documents import Document
from idkmesh_rules.resources import schema_bytes

_ANY = "*"


@cache
def load_schema(name: str) -> Mapping[str, Any]:
    """The shipped schema `name` as a value that must not be changed."""
    value: Mapping[str, Any] = json.loads(schema_bytes(name))
    return value


def check_schema(document: Document, schema: str, *, most: int = 100) -> None:
    """Raise ContractError with every violation of the shipped `schema`, at most `most`, each with its JSON pointer."""
    if not _quick(schema).is_valid(document.value) or _integers_spelled_as_floats(document.value, schema):
        other = mistaken(document)
        problems = tuple(_violations(document, schema, most)) if other is None else (other,)
        raise ContractError(
            problems or (Problem(f"the document doesn't satisfy {schema}", document.source, pointer=""),)
        )


@cache
def _quick(schema: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(
        dict(load_schema(schema)), validate_formats=True, formats={"date-time": is_timestamp}
    )


@cache
def _strict(schema: str) -> Any:
    import jsonschema

    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    formats = jsonschema.FormatChecker(formats=())
    formats.checks("date-time")(lambda value: not isinstance(value, str) or is_timestamp(value))
    extend: Any = jsonschema.validators.extend
    return extend(base, type_checker=types)(load_schema(schema), format_checker=formats)


@cache
def _integer_places(schema: str) -> frozenset[tuple[str, ...]]:
    """Where the schema demands an integer, as paths in which `*` stands for any index.

    What a definition says of itself (a proof node's children) is followed once: there are endlessly many such paths.
    """
    root = load_schema(schema)

    def walk(
        node: Mapping[str, Any], path: tuple[str, ...], within: frozenset[str] = frozenset()
    ) -> Iterator[tuple[str, ...]]:
        name = node.get("$ref", "").rpartition("/")[2]
        if name and name not in within:
            yield from walk(root["$defs"][name], path, within | {name})
        if node.get("type") == "integer":
            yield path
        for name, below in node.get("properties", {}).items():
            yield from walk(below, (*path, name), within)
        if "items" in node:
            yield from walk(node["items"], (*path, _ANY), within)
        for below in (*node.get("allOf", ()), *(node[word] for word in ("then", "else") if word in node)):
            yield from walk(below, path, within)

    return frozenset(walk(root, ()))


def _integers_spelled_as_floats(value: Mapping[str, Any], schema: str) -> bool:
    def at(node: Any, path: tuple[str, ...]) -> bool:
        if not path:
            return type(node) is float
        if path[0] == _ANY:
            return isinstance(node, list) and any(at(item, path[1:]) for item in node)
        return isinstance(node, dict) and path[0] in node and at(node[path[0]], path[1:])

    return any(at(value, path) for path in _integer_places(schema))


def _violations(document: Document, schema: str, most: int) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    # A document can hold millions of violations; whoever mends the first hundred comes back for the rest.
    found = islice(_strict(schema).iter_errors(document.value), 2 * most)
    errors = sorted(found, key=lambda error: [str(part) for part in error.absolute_path])
    for error in errors:
        pointer = json_pointer(error.absolute_path)
        for where, message in _tell(error, pointer):
            if len(seen) >= most:
                return
            if (where, message) not in seen:
                seen.add((where, message))
                yield Problem(message, document.source, pointer=where)


def shorten(value: Any, most: int = 60) -> str:
    """A JSON value as short text for a message: control characters escaped, at most `most` characters."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= most else text[: most - 1] + "…"


def _tell(error: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """One jsonschema error as (pointer, sentence) pairs: what was found and what was expected."""
    found, rule, demand = error.instance, error.validator, error.validator_value
    if rule == "required":
        for name in (name for name in demand if name not in found):
            yield pointer, f"the key {shorten(name)} is missing"
    elif rule == "additionalProperties":
        known = error.schema.get("properties", {})
        for name in (name for name in found if name not in known):
            near = get_close_matches(name, known, 1)
            yield (
                f"{pointer}{json_pointer([name])}",
                "this key is unknown" + (f"; did you mean {shorten(near[0])}?" if near else ""),
            )
    elif rule == "dependentRequired":
        for name, needs in demand.items():
            for need in (need for need in needs if name in found and need not in found):
                yield pointer, f"{shorten(name)} stands without {shorten(need)}; keep both or neither"
    else:
        yield pointer, _sentence(rule, demand, found)


def _sentence(rule: str, demand: Any, found: Any) -> str:
    told = shorten(found)
    match rule:
        case "type":
            wanted = demand if isinstance(demand, str) else " or ".join(demand)
            return f"expected {wanted}, found {_type_name(found)} {told}"
        case "const":
            return f"expected {shorten(demand)}, found {told}"
        case "enum" if len(demand) == 1:
            return f"expected {shorten(demand[0])}, found {told}"
        case "enum":
            return f"expected one of {', '.join(map(shorten, demand))}; found {told}"
        case "minimum" | "maximum":
            return f"expected {'at least' if rule == 'minimum' else 'at most'} {demand}, found {told}"
        case "minItems" | "minLength":
            return f"expected at least {demand} {'entry' if rule == 'minItems' else 'character'}, found {told}"
        case "uniqueItems":
            return f"the entries must differ from each other, found {told}"
        case "pattern":
            return f"expected text of the form {demand.removesuffix('(?!' + chr(92) + 'n)')}, found {told}"
        case "format":
            return f"expected an RFC 3339 date and time that exists, found {told}"
    return f"{told} breaks the rule {rule}"


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")
