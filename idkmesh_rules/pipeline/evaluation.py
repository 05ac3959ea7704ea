"""Evaluate one candidate, from paths to a decision with its evidence.

Invariants: one clock reading a run, what it took is measured beside it; the output is published once, at the end, whole;
a refusal leaves `refusal.json` where an output directory can be made and nothing anywhere else.
"""

import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from idkmesh_rules.checks import checks_of
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.model.evaluation import Evaluation
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.control import read_control_file
from idkmesh_rules.observe.sovereignty import CandidateRoot, check_control_outside, check_output_outside
from idkmesh_rules.observe.tracked import check_untracked
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.candidate import observe_candidate
from idkmesh_rules.pipeline.conclusion import conclude
from idkmesh_rules.pipeline.contract import Asked, Contract, read_contract
from idkmesh_rules.pipeline.look import Progress
from idkmesh_rules.result.directory import check_absent, publish
from idkmesh_rules.result.documents import file_bytes
from idkmesh_rules.result.refusal import refusal_document
from idkmesh_rules.result.verification import Measured

Clock = Callable[[], datetime]
AnyPath = str | os.PathLike[str]


def utc_now() -> datetime:
    """The current time in UTC: the clock of a run unless another one is passed in."""
    return datetime.now(UTC)


def evaluate(
    work_unit: AnyPath,
    result_manifest: AnyPath,
    evaluator_plan: AnyPath,
    candidate_root: AnyPath,
    *,
    output_dir: AnyPath | None = None,
    bundle: Path | str | None = None,
    limits: Limits | None = None,
    clock: Clock = utc_now,
    durable: bool = True,
    require_pin: bool = False,
    reveal_hidden: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate a candidate and return the decision with all that carries it.

    Nothing of the candidate is executed, applied or believed. With `output_dir`, which must not exist, the evidence is
    written there, whole or not at all; `durable` syncs it to disk first. `bundle` is the id of a shipped rule bundle or a
    directory with a bundle.yaml; without it, the bundle that the plan pins or the backend's own is used. `require_pin`
    refuses a plan that pins no bundle digest; `reveal_hidden` shows a hidden plan's expectations in the result. `progress`
    is told now and then how many files and bytes of a workspace were read so far.

    Raises Refusal, and nothing else, when the inputs are wrong; a `refusal.json` was then written to `output_dir` if that
    was possible.
    """
    run = _Run(limits or Limits(), clock)
    output = None if output_dir is None else Path(output_dir)
    publishable = False
    try:
        root = CandidateRoot.of(Path(candidate_root))
        if output is not None:
            check_absent(output)
            check_output_outside(root, output)
            check_untracked(output)
            publishable = True
        contract = run.contract(
            root, Path(work_unit), Path(evaluator_plan), bundle, require_pin=require_pin, reveal=reveal_hidden
        )
        _check_metadata_only(contract)
        checks = checks_of(contract.plan.backend)
        seen = observe_candidate(root, Path(result_manifest), contract, checks, run.limits, run.digests, progress)
        return conclude(
            contract,
            seen,
            checks,
            run.measured,
            output=output,
            durable=durable,
            reveal_hidden=reveal_hidden,
            most_findings=run.limits.findings_per_condition,
        )
    except Refusal as refusal:
        refusal.digests.update(run.digests)
        if publishable and output is not None and not refusal.reason.startswith("output-"):
            # That the reason can't be written down doesn't change it: the refusal is raised all the same.
            with suppress(Refusal):
                publish(output, {"refusal.json": file_bytes(refusal_document(refusal))}, durable=durable)
        raise


def _check_metadata_only(contract: Contract) -> None:
    if BACKENDS[contract.plan.backend].observe is None:
        raise Refusal(
            "plan-sandboxed",
            "the plan lets the candidate's code run, and this verb runs none",
            problems=(Problem("execution_mode is sandboxed", contract.plan.document.source, "/execution_mode"),),
        )


class _Run:
    """One evaluation under way: its bounds, its clock, and the digests of what it has read so far."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self.limits, self.digests = limits, dict[str, str]()
        self._started_at, self._wall, self._cpu = clock(), time.perf_counter(), time.process_time()

    def contract(
        self,
        root: CandidateRoot,
        work_unit: Path,
        evaluator_plan: Path,
        bundle: Path | str | None,
        *,
        require_pin: bool,
        reveal: bool,
    ) -> Contract:
        limits = self.limits
        unit_file = read_control_file(work_unit, "WorkUnit", limits.document_bytes)
        plan_file = read_control_file(evaluator_plan, "evaluator plan", limits.plan_bytes)
        search = limits.link_search_entries
        check_control_outside(root, (("WorkUnit", unit_file), ("evaluator plan", plan_file)), search_limit=search)
        asked = Asked(unit_file, plan_file, bundle, require_pin, reveal)
        contract = read_contract(asked, limits, self.digests)
        check_control_outside(root, (("rule bundle", contract.rules.control),), search_limit=search)
        return contract

    def measured(self) -> Measured:
        wall = time.perf_counter() - self._wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Measured(
            self._started_at,
            self._started_at + timedelta(seconds=wall),
            round(wall, 6),
            round(time.process_time() - self._cpu, 6),
            round(peak, 3),
        )
