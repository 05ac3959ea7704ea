"""The VerificationResult 0.1: a decision with what it rests on, as the JSON value that is handed over.

Invariants: work-unit fields come from the WorkUnit and the verifier from the plan, never from the manifest; one entry a
required validator, plus `floor` where it decides; it is decision support and says so (design: outputs).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from idkmesh_rules._version import __version__
from idkmesh_rules.checks import AnyCheck
from idkmesh_rules.contracts.readers import EXTENSION
from idkmesh_rules.model.bundle import Bundle
from idkmesh_rules.model.documents import AnyPlan, ResultManifest, WorkUnit
from idkmesh_rules.model.evaluation import Finding, Label
from idkmesh_rules.model.facts import FactStore, Unknown
from idkmesh_rules.model.proof import Decision, ProofNode, Recommendation, Status, causes
from idkmesh_rules.model.truth import Truth

_CHANGES = ("patch.file", "workspace.change")


class Measured(NamedTuple):
    """What the run took: UTC times, seconds, and the process's peak memory in MiB."""

    started_at: datetime
    finished_at: datetime
    wall_seconds: float
    cpu_seconds: float
    max_rss_mb: float


class Subject(NamedTuple):
    """What a result speaks of: the three documents."""

    unit: WorkUnit
    manifest: ResultManifest
    plan: AnyPlan


class EvidenceFile(NamedTuple):
    """A written file that the result references: its path in the output directory, its type and digest."""

    path: str
    type: str
    digest: str
    description: str

    @property
    def id(self) -> str:
        """The path without its suffix."""
        return self.path.rpartition(".")[0]


def evidence_file(path: str, digest: str, checks: tuple[AnyCheck, ...]) -> EvidenceFile:
    """How the result references a written file: the evidence of a check, or another part of the record."""
    check = next((check for check in checks if path == f"evidence/{check.id}.json"), None)
    if check is not None:
        return EvidenceFile(path, check.evidence_type, digest, check.meaning)
    if path.startswith("attestations/"):
        return EvidenceFile(path, "attestation", digest, "what was sealed, signed or assessed of the grading")
    told = {"facts.json": "all facts", "decision.json": "the proof tree of the decision"}
    return EvidenceFile(path, "trace", digest, told.get(path, "exact copy of an input"))


def notes_of(subject: Subject, store: FactStore) -> tuple[str, ...]:
    """Sentences that belong beside any recommendation.

    An unpinned bundle, further verifiers, too many attempts, evidence that was required and isn't produced here.
    """
    unit, manifest, plan = subject.unit, subject.manifest, subject.plan
    notes = []
    if plan.pin.digest is None:
        notes.append("The rule bundle is unpinned: the plan names no bundle digest.")
    if unit.minimum_independent_verifiers > 1:
        notes.append(f"This is 1 of {unit.minimum_independent_verifiers} required independent verifiers.")
    if manifest.attempt > unit.max_attempts:
        notes.append(f"Attempt {manifest.attempt} exceeds the {unit.max_attempts} that the WorkUnit grants.")
    asked = store["evidence.requirement"]
    lacking = [str(kind) for kind, required, covered in asked.rows if required is True and covered is False]
    if lacking:
        notes.append(f"The WorkUnit requires evidence that this run doesn't produce: {', '.join(lacking)}.")
    return tuple(notes)


