"""Attacks that ask the kernel for more than a job may have: other processes, namespaces, users, clocks, calls, mounts."""

import os
import platform
from errno import ENOSYS

from tests.adversarial.attacks.attack import Attack, attack
from tests.adversarial.attacks.expected import all_of, pairs, ways
from tests.adversarial.attacks.stage import NotApplicable, Stage, launchers

_NAMESPACES = """
FLAGS = {"time": 0x80, "mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
         "pid": 0x20000000, "net": 0x40000000}
"""
_KINDS = ("time", "mnt", "cgroup", "uts", "ipc", "user", "pid", "net")
_MACHINE_CODE = """
import mmap
def run(code):
    memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
    memory.write(bytes.fromhex(code))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return errno.ENOSYS if ctypes.CFUNCTYPE(ctypes.c_long)(address)() == -errno.ENOSYS else 0
"""
REFUSED = (
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "swapon", "swapoff", "quotactl", "fanotify_init",
)  # fmt: skip
"""Calls that change mounts, or what is watched of them."""
ADMINISTRATIVE = (
    "add_key", "keyctl", "request_key", "bpf", "userfaultfd", "syslog", "acct", "delete_module", "finit_module",
    "init_module", "kexec_load", "iopl", "ioperm", "modify_ldt", "migrate_pages", "move_pages", "mbind",
)  # fmt: skip
"""Calls that only an administrator has a use for."""


def on_x86(stage: Stage, each: Attack) -> str:
    if platform.machine() != "x86_64":
        raise NotApplicable(f"{platform.machine()} has no such calls")
    return each.seen(stage.job(each.program, each.limits))


ATTACKS: tuple[Attack, ...] = (
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
    ),
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
    ),
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
    ),
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
    ),
    attack(
        "the score by which the kernel kills",
        "oom score",
        "proc-none",
        """
        for path in ("/proc/self/oom_score_adj", "/proc/1/oom_score_adj", "/proc/self/oom_adj",
                     "/proc/thread-self/oom_score_adj"):
            act(path, open, path, "w")
        """,
        ways(
            all_of(
                "ENOENT",
                "/proc/self/oom_score_adj, /proc/1/oom_score_adj, /proc/self/oom_adj, /proc/thread-self/oom_score_adj",
            )
        ),
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
    attack(
        "calls that are newer than the filter",
        "newer system calls",
        "system-calls",
        """
        for number in (*range(457, 500), 511, 600, 1000, 0x3FFFFFFF):
            say(str(number), called(number, 0, 0, 0, 0, 0, 0))
        """,
        ways(all_of("ENOSYS", *map(str, (*range(457, 500), 511, 600, 1000, 0x3FFFFFFF)))),
    ),
    attack(
        "mounts changed",
        "remount",
        "system-calls",
        f"""
        call("mount", 0, b"/", 0, 32 | 4096, 0, way="remount / to be written")
        call("mount", 0, b"/inputs", 0, 32, 0, way="remount /inputs")
        call("mount", b"/usr", b"/tmp", 0, 4096, 0, way="bind")
        call("umount2", b"/tmp", 2, way="unmount /tmp")
        for name in {REFUSED}:
            call(name, 0, 0, 0, 0, 0)
        """,
        ways(all_of("EPERM", "remount / to be written", "remount /inputs", "bind", "unmount /tmp", *REFUSED)),
    ),
    attack(
        "keys, modules, and the kernel's log",
        "administrative calls",
        "system-calls",
        f"for name in {ADMINISTRATIVE}:\n    call(name, 0, 0, 0, 0, 0)",
        ways(all_of("EPERM", *ADMINISTRATIVE)),
    ),
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
    ),
)
