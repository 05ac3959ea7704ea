"""A rule bundle as a value: conditions over fact kinds, validators that demand them, parameters, and a backend's floor.

Invariants:
- Whatever is in a `Bundle` was resolved and type-checked: names exist, operands have the type of their field, there
  is no cycle, and no leaf that can be not applicable stands under `any` (design: facts-and-policy, *Rule bundle
  language v1*).
- Every part keeps its mark, so that a proof tree can name the line to blame. A floor is code and has no marks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from idkmesh_rules.model.facts import FactKind, Field, FieldType, FindingTemplate, Value
from idkmesh_rules.model.truth import Truth

BACKENDS = ("unified_diff", "workspace", "exact_json", "sandboxed_equality")
"""The backends that a bundle may be written for."""


class Mark(NamedTuple):
    """A place in bundle.yaml: line and column, both from 1, in characters."""

    line: int
    column: int


class Form(Enum):
    """What shape a condition has; a proof node carries it. `VALIDATOR` is a conjunction that a plan can require."""

    ONE = "one"
    EVERY = "every"
    SOME = "some"
    NONE = "none"
    COUNT = "count"
    ALL = "all"
    ANY = "any"
    VALIDATOR = "validator"


class Operator(Enum):
    """What a demand asks of a field. A bare literal is `IN` with one operand."""

    IN = "in"
    NOT = "not"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    GLOB = "glob"
    CONTAINS = "contains"


class OnEmpty(Enum):
    """What `every` and `none` say of an empty scope: a decision that the bundle's owner takes."""

    INCONCLUSIVE = "inconclusive"
    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"

    @property
    def truth(self) -> Truth:
        """The truth value that an empty scope gets."""
        return {OnEmpty.PASS: Truth.TRUE, OnEmpty.FAIL: Truth.FALSE, OnEmpty.NOT_APPLICABLE: Truth.NOT_APPLICABLE}.get(
            self, Truth.UNKNOWN
        )


class ParameterType(Enum):
    """What a parameter holds, and the field types that it can be compared with."""

    INTEGER = "integer"
    STRING = "string"
    BOOLEAN = "boolean"

    def fits(self, field_type: FieldType) -> bool:
        """Whether a parameter of this type may stand where a value of `field_type` is expected."""
        texts = (FieldType.STRING, FieldType.ENUM, FieldType.DIGEST)
        return field_type in {ParameterType.INTEGER: (FieldType.INT,), ParameterType.BOOLEAN: (FieldType.BOOL,)}.get(
            self, texts
        )


class Parameter(NamedTuple):
    """A declared parameter: what a plan may set, and what holds if it doesn't."""

    name: str
    type: ParameterType
    default: Value
    mark: Mark


class ParameterRef(NamedTuple):
    """An operand that stands for a parameter's value."""

    name: str


Operand = Value | ParameterRef
"""A literal, or the parameter that will hold one."""


class Demand(NamedTuple):
    """What is asked of one field; an absent optional field meets none but `NOT`."""

    field: Field
    operator: Operator
    operands: tuple[Operand, ...]
    mark: Mark | None = None


class Leaf(NamedTuple):
    """A condition over one kind: `where` chooses the scope, `must` is demanded of what is in it (`one` and `every`
    only).

    `finding` is how a violating fact is told: the leaf's own template, else its kind's.
    """

    name: str
    form: Form
    kind: FactKind
    where: tuple[Demand, ...] = ()
    must: tuple[Demand, ...] = ()
    on_empty: OnEmpty | None = None
    at_least: Operand = None
    at_most: Operand = None
    finding: FindingTemplate | None = None
    mark: Mark | None = None

    @property
    def demands(self) -> tuple[Demand, ...]:
        """All demands, the scope's first."""
        return self.where + self.must


class Combination(NamedTuple):
    """A condition that combines named conditions: `all` or `any`."""

    name: str
    form: Form
    children: tuple[str, ...]
    mark: Mark | None = None


Condition = Leaf | Combination


class Validator(NamedTuple):
    """A named conjunction of conditions that a WorkUnit or a plan can require."""

    id: str
    children: tuple[str, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Bundle:
    """A checked rule bundle; `digest` is the SHA-256 of its raw bytes. Conditions and validators keep the file's order.

    `name` is how messages call the file.
    """

    id: str
    version: str
    owner: str
    backend: str
    digest: str
    parameters: Mapping[str, Parameter]
    conditions: Mapping[str, Condition]
    validators: Mapping[str, Validator]
    escalate: tuple[str, ...]
    name: str
    mark: Mark

    def __hash__(self) -> int:
        return hash(self.digest)

    def leaves(self, names: tuple[str, ...]) -> Iterator[Leaf]:
        """Every leaf below the conditions `names`, once, in the order in which a reader meets them."""
        seen: set[str] = set()
        pending = list(reversed(names))
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            condition = self.conditions[name]
            if isinstance(condition, Leaf):
                yield condition
            else:
                pending.extend(reversed(condition.children))

    def reads(self, validator_id: str) -> tuple[str, ...]:
        """The kinds that a validator's leaves read, each once; none for a validator that the bundle doesn't have."""
        validator = self.validators.get(validator_id)
        return (
            tuple(dict.fromkeys(leaf.kind.name for leaf in self.leaves(validator.children)))
            if validator is not None
            else ()
        )


@dataclass(frozen=True, slots=True)
class Floor:
    """What acceptance must imply whatever a bundle says, for one backend (design: facts-and-policy, *The floor*)."""

    backend: str
    leaves: tuple[Leaf, ...]

    def __hash__(self) -> int:
        return hash(self.backend)
