"""From facts to what is handed over: the decision, its findings, the result, and the evidence on disk.

Invariant: everything that is written is made before the first byte is, and published at once.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from idkmesh_rules.checks import AnyCheck
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.model.evaluation import Evaluation, Finding
from idkmesh_rules.model.facts import FactStore
from idkmesh_rules.model.proof import Decision
from idkmesh_rules.pipeline.candidate import Seen
from idkmesh_rules.pipeline.contract import Contract
from idkmesh_rules.pipeline.rules import backend_floor
from idkmesh_rules.policy import decide, decision_document
from idkmesh_rules.result.directory import publish
from idkmesh_rules.result.documents import evidence_document, facts_document, file_bytes
from idkmesh_rules.result.findings import Mask, bundle_leaves, escalations_of, findings_of, hidden_mask, reveal
from idkmesh_rules.result.verification import EvidenceFile, Measured, Subject, notes_of, verification_result


def conclude(
    contract: Contract,
    seen: Seen,
    checks: tuple[AnyCheck, ...],
    measured: Callable[[], Measured],
    *,
    output: Path | None,
    durable: bool,
    reveal_hidden: bool,
    most_findings: int,
) -> Evaluation:
    """Decide, tell, and publish what was seen; raises Refusal when the output can't be written.

    `measured` is asked once, when everything but the writing is done; `most_findings` bounds the findings of a condition.
    """
    unit, plan, rules = contract.unit, contract.plan, contract.rules
    store, required = seen.store, tuple(sorted(unit.required_validator_ids))
    decision = decide(
        rules.bundle, store, parameters=rules.parameters, required=required, floor=backend_floor(plan.backend)
    )
    facts = file_bytes(facts_document(store, plan.backend, (unit.document, seen.manifest.document, plan.document)))
    facts_digest = bytes_digest(facts[:-1])
    decided = file_bytes(decision_document(decision, rules.bundle, rules.parameters, facts_digest))
    decision_digest = bytes_digest(decided[:-1])
    mask = hidden_mask(plan.demands.secrets) if plan.hidden and not reveal_hidden else reveal
    findings = _findings(decision, contract, store, mask, most_findings)
    subject = Subject(unit, seen.manifest, plan)
    files = {} if output is None else _evidence_files(contract, seen, checks, facts, decided)
    evidence = tuple(_evidence_file(path, data, checks) for path, data in files.items())
    notes = notes_of(subject, store)
    result = verification_result(
        subject,
        decision,
        rules.bundle,
        store,
        findings=findings,
        notes=notes,
        evidence=evidence,
        checks=checks if files else (),
        facts_digest=facts_digest,
        decision_digest=decision_digest,
        measured=measured(),
        environment=_environment(),
    )
    if output is not None:
        publish(output, {"verification-result.json": file_bytes(result), **files}, durable=durable)
    return Evaluation(
        decision.recommendation,
        decision.status,
        decision,
        rules.bundle,
        store,
        findings,
        notes,
        result,
        facts_digest,
        decision_digest,
        seen.crashes,
        output,
    )


def _findings(decision: Decision, contract: Contract, store: FactStore, mask: Mask, most: int) -> tuple[Finding, ...]:
    bundle = contract.rules.bundle
    leaves = bundle_leaves(bundle)
    found = [
        finding
        for outcome in decision.validators
        if outcome.required
        for finding in findings_of(outcome.id, outcome.node, leaves, store, mask, most)
    ]
    for node in decision.escalations:
        found.extend(escalations_of(node, leaves, store, mask, most))
    if decision.floor is not None and decision.floor.decides:
        below = {leaf.name: leaf for leaf in backend_floor(bundle.backend).leaves}
        found.extend(findings_of("floor", decision.floor.node, below, store, mask, most))
    return tuple(found)


def _evidence_files(
    contract: Contract, seen: Seen, checks: tuple[AnyCheck, ...], facts: bytes, decided: bytes
) -> dict[str, bytes]:
    crashes = {crash.check: crash for crash in seen.crashes}
    files = {"facts.json": facts, "decision.json": decided}
    for document in (contract.unit.document, seen.manifest.document, contract.plan.document):
        files[f"inputs/{document.name}.json"] = document.data
    files["inputs/bundle.yaml"] = contract.rules.control.data
    for check in checks:
        files[f"evidence/{check.id}.json"] = file_bytes(evidence_document(check, seen.store, crashes.get(check.id)))
    return files


def _evidence_file(path: str, data: bytes, checks: tuple[AnyCheck, ...]) -> EvidenceFile:
    check = next((check for check in checks if path == f"evidence/{check.id}.json"), None)
    if check is not None:
        return EvidenceFile(path, check.evidence_type, bytes_digest(data), check.meaning)
    told = {"facts.json": "all facts", "decision.json": "the proof tree of the decision"}
    return EvidenceFile(path, "trace", bytes_digest(data), told.get(path, "exact copy of an input"))


@cache
def _environment() -> Mapping[str, str]:
    system = os.uname()
    return {
        "platform": f"{system.sysname}-{system.release}-{system.machine}",
        "python": ".".join(map(str, sys.version_info[:3])),
    }
