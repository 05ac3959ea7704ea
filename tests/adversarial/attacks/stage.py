"""Where the attacks on the sandbox are played: what surrounds a hostile job on the host, and what is looked at afterwards.

A hostile program is Python without anything but its standard library, so that it runs in the smallest runtime. It calls
the kernel by number, prints one pair of a way and what came of it for each way that it tries, and knows of the host what
an attacker could know: paths, process numbers and names of sockets, but no secret.
"""

import ctypes
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from idkmesh_rules.grading.values import JobLimits, JobSpec, Role
from idkmesh_rules.sandbox.interface import Finished, SandboxFault
from idkmesh_rules.sandbox.local import LocalSandbox

MIB = 1 << 20
LIMITS = JobLimits(10, 10, 256 * MIB, 16, 1 << 16, 1 << 16)
"""Of a job that ends by itself."""
SHORT = LIMITS._replace(wall_seconds=1)
"""Of a job that only its wall clock ends."""

BY_GROUPS = frozenset({"memory-total", "cpu-total", "scratch-inodes"})
"""The controls that a machine may lack, and then reports as not enforced."""

PRELUDE = '''
import ctypes, errno, json, os, signal, sys, time
HOST = json.loads(sys.argv[1])
if os.path.exists(HOST["fixture"]):
    os.write(2, b"the host's files are within reach, and it may be the host's that would be harmed")
    os._exit(1)
libc = ctypes.CDLL(None, use_errno=True)

def text(number):
    return errno.errorcode.get(number, str(number))

def say(way, result):
    print(json.dumps([way, result]), flush=True)

def called(number, *given):
    words = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in given]
    result = libc.syscall(ctypes.c_long(number), *words)
    return "done" if result >= 0 else text(ctypes.get_errno())

def call(name, *given, way=None):
    number = HOST["calls"].get(name, -1)
    say(way or name, called(number, *given) if number >= 0 else "absent")

def act(way, function, *given, **named):
    try:
        function(*given, **named)
    except OSError as error:
        say(way, text(error.errno))
    else:
        say(way, "done")

def child(function):
    """What became of a child that runs a function: its exit code, or the name of the signal that ended it."""
    process = os.fork()
    if process == 0:
        os._exit(function() or 0)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return code if code >= 0 else signal.Signals(-code).name

def daemon(function):
    """Run a function in a process that has left its session, its parent and the standard streams."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        for number in (0, 1, 2):
            os.close(number)
        function()
        os._exit(0)
    os.wait()
'''

DRIVER = """
import json, os, types
module = types.ModuleType("candidate")
with open("/inputs/candidate", "rb") as stream:
    exec(compile(stream.read(), "/inputs/candidate", "exec"), module.__dict__)
answer = module.solve(6)
data = json.dumps({"protocol": "cortex.json-equality.v1", "values": {"answer": answer}}).encode()
os.write(3, data)
print("written")
"""
"""A verifier's driver of the plainest kind: it defends itself against nothing, because nothing depends on it."""


class NotHeld(Exception):
    """An attack succeeded, or didn't take place; the message says what was seen."""


class NotApplicable(Exception):
    """What an attack is about isn't on this machine; the message says what."""


