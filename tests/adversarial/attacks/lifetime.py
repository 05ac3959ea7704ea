"""Attacks that outlive their job, also where its launcher or its host is killed."""

import os
import signal
import subprocess
import sys
import threading

from idkmesh_rules.grading.values import JobOutcome
from idkmesh_rules.sandbox.interface import Finished, SandboxFault
from idkmesh_rules.sandbox.local import LocalSandbox
from tests.adversarial.attacks.attack import Attack, attack
from tests.adversarial.attacks.expected import all_of, ends, told, ways
from tests.adversarial.attacks.stage import (
    SHORT,
    NotHeld,
    Stage,
    alive,
    faulted,
    groups_of,
    is_launcher,
    launchers,
    until,
)
from tests.support.places import ROOT

_DAEMONS = """
for number in (1, 1 | 1 << 32):
    libc.prctl(ctypes.c_ulong(number), 0, 0, 0, 0)
daemon(lambda: time.sleep(60))
daemon(lambda: libc.prctl(ctypes.c_ulong(1), 0, 0, 0, 0) + time.sleep(60))
"""


def looked_at_by_play(_finished: Finished) -> str:
    """Of an attack whose job nobody sees the end of: what has to be seen is seen of the host."""
    return ""


def launcher_killed(stage: Stage, each: Attack) -> str:
    sandbox = LocalSandbox(name="orphaned")
    before = launchers(os.getpid())
    sandbox.open()
    (launcher,) = launchers(os.getpid()) - before
    token, said = "orphan-" + stage.secret[:8], []
    run = threading.Thread(
        target=lambda: said.append(
            faulted(lambda: stage.job(each.program, each.limits, sandbox=sandbox, known={"token": token}))
        )
    )
    try:
        run.start()
        until(lambda: len(alive(token)) >= 4, "the job doesn't start")
        os.kill(launcher, signal.SIGKILL)
        until(lambda: not alive(token), "the job outlived its launcher")
        run.join()
        if not said[0]:
            raise NotHeld("the host took the job for one that ended")
        finished = stage.job("say('next', 'ran')", sandbox=sandbox)
        return f"all gone; the host says: {said[0]}; the next job: {told(finished)}"
    finally:
        run.join()
        sandbox.close()


def launcher_killed_idle(stage: Stage, each: Attack) -> str:
    """Whoever of the same user kills a launcher that waits may cost one job, and not all that come after."""
    sandbox = LocalSandbox(name="orphaned")
    before = launchers(os.getpid())
    sandbox.open()
    try:
        (launcher,) = launchers(os.getpid()) - before
        os.kill(launcher, signal.SIGKILL)
        until(lambda: not is_launcher(launcher), "the launcher doesn't end")
        said = faulted(lambda: stage.job(each.program, sandbox=sandbox))
        return f"{said or 'the next job ran'}; {each.seen(stage.job(each.program, sandbox=sandbox))}"
    finally:
        sandbox.close()


def launcher_killed_deaf(stage: Stage, each: Attack) -> str:
    """What the kernel does when the launcher is what it kills for memory, while the host has just told it to kill."""
    sandbox = LocalSandbox(name="orphaned")
    before = launchers(os.getpid())
    sandbox.open()
    (launcher,) = launchers(os.getpid()) - before
    token, said, outlived = "deaf-" + stage.secret[:8], list[str](), list[str]()

    def run() -> None:
        try:
            said.append(told(stage.job(each.program, SHORT, sandbox=sandbox, known={"token": token})))
        except (SandboxFault, NotHeld) as error:
            said.append(str(error))
            outlived.extend([str(error)] if isinstance(error, NotHeld) else ())

    thread = threading.Thread(target=run)
    try:
        thread.start()
        until(lambda: len(alive(token)) >= 2, "the job doesn't start")
        os.kill(launcher, signal.SIGSTOP)
        thread.join(SHORT.wall_seconds + 0.5)
        os.kill(launcher, signal.SIGKILL)
        thread.join()
        until(lambda: not alive(token), "the job outlived its launcher")
        if outlived:
            raise NotHeld(outlived[0])
        return f"{said[0]}; the next job: {told(stage.job('pass', sandbox=sandbox))}"
    finally:
        thread.join()
        sandbox.close()


