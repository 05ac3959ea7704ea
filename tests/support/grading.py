"""A signed fixture broker, and manifests with everything that they need: what plays the sandbox in the tests of grading.

The broker runs nothing. A test tells it what each job comes to, and can make it lie, delay and vanish.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from idkmesh_rules.contracts.digest import bytes_digest, canonical_digest
from idkmesh_rules.grading.adapter import CallUncertain, Evaluation, EvaluationAdapter, EvaluationConfig
from idkmesh_rules.grading.authenticity import RECEIPT_TYPE, RESULT_TYPE, Authenticity, Signed, sign
from idkmesh_rules.grading.evidence import EvidenceRepository
from idkmesh_rules.grading.protocol import PROTOCOL, supervisor_revision
from idkmesh_rules.grading.retained import Allowance, read_signed, signed_as_json
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


Answer = Any
Lie = Callable[[str, Answer], Answer]


@dataclass
class FixtureBroker:
    """Signs what a test tells it to: `comes_to` holds, by job id, the bytes that the job exports and changes of its result.

    `lies` replace what a verb answers (submit, receipt, fetch), given the job id and the honest answer. `at` is told of
    each step (submit, accepted, receipt, fetch; `asked` lists them) and may raise, wait, or end the process. With
    `place`, the broker's memory is files there, so that it survives its process and is shared by several.
    """

    name: str = "fixture"
    seed: int = 1
    comes_to: dict[str, tuple[bytes | None, dict[str, Any]]] = field(default_factory=dict)
    lies: dict[str, Lie] = field(default_factory=dict)
    at: Callable[[str, str], object] = lambda _step, _job_id: None
    place: Path | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    _memory: dict[str, bytes] = field(default_factory=dict)
    _submitted: list[str] = field(default_factory=list)

    @property
    def authenticity(self) -> Authenticity:
        return Authenticity(self.name, key(self.seed)[1])

    @property
    def submitted(self) -> list[str]:
        """Every job id in the order of submission, however often."""
        if self.place is None:
            return list(self._submitted)
        log = self.place / "submitted"
        return log.read_text().split() if log.exists() else []

    def submit(self, spec: JobSpec, journal_id: str, nonce: str) -> Signed:
        """See Broker."""
        self._at("submit", spec.job_id)
        self._note(spec.job_id)
        receipt = self.receipt_value(spec, journal_id, nonce)
        export, changes = self.comes_to[spec.job_id]
        reference = None if export is None else ArtifactRef(EXPORT, bytes_digest(export), len(export))
        self._keep(
            f"{spec.job_id}.result", signed_as_json(self.sign_result(result_of(spec, reference, receipt, **changes)))
        )
        self._keep(f"{spec.job_id}.receipt", signed_as_json(self.sign_receipt(receipt)))
        self._at("accepted", spec.job_id)
        return self._said("submit", spec.job_id, self._signed(f"{spec.job_id}.receipt"))

    def receipt(self, job_id: str) -> Signed | None:
        """See Broker."""
        self._at("receipt", job_id)
        return self._said("receipt", job_id, self._signed(f"{job_id}.receipt"))

    def fetch(self, job_id: str) -> tuple[Signed, Mapping[str, bytes]] | None:
        """See Broker."""
        self._at("fetch", job_id)
        signed = self._signed(f"{job_id}.result")
        if signed is None or self._signed(f"{job_id}.receipt") is None:
            return self._said("fetch", job_id, None)
        names = [each["name"] for each in json.loads(signed.payload)["exports"]]
        return self._said("fetch", job_id, (signed, dict.fromkeys(names, self.comes_to[job_id][0])))

    def _at(self, step: str, job_id: str) -> None:
        self.asked.append((step, job_id))
        self.at(step, job_id)

    def _said(self, verb: str, job_id: str, honest: Answer) -> Answer:
        return self.lies[verb](job_id, honest) if verb in self.lies else honest

    def _note(self, job_id: str) -> None:
        if self.place is None:
            self._submitted.append(job_id)
            return
        descriptor = os.open(self.place / "submitted", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{job_id}\n".encode())
        os.close(descriptor)

    def _keep(self, name: str, value: Any) -> None:
        data = json.dumps(value).encode()
        if self.place is None:
            self._memory[name] = data
            return
        file = self.place / bytes_digest(name.encode()).partition(":")[2]
        file.with_suffix(".part").write_bytes(data)
        file.with_suffix(".part").rename(file)

    def _signed(self, name: str) -> Signed | None:
        if self.place is None:
            data = self._memory.get(name)
        else:
            file = self.place / bytes_digest(name.encode()).partition(":")[2]
            data = file.read_bytes() if file.exists() else None
        return None if data is None else read_signed(json.loads(data))

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


GOOD, SAID = values('{"answer": 42}'), statuses(answer="passed")
TOKENS = Allowance(0, 1000)


def play(broker: FixtureBroker, manifest: Manifest, exported: bytes | None = GOOD, said: bytes | None = SAID) -> None:
    """Tell the broker what both jobs of a manifest come to."""
    broker.comes_to[manifest.candidate.job_id] = exported, {}
    broker.comes_to[manifest.grader.job_id] = said, {}


def config_of(
    place: Path, supervisor: Supervisor, broker: FixtureBroker, repository: EvidenceRepository, **changes: Any
) -> EvaluationConfig:
    """A configuration with its journal in `place`, which is made private."""
    place.mkdir(mode=0o700, exist_ok=True)
    config = EvaluationConfig(
        supervisor, broker, broker.authenticity, repository, TOKENS, place, os.geteuid(), interval=0.005
    )
    return config._replace(**changes)


def ended(adapter: EvaluationAdapter, call_id: str, seconds: float = 10) -> Evaluation:
    """What a call came to, waited for; raises CallUncertain when it is still pending after that time."""
    until = time.monotonic() + seconds
    while True:
        try:
            return adapter.reconcile(call_id)
        except CallUncertain:
            if time.monotonic() > until:
                raise
            time.sleep(0.002)
