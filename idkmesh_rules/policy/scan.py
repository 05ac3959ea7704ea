"""What a leaf's `where` and `must` say of every fact of its kind, and the counts that the truth tables need.

Invariants: m is `where` and w is `must` on one fact, Kleene over the fields; each fact is looked at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from idkmesh_rules.model.bundle import Demand, Form, Leaf
from idkmesh_rules.model.facts import KindFacts, Row, Value
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.predicate import Test, compiled

_UNKNOWN, _TRUE, _FALSE = Truth.UNKNOWN, Truth.TRUE, Truth.FALSE
_NEGATED = {_TRUE: _FALSE, _FALSE: _TRUE, _UNKNOWN: _UNKNOWN}

Conjunction = Callable[[Row], Truth]


@dataclass(slots=True)
class Scan:
    """Rows by what was said of them: m=T, m=U, m=T ∧ w=F, and those that leave the leaf undecided."""

    in_scope: list[int] = field(default_factory=list)
    perhaps: list[int] = field(default_factory=list)
    violating: list[int] = field(default_factory=list)
    undecided: list[int] = field(default_factory=list)

    def note(self, index: int, m: Truth, w: Truth) -> None:
        """Note what `where` and `must` say of one more row."""
        if m is _FALSE:
            return
        if m is _TRUE:
            self.in_scope.append(index)
            if w is _FALSE:
                self.violating.append(index)
            elif w is _UNKNOWN:
                self.undecided.append(index)
        else:
            self.perhaps.append(index)
            if w is not _TRUE:
                self.undecided.append(index)


def negated(value: Truth) -> Truth:
    """What `none` makes of its description: `every` demands that it doesn't hold."""
    return _NEGATED[value]


class Part(NamedTuple):
    """The demands of a `where` or a `must`, compiled: name, position and test of each field."""

    tests: tuple[tuple[str, int, Test], ...]

    def judge(self, row: Row) -> Truth:
        """The conjunction on one row; true if nothing is demanded."""
        value = _TRUE
        for _name, position, test in self.tests:
            said = test(row[position])
            if said is _FALSE:
                return _FALSE
            if said is _UNKNOWN:
                value = _UNKNOWN
        return value

    def fields(self, row: Row, wanted: Truth) -> tuple[str, ...]:
        """The fields of which the conjunction has the value `wanted`."""
        return tuple([name for name, position, test in self.tests if test(row[position]) is wanted])


def part(leaf: Leaf, demands: tuple[Demand, ...], parameters: Mapping[str, Value]) -> Part:
    """Compile some demands of a leaf under `parameters`."""
    index = leaf.kind.index
    return Part(
        tuple([(demand.field.name, index[demand.field.name], compiled(demand, parameters)) for demand in demands])
    )


def scanner(form: Form, where: Part, must: Part) -> Callable[[KindFacts], Scan]:
    """Scan rows the long way. Under `none` the whole kind is in scope and `where` is what must not hold."""
    none = form is Form.NONE
    scope, demand = (Part(()), where) if none else (where, must)

    def scan(facts: KindFacts) -> Scan:
        seen = Scan()
        for index, row in enumerate(facts.rows):
            m = scope.judge(row)
            if m is not _FALSE:
                w = demand.judge(row)
                seen.note(index, m, _NEGATED[w] if none else w)
        return seen

    return scan
