"""`where` and `must`: a conjunction of demands, one a field (design: facts-and-policy, *Rule bundle language v1*).

Invariants: every demand names a field of the kind and an operator that the field's type has; an empty conjunction is
refused, because it would demand nothing and look like a rule.
"""

from idkmesh_rules.model.bundle import Demand, Mark, Operand, Operator
from idkmesh_rules.model.facts import FactKind, Field
from idkmesh_rules.policy import schema
from idkmesh_rules.policy.operands import NEEDS_TYPE, OperandReader
from idkmesh_rules.policy.problems import Problems, shown, suggest
from idkmesh_rules.policy.yaml_reader import Mapping, Node, Scalar, Sequence

_OPERATORS = {operator.value: operator for operator in Operator}
_TAKES_LIST = frozenset({Operator.IN, Operator.NOT, Operator.GLOB})


class DemandReader:
    """Reads the demands of one bundle."""

    def __init__(self, problems: Problems, operands: OperandReader) -> None:
        self._problems = problems
        self._operands = operands

    def conjunction(self, node: Node, kind: FactKind, part: str) -> tuple[Demand, ...] | None:
        """The demands of a `where` or a `must` (`part`); None if a mistake was reported."""
        entries = schema.mapping(node, self._problems, f"fields of {kind.name} and what {part} asks of them")
        if entries is None:
            return None
        demands = [self._entry(key, value, kind) for key, value in entries.entries]
        good = tuple(demand for demand in demands if demand is not None)
        return good if len(good) == len(demands) else None

    def _entry(self, key: Scalar, node: Node, kind: FactKind) -> Demand | None:
        position = kind.index.get(key.text)
        if position is None:
            self._problems.add(key.mark, f"{kind.name} has no field {shown(key.text)}", suggest(key.text, kind.index))
            return None
        return self._demand(node, kind.fields[position], key.mark)

    def _demand(self, node: Node, declared: Field, mark: Mark) -> Demand | None:
        if isinstance(node, Sequence):
            self._problems.add(node.mark, f"a list is no demand of {declared.name}", "write {in: [...]}")
            return None
        if not isinstance(node, Mapping) or "parameter" in [key.text for key, _value in node.entries]:
            value = self._operands.read(node, declared, Operator.IN)
            return None if value is None else Demand(declared, Operator.IN, (value,), mark)
        if len(node.entries) != 1:
            self._problems.add(
                node.mark,
                f"expected one demand of {declared.name}, found {len(node.entries)}",
                "a field is demanded once in a conjunction; make a second condition for the other demand",
            )
            return None
        key, operand = node.entries[0]
        operator = _OPERATORS.get(key.text)
        if operator is None:
            self._problems.add(key.mark, f"there is no demand {shown(key.text)}", suggest(key.text, _OPERATORS))
            return None
        needed = NEEDS_TYPE.get(operator)
        if needed is not None and declared.type is not needed:
            self._problems.add(
                key.mark,
                f"{operator.value} is for fields of type {needed.value}; "
                f"{declared.name} is of type {declared.type.value}",
            )
            return None
        operands = self._operand_list(operand, declared, operator)
        return None if operands is None else Demand(declared, operator, operands, mark)

    def _operand_list(self, node: Node, declared: Field, operator: Operator) -> tuple[Operand, ...] | None:
        takes_one = operator not in _TAKES_LIST or (operator is Operator.NOT and not isinstance(node, Sequence))
        if takes_one:
            value = self._operands.read(node, declared, operator)
            return None if value is None else (value,)
        items = schema.sequence(node, self._problems, f"a list of values for {operator.value}")
        if items is None:
            return None
        values = [self._operands.read(item, declared, operator) for item in items.items]
        if any(value is None for value in values):
            return None
        for position, value in enumerate(values):
            if value in values[:position]:
                self._problems.add(items.items[position].mark, "this value stands twice in the list", "remove it")
                return None
        return tuple(values)