def verification_result(
    subject: Subject,
    decision: Decision,
    bundle: Bundle,
    store: FactStore,
    *,
    labels: tuple[Label, ...],
    findings: tuple[Finding, ...],
    notes: tuple[str, ...],
    evidence: tuple[EvidenceFile, ...],
    checks: tuple[AnyCheck, ...],
    facts_digest: str,
    decision_digest: str,
    measured: Measured,
    environment: Mapping[str, str],
) -> dict[str, Any]:
    """Return the result as a JSON value that satisfies schemas/verification-result-0.1."""
    unit, manifest, plan = subject.unit, subject.manifest, subject.plan
    deterministic = decision.recommendation is not Recommendation.INSUFFICIENT_EVIDENCE
    return {
        "schema_version": "0.1",
        "id": f"{manifest.id}/verification-{decision_digest.partition(':')[2][:12]}",
        "result_manifest_id": manifest.id,
        "work_unit_id": unit.id,
        "work_unit_version": unit.version,
        "attempt": manifest.attempt,
        "verifier": dict(plan.verifier_value),
        "independence": _independence(subject),
        "status": decision.status.value,
        "started_at": _timestamp(measured.started_at),
        "finished_at": _timestamp(measured.finished_at),
        "checks": list(_checks(labels, decision, bundle, findings, checks)),
        "evidence": [
            {
                "id": file.id,
                "type": file.type,
                "locator": file.path,
                "digest": file.digest,
                "media_type": "application/yaml" if file.path.endswith(".yaml") else "application/json",
                "description": file.description,
            }
            for file in evidence
        ],
        "findings": [_finding(finding) for finding in findings],
        "metrics": _metrics(store, findings),
        "resources": {
            "wall_seconds": measured.wall_seconds,
            "cpu_seconds": measured.cpu_seconds,
            "max_rss_mb": measured.max_rss_mb,
        },
        "provenance": {
            "result_manifest_digest": manifest.document.digest,
            "work_unit_digest": unit.document.digest,
            "source_revision": plan.binding.source_revision,
            "verifier_config_digest": plan.document.digest,
            "environment": {
                "platform": environment["platform"],
                "python": environment["python"],
                "tool_versions": {"idkmesh-rules": __version__},
            },
        },
        "decision_support": {
            "recommendation": decision.recommendation.value,
            "confidence": 1.0 if deterministic else 0.0,
            "rationale": " ".join((_rationale(decision, labels), *notes)),
        },
        "extensions": {
            EXTENSION: {
                "bundle": {"id": bundle.id, "version": bundle.version, "digest": bundle.digest},
                "engine_version": __version__,
                "facts_digest": facts_digest,
                "decision_digest": decision_digest,
            }
        },
    }


def _independence(subject: Subject) -> dict[str, Any]:
    worker, verifier = subject.manifest.worker, subject.plan.verifier
    family = verifier.model_family is not None and verifier.model_family == worker.model_family
    return {
        "independent_from_worker": worker.id != verifier.id,
        "worker_id_observed": worker.id,
        "shared_model_family": family,
        "shared_runtime": worker.adapter == verifier.adapter,
        "correlation_notes": "Compared by what both documents declare: ids, adapters, model providers and names.",
    }


def _checks(
    labels: tuple[Label, ...],
    decision: Decision,
    bundle: Bundle,
    findings: tuple[Finding, ...],
    checks: tuple[AnyCheck, ...],
) -> Iterator[dict[str, Any]]:
    for outcome in decision.validators:
        kinds = set(bundle.reads(outcome.id)) if outcome.id in bundle.validators else {"validator.coverage"}
        for label in labels:
            if label.validator == outcome.id:
                yield _check(label, outcome.status, outcome.node, kinds, findings, checks)
    floor = decision.floor
    if floor is not None and floor.decides:
        kinds = {leaf.leaf.kind for leaf in floor.node.children if leaf.leaf is not None}
        yield _check(Label("floor", "policy", True, "floor"), floor.status, floor.node, kinds, findings, checks)


def _check(
    label: Label,
    status: Status,
    node: ProofNode,
    kinds: set[str],
    findings: tuple[Finding, ...],
    checks: tuple[AnyCheck, ...],
) -> dict[str, Any]:
    blamed = () if node.value is Truth.TRUE else causes(node)
    value = {
        "id": label.id,
        "type": "other" if label.type == "benchmark" else label.type,
        "required": label.required,
        "status": status.value,
        "summary": f"{status.value}: {_summary(label, node, blamed)}",
        "evidence_ids": [f"evidence/{check.id}" for check in checks if any(kind.name in kinds for kind in check.kinds)],
    }
    mine = [finding.summary for finding in findings if finding.validator == label.validator]
    if mine:
        value["diagnostics"] = "\n".join(mine[:20])
    return value


