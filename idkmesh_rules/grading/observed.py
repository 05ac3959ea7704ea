"""From an assessment and what the broker signed to what the rules see.

Invariants: what is the host's fault (a control that wasn't enforced, a message that isn't authentic, authority that was
revoked) is told as not determined, because it is never held against a candidate; what the candidate ran into is told as
it is (design: grading, *Into the rule engine*; contracts, *Outcomes*).
"""

from idkmesh_rules.grading.supervisor import Assessment, State
from idkmesh_rules.grading.values import JobOutcome, JobResult, Manifest, Role
from idkmesh_rules.model.grading import GradedCheck, GradedControl, GradedJob, Grading


def observed(manifest: Manifest, assessment: Assessment, results: tuple[JobResult | None, JobResult | None]) -> Grading:
    """The grading of a manifest; `results` are the authentic results of both jobs, None where there is none."""
    jobs = tuple([_job(role, result) for role, result in zip(Role, results, strict=True)])
    return Grading(
        assessment.state.value,
        assessment.reason,
        assessment.host_fault,
        tuple([each.name for each in assessment.checks]) or None,
        tuple([GradedCheck(each.name, each.equal, each.grader_status) for each in assessment.checks]),
        jobs,
        tuple(_controls(manifest, results)),
    )


def not_observed(declared: tuple[str, ...] | None, required_controls: tuple[str, ...], reason: str) -> Grading:
    """A grading that came to nothing, for a reason that is none of the candidate's: everything in it is unknown."""
    return Grading(
        State.MISSING.value,
        reason,
        True,
        declared,
        tuple([GradedCheck(name, None, None) for name in declared or ()]),
        tuple([_job(role, None) for role in Role]),
        tuple([GradedControl(control, True, None) for control in sorted(required_controls)]),
    )


def _job(role: Role, result: JobResult | None) -> GradedJob:
    if result is None:
        return GradedJob(role.value, None, None, None, None, None, None)
    usage = result.usage
    cpu = None if usage.cpu_seconds is None else round(usage.cpu_seconds * 1000)
    # That a job could not begin says nothing of what it would have needed, and the grader's ceilings are the verifier's.
    host = result.outcome is JobOutcome.SETUP_FAILED or role is Role.GRADER
    within = True if result.outcome is JobOutcome.EXITED else None if host else False
    return GradedJob(role.value, True, True, within, round(usage.wall_seconds * 1000), cpu, usage.peak_bytes)


def _controls(manifest: Manifest, results: tuple[JobResult | None, JobResult | None]) -> list[GradedControl]:
    required = {*manifest.candidate.required_controls, *manifest.grader.required_controls}
    reported = [frozenset(result.enforced) if result is not None else None for result in results]
    named = required.union(*(each for each in reported if each is not None))
    found = []
    for control in sorted(named):
        everywhere = all(each is not None and control in each for each in reported)
        undetermined = not everywhere and (control in required or None in reported)
        found.append(GradedControl(control, control in required, None if undetermined else everywhere))
    return found
