"""From a suite's base and a case's edits to the fact store that the case is decided on.

Invariants: edits are made in their order; one that touches no fact, or changes nothing, is a mistake; so is a fact that
can't exist, or a second one with a key that is there (design: facts-and-policy, *Bundle tests*).
"""

from collections.abc import Mapping

from idkmesh_rules.errors import PolicyError, Problem
from idkmesh_rules.model.facts import FactKind, FactStore, KindFacts, Origin, Row, Unknown, Value
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.predicate import compiled
from idkmesh_rules.policy.scan import Part
from idkmesh_rules.policy.testing.fields import broken_invariant
from idkmesh_rules.policy.testing.suite import Action, Case, Edit, Numbered, Suite

Key = tuple[Value | Unknown, ...]


class _Facts:
    """The facts of one kind while edits are made: rows by key, with the line that each comes from."""

    def __init__(self, kind: FactKind) -> None:
        self.kind = kind
        self.rows: dict[Key, tuple[Row, int]] = {}
        self.incomplete: str | None = None
        self.crashed = False

    def copy(self) -> "_Facts":
        twin = _Facts(self.kind)
        twin.rows = dict(self.rows)
        return twin

    def put(self, row: Row, line: int) -> bool:
        """Add a fact; False if one with its key is there."""
        key = tuple([row[position] for position in self.kind.key_positions])
        return self.rows.setdefault(key, (row, line))[0] is row

    def freeze(self, name: str) -> KindFacts:
        ordered = sorted(self.rows.items(), key=lambda item: [(type(part).__name__, part) for part in item[0]])
        return KindFacts(
            self.kind,
            tuple([row for _key, (row, _line) in ordered]),
            tuple([(Origin("test", name, line=line),) for _key, (_row, line) in ordered]),
            self.incomplete is None,
            self.incomplete,
            self.crashed,
        )


class Stage:
    """A suite's base, from which the store of each case is made."""

    def __init__(self, suite: Suite, kinds: Mapping[str, FactKind]) -> None:
        self._name = suite.name
        self._base = {name: _Facts(kinds[name]) for name in sorted(kinds)}
        for name, facts in suite.base.items():
            for fact in facts:
                self._base[name].put(fact.values, fact.mark.line)
        self._frozen = {name: facts.freeze(suite.name) for name, facts in self._base.items()}

    def store(self, case: Case) -> FactStore:
        """The facts of a case; raises `PolicyError` for an edit that can't be made or makes nothing."""
        changed: dict[str, _Facts] = {}
        for edit in case.edits:
            facts = changed.setdefault(edit.kind.name, self._base[edit.kind.name].copy())
            wrong = _APPLY[edit.action](facts, edit)
            if wrong is not None:
                message = f"in {case.name}: {wrong}"
                raise PolicyError((Problem(message, self._name, line=edit.mark.line, column=edit.mark.column),))
        return FactStore({**self._frozen, **{name: facts.freeze(self._name) for name, facts in changed.items()}})


def _chosen(facts: _Facts, edit: Edit) -> list[tuple[Key, Row]]:
    index = facts.kind.index
    where = Part(tuple([(each.field.name, index[each.field.name], compiled(each, {})) for each in edit.where]))
    return [(key, row) for key, (row, _line) in facts.rows.items() if where.judge(row) is Truth.TRUE]


def _set(facts: _Facts, edit: Edit) -> str | None:
    return _rewrite(facts, edit, dict(edit.values))


def _unknown(facts: _Facts, edit: Edit) -> str | None:
    if not edit.values:
        facts.incomplete = edit.reason
        return None
    return _rewrite(facts, edit, {position: Unknown(edit.reason) for position, _value in edit.values})


def _rewrite(facts: _Facts, edit: Edit, values: Mapping[int, object]) -> str | None:
    chosen = _chosen(facts, edit)
    if not chosen:
        return f"no {facts.kind.name} is there to change"
    after = {key: tuple([values.get(position, value) for position, value in enumerate(row)]) for key, row in chosen}
    if all(after[key] == row for key, row in chosen):
        return f"this changes nothing: {facts.kind.name} is so already"
    lines = dict.fromkeys(after, edit.mark.line)
    for key in after:
        del facts.rows[key]
    return _put(facts, [(row, lines[key]) for key, row in after.items()])  # type: ignore[misc]  # typed when read


def _drop(facts: _Facts, edit: Edit) -> str | None:
    chosen = _chosen(facts, edit)
    for key, _row in chosen:
        del facts.rows[key]
    return None if chosen else f"no {facts.kind.name} is there to drop"


def _add(facts: _Facts, edit: Edit) -> str | None:
    rows = []
    for n in range(1, edit.repeat + 1):
        row = tuple([value.at(n) if isinstance(value, Numbered) else value for _position, value in edit.values])
        rows.append((row, edit.mark.line))
    return _put(facts, rows)


def _crash(facts: _Facts, edit: Edit) -> str | None:
    facts.incomplete, facts.crashed = "error: the check crashed, as the case says", True
    return None


def _put(facts: _Facts, rows: list[tuple[Row, int]]) -> str | None:
    for row, line in rows:
        law = broken_invariant(facts.kind, row)
        if law is not None:
            return f"no such {facts.kind.name} can exist: {law}"
        if not facts.put(row, line):
            keys = ", ".join(facts.kind.fields[position].name for position in facts.kind.key_positions)
            return (
                f"a {facts.kind.name} with this key ({keys}) is there already"
                if keys
                else f"there is at most one {facts.kind.name}"
            )
    return None


_APPLY = {Action.SET: _set, Action.DROP: _drop, Action.ADD: _add, Action.UNKNOWN: _unknown, Action.CRASH: _crash}
