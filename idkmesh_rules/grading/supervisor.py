"""The supervisor: compares what the candidate exported with protected values, and requires the grader to agree.

Invariants:
- The roster is bounded and frozen; a manifest of another protocol, with state probes, or pinned to another revision of this
  implementation, isn't registered at all. The same roster has to be supplied after a restart.
- `assess` reads and hashes every artifact again and asks for authority again, on every call: a changed, missing, revoked
  or expired observation keeps an earlier assessment from being used.
- An assessment is immutable and bound to the manifest, both jobs, the exported artifacts and each check's result.
- Making a supervisor touches nothing (design: grading, *Supervisor*).
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from idkmesh_rules.contracts.digest import canonical_digest
from idkmesh_rules.grading.evidence import EvidenceRepository, Missing
from idkmesh_rules.grading.protocol import (
    PROTOCOL,
    CheckResult,
    Compared,
    ProtocolError,
    compare,
    declared_checks,
    exported_values,
    grader_statuses,
    supervisor_revision,
)
from idkmesh_rules.grading.values import (
    ArtifactRef,
    Fields,
    GradingError,
    JobOutcome,
    JobResult,
    JobSpec,
    Manifest,
    Role,
    as_plain,
    read_artifact,
)

MAX_REGISTRATIONS = 1000
EXPORT = "export"
"""The name of the one artifact that each job exports."""


class State(Enum):
    """What an assessment comes to; the zero value is no pass."""

    INVALID = "invalid"
    PASSED = "passed"
    FAILED = "failed"
    DISAGREEMENT = "disagreement"
    MISSING = "missing"
    REVOKED = "revoked"


class Registration(NamedTuple):
    """A manifest with the id that is reserved for its assessment."""

    manifest: Manifest
    assessment_id: str


class Assessment(NamedTuple):
    """What the supervisor says: the state, why, each check's result, and everything that it is bound to.

    `observations` are the references of both exports (None where a job exported nothing). `host_fault` says that it is
    undecided for a reason that is no fault of the candidate's: authority, protected artifacts, the sandbox, the grader.
    """

    assessment_id: str
    manifest_digest: str
    candidate_job: str
    grader_job: str
    state: State
    reason: str
    checks: tuple[Compared, ...]
    observations: tuple[ArtifactRef | None, ArtifactRef | None]
    host_fault: bool = False

    @property
    def passed(self) -> bool:
        """Whether every declared check passed, with the grader's agreement."""
        return self.state is State.PASSED

    def as_json(self) -> dict[str, Any]:
        """The assessment as a JSON object."""
        plain: dict[str, Any] = as_plain(self)
        return plain

    @property
    def digest(self) -> str:
        """What a report names it by; it changes with the exports and the results, and with nothing else."""
        return canonical_digest(self.as_json())


def read_assessment(value: Any) -> Assessment:
    """An assessment of `as_json`; raises GradingError. That it is true is for whoever made it to show."""
    fields = Fields(value, "assessment", Assessment._fields)
    observations = fields.each("observations", lambda each, what: None if each is None else read_artifact(each, what))
    if len(observations) != 2:
        raise GradingError("assessment.observations has to have two entries")
    return Assessment(
        fields.id("assessment_id"),
        fields.digest("manifest_digest"),
        fields.id("candidate_job"),
        fields.id("grader_job"),
        fields.word("state", State),
        fields.text("reason", 4096),
        fields.each("checks", _read_compared),
        (observations[0], observations[1]),
        fields.flag("host_fault"),
    )


def _read_compared(value: Any, what: str) -> Compared:
    fields = Fields(value, what, Compared._fields)
    known = (True, False, None)
    return Compared(
        fields.text("name"),
        fields.word("result", CheckResult),
        fields.take("equal", lambda each: any(each is one for one in known), "true, false or null"),
        fields.take("grader_status", lambda each: each in ("passed", "failed", None), "passed, failed or null"),
    )


Authorizer = Callable[[Manifest, datetime], str | None]
"""Asked anew at every assessment: None if authority holds, else why it doesn't (revoked, expired)."""


class _Unusable(Exception):
    """An assessment ends here, in a state and for a reason, by default one of the host's."""

    def __init__(self, state: State, reason: str, *, host: bool = True) -> None:
        super().__init__(reason)
        self.state, self.reason, self.host = state, reason, host


