"""Facts, edits and cases as tests.yaml spells them, for a person to read and go on with.

Invariant: what is written here is read back by `read_suite` as the same values.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from idkmesh_rules.model.facts import FactKind, FactStore, Unknown, Value
from idkmesh_rules.policy.spelling import demand_text
from idkmesh_rules.policy.testing.suite import Action, Edit, Expectation, Given, Numbered

_WIDTH = 118
_NO_PARAMETERS: Mapping[str, Value] = {}
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_UNWRITABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def base_yaml(store: FactStore) -> str:
    """`base:` with every fact of a store, each kind in the order of the store."""
    lines = ["base:"]
    for facts in store:
        if facts.rows:
            lines.append(f"  {facts.kind.name}:")
        for row in facts.rows:
            lines += _item("    - ", _fields(facts.kind, enumerate(row)))
    return "\n".join(lines) + "\n"


def case_yaml(
    name: str,
    edits: Iterable[Edit],
    expected: Expectation,
    comment: Iterable[str] = (),
    parameters: Mapping[str, Value] = _NO_PARAMETERS,
) -> str:
    """One case below `cases:`, with lines of comment above it."""
    lines = [f"  # {line}" for line in comment]
    lines.append(f"  {name}:")
    spelled = [_edit(edit) for edit in edits]
    if spelled:
        lines.append("    edits:")
    for parts in spelled:
        lines += _item("      - ", parts)
    if parameters:
        told = ", ".join(f"{key}: {scalar(value)}" for key, value in parameters.items())
        lines.append(f"    parameters: {{{told}}}")
    lines.append(f"    outcome: {expected.outcome.value}")
    for key, names in (("causes", expected.causes), ("not_applicable", expected.not_applicable)):
        if names:
            lines += _listed(key, sorted(names))
    return "\n".join(lines) + "\n"


def _edit(edit: Edit) -> list[str]:
    parts = [f"{edit.action.value}: {edit.kind.name}"]
    if edit.repeat > 1:
        parts.append(f"repeat: {edit.repeat}")
    if edit.where:
        parts.append(f"where: {{{', '.join(demand_text(demand, scalar) for demand in edit.where)}}}")
    if edit.action is Action.SET:
        parts.append(f"to: {{{', '.join(_fields(edit.kind, edit.values, absent=True))}}}")
    elif edit.action is Action.ADD:
        parts.append(f"fact: {{{', '.join(_fields(edit.kind, edit.values))}}}")
    elif edit.values:
        parts.append(f"fields: [{', '.join(edit.kind.fields[position].name for position, _value in edit.values)}]")
    return parts


def _fields(kind: FactKind, values: Iterable[tuple[int, Given]], *, absent: bool = False) -> list[str]:
    return [
        f"{kind.fields[position].name}: {_value(value)}" for position, value in values if absent or value is not None
    ]


def _value(value: Given) -> str:
    if isinstance(value, Unknown):
        return f"{{unknown: {scalar(value.reason)}}}"
    if isinstance(value, Numbered):
        return f'"{value.text}"'
    return "{absent: true}" if value is None else scalar(value)


def scalar(value: Value) -> str:
    """A literal; a text in quotes unless it is a plain word."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return str(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _item(lead: str, parts: list[str]) -> Iterator[str]:
    """A flow mapping on one line where it fits, else a block mapping."""
    line = f"{lead}{{{', '.join(parts)}}}"
    if len(line) <= _WIDTH:
        yield line
        return
    for position, part in enumerate(parts):
        yield from _folded(lead if position == 0 else " " * len(lead), part)


def _folded(lead: str, part: str) -> Iterator[str]:
    """`key: {a, b}` on one line where it fits, else an entry a line."""
    key, _colon, value = part.partition(": ")
    if len(lead + part) <= _WIDTH or not value.startswith("{"):
        yield lead + part
        return
    yield f"{lead}{key}:"
    for entry in _entries(value[1:-1]):
        yield f"{' ' * len(lead)}  {entry}"


def _entries(text: str) -> Iterator[str]:
    """The entries of a flow mapping that was spelled here; commas in quotes and in braces don't part them."""
    depth, quoted, start, position = 0, False, 0, 0
    while position < len(text):
        character = text[position]
        if quoted:
            position += character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and not depth:
            yield text[start:position]
            start = position + 2
        position += 1
    yield text[start:]


def _listed(key: str, names: list[str]) -> Iterator[str]:
    line = f"    {key}: [{', '.join(names)}]"
    if len(line) <= _WIDTH:
        yield line
        return
    yield f"    {key}:"
    for name in names:
        yield f"      - {name}"
