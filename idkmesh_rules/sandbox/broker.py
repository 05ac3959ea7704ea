"""The local broker: runs jobs in a sandbox of this machine, each once, and signs what it accepted and what it saw.

Its memory is a private directory: a receipt that is there says that the job's id is used up. Invariants:
- A job begins only after its receipt is durable, and no id gets a second one, whoever asks.
- Inputs and evaluator files are taken from the evidence repository by digest before anything is accepted.
- A job whose process was lost stays without a result for good: nobody knows what it came to (design: grading, *Adapter*).
"""

import json
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread

from idkmesh_rules.contracts.digest import bytes_digest, canonical_bytes, canonical_digest
from idkmesh_rules.grading.authenticity import ASSESSMENT_TYPE, RECEIPT_TYPE, RESULT_TYPE, Signed, sign
from idkmesh_rules.grading.evidence import EvidenceRepository
from idkmesh_rules.grading.private import add_file, open_private
from idkmesh_rules.grading.retained import read_signed, signed_as_json
from idkmesh_rules.grading.supervisor import EXPORT, Assessment
from idkmesh_rules.grading.values import (
    ArtifactRef,
    GradingError,
    JobOutcome,
    JobResult,
    JobSpec,
    Receipt,
    Stream,
    Usage,
    as_plain,
)
from idkmesh_rules.observe.bounded import read_bounded
from idkmesh_rules.sandbox.interface import Captured, Finished, Sandbox, SandboxFault

_PATIENCE = 0.2
"""How many seconds a question for a result waits for a job that is running, so that nobody has to ask all the time."""

