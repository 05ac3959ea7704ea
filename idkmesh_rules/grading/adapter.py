"""The adapter: takes calls, has their jobs run at most once, and says what became of them, across any crash.

Invariants:
- Making one touches nothing; from `start` until `stop` it holds the journal, and one thread of its own does the work.
- `evaluate` admits durably before it answers; `reconcile` asks nobody but the journal and the evidence repository.
- What a call comes to is assessed anew each time that it is asked for, and has to be what was recorded (design: grading,
  *Adapter*).
"""

from pathlib import Path
from threading import Event, Lock, Thread
from typing import NamedTuple

from idkmesh_rules.contracts.digest import canonical_bytes
from idkmesh_rules.grading.authenticity import Authenticity
from idkmesh_rules.grading.broker import Broker, grader_job
from idkmesh_rules.grading.evidence import EvidenceRepository
from idkmesh_rules.grading.exporter import Exporter, Publication
from idkmesh_rules.grading.journal import Head, Journal, Record
from idkmesh_rules.grading.phases import Phases
from idkmesh_rules.grading.retained import KINDS, PURPOSE, Allowance, Phase, Retained
from idkmesh_rules.grading.supervisor import Assessment, Supervisor
from idkmesh_rules.grading.values import GradingError, Usage, as_plain


class EvaluationConfig(NamedTuple):
    """What a host installs. The supervisor's roster has to be the same after a restart.

    `interval` is in seconds, between two looks at what is pending. `at_least`, a head that the host kept elsewhere, makes
    `start` refuse a journal whose end was cut off.
    """

    supervisor: Supervisor
    broker: Broker
    authenticity: Authenticity
    repository: EvidenceRepository
    allowance: Allowance
    journal_directory: Path
    owner: int
    interval: float = 1.0
    at_least: Head | None = None


class CallUncertain(GradingError):
    """The call was admitted and isn't finished; its full charge stands. `phase` says how far it has come."""

    def __init__(self, call_id: str, phase: Phase) -> None:
        what = {
            Phase.UNCERTAIN: "a job may or may not have been accepted, which only its original receipt can tell",
        }.get(phase, "it is pending")
        super().__init__(f"the call {call_id!r} is {phase.value}: {what}; ask again with reconcile, nothing runs twice")
        self.call_id, self.phase = call_id, phase


class CallMoved(GradingError):
    """A call id was admitted for another manifest, or a manifest for another call id."""


class StopTimedOut(GradingError):
    """Work hasn't drained in time. The journal stays locked; stop again."""


class Evaluation(NamedTuple):
    """What became of a call, as of now.

    `assessment` is the supervisor's of this moment (None for a rejected call), `recorded` the digest of the one that the
    call came to. Where they differ, an observation was deleted or authority doesn't hold, and the result is blocked.
    Money that was used is unknown, so that the full `allowance` stays charged.
    """

    call_id: str
    manifest_digest: str
    phase: Phase
    allowance: Allowance
    assessment: Assessment | None
    recorded: str | None
    rejection: str | None
    usage: tuple[Usage, ...]

    @property
    def blocked(self) -> bool:
        """Whether what was recorded can't be used now."""
        return self.assessment is not None and self.assessment.digest != self.recorded

    @property
    def passed(self) -> bool:
        """Whether the call came to a pass, and still does."""
        return self.assessment is not None and self.assessment.passed and not self.blocked

    def report(self) -> bytes:
        """The evaluation as canonical JSON, which is what is published."""
        assessment = None if self.assessment is None else self.assessment.as_json()
        return canonical_bytes(
            {
                "format": 1,
                "call_id": self.call_id,
                "manifest_digest": self.manifest_digest,
                "assessment": assessment,
                "assessment_digest": self.recorded,
                "rejection": self.rejection,
                "passed": self.passed,
                "usage": [as_plain(each) for each in self.usage],
                "allowance": as_plain(self.allowance),
                "money_used": None,
            }
        )


class _Running(NamedTuple):
    journal: Journal
    retained: Retained
    phases: Phases
    thread: Thread


