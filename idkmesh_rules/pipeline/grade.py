"""Grade one candidate: the only use case that lets anything of it run, and only in a sandbox.

Invariants:
- The metadata come first: what they reject is never started, and what the WorkUnit doesn't allow, or this machine can't
  enforce, is refused before anything is consumed.
- What ran is known from signed observations and the supervisor alone; a call that nobody can tell the end of is
  inconclusive, and stays so.
- The same documents, candidate and state lead to the same decision, however often they are asked for; no job runs twice
  (design: grading, *Into the rule engine*).
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from idkmesh_rules.checks import checks_of, collect
from idkmesh_rules.checks.grading import GradingCase
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.grading.adapter import CallUncertain, EvaluationAdapter, EvaluationConfig
from idkmesh_rules.grading.adapter import Evaluation as Graded
from idkmesh_rules.grading.attestations import attestations, read_attestations
from idkmesh_rules.grading.authenticity import NotAuthentic
from idkmesh_rules.grading.evidence import FileRepository
from idkmesh_rules.grading.keys import Identity
from idkmesh_rules.grading.observed import not_observed
from idkmesh_rules.grading.protocol import PROTOCOL, supervisor_revision
from idkmesh_rules.grading.provision import Provision, provide
from idkmesh_rules.grading.retained import Allowance, NotRegistered, Phase
from idkmesh_rules.grading.supervisor import Registration, Supervisor
from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobLimits, JobSpec, Manifest, Role
from idkmesh_rules.model.documents import SandboxDemands
from idkmesh_rules.model.evaluation import Evaluation
from idkmesh_rules.model.grading import Grading
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.observe.sovereignty import check_control_outside
from idkmesh_rules.observe.tracked import check_untracked
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.candidate import Seen, observe_candidate
from idkmesh_rules.pipeline.conclusion import basis_of, conclude
from idkmesh_rules.pipeline.contract import Contract
from idkmesh_rules.pipeline.protected import Protected, read_protected
from idkmesh_rules.pipeline.run import AnyPath, Clock, Run, utc_now
from idkmesh_rules.sandbox.broker import LocalBroker
from idkmesh_rules.sandbox.controls import CONTROLS
from idkmesh_rules.sandbox.interface import Sandbox, SandboxUnavailable

CANDIDATE = "candidate"
"""The name under which the candidate's job finds the candidate: /inputs/candidate."""

_INTERVAL = 0.005
_ALLOWANCE = Allowance(0, 1)


def grade(
    work_unit: AnyPath,
    result_manifest: AnyPath,
    evaluator_plan: AnyPath,
    candidate_root: AnyPath,
    journal: AnyPath,
    *,
    sandbox: Sandbox,
    output_dir: AnyPath | None = None,
    bundle: Path | str | None = None,
    limits: Limits | None = None,
    clock: Clock = utc_now,
    durable: bool = True,
    require_pin: bool = False,
    reveal_hidden: bool = False,
    printed: Callable[[Path], None] = lambda _file: None,
) -> Evaluation:
    """Grade a candidate in `sandbox`, which is opened and closed here, and return the decision with all that carries it.

    `journal` is the host's private state for grading, made where it isn't there: it remembers what was ever begun, and
    has to be the same one for the same plan. `printed` is told each file in which the host keeps what a job printed, which is
    no evidence. The other arguments are those of `evaluate`.

    Raises Refusal, and nothing else, when the inputs are wrong or the machine can't do what the plan demands.
    """
    run = Run(limits, clock, output_dir, durable=durable)
    with run.recording():
        root = run.candidate(candidate_root)
        contract = run.contract(root, work_unit, evaluator_plan, bundle, require_pin=require_pin, reveal=reveal_hidden)
        _check_sandboxed(contract)
        if root.contains(Path(journal)):
            raise _refusal(
                "control-inside-candidate", Problem("the journal lies inside the candidate root", str(journal))
            )
        _check_journal_untracked(Path(journal))
        protected = read_protected(contract.plan, run.limits, reveal=reveal_hidden)
        check_control_outside(root, protected.controls, search_limit=run.limits.link_search_entries)
        checks = checks_of(contract.plan.backend)
        seen = observe_candidate(root, Path(result_manifest), contract, checks, run.limits, run.digests)
        grading, attested = _not_begun(contract, protected), dict[str, bytes]()
        candidate = _candidate(contract, seen)
        if candidate is not None:
            call = _Call(contract, protected, candidate, clock, printed)
            grading, attested = call.graded(Path(journal), sandbox)
        case = seen.case
        assert isinstance(case, GradingCase)
        case = replace(case, grading=grading)
        return conclude(
            contract,
            Seen(seen.manifest, case, *collect(checks, case)),
            checks,
            run.measured,
            output=run.output,
            durable=durable,
            reveal_hidden=reveal_hidden,
            most_findings=run.limits.findings_per_condition,
            attestations=attested,
        )


