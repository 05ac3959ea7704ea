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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from idkmesh_rules.checks import checks_of, collect
from idkmesh_rules.checks.grading import GradingCase
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.grading.observed import not_observed
from idkmesh_rules.model.evaluation import Evaluation
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.observe.sovereignty import check_control_outside
from idkmesh_rules.observe.tracked import check_untracked
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.candidate import Seen, observe_candidate
from idkmesh_rules.pipeline.conclusion import basis_of, conclude
from idkmesh_rules.pipeline.contract import Contract
from idkmesh_rules.pipeline.graded_call import GradedCall
from idkmesh_rules.pipeline.protected import Protected, read_protected
from idkmesh_rules.pipeline.run import AnyPath, Clock, Run, utc_now
from idkmesh_rules.pipeline.sealing import Sealed, check_fit, refused, sealed
from idkmesh_rules.sandbox.interface import Sandbox, SandboxUnavailable

NOT_BEGUN = "no job was started: what is known without running anything decides already"


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
        _check_sandboxed(contract, run.limits)
        state = _absolute(journal)
        if root.contains(state):
            raise refused(
                "control-inside-candidate", Problem("the journal lies inside the candidate root", str(journal))
            )
        _check_journal_untracked(state)
        protected = read_protected(contract.plan, run.limits, reveal=reveal_hidden)
        named = ((f"file of the plan's /{place}", control) for place, control in protected.controls.items())
        check_control_outside(root, named, search_limit=run.limits.link_search_entries)
        checks = checks_of(contract.plan.backend)
        seen = observe_candidate(root, Path(result_manifest), contract, checks, run.limits, run.digests)
        grading = not_observed(protected.checks, contract.plan.demands.required_controls, NOT_BEGUN)
        attested: dict[str, bytes] = {}
        candidate = _candidate(contract, seen)
        if candidate is not None:
            asked = sealed(contract.plan, protected, candidate)
            with _open(sandbox, asked, state, protected):
                grading, attested = GradedCall(asked, sandbox, clock, printed).graded(state)
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


def _check_sandboxed(contract: Contract, limits: Limits) -> None:
    if not BACKENDS[contract.plan.backend].executes:
        raise Refusal(
            "plan-metadata-only",
            "the plan judges a candidate by its metadata, and this verb is for plans that let it run",
            problems=(Problem("its execution mode isn't sandboxed", contract.plan.document.source, "/execution_mode"),),
        )

    most = contract.plan.demands.max_candidate_bytes
    if most > limits.graded_bytes:
        told = f"it allows candidates of {most} bytes, and one that runs may have {limits.graded_bytes}"
        raise refused("sandbox-unfit", Problem(told, contract.plan.document.source, "/max_candidate_bytes"))


def _check_journal_untracked(journal: Path) -> None:
    """A signing key in a repository's history is one that anybody may have."""
    try:
        check_untracked(journal)
    except Refusal as refusal:
        problems = (
            Problem("it would lie in a git working tree that does not ignore it", str(journal)),
            *refusal.problems,
        )
        raise refused("journal-unusable", *problems) from None


def _absolute(journal: AnyPath) -> Path:
    try:
        return Path(os.path.abspath(journal))
    except OSError as error:  # a working directory that is gone
        raise refused("journal-unusable", Problem(error.strerror or str(error), str(journal))) from None


def _candidate(contract: Contract, seen: Seen) -> bytes | None:
    """The bytes to run; None where the metadata alone decide, or the candidate couldn't be read, whole and as observed."""
    basis = basis_of(contract, seen, checks_of(contract.plan.backend))
    observed = seen.case.candidate
    if basis.decide().recommendation is Recommendation.REJECT or seen.crashes or observed.data is None:
        return None
    return observed.data if bytes_digest(observed.data) == observed.digest else None


@contextmanager
def _open(sandbox: Sandbox, asked: Sealed, journal: Path, protected: Protected) -> Iterator[None]:
    """The sandbox, open and fit for what is asked; raises Refusal before anything was consumed."""
    try:
        try:
            sandbox.open()
        except SandboxUnavailable as error:
            raise refused("sandbox-unavailable", Problem(error.what, hint=error.hint)) from None
        check_fit(asked, sandbox, journal, protected)
        yield
    finally:
        sandbox.close()
