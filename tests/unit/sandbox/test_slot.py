"""A slot whose launcher can't be had, doesn't answer, or goes away at the worst moment."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from idkmesh_rules.grading.values import JobOutcome
from idkmesh_rules.sandbox import slot as module
from idkmesh_rules.sandbox.interface import SandboxFault, SandboxUnavailable
from idkmesh_rules.sandbox.local import LocalSandbox
from idkmesh_rules.sandbox.slot import Call, Slot
from tests.support.graded import ENOUGH, needs, python


def as_interpreter(monkeypatch: pytest.MonkeyPatch, program: Path | str) -> None:
    monkeypatch.setattr(module, "sys", SimpleNamespace(executable=str(program)))


def script(place: Path, text: str) -> Path:
    path = place / "python"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return path


def test_an_interpreter_that_is_not_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    needs()
    as_interpreter(monkeypatch, "/no/such/python")
    with pytest.raises(SandboxUnavailable, match="the launcher can't be started: No such file"):
        Slot("absent", os.geteuid()).open()


def test_a_launcher_that_says_nothing_is_waited_for_and_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needs()
    as_interpreter(monkeypatch, script(tmp_path, "import time; time.sleep(60)"))
    monkeypatch.setattr(module, "_READY_SECONDS", 0.2)
    monkeypatch.setattr(module, "_END_SECONDS", 0.2)
    with pytest.raises(SandboxUnavailable, match="the launcher can't be started: timed out"):
        Slot("mute", os.geteuid()).open()


def test_a_slot_that_is_not_open_runs_nothing() -> None:
    with pytest.raises(SandboxFault, match="isn't open"):
        Slot("closed", os.geteuid()).run(Call(["/bin/true"], {}, {}, 0), ENOUGH)


def test_cancelling_what_is_not_open_does_nothing() -> None:
    Slot("closed", os.geteuid()).cancel()
    LocalSandbox(name="closed").cancel()
    LocalSandbox(name="closed").close()


ANSWERS_TOO_LATE = """
import os, socket, sys
channel = socket.socket(fileno=int(sys.argv[5]))
channel.send(b"ready")
while channel.recv(64): pass
"""


def test_a_launcher_that_does_not_kill_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It takes the job and never answers: at the wall time it is told to kill, and some time later killed itself."""
    needs()
    as_interpreter(monkeypatch, script(tmp_path, ANSWERS_TOO_LATE))
    monkeypatch.setattr(module, "_END_SECONDS", 0.3)
    slot = Slot("deaf", os.geteuid())
    slot.open()
    try:
        limits = ENOUGH._replace(wall_seconds=1)
        ended = slot.run(Call(["/bin/true"], {}, {}, 0), limits)
        assert (ended.outcome, ended.exit_code) == (JobOutcome.WALL, None)
        assert ended.usage.wall_seconds >= 1
    finally:
        slot.close()


def test_a_launcher_that_went_away_between_two_jobs_is_replaced() -> None:
    needs()
    sandbox = LocalSandbox(name="gone")
    sandbox.open()
    try:
        process = sandbox._slot._process  # type: ignore[union-attr]  # whom to kill
        assert isinstance(process, subprocess.Popen)
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert sandbox.run(python("import os; os.write(3, b'fine')"), {}).export == b"fine"
    finally:
        sandbox.close()


def test_a_launcher_that_can_not_be_replaced_is_the_hosts_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    needs()
    sandbox = LocalSandbox(name="last")
    sandbox.open()
    try:
        process = sandbox._slot._process  # type: ignore[union-attr]  # whom to kill
        assert process is not None
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        as_interpreter(monkeypatch, "/no/such/python")
        with pytest.raises(SandboxFault, match="the launcher can't be started"):
            sandbox.run(python("pass"), {})
    finally:
        sandbox.close()


def test_a_wall_time_that_passed_while_the_host_stood_still_is_the_hosts_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    needs()
    sandbox = LocalSandbox(name="paused")
    sandbox.open()
    try:
        monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)  # each pause is taken for such a one
        with pytest.raises(SandboxFault, match="the host stood still"):
            sandbox.run(python("import time; time.sleep(60)", limits=ENOUGH._replace(wall_seconds=1)), {})
    finally:
        sandbox.close()


def test_a_host_that_is_out_of_memory_is_no_ceiling_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    needs("memory-total")
    sandbox = LocalSandbox(name="poor")
    sandbox.open()
    try:
        groups = sandbox._slot._groups  # type: ignore[union-attr]
        assert groups is not None
        used = groups.used
        monkeypatch.setattr(groups, "used", lambda before: used(before)._replace(starved=True))
        with pytest.raises(SandboxFault, match="below its ceiling"):
            sandbox.run(python("pass"), {})
    finally:
        sandbox.close()


def test_a_group_that_can_not_be_read_any_more_is_the_hosts_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    needs("memory-total")
    sandbox = LocalSandbox(name="blind")
    sandbox.open()
    try:
        groups = sandbox._slot._groups  # type: ignore[union-attr]
        assert groups is not None

        def unreadable(*_arguments: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(groups, "begin", unreadable)
        with pytest.raises(SandboxFault, match="can't be watched: Input/output error"):
            sandbox.run(python("pass"), {})
        monkeypatch.undo()
        assert sandbox.run(python("import os; os.write(3, b'fine')"), {}).export == b"fine"
    finally:
        sandbox.close()
