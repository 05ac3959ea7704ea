"""One slot: a resident launcher in control groups of its own, and the host's watch over each job that it starts.

Invariants:
- Every ceiling is watched from here, where the job can't reach: wall time by our clock, processor time and memory by the
  slot's control groups, output by what the pipes deliver.
- When `run` returns, no process of the job is left.
- A launcher that doesn't answer is killed with everything in its groups, and another one takes its place.
"""

import array
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from idkmesh_rules.grading.values import JobLimits, JobOutcome, Usage
from idkmesh_rules.sandbox.cgroup import Before, Groups, Used
from idkmesh_rules.sandbox.channels import Stream, memory_file
from idkmesh_rules.sandbox.interface import Captured, SandboxFault, SandboxUnavailable

_LAUNCHER = Path(__file__).with_name("launcher.py")
_READY_SECONDS, _END_SECONDS = 10.0, 10.0
_LOOK_SECONDS = 0.02
"""How often processor time and memory are looked at while a job runs; it may exceed them for so long."""

_OWN_PROCESSES = 1
_OWN_BYTES = 4 << 20
"""What bubblewrap takes beside the job: its monitor, and what setting up costs."""

_SIGNALED = 128


class Call(NamedTuple):
    """A job as it is started: the whole call, our descriptors by the numbers under which bubblewrap gets them, the
    limits of each process by their names in the module `resource`, and how many bytes of files are copied in beforehand.
    """

    argv: Sequence[str]
    descriptors: Mapping[int, int]
    rlimits: Mapping[str, int]
    copied: int


class Ended(NamedTuple):
    """How a job ended, without its export."""

    outcome: JobOutcome
    exit_code: int | None
    usage: Usage
    stdout: Captured
    stderr: Captured


