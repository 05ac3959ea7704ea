"""The sandbox of this machine: what a job gets, how each ceiling ends it, what is measured, and what stays usable."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobLimits, JobOutcome, JobSpec
from idkmesh_rules.sandbox.bubblewrap import ENVIRONMENT
from idkmesh_rules.sandbox.controls import BY_CONSTRUCTION, CONTROLS
from idkmesh_rules.sandbox.interface import Finished, SandboxFault, SandboxUnavailable
from idkmesh_rules.sandbox.local import MOST_FILES, LocalSandbox
from tests.support.graded import ENOUGH, job, needs, python
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    needs()
    sandbox = LocalSandbox(name="tests")
    sandbox.open()
    yield sandbox
    sandbox.close()


def exported(finished: Finished) -> bytes:
    assert finished.outcome is JobOutcome.EXITED, finished
    assert finished.export is not None, finished.stderr.data.decode()
    return finished.export


def test_a_job_finds_its_files_and_nothing_of_the_host(sandbox: LocalSandbox) -> None:
    program = """
import os, json
found = {path: open(path).read() for path in ("/inputs/a", "/evaluator/deep/er/b")}
found["modes"] = [oct(os.stat(path).st_mode & 0o777) for path in ("/inputs/a", "/tmp")]
found["top"], found["here"] = sorted(os.listdir("/")), os.getcwd()
found["environment"] = {name: value for name, value in os.environ.items() if name != "PWD"}
found["who"] = [os.getuid(), os.getgid(), os.getpid(), os.uname().nodename]
os.write(3, json.dumps(found).encode())
"""
    import json

    files = {"/inputs/a": b"one", "/evaluator/deep/er/b": b"two"}
    found = json.loads(exported(sandbox.run(python(program), files)))
    assert (found["/inputs/a"], found["/evaluator/deep/er/b"]) == ("one", "two")
    assert found["modes"] == ["0o555", "0o700"]
    assert set(found["top"]) <= {"bin", "dev", "evaluator", "inputs", "lib", "lib64", "sbin", "tmp", "usr"}
    assert found["here"] == "/tmp"
    assert found["environment"] == dict(ENVIRONMENT)
    assert found["who"] == [65534, 65534, 1, "sandbox"]


def test_exactly_four_descriptors_are_open(sandbox: LocalSandbox) -> None:
    program = """
import os
def kind(number):
    try: return os.fstat(number).st_mode & 0o170000
    except OSError: return None
