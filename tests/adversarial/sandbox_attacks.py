"""Attacks on the sandbox, all of which really run: `python -m tests.adversarial.sandbox_attacks [--only NAME]`.

Each is a hostile program, what has to be seen of it, and the control that holds it; *supervisor* stands for the
comparison on the host, which no job takes part in. What a machine can't enforce has to be absent from the controls that
the sandbox reports, and the row then says so. Root plays all of it twice, once as an unprivileged user, who has no control
groups. One attack that succeeds ends the command with 1.
"""

import argparse
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import sysconfig
import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from errno import ENOSYS
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobLimits, JobOutcome
from idkmesh_rules.sandbox.controls import CONTROLS
from idkmesh_rules.sandbox.interface import Finished, SandboxFault, SandboxUnavailable
from idkmesh_rules.sandbox.local import LocalSandbox
from idkmesh_rules.sandbox.runtime import reachable
from tests.adversarial.sandbox_stage import (
    BY_GROUPS,
    LIMITS,
    MIB,
    SHORT,
    Expectation,
    NotApplicable,
    NotHeld,
    Stage,
    alive,
    all_of,
    at_most,
    bounded,
    call_numbers,
    ends,
    file_handle,
    groups_of,
    is_launcher,
    judged,
    launchers,
    not_passed,
    pairs,
    passed,
    spec,
    told,
    until,
    ways,
)
from tests.support.places import ROOT

HELD, ABSENT, NOT_APPLICABLE, BROKEN = "held", "not enforced, reported", "not applicable", "BROKEN"
SUPERVISOR = "supervisor"
UNPRIVILEGED = 65533

ITEMS = (
    "one process: equality", "one process: stack", "one process: reporters", "one process: shadow modules",
    "one process: os._exit", "one process: atexit", "exit status", "reading the evaluator", "descriptors", "ptrace",
    "namespaces", "fork bomb", "memory bomb", "processor time", "wall clock", "filling", "output flood", "closed stdio",
    "terminal", "setuid", "clocks", "other ABI", "unix sockets", "vsock", "netlink", "network", "io_uring",
    "links and devices as results", "export size", "export after the end", "daemons", "leaks", "signals", "oom score",
    "read-only places", "remount", "administrative calls", "newer system calls", "leftovers",
)  # fmt: skip
"""What the suite has to cover."""


class Attack(NamedTuple):
    """A hostile program, and what has to be seen of it; `play` is for one that needs more of the host than to be run."""

    name: str
    item: str
    control: str
    program: str
    seen: Expectation
    limits: JobLimits = LIMITS
    play: "Callable[[Stage, Attack], str] | None" = None


class Row(NamedTuple):
    """A line of the table."""

    name: str
    item: str
    verdict: str
    control: str
    seen: str


ATTACKS: dict[str, Attack] = {}


def looked_at_by_play(_finished: Finished) -> str:
    """Of an attack whose job nobody sees the end of: what has to be seen is seen of the host."""
    return ""


def attack(
    name: str,
    item: str,
    control: str,
    program: str,
    seen: Expectation,
    limits: JobLimits = LIMITS,
    play: Callable[[Stage, Attack], str] | None = None,
) -> None:
    assert name not in ATTACKS, name
    ATTACKS[name] = Attack(name, item, control, textwrap.dedent(program), seen, limits, play)


# --- In one process with the verifier's driver --------------------------------------------------------------------------


def driven(stage: Stage, each: Attack) -> str:
    return each.seen(stage.drive(each.program))


def candidate(name: str, item: str, program: str, seen: Expectation = not_passed) -> None:
    attack(name, item, SUPERVISOR, program, seen, play=driven)


candidate("the right value, which has to pass", "one process: equality", "def solve(x): return x * 7", passed)
candidate("a wrong value", "one process: equality", "def solve(x): return x * 8")
candidate(
    "an object that equals everything",
    "one process: equality",
    """
    class Equal:
        def __eq__(self, other): return True
        def __ne__(self, other): return False
        __hash__ = object.__hash__
    def solve(x): return Equal()
    """,
)
candidate(
    "a number that equals everything",
    "one process: equality",
    """
    class Equal(int):
        def __eq__(self, other): return True
        def __ne__(self, other): return False
        def __repr__(self): return "0" if self else "1"
        __str__ = __repr__
        __hash__ = int.__hash__
    def solve(x): return Equal(7)
    """,
)
candidate(
    "a mapping that lies about what it holds",
    "one process: equality",
    """
    class Lying(dict):
        def __eq__(self, other): return True
        def items(self): return [("answer", True), ("answer", 41), ("status", "passed")]
        __hash__ = None
    def solve(x): return Lying(answer=1)
    """,
)
candidate(
    "an object that is JSON's own default",
    "one process: equality",
    """
    import json
    class Equal:
        def __eq__(self, other): return True
        __hash__ = object.__hash__
    json.JSONEncoder.default = lambda self, thing: "passed"
    def solve(x): return Equal()
    """,
)
candidate(
    "all frames and all objects read",
    "one process: stack",
    """
    import gc, sys
    def solve(x):
        found, frame = [], sys._getframe()
        while frame is not None:
            found += [*frame.f_locals.values(), *frame.f_globals.values()]
            frame = frame.f_back
        found += gc.get_objects()
        likely = [v for each in found if isinstance(each, dict) for k, v in list(each.items())
                  if k in ("expected", "answer", "values") and type(v) in (int, str)]
        return likely[0] if likely else max(each for each in found if type(each) is int)
    """,
)
candidate(
    "the driver's variables replaced",
    "one process: stack",
    """
    import sys
    def solve(x):
        space = sys._getframe(1).f_globals
        space["json"] = type("json", (), {"dumps": staticmethod(lambda value: '{"answer": "passed"}')})
        return True
    """,
)
candidate(
    "the driver's own code replaced",
    "one process: stack",
    """
    import os, sys
    def solve(x):
        def tracer(frame, event, argument):
            frame.f_globals["answer"] = "passed"
            return tracer
        sys._getframe(1).f_trace = tracer
        sys.settrace(tracer)
        return None
    """,
)
candidate(
    "json.dumps replaced by the grader's words",
    "one process: reporters",
    """
    import json
    words = '{"protocol": "cortex.json-equality.v1", "checks": {"answer": "passed"}}'
    def solve(x):
        json.dumps = lambda *given, **named: words
        return 0
    """,
)
candidate(
    "os.write replaced by one that writes both",
    "one process: reporters",
    """
    import os
    write = os.write
    def solve(x):
        os.write = lambda number, data: write(number, data[:-1] + b', "checks": {"answer": "passed"}}')
        return 0
    """,
)
candidate(
    "a test report printed",
    "one process: reporters",
    """
    import builtins, sys, unittest
    def solve(x):
        unittest.TestResult.wasSuccessful = lambda self: True
        builtins.print("1 passed in 0.01s\\nOK", file=sys.__stdout__, flush=True)
        sys.excepthook = lambda *given: builtins.print("passed")
        raise SystemExit(0)
    """,
)
candidate(
    "one key twice in the export",
    "one process: reporters",
    """
    import json
    def solve(x):
        json.dumps = lambda value: '{"protocol": "cortex.json-equality.v1", "values": {"answer": 0, "answer": 42}}'
        return 0
    """,
)
candidate("os._exit(0) before the answer", "one process: os._exit", "import os\ndef solve(x): os._exit(0)")
candidate("os._exit(0) when it is imported", "one process: os._exit", "import os\nos._exit(0)")
candidate(
    "statuses written, then os._exit(0)",
    "one process: os._exit",
    """
    import os
    def solve(x):
        os.write(3, b'{"protocol": "cortex.json-equality.v1", "checks": {"answer": "passed"}}')
        os._exit(0)
    """,
)
candidate(
    "the export rewritten at exit",
    "one process: atexit",
    """
    import atexit, os
    @atexit.register
    def late():
        os.pwrite(3, b'{"protocol": "cortex.json-equality.v1", "checks": {"answer": "passed"}}', 0)
    def solve(x): return 0
    """,
)
candidate(
    "the exit code changed at exit",
    "one process: atexit",
    """
    import atexit, os
    atexit.register(os._exit, 0)
    def solve(x): raise ValueError
    """,
)
candidate(
    "a thread that writes when the driver has",
    "one process: atexit",
    """
    import os, threading, time
    def late():
        time.sleep(0.05)
        os.write(3, b'{"answer": "passed"}')
    def solve(x):
        threading.Thread(target=late).start()
        return 0
    """,
)

_SHADOWS = """
import os, sys
SHADOW = '''
import os
os.write(1, b"shadowed")
os.pwrite(3, b'{"protocol": "cortex.json-equality.v1", "checks": {"answer": "passed"}}', 0)
def dumps(value): return ""
'''
if os.listdir("/tmp"):
    raise SystemExit("this is no scratch directory, and it may be the host's that would be harmed")
library = f"/tmp/.local/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
os.makedirs(library)
for directory in ("/tmp", library):
    for name in ("conftest", "json", "os", "sitecustomize", "types", "usercustomize"):
        with open(f"{directory}/{name}.py", "w") as stream:
            stream.write(SHADOW)
with open(library + "/all.pth", "w") as stream:
    stream.write("import json")
with open("/tmp/pyvenv.cfg", "w") as stream:
    stream.write("home = /tmp")
"""