class Stage:
    """A sandbox that is open, and around it a host with secrets: in a file, in its environment, in another job."""

    def __init__(self, sandbox: LocalSandbox, calls: Mapping[str, int]) -> None:
        self.sandbox, self._calls = sandbox, calls
        self.secret = secrets.token_hex(16)
        self.place = Path(tempfile.mkdtemp(prefix="attacked-"))
        self.place.chmod(0o755)  # nothing but the sandbox keeps a job from what lies here
        self.plan = self.place / "plan"
        self.plan.mkdir()
        self.fixture = self.plan / "expected.json"
        self.fixture.write_text(json.dumps({"secret": self.secret}))
        os.environ["IDKRULES_ATTACKED_SECRET"] = self.secret

    def close(self) -> None:
        del os.environ["IDKRULES_ATTACKED_SECRET"]
        shutil.rmtree(self.place)

    def renew(self) -> None:
        """Open the sandbox anew, so that what breaks it costs one row and not all that follow."""
        self.sandbox.close()
        self.sandbox.open()

    def job(
        self,
        program: str,
        limits: JobLimits = LIMITS,
        *,
        files: Mapping[str, bytes] | None = None,
        runtime: str = "python3",
        sandbox: LocalSandbox | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> Finished:
        """Run a hostile program, which finds what is `known` of the host in HOST."""
        host = {
            "calls": dict(self._calls),
            "fixture": str(self.fixture),
            "token": secrets.token_hex(16),
            **(known or {}),
        }
        command = ("python3", "-I", "-S", "/inputs/attack.py", json.dumps(host))
        given = {"/inputs/attack.py": (PRELUDE + program).encode(), **(files or {})}
        finished = (sandbox or self.sandbox).run(spec(command, limits, runtime), given)
        # At once: when a job has ended, nothing of it may be there.
        left = alive(host["token"])
        if left:
            raise NotHeld(f"{len(left)} processes outlived the job")
        for printed in (finished.stdout.data, finished.stderr.data, finished.export or b""):
            if self.secret.encode() in printed:
                raise NotHeld("the job got hold of a secret")
        return finished

    def drive(self, candidate: str, *, files: Mapping[str, bytes] | None = None) -> Finished:
        """Run a candidate under the verifier's driver."""
        given = {"/evaluator/run.py": DRIVER.encode(), "/inputs/candidate": candidate.encode(), **(files or {})}
        return self.sandbox.run(spec(("python3", "-I", "-S", "/evaluator/run.py"), LIMITS), given)


def spec(command: tuple[str, ...], limits: JobLimits, runtime: str = "python3") -> JobSpec:
    return JobSpec("job-1/attack", Role.CANDIDATE, runtime, command, (), (), limits, ())


# --- What is looked at on the host ------------------------------------------------------------------------------------


def alive(token: str) -> list[int]:
    """The processes that have a token among their arguments, but for our own. One that has ended has no arguments."""
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit() and int(directory.name) != os.getpid():
            try:
                if token.encode() in (directory / "cmdline").read_bytes():
                    found.append(int(directory.name))
            except OSError:
                continue  # it ended meanwhile
    return found


def launchers(host: int) -> set[int]:
    """The launchers that a host process has started."""
    found = set()
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            parent = (directory / "stat").read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) == host and b"launcher.py" in (directory / "cmdline").read_bytes():
                found.add(int(directory.name))
        except OSError:
            continue
    return found


def is_launcher(process: int) -> bool:
    try:
        return b"launcher.py" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def until(met: Callable[[], bool], what: str, seconds: float = 10.0) -> None:
    """Wait for something; raises NotHeld when it doesn't come."""
    last = time.monotonic() + seconds
    while not met():
        if time.monotonic() > last:
            raise NotHeld(what)
        time.sleep(0.01)


def groups_of(host: int) -> list[Path]:
    """The control groups that a host process has made and nobody has taken away."""
    return list(Path("/sys/fs/cgroup").rglob(f"idkrules-{host}-*"))


def call_numbers(names: tuple[str, ...]) -> dict[str, int]:
    """The numbers of system calls on this machine, below zero for one that it hasn't."""
    library = ctypes.CDLL("libseccomp.so.2")
    return {name: library.seccomp_syscall_resolve_name(name.encode()) for name in names}


def file_handle(path: Path) -> str:
    """What name_to_handle_at(2) says of a file, in hexadecimal digits; of none where the file system has no handles."""

    class Handle(ctypes.Structure):
        _fields_ = (("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("handle", ctypes.c_ubyte * 128))

    handle, mount = Handle(bytes=128), ctypes.c_int()
    ctypes.CDLL(None).name_to_handle_at(-100, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount), 0)
    return bytes(handle).hex()


def faulted(run: Callable[[], object]) -> str:
    """What the sandbox says when it breaks on a run; nothing when it doesn't."""
    try:
        run()
    except SandboxFault as error:
        return str(error)
    return ""
