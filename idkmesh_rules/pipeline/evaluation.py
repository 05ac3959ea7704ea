"""Evaluate one candidate, from paths to a decision with its evidence, without running anything of it.

Invariant: the output is published once, at the end, whole.
"""

from pathlib import Path

from idkmesh_rules.checks import checks_of
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.model.evaluation import Evaluation
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.candidate import observe_candidate
from idkmesh_rules.pipeline.conclusion import conclude
from idkmesh_rules.pipeline.contract import Contract
from idkmesh_rules.pipeline.look import Progress
from idkmesh_rules.pipeline.run import AnyPath, Clock, Run, utc_now


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
    run = Run(limits, clock, output_dir, durable=durable)
    with run.recording():
        root = run.candidate(candidate_root)
        contract = run.contract(root, work_unit, evaluator_plan, bundle, require_pin=require_pin, reveal=reveal_hidden)
        _check_metadata_only(contract)
        checks = checks_of(contract.plan.backend)
        seen = observe_candidate(root, Path(result_manifest), contract, checks, run.limits, run.digests, progress)
        return conclude(
            contract,
            seen,
            checks,
            run.measured,
            output=run.output,
            durable=durable,
            reveal_hidden=reveal_hidden,
            most_findings=run.limits.findings_per_condition,
        )


def _check_metadata_only(contract: Contract) -> None:
    if BACKENDS[contract.plan.backend].executes:
        raise Refusal(
            "plan-sandboxed",
            "the plan lets the candidate's code run, and this verb runs none",
            problems=(Problem("execution_mode is sandboxed", contract.plan.document.source, "/execution_mode"),),
        )
