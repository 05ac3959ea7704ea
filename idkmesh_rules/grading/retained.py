"""What a journal retains of calls: who asked for what, what was intended, and what the broker signed of it.

Invariants:
- A call belongs to one manifest, and a manifest to one call.
- Whatever is read back is held against the roster and against the broker's key again: a journal is no authority.
- Records hold references, contracts and what was signed, never an artifact's bytes.
"""

import os
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from enum import Enum
from typing import Any, NamedTuple

from idkmesh_rules.grading.authenticity import Authenticity, Signed
from idkmesh_rules.grading.broker import grader_job
from idkmesh_rules.grading.journal import Fault, Journal, JournalRefused, Record
from idkmesh_rules.grading.supervisor import Assessment, Supervisor, export_to_grade
from idkmesh_rules.grading.values import Fields, GradingError, JobResult, JobSpec, Manifest, Receipt, Role, as_plain

PURPOSE = "evaluation"
_REASON = 4096


class Phase(Enum):
    """How far a call has come. Uncertain is left only by the original receipt, and the last three are ends."""

    UNCERTAIN = "uncertain"
    PLANNED = "planned"
    INTENDED = "intended"
    RECEIPTED = "receipted"
    FINISHED = "finished"
    COMPARED = "compared"
    PUBLISHED = "published"
    REJECTED = "rejected"


KINDS = frozenset({"planned", "intended", "receipted", "finished", "compared", "published", "rejected"})


class NotRegistered(GradingError):
    """A retained call isn't on the roster that was supplied: its journal belongs to other registrations."""


class Allowance(NamedTuple):
    """What the host charges for both jobs of a call: an upper bound in millionths of its currency, and in tokens.

    `price_revision` pins the prices that the bound was computed from; without one, no money may be charged.
    """

    money_micros: int
    tokens: int
    price_revision: str | None = None

    def check(self) -> None:
        """Raise GradingError for a bound that no price revision or token policy explains."""
        if min(self.money_micros, self.tokens) < 0:
            raise GradingError("an allowance is never negative")
        if self.price_revision is None and (self.money_micros or not self.tokens):
            raise GradingError(
                "an allowance without a price revision is of tokens only: no money, and at least one token"
            )


class Plan(NamedTuple):
    """A call as it was admitted."""

    call_id: str
    manifest: Manifest
    allowance: Allowance


class Intent(NamedTuple):
    """That a job's identity is consumed: from here on it is never submitted again."""

    call_id: str
    job_id: str
    spec_digest: str
    nonce: str


