"""The worker's claim held against the trusted documents: schema, binding, attempt, evidence request, coverage.

Invariants: what the WorkUnit and the plan say is the expectation, what the manifest says is the observation, never the
other way round; the sets of validator ids are compared as sets.
"""

from collections.abc import Iterator

from idkmesh_rules.checks.check import Asked, Case, Check, Emission
from idkmesh_rules.model.facts import Category, FactKind, Field, FieldType, FindingTemplate, Invariant, Origin, Severity

_MANIFEST = "result-manifest"
_EVIDENCE_TYPES = ("test_output", "review", "benchmark", "citation", "trace", "attestation", "artifact_hash", "other")
_WRITTEN_EVIDENCE = frozenset({"artifact_hash", "test_output", "trace"})

MANIFEST_SCHEMA = FactKind(
    "manifest.schema",
    "Whether the result manifest satisfies its JSON schema.",
    (
        Field("valid", FieldType.BOOL, "no violation was found"),
        Field("error_count", FieldType.INT, "violations found"),
        Field("first_error", FieldType.STRING, "the first violation, with its pointer", optional=True),
    ),
    FindingTemplate(Severity.HIGH, Category.PROVENANCE, "the result manifest breaks its schema: {first_error}"),
    (
        Invariant(
            "valid exactly if there are no errors", ("valid", "error_count"), lambda valid, count: valid == (count == 0)
        ),
    ),
)

MANIFEST_BINDING = FactKind(
    "manifest.binding",
    "Whether the manifest names the WorkUnit and, where the plan demands it, the source revision that the plan is bound to.",
    (
        Field(
            "field",
            FieldType.ENUM,
            "which binding",
            key=True,
            values=("work_unit_id", "work_unit_version", "work_unit_digest", "source_revision"),
        ),
        Field("expected", FieldType.STRING, "what the trusted documents say"),
        Field("observed", FieldType.STRING, "what the manifest says"),
        Field("matches", FieldType.BOOL, "both are the same text"),
    ),
    FindingTemplate(
        Severity.HIGH, Category.PROVENANCE, "the manifest is bound to another {field}: {observed} instead of {expected}"
    ),
    (
        Invariant(
            "matches exactly if both texts are equal",
            ("expected", "observed", "matches"),
            lambda expected, observed, matches: matches == (expected == observed),
        ),
    ),
)

MANIFEST_ATTEMPT = FactKind(
    "manifest.attempt",
    "Which attempt this is, and whether the WorkUnit grants that many.",
    (
        Field("attempt", FieldType.INT, "as the manifest counts, from 1"),
        Field("max_attempts", FieldType.INT, "as the WorkUnit grants"),
        Field("within", FieldType.BOOL, "attempt is no higher than max_attempts"),
    ),
    FindingTemplate(Severity.LOW, Category.POLICY, "attempt {attempt} of at most {max_attempts}"),
    (
        Invariant(
            "within exactly if attempt is at most max_attempts",
            ("attempt", "max_attempts", "within"),
            lambda attempt, most, within: within == (attempt <= most),
        ),
    ),
)

EVIDENCE_REQUEST = FactKind(
    "evidence.request",
    "An artifact that the worker names as evidence, and whether it declares one of that id.",
    (
        Field("artifact", FieldType.STRING, "artifact id", key=True),
        Field("declared", FieldType.BOOL, "among the produced artifacts"),
    ),
    FindingTemplate(Severity.MEDIUM, Category.PROVENANCE, "the evidence artifact {artifact} is not declared"),
)

VALIDATOR_COVERAGE = FactKind(
    "validator.coverage",
    "A validator that somebody names, and who requires, requests and covers it.",
    (
        Field("validator", FieldType.STRING, "validator id", key=True),
        Field("required", FieldType.BOOL, "the WorkUnit requires it"),
        Field("requested_by_worker", FieldType.BOOL, "the manifest's verification request names it"),
        Field("covered_by_plan", FieldType.BOOL, "the plan promises it"),
    ),
    FindingTemplate(
        Severity.HIGH,
        Category.POLICY,
        "the worker's verification request leaves out the required validator {validator}",
    ),
)

EVIDENCE_REQUIREMENT = FactKind(
    "evidence.requirement",
    "A type of evidence that the WorkUnit asks for, and whether this run produces it.",
    (
        Field("type", FieldType.ENUM, "type of evidence", key=True, values=_EVIDENCE_TYPES),
        Field("required", FieldType.BOOL, "the WorkUnit requires it"),
        Field("covered", FieldType.BOOL, "written by this run, or a planned validator is of that type"),
    ),
    FindingTemplate(Severity.INFO, Category.POLICY, "this run produces no evidence of type {type}"),
)


