"""The ways in which one condition can be made to hold, or not to hold, by changing facts of its kind.

Invariants: each way is one group, whatever the number of its facts; ways that change fields come before those that drop or
add facts; a way need not be right, since whoever takes it decides again.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from idkmesh_rules.audit.changes import Change, Group
from idkmesh_rules.audit.rows import Look, RowFinder
from idkmesh_rules.model.bundle import Form, OnEmpty
from idkmesh_rules.model.facts import KindFacts, Value
from idkmesh_rules.policy.predicate import filled
from idkmesh_rules.policy.scan import Scan, scanner

MOST_ADDED = 64
"""How many facts a way may add; nobody learns anything from more."""

_WITNESSES = 4


class Repairer:
    """Finds the ways for one leaf. `finder` is that of its kind; `look` is one of the finder's looks."""

    def __init__(self, look: Look, below_floor: bool, finder: RowFinder, parameters: Mapping[str, Value]) -> None:
        self._look, self._leaf, self._below_floor, self._finder = look, look.leaf, below_floor, finder
        self._scan = scanner(look.leaf.form, look.where, look.must)
        bounds = [filled(bound, parameters) for bound in (look.leaf.at_least, look.leaf.at_most)]
        self._least, self._most = (bound if isinstance(bound, int) else None for bound in bounds)

    def ways(self, facts: KindFacts, *, wanted: bool) -> tuple[Group, ...]:
        """The ways to make the leaf hold (`wanted`) or not hold, over the facts as they are."""
        case = _Case(self._look, self._finder, facts, self._scan(facts))
        plans = self._holding(case) if wanted else self._failing(case)
        found: dict[object, Group] = {}
        for plan in plans:
            if plan is not None and (plan.changes or plan.completes):
                completes = plan.completes and not facts.complete
                found.setdefault(
                    (plan.changes, completes), Group(self._leaf, self._below_floor, wanted, plan.changes, completes)
                )
        return tuple(found.values())

    def _holding(self, case: "_Case") -> "Iterator[_Plan | None]":
        match self._leaf.form:
            case Form.EVERY | Form.NONE:
                yield from self._every(case)
            case Form.ONE:
                yield from self._one(case)
            case Form.SOME:
                yield from case.witnesses("good", case.seen.perhaps)
            case _:
                yield from self._count(case)

    def _failing(self, case: "_Case") -> "Iterator[_Plan | None]":
        match self._leaf.form:
            case Form.EVERY | Form.NONE:
                yield from case.witnesses("bad", [*case.seen.in_scope, *case.seen.perhaps])
                if self._leaf.on_empty in (OnEmpty.FAIL, OnEmpty.NOT_APPLICABLE) and self._leaf.form is Form.EVERY:
                    yield from self._without(case, [*case.seen.in_scope, *case.seen.perhaps])
            case Form.ONE:
                yield from case.witnesses("bad", [*case.seen.in_scope, *case.seen.perhaps])
                yield from self._without(case, [*case.seen.in_scope, *case.seen.perhaps])
            case Form.SOME:
                yield from self._without(case, [*case.seen.in_scope, *case.seen.perhaps])
            case _:
                yield from self._miscount(case)

    def _every(self, case: "_Case") -> "Iterator[_Plan | None]":
        seen = case.seen
        troubled = sorted({*seen.violating, *seen.undecided})
        may_be_empty = self._leaf.on_empty in (OnEmpty.PASS, OnEmpty.NOT_APPLICABLE)
        held = any(index not in troubled for index in seen.in_scope)
        mended = False
        for target in ("good", "out", "drop") if troubled else ("good",):
            plan = case.moved(troubled, target)
            if plan is None:
                continue
            # Facts that can be mended needn't be dropped for new ones.
            mended = mended or (target == "good" and plan.changed)
            if held or may_be_empty or (target == "good" and any(change.after is not None for change in plan.changes)):
                yield plan._replace(completes=True)
            idle = may_be_empty and (troubled or not case.facts.complete)
            if not held and not plan.changed and not idle:
                perhaps = [index for index in seen.perhaps if index not in troubled]
                for witness in case.witnesses("good", perhaps, new=not mended):
                    yield witness.after(plan)._replace(completes=True)

    def _one(self, case: "_Case") -> "Iterator[_Plan | None]":
        seen = case.seen
        scoped = [*seen.in_scope, *seen.perhaps]
        wrong = {*seen.violating, *seen.undecided, *seen.perhaps}
        if not scoped:
            for witness in case.witnesses("good", ()):
                yield witness._replace(completes=True)
            return
        for kept in sorted(scoped, key=lambda index: index in wrong)[:_WITNESSES]:
            others = [index for index in scoped if index != kept]
            mended = case.moved([kept] if kept in wrong else [], "good")
            for target in ("out", "drop") if others else ("out",):
                rest = case.moved(others, target)
                if mended is None or rest is None:
                    continue
                plan = rest.after(mended)._replace(completes=True)
                if kept not in wrong or mended.changed:
                    yield plan
                else:
                    for witness in case.witnesses("good", ()):
                        yield witness.after(plan)

    def _count(self, case: "_Case") -> "Iterator[_Plan | None]":
        seen, fewest, highest = case.seen, self._least or 0, self._most
        if len(seen.in_scope) < fewest:
            for raised in self._raised(case, fewest - len(seen.in_scope)):
                used = {change.before for change in raised.changes}
                rest = [index for index in seen.perhaps if case.facts.rows[index] not in used]
                yield from self._lowered(case, rest, len(rest) if highest is not None else 0, raised)
        elif highest is not None:
            surplus = max(0, len(seen.in_scope) - highest)
            room = max(0, highest - len(seen.in_scope))
            unsure = seen.perhaps[room:]
            chosen = [*unsure, *seen.in_scope[len(seen.in_scope) - surplus :]]
            yield from self._lowered(case, chosen, len(chosen), _Plan(()))
        else:
            yield _Plan((), True)

    def _miscount(self, case: "_Case") -> "Iterator[_Plan | None]":
        seen = case.seen
        if self._most is not None:
            yield from self._raised(case, self._most + 1 - len(seen.in_scope))
        if self._least is not None and self._least > 0:
            scoped = [*seen.perhaps, *reversed(seen.in_scope)]
            yield from self._without(case, scoped[: max(0, len(scoped) - self._least + 1)])

    def _raised(self, case: "_Case", more: int) -> "Iterator[_Plan]":
        """`more` further facts in scope: those that may be, then others, then new ones."""
        free = [*case.seen.perhaps, *case.outside]
        for sources in (free, ()) if free else ((),):
            plan = _Plan(())
            for index in sources:
                if len(plan.changes) == more:
                    break
                moved = case.moved([index], "good", or_drop=False)
                plan = moved.after(plan) if moved is not None else plan
            while len(plan.changes) < more <= MOST_ADDED:
                added = case.added("good", plan)
                if added is None:
                    break
                plan = added.after(plan)
            if len(plan.changes) == more:
                yield plan

    def _lowered(self, case: "_Case", chosen: Iterable[int], count: int, before: "_Plan") -> "Iterator[_Plan | None]":
        for target in ("out", "drop") if count else ("out",):
            plan = case.moved(list(chosen)[:count], target)
            yield None if plan is None else plan.after(before)._replace(completes=self._most is not None)

    def _without(self, case: "_Case", indices: Iterable[int]) -> "Iterator[_Plan | None]":
        for target in ("out", "drop"):
            plan = case.moved(list(indices), target)
            yield None if plan is None else plan._replace(completes=True)