class Slot:
    """Runs one job at a time. Making one touches nothing; `open` starts the launcher."""

    def __init__(self, name: str, uid: int) -> None:
        self._name, self._uid = name, uid
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._groups: Groups | None = None
        self._cancelled = False

    def open(self) -> frozenset[str]:
        """Start the launcher in its groups, and say which controllers they have; raises SandboxUnavailable."""
        groups = self._groups = self._groups or Groups(self._name)
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._process = self._launched(theirs.fileno())
            groups.take(self._process.pid)
            self._channel.settimeout(_READY_SECONDS)
            said = self._channel.recv(64)
            self._channel.settimeout(None)
        except OSError as error:
            self.close()
            raise SandboxUnavailable(
                f"the launcher can't be started: {error.strerror or error}",
                "see whether memory, processes or control groups are exhausted",
            ) from None
        if said != b"ready":
            self.close()
            raise SandboxUnavailable("the launcher doesn't start", f"see what {sys.executable} -I -S does")
        return groups.controllers

    def _launched(self, channel: int) -> "subprocess.Popen[bytes]":
        # Isolated and without site, so that neither the environment nor a working directory has a say in it; in a
        # session of its own, so that a signal to ours leaves it the time to end its job.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LAUNCHER), str(self._uid), str(channel)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
            pass_fds=(channel,),
        )

    def cancel(self) -> None:
        """Have the launcher kill its job and go; a `run` in another thread then raises SandboxFault."""
        self._cancelled = True
        if self._channel is not None:
            self._channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the launcher and what it runs, and take the groups away."""
        self._end()
        if self._groups is not None:
            self._groups.remove()
            self._groups = None

    def _end(self) -> None:
        if self._channel is not None:
            self._channel.close()  # the launcher sees this, kills its job and goes
            self._channel = None
        if self._process is not None:
            try:
                self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._groups is not None:
            self._groups.kill()

    def run(self, call: Call, limits: JobLimits) -> Ended:
        """Run a job to its end; raises SandboxFault when nobody can say what became of it."""
        if self._groups is None:
            raise SandboxFault("the sandbox isn't open")
        streams = (Stream(limits.output_bytes), Stream(limits.output_bytes))
        try:
            return self._ended(call, limits, streams)
        except OSError as error:
            self._end()
            raise SandboxFault(f"the job can't be watched: {error.strerror or error}") from None
        finally:
            for stream in streams:
                stream.close()

    def _ended(self, call: Call, limits: JobLimits, streams: tuple[Stream, Stream]) -> Ended:
        if self._process is None or self._process.poll() is not None:
            self._end()  # it ended between two jobs, which whoever may kill it can bring about at any time
            self.open()
        assert self._channel is not None
        assert self._groups is not None
        groups = self._groups
        memory, processes = limits.memory_bytes + call.copied + _OWN_BYTES, limits.processes + _OWN_PROCESSES
        before = groups.begin(memory, processes)
        watch = _Watch(self._channel, groups, before, streams, limits)
        self._ask(call, streams)
        told = watch.until_end()
        if told is None:
            # When memory runs out, the kernel may choose the launcher; the next job gets another one.
            self._end()
        used = groups.used(before)
        for stream in streams:
            stream.drain()
        over = watch.over or _ceiling(used, limits)
        if over is None and any(stream.truncated for stream in streams):
            over = JobOutcome.OUTPUT  # printed in the last moment, and seen only now
        if told is None and self._cancelled:
            raise SandboxFault("the job was given up", lost=True)
        if told is None and over is None:
            raise SandboxFault("the launcher went away while the job ran")
        if told is not None and told.get("error"):
            raise SandboxFault(told["error"])
        outcome, code = (over, None) if over is not None else _by_itself(told or {})
        cpu = None if used.cpu is None else round(used.cpu / 1e9, 6)
        usage = Usage(round(watch.seconds, 6), cpu, used.peak)
        return Ended(outcome, code, usage, *(stream.captured() for stream in streams))

    def _ask(self, call: Call, streams: Sequence[Stream]) -> None:
        assert self._channel is not None
        descriptors = {1: streams[0].end, 2: streams[1].end, **call.descriptors}
        job = {"argv": list(call.argv), "targets": list(descriptors), "limits": dict(call.rlimits)}
        body = memory_file("job", json.dumps(job).encode())
        try:
            rights = array.array("i", (body, *descriptors.values()))
            self._channel.sendmsg([b"run"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        finally:
            os.close(body)
            for stream in streams:
                stream.close_end()


class _Watch:
    """The watch over one job: reads what it prints, and has it killed when it exceeds a ceiling, which `over` names."""

    def __init__(
        self,
        channel: socket.socket,
        groups: Groups,
        before: Before,
        streams: Sequence[Stream],
        limits: JobLimits,
    ) -> None:
        self._channel, self._groups, self._before = channel, groups, before
        self._streams, self._limits = {each.descriptor: each for each in streams}, limits
        self.over: JobOutcome | None = None
        self.seconds = 0.0

    def until_end(self) -> dict[str, Any] | None:
        """What the launcher tells of the job's end; None when it went away or doesn't answer."""
        poll = select.poll()
        for number in (self._channel.fileno(), *self._streams):
            poll.register(number, select.POLLIN)
        began = looked = time.monotonic()
        last = began + self._limits.wall_seconds
        while True:
            for number, _events in poll.poll(max(0.0, min(_LOOK_SECONDS, last - time.monotonic())) * 1000):
                if number == self._channel.fileno():
                    self.seconds = time.monotonic() - began
                    return self._told()
                stream = self._streams[number]
                stream.read()
                if not stream.open:
                    poll.unregister(number)
            now = time.monotonic()
            if self.over is not None:
                if now >= last:
                    self.seconds = now - began
                    return None
                continue
            if any(stream.truncated for stream in self._streams.values()):
                self.over = JobOutcome.OUTPUT
            elif now >= last:
                self.over = JobOutcome.WALL
            elif now >= looked + _LOOK_SECONDS:
                looked = now
                self.over = _ceiling(self._groups.used(self._before), self._limits)
            if self.over is not None:
                with suppress(BrokenPipeError):  # it has ended, which the next look tells
                    self._channel.send(b"kill")
                last = now + _END_SECONDS

    def _told(self) -> dict[str, Any] | None:
        try:
            said = self._channel.recv(1 << 16)
        except ConnectionResetError:  # it ended without having read what it was told
            return None
        told: dict[str, Any] | None = json.loads(said) if said else None
        return told


def _ceiling(used: Used, limits: JobLimits) -> JobOutcome | None:
    """The ceiling that a job's control groups say it ran into, None for none."""
    if used.out_of_memory:
        return JobOutcome.MEMORY
    if used.out_of_processes:
        return JobOutcome.PIDS
    return JobOutcome.CPU if used.cpu is not None and used.cpu > limits.cpu_seconds * 10**9 else None


def _by_itself(told: Mapping[str, Any]) -> tuple[JobOutcome, int | None]:
    """How a job ended that nobody killed: bubblewrap tells no exit code of one that it couldn't set up (bwrap(1))."""
    code = told.get("exit")
    if code is None:
        return JobOutcome.SETUP_FAILED, None
    return (JobOutcome.EXITED, code) if code <= _SIGNALED else (JobOutcome.SIGNALED, None)
