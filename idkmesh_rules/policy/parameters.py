"""What a plan gives for a bundle's parameters, held against the declarations.

Invariants: bool is not int; a name that the bundle doesn't declare is refused, because a plan that sets it meant
something; what is accepted here is fit for every place where the bundle uses it.
"""

from collections.abc import Mapping

from idkmesh_rules.errors import PolicyError, Problem
from idkmesh_rules.model.bundle import Bundle, Combination, Parameter, ParameterRef, ParameterType
from idkmesh_rules.model.facts import Value
from idkmesh_rules.policy.operands import objection
from idkmesh_rules.policy.problems import shown, suggest

_TYPES: dict[ParameterType, type] = {ParameterType.INTEGER: int, ParameterType.BOOLEAN: bool, ParameterType.STRING: str}
_ARTICLES = {
    ParameterType.INTEGER: "an integer",
    ParameterType.BOOLEAN: "true or false",
    ParameterType.STRING: "a text",
}
_LARGEST = 1 << 53


def bind_parameters(bundle: Bundle, given: Mapping[str, object]) -> Mapping[str, Value]:
    """Every parameter of the bundle with its value: what is given, else the default; in the order of the bundle.

    Raises `PolicyError` with all mistakes; their pointers are relative to the object that gives the parameters.
    """
    problems = [_unknown(bundle, name) for name in given if name not in bundle.parameters]
    values: dict[str, Value] = {}
    for name, declared in bundle.parameters.items():
        values[name] = declared.default
        if name in given:
            against = _against(bundle, declared, given[name])
            if against is not None:
                problems.append(against)
            else:
                values[name] = given[name]  # type: ignore[assignment]  # `_against` looked
    if problems:
        raise PolicyError(tuple(problems))
    return values


def _unknown(bundle: Bundle, name: str) -> Problem:
    hint = suggest(name, bundle.parameters) or "it declares none"
    return Problem(f"the rule bundle {bundle.id} has no parameter {shown(name)}", pointer=_pointer(name), hint=hint)


def _against(bundle: Bundle, declared: Parameter, value: object) -> Problem | None:
    expected = _TYPES[declared.type]
    if type(value) is not expected or (expected is int and abs(value) > _LARGEST) or value == "":  # type: ignore[arg-type]
        return Problem(
            f"the parameter {declared.name} takes {_ARTICLES[declared.type]}, found {_spelled(value)}",
            pointer=_pointer(declared.name),
            hint=f"line {declared.mark.line} of the bundle declares it",
        )
    for leaf in bundle.conditions.values():
        for demand in () if isinstance(leaf, Combination) else leaf.demands:
            if ParameterRef(declared.name) in demand.operands:
                against = objection(demand.field, demand.operator, value)  # type: ignore[arg-type]
                if against is not None:
                    message = f"the parameter {declared.name} can't have this value in {leaf.name}: {against[0]}"
                    return Problem(message, pointer=_pointer(declared.name), hint=against[1])
    return None


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if isinstance(value, int):
        return str(value) if abs(value) <= _LARGEST else "an integer beyond 2^53"
    return str(value) if isinstance(value, float) else f"a value of type {type(value).__name__}"


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")
