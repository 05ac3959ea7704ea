"""Prove that a bundle never accepts what its backend's floor forbids (design: facts-and-policy, *The floor*, lock 2).

Invariants: the proof speaks of all validators of the bundle together (a plan requires them all) and of the given
parameters; a bundle that is accepted here is at or above its floor on every fact set, unknown fields and incomplete
kinds included. A bundle that is refused gets a fact set that shows why, in its owner's terms; lock 1 holds either way.
"""

from collections.abc import Mapping

from idkmesh_rules.errors import Problem
from idkmesh_rules.model.bundle import Bundle, Floor, Leaf, Mark
from idkmesh_rules.model.facts import Value
from idkmesh_rules.policy.cases import Case, cases
from idkmesh_rules.policy.entail import Claim, Gap, claim, implied
from idkmesh_rules.policy.spelling import fact_text, leaf_text


def prove_floor(bundle: Bundle, floor: Floor, parameters: Mapping[str, Value]) -> tuple[Problem, ...]:
    """Where acceptance by all validators doesn't imply the floor: one problem a leaf of the floor, or none.

    Each problem stands at the condition nearest to the gap: one over the same kind, else the bundle's header.
    """
    demanded = tuple(dict.fromkeys(name for validator in bundle.validators.values() for name in validator.children))
    claims = {leaf.name: claim(leaf, parameters) for leaf in bundle.leaves(demanded)}
    found = [_hole(bundle, leaf, cases(demanded, bundle.conditions), claims) for leaf in floor.leaves]
    return tuple([problem for problem in found if problem is not None])


def _hole(bundle: Bundle, goal: Leaf, ways: tuple[Case, ...], claims: Mapping[str, Claim]) -> Problem | None:
    wanted = claim(goal, {})
    for way in ways:
        gap = implied(wanted, [claims[leaf.name] for leaf in way])
        if gap is not None:
            return _problem(bundle, goal, way, gap)
    return None


def _problem(bundle: Bundle, goal: Leaf, way: Case, gap: Gap) -> Problem:
    shown = fact_text(goal.kind.name, gap.row) if gap.row is not None else None
    nearest = _nearest(bundle, goal, way)
    message = f"below the floor of {bundle.backend}, which demands {goal.name}: " + (
        f"{shown} would be accepted" if shown is not None else gap.missing
    )
    return Problem(
        message,
        document=bundle.name,
        line=nearest.line,
        column=nearest.column,
        hint=f"demand {leaf_text(goal)} in a validator",
    )


def _nearest(bundle: Bundle, goal: Leaf, way: Case) -> Mark:
    """The condition that an owner would look at first: over the same kind, and with the most of the same demands."""
    asked = {(demand.field.name, demand.operands) for demand in goal.demands}
    fields = {demand.field.name for demand in goal.demands}
    known = [leaf for leaf in way if leaf.kind.name == goal.kind.name and leaf.mark is not None]
    likeness = [
        (
            sum((demand.field.name, demand.operands) in asked for demand in leaf.demands),
            sum(demand.field.name in fields for demand in leaf.demands),
        )
        for leaf in known
    ]
    best = max(range(len(known)), key=likeness.__getitem__, default=None)
    return (known[best].mark if best is not None else None) or bundle.mark
