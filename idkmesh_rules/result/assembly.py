"""From facts to everything that is written: decision, findings, evidence files and the VerificationResult.

Invariant: it is a pure function of its basis, but for what the run measured; so whoever holds the basis can make every
file of a result directory again, byte for byte (design: facts-and-policy, *For the auditor*).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from idkmesh_rules.checks import AnyCheck
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.contracts.labels import labels_of
from idkmesh_rules.model.bundle import Bundle, Floor
from idkmesh_rules.model.evaluation import CheckCrash, Finding
from idkmesh_rules.model.facts import FactStore, Value
from idkmesh_rules.model.proof import Decision
from idkmesh_rules.policy import decide, decision_document
from idkmesh_rules.result.documents import evidence_document, facts_document, file_bytes
from idkmesh_rules.result.findings import all_findings, mask_for
from idkmesh_rules.result.verification import Measured, Subject, evidence_file, notes_of, verification_result

RESULT_FILE = "verification-result.json"


class Basis(NamedTuple):
    """Everything that a decision and what is told of it follow from.

    `bundle_data` are the exact bytes of the rule bundle; `required` are the ids of the validators that have to pass;
    `attestations` are files by path that others signed or sealed, which are handed on as they are.
    """

    subject: Subject
    bundle: Bundle
    bundle_data: bytes
    parameters: Mapping[str, Value]
    required: tuple[str, ...]
    floor: Floor
    checks: tuple[AnyCheck, ...]
    store: FactStore
    crashes: tuple[CheckCrash, ...] = ()
    attestations: Mapping[str, bytes] = {}

    def decide(self) -> Decision:
        """The decision that follows."""
        return decide(self.bundle, self.store, parameters=self.parameters, required=self.required, floor=self.floor)


class Assembled(NamedTuple):
    """A decision with all that is handed over: `files` (path → bytes) without the result itself, which refers to them."""

    decision: Decision
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    files: Mapping[str, bytes]
    result: Mapping[str, Any]
    facts_digest: str
    decision_digest: str


def assemble(
    basis: Basis,
    measured: Callable[[], Measured],
    environment: Mapping[str, str],
    *,
    revealed: bool,
    most_findings: int,
    with_evidence: bool = True,
    facts: bytes | None = None,
) -> Assembled:
    """Decide and make every file; `measured` is asked when everything but the result is made.

    `revealed` shows a hidden plan's expectations in the result. Without `with_evidence` no evidence file is made, and the
    result refers to none. `facts` are the bytes of facts.json where they were recorded before.
    """
    subject, store, decision = basis.subject, basis.store, basis.decide()
    unit, manifest, plan = subject.unit, subject.manifest, subject.plan
    facts = facts or file_bytes(facts_document(store, plan.backend, (unit.document, manifest.document, plan.document)))
    facts_digest = bytes_digest(facts[:-1])
    decided = file_bytes(decision_document(decision, basis.bundle, basis.parameters, facts_digest))
    decision_digest = bytes_digest(decided[:-1])
    labels, mask = labels_of(unit, plan), mask_for(plan, revealed=revealed)
    findings = all_findings(decision, basis.bundle, basis.floor, labels, store, mask, most_findings)
    files = _files(basis, facts, decided) if with_evidence else {}
    notes = notes_of(subject, store)
    result = verification_result(
        subject,
        decision,
        basis.bundle,
        store,
        labels=labels,
        findings=findings,
        notes=notes,
        evidence=tuple(evidence_file(path, bytes_digest(data), basis.checks) for path, data in files.items()),
        checks=basis.checks if with_evidence else (),
        facts_digest=facts_digest,
        decision_digest=decision_digest,
        measured=measured(),
        environment=environment,
    )
    return Assembled(decision, findings, notes, files, result, facts_digest, decision_digest)


def _files(basis: Basis, facts: bytes, decided: bytes) -> dict[str, bytes]:
    subject, crashes = basis.subject, {crash.check: crash for crash in basis.crashes}
    files = {"facts.json": facts, "decision.json": decided}
    for document in (subject.unit.document, subject.manifest.document, subject.plan.document):
        files[f"inputs/{document.name}.json"] = document.data
    files["inputs/bundle.yaml"] = basis.bundle_data
    for check in basis.checks:
        files[f"evidence/{check.id}.json"] = file_bytes(evidence_document(check, basis.store, crashes.get(check.id)))
    return {**files, **basis.attestations}
