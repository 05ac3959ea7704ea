"""The quick look at a leaf: one generated function that counts facts as long as nothing about them is in doubt.

Almost every leaf of almost every candidate holds without an unknown in sight, and that case shouldn't pay for
explanations. The quick look answers it or declines (-1), and then the tables decide the long way.

Invariants: it answers only what the tables would answer; generated code consists of positions of fields and of names
that are bound to operands, so that no text of a bundle ever becomes code.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from idkmesh_rules.model.bundle import Demand, Form, Leaf, Operator
from idkmesh_rules.model.facts import FactKind, Row, Unknown, Value
from idkmesh_rules.policy.predicate import filled, glob_matcher

Quick = Callable[[tuple[Row, ...]], int]

_COUNTING = """\
def quick(rows):
    count = 0
    for r in rows:
        if {out}: continue
        if not ({met}): return -1
        count += 1
    return count if {enough} else -1
"""
_FINDING = """\
def quick(rows):
    found = -1
    for index, r in enumerate(rows):
        if {out}: continue
        if found >= 0 or not ({met}): return -1
        found = index
    return found
"""


def quick_look(leaf: Leaf, parameters: Mapping[str, Value]) -> Quick | None:
    """How many facts are in scope, if the leaf is true, and each fact certainly in scope and right or certainly out.

    Else -1. For `one` it is the index of the only fact in scope. None for `some`, whose witnesses the long way lists
    anyway.
    """
    if leaf.form is Form.SOME:
        return None
    names: dict[str, Any] = {"Unknown": Unknown}
    where = [_Terms(demand, leaf.kind, parameters, names) for demand in leaf.where]
    must = [_Terms(demand, leaf.kind, parameters, names) for demand in leaf.must]
    if leaf.form is Form.NONE:
        source = _COUNTING.format(out="False", met=" or ".join(term.false for term in where) or "False", enough="count")
    else:
        template = _FINDING if leaf.form is Form.ONE else _COUNTING
        source = template.format(
            out=" or ".join(term.false for term in where) or "False",
            met=" and ".join(term.true for term in (*where, *must)) or "True",
            enough=_within_bounds(leaf, parameters, names) if leaf.form is Form.COUNT else "count",
        )
    exec(_code(source), names)  # positions and names only, see the module's invariants
    found: Quick = names["quick"]
    return found


def _within_bounds(leaf: Leaf, parameters: Mapping[str, Value], names: dict[str, Any]) -> str:
    names["least"], names["most"] = filled(leaf.at_least, parameters), filled(leaf.at_most, parameters)
    bounds = [
        text for name, text in (("least", "count >= least"), ("most", "count <= most")) if names[name] is not None
    ]
    return " and ".join(bounds) or "True"


@lru_cache(maxsize=512)
def _code(source: str) -> Any:
    return compile(source, "<quick look>", "exec")


class _Terms:
    """Expressions over a row `r` that are true if a demand is certainly true, and if it is certainly false."""

    def __init__(self, demand: Demand, kind: FactKind, parameters: Mapping[str, Value], names: dict[str, Any]) -> None:
        operands = tuple([filled(operand, parameters) for operand in demand.operands])
        bound = f"k{len(names)}"
        value = f"r[{kind.index[demand.field.name]}]"
        # A key is never unknown, and asking would cost as much as comparing.
        known = "" if demand.field.key else f"{value}.__class__ is not Unknown and "
        match demand.operator:
            case Operator.IN if len(operands) == 1:
                names[bound] = operands[0]
                self.true, fails = f"{value} == {bound}", f"{value} != {bound}"
            case Operator.IN:
                names[bound] = frozenset(operands)
                self.true, fails = f"{value} in {bound}", f"{value} not in {bound}"
            case Operator.NOT:
                names[bound] = frozenset(operands)
                self.true, fails = f"{known}{value} not in {bound}", f"{value} in {bound}"
            case Operator.AT_LEAST | Operator.AT_MOST:
                names[bound] = operands[0]
                holds = f"{value} {'>=' if demand.operator is Operator.AT_LEAST else '<='} {bound}"
                self.true, fails = f"{value}.__class__ is int and {holds}", f"({value} is None or not {holds})"
            case Operator.CONTAINS:
                names[bound] = operands[0]
                self.true, fails = (
                    f"{value}.__class__ is str and {bound} in {value}",
                    f"({value} is None or {bound} not in {value})",
                )
            case _:
                names[bound] = glob_matcher(operands)
                self.true, fails = (
                    f"{value}.__class__ is str and {bound}({value})",
                    f"({value} is None or not {bound}({value}))",
                )
        self.true, self.false = f"({self.true})", f"({known}{fails})"
