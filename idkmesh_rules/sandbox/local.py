"""The sandbox of this machine: bubblewrap, with a filter of system calls, control groups where they can be had, and limits.

Invariant: what isn't enforced for a job isn't among its controls (design: grading, *Local broker*).
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.grading.values import GradingError, JobLimits, JobOutcome, JobSpec
from idkmesh_rules.sandbox.bubblewrap import (
    ENVIRONMENT,
    EXPORT,
    FILTER,
    FIRST_FILE,
    MOST_SCRATCH,
    call,
    installed,
    sandbox_uid,
    walls,
)
from idkmesh_rules.sandbox.channels import Export, export_size, memory_file
from idkmesh_rules.sandbox.controls import BY_CONSTRUCTION
from idkmesh_rules.sandbox.interface import Finished, SandboxFault, SandboxUnavailable
from idkmesh_rules.sandbox.launcher import MOST_DESCRIPTORS
from idkmesh_rules.sandbox.runtime import Runtime, known_runtimes
from idkmesh_rules.sandbox.seccomp import compiled
from idkmesh_rules.sandbox.slot import Call, Slot

MOST_FILES = MOST_DESCRIPTORS - 10
MOST_OUTPUT = 16 << 20
"""How many bytes of a stream the host is willing to hold, whatever a plan allows."""

MOST_PROCESSES = 1 << 15
LEAST_MEMORY = 1 << 20
"""What a plan may ask of this machine: no more processes, and no less memory, in which nothing would run."""

_BY_CONTROLLER = {
    "memory": frozenset({"memory-total", "scratch-inodes"}),
    "cpu": frozenset({"cpu-total"}),
    "pids": frozenset[str](),
}
_APART = 64
"""How many processes the limit of processes is above that of the group, which counts some that aren't the job's."""

_NEVER: Mapping[str, int] = {
    "RLIMIT_CORE": 0,
    "RLIMIT_MEMLOCK": 0,
    "RLIMIT_MSGQUEUE": 0,
    "RLIMIT_NICE": 0,
    "RLIMIT_RTPRIO": 0,
    "RLIMIT_SIGPENDING": 256,
    "RLIMIT_NOFILE": 256,
}


class LocalSandbox:
    """Bubblewrap in one slot. `runtimes` are further root file systems of the host by name."""

    def __init__(
        self, runtimes: Mapping[str, Path] | None = None, *, name: str = "0", bwrap: str | None = None
    ) -> None:
        self._directories, self._name, self._asked_for = dict(runtimes or {}), name, bwrap
        self._slot: Slot | None = None
        self._bwrap, self._version, self._filter = "", "", b""
        self._controllers: frozenset[str] = frozenset()
        self._policy = ""
        self.runtimes: Mapping[str, Runtime] = {}

    def open(self) -> None:
        """See Sandbox. A job that does nothing is run, because only that shows whether namespaces can be had."""
        self._bwrap, self._version = installed(self._asked_for)
        self._filter = compiled()
        try:
            self.runtimes = known_runtimes(self._directories)
        except GradingError as error:
            raise SandboxUnavailable(str(error), "give --runtime a root file system that everybody can read") from None
        self._slot = Slot(self._name, sandbox_uid())
        try:
            self._controllers = self._slot.open()
            self._policy = self._policy_digest()
            self._try()
        except BaseException:
            self.close()
            raise

    def _try(self) -> None:
        limits = JobLimits(10, 10, 1 << 28, 8, 1 << 12, 1)
        try:
            finished = self._finished(self.runtimes["system"], ("/bin/true",), limits, {})
        except SandboxFault as fault:
            raise SandboxUnavailable(
                f"no job can be run here: {fault}", "see whether memory or processes are exhausted"
            ) from None
        if finished.outcome is not JobOutcome.EXITED or finished.exit_code != 0:
            told = finished.stderr.data.decode(errors="replace").strip().splitlines()
            raise SandboxUnavailable(
                f"bubblewrap can't make a sandbox here: {told[0] if told else finished.outcome.value}",
                "let unprivileged users make user namespaces (sysctl user.max_user_namespaces, and "
                "kernel.apparmor_restrict_unprivileged_userns on Ubuntu)",
            )

    def cancel(self) -> None:
        """See Sandbox."""
        if self._slot is not None:
            self._slot.cancel()

    def close(self) -> None:
        """See Sandbox."""
        if self._slot is not None:
            self._slot.close()
            self._slot = None

    @property
    def controls(self) -> frozenset[str]:
        """See Sandbox."""
        return BY_CONSTRUCTION.union(*(_BY_CONTROLLER[each] for each in self._controllers))

    @property
    def policy_digest(self) -> str:
        """See Sandbox."""
        return self._policy

    def _policy_digest(self) -> str:
        policy = {
            "bubblewrap": self._version,
            "controllers": sorted(self._controllers),
            "environment": dict(ENVIRONMENT),
            "limits": dict(_NEVER),
            "scratch": MOST_SCRATCH,
            "runtimes": {
                name: {
                    "mounts": [list(each) for each in runtime.mounts],
                    "links": [list(each) for each in runtime.links],
                }
                for name, runtime in self.runtimes.items()
            },
        }
        # Paths of a runtime may be no text, so that they are spelled in ASCII.
        return bytes_digest(json.dumps(policy, sort_keys=True).encode("ascii"))

    @property
    def seccomp_digest(self) -> str:
        """See Sandbox."""
        return bytes_digest(self._filter)

    def check(self, spec: JobSpec) -> None:
        """See Sandbox."""
        runtime = self.runtimes.get(spec.runtime)
        if runtime is None:
            raise GradingError(
                f"there is no runtime {spec.runtime!r} here; expected one of: {', '.join(self.runtimes)}"
            )
        if len(spec.inputs) + len(spec.evaluator) >= MOST_FILES:
            raise GradingError(f"a job has at most {MOST_FILES - 1} files; pack them into one")
        if spec.limits.memory_bytes < LEAST_MEMORY:
            raise GradingError(f"limits.memory_bytes is at least {LEAST_MEMORY} on this machine; nothing runs in less")
        for what, most in (("output_bytes", MOST_OUTPUT), ("processes", MOST_PROCESSES)):
            if getattr(spec.limits, what) > most:
                raise GradingError(f"limits.{what} is at most {most} on this machine")
        program = spec.command[0]
        # Not of its inputs: a candidate that can't be executed would look like a sandbox that can't be set up.
        given = {f"/evaluator/{each.name}" for each in spec.evaluator}
        if program not in given and not runtime.has_program(program, ENVIRONMENT["PATH"]):
            raise GradingError(
                f"the job's program is neither in the runtime {spec.runtime} nor among its evaluator files"
            )

    def shows(self, runtime: str, path: Path) -> bool:
        """See Sandbox."""
        return self.runtimes[runtime].shows(path)

    def run(self, spec: JobSpec, files: Mapping[str, bytes]) -> Finished:
        """See Sandbox."""
        self.check(spec)
        return self._finished(self.runtimes[spec.runtime], spec.command, spec.limits, files)

    def _finished(
        self, runtime: Runtime, command: tuple[str, ...], limits: JobLimits, files: Mapping[str, bytes]
    ) -> Finished:
        if self._slot is None:
            raise SandboxFault("the sandbox isn't open")
        try:
            return self._with_files(self._slot, runtime, command, limits, files)
        except OSError as error:
            raise SandboxFault(f"the job's files can't be handed over: {error.strerror or error}") from None

    def _with_files(
        self,
        slot: Slot,
        runtime: Runtime,
        command: tuple[str, ...],
        limits: JobLimits,
        files: Mapping[str, bytes],
    ) -> Finished:
        export = Export(limits.export_bytes)
        opened: list[int] = []
        try:
            opened.append(memory_file("filter", self._filter))
            nothing = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
            opened.append(nothing)
            given = {0: nothing, EXPORT: export.descriptor, FILTER: opened[0]}
            for number, data in enumerate(files.values(), FIRST_FILE):
                opened.append(memory_file("file", data))
                given[number] = opened[-1]
            scratch = min(limits.memory_bytes, MOST_SCRATCH)
            argv = call(self._bwrap, walls(runtime, scratch), tuple(files), command)
            copied = sum(map(len, files.values()))
            ended = slot.run(Call(argv, given, self._rlimits(limits), copied), limits)
            exported, oversize = export.read()
        finally:
            for each in (export.descriptor, *opened):
                os.close(each)
        outcome = ended.outcome
        if oversize and outcome is JobOutcome.EXITED:
            outcome = JobOutcome.EXPORT
        return Finished(
            outcome,
            ended.exit_code,
            ended.usage,
            exported if outcome is JobOutcome.EXITED else None,
            ended.stdout,
            ended.stderr,
            () if outcome is JobOutcome.SETUP_FAILED else tuple(sorted(self.controls)),
        )

    def _rlimits(self, limits: JobLimits) -> dict[str, int]:
        """The limits of each process. Where memory is counted as a whole, address space that is only reserved is free."""
        found = {
            **_NEVER,
            "RLIMIT_FSIZE": max(min(limits.memory_bytes, MOST_SCRATCH), export_size(limits.export_bytes)),
            # Where a group counts, it is to be what ends a job that takes too much, so that it is known of what.
            "RLIMIT_CPU": limits.cpu_seconds + ("cpu" in self._controllers),
            "RLIMIT_NPROC": limits.processes + (_APART if "pids" in self._controllers else 0),
        }
        if "memory" not in self._controllers:
            found["RLIMIT_AS"] = limits.memory_bytes
        return found
