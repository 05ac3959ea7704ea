"""One demand on one value, three-valued, with its parameters filled in.

Invariants: an unknown value makes a demand unknown whatever it asks; an absent one meets `not` and nothing else;
literals and values have the same type by the time they meet here, so plain equality is type-strict.
"""

from collections.abc import Callable, Mapping

from idkmesh_rules.model.bundle import Demand, Operand, Operator, ParameterRef
from idkmesh_rules.model.facts import Unknown, Value
from idkmesh_rules.model.truth import Truth

Test = Callable[[Value | Unknown], Truth]

_UNKNOWN, _TRUE, _FALSE = Truth.UNKNOWN, Truth.TRUE, Truth.FALSE


def filled(operand: Operand, parameters: Mapping[str, Value]) -> Value:
    """An operand's value under `parameters`, which have one for every declared name."""
    return parameters[operand.name] if isinstance(operand, ParameterRef) else operand


def test_of(operator: Operator, operands: tuple[Value, ...]) -> Test:
    """The test that an operator makes of a field's value."""
    holds = _known_test(operator, operands)
    absent = Truth.TRUE if operator is Operator.NOT else Truth.FALSE

    def test(value: Value | Unknown) -> Truth:
        if value is None:
            return absent
        if type(value) is Unknown:
            return _UNKNOWN
        return _TRUE if holds(value) else _FALSE

    return test


def glob_matcher(patterns: tuple[Value, ...]) -> Callable[[object], bool]:
    """Whether a text matches one of `patterns`, in the allow dialect of the path layer."""
    from idkmesh_rules.paths.patterns import compile_allow  # not every bundle has a pattern

    match = compile_allow(tuple([str(pattern) for pattern in patterns])).match
    return lambda value: match(str(value)) is not None


def _known_test(operator: Operator, operands: tuple[Value, ...]) -> Callable[[object], bool]:
    first = operands[0]
    if operator is Operator.GLOB:
        return glob_matcher(operands)
    if operator is Operator.AT_LEAST:
        return lambda value: value >= first  # type: ignore[operator]  # typed by the loader
    if operator is Operator.AT_MOST:
        return lambda value: value <= first  # type: ignore[operator]  # typed by the loader
    if operator is Operator.CONTAINS:
        return lambda value: first in value  # type: ignore[operator]  # typed by the loader
    members = frozenset(operands)
    if operator is Operator.NOT:
        return lambda value: value not in members
    return members.__contains__


def compiled(demand: Demand, parameters: Mapping[str, Value]) -> Test:
    """The test of a demand under `parameters`."""
    return test_of(demand.operator, tuple([filled(operand, parameters) for operand in demand.operands]))
