"""The launcher by itself: what it does with a job, a host that goes away, and words that it doesn't know.

Here it runs in a forked child instead of an interpreter of its own, so that its lines are counted; the rest is real.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from idkmesh_rules.grading.values import JobOutcome
from idkmesh_rules.sandbox import launcher, local
from idkmesh_rules.sandbox.interface import SandboxFault, SandboxUnavailable
from idkmesh_rules.sandbox.local import LocalSandbox
from idkmesh_rules.sandbox.slot import Slot
from tests.support.graded import ENOUGH, needs, python


class Child:
    """A forked process with as much of Popen as a slot uses."""

    def __init__(self, channel: int, hosts: int) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.setsid()
                os.close(hosts)  # or the host would never seem to be gone
                launcher.main(os.geteuid(), os.dup(channel))
                code = 0
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 1
            finally:
                os._exit(code)

    def wait(self, _timeout: float | None = None) -> int:
        return os.waitpid(self.pid, 0)[1]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class ForkedSlot(Slot):
    """A slot whose launcher is a fork of this process."""

    def _launched(self, channel: int) -> Child:  # type: ignore[override]
        assert self._channel is not None
        return Child(channel, self._channel.fileno())


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalSandbox]:
    needs()
    monkeypatch.setattr(local, "Slot", ForkedSlot)
    sandbox = LocalSandbox(name="forked")
    sandbox.open()
    yield sandbox
    sandbox.close()


def test_it_runs_one_job_after_the_other(sandbox: LocalSandbox) -> None:
    for number in range(3):
        finished = sandbox.run(python(f"import os; os.write(3, b'{number}')"), {"/inputs/a": b"1"})
        assert finished.export == str(number).encode()


def test_it_kills_what_it_is_told_to(sandbox: LocalSandbox) -> None:
    finished = sandbox.run(python("import time; time.sleep(60)", limits=ENOUGH._replace(wall_seconds=1)), {})
    assert finished.outcome is JobOutcome.WALL


def test_it_goes_with_its_host_and_takes_the_job_along(sandbox: LocalSandbox) -> None:
    timer = threading.Timer(0.3, sandbox.cancel)
    timer.start()
    with pytest.raises(SandboxFault):
        sandbox.run(python("import time; time.sleep(60)"), {})
    timer.join()


def test_what_can_not_be_started_is_told(sandbox: LocalSandbox) -> None:
    sandbox._bwrap = "/no/such/bwrap"
    with pytest.raises(SandboxFault, match="can't be started: No such file"):
        sandbox.run(python("pass"), {})


def test_what_can_not_be_set_up_has_no_exit_code(sandbox: LocalSandbox) -> None:
    runtime = sandbox.runtimes["system"]
    broken = runtime._replace(mounts=(*runtime.mounts, ("/no/such/directory", "/opt")))
    finished = sandbox._finished(broken, ("/bin/true",), ENOUGH, {})
    assert (finished.outcome, finished.exit_code, finished.enforced) == (JobOutcome.SETUP_FAILED, None, ())


def test_without_its_limits_no_job_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    needs()

    def forbidden(*_arguments: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(launcher, "_limit", forbidden)
    monkeypatch.setattr(local, "Slot", ForkedSlot)
    with pytest.raises(SandboxUnavailable, match="limits can't be set"):
        LocalSandbox(name="lawless").open()


def test_it_ignores_words_that_it_does_not_know() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = Child(theirs.fileno(), ours.fileno())
    theirs.close()
    assert ours.recv(64) == b"ready"
    for word in (b"run", b"kill", b"stop", b"\0"):
        ours.send(word)
    ours.close()
    until = time.monotonic() + 10
    while os.waitpid(child.pid, os.WNOHANG) == (0, 0):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_launcher_that_does_not_start_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    needs()
    monkeypatch.setattr(launcher, "main", lambda *_arguments: None)
    monkeypatch.setattr(local, "Slot", ForkedSlot)
    with pytest.raises(SandboxUnavailable, match="doesn't start"):
        LocalSandbox(name="dumb").open()


def test_a_number_that_is_somebody_elses_by_now_is_not_taken_for_the_job() -> None:
    with pytest.raises(ProcessLookupError):
        launcher._check_parent(os.getpid(), 1 if os.getppid() != 1 else 2)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b'{"child-pid": 7}\n{"exit-code": 3}\n', 3),
        (b'{"child-pid": 7}\n', None),
        (b'{"exit-code": true}\n', None),
        (b'{"exit-code": "3"}\n{"exit', None),
        (b"", None),
    ],
)
def test_the_exit_code_is_what_bubblewrap_says_and_nothing_else(text: bytes, number: int | None) -> None:
    assert launcher._number(text, "exit-code") == number