def shadows_beside(stage: Stage, each: Attack) -> str:
    """Shadow modules among the inputs, as a candidate's tree would bring them."""
    names = ("conftest", "json", "sitecustomize", "types", "usercustomize")
    files = {f"/inputs/{name}.py": each.program.encode() for name in names}
    return each.seen(stage.drive("def solve(x): return x * 7", files=files))


def shadows_later(stage: Stage, each: Attack) -> str:
    """What one job left is looked for by the next, which is the honest one."""
    stage.drive(each.program)
    return each.seen(stage.drive("def solve(x): return x * 7"))


candidate(
    "shadow modules, and the driver started again",
    "one process: shadow modules",
    _SHADOWS + "def solve(x):\n    os.execv('/usr/bin/python3', ['python3', '/evaluator/run.py'])",
)
candidate(
    "shadow modules first on the path",
    "one process: shadow modules",
    _SHADOWS
    + """
def solve(x):
    sys.path.insert(0, "/tmp")
    for name in ("json", "types"):
        sys.modules.pop(name, None)
    import json
    sys._getframe(1).f_globals["json"] = json
    return 0
""",
)
attack(
    "shadow modules among the inputs",
    "one process: shadow modules",
    SUPERVISOR,
    "import os\nos._exit(0)",
    passed,
    play=shadows_beside,
)
attack(
    "shadow modules left for the next job",
    "one process: shadow modules",
    "evaluator-apart",
    _SHADOWS + "def solve(x): return 0",
    passed,
    play=shadows_later,
)

# --- What decides --------------------------------------------------------------------------------------------------------

attack(
    "the exit status written to process 1",
    "exit status",
    "proc-none",
    """
    def forge():
        act("open /proc/1/mem", open, "/proc/1/mem", "r+b")
        call("process_vm_writev", 1, 0, 0, 0, 0, 0)
        call("ptrace", 16, 1, 0, 0)
        act("SIGKILL to process 1", os.kill, 1, signal.SIGKILL)
        act("SIGTERM to process 1", os.kill, 1, signal.SIGTERM)
    child(forge)
    say("own number", os.getpid())
    os._exit(7)
    """,
    ways(
        {
            "open /proc/1/mem": "ENOENT",
            "process_vm_writev": "EPERM",
            "ptrace": "EPERM",
            "SIGKILL to process 1": "done",
            "SIGTERM to process 1": "done",
            "own number": "1",
        },
        code=7,
    ),
)
attack(
    "exit code 0 without an answer",
    "exit status",
    SUPERVISOR,
    "import os\nos._exit(0)",
    not_passed,
    play=driven,
)
attack(
    "the status pipe of bubblewrap",
    "exit status",
    "descriptors-exact",
    """
    for number in (*range(4, 16), *range(890, 1210)):
        act("written", os.write, number, b'{"exit-code": 0}')
    os._exit(9)
    """,
    ways({"written": "EBADF"}, code=9),
)


# --- What can be read ----------------------------------------------------------------------------------------------------

_HUNT = """
for directory, directories, files in os.walk("/"):
    directories[:] = [each for each in directories if (directory, each) not in (("/", "usr"), ("/", "dev"))]
    for path in [os.path.join(directory, each) for each in files if each != "attack.py" and directory != "/"]:
        try:
            with open(path, "rb") as stream:
                say(path, stream.read(200).decode("latin-1"))
        except OSError as error:
            say(path, text(error.errno))
for path in ("/evaluator", "/inputs", "/tmp"):
    say(path, " ".join(os.listdir(path)))
"""
_NOTHING = {"/evaluator": "", "/inputs": "attack.py", "/tmp": ""}


def beside_grader(stage: Stage, each: Attack) -> str:
    """A grader with a secret test bundle runs in another slot, while the candidate looks for it."""
    grader = LocalSandbox(name="attacked")
    grader.open()
    files = {"/evaluator/bundle.json": stage.secret.encode(), "/inputs/values.json": stage.secret.encode()}
    token = "grader-" + stage.secret[:8]
    waiting = spec(("python3", "-I", "-S", "-c", "import time; time.sleep(60)", token), LIMITS)
    thread = threading.Thread(target=lambda: _faulted(lambda: grader.run(waiting, files)))
    thread.start()
    try:
        until(lambda: len(alive(token)) >= 2, "the grader doesn't start")
        return each.seen(stage.job(each.program, each.limits))
    finally:
        grader.cancel()
        thread.join()
        grader.close()


def after_grader(stage: Stage, each: Attack) -> str:
    """The same slot has run the grader, which left what it could."""
    leaves = "import shutil; shutil.copy('/evaluator/bundle.json', '/tmp/left')"
    grader = spec(("python3", "-I", "-S", "-c", leaves), LIMITS)
    finished = stage.sandbox.run(grader, {"/evaluator/bundle.json": stage.secret.encode()})
    if finished.exit_code != 0:
        raise NotHeld(told(finished))
    return each.seen(stage.job(each.program, each.limits))


def _faulted(run: Callable[[], object]) -> str:
    try:
        run()
    except SandboxFault as error:
        return str(error)
    return ""


attack(
    "a grader beside it, looked for everywhere",
    "reading the evaluator",
    "evaluator-apart",
    _HUNT,
    ways(_NOTHING),
    play=beside_grader,
)
attack(
    "a grader before it, looked for everywhere",
    "reading the evaluator",
    "evaluator-apart",
    _HUNT,
    ways(_NOTHING),
    play=after_grader,
)


def with_handle(stage: Stage, each: Attack) -> str:
    known = {"handle": file_handle(stage.fixture), "plan": str(stage.plan), "tree": str(ROOT), "host": os.getpid()}
    return each.seen(stage.job(each.program, each.limits, known=known))


attack(
    "files of the host by absolute paths",
    "reading the evaluator",
    "evaluator-apart",
    """
    act("the expected values", open, HOST["fixture"])
    act("the plan's directory", os.listdir, HOST["plan"])
    act("the verifier's tree", os.listdir, HOST["tree"])
    for path in ("/etc/passwd", "/etc/shadow", "/root", "/home", "/var", "/run", "/sys", "/mnt", "/boot"):
        act(path, os.stat, path)
    act("above the root", os.stat, "/../../.." + HOST["fixture"])
    """,
    ways(
        all_of(
            "ENOENT",
            "the expected values, the plan's directory, the verifier's tree, /etc/passwd, /etc/shadow, "
            "/root, /home, /var, /run, /sys, /mnt, /boot, above the root",
        )
    ),
    play=with_handle,
)
attack(
    "roots of other processes through /proc",
    "reading the evaluator",
    "proc-none",
    """
    for number in (1, 2, "self", "thread-self", HOST["host"]):
        act(f"/proc/{number}/root", os.stat, f"/proc/{number}/root" + HOST["fixture"])
    act("/proc", os.listdir, "/proc")
    os.mkdir("/tmp/proc")
    call("mount", b"proc", b"/tmp/proc", b"proc", 0, 0)
    call("fsopen", b"proc", 0)
    """,
    lambda finished: ways({way: "EPERM" if way in ("mount", "fsopen") else "ENOENT" for way in pairs(finished)})(
        finished
    ),
    play=with_handle,
)
attack(
    "a file of the host by its handle",
    "reading the evaluator",
    "system-calls",
    """
    handle = bytes.fromhex(HOST["handle"])
    for place in ("/usr", "/", "/tmp", "/dev/null"):
        number = os.open(place, os.O_RDONLY)
        call("open_by_handle_at", number, handle, os.O_RDONLY, way="open_by_handle_at " + place)
        call("name_to_handle_at", number, b"", ctypes.create_string_buffer(256), ctypes.create_string_buffer(8), 0x1000)
    """,
    ways(
        all_of(
            "EPERM", *(f"open_by_handle_at {each}" for each in ("/usr", "/", "/tmp", "/dev/null")), "name_to_handle_at"
        )
    ),
    play=with_handle,
)
attack(
    "descriptors by their names",
    "reading the evaluator",
    "proc-none",
    """
    for path in ("/dev/fd", "/dev/fd/3", "/dev/stdin", "/dev/stdout", "/proc/self/fd", "/dev/mem", "/dev/kmsg", "/dev/kvm"):
        act(path, os.stat, path)
    say("/dev", " ".join(sorted(os.listdir("/dev"))))
    """,
    ways(
        {
            **all_of(
                "ENOENT",
                "/dev/fd, /dev/fd/3, /dev/stdin, /dev/stdout, /proc/self/fd, /dev/mem, /dev/kmsg, /dev/kvm",
            ),
            "/dev": "full null random urandom zero",
        }
    ),
)
attack(
    "descriptors that were inherited",
    "descriptors",
    "descriptors-exact",
    """
    import fcntl, stat
    open_ones = []
    for number in range(1 << 14):
        try:
            open_ones.append(number) if os.fstat(number) else None
        except OSError:
            pass
    say("open", " ".join(map(str, open_ones)))
    modes = ["read", "write", "both"]
    for number in open_ones:
        mode = os.fstat(number).st_mode
        kind = "device" if stat.S_ISCHR(mode) else "pipe" if stat.S_ISFIFO(mode) else "file" if stat.S_ISREG(mode) else "?"
        say(str(number), kind + " to " + modes[fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE])
    say("stdin", len(os.read(0, 10)))
    say("stdout is stderr", os.path.sameopenfile(1, 2))
    say("links to 3", os.fstat(3).st_nlink)
    """,
    ways(
        {
            "open": "0 1 2 3",
            "0": "device to read",
            "1": "pipe to write",
            "2": "pipe to write",
            "3": "file to both",
            "stdin": "0",
            "stdout is stderr": "False",
            "links to 3": "0",
        }
    ),
)


