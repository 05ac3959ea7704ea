"""Under which names a result reports the rule bundle's validators, and which of them acceptance needs.

Invariants:
- Every validator that acceptance needs has a label; labels have distinct names.
- What a WorkUnit requires and no required check of a workspace plan covers has a label of its own, on a validator that no
  bundle has, so that it can't come out but inconclusive (design: contracts, *Evaluator sovereignty*, 3).
"""

from idkmesh_rules.model.documents import BUILTINS, AnyPlan, WorkUnit
from idkmesh_rules.model.evaluation import Label

BUILTIN_TYPES = {
    "input_schema": "schema",
    "scope": "policy",
    "artifact_digest": "security",
    "provenance": "policy",
    "verification_request": "policy",
}


def labels_of(unit: WorkUnit, plan: AnyPlan) -> tuple[Label, ...]:
    """The checks of a result under this plan, in the order in which it lists them where the rules have no order."""
    return _LABELS.get(plan.backend, _required)(unit, plan)


def _required(unit: WorkUnit, plan: AnyPlan) -> tuple[Label, ...]:
    """The WorkUnit's required validators, each under its own name."""
    return tuple(
        Label(each.id, each.type, True, each.id)
        for each in sorted(unit.validators, key=lambda validator: validator.id)
        if each.required
    )


def _workspace(unit: WorkUnit, plan: AnyPlan) -> tuple[Label, ...]:
    """The plan's checks, the built-in ones that it doesn't name, and what the WorkUnit requires and the plan doesn't cover."""
    checks = plan.demands.checks
    named = {check.builtin for check in checks}
    uncovered = [each for each in unit.validators if each.required and each.id not in plan.required_validator_ids]
    # A plan may name an optional check like a validator that the WorkUnit requires; the gap then needs another name.
    taken = {check.id for check in checks}
    gaps = [
        Label(
            f"uncovered/{each.id}" if each.id in taken else each.id,
            each.type,
            True,
            f"uncovered/{each.id}",
            covered=False,
        )
        for each in uncovered
    ]
    taken.update(gap.id for gap in gaps)
    return (
        *(Label(check.id, check.type, check.required, check.builtin) for check in checks),
        *(
            Label(f"builtin/{name}" if name in taken else name, BUILTIN_TYPES[name], True, name)
            for name in BUILTINS
            if name not in named
        ),
        *gaps,
    )


_LABELS = {"workspace": _workspace}
