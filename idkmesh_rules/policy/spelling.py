"""Conditions, demands and abstract facts in the owner's own terms: as they would be written in bundle.yaml.

Invariant: what is spelled here is for people to read; nothing parses it.
"""

from collections.abc import Callable

from idkmesh_rules.model.bundle import Demand, Form, Leaf, Operand, Operator, ParameterRef
from idkmesh_rules.model.facts import FactKind, Unknown, Value
from idkmesh_rules.policy.abstract import AbstractRow

_LISTS = (Operator.IN, Operator.GLOB)


def leaf_text(leaf: Leaf) -> str:
    """A leaf as a flow mapping, without its finding."""
    parts = [f"{leaf.form.value}: {leaf.kind.name}"]
    parts += [
        f"{part}: {{{', '.join(map(demand_text, demands))}}}"
        for part, demands in (("where", leaf.where), ("must", leaf.must))
        if demands
    ]
    if leaf.form is Form.COUNT:
        bounds = (("at_least", leaf.at_least), ("at_most", leaf.at_most))
        parts += [f"{name}: {_operand(bound)}" for name, bound in bounds if bound is not None]
    if leaf.on_empty is not None:
        parts.append(f"on_empty: {leaf.on_empty.value}")
    return "{" + ", ".join(parts) + "}"


def fact_text(kind: FactKind, row: AbstractRow) -> str:
    """An abstract fact: its kind and the fields that matter."""
    fields = [
        f"{name} {_sample(value)}" for name, value in sorted(row.sample.items(), key=lambda item: kind.index[item[0]])
    ]
    return f"a {kind.name} fact" + (f" with {', '.join(fields)}" if fields else "")


def demand_text(demand: Demand, spell: Callable[[Value], str] | None = None) -> str:
    """A demand as an entry of `where` or `must`; `spell` writes literals, by default as a sentence would show them."""
    operands = [_operand(operand, spell) for operand in demand.operands]
    if demand.operator is Operator.IN and len(operands) == 1:
        return f"{demand.field.name}: {operands[0]}"
    listed = demand.operator in _LISTS or len(operands) > 1
    value = f"[{', '.join(operands)}]" if listed else operands[0]
    return f"{demand.field.name}: {{{demand.operator.value}: {value}}}"


def _operand(operand: Operand, spell: Callable[[Value], str] | None = None) -> str:
    if isinstance(operand, ParameterRef):
        return f"{{parameter: {operand.name}}}"
    if spell is not None:
        return spell(operand)
    return str(operand).lower() if isinstance(operand, bool) else str(operand)


def _sample(value: Value | Unknown) -> str:
    if isinstance(value, Unknown):
        return "unknown"
    return "absent" if value is None else _operand(value)
