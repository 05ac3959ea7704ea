"""What grading speaks of: jobs, artifacts, what a broker signs, and what an assessment is bound to.

Invariants: values are frozen and are made of JSON only by the readers here, which take exactly the documented fields; the
digest of a value is that of its canonical JSON, so that what is pinned is what is compared (design: grading).
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from idkmesh_rules.contracts.digest import canonical_digest

MAX_ARTIFACTS = 1000
_ID = re.compile(r"[a-z0-9][a-z0-9._/-]{2,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NONCE = re.compile(r"[0-9a-f]{64}")


class GradingError(Exception):
    """A value of the grading subsystem breaks its contract; the message says which field and what was expected."""


class Role(Enum):
    """Which of the two jobs: the candidate's code on chosen inputs, or the verifier's grader on what it exported."""

    CANDIDATE = "candidate"
    GRADER = "grader"


class ArtifactRef(NamedTuple):
    """Bytes by name: where a job finds them, or what it exported; the size is in bytes."""

    name: str
    digest: str
    size: int


class JobLimits(NamedTuple):
    """Ceilings of one job: seconds, bytes, and a count of processes; all are enforced, or reported as not."""

    wall_seconds: int
    cpu_seconds: int
    memory_bytes: int
    processes: int
    output_bytes: int
    export_bytes: int


class JobSpec(NamedTuple):
    """What a broker is asked to run, once: `inputs` are the job's, `evaluator` is the verifier's and read-only.

    `required_controls` name what the sandbox has to enforce; a result without one of them is unusable.
    """

    job_id: str
    role: Role
    runtime: str
    command: tuple[str, ...]
    inputs: tuple[ArtifactRef, ...]
    evaluator: tuple[ArtifactRef, ...]
    limits: JobLimits
    required_controls: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The spec as a JSON object."""
        return {**as_plain(self), "role": self.role.value}

    @property
    def digest(self) -> str:
        """What a receipt is held against."""
        return canonical_digest(self.as_json())


