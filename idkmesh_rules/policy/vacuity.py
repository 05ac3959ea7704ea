"""Rules that only look like rules: what can't be true, can't be false, or says nothing that its neighbours don't say.

Invariants: a mistake is reported only where it is certain for every fact set that satisfies the kinds' declared
invariants (design: facts-and-policy, *Rule bundle language v1*); parameters count with their defaults where a
condition is judged alone, and what mentions one is never called superfluous, because a plan may set it.
"""

from collections.abc import Mapping

from idkmesh_rules.model.bundle import Bundle, Demand, Form, Leaf, Mark, OnEmpty, ParameterRef
from idkmesh_rules.model.facts import FieldType, Value
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.abstract import (
    AbstractRow,
    Atom,
    Conjunction,
    TooManyRows,
    Unknowns,
    atoms,
    linked_fields,
    rows,
)
from idkmesh_rules.policy.neighbours import check_neighbours
from idkmesh_rules.policy.predicate import filled
from idkmesh_rules.policy.problems import Problems

_TRUE, _FALSE = Truth.TRUE, Truth.FALSE


def check_meaning(bundle: Bundle, problems: Problems) -> None:
    """Report conditions, demands and conjuncts of a checked bundle that mean nothing."""
    defaults = {name: parameter.default for name, parameter in bundle.parameters.items()}
    for leaf in bundle.conditions.values():
        if isinstance(leaf, Leaf):
            _Alone(leaf, defaults, problems).check()
    if problems:
        return
    check_neighbours(bundle, problems)


class _Alone:
    """One leaf by itself, over known facts."""

    def __init__(self, leaf: Leaf, defaults: Mapping[str, Value], problems: Problems) -> None:
        self._leaf = leaf
        self._defaults = defaults
        self._problems = problems
        self._mark = leaf.mark or Mark(1, 1)
        self._where = atoms(leaf.where, defaults)
        self._must = atoms(leaf.must, defaults)

    def check(self) -> None:
        before = len(self._problems)
        for demand in self._leaf.demands:
            self._check_demand(demand)
        if len(self._problems) > before:
            return
        try:
            # One demand that can be met and can fail makes a leaf that can, too; only several can be at odds.
            if len(self._leaf.demands) != 1:
                self._check_leaf(rows(self._leaf.kind, self._where + self._must, unknowns=Unknowns.NONE))
            elif self._leaf.form is Form.COUNT:
                self._check_bounds(possible=True)
            for part, demands in ((self._where, self._leaf.where), (self._must, self._leaf.must)):
                self._check_conjuncts(part, demands)
        except TooManyRows:
            return  # nothing can be said for certain

    def _check_demand(self, demand: Demand) -> None:
        values = {FieldType.BOOL: 2, FieldType.ENUM: len(demand.field.values)}.get(demand.field.type)
        if values is None or len(demand.operands) < values:
            return  # there is always a value that meets such a demand, and one that doesn't
        own = atoms((demand,), self._defaults)
        truths = {row.truths[own[0]] for row in rows(self._leaf.kind, own, unknowns=Unknowns.NONE)}
        mark, name, kind = demand.mark or self._mark, demand.field.name, self._leaf.kind.name
        if _TRUE not in truths:
            self._problems.add(mark, f"no {kind} can meet this demand of {name}", "change the demand")
        elif _FALSE not in truths:
            self._problems.add(mark, f"every {kind} meets this demand of {name}", "remove the demand, or change it")

    def _check_leaf(self, facts: list[AbstractRow]) -> None:
        leaf = self._leaf
        scoped = [row for row in facts if row.conjunction(self._where) is _TRUE]
        met = [row for row in scoped if row.conjunction(self._must) is _TRUE]
        match leaf.form:
            case Form.COUNT:
                self._check_bounds(possible=bool(scoped))
                return
            case Form.NONE:
                holds, fails = len(scoped) < len(facts), bool(scoped)
            case Form.EVERY:
                holds, fails = bool(met), len(met) < len(scoped)
            case _:
                holds, fails = bool(met), True
        never = f"no {leaf.kind.name} can meet where" + (" and must together" if leaf.must and scoped else "")
        always = (
            f"every {leaf.kind.name} meets where"
            if leaf.form is Form.NONE
            else f"every {leaf.kind.name} in scope meets must"
        )
        if not holds and leaf.on_empty is not OnEmpty.PASS:
            self._report(False, always if leaf.form is Form.NONE else never)
        elif not fails and leaf.on_empty is not OnEmpty.FAIL:
            self._report(True, always if scoped else never)

    def _check_bounds(self, *, possible: bool) -> None:
        leaf = self._leaf
        least, most = (filled(bound, self._defaults) for bound in (leaf.at_least, leaf.at_most))
        fewest = least if isinstance(least, int) else 0
        highest = most if isinstance(most, int) else None
        if highest is not None and highest < max(fewest, 0):
            self._report(False, f"no number is at least {max(fewest, 0)} and at most {highest}")
        elif fewest <= 0 and highest is None:
            self._report(True, f"every number is at least {fewest}")
        elif not possible:
            self._report(fewest <= 0, f"no {leaf.kind.name} can meet where")

    def _report(self, value: bool, why: str) -> None:
        self._problems.add(
            self._mark,
            f"{self._leaf.name} can't be {'false' if value else 'true'}: {why}",
            "change its demands, or remove it",
        )

    def _check_conjuncts(self, part: Conjunction, demands: tuple[Demand, ...]) -> None:
        """A demand is superfluous if its conjunction has the same value without it on all facts, unknown fields too."""
        context = self._where if part is self._must and self._leaf.form is not Form.NONE else ()
        suspects = [each for each in zip(part, demands, strict=True) if self._may_follow(*each, part, context)]
        if not suspects:
            return
        facts = rows(self._leaf.kind, (*context, *part), unknowns=Unknowns.ANY)
        facts = [row for row in facts if row.conjunction(context) is not _FALSE]
        for own, demand in suspects:
            others = tuple([atom for atom in part if atom is not own])
            if all(row.conjunction(part) is row.conjunction(others) for row in facts):
                message = f"this demand of {demand.field.name} follows from the others"
                self._problems.add(demand.mark or self._mark, message, "remove it")

    def _may_follow(self, own: Atom, demand: Demand, part: Conjunction, context: Conjunction) -> bool:
        """Whether an invariant or a common field ties a demand to others, so that it is worth a closer look."""
        if len(part) < 2 or ParameterRef in map(type, demand.operands):
            return False
        tied = linked_fields(self._leaf.kind, (own.field,), ())
        return any(other.field in tied for other in part + context if other is not own)
