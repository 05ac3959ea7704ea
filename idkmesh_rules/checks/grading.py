"""What protected grading observed: named checks, the assessment, both jobs' receipts, isolation and usage.

Invariants: nothing here comes from a candidate's words; what could not be determined is unknown and says why; which checks,
jobs and controls there have to be is derived from the plan's side, never from what was observed (design: grading, *Into
the rule engine*).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from idkmesh_rules.checks.check import Asked, Case, Check, Emission, Unjudged
from idkmesh_rules.model.facts import (
    Category,
    FactKind,
    Field,
    FieldType,
    FindingTemplate,
    Invariant,
    Origin,
    Severity,
    Unknown,
    Value,
)
from idkmesh_rules.model.grading import DECIDED, ROLES, STATES, Grading

_ID = "grading"
_PLAN = "evaluator-plan"

GRADING_CHECK = FactKind(
    "grading.check",
    "A protected check: the exported value held against the expected one, and the grader's word beside it.",
    (
        Field("name", FieldType.STRING, "as the protected test bundle declares it", key=True),
        Field("equal", FieldType.BOOL, "the exported value is the expected one, number spelling and all"),
        Field("grader_status", FieldType.ENUM, "what the grader says", values=("passed", "failed")),
        Field("agrees", FieldType.BOOL, "the grader says of it what the values say"),
    ),
    FindingTemplate(
        Severity.HIGH,
        Category.CORRECTNESS,
        "the protected check {name} doesn't pass: equal {equal}, grader {grader_status}",
    ),
    (
        Invariant(
            "agrees exactly if equal and grader_status say the same",
            ("equal", "grader_status", "agrees"),
            lambda equal, grader_status, agrees: agrees == (equal == (grader_status == "passed")),
        ),
    ),
)
GRADING_ASSESSMENT = FactKind(
    "grading.assessment",
    "What the supervisor says of the whole grading, from the bytes as they are now.",
    (
        Field("state", FieldType.ENUM, "what it comes to", values=STATES),
        Field("valid", FieldType.BOOL, "it rests on current, authentic and complete observations"),
        Field("reason", FieldType.STRING, "why"),
    ),
    FindingTemplate(Severity.HIGH, Category.PROVENANCE, "the grading is {state}: {reason}"),
    (
        Invariant(
            "valid exactly if the state is passed, failed or disagreement",
            ("state", "valid"),
            lambda state, valid: valid == (state in DECIDED),
        ),
    ),
)
GRADING_RECEIPT = FactKind(
    "grading.receipt",
    "What the broker signed of a job: that it accepted it, and what became of it.",
    (
        Field("role", FieldType.ENUM, "which of the two jobs", key=True, values=ROLES),
        Field("authentic", FieldType.BOOL, "signed by the pinned broker's key"),
        Field("matches_job", FieldType.BOOL, "about exactly this job, with these inputs"),
    ),
    FindingTemplate(
        Severity.CRITICAL,
        Category.PROVENANCE,
        "the {role} job's receipt is not what it has to be: authentic {authentic}, of this job {matches_job}",
    ),
)
GRADING_ISOLATION = FactKind(
    "grading.isolation",
    "A bound of the sandbox, and whether it was enforced.",
    (
        Field("control", FieldType.STRING, "name of the bound", key=True),
        Field("required", FieldType.BOOL, "the plan demands it"),
        Field("enforced", FieldType.BOOL, "enforced in both jobs"),
    ),
    FindingTemplate(Severity.CRITICAL, Category.SECURITY, "the sandbox did not enforce {control}"),
)
GRADING_USAGE = FactKind(
    "grading.usage",
    "What a job took, measured from outside of it.",
    (
        Field("role", FieldType.ENUM, "which of the two jobs", key=True, values=ROLES),
        Field("within", FieldType.BOOL, "it ended by itself, within every ceiling"),
        Field("wall_ms", FieldType.INT, "milliseconds from start to end", optional=True),
        Field("cpu_ms", FieldType.INT, "milliseconds of processor time", optional=True),
        Field("peak_bytes", FieldType.INT, "most memory at once", optional=True),
    ),
    FindingTemplate(Severity.MEDIUM, Category.PERFORMANCE, "the {role} job did not end by itself within its ceilings"),
)


@dataclass(frozen=True)
class GradingCase(Case):
    """What the checks of a sandboxed evaluation may look at besides: the grading, as its supervisor told it."""

    grading: Grading


def _told(value: Value, why: str) -> Value | Unknown:
    return Unknown(why) if value is None else value


def _run(case: GradingCase) -> Iterator[Emission]:
    grading, why = case.grading, case.grading.reason
    origin = Origin(_ID, _PLAN, pointer="/jobs")
    # Where the host is at fault nobody could look, and that is never held against a candidate.
    assessed = (Unknown(why), Unknown(why)) if grading.host_fault else (grading.state, grading.state in DECIDED)
    yield Emission(GRADING_ASSESSMENT, (*assessed, why), origin)
    for check in grading.checks:
        known = check.equal is not None and check.grader_status is not None
        agrees = check.equal == (check.grader_status == "passed") if known else None
        row = (check.name, *(_told(value, why) for value in (check.equal, check.grader_status, agrees)))
        yield Emission(GRADING_CHECK, row, Origin(_ID, _PLAN, pointer="/test_bundle"))
    for job in grading.jobs:
        yield Emission(GRADING_RECEIPT, (job.role, _told(job.authentic, why), _told(job.matches_job, why)), origin)
        used = (job.role, _told(job.within, why), job.wall_ms, job.cpu_ms, job.peak_bytes)
        yield Emission(GRADING_USAGE, used, origin)
    for control in grading.controls:
        row = (control.control, control.required, _told(control.enforced, why))
        yield Emission(GRADING_ISOLATION, row, Origin(_ID, _PLAN, pointer="/required_controls"))


def _asked(case: GradingCase) -> Asked:
    declared = case.grading.declared
    roles = frozenset((role,) for role in ROLES)
    return {
        GRADING_ASSESSMENT.name: frozenset({()}),
        GRADING_CHECK.name: Unjudged(case.grading.reason)
        if declared is None
        else frozenset((name,) for name in declared),
        GRADING_RECEIPT.name: roles,
        GRADING_USAGE.name: roles,
        GRADING_ISOLATION.name: frozenset((control,) for control in case.plan.demands.required_controls),
    }


CHECK = Check(
    _ID,
    "protected grading: the values that the candidate exported, the grader's word, and how the jobs were run",
    "test_output",
    (GRADING_ASSESSMENT, GRADING_CHECK, GRADING_RECEIPT, GRADING_ISOLATION, GRADING_USAGE),
    _run,
    _asked,
)
