"""Facts, their declared kinds, and the frozen store that rules read (design: facts-and-policy, *Facts*).

Invariants:
- A fact's values are a tuple in the order of its kind's fields; each is a value of the declared type, None (an optional
  field that is known to be absent) or `Unknown` (with a reason; never in a key field).
- Two facts of one kind never share a key in a store: equal ones were united, differing fields became unknown.
- A kind is complete only if some check earned it: each key that it was asked to judge is there.
- A store's order is by kind name, then by key, and so doesn't depend on the order in which checks ran.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple


class FieldType(Enum):
    """What a field may hold. A digest is the text `sha256:` and 64 hexadecimal digits."""

    BOOL = "bool"
    INT = "int"
    STRING = "string"
    ENUM = "enum"
    DIGEST = "digest"


class Severity(Enum):
    """How grave a finding is; the spelling is that of VerificationResult 0.1."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Category(Enum):
    """What a finding is about; the spelling is that of VerificationResult 0.1."""

    CORRECTNESS = "correctness"
    REGRESSION = "regression"
    SECURITY = "security"
    PERFORMANCE = "performance"
    MAINTAINABILITY = "maintainability"
    SCOPE = "scope"
    PROVENANCE = "provenance"
    POLICY = "policy"
    OTHER = "other"


class Unknown(NamedTuple):
    """A value that could not be observed, with the reason why not."""

    reason: str


Value = bool | int | str | None
"""What a known field holds; None stands for an optional field that is known to be absent."""


class Field(NamedTuple):
    """One typed field of a fact kind. `values` lists what an enum may be; a key field is never unknown or absent.

    `secret` marks a verifier's expectation: under a hidden plan its value is masked in whatever is made to be shown, but
    for facts whose kind says that the candidate shows it by itself.
    """

    name: str
    type: FieldType
    meaning: str = ""
    optional: bool = False
    key: bool = False
    values: tuple[str, ...] = ()
    secret: bool = False
    supplied: bool = False


class FindingTemplate(NamedTuple):
    """How a violating fact is told to a person: `summary` and `path` take `{field}` placeholders of the kind.

    `line` names the field that holds a line number, where the kind has one.
    """

    severity: Severity
    category: Category
    summary: str
    path: str | None = None
    line: str | None = None


class Invariant(NamedTuple):
    """A law between known fields of one fact, e.g. authorized = allowed ∧ writable ∧ ¬forbidden ∧ ¬reserved.

    `holds` takes the values of `fields`, in that order, all known (None for an absent one).
    """

    text: str
    fields: tuple[str, ...]
    holds: Callable[..., bool]


@dataclass(frozen=True)
class FactKind:
    """A declared kind of fact: what it says, its fields, how a violation is told, and its invariants.

    A kind without key fields is a singleton: at most one fact of it can stand in a store. `shown_when` names a field, and
    the values with which the candidate shows by itself what secret fields hold.
    """

    name: str
    meaning: str
    fields: tuple[Field, ...]
    finding: FindingTemplate
    invariants: tuple[Invariant, ...] = ()
    shown_when: tuple[str, tuple[Value, ...]] | None = None

    def shows(self, row: "Row") -> bool:
        """Whether the candidate itself shows what the secret fields of this fact hold."""
        if self.shown_when is None:
            return False
        field, values = self.shown_when
        return row[self.index[field]] in values

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Field name → position in a fact's values."""
        return {declared.name: position for position, declared in enumerate(self.fields)}

    @cached_property
    def key_positions(self) -> tuple[int, ...]:
        """Positions of the key fields, in declared order; empty for a singleton."""
        return tuple(position for position, declared in enumerate(self.fields) if declared.key)

    @property
    def singleton(self) -> bool:
        """Whether the kind has no key, so that at most one fact of it exists."""
        return not self.key_positions


class Origin(NamedTuple):
    """Who saw a fact and where: the check's id, the locator of the file or document, and a line or a JSON pointer."""

    check: str
    locator: str
    line: int | None = None
    pointer: str | None = None


Row = tuple[Value | Unknown, ...]


def key_order(key: tuple[Value, ...]) -> tuple[tuple[str, Value], ...]:
    """What rows are sorted by: their key, whatever the types of its parts are."""
    return tuple([(type(part).__name__, part) for part in key])


def origin_order(origin: Origin) -> tuple[str, str, int, str]:
    """What the origins of one fact are sorted by."""
    return (origin.check, origin.locator, origin.line or 0, origin.pointer or "")


@dataclass(frozen=True)
class KindFacts:
    """All facts of one kind: rows by key, one tuple of origins a row, and whether the closed world was earned.

    `reason` says why an incomplete kind is so; `crashed` is true if that is because the check that emits it crashed.
    """

    kind: FactKind
    rows: tuple[Row, ...] = ()
    origins: tuple[tuple[Origin, ...], ...] = ()
    complete: bool = False
    reason: str | None = None
    crashed: bool = False

    @cached_property
    def has_unknowns(self) -> bool:
        """Whether any field of any row is unknown."""
        return any(type(value) is Unknown for row in self.rows for value in row)


@dataclass(frozen=True, slots=True)
class FactStore:
    """The frozen store: kind name → its facts, in name order. Every kind of the backend is present, if only empty."""

    kinds: Mapping[str, KindFacts]

    def __getitem__(self, name: str) -> KindFacts:
        """Return the facts of the kind `name`; raises KeyError when the backend has no such kind."""
        return self.kinds[name]

    def __iter__(self) -> Iterator[KindFacts]:
        """Iterate over the kinds in name order."""
        return iter(self.kinds.values())