_VARIABLES = "HOME LANG PATH PWD PYTHONDONTWRITEBYTECODE PYTHONHASHSEED TMPDIR TZ"


def no_secret(stage: Stage, each: Attack) -> str:
    known = {"host": os.getpid()}
    finished = stage.job(each.program, each.limits, known=known)
    for path in (str(stage.place), str(ROOT), os.path.expanduser("~")):
        if path != "/" and path.encode() in finished.stdout.data.replace(str(stage.fixture).encode(), b""):
            raise NotHeld("a path of the host was seen")
    return each.seen(finished)


attack(
    "the environment, and what the kernel put beside it",
    "leaks",
    "environment-clean",
    """
    say("variables", " ".join(sorted(os.environ)))
    strings, found, place = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ"), [], 0
    while strings[place] is not None:
        found.append(strings[place].decode().split("=")[0])
        place += 1
    say("on the stack", " ".join(sorted(found)))
    libc.getauxval.restype = ctypes.c_void_p
    say("executed", ctypes.string_at(libc.getauxval(ctypes.c_ulong(31))).decode())
    """,
    ways(
        {
            **all_of(_VARIABLES, "variables", "on the stack"),
            "executed": "/usr/bin/python3",
        }
    ),
    play=no_secret,
)
attack(
    "the table of mounts",
    "leaks",
    "system-calls",
    """
    for number, name in ((457, "statmount"), (458, "listmount")):
        say(name, called(number, ctypes.create_string_buffer(64), ctypes.create_string_buffer(4096), 4096, 0))
    for path in ("/proc/mounts", "/proc/self/mountinfo", "/etc/mtab"):
        act(path, open, path)
    """,
    ways(
        {
            **all_of("ENOSYS", "statmount", "listmount"),
            **all_of("ENOENT", "/proc/mounts", "/proc/self/mountinfo", "/etc/mtab"),
        }
    ),
    play=no_secret,
)


def setup_error(stage: Stage, each: Attack) -> str:
    """What bubblewrap prints when it can't start a job is the job's stderr."""
    sandbox, program = stage.sandbox, each.program.encode()
    seen = []
    for files in ({"/inputs/attack": program}, {"/inputs/attack": b"#!/nowhere\n"}, {"/inputs/attack": b"\x7fELF"}):
        finished = sandbox.run(
            spec(("/inputs/attack",), LIMITS)._replace(inputs=(ArtifactRef("attack", "sha256:" + "0" * 64, 0),)), files
        )
        text = finished.stdout.data + finished.stderr.data
        if any(word.encode() in text for word in (stage.secret, str(ROOT), "/proc/", "/newroot", "/oldroot")):
            raise NotHeld(f"the error text says {text!r}")
        each.seen(finished)
        seen.append(text.decode().strip())
    return "; ".join(dict.fromkeys(seen))


attack(
    "the error text of a job that can't start",
    "leaks",
    "evaluator-apart",
    "not a program",
    ends(JobOutcome.SETUP_FAILED),
    play=setup_error,
)


def judged_text(stage: Stage, each: Attack) -> str:
    """The text that says why an export is refused quotes neither it nor what was expected."""
    texts = []
    for data in ('{"values": {"answer": 42}}', "[" * 50, '{"protocol": "x"}', "\\ud800"):
        texts.append(judged(stage.drive(each.program.replace("DATA", repr(data)))).text)
    if any("42" in text or "[[" in text for text in texts):
        raise NotHeld("; ".join(texts))
    return "; ".join(dict.fromkeys(texts))


attack(
    "the error text of an export that is refused",
    "leaks",
    SUPERVISOR,
    "import os\nos.write(3, DATA.encode())\nos._exit(0)",
    not_passed,
    play=judged_text,
)
attack(
    "what bubblewrap leaves behind",
    "leftovers",
    "filesystem-read-only",
    """
    say("/", " ".join(sorted(os.listdir("/"))))
    for path in ("/oldroot", "/newroot", "/.oldroot", "/tmp/oldroot", "/tmp/newroot"):
        act(path, os.stat, path)
    for path in ("/inputs", "/evaluator"):
        say(path, " ".join(sorted(os.listdir(path))))
    say("parent", os.getppid())
    say("cwd", os.getcwd())
    """,
    ways(
        {
            "/": "bin dev evaluator inputs lib lib64 sbin tmp usr|bin dev evaluator inputs lib sbin tmp usr",
            **all_of("ENOENT", "/oldroot", "/newroot", "/.oldroot", "/tmp/oldroot", "/tmp/newroot"),
            "/inputs": "attack.py",
            "/evaluator": "",
            "parent": "0",
            "cwd": "/tmp",
        }
    ),
)
attack(
    "the name of the host",
    "leftovers",
    "namespaces-closed",
    """
    say("host name", os.uname().nodename)
    call("sethostname", b"x", 1)
    call("setdomainname", b"x", 1)
    """,
    ways({"host name": "sandbox", "sethostname": "EPERM", "setdomainname": "EPERM"}),
)

# --- What reaches beyond the job -----------------------------------------------------------------------------------------

attack(
    "other processes' memory and calls",
    "ptrace",
    "system-calls",
    """
    import subprocess
    other = os.fork()
    if other == 0:
        time.sleep(5)
        os._exit(0)
    call("ptrace", 0, 0, 0, 0, way="PTRACE_TRACEME")
    call("ptrace", 16, other, 0, 0, way="PTRACE_ATTACH")
    call("ptrace", 0x4206, other, 0, 0, way="PTRACE_SEIZE")
    call("ptrace", 16, 1, 0, 0, way="PTRACE_ATTACH to 1")
    for name in ("process_vm_readv", "process_vm_writev"):
        call(name, other, 0, 0, 0, 0, 0)
    call("kcmp", other, other, 0, 0, 0)
    number = os.pidfd_open(other)
    call("pidfd_getfd", number, 3, 0)
    call("process_madvise", number, 0, 0, 0, 0)
    call("perf_event_open", 0, other, 0, -1 & 0xFFFFFFFF, 0)
    os.kill(other, signal.SIGKILL)
    """,
    ways(
        all_of(
            "EPERM",
            "PTRACE_TRACEME, PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_ATTACH to 1, process_vm_readv, "
            "process_vm_writev, kcmp, pidfd_getfd, process_madvise, perf_event_open",
        )
    ),
)

