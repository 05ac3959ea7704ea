"""Attacks that look for what a job may not know: the evaluator's files, others' descriptors, and traces of the host."""

import os
import threading

from idkmesh_rules.grading.values import ArtifactRef, JobOutcome
from idkmesh_rules.sandbox.local import LocalSandbox
from tests.adversarial.attacks.attack import SUPERVISOR, Attack, attack
from tests.adversarial.attacks.expected import all_of, ends, judged, not_passed, pairs, told, ways
from tests.adversarial.attacks.stage import LIMITS, NotHeld, Stage, alive, faulted, file_handle, spec, until
from tests.support.places import ROOT

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
_VARIABLES = "HOME LANG PATH PWD PYTHONDONTWRITEBYTECODE PYTHONHASHSEED TMPDIR TZ"


def beside_grader(stage: Stage, each: Attack) -> str:
    """A grader with a secret test bundle runs in another slot, while the candidate looks for it."""
    grader = LocalSandbox(name="attacked")
    grader.open()
    files = {"/evaluator/bundle.json": stage.secret.encode(), "/inputs/values.json": stage.secret.encode()}
    token = "grader-" + stage.secret[:8]
    waiting = spec(("python3", "-I", "-S", "-c", "import time; time.sleep(60)", token), LIMITS)
    thread = threading.Thread(target=lambda: faulted(lambda: grader.run(waiting, files)))
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


def with_handle(stage: Stage, each: Attack) -> str:
    known = {"handle": file_handle(stage.fixture), "plan": str(stage.plan), "tree": str(ROOT), "host": os.getpid()}
    return each.seen(stage.job(each.program, each.limits, known=known))


def no_secret(stage: Stage, each: Attack) -> str:
    known = {"host": os.getpid()}
    finished = stage.job(each.program, each.limits, known=known)
    for path in (str(stage.place), str(ROOT), os.path.expanduser("~")):
        if path != "/" and path.encode() in finished.stdout.data.replace(str(stage.fixture).encode(), b""):
            raise NotHeld("a path of the host was seen")
    return each.seen(finished)


def setup_error(stage: Stage, each: Attack) -> str:
    """What bubblewrap prints when it can't start a job is the job's stderr."""
    sandbox, program = stage.sandbox, each.program.encode()
    seen = []
    reference = ArtifactRef("attack", "sha256:" + "0" * 64, 0)
    for data in (program, b"#!/nowhere\n", b"\x7fELF"):
        job = spec(("/evaluator/attack",), LIMITS)._replace(evaluator=(reference,))
        finished = sandbox.run(job, {"/evaluator/attack": data})
        text = finished.stdout.data + finished.stderr.data
        if any(word.encode() in text for word in (stage.secret, str(ROOT), "/proc/", "/newroot", "/oldroot")):
            raise NotHeld(f"the error text says {text!r}")
        each.seen(finished)
        seen.append(text.decode().strip())
    return "; ".join(dict.fromkeys(seen))


def judged_text(stage: Stage, each: Attack) -> str:
    """The text that says why an export is refused quotes neither it nor what was expected."""
    texts = []
    for data in ('{"values": {"answer": 42}}', "[" * 50, '{"protocol": "x"}', "\\ud800"):
        texts.append(judged(stage.drive(each.program.replace("DATA", repr(data)))).text)
    if any("42" in text or "[[" in text for text in texts):
        raise NotHeld("; ".join(texts))
    return "; ".join(dict.fromkeys(texts))


ATTACKS: tuple[Attack, ...] = (
    attack(
        "a grader beside it, looked for everywhere",
        "reading the evaluator",
        "evaluator-apart",
        _HUNT,
        ways(_NOTHING),
        play=beside_grader,
    ),
    attack(
        "a grader before it, looked for everywhere",
        "reading the evaluator",
        "evaluator-apart",
        _HUNT,
        ways(_NOTHING),
        play=after_grader,
    ),
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
    ),
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
    ),
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
                "EPERM",
                *(f"open_by_handle_at {each}" for each in ("/usr", "/", "/tmp", "/dev/null")),
                "name_to_handle_at",
            )
        ),
        play=with_handle,
    ),
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
    ),
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
    ),
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
    ),
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
    ),
    attack(
        "the error text of a job that can't start",
        "leaks",
        "evaluator-apart",
        "not a program",
        ends(JobOutcome.SETUP_FAILED),
        play=setup_error,
    ),
    attack(
        "the error text of an export that is refused",
        "leaks",
        SUPERVISOR,
        "import os\nos.write(3, DATA.encode())\nos._exit(0)",
        not_passed,
        play=judged_text,
    ),
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
    ),
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
    ),
)
