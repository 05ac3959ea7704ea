"""The worker's own status: a gate that can only stop a candidate, never carry one.

Invariant: `succeeded` is necessary and by itself worth nothing (design: contracts, *Evaluator sovereignty*, 5).
"""

from collections.abc import Iterator

from idkmesh_rules.checks.check import Asked, Case, Check, Emission
from idkmesh_rules.model.facts import Category, FactKind, Field, FieldType, FindingTemplate, Origin, Severity

WORKER_STATUS = FactKind(
    "worker.status",
    "How the worker says that its attempt ended.",
    (
        Field(
            "status",
            FieldType.ENUM,
            "the manifest's status",
            values=("succeeded", "failed", "error", "timeout", "cancelled"),
        ),
    ),
    FindingTemplate(
        Severity.HIGH, Category.CORRECTNESS, "the worker itself reports that its attempt ended as {status}"
    ),
)


def _status(case: Case) -> Iterator[Emission]:
    yield Emission(
        WORKER_STATUS, (case.manifest.status,), Origin("worker-status", "result-manifest", pointer="/status")
    )


def _status_asked(case: Case) -> Asked:
    return {WORKER_STATUS.name: frozenset({()})}


STATUS_CHECK = Check(
    "worker-status",
    "the status that the worker gives its own attempt",
    "trace",
    (WORKER_STATUS,),
    _status,
    _status_asked,
)
