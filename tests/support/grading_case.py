"""One evaluation with everything in files, so that processes can die in it and others go on: what the faults are made of."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from idkmesh_rules.grading.adapter import CallUncertain, EvaluationAdapter
from idkmesh_rules.grading.evidence import FileRepository
from tests.support.grading import (
    GOOD,
    SAID,
    FixtureBroker,
    config_of,
    manifest_in,
    play,
    statuses,
    supervisor_of,
    values,
)

CALL = "call-1"
JOBS = ["job-1/candidate", "job-1/grader"]
WRONG = values('{"answer": 41}'), statuses(answer="failed")
_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32)
_WITHOUT_FLUSHING = b"\2\0\0\0"


class Case:
    """A host's files: journal and evidence below `place`, the broker's memory beside them or `elsewhere`."""

    def __init__(self, place: Path, elsewhere: Path | None = None, *, right: bool = True) -> None:
        self.place, self.journal = place, place / "journal"
        memory = (elsewhere or place) / "broker"
        for each in (self.journal, place / "evidence", memory):
            each.mkdir(mode=0o700)
        self.broker = FixtureBroker(place=memory)
        self._right = right
        kept = FileRepository(place / "evidence").open()
        self.manifests = [manifest_in(kept), manifest_in(kept, number=2)]
        kept.close()
        for each in self.manifests:
            play(self.broker, each, *((GOOD, SAID) if right else WRONG))

    def adapter(self, **changes: Any) -> EvaluationAdapter:
        """An adapter over these files; its repository stays open as long as it lives."""
        repository = FileRepository(self.place / "evidence").open()
        supervisor = supervisor_of(repository, *self.manifests)
        return EvaluationAdapter(
            config_of(self.journal, supervisor, self.broker, repository, **{"interval": 0.001, **changes})
        )

    def life(self, looks: int = 30) -> str:
        """Start, ask, wait, stop: what the call comes to, or the phase that it is still in after so many looks at it."""
        adapter = self.adapter()
        adapter.start()
        try:
            return self.asked(adapter, looks)
        finally:
            adapter.stop(10)

    def asked(self, adapter: EvaluationAdapter, looks: int = 30) -> str:
        """What the call comes to with an adapter that is started."""
        before, until = len(self.broker.asked) + adapter.failures, time.monotonic() + 10
        while True:
            try:
                evaluation = adapter.evaluate(CALL, self.manifests[0].digest)
            except CallUncertain as error:
                if len(self.broker.asked) + adapter.failures >= before + looks or time.monotonic() > until:
                    return error.phase.value
                time.sleep(0.001)
                continue
            if evaluation.rejection is not None:
                return f"rejected: {evaluation.rejection}"
            assert evaluation.assessment is not None
            return evaluation.assessment.state.value

    def intended(self) -> set[str]:
        """The jobs whose identity the journal says is consumed."""
        return {json.loads(file.read_bytes())["key"] for file in self.journal.glob("intended-*")}

    def check(self, decision: str) -> str:
        """Assert what holds after any fault, and return the decision."""
        submitted = self.broker.submitted
        assert len(set(submitted)) == len(submitted), f"a job was submitted twice: {submitted}"
        assert set(submitted) <= self.intended(), f"submitted without an intent: {submitted}"
        lost = self.intended() - set(submitted)
        expected = "passed" if self._right else "failed"
        assert decision == ("uncertain" if lost else expected), f"{decision}, with {lost} intended and not submitted"
        return decision

    def records(self) -> str:
        """What the journal holds, in short."""
        kinds = [file.name.partition("-")[0] for file in self.journal.iterdir()]
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds) - {"journal"})) or "nothing"


class Ended(NamedTuple):
    """How a child process ended: the signal that killed it (0 for none), and what it said."""

    signal: int
    said: Any


def in_child(work: Callable[[], Any]) -> Ended:
    """Do `work` in a forked process and return what it returned; raises AssertionError with its traceback."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            said, code = work(), 0
        except BaseException:
            said, code = traceback.format_exc(), 1
        os.write(writing, json.dumps(said).encode())
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read()
    status = os.waitpid(child, 0)[1]
    said = json.loads(text) if text else None
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, said
    return Ended(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, said)


class Steps:
    """Counts what a process does durably, before and after each, and does something at one of these points."""

    def __init__(self, number: int | None = None, act: Callable[[], object] = lambda: None) -> None:
        self.count, self._number, self._act = 0, number, act

    def step(self, *_: object) -> None:
        self.count += 1
        if self.count == self._number:
            self._act()

    def watch(self, broker: FixtureBroker) -> None:
        """Count this process's fsync and linkat from now on, and the broker's steps."""
        fsync, link = os.fsync, os.link

        def around(call: Callable[..., None]) -> Callable[..., None]:
            def counted(*arguments: Any, **named: Any) -> None:
                self.step()
                call(*arguments, **named)
                self.step()

            return counted

        os.fsync, os.link = around(fsync), around(link)
        broker.at = self.step


def die() -> None:
    """End this process at once, as nothing can prevent."""
    os.kill(os.getpid(), signal.SIGKILL)


class Disk:
    """A small ext4 file system on a loop device, which can lose power."""

    def __init__(self, place: Path) -> None:
        self._image, self.mount = place / "disk.img", place / "disk"
        self.mount.mkdir(mode=0o700)
        with self._image.open("wb") as file:
            file.truncate(8 << 20)
        self._run("mkfs.ext4", "-q", "-F", str(self._image))

    def on(self) -> None:
        self._run("mount", "-o", "loop", str(self._image), str(self.mount))
        self.mount.chmod(0o700)

    def off(self) -> None:
        self._run("umount", str(self.mount))

    def lose_power(self) -> None:
        """Drop everything that isn't on the device, and every later write (what xfstests does by `godown`)."""
        at = os.open(self.mount, os.O_RDONLY)
        fcntl.ioctl(at, _SHUTDOWN, _WITHOUT_FLUSHING)
        os.close(at)

    @staticmethod
    def _run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)

    @classmethod
    def missing(cls, place: Path) -> str | None:
        """Why there can't be one here, None if there can."""
        if os.geteuid() != 0:
            return "only root can mount a loop device"
        try:
            disk = cls(place)
            disk.on()
            disk.off()
        except (OSError, subprocess.CalledProcessError) as error:
            return f"no loop device with ext4 can be mounted here ({type(error).__name__})"
        return None
