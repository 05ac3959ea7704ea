"""Conditions, demands and abstract facts in the owner's own terms: as they would be written in bundle.yaml.

Invariant: what is spelled here is for people to read; nothing parses it.
"""

from collections.abc import Callable, Mapping

from idkmesh_rules.model.bundle import Demand, Form, Leaf, Operand, Operator, ParameterRef
from idkmesh_rules.model.facts import FactKind, Unknown, Value
from idkmesh_rules.policy.abstract import AbstractRow

_LISTS = (Operator.IN, Operator.GLOB)


_NO_PARAMETERS: Mapping[str, Value] = {}


def leaf_text(leaf: Leaf, parameters: Mapping[str, Value] = _NO_PARAMETERS) -> str:
    """A leaf as a flow mapping, without its finding; parameters with their values, where `parameters` has them."""
    parts = [f"{leaf.form.value}: {leaf.kind.name}"]
    parts += [
        f"{part}: {{{', '.join(f'{each.field.name}: {asked_text(each, parameters)}' for each in demands)}}}"
        for part, demands in (("where", leaf.where), ("must", leaf.must))
        if demands
    ]
    if leaf.form is Form.COUNT:
        bounds = (("at_least", leaf.at_least), ("at_most", leaf.at_most))
        parts += [f"{name}: {operand_text(bound, parameters)}" for name, bound in bounds if bound is not None]
    if leaf.on_empty is not None:
        parts.append(f"on_empty: {leaf.on_empty.value}")
    return "{" + ", ".join(parts) + "}"


def fact_text(kind: FactKind, row: AbstractRow) -> str:
    """An abstract fact: its kind and the fields that matter."""
    fields = [
        f"{name} {value_text(value)}"
        for name, value in sorted(row.sample.items(), key=lambda item: kind.index[item[0]])
    ]
    return f"a {kind.name} fact" + (f" with {', '.join(fields)}" if fields else "")


def demand_text(demand: Demand, spell: Callable[[Value], str] | None = None) -> str:
    """A demand as an entry of `where` or `must`; `spell` writes literals, by default as a sentence would show them."""
    return f"{demand.field.name}: {asked_text(demand, spell=spell)}"


def asked_text(
    demand: Demand, parameters: Mapping[str, Value] = _NO_PARAMETERS, spell: Callable[[Value], str] | None = None
) -> str:
    """What a demand asks of its field, without the field's name."""
    operands = [operand_text(operand, parameters, spell) for operand in demand.operands]
    if demand.operator is Operator.IN and len(operands) == 1:
        return operands[0]
    listed = demand.operator in _LISTS or len(operands) > 1
    value = f"[{', '.join(operands)}]" if listed else operands[0]
    return f"{{{demand.operator.value}: {value}}}"


def value_text(value: Value | Unknown) -> str:
    """A field's value, as a sentence would show it."""
    if isinstance(value, Unknown):
        return "unknown"
    if isinstance(value, bool):
        return str(value).lower()
    return "absent" if value is None else str(value)


def operand_text(
    operand: Operand, parameters: Mapping[str, Value] = _NO_PARAMETERS, spell: Callable[[Value], str] | None = None
) -> str:
    """An operand as bundle.yaml spells it, with a parameter's value where it is known; `spell` writes literals."""
    spell = spell or value_text
    if not isinstance(operand, ParameterRef):
        return spell(operand)
    known = operand.name in parameters
    return f"{spell(parameters[operand.name])} ({operand.name})" if known else f"{{parameter: {operand.name}}}"
