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
import signal
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
_READY_SECONDS, _END_SECONDS, _END_LOOK_SECONDS = 10.0, 10.0, 0.002
_LOOK_SECONDS = 0.02
"""How often processor time and memory are looked at while a job runs; it may exceed them for so long."""

_PAUSE_SECONDS = 1.0
"""A pause between two looks that only a host that stands still can make."""

_OWN_PROCESSES = 1
_OWN_BYTES = 4 << 20
"""What bubblewrap takes beside the job: its monitor, and what setting up costs."""

_SIGNALED = 128
_ROOM = socket.CMSG_SPACE(4)


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
            with suppress(OSError):  # it has gone by itself
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
            last = time.monotonic() + _END_SECONDS
            while not self._exited() and time.monotonic() < last:
                time.sleep(_END_LOOK_SECONDS)
            # A bubblewrap that was started in the launcher's last moment doesn't know that it has no parent any more. It is
            # in the launcher's process group still, whose number nobody else can have before the launcher is waited for.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
            _wait_for_group(self._process.pid)
            self._process = None
        if self._groups is not None:
            self._groups.kill()

    def _exited(self) -> bool:
        assert self._process is not None
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def run(self, call: Call, limits: JobLimits) -> Ended:
        """Run a job to its end; raises SandboxFault when nobody can say what became of it."""
        if self._groups is None:
            raise SandboxFault("the sandbox isn't open")
        streams = (Stream(limits.output_bytes), Stream(limits.output_bytes))
        try:
            return self._ended(call, limits, streams)
        except SandboxUnavailable as error:  # after the last launcher went away, no other one can be had
            raise SandboxFault(str(error)) from None
        except OSError as error:
            self._end()
            raise SandboxFault(f"the job can't be watched: {error.strerror or error}") from None
        finally:
            for stream in streams:
                stream.close()

    def _ended(self, call: Call, limits: JobLimits, streams: tuple[Stream, Stream]) -> Ended:
        if self._process is None or self._exited():
            self._end()  # it ended between two jobs, which whoever may kill it can bring about at any time
            self.open()
        assert self._channel is not None
        assert self._groups is not None
        groups = self._groups
        memory, processes = limits.memory_bytes + call.copied + _OWN_BYTES, limits.processes + _OWN_PROCESSES
        before = groups.begin(memory, processes)
        watch = _Watch(self._channel, groups, before, streams, limits)
        self._ask(call, streams)
        try:
            told = watch.until_end()
            if told is None:
                # When memory runs out, the kernel may choose the launcher; the next job gets another one.
                self._end()
                watch.end()
        finally:
            watch.close()
        used = groups.used(before)
        for stream in streams:
            stream.drain()
        if used.starved:
            raise SandboxFault("the host ran out of memory while the job was below its ceiling")
        if watch.paused:
            raise SandboxFault("the host stood still while the job's wall time passed")
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


def _wait_for_group(number: int) -> None:
    """Wait until a process group that was killed has nobody in it."""
    last = time.monotonic() + _END_SECONDS
    while time.monotonic() < last:
        try:
            os.killpg(number, 0)
        except OSError:
            return
        time.sleep(_END_LOOK_SECONDS)


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
        self.paused = False
        self.seconds = 0.0
        self._job: int | None = None

    def until_end(self) -> dict[str, Any] | None:
        """What the launcher tells of the job's end; None when it went away or doesn't answer."""
        poll = select.poll()
        for number in (self._channel.fileno(), *self._streams):
            poll.register(number, select.POLLIN)
        began = looked = now = time.monotonic()
        last = began + self._limits.wall_seconds
        while True:
            for number, _events in poll.poll(max(0.0, min(_LOOK_SECONDS, last - time.monotonic())) * 1000):
                if number == self._channel.fileno():
                    said = self._said()
                    if said == b"begun":
                        continue
                    self.seconds = time.monotonic() - began
                    told: dict[str, Any] | None = json.loads(said) if said else None
                    return told
                stream = self._streams[number]
                stream.read()
                if not stream.open:
                    poll.unregister(number)
            previous, now = now, time.monotonic()
            if self.over is not None:
                if now >= last:
                    self.seconds = now - began
                    return None
                continue
            if any(stream.truncated for stream in self._streams.values()):
                self.over = JobOutcome.OUTPUT
            elif now >= last:
                self.over = JobOutcome.WALL
                # Looked at so rarely, the job had no chance to use its time either.
                self.paused = now - previous > _PAUSE_SECONDS
            elif now >= looked + _LOOK_SECONDS:
                looked = now
                self.over = _ceiling(self._groups.used(self._before), self._limits)
            if self.over is not None:
                with suppress(BrokenPipeError):  # it has ended, which the next look tells
                    self._channel.send(b"kill")
                last = now + _END_SECONDS

    def _said(self) -> bytes:
        """The launcher's next message; empty when it is gone. With the job's beginning comes its first process."""
        try:
            said, ancillary, _flags, _address = self._channel.recvmsg(1 << 16, _ROOM, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:  # it ended without having read what it was told
            return b""
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                (self._job,) = array.array("i", data)
        return said

    def end(self) -> None:
        """Kill the job's first process, if it is known, and wait until it and so all others are gone."""
        if self._job is None:
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._job, signal.SIGKILL)
        poll = select.poll()
        poll.register(self._job, select.POLLIN)
        if not poll.poll(_END_SECONDS * 1000):
            raise SandboxFault("a job that was killed doesn't end")

    def close(self) -> None:
        """Let go of the job's first process."""
        if self._job is not None:
            os.close(self._job)
            self._job = None


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
