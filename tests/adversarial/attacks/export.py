"""Attacks on the one file that a job hands out: what it is, how much it holds, and when it is written."""

from idkmesh_rules.grading.values import JobOutcome
from tests.adversarial.attacks.attack import SUPERVISOR, Attack, attack, driven
from tests.adversarial.attacks.expected import all_of, ends, not_passed, ways
from tests.adversarial.attacks.stage import LIMITS, NotHeld

_MAPPED = """
import fcntl, mmap
memory = mmap.mmap(3, 4096)
def keep():
    while True:
        memory[0:1] = b"1"
"""


def _broken(text: str) -> str:
    raise NotHeld(text)


ATTACKS: tuple[Attack, ...] = (
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
    ),
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
    ),
    attack(
        "more than the export may hold",
        "export size",
        "export-sealed",
        'os.write(3, b"1" * (HOST["room"] + 1))',
        ends(JobOutcome.EXPORT),
        play=lambda stage, each: each.seen(stage.job(each.program, known={"room": LIMITS.export_bytes})),
    ),
    attack(
        "just as much as the export may hold",
        "export size",
        "export-sealed",
        'os.write(3, b"1" * HOST["room"])',
        ends(JobOutcome.EXITED, export=b"1" * LIMITS.export_bytes),
        play=lambda stage, each: each.seen(stage.job(each.program, known={"room": LIMITS.export_bytes})),
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
            ways({"seals before": "6", "no further seals": "done", "one more": "EPERM", "written again": "done"})(
                finished
            )
            + f"; export {'as written' if finished.export == b'sealed again' else _broken(repr(finished.export))}"
        ),
    ),
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
    ),
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
    ),
)
