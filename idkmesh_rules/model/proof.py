"""The proof tree: why each condition has its value, and the decision that follows from it.

Invariants:
- The tree is complete: every child of every condition is there with its own value, whatever the others say.
- The zero value of every enum here is the inconclusive one, and so are the defaults of a decision.
- A node lists the facts that decided it and no others, at most `LISTED` of them beside their total number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from idkmesh_rules.model.bundle import Form, Mark
from idkmesh_rules.model.facts import Value
from idkmesh_rules.model.truth import Truth

LISTED = 100
"""How many deciding facts one leaf lists."""


class Status(Enum):
    """What became of a validator; the spelling is that of VerificationResult 0.1."""

    INCONCLUSIVE = "inconclusive"
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


class Recommendation(Enum):
    """What the decision advises; the spelling is that of VerificationResult 0.1."""

    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    ACCEPT = "accept_candidate"
    REJECT = "reject_candidate"
    ESCALATE = "escalate"


@dataclass(frozen=True, slots=True)
class RowProof:
    """One deciding fact: its row in the store and its key, and the fields whose demands are false or unknown.

    Under `none` the false fields are those of the forbidden description, which the fact meets.
    """

    index: int
    key: tuple[tuple[str, Value], ...]
    false: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class LeafProof(NamedTuple):
    """What a leaf saw: how many facts stand in the store, in its scope, perhaps in it, and which of them decided.

    `deciding` counts all deciding facts, `rows` lists the first of them. A leaf that holds for its whole scope lists
    none. `complete` says whether the closed world was earned, else `reason` why not; `crashed`, whether a check
    crashed there.
    """

    kind: str
    facts: int = 0
    in_scope: int = 0
    perhaps_in_scope: int = 0
    deciding: int = 0
    rows: tuple[RowProof, ...] = ()
    complete: bool = False
    reason: str | None = None
    crashed: bool = False


class ProofNode(NamedTuple):
    """One condition's value with what it rests on: children for combinations and validators, `leaf` for leaves."""

    condition: str
    form: Form
    value: Truth = Truth.UNKNOWN
    mark: Mark | None = None
    children: tuple["ProofNode", ...] = ()
    leaf: LeafProof | None = None


class ValidatorOutcome(NamedTuple):
    """A validator's status and proof. `required` says whether the decision rests on it."""

    id: str
    required: bool
    node: ProofNode
    status: Status = Status.INCONCLUSIVE


class FloorOutcome(NamedTuple):
    """The floor's proof; `decides` is true where the recommendation would be another one without it."""

    node: ProofNode
    status: Status = Status.INCONCLUSIVE
    decides: bool = False


class Decision(NamedTuple):
    """What the rules say of the facts: a recommendation, the result's status, and the whole proof."""

    validators: tuple[ValidatorOutcome, ...]
    floor: FloorOutcome | None
    escalations: tuple[ProofNode, ...]
    recommendation: Recommendation = Recommendation.INSUFFICIENT_EVIDENCE
    status: Status = Status.INCONCLUSIVE


def causes(node: ProofNode) -> tuple[ProofNode, ...]:
    """The leaves reached from `node` by descending through children that have the node's own value, each once.

    A node without children that is no leaf (an uncovered validator) has no causes.
    """
    return tuple({leaf.condition: leaf for leaf in _blamed(node)}.values())


def _blamed(node: ProofNode) -> Iterator[ProofNode]:
    if node.leaf is not None:
        yield node
    for child in node.children:
        if child.value is node.value:
            yield from _blamed(child)