os.write(3, repr({n: oct(kind(n)) for n in range(4096) if kind(n) is not None}).encode())
"""
    expected = {0: "0o20000", 1: "0o10000", 2: "0o10000", 3: "0o100000"}  # a device, two pipes, a file
    assert exported(sandbox.run(python(program), {"/inputs/a": b"1", "/evaluator/b": b"2"})) == repr(expected).encode()


SMALL = JobLimits(1, 1, 64 << 20, 4, 1000, 100)
CEILINGS: dict[str, tuple[str, JobOutcome, tuple[str, ...]]] = {
    "wall": ("import time; time.sleep(60)", JobOutcome.WALL, ()),
    "processor time": ("while True: pass", JobOutcome.CPU, ("cpu-total",)),
    "memory": ("held = bytearray(b'x') * (200 << 20)", JobOutcome.MEMORY, ("memory-total",)),
    "scratch counts as memory": (
        "data = b'x' * (1 << 20)\nfor n in range(90):\n open(f'/tmp/{n % 60}-{n}', 'wb').write(data)",
        JobOutcome.EXITED,
        (),
    ),
    "processes": (
        "import os, time\nfor _ in range(10):\n os.fork() or time.sleep(60)",
        JobOutcome.PIDS,
        ("cpu-total",),
    ),
    "threads": (
        "import threading, time\nfor _ in range(9): threading.Thread(target=time.sleep, args=(9,)).start()",
        JobOutcome.PIDS,
        ("cpu-total",),
    ),
    "output": ("import os\nwhile True: os.write(1, b'x' * 999)", JobOutcome.OUTPUT, ()),
    "errors": ("import os\nwhile True: os.write(2, b'x' * 999)", JobOutcome.OUTPUT, ()),
    "export": ("import os; os.write(3, b'x' * 200)", JobOutcome.EXPORT, ()),
    "export, byte by byte": ("import os\nfor _ in range(101): os.write(3, b'x')", JobOutcome.EXPORT, ()),
    "export, far away": ("import os; os.pwrite(3, b'x', 150)", JobOutcome.EXPORT, ()),
    "a signal": ("import ctypes; ctypes.string_at(0)", JobOutcome.SIGNALED, ()),
}


@pytest.mark.parametrize("name", CEILINGS)
def test_a_ceiling_ends_the_job_and_the_next_one_is_none_the_worse(sandbox: LocalSandbox, name: str) -> None:
    program, outcome, controls = CEILINGS[name]
    needs(*controls)
    limits = SMALL if outcome is JobOutcome.WALL else SMALL._replace(wall_seconds=20)
    finished = sandbox.run(python(program, limits=limits), {})
    assert finished.outcome is outcome, finished
    if outcome is not JobOutcome.EXITED:
        assert (finished.exit_code, finished.export) == (0 if outcome is JobOutcome.EXPORT else None, None)
    after = sandbox.run(python("import os; os.write(3, b'fine')"), {})
    assert exported(after) == b"fine"


def test_what_fits_exactly_is_taken(sandbox: LocalSandbox) -> None:
    finished = sandbox.run(python("import os; os.write(3, b'x' * 100); os.write(1, b'y' * 1000)", limits=SMALL), {})
    assert exported(finished) == b"x" * 100
    assert finished.stdout == (b"y" * 1000, False)


def test_without_an_export_there_is_none(sandbox: LocalSandbox) -> None:
    finished = sandbox.run(python("print('all tests passed')"), {})
    assert (finished.outcome, finished.exit_code, finished.export) == (JobOutcome.EXITED, 0, None)
    assert finished.stdout.data == b"all tests passed\n"


@pytest.mark.parametrize("code", [0, 1, 77, 128])
def test_an_exit_code_is_reported_and_means_nothing(sandbox: LocalSandbox, code: int) -> None:
    finished = sandbox.run(python(f"import os; os._exit({code})"), {})
    assert (finished.outcome, finished.exit_code) == (JobOutcome.EXITED, code)


def test_usage_is_measured_from_outside_each_job_for_itself(sandbox: LocalSandbox) -> None:
    needs("cpu-total", "memory-total")
    large = sandbox.run(python("held = bytearray(b'x') * (100 << 20)\nfor n in range(3 * 10**6): pass"), {})
    small = sandbox.run(python("pass"), {})
    assert large.usage.peak_bytes is not None
    assert small.usage.peak_bytes is not None
    assert 100 << 20 < large.usage.peak_bytes < 140 << 20
    assert small.usage.peak_bytes < 40 << 20
    assert large.usage.cpu_seconds is not None
    assert small.usage.cpu_seconds is not None
    assert 0 < small.usage.cpu_seconds < large.usage.cpu_seconds <= large.usage.wall_seconds * 2


def test_processes_that_are_never_waited_for_are_measured_all_the_same(sandbox: LocalSandbox) -> None:
    needs("cpu-total")
    program = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(2):
    if os.fork() == 0:
        until = time.process_time() + 0.3
        while time.process_time() < until: pass
        os._exit(0)
try: os.wait()  # returns when the last one is gone, and has reaped none
except ChildProcessError: pass
"""
    used = sandbox.run(python(program), {}).usage
    assert used.cpu_seconds is not None
    assert used.cpu_seconds >= 0.6


def test_the_controls_are_those_of_the_table(sandbox: LocalSandbox) -> None:
    assert BY_CONSTRUCTION <= sandbox.controls <= CONTROLS.keys()
    finished = sandbox.run(job("/bin/true", runtime="system"), {})
    assert set(finished.enforced) == sandbox.controls


PINNED = """
import array, os, socket
# The export in a pipe, the pipe in a socket's queue, and that socket's own ends behind it: nothing is left to close it.
reading, writing = os.pipe()
os.write(3, b"x" * 4096)
os.lseek(3, 0, 0)
os.splice(3, writing, 4096)
one, other = socket.socketpair()
ends = array.array("i", [reading, writing, one.fileno(), other.fileno()])
one.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)])
other.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)])
"""


def test_a_job_that_keeps_its_export_from_being_sealed_has_none(sandbox: LocalSandbox) -> None:
    finished = sandbox.run(python(PINNED), {})
    # The kernel may collect such a cycle at any time; the export is then sealed and whole, like any other.
    collected = (finished.outcome, finished.export) == (JobOutcome.EXITED, b"x" * 4096)
    assert collected or (finished.outcome, finished.export) == (JobOutcome.EXPORT, None), finished
    assert exported(sandbox.run(python("import os; os.write(3, b'fine')"), {})) == b"fine"


