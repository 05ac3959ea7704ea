"""A recorded grading, held against what was signed and assessed; and its candidate looked at again, without running it.

Invariants: nothing runs; the facts about the jobs have to be those that follow from the attestations beside them, and
without an assessment all of them have to be unknown, so that no directory can claim a pass that nobody signed for.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from idkmesh_rules.audit.differences import Difference
from idkmesh_rules.audit.record import Record
from idkmesh_rules.checks import checks_of, collect
from idkmesh_rules.checks.grading import CHECK, GRADING_ASSESSMENT, GRADING_CHECK, GradingCase
from idkmesh_rules.grading.attestations import BROKER_FILE, MANIFEST_FILE, Read, read_attestations
from idkmesh_rules.grading.observed import not_observed
from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobSpec, Manifest
from idkmesh_rules.model.documents import AnyPlan, ProtectedFile, SandboxJob
from idkmesh_rules.model.facts import FactStore, KindFacts, Row
from idkmesh_rules.model.grading import Grading
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.pipeline.candidate import Seen, observe_candidate
from idkmesh_rules.pipeline.conclusion import conclude
from idkmesh_rules.pipeline.run import Run, utc_now


def graded_differences(record: Record, expect_broker: str | None) -> Iterator[Difference]:
    """What in a graded record isn't what was sealed, signed and assessed; `expect_broker` is a key id from elsewhere.

    Where nothing is attested nobody has signed anything, and all that a record may say is that nothing is known.
    """
    try:
        read = _read(record)
    except GradingError as error:
        file, _, message = str(error).partition(": ")
        yield Difference(file, message or str(error))
        return
    if expect_broker is not None and read is not None and read.key_id != expect_broker:
        message = "this is another broker than the expected one"
        yield Difference(BROKER_FILE, message, "/key_id", read.key_id, expect_broker, "expected")
    if read is not None:
        yield from _sealed(record, read.manifest)
    expected = _facts(record, _grading(record, read))
    for kind in CHECK.kinds:
        yield from _differing(record.basis.store[kind.name], expected[kind.name])


def _read(record: Record) -> Read | None:
    files = record.basis.attestations
    return read_attestations(files) if files else None


def _grading(record: Record, read: Read | None) -> Grading:
    """What the record's facts have to tell: what was assessed, or that nothing was, for the reason that is recorded."""
    if read is not None and read.grading is not None:
        return read.grading
    store = record.basis.store
    checks, assessments = store[GRADING_CHECK.name], store[GRADING_ASSESSMENT.name]
    declared = tuple(str(row[0]) for row in checks.rows) if checks.complete else None
    reason = assessments.rows[0][GRADING_ASSESSMENT.index["reason"]] if assessments.rows else ""
    return not_observed(declared, record.basis.subject.plan.demands.required_controls, str(reason))


def _facts(record: Record, grading: Grading) -> FactStore:
    unit, manifest, plan = record.basis.subject
    return collect((CHECK,), GradingCase(unit, manifest, plan, {}, Limits(), grading))[0]


def _differing(recorded: KindFacts, expected: KindFacts) -> Iterator[Difference]:
    name = recorded.kind.name
    if (recorded.complete, len(recorded.rows)) != (expected.complete, len(expected.rows)):
        yield Difference("facts.json", f"{name}: there are other facts than what was signed and assessed tells")
        return
    for mine, other in zip(recorded.rows, expected.rows, strict=True):
        if mine != other or [*map(type, mine)] != [*map(type, other)]:
            message = f"{name}: it is not what was signed and assessed"
            yield Difference("facts.json", message, None, _spelled(recorded, mine), _spelled(expected, other), "signed")
            return


def _spelled(facts: KindFacts, row: Row) -> str:
    return ", ".join(f"{field.name} {value}" for field, value in zip(facts.kind.fields, row, strict=True))


def _sealed(record: Record, manifest: Manifest) -> Iterator[Difference]:
    """What the sealed manifest says otherwise than the plan and the declared candidate do."""
    claim, plan = record.basis.subject.manifest, record.basis.subject.plan
    demands = plan.demands
    declared = next((each.digest for each in claim.artifacts if each.id == demands.candidate_artifact_id), None)
    pairs: list[tuple[str, object, object]] = [
        ("manifest_id", manifest.manifest_id, demands.assessment_id),
        ("candidate/inputs", [each.digest for each in manifest.candidate.inputs], [declared]),
        ("grader/inputs", list(manifest.grader.inputs), []),
        *(
            (name, _pinned(getattr(manifest, name)), getattr(demands, name))
            for name in ("test_bundle", "result_schema", "fixture")
        ),
        *_jobs(plan, manifest),
    ]
    for name, sealed, wanted in pairs:
        if sealed != wanted:
            yield Difference(MANIFEST_FILE, "it is not what the plan and the claim say", f"/{name}")


def _jobs(plan: AnyPlan, manifest: Manifest) -> Iterator[tuple[str, object, object]]:
    for role in ("candidate", "grader"):
        spec: JobSpec = getattr(manifest, role)
        asked: SandboxJob = getattr(plan.demands, role)
        yield f"{role}/job_id", spec.job_id, asked.job_id
        yield f"{role}/runtime", spec.runtime, asked.runtime
        yield f"{role}/command", spec.command, asked.command
        yield f"{role}/evaluator", tuple(map(_pinned, spec.evaluator)), asked.evaluator
        yield f"{role}/limits", spec.limits._asdict(), asked.limits
        yield f"{role}/required_controls", spec.required_controls, plan.demands.required_controls


def _pinned(reference: ArtifactRef) -> ProtectedFile:
    return ProtectedFile(reference.name, reference.digest)


def write_again(
    record: Record,
    inputs: tuple[Path, Path, Path, Path],
    root: Path,
    output: Path,
    limits: Limits,
    *,
    revealed: bool,
) -> None:
    """Look at a graded record's candidate again, take what the jobs came to as it was signed, and write the evidence.

    `inputs` are copies of WorkUnit, manifest, plan and bundle. Raises Refusal.
    """
    unit, manifest, plan, bundle = inputs
    run = Run(limits, utc_now, output, durable=False)
    place = run.candidate(root)
    contract = run.contract(place, unit, plan, bundle.parent, require_pin=False, reveal=revealed)
    checks = checks_of(contract.plan.backend)
    seen = observe_candidate(place, manifest, contract, checks, limits, run.digests)
    try:
        grading = _grading(record, _read(record))
    except GradingError:
        grading = _grading(record, None)
    case = seen.case
    assert isinstance(case, GradingCase)
    case = replace(case, grading=grading)
    conclude(
        contract,
        Seen(seen.manifest, case, *collect(checks, case)),
        checks,
        run.measured,
        output=output,
        durable=False,
        reveal_hidden=revealed,
        most_findings=limits.findings_per_condition,
        attestations=record.basis.attestations,
    )
