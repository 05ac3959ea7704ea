"""What a backend is to an evaluation: which rules decide by default, and how the candidate is looked at.

Invariants: the use cases speak of a backend only through this value, so that another one is another entry in this table
(and in those of its plan reader, its checks and its floor); what a backend needs is imported when it is asked for.
"""

from collections.abc import Callable
from typing import NamedTuple

from idkmesh_rules.checks import Case
from idkmesh_rules.contracts.binding import check_builtin_validators, check_execution, check_validator_sets
from idkmesh_rules.model.documents import AnyPlan, WorkUnit
from idkmesh_rules.pipeline.look import Look


class Backend(NamedTuple):
    """A backend: its name and the id of its shipped rule bundle, how it looks at a candidate for its checks, and
    how the bundle's validators have to fit WorkUnit and plan (else a Refusal). `judges_paths` tells whether the WorkUnit's
    path patterns decide anything; `executes` that looking isn't enough: the candidate's code runs in a sandbox then, and no
    metadata-only verb serves such a plan.
    """

    name: str
    bundle: str
    observe: Callable[[Look], Case]
    check_validators: Callable[[WorkUnit, AnyPlan, frozenset[str], str], None]
    judges_paths: bool = True
    executes: bool = False


def _observe_patch(look: Look) -> Case:
    from idkmesh_rules.pipeline.patch_case import patch_case

    return patch_case(look)


def _observe_answer(look: Look) -> Case:
    from idkmesh_rules.pipeline.answer_case import answer_case

    return answer_case(look)


def _observe_workspace(look: Look) -> Case:
    from idkmesh_rules.pipeline.workspace_case import workspace_case

    return workspace_case(look)


def _observe_graded(look: Look) -> Case:
    from idkmesh_rules.pipeline.grading_case import grading_case

    return grading_case(look)


def _check_graded(unit: WorkUnit, plan: AnyPlan, implemented: frozenset[str], bundle: str) -> None:
    check_validator_sets(unit, plan, implemented, bundle)
    check_execution(unit, plan)


BACKENDS = {
    "unified_diff": Backend("unified_diff", "unified-diff", _observe_patch, check_validator_sets),
    "exact_json": Backend("exact_json", "exact-json", _observe_answer, check_validator_sets, judges_paths=False),
    "workspace": Backend("workspace", "workspace", _observe_workspace, check_builtin_validators),
    "sandboxed_equality": Backend(
        "sandboxed_equality", "sandboxed-equality", _observe_graded, _check_graded, judges_paths=False, executes=True
    ),
}
