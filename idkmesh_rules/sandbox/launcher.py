"""The resident launcher: a small process inside the job's control groups that starts one bubblewrap after the other.

It is run by path, in an isolated interpreter of its own, and imports nothing of this package: it holds no key, no expected
value and no evaluator file but as descriptors that it passes on. Invariants:
- It has dropped to its uid, for good, before it takes a job.
- The limits of processes are set on the job's first process before that runs anything: bubblewrap waits until told to go on.
- When the host goes away, or says so, the job's first process is killed by a descriptor that can mean no other process;
  with it, the kernel ends every process of the job (pid_namespaces(7)).

Messages, one per packet: the host sends `run` with descriptors, the first of which holds the job as JSON, or `kill`; the
launcher answers `ready` once, `begun` with the descriptor of a job's first process, and a JSON object when a job has ended.
"""

import array
import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys

MOST_DESCRIPTORS = 250
STATUS, BLOCK = 10, 11
"""The numbers under which bubblewrap gets the ends of the pipes for its status and for its permission to go on."""

_PR_SET_NO_NEW_PRIVS = 38
_NO_TARGET = 600
"""Above every number that a job's descriptors come with or get, and with them below 1024, the usual limit."""


def main(uid: int, number: int) -> None:
    """Drop to `uid` if that is another one, and serve jobs until the host closes its end of the channel."""
    score = _Score()
    if os.geteuid() != uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    # A bubblewrap with the set-uid bit would otherwise take another, privileged way.
    if ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise SystemExit("no_new_privs can't be set")
    os.chdir("/")
    os.umask(0o077)
    channel = socket.socket(fileno=number)
    channel.set_inheritable(False)
    channel.send(b"ready")
    while True:
        message, descriptors = _received(channel)
        if not message:
            return
        if message == b"run" and descriptors:
            with os.fdopen(descriptors[0], "rb", closefd=False) as stream:
                job = json.load(stream)
            channel.send(json.dumps(_run(channel, job, descriptors, score)).encode())


def _received(channel: socket.socket) -> tuple[bytes, list[int]]:
    room = socket.CMSG_SPACE(MOST_DESCRIPTORS * 4)
    message, ancillary, _flags, _address = channel.recvmsg(64, room, socket.MSG_CMSG_CLOEXEC)
    numbers = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    return message, list(numbers)


class _Score:
    """How readily the kernel kills this process when memory runs out, and how readily what it starts meanwhile.

    Opened before the uid is dropped: afterwards, the file is another user's (proc(5), oom_score_adj).
    """

    def __init__(self) -> None:
        try:
            with open("/proc/self/oom_score_adj", encoding="ascii") as stream:
                self._own = stream.read().strip()
            self._file = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            self._own, self._file = "0", -1

    def __enter__(self) -> None:
        self._write("1000")

    def __exit__(self, *_exception: object) -> None:
        self._write(self._own)

    def _write(self, score: str) -> None:
        # Without it the kernel may choose this process, which the host copes with.
        with contextlib.suppress(OSError):
            if self._file >= 0:
                os.pwrite(self._file, score.encode(), 0)


def _run(channel: socket.socket, job: dict, descriptors: list[int], score: _Score) -> dict:  # type: ignore[type-arg]  # JSON
    status_in, status_out = os.pipe()
    block_in, block_out = os.pipe()
    targets = [*zip(descriptors[1:], job["targets"], strict=True), (status_out, STATUS), (block_in, BLOCK)]
    try:
        with score:
            process = os.posix_spawn(job["argv"][0], job["argv"], {}, file_actions=_moves(targets))
    except OSError as error:
        return {"error": f"bubblewrap can't be started: {error.strerror}"}
    finally:
        for each in (*descriptors, status_out, block_in):
            os.close(each)
    try:
        return _watched(channel, process, status_in, block_out, job["limits"])
    finally:
        os.close(status_in)