_MOST = 16 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class LocalBroker:
    """See Broker. `place` is the private directory of its memory; the sandbox is open as long as jobs are submitted."""

    def __init__(
        self,
        sandbox: Sandbox,
        place: Path,
        owner: int,
        key_id: str,
        key: bytes,
        repository: EvidenceRepository,
        clock: Callable[[], datetime],
    ) -> None:
        self._sandbox, self._place, self._owner = sandbox, place, owner
        self._key_id, self._key = key_id, key
        self._repository, self._clock = repository, clock
        self._at: int | None = None
        self._running: dict[str, Thread] = {}
        self._accepting, self._closing = Lock(), False
        self.fault = ""
        """Why the last step failed, for the host's own eyes."""

    def open(self) -> "LocalBroker":
        """Open the memory; raises PlaceError."""
        self._at = open_private(self._place, self._owner)
        return self

    def close(self) -> None:
        """Accept nothing more, end what runs, without a result, and let go of the memory."""
        with self._accepting:
            self._closing = True
        if any(thread.is_alive() for thread in self._running.values()):
            self._sandbox.cancel()
        for thread in self._running.values():
            thread.join()
        if self._at is not None:
            os.close(self._at)
            self._at = None

    def accepted(self, job_id: str) -> bool:
        """Whether a job's id is used up."""
        return self._read("receipt", job_id) is not None

    def attested(self, assessment: Assessment, key_id: str) -> Signed | None:
        """An assessment, signed once for all with this host's key; None where that isn't the key of this id any more."""
        kept = self._read("assessment", assessment.assessment_id)
        if kept is not None:
            signed = read_signed(json.loads(kept))
            if signed.payload == canonical_bytes(assessment.as_json()):
                return signed
        if key_id != self._key_id:
            return None
        signed = sign(self._key, ASSESSMENT_TYPE, assessment.as_json())
        with suppress(FileExistsError):
            self._add("assessment", assessment.assessment_id, _message(signed))
        return signed

    def printed(self, job_id: str) -> tuple[Path, ...]:
        """The files that hold what a job printed, of those of its streams to which it printed anything."""
        files = (self._place / memory_name(kind, job_id) for kind in ("stdout", "stderr"))
        return tuple([each for each in files if each.exists()])

    def running(self, job_id: str) -> bool:
        """Whether a job is being run by this process."""
        return job_id in self._running and self._running[job_id].is_alive()

    def submit(self, spec: JobSpec, journal_id: str, nonce: str) -> Signed:
        """See Broker."""
        try:
            with self._accepting:
                return self._accepted(spec, journal_id, nonce)
        except GradingError as error:
            self.fault = str(error)
            raise

    def _accepted(self, spec: JobSpec, journal_id: str, nonce: str) -> Signed:
        if self._closing:
            raise GradingError("the broker is being closed")
        self._sandbox.check(spec)
        absent = sorted(set(spec.required_controls) - self._sandbox.controls)
        if absent:
            raise GradingError(f"this machine doesn't enforce {', '.join(absent)}")
        files = {f"/inputs/{each.name}": self._repository.get(each) for each in spec.inputs}
        files |= {f"/evaluator/{each.name}": self._repository.get(each) for each in spec.evaluator}
        receipt = Receipt(
            "receipt",
            self._key_id,
            journal_id,
            spec.job_id,
            spec.role,
            nonce,
            spec.digest,
            self._sandbox.policy_digest,
            self._sandbox.seccomp_digest,
            canonical_digest(as_plain(spec.inputs)),
            canonical_digest(as_plain(spec.evaluator)),
            spec.runtime,
            self._clock().isoformat(timespec="microseconds").replace("+00:00", "Z"),
        )
        signed = sign(self._key, RECEIPT_TYPE, receipt.as_json())
        try:
            self._add("receipt", spec.job_id, _message(signed))
        except FileExistsError:
            raise GradingError(f"the job {spec.job_id} was accepted before; it runs once") from None
        thread = Thread(target=self._run, args=(spec, receipt, files), name="idkmesh-job", daemon=True)
        self._running[spec.job_id] = thread
        thread.start()
        return signed

    def receipt(self, job_id: str) -> Signed | None:
        """See Broker."""
        data = self._read("receipt", job_id)
        return None if data is None else read_signed(json.loads(data))

    def fetch(self, job_id: str) -> tuple[Signed, Mapping[str, bytes]] | None:
        """See Broker."""
        if self.running(job_id):
            self._running[job_id].join(_PATIENCE)
        data = self._read("result", job_id)
        if data is None:
            return None
        export = self._read("export", job_id)
        return read_signed(json.loads(data)), {} if export is None else {EXPORT: export}

    def _run(self, spec: JobSpec, receipt: Receipt, files: Mapping[str, bytes]) -> None:
        try:
            try:
                finished = self._sandbox.run(spec, files)
            except SandboxFault as error:
                self.fault = str(error)
                if error.lost:
                    return
                finished = _NOT_SET_UP
            self._keep(spec, receipt, finished)
        except Exception as error:  # whatever it is, the job stays without a result, and the host is told
            self.fault = f"the result of {spec.job_id} can't be kept: {error}"

    def _keep(self, spec: JobSpec, receipt: Receipt, finished: Finished) -> None:
        export = finished.export
        exports = () if export is None else (ArtifactRef(EXPORT, bytes_digest(export), len(export)),)
        result = JobResult(
            "result",
            self._key_id,
            spec.job_id,
            receipt.digest,
            receipt.nonce,
            finished.outcome,
            finished.exit_code,
            finished.usage,
            exports,
            _stream(finished.stdout),
            _stream(finished.stderr),
            finished.enforced,
        )
        for kind, data in (("stdout", finished.stdout.data), ("stderr", finished.stderr.data)):
            if data:
                self._add(kind, spec.job_id, data)
        if export is not None:
            self._add("export", spec.job_id, export)
        self._add("result", spec.job_id, _message(sign(self._key, RESULT_TYPE, result.as_json())))

    def _add(self, kind: str, job_id: str, data: bytes) -> None:
        add_file(self._memory(), memory_name(kind, job_id), data)

    def _read(self, kind: str, job_id: str) -> bytes | None:
        name = memory_name(kind, job_id)
        try:
            descriptor = os.open(name, _READ, dir_fd=self._memory())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise GradingError(f"the broker's memory can't be read: {name}: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise GradingError(f"the broker's memory can't be read: {name} is no file")
            return read_bounded(descriptor, os.fstat(descriptor).st_size, _MOST)
        finally:
            os.close(descriptor)

    def _memory(self) -> int:
        if self._at is None:
            raise GradingError("the broker isn't open")
        return self._at


_NOT_SET_UP = Finished(
    JobOutcome.SETUP_FAILED, None, Usage(0.0, None, None), None, Captured(b"", False), Captured(b"", False), ()
)


def memory_name(kind: str, job_id: str) -> str:
    """The name of a file in a broker's memory: kind (receipt, result, export, stdout, stderr) and job."""
    return f"{kind}-{sha256(job_id.encode()).hexdigest()}"


def _message(signed: Signed) -> bytes:
    return json.dumps(signed_as_json(signed)).encode()


def _stream(captured: Captured) -> Stream:
    return Stream(bytes_digest(captured.data), len(captured.data), captured.truncated)
