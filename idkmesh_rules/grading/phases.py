"""What moves a call on: each step is recorded before the next is taken, and no job is submitted a second time.

Invariants:
- A job is submitted only by who has just consumed its identity, and only while authority holds.
- What a broker answers moves nothing until it is authentic; what it exported is believed only as the bytes that it signed,
  kept in the evidence repository.
- Whatever fails leaves the call where the journal says that it is (design: grading, *Adapter*).
"""

from collections.abc import Callable, Mapping

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.grading.authenticity import Authenticity, NotAuthentic
from idkmesh_rules.grading.broker import Broker, grader_job
from idkmesh_rules.grading.evidence import EvidenceRepository
from idkmesh_rules.grading.retained import Phase, Retained
from idkmesh_rules.grading.supervisor import State, Supervisor, export_to_grade
from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobResult, JobSpec, Manifest, Receipt

_ENDS = (Phase.COMPARED, Phase.PUBLISHED, Phase.REJECTED)


class _Rejected(Exception):
    """The call ends here, without an assessment, for good."""


class Phases:
    """Advances calls of one journal. `submitting` is the job that a broker is being asked to run at this moment."""

    def __init__(
        self,
        retained: Retained,
        supervisor: Supervisor,
        broker: Broker,
        authenticity: Authenticity,
        repository: EvidenceRepository,
    ) -> None:
        self._retained, self._supervisor, self._broker = retained, supervisor, broker
        self._authenticity, self._repository = authenticity, repository
        self.submitting: str | None = None

    def advance(self, call_id: str, cancelled: Callable[[], bool]) -> None:
        """Take every step that can be taken now; after `cancelled`, no job is submitted any more.

        Raises whatever a step raises; the call is then as far as its records say.
        """
        if self._retained.phase(call_id) in _ENDS:
            return
        manifest = self._retained.plan(call_id).manifest
        try:
            candidate = self._job(call_id, manifest, manifest.candidate, cancelled)
            if candidate is None:
                return
            export = export_to_grade(manifest.candidate, candidate)
            grader = None
            if export is not None:
                grader = self._graded(call_id, manifest, export, cancelled)
                if grader is None:
                    return
        except _Rejected as end:
            self._retained.reject(call_id, str(end))
            return
        assessment = self._supervisor.assess(manifest.digest, candidate, grader)
        if assessment.state is State.REVOKED:
            # Authority may come back, and what is recorded can't be taken back.
            raise GradingError("nothing is assessed while authority is revoked")
        self._retained.keep_assessment(call_id, assessment)

    def _graded(
        self, call_id: str, manifest: Manifest, export: ArtifactRef, cancelled: Callable[[], bool]
    ) -> JobResult | None:
        job = grader_job(manifest, export)
        if self._retained.intent(job) is None:
            self._repository.get(export)  # what was deleted isn't graded
        return self._job(call_id, manifest, job, cancelled)

    def _job(self, call_id: str, manifest: Manifest, spec: JobSpec, cancelled: Callable[[], bool]) -> JobResult | None:
        """The authentic result of a job as far as it is known, after every step that could be taken."""
        if self._retained.intent(spec) is None:
            if cancelled():
                return None
            if self._supervisor.refusal(manifest.digest) is not None:
                raise GradingError("nothing is submitted while authority is revoked")
            self._submit(call_id, spec)
        receipt = self._retained.receipt(spec) or self._late_receipt(spec)
        if receipt is None:
            return None
        return self._retained.result(spec, receipt) or self._finished(spec, receipt)

    def _submit(self, call_id: str, spec: JobSpec) -> None:
        self.submitting = spec.job_id
        try:
            intent = self._retained.intend(call_id, spec)
            answer = self._broker.submit(spec, self._retained.journal_id, intent.nonce)
            self._retained.keep_receipt(spec, intent, answer)
        finally:
            self.submitting = None

    def _late_receipt(self, spec: JobSpec) -> Receipt | None:
        """The original receipt of a job whose submission nobody heard the answer of."""
        intent, signed = self._retained.intent(spec), self._broker.receipt(spec.job_id)
        if intent is None or signed is None:
            return None
        self._retained.keep_receipt(spec, intent, signed)
        return self._retained.receipt(spec)

    def _finished(self, spec: JobSpec, receipt: Receipt) -> JobResult | None:
        self._check_receipt(spec, receipt)
        answer = self._broker.fetch(spec.job_id)
        if answer is None:
            return None
        signed, exports = answer
        result = self._authenticity.result(signed, spec, receipt)
        self._check_result(spec, receipt, result)
        self._keep(spec, result.exports, exports)
        self._retained.keep_result(spec, signed)
        return result

    def _check_receipt(self, spec: JobSpec, receipt: Receipt) -> None:
        intent, signed = self._retained.intent(spec), self._broker.receipt(spec.job_id)
        if intent is None or signed is None:
            return
        try:
            other = self._retained.authentic_receipt(spec, intent, signed)
        except NotAuthentic:
            return  # not signed for this job, so nothing that the broker could be held to
        if other != receipt:
            raise _Rejected(f"the broker signed two receipts for {spec.job_id}")

    def _check_result(self, spec: JobSpec, receipt: Receipt, result: JobResult) -> None:
        answer = self._broker.fetch(spec.job_id)
        try:
            other = None if answer is None else self._authenticity.result(answer[0], spec, receipt)
        except NotAuthentic:
            return
        if other not in (None, result):
            raise _Rejected(f"the broker signed two results for {spec.job_id}")

    def _keep(self, spec: JobSpec, references: tuple[ArtifactRef, ...], exports: Mapping[str, bytes]) -> None:
        if sorted(exports) != sorted(each.name for each in references):
            raise GradingError(f"the exports of {spec.job_id} are not those that were signed")
        if sum(each.size for each in references) > spec.limits.export_bytes:
            raise GradingError(f"the exports of {spec.job_id} are larger than its job allows")
        for each in references:
            data = exports[each.name]
            if len(data) != each.size or bytes_digest(data) != each.digest:
                raise GradingError(f"an export of {spec.job_id} is not the bytes that were signed")
        for each in references:
            kept = self._repository.put(each.name, exports[each.name])
            if kept != each:
                raise GradingError(f"an export of {spec.job_id} was kept as something else")