def _check_sandboxed(contract: Contract) -> None:
    if not BACKENDS[contract.plan.backend].executes:
        raise Refusal(
            "plan-metadata-only",
            "the plan judges a candidate by its metadata, and this verb is for plans that let it run",
            problems=(Problem("its execution mode isn't sandboxed", contract.plan.document.source, "/execution_mode"),),
        )


def _check_journal_untracked(journal: Path) -> None:
    """A signing key in a repository's history is one that anybody may have."""
    try:
        check_untracked(Path(os.path.abspath(journal)))
    except Refusal as refusal:
        problems = (
            Problem("it would lie in a git working tree that does not ignore it", str(journal)),
            *refusal.problems,
        )
        raise _refusal("journal-unusable", *problems) from None


def _candidate(contract: Contract, seen: Seen) -> bytes | None:
    """The bytes to run; None where the metadata alone decide, or the candidate can't be read."""
    basis = basis_of(contract, seen, checks_of(contract.plan.backend))
    rejected = basis.decide().recommendation is Recommendation.REJECT
    return None if rejected or seen.crashes else seen.case.candidate.data


def _not_begun(contract: Contract, protected: Protected) -> Grading:
    reason = "no job was started: what is known without running anything decides already"
    return not_observed(protected.checks, contract.plan.demands.required_controls, reason)


def _refusal(reason: str, *problems: Problem) -> Refusal:
    message = {
        "control-inside-candidate": "the host's state is within the candidate's reach",
        "assessment-used": "this plan's assessment belongs to something else",
        "journal-unusable": "the host's state for grading can't be used",
        "sandbox-unavailable": "this machine has no sandbox",
        "sandbox-unfit": "this machine's sandbox can't run the plan's jobs as it demands",
    }[reason]
    return Refusal(reason, message, problems=problems)


def _started(config: EvaluationConfig, provision: Provision) -> tuple[EvaluationAdapter, Identity]:
    """A started adapter that pins the key which signed what the journal retains: today's, or one that was rotated since.

    Raises GradingError, NotAuthentic when it was none of them.
    """
    for identity in (provision.identity, *provision.retired):
        adapter = EvaluationAdapter(config._replace(authenticity=identity.authenticity))
        try:
            adapter.start()
        except NotAuthentic as error:
            refused = error
            continue
        return adapter, identity
    raise refused


