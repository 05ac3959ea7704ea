"""What another rule bundle would have decided over recorded facts, and which conditions are answerable for the difference.

Invariants: both sides are decided over the same facts, required validators, parameters and floor; a difference is one of the
recommendation, of a required validator's status, or of what asks for a person (design: facts-and-policy, *For the auditor*).
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from idkmesh_rules.audit.record import Record
from idkmesh_rules.errors import PolicyError
from idkmesh_rules.model.bundle import Bundle, Mark
from idkmesh_rules.model.proof import Decision, ProofNode, Recommendation, Status, causes
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy import bind_parameters


class Turn(Enum):
    """How a decision changes, the gravest first."""

    NEWLY_ACCEPTED = "newly accepted"
    NEWLY_REJECTED = "newly rejected"
    OTHERWISE = "decided otherwise"
    INSIDE = "same recommendation, other statuses"


class Answerable(NamedTuple):
    """A condition that makes the difference: its value and place under both bundles, None where a bundle hasn't got it."""

    condition: str
    old: Truth | None
    new: Truth | None
    old_mark: Mark | None
    new_mark: Mark | None


class Flip(NamedTuple):
    """A recorded run that the new bundle decides in another way."""

    name: str
    subject: str
    turn: Turn
    old: Recommendation
    new: Recommendation
    answerable: tuple[Answerable, ...]
    statuses: tuple[tuple[str, Status | None, Status | None], ...]


class Reconsidered(NamedTuple):
    """One recorded run under two bundles: a flip or None, and what has to be known beside it."""

    flip: Flip | None
    undeclared: tuple[tuple[str, str], ...]


class Undecidable(NamedTuple):
    """A recorded run that can't be decided under one of the bundles, and why."""

    name: str
    why: str


def reconsider(record: Record, old: Bundle, new: Bundle) -> Reconsidered | Undecidable:
    """Decide a recorded run under both bundles.

    A plan's parameters count where a bundle declares them; those that one of them doesn't declare are told, as (bundle,
    parameter).
    """
    plan = record.basis.subject.plan
    given = plan.pin.parameters
    decisions: list[Decision] = []
    for bundle in (old, new):
        if bundle.backend != plan.backend:
            return Undecidable(
                record.files.name, f"its facts are of {plan.backend}, {bundle.name} is for {bundle.backend}"
            )
        try:
            values = bind_parameters(bundle, {name: given[name] for name in given if name in bundle.parameters})
        except PolicyError as error:
            return Undecidable(record.files.name, f"under {bundle.name}: {'; '.join(map(str, error.problems))}")
        decisions.append(record.basis._replace(bundle=bundle, parameters=values).decide())
    undeclared = tuple((side.name, name) for side in (old, new) for name in given if name not in side.parameters)
    return Reconsidered(_flip(record, *decisions), undeclared)


def _flip(record: Record, old: Decision, new: Decision) -> Flip | None:
    before, after = _statuses(old), _statuses(new)
    statuses = tuple(
        [
            (name, before.get(name), after.get(name))
            for name in dict.fromkeys([*before, *after])
            if before.get(name) is not after.get(name)
        ]
    )
    turn = _turn(old.recommendation, new.recommendation)
    asks = [{node.condition for node in side.escalations if _asks(node)} for side in (old, new)]
    if turn is Turn.INSIDE and not statuses and asks[0] == asks[1]:
        return None
    return Flip(
        record.files.name,
        record.subject,
        turn,
        old.recommendation,
        new.recommendation,
        tuple(_answerable(old, new)),
        statuses,
    )


def _turn(old: Recommendation, new: Recommendation) -> Turn:
    if old is new:
        return Turn.INSIDE
    if new is Recommendation.ACCEPT:
        return Turn.NEWLY_ACCEPTED
    return Turn.NEWLY_REJECTED if new is Recommendation.REJECT else Turn.OTHERWISE


def _statuses(decision: Decision) -> Mapping[str, Status]:
    found = {outcome.id: outcome.status for outcome in decision.validators if outcome.required}
    if decision.floor is not None and decision.floor.decides:
        found["floor"] = decision.floor.status
    return found


def _asks(node: ProofNode) -> bool:
    return node.value in (Truth.TRUE, Truth.UNKNOWN)


def _answerable(old: Decision, new: Decision) -> Iterator[Answerable]:
    """The leaves that either side blames, but for those that both blame with one value."""
    sides, blamed = [_leaves(old), _leaves(new)], [set(_blamed(old)), set(_blamed(new))]
    for name in dict.fromkeys([*_blamed(old), *_blamed(new)]):
        one, other = (side.get(name) for side in sides)
        values = [node.value if node is not None else None for node in (one, other)]
        marks = [node.mark if node is not None else None for node in (one, other)]
        if values[0] is not values[1] or (name in blamed[0]) is not (name in blamed[1]):
            yield Answerable(name, values[0], values[1], marks[0], marks[1])


def _blamed(decision: Decision) -> Iterator[str]:
    """The names of the leaves that keep a decision from being an acceptance."""
    for outcome in decision.validators:
        if outcome.required and outcome.status is not Status.PASSED:
            yield from (leaf.condition for leaf in causes(outcome.node))
    for node in decision.escalations:
        if _asks(node):
            yield from (leaf.condition for leaf in causes(node))
    if decision.floor is not None and decision.floor.decides:
        yield from (f"{_FLOOR}{leaf.condition}" for leaf in causes(decision.floor.node))


def _leaves(decision: Decision) -> Mapping[str, ProofNode]:
    """Every leaf of a decision by name; those of the floor, where it decides, by a name of their own."""
    found: dict[str, ProofNode] = {}
    pending = [("", node) for node in (*(outcome.node for outcome in decision.validators), *decision.escalations)]
    if decision.floor is not None and decision.floor.decides:
        pending.append((_FLOOR, decision.floor.node))
    for prefix, node in pending:
        if node.leaf is not None:
            found[prefix + node.condition] = node
        pending.extend((prefix, child) for child in node.children)
    return found


_FLOOR = "the floor's "


class Impact(NamedTuple):
    """What a change of rules would do to recorded runs, the gravest first.

    `unchanged` counts those that come out the same, `refusals` those without a decision; `unread` tells which couldn't be
    read or decided; `warnings` are about the bundles themselves.
    """

    old: Bundle
    new: Bundle
    flips: tuple[Flip, ...]
    unchanged: int
    refusals: int
    unread: tuple[Undecidable, ...]
    warnings: tuple[str, ...]

    @property
    def looked_at(self) -> int:
        """How many recorded runs were decided under both bundles."""
        return len(self.flips) + self.unchanged

    def has(self, *turns: Turn) -> bool:
        """Whether some run changes in one of these ways."""
        return any(flip.turn in turns for flip in self.flips)


def ordered(flips: Iterable[Flip]) -> tuple[Flip, ...]:
    """Flips with the gravest first, otherwise as they came."""
    rank: dict[Any, int] = {turn: number for number, turn in enumerate(Turn)}
    return tuple(sorted(flips, key=lambda flip: rank[flip.turn]))