T = TypeVar("T")


class Supervisor:
    """Assesses finished pairs of jobs against a frozen roster."""

    def __init__(
        self,
        roster: Sequence[Registration],
        repository: EvidenceRepository,
        authorizer: Authorizer,
        clock: Callable[[], datetime],
    ) -> None:
        """Freeze the roster; raises GradingError for one that can't be registered."""
        if not 0 < len(roster) <= MAX_REGISTRATIONS:
            raise GradingError(f"a roster has 1 to {MAX_REGISTRATIONS} registrations")
        for each in roster:
            _check_registration(each)
        for what, ids in (
            ("manifest id", [each.manifest.manifest_id for each in roster]),
            ("assessment id", [each.assessment_id for each in roster]),
            ("job id", [job.job_id for each in roster for job in (each.manifest.candidate, each.manifest.grader)]),
        ):
            if len(set(ids)) != len(ids):
                raise GradingError(f"a {what} is registered twice")
        self._roster = {each.manifest.digest: each for each in roster}
        self._repository, self._authorizer, self._clock = repository, authorizer, clock

    def registered(self, manifest_digest: str) -> Registration:
        """The registration of a manifest; raises GradingError when it isn't on the roster."""
        if manifest_digest not in self._roster:
            raise GradingError("this manifest is not on the roster")
        return self._roster[manifest_digest]

    def refusal(self, manifest_digest: str) -> str | None:
        """Why authority for a manifest doesn't hold at this moment, None if it does; raises GradingError."""
        return self._authorizer(self.registered(manifest_digest).manifest, self._clock())

    def assess(self, manifest_digest: str, candidate: JobResult, grader: JobResult | None) -> Assessment:
        """Assess the authentic results of a registered manifest's jobs, from the bytes as they are now.

        Without a grader's result nothing passes.
        Raises GradingError when the manifest isn't registered or a result is of another job.
        """
        registration = self.registered(manifest_digest)
        manifest = registration.manifest
        results = (candidate, grader)
        for job, result in zip((manifest.candidate, manifest.grader), results, strict=True):
            if result is not None and result.job_id != job.job_id:
                raise GradingError("these results are of other jobs")
        exports = (export_of(candidate), None if grader is None else export_of(grader))
        state, reason, checks, host = self._judged(manifest, results, exports)
        return Assessment(
            registration.assessment_id,
            manifest_digest,
            manifest.candidate.job_id,
            manifest.grader.job_id,
            state,
            reason,
            checks,
            exports,
            host,
        )

    def _judged(
        self, manifest: Manifest, results: tuple[JobResult | None, ...], exports: tuple[ArtifactRef | None, ...]
    ) -> tuple[State, str, tuple[Compared, ...], bool]:
        checks: tuple[str, ...] = ()
        try:
            refused = self.refusal(manifest.digest)
            if refused is not None:
                raise _Unusable(State.REVOKED, refused)
            checks = self._declared(manifest)
            expected = exported_values(self._bytes(manifest.fixture, "the protected fixture"), checks)
            own = self._said(manifest.candidate, results[0], exports[0], exported_values, checks)
        except ProtocolError as error:
            return State.INVALID, f"a protected artifact is malformed: {error}", _undecided(checks, State.INVALID), True
        except _Unusable as end:
            return end.state, end.reason, _undecided(checks, end.state), end.host
        try:
            said = self._said(manifest.grader, results[1], exports[1], grader_statuses, checks)
        except _Unusable as end:
            # A grader that fails says nothing. Another value than the expected one is a wrong one all the same, or a
            # candidate could escape from every rejection by an export on which the grader fails.
            ungraded = [
                each._replace(equal=expected[each.name] == own[each.name]) for each in _undecided(checks, end.state)
            ]
            return end.state, end.reason, tuple(ungraded), end.host
        compared = compare(checks, expected, own, said)
        found = {each.result for each in compared}
        for worst, state, reason in (
            (CheckResult.DISAGREEMENT, State.DISAGREEMENT, "the grader and the values disagree"),
            (CheckResult.FAILED, State.FAILED, "a value is not the expected one, and the grader agrees"),
        ):
            if worst in found:
                return state, reason, compared, False
        return State.PASSED, "every value is the expected one, and the grader agrees", compared, False

    def _said(
        self,
        job: JobSpec,
        result: JobResult | None,
        export: ArtifactRef | None,
        read: Callable[[bytes, tuple[str, ...]], T],
        checks: tuple[str, ...],
    ) -> T:
        """What a job exported; raises _Unusable when it didn't end as it has to, or exported nothing that can be read."""
        if result is not None:
            _check_job(job, result)
        role = job.role
        if export is None:
            why = f"the {role.value}'s export isn't there{_ending(result)}"
            raise _Unusable(State.MISSING, why, host=role is Role.GRADER)
        data = self._bytes(export, f"the {role.value}'s export")
        try:
            return read(data, checks)
        except ProtocolError as error:
            why = f"the {role.value}'s export is malformed: {error}"
            raise _Unusable(State.INVALID, why, host=role is Role.GRADER) from None

    def _declared(self, manifest: Manifest) -> tuple[str, ...]:
        bundle = declared_checks(self._bytes(manifest.test_bundle, "the test bundle"))
        schema = declared_checks(self._bytes(manifest.result_schema, "the result schema"))
        if bundle != schema:
            raise _Unusable(State.INVALID, "the test bundle and the result schema declare other checks")
        return bundle

    def _bytes(self, reference: ArtifactRef, what: str) -> bytes:
        try:
            return self._repository.get(reference)
        except Missing as error:
            raise _Unusable(State.MISSING, f"{what} can't be used: {error}") from None


