"""A grading over a host's state: what ran before is answered, what didn't is run, and what nobody can tell is said to be that.

Invariant: the facts are read from the very files that are handed over, by the code that replays them.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.grading.adapter import CallUncertain, Evaluation, EvaluationAdapter, EvaluationConfig
from idkmesh_rules.grading.attestations import attestations, read_attestations
from idkmesh_rules.grading.authenticity import NotAuthentic
from idkmesh_rules.grading.evidence import FileRepository
from idkmesh_rules.grading.keys import Identity
from idkmesh_rules.grading.observed import not_observed
from idkmesh_rules.grading.provision import Provision, provide
from idkmesh_rules.grading.retained import Allowance, NotRegistered, Phase
from idkmesh_rules.grading.supervisor import Registration, Supervisor
from idkmesh_rules.grading.values import GradingError
from idkmesh_rules.model.grading import Grading
from idkmesh_rules.pipeline.run import Clock
from idkmesh_rules.pipeline.sealing import Sealed, refused
from idkmesh_rules.sandbox.broker import LocalBroker
from idkmesh_rules.sandbox.interface import Sandbox

_INTERVAL = 0.005
"""Seconds between two looks at a call that is under way."""

_ALLOWANCE = Allowance(0, 1)
_BEGUN = (Phase.UNCERTAIN, Phase.RECEIPTED)
"""The phases in which a job may have begun whose end nobody saw."""


class GradedCall:
    """One sealed grading in an open sandbox. `printed` is told each file in which the host keeps what a job printed."""

    def __init__(self, asked: Sealed, sandbox: Sandbox, clock: Clock, printed: Callable[[Path], None]) -> None:
        self._asked, self._sandbox, self._clock, self._printed = asked, sandbox, clock, printed
        self._id = asked.manifest.manifest_id

    def graded(self, journal: Path) -> tuple[Grading, dict[str, bytes]]:
        """Have both jobs run, as far as they haven't before; what came of it, and its attestations by path.

        Raises Refusal.
        """
        try:
            with ExitStack() as open_:
                provision = provide(journal)
                repository = FileRepository(provision.evidence).open()
                open_.callback(repository.close)
                for name, data in self._asked.artifacts:
                    repository.put(name, data)
                broker = self._broker(provision, repository)
                adapter, identity = self._started(provision, repository, broker)
                open_.callback(adapter.stop)
                open_.callback(broker.close)  # before the adapter: a job that is given up lets its step end
                self._check_unused(adapter, broker)
                outcome = self._settled(adapter, broker)
                for spec in self._asked.jobs:
                    for file in broker.printed(spec.job_id):
                        self._printed(file)
                return self._told(outcome, adapter, broker, identity)
        except NotRegistered:
            raise self._used("it was made for another candidate, or with other files") from None
        except GradingError as error:
            raise refused("journal-unusable", Problem(str(error))) from None

    def _broker(self, provision: Provision, repository: FileRepository) -> LocalBroker:
        broker = LocalBroker(
            self._sandbox,
            provision.jobs,
            provision.owner,
            provision.identity.key_id,
            provision.key,
            repository,
            self._clock,
        )
        return broker.open()

    def _started(
        self, provision: Provision, repository: FileRepository, broker: LocalBroker
    ) -> tuple[EvaluationAdapter, Identity]:
        """A started adapter that pins the key which signed what the journal retains: today's, or one that was rotated since.

        Raises GradingError, NotAuthentic when it was none of them.
        """
        registration = Registration(self._asked.manifest, self._id)
        supervisor = Supervisor([registration], repository, lambda _manifest, _now: None, self._clock)
        directory = provision.journal(self._id)
        for identity in (provision.identity, *provision.retired):
            adapter = EvaluationAdapter(
                EvaluationConfig(
                    supervisor,
                    broker,
                    identity.authenticity,
                    repository,
                    _ALLOWANCE,
                    directory,
                    provision.owner,
                    _INTERVAL,
                )
            )
            try:
                adapter.start()
            except NotAuthentic as error:
                strange = error
                continue
            except BaseException:
                broker.close()
                raise
            return adapter, identity
        broker.close()
        raise strange

    def _check_unused(self, adapter: EvaluationAdapter, broker: LocalBroker) -> None:
        """Before the call is admitted, none of its jobs may have been accepted: they would stay uncertain for good."""
        if adapter.admitted(self._id):
            return
        for spec in self._asked.jobs:
            if broker.accepted(spec.job_id):
                raise self._used("its id was used by another plan", f"/jobs/{spec.role.value}/job_id")

    def _used(self, why: str, pointer: str = "/assessment_id") -> Refusal:
        hint = "a job runs once, so a further attempt needs a plan with other ids"
        return refused("assessment-used", Problem(why, self._asked.plan.document.source, pointer, hint=hint))

    def _settled(self, adapter: EvaluationAdapter, broker: LocalBroker) -> Evaluation | CallUncertain:
        """What the call came to; or how far it is, when nothing moves it any more."""
        try:
            return adapter.evaluate(self._id, self._asked.manifest.digest)
        except CallUncertain as pending:
            last = pending
        phase, since = Phase.PLANNED, adapter.passes
        while True:
            if last.phase is not phase or any(broker.running(spec.job_id) for spec in self._asked.jobs):
                phase, since = last.phase, adapter.passes
            # Two looks that began when nothing ran any more and changed nothing: it won't change by itself.
            if adapter.passes > since + 2:
                return last
            time.sleep(_INTERVAL)
            try:
                return adapter.reconcile(self._id)
            except CallUncertain as pending:
                last = pending

    def _told(
        self, outcome: Evaluation | CallUncertain, adapter: EvaluationAdapter, broker: LocalBroker, identity: Identity
    ) -> tuple[Grading, dict[str, bytes]]:
        manifest, history = self._asked.manifest, adapter.history(self._id)
        if isinstance(outcome, CallUncertain):
            reason = _pending(outcome.phase, broker.fault)
        else:
            assessed = None if outcome.blocked else outcome.assessment
            signed = None if assessed is None else broker.attested(assessed, identity.key_id)
            files = attestations(manifest, identity, history, signed)
            grading = read_attestations(files).grading
            if grading is not None:
                return grading, files
            reason = (
                outcome.rejection or "what it came to can't be told any more: its evidence or its key was taken away"
            )
        required = self._asked.plan.demands.required_controls
        files = attestations(manifest, identity, history, None)
        return not_observed(self._asked.checks, required, reason), files


def _pending(phase: Phase, fault: str) -> str:
    """Why a call has no end, for a person."""
    if phase in _BEGUN:
        why = fault or "a job was begun by a process that is gone, and nobody can say what it came to"
        return f"{why}; a job runs once, so this stays so"
    return f"{fault or 'a step of it fails on this host'}; the call is {phase.value}, and can be asked for again"
