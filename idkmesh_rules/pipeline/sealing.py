"""What is going to run, sealed before anything does: both jobs with the digests of all that they get.

Invariant: a sealed grading follows from the plan, the bytes of its files and the bytes of the candidate alone, so that the
same ones are the same grading.
"""

from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.grading.protocol import PROTOCOL, supervisor_revision
from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobLimits, JobSpec, Manifest, Role, read_manifest
from idkmesh_rules.model.documents import AnyPlan
from idkmesh_rules.pipeline.protected import Protected
from idkmesh_rules.sandbox.controls import CONTROLS
from idkmesh_rules.sandbox.interface import Sandbox

CANDIDATE = "candidate"
"""The name under which the candidate's job finds the candidate: /inputs/candidate."""


class Sealed(NamedTuple):
    """A grading before it begins: the plan, its manifest, every artifact by name and bytes, and the names of its checks."""

    plan: AnyPlan
    manifest: Manifest
    artifacts: tuple[tuple[str, bytes], ...]
    checks: tuple[str, ...]

    @property
    def jobs(self) -> tuple[JobSpec, JobSpec]:
        """Both jobs, the candidate's first."""
        return self.manifest.candidate, self.manifest.grader


def sealed(plan: AnyPlan, protected: Protected, candidate: bytes) -> Sealed:
    """Seal the grading of a candidate's bytes under a plan."""
    demands = plan.demands
    reference = ArtifactRef(CANDIDATE, bytes_digest(candidate), len(candidate))

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

    manifest = Manifest(
        demands.assessment_id,
        PROTOCOL,
        supervisor_revision(),
        job(Role.CANDIDATE, (reference,)),
        job(Role.GRADER, ()),
        protected.reference("test_bundle"),
        protected.reference("result_schema"),
        protected.reference("fixture"),
    )
    files = tuple([(each.name, data) for each, data in protected.files.values()])
    return Sealed(plan, manifest, ((CANDIDATE, candidate), *files), protected.checks)


def check_fit(asked: Sealed, sandbox: Sandbox, journal: Path, protected: Protected) -> None:
    """Raise Refusal `sandbox-unfit` with all that an open sandbox can't do, or would show, of a grading."""
    source, problems = asked.plan.document.source, []
    try:
        # What a result holds of it has to be readable again, and that is found out before anything runs.
        read_manifest(asked.manifest.as_json())
    except GradingError as error:
        problems.append(Problem(str(error), source, "/jobs"))
    for control in sorted(set(asked.plan.demands.required_controls) - sandbox.controls):
        told = (
            "is not enforced on this machine" if control in CONTROLS else "is no control that a sandbox could enforce"
        )
        hint = f"enforced are: {', '.join(sorted(sandbox.controls))}"
        problems.append(Problem(f"{control} {told}", source, "/required_controls", hint=hint))
    for spec in asked.jobs:
        try:
            sandbox.check(spec)
        except GradingError as error:
            problems.append(Problem(str(error), source, f"/jobs/{spec.role.value}"))
            continue
        for path in (journal, Path(source)):
            if sandbox.shows(spec.runtime, path):
                told = f"the {spec.role.value} job could read it, as its runtime shows this directory"
                problems.append(Problem(told, str(path), hint="keep it elsewhere"))
        for place, control in protected.controls.items():
            if sandbox.shows(spec.runtime, control.path):
                told = f"the {spec.role.value} job could read this file, as its runtime shows where it leads"
                problems.append(Problem(told, source, f"/{place}", hint="make a copy that lies elsewhere"))
    if problems:
        raise refused("sandbox-unfit", *dict.fromkeys(problems))


def refused(reason: str, *problems: Problem) -> Refusal:
    """A refusal of a grading, in the words that belong to its reason."""
    message = {
        "control-inside-candidate": "the host's state is within the candidate's reach",
        "assessment-used": "this plan's assessment belongs to something else",
        "journal-unusable": "the host's state for grading can't be used",
        "sandbox-unavailable": "this machine has no sandbox",
        "sandbox-unfit": "this machine's sandbox can't run the plan's jobs as it demands",
    }[reason]
    return Refusal(reason, message, problems=problems)
