"""The truth tables of the leaves (design: facts-and-policy, *Truth tables*), and which facts decided.

Invariants: each function is one row of the design's table, tried from left to right; an incomplete kind never yields a
value that a missing fact could change.
"""

from collections.abc import Callable

from idkmesh_rules.model.bundle import Form, OnEmpty
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.scan import Scan

Verdict = tuple[Truth, list[int]]
Table = Callable[[Scan, bool], Verdict]
"""From a scan and whether the kind is complete to a value and the rows that decided it."""


def table_for(form: Form, on_empty: OnEmpty | None, at_least: int | None, at_most: int | None) -> Table:
    """The table of a leaf's form; `none` is `every` over a scan with its demand negated."""
    if form is Form.ONE:
        return _one
    if form is Form.SOME:
        return _some
    if form is Form.COUNT:
        return _count(at_least, at_most)
    return _every(on_empty or OnEmpty.INCONCLUSIVE)


def _every(on_empty: OnEmpty) -> Table:
    of_nothing = on_empty.truth
    of_perhaps = Truth.TRUE if on_empty is OnEmpty.PASS else Truth.UNKNOWN

    def every(seen: Scan, complete: bool) -> Verdict:
        if seen.violating:
            return Truth.FALSE, seen.violating
        if not complete or seen.undecided:
            return Truth.UNKNOWN, seen.undecided
        if seen.in_scope:
            return Truth.TRUE, []
        if seen.perhaps:
            return of_perhaps, [] if of_perhaps is Truth.TRUE else seen.perhaps
        return of_nothing, []

    return every


def _some(seen: Scan, complete: bool) -> Verdict:
    if seen.in_scope:
        return Truth.TRUE, seen.in_scope
    if not complete or seen.perhaps:
        return Truth.UNKNOWN, seen.perhaps
    return Truth.FALSE, []


def _one(seen: Scan, complete: bool) -> Verdict:
    if seen.violating:
        return Truth.FALSE, seen.violating
    if len(seen.in_scope) > 1:
        return Truth.FALSE, seen.in_scope
    if not complete or seen.perhaps or seen.undecided:
        return Truth.UNKNOWN, sorted({*seen.perhaps, *seen.undecided})
    return (Truth.TRUE if seen.in_scope else Truth.FALSE), seen.in_scope


def counted(lowest: int, highest: int, complete: bool, at_least: int | None, at_most: int | None) -> Truth:
    """`count` over so many facts that are certainly in scope, and so many that are at most."""
    if at_most is not None and lowest > at_most:
        return Truth.FALSE
    if at_least is not None and complete and highest < at_least:
        return Truth.FALSE
    enough = at_least is None or lowest >= at_least
    few = at_most is None or (complete and highest <= at_most)
    return Truth.TRUE if enough and few else Truth.UNKNOWN


def _count(at_least: int | None, at_most: int | None) -> Table:
    def count(seen: Scan, complete: bool) -> Verdict:
        lowest = len(seen.in_scope)
        value = counted(lowest, lowest + len(seen.perhaps), complete, at_least, at_most)
        if value is Truth.FALSE:
            return value, seen.in_scope if at_most is not None and lowest > at_most else []
        return value, [] if value is Truth.TRUE else seen.perhaps

    return count