class _Call:
    """The grading of one candidate under one plan."""

    def __init__(
        self,
        contract: Contract,
        protected: Protected,
        candidate: bytes,
        clock: Clock,
        printed: Callable[[Path], None],
    ) -> None:
        self._contract, self._protected, self._candidate = contract, protected, candidate
        self._clock, self._printed = clock, printed
        self._demands: SandboxDemands = contract.plan.demands
        self.manifest = self._sealed()

    def _sealed(self) -> Manifest:
        demands, protected = self._demands, self._protected
        candidate = ArtifactRef(CANDIDATE, bytes_digest(self._candidate), len(self._candidate))

        def job(role: Role, inputs: tuple[ArtifactRef, ...]) -> JobSpec:
            asked = demands.candidate if role is Role.CANDIDATE else demands.grader
            return JobSpec(
                asked.job_id,
                role,
                asked.runtime,
                asked.command,
                inputs,
                protected.evaluator(role.value),
                JobLimits(**asked.limits),
                demands.required_controls,
            )

        return Manifest(
            demands.assessment_id,
            PROTOCOL,
            supervisor_revision(),
            job(Role.CANDIDATE, (candidate,)),
            job(Role.GRADER, ()),
            protected.reference("test_bundle"),
            protected.reference("result_schema"),
            protected.reference("fixture"),
        )

    def graded(self, journal: Path, sandbox: Sandbox) -> tuple[Grading, dict[str, bytes]]:
        """Have both jobs run, as far as they haven't before, and say what came of it; raises Refusal."""
        try:
            sandbox.open()
        except SandboxUnavailable as error:
            raise _refusal("sandbox-unavailable", Problem(error.what, hint=error.hint)) from None
        try:
            self._check_fit(sandbox, journal)
            with self._state(journal) as (provision, repository):
                return self._run(provision, repository, sandbox)
        finally:
            sandbox.close()

    def _check_fit(self, sandbox: Sandbox, journal: Path) -> None:
        source, problems = self._contract.plan.document.source, []
        for control in sorted(set(self._demands.required_controls) - sandbox.controls):
            told = (
                "is not enforced on this machine"
                if control in CONTROLS
                else "is no control that a sandbox could enforce"
            )
            hint = f"enforced are: {', '.join(sorted(sandbox.controls))}"
            problems.append(Problem(f"{control} {told}", source, "/required_controls", hint=hint))
        for spec in (self.manifest.candidate, self.manifest.grader):
            try:
                sandbox.check(spec)
            except GradingError as error:
                problems.append(Problem(str(error), source, f"/jobs/{spec.role.value}"))
                continue
            for path in (journal, Path(source)):
                if sandbox.shows(spec.runtime, path):
                    problems.append(
                        Problem(
                            f"the {spec.role.value} job could read it, as its runtime shows this directory",
                            str(path),
                            hint="keep it elsewhere",
                        )
                    )
        if problems:
            raise _refusal("sandbox-unfit", *dict.fromkeys(problems))

    @contextmanager
    def _state(self, journal: Path) -> Iterator[tuple[Provision, FileRepository]]:
        try:
            provision = provide(journal)
            repository = FileRepository(provision.evidence).open()
        except GradingError as error:
            raise _refusal("journal-unusable", Problem(str(error))) from None
        try:
            yield provision, repository
        finally:
            repository.close()

    def _run(
        self, provision: Provision, repository: FileRepository, sandbox: Sandbox
    ) -> tuple[Grading, dict[str, bytes]]:
        manifest, identity = self.manifest, provision.identity
        supervisor = Supervisor(
            [Registration(manifest, manifest.manifest_id)], repository, lambda _manifest, _now: None, self._clock
        )
        broker = LocalBroker(
            sandbox, provision.jobs, provision.owner, identity.key_id, provision.key, repository, self._clock
        )
        try:
            for name, data in self._artifacts():
                repository.put(name, data)
            broker.open()
            directory = provision.journal(manifest.manifest_id)
            config = EvaluationConfig(
                supervisor, broker, identity.authenticity, repository, _ALLOWANCE, directory, provision.owner, _INTERVAL
            )
            adapter, identity = _started(config, provision)
        except NotRegistered:
            broker.close()
            raise self._used("it was made for another candidate, or with other files") from None
        except GradingError as error:
            broker.close()
            raise _refusal("journal-unusable", Problem(str(error))) from None
        try:
            self._check_unused(adapter, broker)
            graded = self._settled(adapter, broker)
            for spec in (self.manifest.candidate, self.manifest.grader):
                for file in broker.printed(spec.job_id):
                    self._printed(file)
            return self._told(graded, adapter, broker, identity)
        except GradingError as error:
            raise _refusal("journal-unusable", Problem(str(error))) from None
        finally:
            # The broker first: a job that is given up lets the adapter's step end.
            broker.close()
            adapter.stop()

    def _check_unused(self, adapter: EvaluationAdapter, broker: LocalBroker) -> None:
        """Before the call is admitted, none of its jobs may have been accepted: they would stay uncertain for good."""
        if adapter.admitted(self.manifest.manifest_id):
            return
        for spec in (self.manifest.candidate, self.manifest.grader):
            if broker.accepted(spec.job_id):
                raise self._used("its id was used by another plan", f"/jobs/{spec.role.value}/job_id")

    def _used(self, why: str, pointer: str = "/assessment_id") -> Refusal:
        hint = "a job runs once, so a further attempt needs a plan with other ids"
        return _refusal("assessment-used", Problem(why, self._contract.plan.document.source, pointer, hint=hint))

    def _artifacts(self) -> Iterator[tuple[str, bytes]]:
        yield CANDIDATE, self._candidate
        for reference, data in self._protected.files.values():
            yield reference.name, data

    def _settled(self, adapter: EvaluationAdapter, broker: LocalBroker) -> Graded | CallUncertain:
        """What the call came to; or how far it is, when nothing moves it any more."""
        manifest = self.manifest
        call_id, jobs = manifest.manifest_id, (manifest.candidate.job_id, manifest.grader.job_id)
        try:
            return adapter.evaluate(call_id, manifest.digest)
        except CallUncertain as pending:
            last = pending
        phase, since = Phase.PLANNED, adapter.passes
        while True:
            if last.phase is not phase or any(map(broker.running, jobs)):
                phase, since = last.phase, adapter.passes
            # Two looks that began when nothing ran any more and changed nothing: it won't change by itself.
            if adapter.passes > since + 2:
                return last
            time.sleep(_INTERVAL)
            try:
                return adapter.reconcile(call_id)
            except CallUncertain as pending:
                last = pending

    def _told(
        self, graded: Graded | CallUncertain, adapter: EvaluationAdapter, broker: LocalBroker, identity: Identity
    ) -> tuple[Grading, dict[str, bytes]]:
        """The grading as the facts tell it, read from the very files that are handed over."""
        manifest = self.manifest
        history = adapter.history(manifest.manifest_id)
        if isinstance(graded, CallUncertain):
            reason = broker.fault or "a job was begun by a process that is gone, and nobody can say what it came to"
            reason = f"{reason} (the call is {graded.phase.value}; a job runs once, so it stays so)"
        else:
            assessment = None if graded.blocked else graded.assessment
            files = attestations(manifest, identity, history, assessment)
            grading = read_attestations(files).grading
            if grading is not None:
                return grading, files
            reason = graded.rejection or "what it came to isn't what its evidence says now"
        required = self._demands.required_controls
        return not_observed(self._protected.checks, required, reason), attestations(manifest, identity, history, None)
