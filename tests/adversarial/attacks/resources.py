"""Attacks that take too much: processes, memory, processor time, the wall clock, scratch room, and output."""

from idkmesh_rules.grading.values import JobOutcome
from tests.adversarial.attacks.attack import Attack, attack
from tests.adversarial.attacks.expected import all_of, at_most, bounded, ends, ways
from tests.adversarial.attacks.stage import LIMITS, MIB, SHORT, Stage

SMALL = LIMITS._replace(memory_bytes=64 * MIB)
TICKS = LIMITS._replace(cpu_seconds=1)
_SPIN = """
def spin(seconds):
    last = time.process_time() + seconds
    while time.process_time() < last:
        pass
"""


def _then_another(stage: Stage, each: Attack) -> str:
    """The sandbox has to serve the next job, whatever became of its launcher."""
    seen = each.seen(stage.job(each.program, each.limits))
    ends(JobOutcome.EXITED)(stage.job("pass"))
    return f"{seen}; the next job ran"


ATTACKS: tuple[Attack, ...] = (
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
        play=_then_another,
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
    *(
        attack(
            f"{stream} without end",
            "output flood",
            "output-bytes",
            f"while True: os.write({number}, b'x' * 65536)",
            bounded,
        )
        for number, stream in ((1, "stdout"), (2, "stderr"))
    ),
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
    ),
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
    ),
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
    ),
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
    ),
)