class Retained:
    """Typed reading and writing of an open journal. Reading raises GradingError, writing as the journal does."""

    def __init__(self, journal: Journal, supervisor: Supervisor, authenticity: Authenticity) -> None:
        self._journal, self._supervisor, self._authenticity = journal, supervisor, authenticity
        self.journal_id = journal.journal_id

    def check(self) -> None:
        """Read everything back once; raises GradingError for what isn't of the roster, of the broker, or in order."""
        for call_id in self.calls():
            self.plan(call_id)
        owners = {
            job.job_id: (call_id, job.role)
            for call_id in self.calls()
            for job in (self.plan(call_id).manifest.candidate, self.plan(call_id).manifest.grader)
        }
        for kind in sorted(KINDS - {"planned"}):
            for record in self._journal.every(kind):
                self._check_order(record, self._before(record, owners))
        for call_id in self.calls():
            self.results(call_id)

    def _before(self, record: Record, owners: dict[str, tuple[str, Role]]) -> tuple[str, str] | None:
        """The record that has to be there before this one; None for one about nothing that was planned."""
        key = record.key
        if record.kind in ("receipted", "finished"):
            return ("intended" if record.kind == "receipted" else "receipted", key) if key in owners else None
        if record.kind == "intended":
            if key not in owners:
                return None
            call_id, role = owners[key]
            candidate = self.plan(call_id).manifest.candidate.job_id
            return ("planned", call_id) if role is Role.CANDIDATE else ("finished", candidate)
        if record.kind == "compared" and self._journal.find("planned", key) is not None:
            manifest = self.plan(key).manifest
            graded = self._journal.find("finished", manifest.grader.job_id) is not None
            return "finished", (manifest.grader if graded else manifest.candidate).job_id
        return ("compared" if record.kind == "published" else "planned"), key

    def _check_order(self, record: Record, before: tuple[str, str] | None) -> None:
        found = None if before is None else self._journal.find(*before)
        if found is None or found.sequence > record.sequence:
            raise JournalRefused(
                Fault.FOREIGN, f"{record.kind} {record.key} doesn't follow from what was recorded before"
            )

    # --- Calls ---

    def calls(self) -> tuple[str, ...]:
        """Every admitted call, the oldest first."""
        return tuple([each.key for each in self._journal.every("planned")])

    def plan(self, call_id: str) -> Plan:
        """A call as it was admitted; its manifest has to be on the roster still, with the same reserved assessment."""
        record = self._journal.find("planned", call_id)
        if record is None:
            raise GradingError(f"no call {call_id!r} was admitted")
        fields = Fields(record.body, "planned", ("manifest_digest", "assessment_id", "allowance"))
        try:
            registration = self._supervisor.registered(fields.digest("manifest_digest"))
        except GradingError as error:
            raise NotRegistered(
                f"the call {call_id!r} needs its registration: {error}; supply the same roster"
            ) from None
        if registration.assessment_id != fields.id("assessment_id"):
            raise NotRegistered(f"the call {call_id!r} has reserved another assessment id; supply the same roster")
        allowance = Fields(fields.under("allowance"), "allowance", Allowance._fields)
        revision = allowance.take(
            "price_revision", lambda text: text is None or isinstance(text, str), "a text or null"
        )
        return Plan(
            call_id,
            registration.manifest,
            Allowance(allowance.count("money_micros"), allowance.count("tokens"), revision),
        )

    def call_of(self, manifest_digest: str) -> str | None:
        """The call that a manifest was admitted for, None before."""
        for record in self._journal.every("planned"):
            if record.body.get("manifest_digest") == manifest_digest:
                return record.key
        return None

    def admit(self, call_id: str, manifest: Manifest, allowance: Allowance) -> None:
        """Record a call."""
        registration = self._supervisor.registered(manifest.digest)
        body = {
            "manifest_digest": manifest.digest,
            "assessment_id": registration.assessment_id,
            "allowance": as_plain(allowance),
        }
        self._journal.append("planned", call_id, body)

    def phase(self, call_id: str) -> Phase:
        """How far a call has come, by its records alone: an intent without a receipt is uncertain."""
        for phase in (Phase.REJECTED, Phase.PUBLISHED, Phase.COMPARED):
            if self._journal.find(phase.value, call_id) is not None:
                return phase
        manifest = self.plan(call_id).manifest
        for job in (manifest.grader, manifest.candidate):
            for phase in (Phase.FINISHED, Phase.RECEIPTED):
                if self._journal.find(phase.value, job.job_id) is not None:
                    return phase
            if self._journal.find("intended", job.job_id) is not None:
                return Phase.UNCERTAIN
        return Phase.PLANNED

    def history(self, call_id: str) -> tuple[Record, ...]:
        """Every record of a call, in order; readable whatever became of the artifacts."""
        manifest = self.plan(call_id).manifest
        keys = {call_id, manifest.candidate.job_id, manifest.grader.job_id}
        found = [each for kind in KINDS for each in self._journal.every(kind) if each.key in keys]
        return tuple(sorted(found))

    # --- Jobs ---

    def intent(self, spec: JobSpec) -> Intent | None:
        """The intent of a job, None before; raises GradingError when it was of another job under the same id."""
        record = self._journal.find("intended", spec.job_id)
        if record is None:
            return None
        fields = Fields(record.body, "intended", ("call_id", "spec_digest", "nonce"))
        intent = Intent(fields.text("call_id"), spec.job_id, fields.digest("spec_digest"), fields.nonce("nonce"))
        if intent.spec_digest != spec.digest:
            raise GradingError(f"the intent of {spec.job_id} is of another job under this id")
        return intent

    def intend(self, call_id: str, spec: JobSpec) -> Intent:
        """Consume a job's identity; only who gets an answer may submit it."""
        intent = Intent(call_id, spec.job_id, spec.digest, os.urandom(32).hex())
        body = {"call_id": call_id, "spec_digest": intent.spec_digest, "nonce": intent.nonce}
        self._journal.append("intended", spec.job_id, body)
        return intent

    def authentic_receipt(self, spec: JobSpec, intent: Intent, signed: Signed) -> Receipt:
        """The receipt in `signed`, if it is that of this intent; raises NotAuthentic."""
        return self._authenticity.receipt(signed, spec, self.journal_id, intent.nonce)

    def keep_receipt(self, spec: JobSpec, intent: Intent, signed: Signed) -> None:
        """Record a receipt that is authentic; raises NotAuthentic."""
        self.authentic_receipt(spec, intent, signed)
        self._journal.append("receipted", spec.job_id, signed_as_json(signed))

    def receipt(self, spec: JobSpec) -> Receipt | None:
        """The retained receipt of a job, authenticated again; None before."""
        record, intent = self._journal.find("receipted", spec.job_id), self.intent(spec)
        if record is None or intent is None:
            return None
        return self.authentic_receipt(spec, intent, read_signed(record.body))

    def keep_result(self, spec: JobSpec, signed: Signed) -> None:
        """Record a result, which is authentic and whose exports are kept."""
        self._journal.append("finished", spec.job_id, signed_as_json(signed))

    def result(self, spec: JobSpec, receipt: Receipt) -> JobResult | None:
        """The retained result of a job, authenticated again; None before."""
        record = self._journal.find("finished", spec.job_id)
        return None if record is None else self._authenticity.result(read_signed(record.body), spec, receipt)

    def results(self, call_id: str) -> tuple[JobResult, ...]:
        """The retained results of a call's jobs, none to two, the candidate's first."""
        manifest = self.plan(call_id).manifest
        candidate = self._result_of(manifest.candidate)
        if candidate is None:
            return ()
        # What the grader's job is depends on what the candidate's exported.
        export = export_to_grade(manifest.candidate, candidate)
        grader = None if export is None else self._result_of(grader_job(manifest, export))
        return (candidate,) if grader is None else (candidate, grader)

    def _result_of(self, spec: JobSpec) -> JobResult | None:
        receipt = self.receipt(spec)
        return None if receipt is None else self.result(spec, receipt)

    # --- Ends ---

    def keep_assessment(self, call_id: str, assessment: Assessment) -> None:
        """Record what a call came to."""
        self._journal.append("compared", call_id, {"assessment": assessment.as_json(), "digest": assessment.digest})

    def assessment_digest(self, call_id: str) -> str | None:
        """The digest of the recorded assessment, None before."""
        record = self._journal.find("compared", call_id)
        return None if record is None else Fields(record.body, "compared", ("assessment", "digest")).digest("digest")

    def reject(self, call_id: str, reason: str) -> None:
        """Record that a call ends without an assessment."""
        self._journal.append("rejected", call_id, {"reason": reason[:_REASON]})

    def rejection(self, call_id: str) -> str | None:
        """Why a call was rejected, None if it wasn't."""
        record = self._journal.find("rejected", call_id)
        return None if record is None else Fields(record.body, "rejected", ("reason",)).text("reason", _REASON)

    def keep_publication(self, call_id: str, body: dict[str, Any]) -> None:
        """Record where a call's report was published."""
        self._journal.append("published", call_id, body)


def signed_as_json(signed: Signed) -> dict[str, str]:
    """A signed message as a JSON object, its bytes in base64."""
    return {
        "payload_type": signed.payload_type,
        "payload": b64encode(signed.payload).decode(),
        "key_id": signed.key_id,
        "signature": b64encode(signed.signature).decode(),
    }


def read_signed(body: Any) -> Signed:
    """A signed message of `signed_as_json`; raises GradingError. It is as little believed as before."""
    fields = Fields(body, "signed", Signed._fields)

    def raw(name: str) -> bytes:
        try:
            return b64decode(fields.text(name, 4 << 20), validate=True)
        except (Base64Error, ValueError):
            raise GradingError(f"signed.{name} is no base64") from None

    return Signed(fields.text("payload_type"), raw("payload"), fields.text("key_id"), raw("signature"))