def _check_registration(registration: Registration) -> None:
    manifest = registration.manifest
    if manifest.protocol != PROTOCOL:
        raise GradingError(f"the protocol {manifest.protocol!r} is unknown; this supervisor speaks {PROTOCOL}")
    if manifest.supervisor_revision != supervisor_revision():
        raise GradingError(f"the manifest pins another revision of the supervisor than {supervisor_revision()}")
    if manifest.state_probes:
        raise GradingError("state probes are not supported")


def _ending(result: JobResult | None) -> str:
    """How a job ended that exported nothing, for whoever has to find out why."""
    if result is None:
        return ""
    said = f" and {result.stderr.length} bytes on stderr" if result.stderr.length else ""
    return f": its job ended with exit code {result.exit_code}{said}"


_ENDS = {
    JobOutcome.SETUP_FAILED: "could not be begun by the sandbox",
    JobOutcome.SIGNALED: "was ended by a signal",
    JobOutcome.WALL: "was killed when its wall time was over",
    JobOutcome.CPU: "took more processor time than it may",
    JobOutcome.MEMORY: "took more memory than it may",
    JobOutcome.PIDS: "started more processes than it may",
    JobOutcome.OUTPUT: "printed more than it may",
    JobOutcome.EXPORT: "exported more than it may",
}


def _check_job(job: JobSpec, result: JobResult) -> None:
    absent = sorted(set(job.required_controls) - set(result.enforced))
    if absent and result.outcome is not JobOutcome.SETUP_FAILED:
        raise _Unusable(State.INVALID, f"the {job.role.value} job ran without {', '.join(absent)}")
    if result.outcome is not JobOutcome.EXITED:
        # What a candidate runs into is its own doing; that a job could not begin, or that the grader failed, is not.
        host = job.role is Role.GRADER or result.outcome is JobOutcome.SETUP_FAILED
        raise _Unusable(State.MISSING, f"the {job.role.value} job {_ENDS[result.outcome]}", host=host)


def export_to_grade(job: JobSpec, result: JobResult) -> ArtifactRef | None:
    """What a grader may be started on; None where the candidate's job alone decides that nothing passes."""
    try:
        _check_job(job, result)
    except _Unusable:
        return None
    return export_of(result)


def export_of(result: JobResult) -> ArtifactRef | None:
    """The one artifact that counts; further ones are none of the protocol's, and make it none."""
    return result.exports[0] if len(result.exports) == 1 and result.exports[0].name == EXPORT else None


def _undecided(checks: tuple[str, ...], state: State) -> tuple[Compared, ...]:
    result = CheckResult.MISSING if state is State.MISSING else CheckResult.INVALID
    return tuple([Compared(name, result) for name in checks])
