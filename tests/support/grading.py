"""A signed fixture broker, and manifests with everything that they need: what plays the sandbox in the tests of grading.

The broker runs nothing. A test tells it what each job comes to, and can make it lie, delay and vanish.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from idkmesh_rules.contracts.digest import bytes_digest, canonical_digest
from idkmesh_rules.grading.authenticity import RECEIPT_TYPE, RESULT_TYPE, Authenticity, Signed, sign
from idkmesh_rules.grading.evidence import EvidenceRepository
from idkmesh_rules.grading.protocol import PROTOCOL, supervisor_revision
from idkmesh_rules.grading.supervisor import EXPORT, Registration, Supervisor
from idkmesh_rules.grading.values import (
    ArtifactRef,
    JobLimits,
    JobOutcome,
    JobResult,
    JobSpec,
    Manifest,
    Receipt,
    Role,
    Stream,
    Usage,
    as_plain,
)

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
EMPTY = Stream(bytes_digest(b""), 0, False)
LIMITS = JobLimits(10, 10, 1 << 28, 16, 1 << 16, 1 << 20)
CONTROLS = ("network-none", "wall-clock")


def key(seed: int = 1) -> tuple[bytes, bytes]:
    """A raw key pair, the same for the same seed."""
    private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return raw, private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def declared(*names: str) -> bytes:
    return json.dumps({"protocol": PROTOCOL, "checks": list(names)}).encode()


def values(text: str) -> bytes:
    """An export of the values that `text` spells as a JSON object, number spelling and all."""
    return b'{"protocol": "%s", "values": %s}' % (PROTOCOL.encode(), text.encode())


def statuses(**said: str) -> bytes:
    return json.dumps({"protocol": PROTOCOL, "checks": said}).encode()


def manifest_in(
    repository: EvidenceRepository, expected: str = '{"answer": 42}', number: int = 1, **changes: Any
) -> Manifest:
    """A registered evaluation whose protected artifacts lie in `repository`."""
    names = tuple(json.loads(expected))
    fixture = repository.put("fixture", values(expected))

    def job(role: Role) -> JobSpec:
        inputs = (ArtifactRef("candidate.patch", bytes_digest(b"patch"), 5),)
        return JobSpec(
            f"job-{number}/{role.value}", role, "python-3.11", ("python3", "run.py"), inputs, (), LIMITS, CONTROLS
        )

    manifest = Manifest(
        f"evaluation-{number}",
        PROTOCOL,
        supervisor_revision(),
        job(Role.CANDIDATE),
        job(Role.GRADER),
        repository.put("test-bundle", declared(*names)),
        repository.put("result-schema", declared(*names)),
        fixture,
    )
    return manifest._replace(**changes)


def supervisor_of(
    repository: EvidenceRepository, *manifests: Manifest, refused: Callable[[], str | None] = lambda: None
) -> Supervisor:
    roster = [Registration(each, f"assessment-{number}") for number, each in enumerate(manifests, 1)]
    return Supervisor(roster, repository, lambda _manifest, _now: refused(), lambda: NOW)


def result_of(spec: JobSpec, export: ArtifactRef | None, receipt: Receipt | None = None, **changes: Any) -> JobResult:
    """What a job came to: one export and nothing unusual."""
    exports = () if export is None else (export._replace(name=EXPORT),)
    result = JobResult(
        "result",
        receipt.key_id if receipt else "",
        spec.job_id,
        receipt.digest if receipt else bytes_digest(b"receipt"),
        receipt.nonce if receipt else "0" * 64,
        JobOutcome.EXITED,
        0,
        Usage(0.5, 0.25, 1 << 20),
        exports,
        EMPTY,
        EMPTY,
        CONTROLS,
    )
    return result._replace(**changes)


@dataclass
class FixtureBroker:
    """Signs what a test tells it to. `submitted` lists every job id in the order of submission."""

    name: str = "fixture"
    seed: int = 1
    submitted: list[str] = field(default_factory=list)
    receipts: dict[str, Signed] = field(default_factory=dict)
    results: dict[str, Signed] = field(default_factory=dict)

    @property
    def authenticity(self) -> Authenticity:
        return Authenticity(self.name, key(self.seed)[1])

    def receipt_value(self, spec: JobSpec, journal_id: str, nonce: str) -> Receipt:
        return Receipt(
            "receipt",
            self.authenticity.key_id,
            journal_id,
            spec.job_id,
            spec.role,
            nonce,
            spec.digest,
            bytes_digest(b"policy"),
            bytes_digest(b"seccomp"),
            canonical_digest(as_plain(spec.inputs)),
            canonical_digest(as_plain(spec.evaluator)),
            spec.runtime,
            "2026-12-01T12:00:00Z",
        )

    def sign_receipt(self, receipt: Receipt) -> Signed:
        return sign(key(self.seed)[0], RECEIPT_TYPE, receipt.as_json())

    def sign_result(self, result: JobResult) -> Signed:
        return sign(key(self.seed)[0], RESULT_TYPE, result.as_json())