class Manifest(NamedTuple):
    """A sealed registration: both jobs, the protected artifacts, and the protocol implementation that they need."""

    manifest_id: str
    protocol: str
    supervisor_revision: str
    candidate: JobSpec
    grader: JobSpec
    test_bundle: ArtifactRef
    result_schema: ArtifactRef
    fixture: ArtifactRef
    state_probes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The manifest as a JSON object."""
        return {**as_plain(self), "candidate": self.candidate.as_json(), "grader": self.grader.as_json()}

    @property
    def digest(self) -> str:
        """What assessments and journal records are bound to."""
        return canonical_digest(self.as_json())

    def job(self, role: Role) -> JobSpec:
        """The job of a role."""
        return self.candidate if role is Role.CANDIDATE else self.grader


class Receipt(NamedTuple):
    """That a broker accepted a job: everything that it was bound to when it did. Times are RFC 3339, UTC."""

    kind: str
    key_id: str
    journal_id: str
    job_id: str
    role: Role
    nonce: str
    spec_digest: str
    policy_digest: str
    seccomp_digest: str
    inputs_digest: str
    evaluator_digest: str
    runtime: str
    accepted_at: str

    def as_json(self) -> dict[str, Any]:
        """The receipt as a JSON object."""
        return {**as_plain(self), "role": self.role.value}

    @property
    def digest(self) -> str:
        """What a result names as its receipt."""
        return canonical_digest(self.as_json())


class JobOutcome(Enum):
    """How a job ended; the zero value says that it never began."""

    SETUP_FAILED = "setup_failed"
    EXITED = "exited"
    SIGNALED = "signaled"
    WALL = "wall"
    CPU = "cpu"
    MEMORY = "memory"
    PIDS = "pids"
    OUTPUT = "output"
    EXPORT = "export"


class Usage(NamedTuple):
    """What a job took, measured from outside of it: seconds, and bytes at its peak; None where it could not be measured."""

    wall_seconds: float
    cpu_seconds: float | None
    peak_bytes: int | None


class Stream(NamedTuple):
    """What a job printed, as digest and length in bytes, and whether more was cut off. It has no authority."""

    digest: str
    length: int
    truncated: bool


class JobResult(NamedTuple):
    """A terminal observation of a job, as its broker signed it. An exit code never implies a pass."""

    kind: str
    key_id: str
    job_id: str
    receipt_digest: str
    nonce: str
    outcome: JobOutcome
    exit_code: int | None
    usage: Usage
    exports: tuple[ArtifactRef, ...]
    stdout: Stream
    stderr: Stream
    enforced: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return {**as_plain(self), "outcome": self.outcome.value}


def as_plain(value: Any) -> Any:
    """A value as JSON: tuples with names are objects, others arrays."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: as_plain(each) for name, each in zip(value._fields, value, strict=True)}
    if isinstance(value, tuple):
        return [as_plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value


T = TypeVar("T")


class Fields:
    """The fields of a JSON object of exactly some names; every reader raises GradingError with the place."""

    def __init__(self, value: Any, what: str, names: tuple[str, ...]) -> None:
        if not isinstance(value, dict) or value.keys() != set(names):
            raise GradingError(f"{what} doesn't have exactly the fields {', '.join(names)}")
        self._value: Mapping[str, Any] = value
        self._what = what

    def take(self, name: str, fits: Callable[[Any], bool], expected: str) -> Any:
        """The value of a field that `fits`."""
        value = self._value[name]
        if not fits(value):
            raise GradingError(f"{self._what}.{name} is not {expected}")
        return value

    def text(self, name: str, most: int = 256) -> str:
        """A text of 1 to `most` characters."""
        value: str = self.take(name, lambda text: isinstance(text, str) and 0 < len(text) <= most, "a short text")
        return value

    def id(self, name: str) -> str:
        """An id."""
        value: str = self.take(name, lambda text: isinstance(text, str) and bool(_ID.fullmatch(text)), "an id")
        return value

    def digest(self, name: str) -> str:
        """A digest."""
        value: str = self.take(name, is_digest, "a digest")
        return value

    def nonce(self, name: str) -> str:
        """32 random bytes in hexadecimal digits."""
        value: str = self.take(name, lambda text: isinstance(text, str) and bool(_NONCE.fullmatch(text)), "a nonce")
        return value

    def count(self, name: str, least: int = 0) -> int:
        """An integer of at least `least`."""
        value: int = self.take(name, lambda n: type(n) is int and least <= n <= 1 << 53, f"an integer from {least}")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value: bool = self.take(name, lambda flag: type(flag) is bool, "true or false")
        return value

    def word(self, name: str, enum: type[T]) -> T:
        """A member of an enum by its value."""
        try:
            return enum(self._value[name])  # type: ignore[call-arg]  # an enum takes a value
        except ValueError:
            raise GradingError(f"{self._what}.{name} is none of the known words") from None

    def each(self, name: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
        """A list, each entry read; no more than `MAX_ARTIFACTS`."""
        listed = self.take(
            name, lambda value: isinstance(value, list) and len(value) <= MAX_ARTIFACTS, "a list of bounded length"
        )
        return tuple([read(value, f"{self._what}.{name}[{position}]") for position, value in enumerate(listed)])

    def under(self, name: str) -> Any:
        """The value of a field, for another reader."""
        return self._value[name]


def is_digest(value: Any) -> bool:
    """Whether a value is `sha256:` and 64 hexadecimal digits."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _short_text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 4096:
        raise GradingError(f"{what} is not a text of at most 4096 characters")
    return value


def read_artifact(value: Any, what: str = "artifact") -> ArtifactRef:
    """An artifact reference; raises GradingError."""
    fields = Fields(value, what, ArtifactRef._fields)
    return ArtifactRef(fields.text("name"), fields.digest("digest"), fields.count("size"))


def read_job(value: Any, what: str = "job") -> JobSpec:
    """A job; raises GradingError."""
    fields = Fields(value, what, JobSpec._fields)
    limits = Fields(fields.under("limits"), f"{what}.limits", JobLimits._fields)
    return JobSpec(
        fields.id("job_id"),
        fields.word("role", Role),
        fields.text("runtime"),
        fields.each("command", _short_text),
        fields.each("inputs", read_artifact),
        fields.each("evaluator", read_artifact),
        JobLimits(*(limits.count(name, 1) for name in JobLimits._fields)),
        fields.each("required_controls", _short_text),
    )


def read_manifest(value: Any) -> Manifest:
    """A sealed manifest; raises GradingError."""
    fields = Fields(value, "manifest", Manifest._fields)
    return Manifest(
        fields.id("manifest_id"),
        fields.text("protocol"),
        fields.digest("supervisor_revision"),
        read_job(fields.under("candidate"), "manifest.candidate"),
        read_job(fields.under("grader"), "manifest.grader"),
        read_artifact(fields.under("test_bundle"), "manifest.test_bundle"),
        read_artifact(fields.under("result_schema"), "manifest.result_schema"),
        read_artifact(fields.under("fixture"), "manifest.fixture"),
        fields.each("state_probes", _short_text),
    )


def read_receipt(value: Any) -> Receipt:
    """A receipt; raises GradingError."""
    fields = Fields(value, "receipt", Receipt._fields)
    return Receipt(
        fields.text("kind"),
        fields.text("key_id"),
        fields.id("journal_id"),
        fields.id("job_id"),
        fields.word("role", Role),
        fields.nonce("nonce"),
        fields.digest("spec_digest"),
        fields.digest("policy_digest"),
        fields.digest("seccomp_digest"),
        fields.digest("inputs_digest"),
        fields.digest("evaluator_digest"),
        fields.text("runtime"),
        fields.text("accepted_at"),
    )


def read_result(value: Any) -> JobResult:
    """A job's result; raises GradingError."""
    fields = Fields(value, "result", JobResult._fields)
    return JobResult(
        fields.text("kind"),
        fields.text("key_id"),
        fields.id("job_id"),
        fields.digest("receipt_digest"),
        fields.nonce("nonce"),
        fields.word("outcome", JobOutcome),
        fields.take("exit_code", lambda code: code is None or (type(code) is int and 0 <= code <= 255), "an exit code"),
        _usage(fields.under("usage")),
        fields.each("exports", read_artifact),
        _stream(fields.under("stdout"), "result.stdout"),
        _stream(fields.under("stderr"), "result.stderr"),
        fields.each("enforced", _short_text),
    )


def _usage(value: Any) -> Usage:
    fields = Fields(value, "result.usage", Usage._fields)

    def seconds(number: Any) -> bool:
        return type(number) in (int, float) and 0 <= number < 1e9

    return Usage(
        fields.take("wall_seconds", seconds, "a number of seconds"),
        fields.take("cpu_seconds", lambda number: number is None or seconds(number), "a number of seconds or null"),
        fields.take(
            "peak_bytes", lambda number: number is None or (type(number) is int and number >= 0), "bytes or null"
        ),
    )


def _stream(value: Any, what: str) -> Stream:
    fields = Fields(value, what, Stream._fields)
    return Stream(fields.digest("digest"), fields.count("length"), fields.flag("truncated"))
