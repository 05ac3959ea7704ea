"""Run checks over a case and freeze what they emit into a fact store.

Invariants:
- A crash stays inside its check: the kinds of the check are incomplete with reason `error`, and the crash is reported.
- A kind is complete only if every check that emits it ran, judged each key that it was asked to judge, and could look.
- The store doesn't depend on the order of the checks: rows are sorted by key, origins by content.
"""

import traceback
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from idkmesh_rules.checks.check import AnyCheck, Case, Emission, Key, Unjudged
from idkmesh_rules.model.evaluation import CheckCrash
from idkmesh_rules.model.facts import FactKind, FactStore, KindFacts, Origin, Row, Unknown, key_order, origin_order


class _KindUnderWay:
    """The facts of one kind while checks run: append-only, merged by key."""

    def __init__(self, kind: FactKind) -> None:
        self.kind = kind
        self.key_of: Callable[[Row], Key] = _key_getter(kind.key_positions)
        self.rows: dict[Key, Row] = {}
        self.origins: dict[Key, Origin | set[Origin]] = {}
        self.gaps: list[str] = []
        self.crashed = False

    def add(self, row: Row, origin: Origin) -> Key:
        key = self.key_of(row)
        present = self.rows.setdefault(key, row)
        if present is row and key not in self.origins:
            # Almost every fact is seen once, and a set for each would cost more than all else here.
            self.origins[key] = origin
            return key
        found = self.origins[key]
        self.origins[key] = {*found, origin} if isinstance(found, set) else {found, origin}
        if present != row or tuple(map(type, present)) != tuple(map(type, row)):
            self.rows[key] = tuple(
                mine if type(mine) is type(other) and mine == other else Unknown("conflict: two observations differ")
                for mine, other in zip(present, row, strict=True)
            )
        return key

    def freeze(self) -> KindFacts:
        ordered = _in_order(self.rows)
        return KindFacts(
            self.kind,
            tuple([self.rows[key] for key in ordered]),
            tuple([self._origins(self.origins[key]) for key in ordered]),
            complete=not self.gaps,
            reason="; ".join(sorted(set(self.gaps))) or None,
            crashed=self.crashed,
        )

    def _origins(self, found: Origin | set[Origin]) -> tuple[Origin, ...]:
        return tuple(sorted(found, key=origin_order)) if isinstance(found, set) else (found,)


def _key_getter(positions: tuple[int, ...]) -> Callable[[Row], Key]:
    """A key is never unknown; the getters are those that are fastest for so many fields."""
    if len(positions) > 1:
        return itemgetter(*positions)
    if not positions:
        return lambda _row: ()
    (only,) = positions
    return lambda row: (row[only],)  # type: ignore[return-value]  # a key is known


def _in_order(rows: Iterable[Key]) -> list[Key]:
    """Keys by their fields; a field has one type, but for a check that breaks its word, and then types come first."""
    try:
        return sorted(rows)
    except TypeError:
        return sorted(rows, key=key_order)


def collect(checks: Sequence[AnyCheck], case: Case) -> tuple[FactStore, tuple[CheckCrash, ...]]:
    """Run all checks and return the frozen store and the crashes, in the order of the checks. Raises nothing of theirs."""
    kinds: dict[str, _KindUnderWay] = {}
    crashes: list[CheckCrash] = []
    for check in checks:
        under_way = [kinds.setdefault(kind.name, _KindUnderWay(kind)) for kind in check.kinds]
        try:
            _run(check, case, kinds)
        except Exception as error:
            # Any exception here is a bug in the check; swallowing it into the verdict is right only because it is
            # reported as a crash and leaves the kinds incomplete, so that nothing passes because of it.
            crashes.append(CheckCrash(check.id, f"{type(error).__name__}: {error}", traceback.format_exc()))
            for kind in under_way:
                kind.gaps.append(f"error: the check {check.id} crashed")
                kind.crashed = True
    return FactStore({name: kinds[name].freeze() for name in sorted(kinds)}), tuple(crashes)


def _run(check: AnyCheck, case: Case, kinds: dict[str, _KindUnderWay]) -> None:
    judged: dict[str, list[Key]] = {kind.name: [] for kind in check.kinds}
    takers = {kind.name: (judged[kind.name].append, kinds[kind.name].add) for kind in check.kinds}
    emissions: Iterable[Emission] = check.run(case)
    for kind, row, origin in emissions:
        note, add = takers[kind.name]
        note(add(row, origin))
    asked = check.asked(case)
    for kind in check.kinds:
        keys = asked[kind.name]
        if isinstance(keys, Unjudged):
            kinds[kind.name].gaps.append(keys.reason)
        elif missing := keys.difference(judged[kind.name]):
            kinds[kind.name].gaps.append(f"{len(missing)} of {len(keys)} subjects of {check.id} were not judged")
