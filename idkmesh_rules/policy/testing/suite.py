"""The tests of a bundle as values: one base set of facts, and cases that change a little of it.

Invariants: every kind, field and value was held against the bundle's backend, every cause against the bundle; the facts of
the base can exist (no invariant of their kind is broken) and no two of them share a key.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from idkmesh_rules.model.bundle import Bundle, Demand, Mark
from idkmesh_rules.model.facts import FactKind, Unknown, Value
from idkmesh_rules.model.proof import Recommendation


class Numbered(NamedTuple):
    """A value that is another one in each repetition: a text with `{n}` in it, or the number n itself."""

    text: str
    number: bool

    def at(self, n: int) -> Value:
        """The value in repetition `n`, counted from 1."""
        return n if self.number else self.text.replace("{n}", str(n))


Given = Value | Unknown | Numbered


class Action(Enum):
    """What an edit does to the facts of its kind."""

    SET = "set"
    DROP = "drop"
    ADD = "add"
    UNKNOWN = "unknown"
    CRASH = "crash"


class Edit(NamedTuple):
    """One change of the base: `values` are by position of the field; `where` chooses the facts that are changed.

    `UNKNOWN` without values, and `CRASH`, leave the kind incomplete; `reason` says why. `ADD` adds `repeat` facts.
    """

    action: Action
    kind: FactKind
    mark: Mark
    where: tuple[Demand, ...] = ()
    values: tuple[tuple[int, Given], ...] = ()
    repeat: int = 1
    reason: str = "as the case says"


class Expectation(NamedTuple):
    """What a case has to come to: the recommendation, its causes as `validator/condition`, and what doesn't apply."""

    outcome: Recommendation
    causes: frozenset[str] = frozenset()
    not_applicable: frozenset[str] = frozenset()


class Case(NamedTuple):
    """A named case: the base with edits, decided with what it gives for parameters, held against an expectation."""

    name: str
    mark: Mark
    edits: tuple[Edit, ...]
    parameters: Mapping[str, Value]
    expected: Expectation


class BaseFact(NamedTuple):
    """A fact of the base: its values by position of the field, and where it stands."""

    values: tuple[Value | Unknown, ...]
    mark: Mark


class Suite(NamedTuple):
    """The tests of one bundle; `name` is how messages call the file."""

    bundle: Bundle
    name: str
    base: Mapping[str, tuple[BaseFact, ...]]
    cases: tuple[Case, ...]
