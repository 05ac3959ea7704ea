"""What the broker asks of a sandbox, whichever one it is: run one job over these bytes, and say what was seen of it.

Invariants: a backend names the controls that it enforces and never more; what a job did is told as an observation, and
nothing in it is a verdict. A virtual machine is another class with these members (design: grading, *Local broker*).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from idkmesh_rules.grading.values import GradingError, JobOutcome, JobSpec, Usage


class SandboxUnavailable(GradingError):
    """No sandbox can be had on this machine; the message says what is missing and how to get it."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what, self.hint = what, hint


class SandboxFault(GradingError):
    """The sandbox itself failed: what the job would have come to isn't known, and that is nobody's fault but the host's.

    `lost` says that it may have run to an end which nobody saw, as it was given up from here.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


class Captured(NamedTuple):
    """What a job printed to one stream, up to its limit, and whether it printed more."""

    data: bytes
    truncated: bool


class Finished(NamedTuple):
    """What was seen of a job from outside.

    `exit_code` is None where the job didn't exit by itself; `export` are the bytes in the export channel, None when there
    are none or too many; `enforced` are the names of the controls that held from the job's first instruction on.
    """

    outcome: JobOutcome
    exit_code: int | None
    usage: Usage
    export: bytes | None
    stdout: Captured
    stderr: Captured
    enforced: tuple[str, ...]


class Sandbox(Protocol):
    """Runs jobs, one after the other. Making one touches nothing; `open` does."""

    def open(self) -> None:
        """Find out what this machine can enforce; raises SandboxUnavailable."""

    def cancel(self) -> None:
        """End the job that is being run by another thread, whose `run` then raises SandboxFault."""

    def close(self) -> None:
        """Give everything back; nothing may be running any more."""

    @property
    def controls(self) -> frozenset[str]:
        """The names of the controls that every job of this open sandbox gets."""

    @property
    def policy_digest(self) -> str:
        """The digest of everything that bounds a job besides its spec; receipts carry it."""

    @property
    def seccomp_digest(self) -> str:
        """The digest of the system call filter; of no bytes where there is none."""

    def check(self, spec: JobSpec) -> None:
        """Raise GradingError for a job that this sandbox could never run; starts nothing."""

    def shows(self, runtime: str, path: Path) -> bool:
        """Whether a job with a runtime could read what lies at a path of the host."""

    def run(self, spec: JobSpec, files: Mapping[str, bytes]) -> Finished:
        """Run a job to its end; `files` are its inputs and evaluator files by their absolute path in the sandbox.

        Raises SandboxFault when it can't be said what became of it.
        """