def host_killed(stage: Stage, each: Attack, *, launcher_too: bool = False) -> str:
    token = "host-" + os.urandom(8).hex()
    host = subprocess.Popen(
        [sys.executable, "-m", "tests.adversarial.sandbox_attacks", "--host", each.name, token],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(stage.place)},
    )
    try:
        until(lambda: len(set(alive(token)) - {host.pid}) >= 4, "the job doesn't start")
        launcher = next(iter(launchers(host.pid)))
        if launcher_too:
            os.kill(launcher, signal.SIGSTOP)  # so that it doesn't notice the host's end before its own
        host.kill()
        if launcher_too:
            os.kill(launcher, signal.SIGKILL)
    finally:
        host.kill()
        host.wait()
    try:
        until(lambda: not alive(token), "the job outlived its host")
        until(lambda: not is_launcher(launcher), "the launcher outlived its host")
    finally:
        for process in alive(token):
            os.kill(process, signal.SIGKILL)
    # The next host takes away what this one couldn't.
    again = LocalSandbox(name="again")
    again.open()
    again.close()
    left = groups_of(host.pid)
    if left:
        raise NotHeld(f"control groups are left: {left[0]}")
    return "job, launcher and control groups are gone"


ATTACKS: tuple[Attack, ...] = (
    attack(
        "daemons when the job exits",
        "daemons",
        "tree-ends",
        _DAEMONS + "os._exit(0)",
        ends(JobOutcome.EXITED),
    ),
    attack(
        "daemons when a signal ends the job",
        "daemons",
        "tree-ends",
        _DAEMONS + "os.kill(os.getpid(), signal.SIGSEGV)\nos.abort()",
        ends(JobOutcome.SIGNALED),
    ),
    attack(
        "the signal of a parent's death turned off",
        "daemons",
        "system-calls",
        """
        for way, number in (("PR_SET_PDEATHSIG", 1), ("with a high bit", 1 | 1 << 32), ("PR_SET_MM", 35)):
            libc.prctl(ctypes.c_ulong(number), 0, 0, 0, 0)
            say(way, text(ctypes.get_errno()))
        value = ctypes.c_int()
        libc.prctl(2, ctypes.byref(value), 0, 0, 0)
        say("it is", value.value)
        """,
        ways({**all_of("EPERM", "PR_SET_PDEATHSIG", "with a high bit", "PR_SET_MM"), "it is": "9"}),
    ),
    attack(
        "the launcher killed while a job runs",
        "daemons",
        "tree-ends",
        _DAEMONS + "time.sleep(60)",
        looked_at_by_play,
        play=launcher_killed,
    ),
    attack(
        "the launcher killed between two jobs",
        "daemons",
        "tree-ends",
        "say('a later job', 'ran')",
        ways({"a later job": "ran"}),
        play=launcher_killed_idle,
    ),
    attack(
        "the launcher killed before it reads an order",
        "daemons",
        "tree-ends",
        "time.sleep(60)",
        ends(JobOutcome.WALL),
        SHORT,
        play=launcher_killed_deaf,
    ),
    attack(
        "the host killed while a job runs",
        "daemons",
        "tree-ends",
        _DAEMONS + "time.sleep(60)",
        looked_at_by_play,
        play=host_killed,
    ),
    attack(
        "host and launcher killed at once",
        "daemons",
        "tree-ends",
        _DAEMONS + "time.sleep(60)",
        looked_at_by_play,
        play=lambda stage, each: host_killed(stage, each, launcher_too=True),
    ),
)
