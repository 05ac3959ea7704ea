"""How the trusted documents must fit each other before anything is believed (design: contracts, *Evaluator sovereignty*).

Invariants: every mismatch is named at once; a mismatch between the verifier's own documents is the verifier's fault, a
worker that carries the verifier's id is the worker's.
"""

from idkmesh_rules.contracts.schema import shorten
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.model.documents import BUILTINS, AnyPlan, ResultManifest, WorkUnit


def check_plan_binding(unit: WorkUnit, plan: AnyPlan) -> None:
    """Invariant 2: the plan is bound to exactly this WorkUnit and source revision; else Refusal `binding-drift`."""
    bound = plan.binding
    pairs = [
        ("work_unit_id", bound.work_unit_id, unit.id),
        ("work_unit_version", bound.work_unit_version, unit.version),
        ("work_unit_digest", bound.work_unit_digest, unit.document.digest),
    ]
    if unit.source_revision is not None:
        pairs.append(("source_revision", bound.source_revision, unit.source_revision))
    problems = tuple(
        Problem(
            f"the plan is bound to {name} {shorten(said, 100)}, the WorkUnit has {shorten(true, 100)}",
            plan.document.source,
            f"/{name}" if name in plan.document.value else f"/binding/{name}",
        )
        for name, said, true in pairs
        if said != true
    )
    if problems:
        raise Refusal("binding-drift", "the plan is bound to another WorkUnit than the one given", problems=problems)


def check_validator_sets(unit: WorkUnit, plan: AnyPlan, implemented: frozenset[str], bundle: str) -> None:
    """Invariant 3: plan's set = WorkUnit's required set = what the bundle implements; else Refusal `validator-set-mismatch`."""
    planned, required = frozenset(plan.required_validator_ids), unit.required_validator_ids
    problems = [
        *_difference(
            planned, required, plan.document.source, "/required_validator_ids", "the plan", "the WorkUnit requires"
        ),
        *_difference(required, planned, unit.document.source, "/validators", "the WorkUnit", "the plan promises"),
        *_difference(
            planned,
            implemented,
            plan.document.source,
            "/required_validator_ids",
            "the plan",
            f"the rule bundle {bundle} implements",
        ),
        *_difference(implemented, planned, bundle, None, f"the rule bundle {bundle}", "the plan promises"),
    ]
    if problems:
        raise Refusal(
            "validator-set-mismatch",
            "plan, WorkUnit and rule bundle don't name the same required validators",
            problems=tuple(problems),
        )


def check_builtin_validators(unit: WorkUnit, plan: AnyPlan, implemented: frozenset[str], bundle: str) -> None:
    """The workspace's share of invariant 3: the bundle implements the built-in checks, exactly; else a Refusal.

    What the WorkUnit requires and the plan doesn't cover is no refusal: it becomes an inconclusive check.
    """
    builtins = frozenset(BUILTINS)
    problems = [
        *_difference(
            builtins, implemented, bundle, None, "the workspace backend", f"the rule bundle {bundle} implements"
        ),
        *_difference(implemented, builtins, bundle, None, f"the rule bundle {bundle}", "the built-in checks are"),
    ]
    if problems:
        raise Refusal(
            "validator-set-mismatch",
            "the rule bundle's validators aren't the built-in checks of a workspace plan",
            problems=tuple(problems),
        )


def check_execution(unit: WorkUnit, plan: AnyPlan) -> None:
    """The WorkUnit bounds what a sandboxed plan may run; else Refusal `plan-exceeds-work-unit` (design: grading).

    Both jobs run one after the other, so that it is their wall times together that have to fit its budget.
    """
    source, problems = plan.document.source, []
    if not unit.process_execution:
        problems.append(
            Problem(
                "the WorkUnit's permissions.process_execution is false, and this plan runs the candidate",
                source,
                "/execution_mode",
                hint="judge the candidate with a plan of another version",
            )
        )
    jobs = (plan.demands.candidate, plan.demands.grader)
    together = sum(job.limits["wall_seconds"] for job in jobs)
    if unit.wall_seconds is not None and together > unit.wall_seconds:
        problems.append(
            Problem(
                f"both jobs may take {together} seconds of wall time, the WorkUnit's budget has {unit.wall_seconds:g}",
                source,
                "/jobs",
                hint="lower limits.wall_seconds of one of them",
            )
        )
    if problems:
        raise Refusal("plan-exceeds-work-unit", "the plan runs more than the WorkUnit allows", problems=tuple(problems))


def _difference(
    mine: frozenset[str], other: frozenset[str], source: str, pointer: str | None, owner: str, against: str
) -> list[Problem]:
    others = ", ".join(sorted(other)) or "none"
    return [
        Problem(f"{owner} names {shorten(name)}, but {against}: {others}", source, pointer)
        for name in sorted(mine - other)
    ]


def check_independence(unit: WorkUnit, plan: AnyPlan, manifest: ResultManifest) -> None:
    """Invariant 4: the verifier isn't the worker; else Refusal `verifier-is-worker`, the worker's fault: it chose its id."""
    demanded = unit.independent_from_worker or plan.requires_distinct_verifier
    if demanded and manifest.worker.id == plan.verifier.id:
        raise Refusal(
            "verifier-is-worker",
            "the worker claims the verifier's identity",
            fault="worker",
            problems=(
                Problem(
                    f"the worker's id {shorten(manifest.worker.id)} is the id of the plan's verifier",
                    manifest.document.source,
                    "/worker/id",
                    hint="independent verification needs two identities",
                ),
            ),
        )
