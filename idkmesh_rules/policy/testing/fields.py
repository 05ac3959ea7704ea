"""Facts and parts of facts as tests spell them: a literal, `{unknown: why}`, or `{absent: true}` a field.

Invariants: a value has the type of its field; a key is known; only an optional field is absent; a fact that is whole has
every field that isn't optional.
"""

from collections.abc import Callable

from idkmesh_rules.model.bundle import Mark, Operator
from idkmesh_rules.model.facts import FactKind, Field, FieldType, Unknown, Value
from idkmesh_rules.policy import schema
from idkmesh_rules.policy.operands import objection
from idkmesh_rules.policy.problems import Problems, suggest
from idkmesh_rules.policy.testing.suite import Given, Numbered
from idkmesh_rules.policy.yaml_reader import Mapping, Node, Scalar

PLACEHOLDER = "{n}"


class Wrong(Exception):
    """A part of the file is wrong, and that was reported."""


class FieldReader:
    """Reads fields of facts; `numbered` lets texts hold `{n}`."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def values(self, node: Node, kind: FactKind, what: str, *, numbered: bool = False) -> tuple[tuple[int, Given], ...]:
        """Values by position of the field; raises Wrong."""
        body = schema.mapping(node, self._problems, what)
        if body is None:
            raise Wrong
        found = [self._entry(key, value, kind, numbered) for key, value in body.entries]
        good = [entry for entry in found if entry is not None]
        if len(good) < len(found):
            raise Wrong
        return tuple(good)

    def whole(self, node: Node, kind: FactKind, *, numbered: bool = False) -> tuple[tuple[int, Given], ...]:
        """The values of a fact in the order of its kind's fields, absent where nothing is given; raises Wrong."""
        given = dict(self.values(node, kind, f"the fields of a {kind.name}", numbered=numbered))
        missing = [
            declared.name
            for position, declared in enumerate(kind.fields)
            if position not in given and not declared.optional
        ]
        if missing:
            hint = "give each a value, or {unknown: why}"
            self._problems.add(node.mark, f"this {kind.name} lacks {', '.join(missing)}", hint)
            raise Wrong
        return tuple([(position, given.get(position)) for position in range(len(kind.fields))])

    def _entry(self, key: Scalar, node: Node, kind: FactKind, numbered: bool) -> tuple[int, Given] | None:
        position = kind.index.get(key.text)
        if position is None:
            self._problems.add(key.mark, f'{kind.name} has no field "{key.text}"', suggest(key.text, kind.index))
            return None
        declared = kind.fields[position]
        try:
            return position, self._value(node, declared, numbered)
        except Wrong:
            return None

    def _value(self, node: Node, declared: Field, numbered: bool) -> Given:
        if isinstance(node, Mapping):
            return self._unusual(node, declared)
        if numbered and isinstance(node, Scalar) and PLACEHOLDER in node.text:
            return self._numbered(node, declared)
        value = _READERS.get(declared.type, schema.text)(
            node, self._problems, f"{_EXPECTED[declared.type]} for {declared.name}"
        )
        if value is None:
            raise Wrong
        against = objection(declared, Operator.IN, value)
        if against is not None:
            self._problems.add(node.mark, *against)
            raise Wrong
        return value

    def _numbered(self, node: Scalar, declared: Field) -> Numbered:
        if declared.type is FieldType.INT and node.text == PLACEHOLDER:
            return Numbered(node.text, True)
        if declared.type is not FieldType.STRING:
            self._problems.add(
                node.mark,
                f"{declared.name} can't hold {node.text}",
                f'"{PLACEHOLDER}" stands in texts, or for an integer',
            )
            raise Wrong
        return Numbered(node.text, False)

    def _unusual(self, node: Mapping, declared: Field) -> Value | Unknown:
        entries = schema.Entries(node, self._problems, "a value", optional=("unknown", "absent"))
        why, absent = entries.get("unknown"), entries.get("absent")
        if len(entries.nodes) != 1 or (why is None and absent is None):
            if len(entries.nodes) != 1:
                self._problems.add(node.mark, "expected a value, {unknown: why} or {absent: true}")
            raise Wrong
        if why is not None:
            reason = schema.text(why, self._problems, "why it is unknown")
            return (
                Unknown(reason)
                if reason is not None
                and self._may(not declared.key, node.mark, f"{declared.name} is part of the key and never unknown")
                else self._wrong()
            )
        said = schema.boolean(absent, self._problems, "true") if absent is not None else None
        allowed = declared.optional and said is True
        if said is not None:
            self._may(
                allowed,
                node.mark,
                f"{declared.name} is never absent" if said else "write {absent: true}, or leave it out",
            )
        return None if allowed else self._wrong()

    def _may(self, holds: bool, mark: Mark, otherwise: str) -> bool:
        if not holds:
            self._problems.add(mark, otherwise)
        return holds

    def _wrong(self) -> Value:
        raise Wrong


_EXPECTED = {
    FieldType.BOOL: "true or false",
    FieldType.INT: "an integer",
    FieldType.STRING: "a text",
    FieldType.ENUM: "a text",
    FieldType.DIGEST: "a digest",
}
_READERS: dict[FieldType, Callable[[Node, Problems, str], Value]] = {
    FieldType.BOOL: schema.boolean,
    FieldType.INT: schema.integer,
}


def broken_invariant(kind: FactKind, row: tuple[Value | Unknown, ...]) -> str | None:
    """The text of the first invariant that a fact breaks, as far as its fields are known; None if it can exist."""
    for law in kind.invariants:
        values = [row[kind.index[name]] for name in law.fields]
        if not any(isinstance(value, Unknown) for value in values) and not law.holds(*values):
            return law.text
    return None
