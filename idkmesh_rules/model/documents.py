"""The documents that a run reads, as typed values: what the checks need of them, nothing they don't.

Invariants: a value of these types was read by the strict reader and passed its schema; its digest is the canonical one;
what the worker says beyond the claim that is checked (`changed_paths`, counters, extensions) has no place here at all, so
that no check can come to believe it (design: contracts, *Evaluator sovereignty*, 5).
"""

from collections.abc import Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar


class Document(NamedTuple):
    """One document as read: its role (`work-unit`, …), where from, the exact bytes, the JSON value and the digest.

    `digest` is the canonical digest of `value`, which documents are bound by; `value` must not be changed.
    """

    name: str
    source: str
    data: bytes
    value: Mapping[str, Any]
    digest: str


class Validator(NamedTuple):
    """A validator that the WorkUnit lists."""

    id: str
    type: str
    required: bool


class EvidenceRequirement(NamedTuple):
    """A type of evidence that the WorkUnit asks for."""

    type: str
    required: bool


class WorkUnit(NamedTuple):
    """WorkUnit 0.2: the trusted acceptance contract. `wall_seconds` is its budget of wall time, where it has one."""

    document: Document
    id: str
    version: int
    validators: tuple[Validator, ...]
    evidence_requirements: tuple[EvidenceRequirement, ...]
    allowed_paths: tuple[str, ...]
    forbidden_paths: tuple[str, ...]
    filesystem_write: tuple[str, ...]
    source_revision: str | None
    independent_from_worker: bool
    minimum_independent_verifiers: int
    max_attempts: int
    process_execution: bool
    wall_seconds: float | None

    @property
    def required_validator_ids(self) -> frozenset[str]:
        """Ids of the validators that must pass."""
        return frozenset(validator.id for validator in self.validators if validator.required)


class Agent(NamedTuple):
    """Whoever worked or verified: id, type, adapter, and the model's provider and name where one is told."""

    id: str
    type: str
    adapter: str
    model_family: tuple[str | None, str] | None


class Artifact(NamedTuple):
    """A produced artifact that the manifest declares; `locator` is a path below the candidate root, as claimed."""

    id: str
    type: str
    locator: str
    digest: str


class Log(NamedTuple):
    """A log that the manifest declares, with the digest it claims, if it claims one."""

    type: str
    locator: str
    digest: str | None


class ResultManifest(NamedTuple):
    """ResultManifest 0.1: the worker's claim. Every field is a claim, to be held against what was observed."""

    document: Document
    id: str
    work_unit_id: str
    work_unit_version: int
    work_unit_digest: str
    source_revision: str
    attempt: int
    worker: Agent
    status: str
    artifacts: tuple[Artifact, ...]
    logs: tuple[Log, ...]
    expected_validator_ids: tuple[str, ...]
    evidence_artifact_ids: tuple[str, ...]


class Binding(NamedTuple):
    """What a plan is bound to.

    `source_revision` is the revision that the candidate must start from; `revision_required` tells whether the manifest
    has to name it, too.
    """

    work_unit_id: str
    work_unit_version: int
    work_unit_digest: str
    source_revision: str
    revision_required: bool = True


class BundlePin(NamedTuple):
    """This project's extension of a plan: which rule bundle it means, under which digest, with which parameters."""

    id: str | None
    digest: str | None
    parameters: Mapping[str, Any]


class RequiredLine(NamedTuple):
    """A line that the verifier demands: among the added or the removed lines, whole or as a substring of one."""

    side: Literal["added", "removed"]
    match: Literal["whole", "substring"]
    text: str


class PatchDemands(NamedTuple):
    """What a unified-diff plan (0.2, 0.3 or 0.4) asks of a patch."""

    candidate_artifact_id: str
    max_candidate_bytes: int
    max_log_bytes: int
    required_log_types: tuple[str, ...]
    required_lines: tuple[RequiredLine, ...]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that a hidden plan keeps to the verifier, in the plan's order."""
        return tuple(line.text for line in self.required_lines)


class AnswerDemands(NamedTuple):
    """What an exact-JSON plan (0.1) asks of an answer: which files it consists of, and which value one of them holds.

    `required_json` must not be changed.
    """

    candidate_artifact_id: str
    max_candidate_bytes: int
    allowed_files: tuple[str, ...]
    required_json: Mapping[str, Any]

    @property
    def secrets(self) -> tuple[str, ...]:
        """None by name: every value that differs is one, and gets its number when it is told."""
        return ()


class PlanCheck(NamedTuple):
    """A check of a workspace plan: a label on one of the built-in checks, and whether acceptance needs it."""

    id: str
    type: str
    required: bool
    builtin: str


class BaselineFile(NamedTuple):
    """What a file of the workspace was before the work; `mode` is None where the baseline doesn't say."""

    digest: str
    mode: str | None


class WorkspaceDemands(NamedTuple):
    """What a workspace plan (0.1) holds a workspace against: the complete baseline, and which paths aren't compared.

    `baseline` must not be changed.
    """

    checks: tuple[PlanCheck, ...]
    baseline: Mapping[str, BaselineFile]
    ignore_paths: tuple[str, ...]

    @property
    def secrets(self) -> tuple[str, ...]:
        """None by name: what the candidate doesn't show by itself gets its number when it is told."""
        return ()


class ProtectedFile(NamedTuple):
    """A file of the verifier's: its path below the plan's own directory, and the digest of its bytes."""

    path: str
    digest: str


class SandboxJob(NamedTuple):
    """One of the two jobs of a sandboxed plan; the ceilings are seconds, bytes, and counts, by name."""

    job_id: str
    runtime: str
    command: tuple[str, ...]
    evaluator: tuple[ProtectedFile, ...]
    limits: Mapping[str, int]


class SandboxDemands(NamedTuple):
    """What a sandboxed plan (0.5) asks for: two jobs, the protected artifacts, and what the sandbox has to enforce."""

    candidate_artifact_id: str
    max_candidate_bytes: int
    assessment_id: str
    test_bundle: ProtectedFile
    result_schema: ProtectedFile
    fixture: ProtectedFile
    candidate: SandboxJob
    grader: SandboxJob
    required_controls: tuple[str, ...]

    @property
    def secrets(self) -> tuple[str, ...]:
        """None: the expected values lie in files that no result shows."""
        return ()


BUILTINS = ("input_schema", "scope", "artifact_digest", "provenance", "verification_request")
"""The built-in checks of a workspace plan: the validators of a workspace rule bundle."""

D = TypeVar("D", bound=PatchDemands | AnswerDemands | WorkspaceDemands | SandboxDemands)


class EvaluatorPlan(NamedTuple, Generic[D]):
    """The verifier's own expectations, bound to one WorkUnit: what all plans share, and what this backend demands."""

    document: Document
    id: str
    schema_version: str
    backend: str
    binding: Binding
    hidden: bool
    verifier: Agent
    verifier_value: Mapping[str, Any]
    requires_distinct_verifier: bool
    required_validator_ids: tuple[str, ...]
    pin: BundlePin
    demands: D


AnyPlan = EvaluatorPlan[Any]
"""A plan of whatever backend."""
