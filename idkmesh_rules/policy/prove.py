"""Prove that a bundle never accepts what its backend's floor forbids (design: facts-and-policy, *The floor*, lock 2).

Invariants: the proof speaks of all validators of the bundle together (a plan requires them all) and of the given
parameters. A bundle that is accepted here is at or above its floor on every fact set, incomplete kinds and unknown fields
included, as long as no field is unknown that an invariant determines (no check leaves it so). A bundle that is refused gets
a fact that shows why, in its owner's terms. Lock 1 holds either way.
"""

from collections.abc import Mapping

from idkmesh_rules.errors import Problem
from idkmesh_rules.model.bundle import Bundle, Demand, Floor, Leaf, Mark, Operand
from idkmesh_rules.model.facts import Value
from idkmesh_rules.policy.abstract import Unknowns
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
        gap = implied(wanted, [claims[leaf.name] for leaf in way], Unknowns.UNDETERMINED)
        if gap is not None:
            return _problem(bundle, goal, way, gap)
    return None


def _problem(bundle: Bundle, goal: Leaf, way: Case, gap: Gap) -> Problem:
    shown = fact_text(goal.kind, gap.row) if gap.row is not None else None
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
    """The condition to look at first: over the same kind, of the same name, or with the most of the same scope and demands."""
    known = [leaf for leaf in way if leaf.kind.name == goal.kind.name and leaf.mark is not None]
    return max(known, key=lambda leaf: _likeness(leaf, goal), default=bundle).mark or bundle.mark


def _likeness(leaf: Leaf, goal: Leaf) -> tuple[bool, int, int, int]:
    scope, demands = (
        len(_meanings(mine) & _meanings(asked))
        for mine, asked in ((leaf.where, goal.where), (leaf.demands, goal.demands))
    )
    fields = len({each.field.name for each in leaf.demands} & {each.field.name for each in goal.demands})
    return leaf.name == goal.name, scope, demands, fields


def _meanings(demands: tuple[Demand, ...]) -> set[tuple[str, tuple[Operand, ...]]]:
    return {(demand.field.name, demand.operands) for demand in demands}