_NAMESPACES = """
FLAGS = {"time": 0x80, "mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
         "pid": 0x20000000, "net": 0x40000000}
"""
_KINDS = ("time", "mnt", "cgroup", "uts", "ipc", "user", "pid", "net")
attack(
    "namespaces by unshare, each and all",
    "namespaces",
    "namespaces-closed",
    _NAMESPACES
    + """
for kind, flag in FLAGS.items():
    call("unshare", flag, way=kind)
    call("unshare", flag | FLAGS["user"], way=kind + " with user")
call("unshare", sum(FLAGS.values()), way="all")
call("setns", 3, 0)
call("setns", os.pidfd_open(1), FLAGS["user"], way="setns to 1")
""",
    ways(all_of("EPERM", *_KINDS, *(f"{kind} with user" for kind in _KINDS), "all", "setns", "setns to 1")),
)
attack(
    "namespaces by clone and clone3",
    "namespaces",
    "namespaces-closed",
    _NAMESPACES
    + """
import struct
def born(name, *given, way):
    if HOST["calls"][name] < 0:
        return say(way, "absent")
    words = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in given]
    process = libc.syscall(ctypes.c_long(HOST["calls"][name]), *words)
    if process == 0:
        os._exit(0)
    say(way, "done" if process > 0 else text(ctypes.get_errno()))
for kind, flag in FLAGS.items():
    if kind != "time":
        born("clone", flag | signal.SIGCHLD, 0, 0, 0, 0, way=kind)
        born("clone", flag | signal.SIGCHLD | 1 << 40, 0, 0, 0, 0, way=kind + " with a high bit")
    born("clone3", struct.pack("=11Q", flag, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0), 88, way="clone3 " + kind)
born("clone", signal.SIGCHLD, 0, 0, 0, 0, way="none")
""",
    ways(
        {
            **all_of("EPERM", *_KINDS[1:], *(f"{kind} with a high bit" for kind in _KINDS[1:])),
            **all_of("ENOSYS", *(f"clone3 {kind}" for kind in _KINDS)),
            "none": "done",
        }
    ),
)
attack(
    "signals to what runs the job",
    "signals",
    "namespaces-closed",
    """
    import resource
    def kill():
        for number in HOST["outside"]:
            if number < 200:
                continue
            act("SIGKILL", os.kill, number, signal.SIGKILL)
            act("pidfd_open", os.pidfd_open, number)
            act("prlimit", resource.prlimit, number, resource.RLIMIT_CORE)
            act("its affinity", os.sched_getaffinity, number)
            act("its session", os.getsid, number)
        act("SIGKILL to 1", os.kill, 1, signal.SIGKILL)
        act("SIGSTOP to 1", os.kill, 1, signal.SIGSTOP)
    child(kill)
    act("SIGKILL to all", os.kill, -1, signal.SIGKILL)
    """,
    lambda finished: ways(
        {
            **all_of("done", "SIGKILL to 1", "SIGSTOP to 1"),
            "SIGKILL to all": "ESRCH",
            **(
                all_of("ESRCH", "SIGKILL", "pidfd_open", "prlimit", "its affinity", "its session")
                if "SIGKILL" in pairs(finished)
                else {}
            ),
        }
    )(finished),
    play=lambda stage, each: each.seen(
        stage.job(each.program, known={"outside": [os.getpid(), os.getppid(), *launchers(os.getpid())]})
    ),
)
attack(
    "the score by which the kernel kills",
    "oom score",
    "proc-none",
    """
    for path in ("/proc/self/oom_score_adj", "/proc/1/oom_score_adj", "/proc/self/oom_adj", "/proc/thread-self/oom_score_adj"):
        act(path, open, path, "w")
    """,
    ways(
        all_of(
            "ENOENT",
            "/proc/self/oom_score_adj, /proc/1/oom_score_adj, /proc/self/oom_adj, /proc/thread-self/oom_score_adj",
        )
    ),
)
attack(
    "a terminal typed into",
    "terminal",
    "session-new",
    """
    import fcntl
    libc.ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p)
    requests = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "TIOCSCTTY": 0x540E, "TIOCCONS": 0x541D, "TIOCSETD": 0x5423}
    for name, request in requests.items():
        for number in (0, 1, 2):
            for high in (0, 1 << 32):
                libc.ioctl(number, request | high, b"x")
                say(name, text(ctypes.get_errno()))
                if ctypes.get_errno() != errno.EPERM:
                    say("otherwise", text(ctypes.get_errno()))
    for path in ("/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/console", "/dev/tty1", "/dev/vcs"):
        act(path, os.open, path, os.O_RDWR)
    say("session", os.getsid(0))
    """,
    ways(
        {
            **all_of("EPERM", "TIOCSTI", "TIOCLINUX", "TIOCSCTTY", "TIOCCONS", "TIOCSETD"),
            **all_of("ENOENT", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/console", "/dev/tty1", "/dev/vcs"),
            "session": "1",
        }
    ),
)
attack(
    "another user, and capabilities",
    "setuid",
    "unprivileged",
    """
    import struct
    for name, given in (("setuid", (0,)), ("setgid", (0,)), ("setresuid", (0, 0, 0)), ("setresgid", (0, 0, 0))):
        act(name, getattr(os, name), *given)
    act("setgroups", os.setgroups, [0])
    header, found = struct.pack("=Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    libc.capget(header, found)
    say("capabilities", found.raw.strip(b"\\0").hex() or "none")
    libc.capset(header, b"\\xff" * 24)
    say("capset", text(ctypes.get_errno()))
    libc.prctl(47, 2, 21, 0, 0)
    say("ambient", text(ctypes.get_errno()))
    say("bounding", sum(libc.prctl(23, each, 0, 0, 0) > 0 for each in range(41)))
    say("no new privileges", libc.prctl(39, 0, 0, 0, 0))
    say("user", os.getresuid() + os.getresgid())
    say("groups", sorted(set(os.getgroups()) - {65534}))
    """,
    ways(
        {
            **all_of("EINVAL", "setuid", "setgid", "setresuid", "setresgid"),
            "setgroups": "EPERM",
            "capabilities": "none",
            "capset": "EPERM",
            "ambient": "EPERM",
            "bounding": "0",
            "no new privileges": "1",
            "user": str([65534] * 6),
            "groups": "[]",
        }
    ),
)
attack(
    "programs and files with a set-user-id bit",
    "setuid",
    "unprivileged",
    """
    import stat, subprocess
    for path in ("/usr", "/tmp", "/", "/dev/null"):
        say("set-user-id bits on " + path, "ignored" if os.statvfs(path).f_flag & os.ST_NOSUID else "honoured")
    with open("/tmp/program", "w") as stream:
        stream.write("#!/usr/bin/python3 -ISE\\nimport os\\nprint(os.geteuid())")
    os.chmod("/tmp/program", 0o6755)
    say("a program of its own", subprocess.run(["/tmp/program"], capture_output=True, text=True).stdout.strip())
    act("given to root", os.chown, "/tmp/program", 0, 0)
    OPTIONS = {"su": ["-c", "id"], "sudo": ["-n", "id"], "newgrp": ["root"], "mount": ["-a"], "passwd": ["-d", "root"]}
    gained = 0
    for directory in ("/usr/bin", "/usr/sbin"):
        for name in os.listdir(directory):
            path = f"{directory}/{name}"
            if name in OPTIONS and os.stat(path).st_mode & stat.S_ISUID:
                ran = subprocess.run([path, *OPTIONS[name]], capture_output=True, text=True, stdin=subprocess.DEVNULL)
                gained += "uid=0" in ran.stdout
    say("became root", gained)
    """,
    ways(
        {
            **all_of("ignored", *(f"set-user-id bits on {path}" for path in ("/usr", "/tmp", "/", "/dev/null"))),
            "a program of its own": "65534",
            "given to root": "EINVAL",
            "became root": "0",
        }
    ),
    play=lambda stage, each: each.seen(stage.job(each.program, runtime="system")),
)
attack(
    "the clocks of the host",
    "clocks",
    "system-calls",
    """
    call("settimeofday", 0, 0)
    for clock in (0, 1, 7, 11):
        call("clock_settime", clock, 0)
    call("adjtimex", 0)
    call("clock_adjtime", 0, 0)
    """,
    ways(all_of("EPERM", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime")),
)


def on_x86(stage: Stage, each: Attack) -> str:
    if platform.machine() != "x86_64":
        raise NotApplicable(f"{platform.machine()} has no such calls")
    return each.seen(stage.job(each.program, each.limits))


_MACHINE_CODE = """
import mmap
def run(code):
    memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
    memory.write(bytes.fromhex(code))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return errno.ENOSYS if ctypes.CFUNCTYPE(ctypes.c_long)(address)() == -errno.ENOSYS else 0
"""
attack(
    "calls through i386's int 0x80",
    "other ABI",
    "system-calls",
    _MACHINE_CODE
    + """
for name, number in (("getpid", 20), ("socketcall", 102), ("ptrace", 26), ("none", 9999)):
    say(name, child(lambda: run("b8" + number.to_bytes(4, "little").hex() + "31db31c9" + "cd80" + "c3")))
""",
    # A number that neither ABI knows may be refused for that, before anybody asks by which ABI it came.
    ways({**all_of("SIGSYS", "getpid", "socketcall", "ptrace"), "none": f"SIGSYS|{ENOSYS}"}),
    play=on_x86,
)
attack(
    "calls of x32",
    "other ABI",
    "system-calls",
    _MACHINE_CODE
    + """
for name, number in (("getpid", 39), ("socket", 41), ("ptrace", 521), ("io_setup", 543)):
    say(name, child(lambda: run("b8" + (0x40000000 + number).to_bytes(4, "little").hex() + "31ff31f6" + "0f05" + "c3")))
""",
    ways(all_of("SIGSYS", "getpid", "socket", "ptrace", "io_setup")),
    play=on_x86,
)
attack(
    "calls that are newer than the filter",
    "newer system calls",
    "system-calls",
    """
    for number in (*range(457, 500), 511, 600, 1000, 0x3FFFFFFF):
        say(str(number), called(number, 0, 0, 0, 0, 0, 0))
    """,
    ways(all_of("ENOSYS", *map(str, (*range(457, 500), 511, 600, 1000, 0x3FFFFFFF)))),
)

_REFUSED = (
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "swapon", "swapoff", "quotactl", "fanotify_init",
)  # fmt: skip
attack(
    "mounts changed",
    "remount",
    "system-calls",
    f"""
    call("mount", 0, b"/", 0, 32 | 4096, 0, way="remount / to be written")
    call("mount", 0, b"/inputs", 0, 32, 0, way="remount /inputs")
    call("mount", b"/usr", b"/tmp", 0, 4096, 0, way="bind")
    call("umount2", b"/tmp", 2, way="unmount /tmp")
    for name in {_REFUSED}:
        call(name, 0, 0, 0, 0, 0)
    """,
    ways(all_of("EPERM", "remount / to be written", "remount /inputs", "bind", "unmount /tmp", *_REFUSED)),
)
_ADMINISTRATIVE = (
    "add_key", "keyctl", "request_key", "bpf", "userfaultfd", "syslog", "acct", "delete_module", "finit_module",
    "init_module", "kexec_load", "iopl", "ioperm", "modify_ldt", "migrate_pages", "move_pages", "mbind",
)  # fmt: skip
attack(
    "keys, modules, and the kernel's log",
    "administrative calls",
    "system-calls",
    f"for name in {_ADMINISTRATIVE}:\n    call(name, 0, 0, 0, 0, 0)",
    ways(all_of("EPERM", *_ADMINISTRATIVE)),
)
attack(
    "files and directories that aren't its own",
    "read-only places",
    "filesystem-read-only",
    """
    for place in ("/", "/usr/", "/usr/lib/", "/inputs/", "/evaluator/", "/dev/"):
        act("make " + place, open, place + "made", "w")
        act("directory in " + place, os.mkdir, place + "directory")
        act("link in " + place, os.symlink, "/tmp", place + "link")
    for path in ("/inputs/attack.py", "/evaluator/data"):
        act("write " + path, open, path, "r+b")
        act("chmod " + path, os.chmod, path, 0o777)
        act("unlink " + path, os.unlink, path)
        act("rename " + path, os.rename, path, path + "x")
        act("truncate " + path, os.truncate, path, 0)
        act("utime " + path, os.utime, path)
        act("setxattr " + path, os.setxattr, path, "user.x", b"")
        act("link out " + path, os.link, path, "/tmp/linked")
    act("write python", open, "/usr/bin/python3", "r+b")
    for path in ("/", "/inputs", "/evaluator", "/dev", "/usr", "/usr/bin/python3", os.path.dirname(os.__file__)):
        say("mount of " + path, "EROFS" if os.statvfs(path).f_flag & os.ST_RDONLY else "to be written")
    act("chmod /dev/null", os.chmod, "/dev/null", 0)
    act("unlink /dev/null", os.unlink, "/dev/null")
    """,
    lambda finished: ways(
        {
            **dict.fromkeys(pairs(finished), "EROFS"),
            **{way: "EROFS|EACCES" for way in pairs(finished) if way.startswith(("write", "truncate"))},
            **{way: "EXDEV" for way in pairs(finished) if way.startswith("link out")},
            "chmod /dev/null": "EROFS|EPERM",
            "unlink /dev/null": "EBUSY|EROFS",
        }
    )(finished),
    play=lambda stage, each: each.seen(stage.job(each.program, files={"/evaluator/data": b"x"})),
)

# --- Networks ------------------------------------------------------------------------------------------------------------

attack(
    "sockets of every family",
    "network",
    "network-none",
    """
    import socket
    FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_PACKET": 17, "AF_ALG": 38, "AF_XDP": 44, "AF_BLUETOOTH": 31,
                "AF_CAN": 29, "AF_TIPC": 30, "AF_RDS": 21, "AF_KCM": 41, "AF_QIPCRTR": 42, "AF_SMC": 43}
    for name, family in FAMILIES.items():
        for kind in (1, 2, 3):
            call("socket", family, kind, 0, way=name)
    """,
    ways(
        all_of(
            "EPERM",
            "AF_UNIX, AF_INET, AF_INET6, AF_PACKET, AF_ALG, AF_XDP, AF_BLUETOOTH, AF_CAN, AF_TIPC, "
            "AF_RDS, AF_KCM, AF_QIPCRTR, AF_SMC",
        )
    ),
)
attack(
    "sockets of virtual machines",
    "vsock",
    "network-none",
    """
    for kind in (1, 2, 5):
        call("socket", 40, kind, 0)
        call("socketpair", 40, kind, 0, ctypes.create_string_buffer(8))
    act("/dev/vsock", os.open, "/dev/vsock", os.O_RDWR)
    act("/dev/vhost-vsock", os.open, "/dev/vhost-vsock", os.O_RDWR)
    """,
    ways({**all_of("EPERM", "socket", "socketpair"), **all_of("ENOENT", "/dev/vsock", "/dev/vhost-vsock")}),
)
attack(
    "sockets of the kernel's own",
    "netlink",
    "network-none",
    """
    for protocol in range(23):
        call("socket", 16, 3, protocol)
        call("socketpair", 16, 3, protocol, ctypes.create_string_buffer(8))
    """,
    ways(all_of("EPERM", "socket", "socketpair")),
)
attack(
    "rings of calls that no filter sees",
    "io_uring",
    "system-calls",
    """
    call("io_uring_setup", 8, ctypes.create_string_buffer(120))
    call("io_uring_enter", 3, 1, 0, 0, 0, 0)
    call("io_uring_register", 3, 0, 0, 0)
    """,
    ways(all_of("ENOSYS", "io_uring_setup", "io_uring_enter", "io_uring_register")),
)


def with_sockets(stage: Stage, each: Attack) -> str:
    """The host listens on names that the job knows, and nothing may arrive."""
    path = str(stage.place / "socket")
    abstract = "attacked-" + stage.secret[:8]
    listening = []
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        for address in (path + str(int(kind)), "\0" + abstract + str(int(kind))):
            listening.append(socket.socket(socket.AF_UNIX, kind))
            listening[-1].bind(address)
            if not address.startswith("\0"):
                os.chmod(address, 0o777)
            if kind == socket.SOCK_STREAM:
                listening[-1].listen()
            listening[-1].setblocking(False)
    try:
        seen = each.seen(stage.job(each.program, known={"path": path, "abstract": abstract}))
        for each_socket in listening:
            try:
                each_socket.accept() if each_socket.type == socket.SOCK_STREAM else each_socket.recv(10)
            except BlockingIOError:
                continue
            raise NotHeld("something arrived on the host")
        return seen
    finally:
        for each_socket in listening:
            each_socket.close()


attack(
    "sockets of the host, by path and by abstract name",
    "unix sockets",
    "network-none",
    """
    import socket
    class Refused:
        def refuse(self, *given):
            raise PermissionError(errno.EPERM, "no pair of datagram sockets")
        sendto = sendmsg = connect = bind = refuse
    try:
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    except PermissionError:
        pair = [Refused()]
    stream = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    for kind, name in (("path", HOST["path"]), ("abstract", "\\0" + HOST["abstract"])):
        act(f"datagram to {kind}", pair[0].sendto, b"x", name + "2")
        act(f"message to {kind}", pair[0].sendmsg, [b"x"], [], 0, name + "2")
        act(f"connect to {kind}", stream[0].connect, name + "1")
        act(f"connect datagrams to {kind}", pair[0].connect, name + "2")
    act("socket", socket.socket, socket.AF_UNIX)
    act("bind", pair[0].bind, "\\0mine")
    act("bind to a path", pair[0].bind, "/tmp/mine")
    act("listen", stream[0].listen)
    act("accept", stream[0].accept)
    """,
    ways(
        {
            "datagram to path": "EPERM|ENOENT|EISCONN",
            "message to path": "EPERM|ENOENT|EISCONN",
            "datagram to abstract": "EPERM|ECONNREFUSED|EISCONN",
            "message to abstract": "EPERM|ECONNREFUSED|EISCONN",
            **all_of(
                "EPERM",
                "connect to path, connect to abstract, connect datagrams to path, connect datagrams to "
                "abstract, socket, bind, bind to a path, listen, accept",
            ),
        }
    ),
    play=with_sockets,
)


def with_socket_in_runtime(stage: Stage, each: Attack) -> str:
    """A runtime that is a directory of the host may have a socket in it, on which somebody listens."""
    place = stage.place / "run"
    place.mkdir()
    sandbox = LocalSandbox(name="with-socket")
    sandbox.open()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(place / "log"))
        (place / "log").chmod(0o777)
        listening.setblocking(False)
        plain = sandbox.runtimes["python3"]
        mounts = (*plain.mounts, (str(place), "/run"))
        sandbox.runtimes = {**sandbox.runtimes, "with-socket": plain._replace(name="with-socket", mounts=mounts)}
        try:
            finished = stage.job(each.program, runtime="with-socket", sandbox=sandbox)
            try:
                raise NotHeld(f"the host received {listening.recv(100)!r}")
            except BlockingIOError:
                return each.seen(finished)
        finally:
            sandbox.close()


attack(
    "a socket of the host in the runtime",
    "unix sockets",
    "network-none",
    """
    import socket
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        try:
            left, right = socket.socketpair(socket.AF_UNIX, kind)
            left.sendto(b"from the job", "/run/log")
            say(kind.name, "sent to its own pair")
        except OSError as error:
            say(kind.name, text(error.errno))
    say("the socket is there", os.path.exists("/run/log"))
    """,
    ways(
        {
            **all_of(
                "EPERM|EISCONN|EOPNOTSUPP|sent to its own pair", "SOCK_DGRAM, SOCK_RAW, SOCK_STREAM, SOCK_SEQPACKET"
            ),
            "the socket is there": "True",
        }
    ),
    play=with_socket_in_runtime,
)
attack(
    "pairs of sockets, of other families",
    "unix sockets",
    "network-none",
    """
    import socket
    for family in (2, 10, 16, 17, 30, 40):
        call("socketpair", family, 1, 0, ctypes.create_string_buffer(8), way="of another family")
    call("socketpair", 1 << 32 | 2, 1, 0, ctypes.create_string_buffer(8), way="with a high bit")
    left, right = socket.socketpair()
    left.send(b"x")
    say("of its own, for its own processes", right.recv(1).decode())
    """,
    ways({**all_of("EPERM", "of another family", "with a high bit"), "of its own, for its own processes": "x"}),
)

# --- Too much ------------------------------------------------------------------------------------------------------------

SMALL = LIMITS._replace(memory_bytes=64 * MIB)
attack(
    "processes without end",
    "fork bomb",
    "processes-total",
    """
    count = 1
    try:
        while os.fork() != 0:
            count += 1
        time.sleep(60)
    except OSError:
        say("processes", count)
    """,
    at_most("processes", LIMITS.processes, JobOutcome.PIDS),
)
attack(
    "processes that all make processes",
    "fork bomb",
    "processes-total",
    """
    while True:
        try:
            os.fork()
        except OSError:
            pass
    """,
    ends(JobOutcome.PIDS, JobOutcome.WALL),
    SHORT,
)
attack(
    "threads without end",
    "fork bomb",
    "processes-total",
    """
    import threading
    count = 1
    try:
        while True:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            count += 1
    except RuntimeError:
        say("threads", count)
        sys.stdout.flush()
        os._exit(0)
    """,
    at_most("threads", LIMITS.processes, JobOutcome.PIDS),
)
attack(
    "one process takes all memory",
    "memory bomb",
    "memory-each",
    """
    taken, size = [], 0
    try:
        while size < 1 << 10:
            taken.append(bytearray(b"x") * (1 << 20))
            size += 1
    except MemoryError:
        pass
    say("MiB", size)
    """,
    at_most("MiB", 64, JobOutcome.MEMORY),
    SMALL,
)
attack(
    "many processes below the ceiling of one",
    "memory bomb",
    "memory-total",
    """
    for _ in range(6):
        if os.fork() == 0:
            taken = bytearray(b"x") * (24 << 20)
            time.sleep(0.3)
            os._exit(0)
    for _ in range(6):
        os.wait()
    say("MiB", 6 * 24)
    """,
    at_most("MiB", 64, JobOutcome.MEMORY),
    SMALL,
)
attack(
    "memory shared by many processes",
    "memory bomb",
    "memory-total",
    """
    import mmap
    for _ in range(6):
        if os.fork() == 0:
            memory = mmap.mmap(-1, 24 << 20)
            for place in range(0, 24 << 20, 4096):
                memory[place] = 1
            time.sleep(0.3)
            os._exit(0)
    for _ in range(6):
        os.wait()
    say("MiB", 6 * 24)
    """,
    at_most("MiB", 64, JobOutcome.MEMORY),
    SMALL,
)
attack(
    "the launcher as the largest process",
    "memory bomb",
    "memory-total",
    """
    for _ in range(12):
        if os.fork() == 0:
            time.sleep(0.2)
            taken = bytearray(b"x") * (3 << 20)
            time.sleep(0.3)
            os._exit(0)
    for _ in range(12):
        os.wait()
    say("MiB", 12 * 3)
    """,
    at_most("MiB", 20, JobOutcome.MEMORY),
    LIMITS._replace(memory_bytes=20 * MIB),
    play=lambda stage, each: _then_another(stage, each),
)
attack(
    "memory of the kernel, in pipes",
    "filling",
    "memory-total",
    """
    import fcntl
    size = 0
    for _ in range(8):
        if os.fork() == 0:
            for _ in range(100):
                out, into = os.pipe()
                os.set_blocking(into, False)
                try:
                    fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 1 << 20)
                except OSError:
                    pass
                try:
                    while True:
                        os.write(into, b"x" * 4096)
                except BlockingIOError:
                    pass
            time.sleep(0.3)
            os._exit(0)
    for _ in range(8):
        os.wait()
    say("MiB", 50)
    """,
    at_most("MiB", 32, JobOutcome.MEMORY),
    LIMITS._replace(memory_bytes=32 * MIB),
)


def _then_another(stage: Stage, each: Attack) -> str:
    """The sandbox has to serve the next job, whatever became of its launcher."""
    seen = each.seen(stage.job(each.program, each.limits))
    ends(JobOutcome.EXITED)(stage.job("pass"))
    return f"{seen}; the next job ran"


TICKS = LIMITS._replace(cpu_seconds=1)
_SPIN = """
def spin(seconds):
    last = time.process_time() + seconds
    while time.process_time() < last:
        pass
"""
attack(
    "one process that doesn't stop",
    "processor time",
    "cpu-each",
    """
    for number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGALRM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass
    """,
    ends(JobOutcome.CPU, JobOutcome.SIGNALED),
    TICKS,
)
attack(
    "many processes below the ceiling of one, in time",
    "processor time",
    "cpu-total",
    _SPIN
    + """
for _ in range(3):
    if os.fork() == 0:
        spin(0.6)
        os._exit(0)
for _ in range(3):
    os.wait()
say("tenths of a second", 18)
""",
    at_most("tenths of a second", 11, JobOutcome.CPU),
    TICKS,
)
attack(
    "children that nobody waits for",
    "processor time",
    "cpu-total",
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    + _SPIN
    + """
for _ in range(8):
    if os.fork() == 0:
        spin(0.2)
        os._exit(0)
try:
    os.wait()
except ChildProcessError:
    say("tenths of a second", 16)
""",
    at_most("tenths of a second", 11, JobOutcome.CPU),
    TICKS,
)
attack(
    "orphans, each made by the one before",
    "processor time",
    "cpu-total",
    _SPIN
    + """
out, into = os.pipe()
if os.fork() == 0:
    for step in range(8):
        spin(0.2)
        if os.fork() != 0:
            os._exit(0)
        os.setsid()
    os.write(into, b"x")
    os._exit(0)
os.close(into)
os.read(out, 1)
say("tenths of a second", 16)
""",
    at_most("tenths of a second", 11, JobOutcome.CPU),
    TICKS,
)
attack(
    "limits raised again",
    "processor time",
    "unprivileged",
    """
    import resource
    for name in ("CPU", "AS", "NPROC", "NOFILE", "FSIZE", "CORE", "MEMLOCK", "RTPRIO", "NICE", "MSGQUEUE"):
        which = getattr(resource, "RLIMIT_" + name)
        most = resource.getrlimit(which)[1]
        try:
            resource.setrlimit(which, (most, resource.RLIM_INFINITY if most >= 0 else most))
            say(name, "unbounded" if most == resource.RLIM_INFINITY else "raised")
        except (OSError, ValueError):
            say(name, "refused")
    act("nice", os.nice, -5)
    act("real time", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
    """,
    ways(
        {
            **all_of("refused", "CPU", "NPROC", "NOFILE", "FSIZE", "CORE", "MEMLOCK", "RTPRIO", "NICE", "MSGQUEUE"),
            "AS": "refused|unbounded",
            "nice": "EPERM|EACCES",
            "real time": "EPERM",
        }
    ),
)
attack(
    "waiting, with every signal ignored",
    "wall clock",
    "wall-clock",
    """
    daemon(lambda: time.sleep(8))
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    if os.fork() == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(8)
    """,
    ends(JobOutcome.WALL),
    SHORT,
)
attack(
    "the scratch directory filled",
    "filling",
    "scratch-bytes",
    """
    size = 0
    try:
        for number in range(100):
            with open(f"/tmp/{number}", "wb", buffering=0) as stream:
                stream.write(b"x" * (1 << 20))
            size += 1
    except OSError as error:
        say("ended by", text(error.errno))
    say("MiB", size)
    """,
    at_most("MiB", 64),
)
attack(
    "files larger than the scratch directory",
    "filling",
    "scratch-bytes",
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open("/tmp/sparse", "wb") as stream:
        act("one of a tebibyte", os.truncate, "/tmp/sparse", 1 << 40)
        act("one of 65 MiB", os.truncate, "/tmp/sparse", 65 << 20)
        act("a byte far away", os.pwrite, stream.fileno(), b"x", 1 << 40)
        act("room for 65 MiB", os.posix_fallocate, stream.fileno(), 0, 65 << 20)
    act("without a name", os.posix_fallocate, os.open("/tmp", os.O_TMPFILE | os.O_RDWR), 0, 65 << 20)
    """,
    ways(
        {
            **all_of("EFBIG", "one of a tebibyte", "one of 65 MiB", "a byte far away"),
            **all_of("EFBIG|ENOSPC", "room for 65 MiB", "without a name"),
        }
    ),
)
attack(
    "empty files without end",
    "filling",
    "scratch-inodes",
    """
    for number in range(40000):
        os.close(os.open(f"/tmp/{number}", os.O_CREAT | os.O_WRONLY))
    say("thousands", 40)
    """,
    at_most("thousands", 30, JobOutcome.MEMORY),
    LIMITS._replace(memory_bytes=32 * MIB),
)
attack(
    "memory that no process owns",
    "filling",
    "system-calls",
    """
    call("memfd_create", b"x", 0)
    call("memfd_secret", 0)
    call("shmget", 0, 1 << 20, 0o1600)
    call("shmat", 0, 0, 0)
    call("msgget", 0, 0o1600)
    call("semget", 0, 1, 0o1600)
    call("mq_open", b"x", 0o102, 0o600, 0)
    act("/dev/shm", open, "/dev/shm/x", "w")
    act("/dev/mqueue", open, "/dev/mqueue/x", "w")
    act("/dev/hugepages", open, "/dev/hugepages/x", "w")
    """,
    ways(
        {
            **all_of("ENOSYS", "memfd_create", "memfd_secret", "shmget", "shmat", "msgget", "semget", "mq_open"),
            **all_of("ENOENT", "/dev/shm", "/dev/mqueue", "/dev/hugepages"),
        }
    ),
)
attack(
    "what the whole machine has to share out",
    "filling",
    "system-calls",
    """
    for size in (1, 60000):
        call("io_setup", size, ctypes.create_string_buffer(8))
    call("fanotify_init", 0, 0)
    call("perf_event_open", 0, 0, 0, 0, 0)
    call("bpf", 0, 0, 0)
    """,
    ways({"io_setup": "EPERM|ENOSYS", **all_of("EPERM", "fanotify_init, perf_event_open, bpf")}),
)
attack(
    "the host watched at its work",
    "leaks",
    "system-calls",
    """
    call("inotify_init1", 0)
    call("inotify_init")
    call("fanotify_init", 0, 0)
    """,
    ways({**all_of("EPERM|ENOSYS", "inotify_init1, inotify_init"), "fanotify_init": "EPERM"}),
)
for _number, _stream in ((1, "stdout"), (2, "stderr")):
    attack(
        f"{_stream} without end",
        "output flood",
        "output-bytes",
        f"while True: os.write({_number}, b'x' * 65536)",
        bounded,
    )
attack(
    "both streams, from many processes",
    "output flood",
    "output-bytes",
    """
    for _ in range(8):
        if os.fork() == 0:
            break
    while True:
        os.write(1 + os.getpid() % 2, b"x" * 100)
    """,
    bounded,
)
attack(
    "a flood in the last moment",
    "output flood",
    "output-bytes",
    """
    import fcntl
    fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.set_blocking(1, False)
    os.write(1, b"x" * (1 << 20))
    os._exit(0)
    """,
    bounded,
)
attack(
    "stdio closed, and an export nevertheless",
    "closed stdio",
    "export-sealed",
    """
    for number in (0, 1, 2):
        os.close(number)
    number = os.open("/dev/null", os.O_RDWR)
    os.write(3, b"number %d" % number)
    os._exit(0)
    """,
    ends(JobOutcome.EXITED, export=b"number 0"),
)
attack(
    "stdio closed, and no end",
    "closed stdio",
    "wall-clock",
    """
    for number in (0, 1, 2, 3):
        os.close(number)
    time.sleep(8)
    """,
    ends(JobOutcome.WALL),
    SHORT,
)

# --- The export ----------------------------------------------------------------------------------------------------------

attack(
    "a link, a directory and a device in its place",
    "links and devices as results",
    "export-sealed",
    """
    os.symlink(HOST["fixture"], "/tmp/export")
    for path in ("/tmp/export", "/tmp", "/dev/zero"):
        os.dup2(os.open(path, os.O_PATH | os.O_NOFOLLOW), 3)
    os.dup2(os.open("/dev/zero", os.O_RDWR), 3)
    act("write to the device", os.write, 3, b"x")
    act("read the link", open, "/tmp/export")
    """,
    lambda finished: (
        ways({"write to the device": "done", "read the link": "ENOENT"})(finished)
        + ("; no export" if finished.export is None else _broken("there is an export"))
    ),
)
attack(
    "devices made",
    "links and devices as results",
    "unprivileged",
    """
    import stat
    for name, number in (("null", (1, 3)), ("mem", (1, 1)), ("kmsg", (1, 11)), ("tty", (5, 0))):
        act(name, os.mknod, "/tmp/" + name, stat.S_IFCHR | 0o666, os.makedev(*number))
    for name, number in (("sda", (8, 0)), ("vda", (253, 0)), ("loop", (7, 0))):
        act(name, os.mknod, "/tmp/" + name, stat.S_IFBLK | 0o666, os.makedev(*number))
    """,
    ways(all_of("EPERM", "null", "mem", "kmsg", "tty", "sda", "vda", "loop")),
)


def _broken(text: str) -> str:
    raise NotHeld(text)


attack(
    "more than the export may hold",
    "export size",
    "export-sealed",
    'os.write(3, b"1" * (HOST["room"] + 1))',
    ends(JobOutcome.EXPORT),
    play=lambda stage, each: each.seen(stage.job(each.program, known={"room": LIMITS.export_bytes})),
)
attack(
    "just as much as the export may hold",
    "export size",
    "export-sealed",
    'os.write(3, b"1" * HOST["room"])',
    ends(JobOutcome.EXITED, export=b"1" * LIMITS.export_bytes),
    play=lambda stage, each: each.seen(stage.job(each.program, known={"room": LIMITS.export_bytes})),
)
attack(
    "an export grown, shrunk and made of holes",
    "export size",
    "export-sealed",
    """
    size = os.fstat(3).st_size
    act("grow", os.ftruncate, 3, size + 1)
    act("shrink", os.ftruncate, 3, 0)
    act("write behind the end", os.pwrite, 3, b"x", size)
    act("take room behind the end", os.posix_fallocate, 3, size, 1)
    os.pwrite(3, b"x" * 100, 0)
    os.pwrite(3, b"\\0" * 100, 0)
    say("size changed by", os.fstat(3).st_size - size)
    """,
    lambda finished: (
        ways(
            {
                **all_of("EPERM", "grow", "shrink", "write behind the end", "take room behind the end"),
                "size changed by": "0",
            }
        )(finished)
        + ("" if finished.export is None else _broken("; there is an export"))
    ),
)
attack(
    "a last byte far away from the first",
    "export size",
    SUPERVISOR,
    """
    import os
    def solve(x):
        os.write(3, b'{"protocol": "cortex.json-equality.v1", "values": {"answer": 42}}')
        os.pwrite(3, b"}", 65535)
        os._exit(0)
    """,
    not_passed,
    play=driven,
)
_MAPPED = """
import fcntl, mmap
memory = mmap.mmap(3, 4096)
def keep():
    while True:
        memory[0:1] = b"1"
"""
attack(
    "an export mapped by a daemon that goes on writing",
    "export after the end",
    "tree-ends",
    _MAPPED
    + """
daemon(lambda: [os.fork() for _ in range(2)] and keep())
time.sleep(0.05)
os._exit(0)
""",
    ends(JobOutcome.EXITED, export=b"1"),
)
attack(
    "an export written when the first process is gone",
    "export after the end",
    "tree-ends",
    """
    out, into = os.pipe()
    os.write(3, b"first")
    if os.fork() == 0:
        os.setsid()
        os.close(into)
        os.read(out, 1)  # until process 1 has closed its end
        time.sleep(0.05)
        os.pwrite(3, b"later", 0)
        os._exit(0)
    os._exit(0)
    """,
    ends(JobOutcome.EXITED, export=b"first"),
)
attack(
    "an export sealed by the job",
    "export after the end",
    "export-sealed",
    """
    import fcntl
    os.write(3, b"sealed")
    say("seals before", fcntl.fcntl(3, 1034))
    act("no further seals", fcntl.fcntl, 3, 1033, 1)
    act("one more", fcntl.fcntl, 3, 1033, 8)
    act("written again", os.write, 3, b" again")
    """,
    lambda finished: (
        ways({"seals before": "6", "no further seals": "done", "one more": "EPERM", "written again": "done"})(finished)
        + f"; export {'as written' if finished.export == b'sealed again' else _broken(repr(finished.export))}"
    ),
)
attack(
    "an export sealed against writing",
    "export after the end",
    "export-sealed",
    """
    import fcntl
    os.write(3, b"sealed")
    act("sealed", fcntl.fcntl, 3, 1033, 8)
    act("written", os.write, 3, b"x")
    """,
    lambda finished: (
        ways({"sealed": "done", "written": "EPERM"})(finished)
        + f"; export {'as written' if finished.export == b'sealed' else _broken(repr(finished.export))}"
    ),
)
attack(
    "pages of the export given to a pipe",
    "export after the end",
    "export-sealed",
    _MAPPED
    + """
class Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))
memory[0:5] = b"given"
vector = Vector(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 4096)
sent = libc.vmsplice(1, ctypes.byref(vector), 1, 0)
os._exit(0 if sent == 4096 else 1)
""",
    ends(JobOutcome.EXITED, export=b"given"),
)

# --- What stays ----------------------------------------------------------------------------------------------------------

_DAEMONS = """
for number in (1, 1 | 1 << 32):
    libc.prctl(ctypes.c_ulong(number), 0, 0, 0, 0)
daemon(lambda: time.sleep(60))
daemon(lambda: libc.prctl(ctypes.c_ulong(1), 0, 0, 0, 0) + time.sleep(60))
"""
attack(
    "daemons when the job exits",
    "daemons",
    "tree-ends",
    _DAEMONS + "os._exit(0)",
    ends(JobOutcome.EXITED),
)
attack(
    "daemons when a signal ends the job",
    "daemons",
    "tree-ends",
    _DAEMONS + "os.kill(os.getpid(), signal.SIGSEGV)\nos.abort()",
    ends(JobOutcome.SIGNALED),
)
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
)


def launcher_killed(stage: Stage, each: Attack) -> str:
    sandbox = LocalSandbox(name="orphaned")
    before = launchers(os.getpid())
    sandbox.open()
    (launcher,) = launchers(os.getpid()) - before
    token, said = "orphan-" + stage.secret[:8], []
    run = threading.Thread(
        target=lambda: said.append(
            _faulted(lambda: stage.job(each.program, each.limits, sandbox=sandbox, known={"token": token}))
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


attack(
    "the launcher killed while a job runs",
    "daemons",
    "tree-ends",
    _DAEMONS + "time.sleep(60)",
    looked_at_by_play,
    play=launcher_killed,
)


def launcher_killed_idle(stage: Stage, each: Attack) -> str:
    """Whoever of the same user kills a launcher that waits may cost one job, and not all that come after."""
    sandbox = LocalSandbox(name="orphaned")
    before = launchers(os.getpid())
    sandbox.open()
    try:
        (launcher,) = launchers(os.getpid()) - before
        os.kill(launcher, signal.SIGKILL)
        until(lambda: not is_launcher(launcher), "the launcher doesn't end")
        said = _faulted(lambda: stage.job(each.program, sandbox=sandbox))
        return f"{said or 'the next job ran'}; {each.seen(stage.job(each.program, sandbox=sandbox))}"
    finally:
        sandbox.close()


attack(
    "the launcher killed between two jobs",
    "daemons",
    "tree-ends",
    "say('a later job', 'ran')",
    ways({"a later job": "ran"}),
    play=launcher_killed_idle,
)


def launcher_killed_deaf(stage: Stage, each: Attack) -> str:
    """What the kernel does when the launcher is what it kills for memory, while the host has just told it to kill."""
    sandbox = LocalSandbox(name="orphaned")
    before = launchers(os.getpid())
    sandbox.open()
    (launcher,) = launchers(os.getpid()) - before
    token, said = "deaf-" + stage.secret[:8], []

    def run() -> None:
        job = lambda: said.append(told(stage.job(each.program, SHORT, sandbox=sandbox, known={"token": token})))  # noqa: E731
        said.extend(filter(None, [_faulted(job)]))

    thread = threading.Thread(target=run)
    try:
        thread.start()
        until(lambda: len(alive(token)) >= 2, "the job doesn't start")
        os.kill(launcher, signal.SIGSTOP)
        thread.join(SHORT.wall_seconds + 0.5)
        os.kill(launcher, signal.SIGKILL)
        thread.join()
        until(lambda: not alive(token), "the job outlived its launcher")
        return f"{said[0]}; the next job: {told(stage.job('pass', sandbox=sandbox))}"
    finally:
        thread.join()
        sandbox.close()


attack(
    "the launcher killed before it reads an order",
    "daemons",
    "tree-ends",
    "time.sleep(60)",
    ends(JobOutcome.WALL),
    SHORT,
    play=launcher_killed_deaf,
)


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


attack(
    "the host killed while a job runs",
    "daemons",
    "tree-ends",
    _DAEMONS + "time.sleep(60)",
    looked_at_by_play,
    play=host_killed,
)
attack(
    "host and launcher killed at once",
    "daemons",
    "tree-ends",
    _DAEMONS + "time.sleep(60)",
    looked_at_by_play,
    play=lambda stage, each: host_killed(stage, each, launcher_too=True),
)


# --- The table -----------------------------------------------------------------------------------------------------------

_CALLED = (
    "adjtimex", "clock_adjtime", "clock_settime", "clone", "clone3", "io_uring_enter", "io_uring_register",
    "io_uring_setup", "kcmp", "memfd_create", "memfd_secret", "mq_open", "msgget", "name_to_handle_at",
    "open_by_handle_at", "perf_event_open", "pidfd_getfd", "process_madvise", "process_vm_readv",
    "process_vm_writev", "ptrace", "semget", "io_setup", "inotify_init", "inotify_init1", "setdomainname",
    "sethostname", "setns", "settimeofday", "shmat", "shmget", "socket", "socketpair", "unshare", *_REFUSED,
    *_ADMINISTRATIVE,
)  # fmt: skip


@contextmanager
def staged(sandbox: LocalSandbox) -> Iterator[Stage]:
    """The stage around a sandbox that is open."""
    stage = Stage(sandbox, call_numbers(_CALLED))
    try:
        yield stage
    finally:
        stage.close()


@contextmanager
def opened() -> Iterator[LocalSandbox]:
    """A sandbox; raises SandboxUnavailable."""
    sandbox = LocalSandbox(name="attacks")
    sandbox.open()
    try:
        yield sandbox
    finally:
        sandbox.close()


def played(stage: Stage, each: Attack) -> Row:
    """Play one attack, and hold what is seen of it against what has to be."""
    controls = stage.sandbox.controls
    absent = each.control in BY_GROUPS and each.control not in controls

    def row(verdict: str, seen: str) -> Row:
        return Row(each.name, each.item, verdict, each.control, " ".join(seen.split()))

    if each.control in CONTROLS and each.control not in controls and not absent:
        return row(BROKEN, "the control isn't reported, and no machine may lack it")
    try:
        seen = each.play(stage, each) if each.play else each.seen(stage.job(each.program, each.limits))
    except NotApplicable as error:
        return row(NOT_APPLICABLE, str(error))
    except NotHeld as error:
        return row(ABSENT if absent else BROKEN, str(error))
    except (GradingError, OSError, RuntimeError, ValueError) as error:
        stage.renew()
        return row(BROKEN, f"{type(error).__name__}: {error}")
    return row(ABSENT if absent else HELD, seen)


def play(sandbox: LocalSandbox, only: str | None = None) -> Iterator[Row]:
    """Play all attacks, or one, with a sandbox that is open."""
    with staged(sandbox) as stage:
        for each in ATTACKS.values():
            if only in (None, each.name):
                yield played(stage, each)


_UNAVAILABLE = "not played: "


class Elsewhere(Exception):
    """The attacks can't be played as another user; the message says why."""


def as_unprivileged(only: str | None = None) -> list[Row]:
    """The rows of this program, run by a user without any rights; raises Elsewhere."""
    if os.geteuid() != 0:
        raise Elsewhere("only root can become another user")
    version = f"python3.{sys.version_info[1]}"
    pythons = (Path(sys.executable), Path("/usr/bin", version), Path("/usr/local/bin", version))
    python = next((each for each in pythons if each.exists() and reachable(Path(os.path.realpath(each)))), None)
    packages = sysconfig.get_paths()["purelib"]
    if python is None or not reachable(Path(__file__)) or not reachable(Path(packages)):
        raise Elsewhere("another user can't reach the repository, its packages, or an interpreter of this version")
    run = subprocess.run(
        [python, "-m", "tests.adversarial.sandbox_attacks", "--rows", *(("--only", only) if only else ())],
        user=UNPRIVILEGED,
        group=UNPRIVILEGED,
        extra_groups=[],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = run.stdout.splitlines()
    if lines and lines[0].startswith(_UNAVAILABLE):
        raise Elsewhere(lines[0])
    return [Row(*json.loads(line)) for line in lines]


_WIDTHS = (27, 12, 17, 38)


def printed(cells: tuple[str, ...]) -> str:
    wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, _WIDTHS, strict=True)]
    lines = []
    for number in range(max(map(len, wrapped))):
        parts = [
            (cell[number] if number < len(cell) else "").ljust(w) for cell, w in zip(wrapped, _WIDTHS, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def table(title: str, rows: Iterable[Row], names: Iterable[str]) -> bool:
    """Print the rows as they come; whether there is one for each name, and every one is what it has to be."""
    print(title, "", printed(("attack", "verdict", "control", "what was seen")), sep="\n")
    print("-" * (sum(_WIDTHS) + 6), flush=True)
    counted, missing = Counter[str](), list(names)
    for row in rows:
        counted[row.verdict] += 1
        missing.remove(row.name)
        print(printed((row.name, row.verdict, row.control, row.seen)), flush=True)
    for name in missing:
        counted[BROKEN] += 1
        print(printed((name, BROKEN, ATTACKS[name].control, "not played")), flush=True)
    print("", ", ".join(f"{number} {verdict}" for verdict, number in counted.items()), "", sep="\n")
    return not counted[BROKEN]


def _host(name: str, token: str) -> None:
    """Be a host that is going to be killed."""
    with opened() as sandbox, staged(sandbox) as stage:
        stage.job(ATTACKS[name].program, known={"token": token})


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(ATTACKS), metavar="NAME", help="play this one")
    parser.add_argument("--rows", action="store_true", help="print rows as JSON, and as the present user only")
    parser.add_argument("--host", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    names = [asked.only] if asked.only else list(ATTACKS)
    if asked.host:
        _host(*asked.host)
        return 0
    try:
        with opened() as sandbox:
            if asked.rows:
                for row in play(sandbox, asked.only):
                    print(json.dumps(row), flush=True)
                return 0
            whole = table(f"As uid {os.geteuid()}", play(sandbox, asked.only), names)
    except SandboxUnavailable as error:
        print(f"{_UNAVAILABLE}{error}")
        return 1
    if os.geteuid() == 0:
        try:
            rows = as_unprivileged(asked.only)
            whole = table(f"As uid {UNPRIVILEGED}, which has no control groups", rows, names) and whole
        except Elsewhere as error:
            print(f"Not as uid {UNPRIVILEGED}: {error}")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
