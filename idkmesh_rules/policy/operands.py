"""What a demand may be compared with: literals and parameters, held against the type of the field.

Invariants: comparison is type-strict; what is refused in a literal is refused in a parameter's default and in what a
plan gives for it, by the same function; a glob speaks the allow dialect of the path layer.
"""

import re

from idkmesh_rules.model.bundle import Operand, Operator, Parameter, ParameterRef, ParameterType
from idkmesh_rules.model.facts import Field, FieldType, Value
from idkmesh_rules.policy import schema
from idkmesh_rules.policy.problems import Problems, shown, suggest
from idkmesh_rules.policy.yaml_reader import Mapping, Node

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ARTICLE = {
    FieldType.BOOL: "true or false",
    FieldType.INT: "an integer",
    FieldType.STRING: "a text",
    FieldType.ENUM: "a text",
    FieldType.DIGEST: "a digest (sha256: and 64 hexadecimal digits)",
}
NEEDS_TYPE = {
    Operator.AT_LEAST: FieldType.INT,
    Operator.AT_MOST: FieldType.INT,
    Operator.GLOB: FieldType.STRING,
    Operator.CONTAINS: FieldType.STRING,
}
"""The field type that an operator is for; those that are missing take any."""


def objection(declared: Field, operator: Operator, value: Value) -> tuple[str, str | None] | None:
    """What speaks against comparing a field with a value of the right type, and a hint; None if nothing does."""
    if declared.type is FieldType.ENUM and value not in declared.values:
        return f"{shown(str(value))} is no value of {declared.name}", suggest(str(value), declared.values)
    if declared.type is FieldType.DIGEST and _DIGEST.fullmatch(str(value)) is None:
        return f"{shown(str(value))} is no digest", "write sha256: and 64 hexadecimal digits in lower case"
    if operator is Operator.GLOB:
        return _glob_objection(str(value))
    return None


def _glob_objection(pattern: str) -> tuple[str, str | None] | None:
    from idkmesh_rules.paths.patterns import PatternError, compile_allow  # not every bundle has a pattern

    try:
        compile_allow((pattern,))
    except PatternError as error:
        return (
            f"{shown(pattern)} is no pattern: {error}",
            "patterns are those of allowed_paths: anchored, * within one component",
        )
    return None


def parameter_value(node: Node, declared: ParameterType, problems: Problems, what: str) -> Value:
    """A literal of a parameter's type, or None if a mistake was reported."""
    if declared is ParameterType.INTEGER:
        return schema.integer(node, problems, f"an integer as {what}")
    if declared is ParameterType.BOOLEAN:
        return schema.boolean(node, problems, f"true or false as {what}")
    return schema.text(node, problems, f"a text as {what}")


class OperandReader:
    """Reads operands against the declared parameters; None among those is a parameter whose declaration is wrong."""

    def __init__(self, problems: Problems, parameters: dict[str, Parameter | None]) -> None:
        self._problems = problems
        self._parameters = parameters

    def read(self, node: Node, declared: Field, operator: Operator) -> Operand:
        """A literal of the field's type or a parameter that holds one; None if a mistake was reported."""
        if isinstance(node, Mapping):
            return self._reference(node, declared, operator)
        what = f"{_ARTICLE[declared.type]} for {declared.name}"
        value: Value
        if declared.type is FieldType.INT:
            value = schema.integer(node, self._problems, what)
        elif declared.type is FieldType.BOOL:
            value = schema.boolean(node, self._problems, what)
        else:
            value = schema.text(node, self._problems, what)
        if value is None:
            return None
        return None if self._objected(node, declared, operator, value, "") else value

    def _reference(self, node: Mapping, declared: Field, operator: Operator) -> Operand:
        entries = schema.Entries(node, self._problems, "an operand", required=("parameter",))
        named = entries.get("parameter")
        name = schema.text(named, self._problems, "the name of a parameter") if named is not None else None
        if named is None or name is None or len(entries.nodes) > 1:
            return None
        if name not in self._parameters:
            hint = suggest(name, self._parameters) or f"declare it: parameters: {{{name}: {{type: …, default: …}}}}"
            self._problems.add(named.mark, f"there is no parameter {shown(name)}", hint)
            return None
        parameter = self._parameters[name]
        if parameter is None:
            return None
        if not parameter.type.fits(declared.type):
            self._problems.add(
                named.mark,
                f"the parameter {name} is of type {parameter.type.value}, "
                f"but {declared.name} takes {_ARTICLE[declared.type]}",
            )
            return None
        prefix = f"the default of the parameter {name} can't stand here: "
        return None if self._objected(named, declared, operator, parameter.default, prefix) else ParameterRef(name)

    def _objected(self, node: Node, declared: Field, operator: Operator, value: Value, prefix: str) -> bool:
        against = objection(declared, operator, value)
        if against is not None:
            self._problems.add(node.mark, prefix + against[0], against[1])
        return against is not None
