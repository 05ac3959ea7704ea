"""Every single-point change of a bundle that could be a slip of its owner's hand (design: facts-and-policy, *Bundle
tests*).

Invariants: a mutant differs from the bundle in one place; what nobody mentions any more because of that is gone from it,
as an owner would take it out; whether it makes sense is not judged here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from idkmesh_rules.model.bundle import (
    Bundle,
    Combination,
    Demand,
    Form,
    Leaf,
    Mark,
    OnEmpty,
    Operand,
    Operator,
    Parameter,
    ParameterRef,
    Validator,
)
from idkmesh_rules.model.facts import Field, FieldType, Value
from idkmesh_rules.policy.spelling import demand_text, operand_text

_NO_SUCH_TEXT = "no-such-text"
_NO_SUCH_PATTERN = "no-such-folder/no-such-file"


class Mutant(NamedTuple):
    """A changed bundle: what was changed, where it stands, and the leaf that was changed, if one was."""

    what: str
    mark: Mark
    bundle: Bundle
    leaf: str | None = None


def mutants(bundle: Bundle) -> Iterator[Mutant]:
    """All mutants of a bundle, in the order of its parts."""
    for number, mutant in enumerate(_all(bundle)):
        # It is another bundle, and must not pass for the one whose digest it would bear.
        yield mutant._replace(bundle=replace(mutant.bundle, digest=f"{bundle.digest} mutant {number}"))


def _all(bundle: Bundle) -> Iterator[Mutant]:
    yield from _of_parameters(bundle)
    for condition in bundle.conditions.values():
        if isinstance(condition, Leaf):
            for what, mark, changed in _of_leaf(condition, bundle.parameters):
                conditions = {**bundle.conditions, condition.name: changed}
                yield Mutant(f"{condition.name}: {what}", mark, _pruned(bundle, conditions=conditions), condition.name)
        else:
            yield from _of_combination(bundle, condition)
    for validator in bundle.validators.values():
        for child, children in _without_each(validator.children):
            validators = {**bundle.validators, validator.id: validator._replace(children=children)}
            yield Mutant(
                f"{validator.id}: {child} dropped",
                bundle.conditions[child].mark or validator.mark,
                _pruned(bundle, validators=validators),
            )
    for name, names in _without_each(bundle.escalate, least=0):
        mark = bundle.conditions[name].mark or bundle.mark
        yield Mutant(f"escalate: {name} dropped", mark, _pruned(bundle, escalate=names))


def _pruned(
    bundle: Bundle,
    *,
    conditions: dict[str, Leaf | Combination] | None = None,
    validators: dict[str, Validator] | None = None,
    escalate: tuple[str, ...] | None = None,
) -> Bundle:
    changed = replace(
        bundle,
        conditions=conditions if conditions is not None else bundle.conditions,
        validators=validators if validators is not None else bundle.validators,
        escalate=escalate if escalate is not None else bundle.escalate,
    )
    used: set[str] = set()
    pending = [name for each in changed.validators.values() for name in each.children] + [*changed.escalate]
    while pending:
        name = pending.pop()
        if name not in used:
            used.add(name)
            condition = changed.conditions[name]
            pending.extend(condition.children if isinstance(condition, Combination) else ())
    return replace(changed, conditions={name: each for name, each in changed.conditions.items() if name in used})


def _without_each(names: tuple[str, ...], least: int = 1) -> Iterator[tuple[str, tuple[str, ...]]]:
    if len(names) > least:
        for name in names:
            yield name, tuple([other for other in names if other != name])


def _of_parameters(bundle: Bundle) -> Iterator[Mutant]:
    for name, parameter in bundle.parameters.items():
        for other in other_values(parameter.default):
            parameters = {**bundle.parameters, name: parameter._replace(default=other)}
            what = f"{name}: default {_shown(parameter.default)} → {_shown(other)}"
            yield Mutant(what, parameter.mark, replace(bundle, parameters=parameters))


def other_values(value: Value) -> tuple[Value, ...]:
    """Values of the same type that are next to one."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value - 1, value + 1)
    return (f"{value}-{_NO_SUCH_TEXT}",)


def _of_combination(bundle: Bundle, combination: Combination) -> Iterator[Mutant]:
    name, mark = combination.name, combination.mark or bundle.mark
    other = Form.ANY if combination.form is Form.ALL else Form.ALL
    variants = [(f"{combination.form.value} → {other.value}", combination._replace(form=other))]
    variants += [
        (f"{child} dropped", combination._replace(children=children))
        for child, children in _without_each(combination.children)
    ]
    for what, changed in variants:
        conditions = {**bundle.conditions, name: changed}
        yield Mutant(f"{name}: {what}", mark, _pruned(bundle, conditions=conditions))


_Change = tuple[str, Mark, Leaf]


def _of_leaf(leaf: Leaf, parameters: Mapping[str, Parameter]) -> Iterator[_Change]:
    mark = leaf.mark or Mark(1, 1)
    for what, changed in _quantified(leaf):
        yield what, mark, changed
    for option in OnEmpty if leaf.on_empty is not None else ():
        if option is not leaf.on_empty:
            yield (
                f"on_empty {leaf.on_empty.value if leaf.on_empty else ''} → {option.value}",
                mark,
                leaf._replace(on_empty=option),
            )
    for what, changed in _bounded(leaf, parameters):
        yield what, mark, changed
    for position, demand in enumerate(leaf.demands):
        in_where = position < len(leaf.where)
        part, first = ("where", 0) if in_where else ("must", len(leaf.where))
        for what, others in _changed(
            leaf.where if in_where else leaf.must, position - first, parameters, may_be_empty=in_where
        ):
            yield f"{part}: {what}", demand.mark or mark, _with(leaf, others, in_where)