class EvaluationAdapter:
    """Evaluates calls by their ids. `start` and `stop` belong to the host's lifecycle."""

    def __init__(self, config: EvaluationConfig) -> None:
        """Keep the configuration; raises GradingError for an allowance or an interval that can't be."""
        config.allowance.check()
        if not config.interval > 0:
            raise GradingError("the interval has to be a positive number of seconds")
        self._config = config
        self._running: _Running | None = None
        self._lifecycle, self._admitting = Lock(), Lock()
        self._cancel, self._wake = Event(), Event()
        self._failures = self._passes = 0

    def start(self) -> None:
        """Take the journal's lock, read everything back, and begin to work on what is pending.

        Raises JournalError or PlaceError, and GradingError when a retained call isn't of the roster or the broker.
        """
        config = self._config
        with self._lifecycle:
            if self._running is not None:
                raise GradingError("the adapter is started already")
            journal = Journal(config.journal_directory, config.owner, PURPOSE, KINDS).open(config.at_least)
            try:
                retained = Retained(journal, config.supervisor, config.authenticity)
                retained.check()
                phases = Phases(retained, config.supervisor, config.broker, config.authenticity, config.repository)
                self._cancel.clear()
                # A daemon: a host that ends without `stop` is a crash like any other, and the journal is made for those.
                thread = Thread(target=self._work, args=(retained, phases), name="idkmesh-grading", daemon=True)
                thread.start()
            except BaseException:
                journal.close()
                raise
            self._running = _Running(journal, retained, phases, thread)

    def stop(self, timeout: float | None = None) -> None:
        """Submit nothing more, wait for the step that is being taken, and release the journal.

        Raises StopTimedOut after `timeout` seconds, and keeps the journal locked then.
        """
        with self._lifecycle:
            if self._running is None:
                return
            self._cancel.set()
            self._wake.set()
            self._running.thread.join(timeout)
            if self._running.thread.is_alive():
                raise StopTimedOut(
                    f"work hasn't drained within {timeout} seconds; the journal stays locked, stop again"
                )
            self._running.journal.close()
            self._running = None

    def estimate(self, manifest_digest: str) -> Allowance:
        """The bound that the host installed for both jobs; raises GradingError for a manifest off the roster."""
        self._config.supervisor.registered(manifest_digest)
        return self._config.allowance

    def evaluate(self, call_id: str, manifest_digest: str) -> Evaluation:
        """Admit a call durably, and return what became of it.

        Raises CallUncertain while it is pending, CallMoved when call or manifest belong to another, and GradingError when
        the manifest isn't on the roster or authority for it doesn't hold.
        """
        retained = self._started().retained
        manifest = self._config.supervisor.registered(manifest_digest).manifest
        grader_job(manifest, manifest.fixture)  # refused now, not when the candidate has run
        with self._admitting:
            if call_id not in retained.calls():
                self._admit(retained, call_id, manifest_digest)
            elif retained.plan(call_id).manifest.digest != manifest_digest:
                raise CallMoved(f"the call {call_id!r} was admitted for another manifest; use another call id")
        self._wake.set()
        return self.reconcile(call_id)

    def _admit(self, retained: Retained, call_id: str, manifest_digest: str) -> None:
        other = retained.call_of(manifest_digest)
        if other is not None:
            raise CallMoved(f"this manifest was admitted for the call {other!r}; its jobs don't run a second time")
        refused = self._config.supervisor.refusal(manifest_digest)
        if refused is not None:
            raise GradingError(f"the call {call_id!r} isn't admitted: {refused}")
        manifest = self._config.supervisor.registered(manifest_digest).manifest
        retained.admit(call_id, manifest, self._config.allowance)

    def reconcile(self, call_id: str) -> Evaluation:
        """What became of a call, from retained output only, which is read and held against everything again.

        Raises CallUncertain while it is pending, GradingError for a call that was never admitted.
        """
        running = self._started()
        retained = running.retained
        plan, phase = retained.plan(call_id), self.phase(call_id)
        rejection, recorded = retained.rejection(call_id), retained.assessment_digest(call_id)
        if rejection is None and recorded is None:
            raise CallUncertain(call_id, phase)
        results = retained.results(call_id)
        assessment = None
        if rejection is None:
            grader = results[1] if len(results) == 2 else None
            assessment = self._config.supervisor.assess(plan.manifest.digest, results[0], grader)
        usage = tuple([each.usage for each in results])
        return Evaluation(call_id, plan.manifest.digest, phase, plan.allowance, assessment, recorded, rejection, usage)

    def publish(self, call_id: str, exporter: Exporter, destination: str, revision: str) -> Publication:
        """Publish the report of a call that ended; raises GradingError for one whose result is blocked.

        Raises CallUncertain while it is pending, and what Exporter.publish raises.
        """
        running = self._started()
        evaluation = self.reconcile(call_id)
        if evaluation.blocked:
            raise GradingError(f"the result of {call_id!r} is blocked: its evidence or authority is not what it was")
        publication = exporter.publish(call_id, destination, revision, evaluation.report())
        if evaluation.phase is Phase.COMPARED:
            running.retained.keep_publication(call_id, publication._asdict())
        return publication

    def phase(self, call_id: str) -> Phase:
        """How far a call has come; raises GradingError for one that was never admitted."""
        running = self._started()
        phase, manifest = running.retained.phase(call_id), running.retained.plan(call_id).manifest
        being_asked = running.phases.submitting in (manifest.candidate.job_id, manifest.grader.job_id)
        return Phase.INTENDED if phase is Phase.UNCERTAIN and being_asked else phase

    def admitted(self, call_id: str) -> bool:
        """Whether a call was ever admitted to this journal."""
        return call_id in self._started().retained.calls()

    def history(self, call_id: str) -> tuple[Record, ...]:
        """The call's records, in order: references and reports, readable whatever became of the artifacts."""
        return self._started().retained.history(call_id)

    @property
    def head(self) -> Head:
        """The journal's last record, for a host that keeps it elsewhere."""
        return self._started().journal.head

    @property
    def failures(self) -> int:
        """How many times work on a call ended in an error. No text of any is kept."""
        return self._failures

    @property
    def passes(self) -> int:
        """How many times every pending call was looked at, and moved on as far as it could be."""
        return self._passes

    def _started(self) -> _Running:
        if self._running is None:
            raise GradingError("the adapter isn't started; call start first")
        return self._running

    def _work(self, retained: Retained, phases: Phases) -> None:
        while True:
            self._wake.clear()
            for call_id in retained.calls():
                if self._cancel.is_set():
                    return
                try:
                    phases.advance(call_id, self._cancel.is_set)
                except Exception:  # a broker or a repository is the host's code, and may raise anything
                    self._failures += 1
            self._passes += 1
            if self._cancel.is_set():
                return
            self._wake.wait(self._config.interval)