class _Plan(NamedTuple):
    """Changes under way, and whether the kind has to be complete."""

    changes: tuple[Change, ...]
    completes: bool = False

    @property
    def changed(self) -> bool:
        """Whether some fact is there with other fields."""
        return any(change.after is not None for change in self.changes)

    def after(self, before: "_Plan") -> "_Plan":
        return _Plan(before.changes + self.changes, before.completes or self.completes)


class _Case:
    """The facts of one kind as one leaf sees them, and what can be done with them."""

    def __init__(self, look: Look, finder: RowFinder, facts: KindFacts, seen: Scan) -> None:
        self._look, self._finder, self.facts, self.seen = look, finder, facts, seen

    @property
    def outside(self) -> list[int]:
        """The facts that aren't in scope."""
        scoped = {*self.seen.in_scope, *self.seen.perhaps}
        return [index for index in range(len(self.facts.rows)) if index not in scoped]

    def moved(self, indices: Iterable[int], target: str, *, or_drop: bool = True) -> _Plan | None:
        """Each of the facts changed so that it is `good`, `bad` or `out`, or dropped where that is the target.

        What can't be changed so is dropped, too, if that is allowed; else there is no plan.
        """
        changes = []
        for index in indices:
            row = self.facts.rows[index]
            new = None if target == "drop" else self._finder.nearest(row, self._look, target)
            if new is None and not or_drop:
                return None
            changes.append(Change(self.facts.kind, row, new))
        return _Plan(tuple(changes))

    def witnesses(self, target: str, first: Iterable[int], *, new: bool = True) -> Iterator[_Plan]:
        """One fact of which the leaf says `target`: one of `first`, another one, or (with `new`) a new one."""
        tried = list(dict.fromkeys([*first, *self.outside]))[:_WITNESSES]
        for index in tried:
            plan = self.moved([index], target, or_drop=False)
            if plan is not None:
                yield plan
        added = self.added(target, _Plan(())) if new else None
        if added is not None:
            yield added

    def added(self, target: str, beside: _Plan) -> _Plan | None:
        """A new fact of which the leaf says `target`, with another key than all facts and those of the plan `beside`."""
        news = [change.after for change in beside.changes if change.before is None and change.after is not None]
        row = self._finder.fresh(self._look, target, (*self.facts.rows, *news))
        return None if row is None else _Plan((Change(self.facts.kind, None, row),))