def _summary(label: Label, node: ProofNode, blamed: tuple[ProofNode, ...]) -> str:
    if not label.covered:
        return "no required check of the plan covers it"
    return ", ".join(leaf.condition for leaf in blamed) if blamed else _held(node)


def _held(node: ProofNode) -> str:
    idle = sum(child.value is Truth.NOT_APPLICABLE for child in node.children)
    if idle:
        return f"{len(node.children) - idle} conditions hold, {idle} do not apply"
    return f"all {len(node.children)} conditions hold"


def _finding(finding: Finding) -> dict[str, Any]:
    value: dict[str, Any] = {
        "severity": finding.severity.value,
        "category": finding.category.value,
        "summary": finding.summary,
    }
    if finding.path is not None:
        value["path"] = finding.path
    if finding.line is not None:
        value["line"] = finding.line
    return value


def _metrics(store: FactStore, findings: tuple[Finding, ...]) -> dict[str, int | None]:
    candidate = next((row for row in store["candidate.file"].rows if row[0] == "candidate"), None)
    size = candidate[store["candidate.file"].kind.index["bytes"]] if candidate else None
    changes = next((store[kind] for kind in _CHANGES if kind in store.kinds), None)
    return _usage(store) | {
        "candidate_change_count": len(changes.rows) if changes is not None and changes.complete else None,
        "candidate_bytes": size if type(size) is int else None,
        "facts": sum(len(kind.rows) for kind in store),
        "unknown_facts": sum(
            any(type(value) is Unknown for value in row) for kind in store if kind.has_unknowns for row in kind.rows
        ),
        "findings": len(findings),
    }


def _usage(store: FactStore) -> dict[str, int | None]:
    """What the jobs of a grading took, where there is one: milliseconds and bytes, None where not measured."""
    if "grading.usage" not in store.kinds:
        return {}
    facts = store["grading.usage"]
    index = facts.kind.index
    return {
        f"{row[index['role']]}_job_{name}": value if type(value := row[index[name]]) is int else None
        for row in facts.rows
        for name in ("wall_ms", "cpu_ms", "peak_bytes")
    }


def _rationale(decision: Decision, labels: tuple[Label, ...]) -> str:
    match decision.recommendation:
        case Recommendation.ACCEPT:
            told = f"All {sum(label.required for label in labels)} required validators passed."
        case Recommendation.REJECT:
            told = f"Failed: {_named(decision, labels, Status.FAILED)}."
        case Recommendation.ESCALATE:
            told = (
                "All required validators passed, and a condition asks for a person: "
                + ", ".join(
                    node.condition for node in decision.escalations if node.value in (Truth.TRUE, Truth.UNKNOWN)
                )
                + "."
            )
        case _:
            undecided = _named(decision, labels, Status.INCONCLUSIVE, Status.ERROR) or "nothing was decided"
            told = f"The evidence doesn't suffice: {undecided}."
    return told + " This is decision support, not merge authority."


def _named(decision: Decision, labels: tuple[Label, ...], *statuses: Status) -> str:
    names = [
        f"{label.id} ({', '.join(leaf.condition for leaf in causes(outcome.node)) or 'not covered'})"
        for outcome in decision.validators
        if outcome.required and outcome.status in statuses
        for label in labels
        if label.required and label.validator == outcome.id
    ]
    if decision.floor is not None and decision.floor.decides and decision.floor.status in statuses:
        names.append(f"floor ({', '.join(leaf.condition for leaf in causes(decision.floor.node))})")
    return "; ".join(names)


def _timestamp(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