def _with(leaf: Leaf, demands: tuple[Demand, ...], in_where: bool) -> Leaf:
    return leaf._replace(where=demands) if in_where else leaf._replace(must=demands)


def _changed(
    demands: tuple[Demand, ...], position: int, parameters: Mapping[str, Parameter], *, may_be_empty: bool
) -> Iterator[tuple[str, tuple[Demand, ...]]]:
    """The conjunction without one of its demands, and with others in its place."""
    demand, before, after = demands[position], demands[:position], demands[position + 1 :]
    if before or after or may_be_empty:
        yield f"{demand_text(demand)} dropped", before + after
    for other in _other_demands(demand, parameters):
        yield f"{demand_text(demand)} → {demand_text(other)}", (*before, other, *after)


def _quantified(leaf: Leaf) -> Iterator[tuple[str, Leaf]]:
    """The leaf under each other quantifier that says something of the same facts."""
    if leaf.kind.singleton:
        return
    both = leaf.where + leaf.must
    every = leaf._replace(form=Form.EVERY, where=leaf.where if leaf.must else (), must=leaf.must or leaf.where)
    variants = {
        Form.ONE: leaf._replace(
            form=Form.ONE, where=every.where, must=every.must, on_empty=None, at_least=None, at_most=None
        ),
        Form.EVERY: every._replace(on_empty=leaf.on_empty or OnEmpty.FAIL, at_least=None, at_most=None),
        Form.SOME: leaf._replace(form=Form.SOME, where=both, must=(), on_empty=None, at_least=None, at_most=None),
        Form.NONE: leaf._replace(
            form=Form.NONE, where=both, must=(), on_empty=leaf.on_empty or OnEmpty.FAIL, at_least=None, at_most=None
        ),
    }
    for form, changed in variants.items():
        if form is not leaf.form and (changed.must or form not in (Form.ONE, Form.EVERY)):
            yield f"{leaf.form.value} → {form.value}", changed


def _bounded(leaf: Leaf, parameters: Mapping[str, Parameter]) -> Iterator[tuple[str, Leaf]]:
    least, most = leaf.at_least, leaf.at_most
    for step in (-1, 1):
        if isinstance(least, int):
            yield f"at_least {least} → {least + step}", leaf._replace(at_least=least + step)
        if isinstance(most, int):
            yield f"at_most {most} → {most + step}", leaf._replace(at_most=most + step)
    for other in _instead_of(least, parameters):
        yield f"at_least {operand_text(least)} → {operand_text(other)}", leaf._replace(at_least=other)
    for other in _instead_of(most, parameters):
        yield f"at_most {operand_text(most)} → {operand_text(other)}", leaf._replace(at_most=other)
    if leaf.form is Form.COUNT and (leaf.at_least is None) is not (leaf.at_most is None):
        yield "at_least ↔ at_most", leaf._replace(at_least=leaf.at_most, at_most=leaf.at_least)


def _other_demands(demand: Demand, parameters: Mapping[str, Parameter]) -> Iterator[Demand]:
    """The demand flipped, and with each of its literals changed or left out."""
    match demand.operator:
        case Operator.IN:
            yield demand._replace(operator=Operator.NOT)
        case Operator.NOT:
            yield demand._replace(operator=Operator.IN)
        case Operator.AT_LEAST:
            yield demand._replace(operator=Operator.AT_MOST)
        case Operator.AT_MOST:
            yield demand._replace(operator=Operator.AT_LEAST)
        case _:
            pass  # nothing says that a text doesn't match
    operands = demand.operands
    for position, operand in enumerate(operands):
        rest = operands[:position] + operands[position + 1 :]
        if rest:
            yield demand._replace(operands=rest)
        for other in (*_other_literals(demand.field, demand.operator, operand), *_instead_of(operand, parameters)):
            if other not in operands:
                yield demand._replace(operands=(*operands[:position], other, *operands[position + 1 :]))


def _instead_of(operand: Operand, parameters: Mapping[str, Parameter]) -> Iterator[Operand]:
    """What may stand in a parameter's place by a slip: its own default, and another parameter of its type."""
    if isinstance(operand, ParameterRef):
        own = parameters[operand.name]
        yield own.default
        for name, other in parameters.items():
            if name != operand.name and other.type is own.type:
                yield ParameterRef(name)


def _other_literals(declared: Field, operator: Operator, operand: Operand) -> tuple[Operand, ...]:
    if isinstance(operand, ParameterRef) or operand is None or isinstance(operand, bool):
        return ()  # a parameter's default is a place of its own, and a flag has its flip
    if isinstance(operand, int):
        return (operand - 1, operand + 1)
    if operator is Operator.GLOB:
        return (_NO_SUCH_PATTERN,)
    if declared.type is FieldType.ENUM:
        return declared.values
    if declared.type is FieldType.DIGEST:
        return ("sha256:" + ("0" if operand[7:8] != "0" else "1") * 64,)
    return (f"{operand}-{_NO_SUCH_TEXT}",)


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