def _moves(targets: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The file actions that give each descriptor its number, whatever numbers they have now."""
    apart = [(os.POSIX_SPAWN_DUP2, source, _NO_TARGET + place) for place, (source, _target) in enumerate(targets)]
    placed = [(os.POSIX_SPAWN_DUP2, _NO_TARGET + place, target) for place, (_source, target) in enumerate(targets)]
    closed = [(os.POSIX_SPAWN_CLOSE, _NO_TARGET + place) for place in range(len(targets))]
    return [*apart, *placed, *closed]


def _watched(channel: socket.socket, process: int, status_in: int, block_out: int, limits: dict) -> dict:  # type: ignore[type-arg]  # JSON
    """Set the limits on the job's first process, let it go on, and wait until everything of it has ended."""
    status = b""
    while b"\n" not in status and (more := os.read(status_in, 4096)):
        status += more
    whole, job, fault = os.pidfd_open(process), None, None
    first = _number(status, "child-pid")
    try:
        if first is not None:
            job = os.pidfd_open(first)
            _check_parent(first, process)
            for name, bound in limits.items():
                _limit(first, getattr(resource, name), bound)
            _hand_over(channel, job)
            os.write(block_out, b"1")
    except (ProcessLookupError, BrokenPipeError):
        pass  # it ended meanwhile, which its status tells
    except OSError as error:
        # Without its limits it must not go on, and closing the pipe would let it.
        fault = f"the limits can't be set: {error.strerror}"
        _kill(job, whole)
    os.close(block_out)
    gone = _wait(channel, whole, job)
    os.waitpid(process, 0)
    status += _rest(status_in)
    for each in (whole, job):
        if each is not None:
            os.close(each)
    if gone:
        raise SystemExit(0)
    return {"exit": _number(status, "exit-code"), "error": fault}


def _hand_over(channel: socket.socket, job: int) -> None:
    """Give the host the descriptor of the job's first process, so that it can end the job when this process can't."""
    channel.sendmsg([b"begun"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", (job,)))])


def _limit(process: int, name: int, bound: int) -> None:
    """Lower a limit of a process to `bound`, or leave it where it is lower already: nobody here may raise one."""
    _soft, hard = resource.prlimit(process, name)
    least = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.prlimit(process, name, (least, least))


def _check_parent(process: int, parent: int) -> None:
    """Raise ProcessLookupError unless a process is the child of another: its number may be somebody else's by now."""
    with open(f"/proc/{process}/stat", "rb") as stream:
        fields = stream.read().rpartition(b")")[2].split()
    if int(fields[1]) != parent:
        raise ProcessLookupError


def _rest(status_in: int) -> bytes:
    """What is left in the pipe of a bubblewrap that has ended."""
    found = b""
    os.set_blocking(status_in, False)
    try:
        while more := os.read(status_in, 4096):
            found += more
    except BlockingIOError:
        pass
    return found


def _kill(*descriptors: int | None) -> None:
    for each in descriptors:
        if each is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(each, signal.SIGKILL)


def _wait(channel: socket.socket, whole: int, job: int | None) -> bool:
    """Wait until bubblewrap and the job's first process have ended, killing both on demand; whether the host is gone."""
    pending = {each for each in (whole, job) if each is not None}
    gone = False
    poll = select.poll()
    for each in (*pending, channel.fileno()):
        poll.register(each, select.POLLIN)
    while pending:
        for number, _events in poll.poll():
            poll.unregister(number)
            if number != channel.fileno():
                pending.discard(number)
                continue
            gone = not channel.recv(64)
            if not gone:
                poll.register(number, select.POLLIN)
            _kill(*pending)
    return gone


def _number(status: bytes, name: str) -> int | None:
    """A number of bubblewrap's status, which is JSON objects one after the other."""
    for line in status.splitlines():
        try:
            value = json.loads(line).get(name)
        except ValueError:
            continue
        if type(value) is int:
            return value
    return None


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