WRONG: dict[str, tuple[JobSpec, str]] = {
    "a runtime that isn't there": (job("/bin/true", runtime="windows"), "there is no runtime 'windows' here"),
    "a program that isn't there": (
        job("no-such-program"),
        "neither in the runtime python3 nor among its evaluator files",
    ),
    "a directory as program": (job("/usr/lib", runtime="system"), "neither in the runtime"),
    "too many files": (
        python("pass", inputs=tuple(ArtifactRef(f"f{n}", "sha256:" + "0" * 64, 0) for n in range(MOST_FILES))),
        "pack them into one",
    ),
    "too little memory": (python("pass", limits=ENOUGH._replace(memory_bytes=1000)), "limits.memory_bytes is at least"),
    "too much output": (python("pass", limits=ENOUGH._replace(output_bytes=1 << 40)), "limits.output_bytes"),
    "too many processes": (python("pass", limits=ENOUGH._replace(processes=1 << 40)), "limits.processes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_job_that_can_never_run_is_refused_beforehand(sandbox: LocalSandbox, name: str) -> None:
    spec, said = WRONG[name]
    with pytest.raises(GradingError, match=said.replace("(", r"\(")):
        sandbox.check(spec)


def test_a_file_of_the_job_may_be_its_program(sandbox: LocalSandbox) -> None:
    script = b"#!/bin/sh\nprintf fine >&3\n"
    spec = job("/evaluator/run", runtime="system", evaluator=(ArtifactRef("run", "sha256:" + "0" * 64, len(script)),))
    assert exported(sandbox.run(spec, {"/evaluator/run": script})) == b"fine"


def test_as_many_files_as_a_job_may_have(sandbox: LocalSandbox) -> None:
    files = {f"/inputs/{number}": str(number).encode() for number in range(MOST_FILES - 1)}
    program = (
        "import os; os.write(3, str(sum(int(open(f'/inputs/{n}').read()) for n in os.listdir('/inputs'))).encode())"
    )
    assert exported(sandbox.run(python(program), files)) == str(sum(range(MOST_FILES - 1))).encode()


def test_the_longest_command_goes_through(sandbox: LocalSandbox) -> None:
    parts = tuple("x" * 100_000 for _ in range(10))
    program = "import os, sys; os.write(3, str(sum(map(len, sys.argv[1:]))).encode())"
    assert exported(sandbox.run(job("python3", "-I", "-S", "-c", program, *parts), {})) == b"1000000"


def test_the_digest_of_the_policy_is_that_of_the_policy(sandbox: LocalSandbox) -> None:
    assert sandbox.policy_digest == sandbox.policy_digest
    assert sandbox.seccomp_digest.startswith("sha256:")


def test_a_sandbox_that_is_not_open_runs_nothing() -> None:
    with pytest.raises(SandboxFault):
        LocalSandbox()._finished(  # the public way asks for its runtimes first
            next(iter(_runtimes().values())), ("/bin/true",), ENOUGH, {}
        )


def _runtimes() -> dict:
    from idkmesh_rules.sandbox.runtime import builtin_runtimes

    return builtin_runtimes()


def test_a_job_that_is_given_up_by_another_thread_is_lost(tmp_path: Path) -> None:
    needs()
    sandbox = LocalSandbox(name="cancel")
    sandbox.open()
    timer = threading.Timer(0.3, sandbox.cancel)
    timer.start()
    try:
        with pytest.raises(SandboxFault) as caught:
            sandbox.run(python("import time; time.sleep(60)"), {})
        assert caught.value.lost
    finally:
        timer.join()
        sandbox.close()


def test_a_launcher_that_is_killed_takes_its_job_along_and_is_replaced(sandbox: LocalSandbox) -> None:
    process = sandbox._slot._process  # type: ignore[union-attr]  # whom to kill
    assert process is not None
    marker = f"marker-{os.getpid()}"
    timer = threading.Timer(0.3, lambda: os.kill(process.pid, signal.SIGKILL))
    timer.start()
    with pytest.raises(SandboxFault, match="went away"):
        sandbox.run(python(f"import time; time.sleep(60)  # {marker}"), {})
    timer.join()
    assert _gone(marker)
    assert exported(sandbox.run(python("import os; os.write(3, b'fine')"), {})) == b"fine"


_HOST = """
import sys
from idkmesh_rules.sandbox.local import LocalSandbox
from tests.support.graded import python
sandbox = LocalSandbox(name="killed")
sandbox.open()
print("open", flush=True)
sandbox.run(python("import os, time\\nfor _ in range(3): os.fork()\\ntime.sleep(60)  # " + sys.argv[1]), {})
"""


def test_a_host_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    needs()
    marker = f"host-marker-{os.getpid()}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    host = subprocess.Popen([sys.executable, "-c", _HOST, marker], cwd=ROOT, env=environment, stdout=subprocess.PIPE)
    assert host.stdout is not None
    assert host.stdout.readline() == b"open\n"
    until = time.monotonic() + 10
    while not _processes(marker, besides=host.pid) and time.monotonic() < until:
        time.sleep(0.01)
    host.kill()
    host.wait()
    host.stdout.close()
    assert _gone(marker)


def _processes(marker: str, besides: int = 0) -> list[str]:
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes()
        except OSError:
            continue
        if marker.encode() in line and int(each.parent.name) not in (os.getpid(), besides):
            found.append(each.parent.name)
    return found


def _gone(marker: str) -> bool:
    until = time.monotonic() + 10
    while _processes(marker):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def test_where_no_namespace_can_be_made_there_is_no_sandbox() -> None:
    """Played inside a namespace that forbids further ones."""
    needs()
    program = (
        "from idkmesh_rules.sandbox.local import LocalSandbox\n"
        "try: LocalSandbox().open()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    command = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--disable-userns"]
    command += ["--uid", "1000", "--gid", "1000", "--", sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert run.stdout.startswith(SandboxUnavailable.__name__), run.stdout + run.stderr
    assert "user namespaces" in run.stdout