def _schema(case: Case) -> Iterator[Emission]:
    # A manifest that breaks its schema can't be named in a result, so such a run was refused before (contracts, *Outcomes*).
    yield Emission(MANIFEST_SCHEMA, (True, 0, None), Origin("manifest-schema", _MANIFEST, pointer=""))


def _schema_asked(case: Case) -> Asked:
    return {MANIFEST_SCHEMA.name: frozenset({()})}


def _binding(case: Case) -> Iterator[Emission]:
    claim, expected, check = case.manifest, case.plan.binding, "manifest-binding"
    for field, pointer, wanted, found in (
        ("work_unit_id", "/work_unit_id", expected.work_unit_id, claim.work_unit_id),
        ("work_unit_version", "/work_unit_version", str(expected.work_unit_version), str(claim.work_unit_version)),
        ("work_unit_digest", "/provenance/work_unit_digest", expected.work_unit_digest, claim.work_unit_digest),
        ("source_revision", "/provenance/source_revision", expected.source_revision, claim.source_revision),
    ):
        if field == "source_revision" and not expected.revision_required:
            continue
        yield Emission(
            MANIFEST_BINDING, (field, wanted, found, wanted == found), Origin(check, _MANIFEST, pointer=pointer)
        )
    most = case.work_unit.max_attempts
    yield Emission(
        MANIFEST_ATTEMPT, (claim.attempt, most, claim.attempt <= most), Origin(check, _MANIFEST, pointer="/attempt")
    )
    declared = {artifact.id for artifact in claim.artifacts}
    for position, artifact_id in enumerate(claim.evidence_artifact_ids):
        origin = Origin(check, _MANIFEST, pointer=f"/verification_request/evidence_artifact_ids/{position}")
        yield Emission(EVIDENCE_REQUEST, (artifact_id, artifact_id in declared), origin)


def _binding_asked(case: Case) -> Asked:
    demanded = case.plan.document.value["policy"].get("require_source_revision_match", True)
    fields = MANIFEST_BINDING.fields[0].values if demanded else MANIFEST_BINDING.fields[0].values[:-1]
    return {
        MANIFEST_BINDING.name: frozenset((field,) for field in fields),
        MANIFEST_ATTEMPT.name: frozenset({()}),
        EVIDENCE_REQUEST.name: frozenset((name,) for name in case.manifest.evidence_artifact_ids),
    }


def _coverage(case: Case) -> Iterator[Emission]:
    unit, check = case.work_unit, "validator-coverage"
    requested, covered = frozenset(case.manifest.expected_validator_ids), frozenset(case.plan.required_validator_ids)
    required = unit.required_validator_ids
    places = {
        validator.id: ("work-unit", f"/validators/{position}/id") for position, validator in enumerate(unit.validators)
    }
    for name in sorted(places.keys() | requested | covered):
        document, pointer = places.get(name, (_MANIFEST, "/verification_request/expected_validator_ids"))
        yield Emission(
            VALIDATOR_COVERAGE,
            (name, name in required, name in requested, name in covered),
            Origin(check, document, pointer=pointer),
        )
    produced = _WRITTEN_EVIDENCE | {validator.type for validator in unit.validators if validator.id in covered}
    wanted = {requirement.type: False for requirement in unit.evidence_requirements}
    for requirement in unit.evidence_requirements:
        wanted[requirement.type] |= requirement.required
    for evidence_type, needed in wanted.items():
        yield Emission(
            EVIDENCE_REQUIREMENT,
            (evidence_type, needed, evidence_type in produced),
            Origin(check, "work-unit", pointer="/evidence_requirements"),
        )


def _coverage_asked(case: Case) -> Asked:
    named = {validator.id for validator in case.work_unit.validators}
    named.update(case.plan.required_validator_ids, case.manifest.expected_validator_ids)
    return {
        VALIDATOR_COVERAGE.name: frozenset((name,) for name in named),
        EVIDENCE_REQUIREMENT.name: frozenset(
            (requirement.type,) for requirement in case.work_unit.evidence_requirements
        ),
    }


SCHEMA_CHECK = Check(
    "manifest-schema",
    "the result manifest against its JSON schema",
    "trace",
    (MANIFEST_SCHEMA,),
    _schema,
    _schema_asked,
)
BINDING_CHECK = Check(
    "manifest-binding",
    "the manifest's bindings, attempt and evidence request against WorkUnit and plan",
    "trace",
    (MANIFEST_BINDING, MANIFEST_ATTEMPT, EVIDENCE_REQUEST),
    _binding,
    _binding_asked,
)
COVERAGE_CHECK = Check(
    "validator-coverage",
    "who requires, requests and covers each validator and type of evidence",
    "trace",
    (VALIDATOR_COVERAGE, EVIDENCE_REQUIREMENT),
    _coverage,
    _coverage_asked,
)
