"""Attacks that try to talk to somebody: by sockets of every family, and by those that lie on the host."""

import os
import socket

from idkmesh_rules.sandbox.local import LocalSandbox
from tests.adversarial.attacks.attack import Attack, attack
from tests.adversarial.attacks.expected import all_of, ways
from tests.adversarial.attacks.stage import NotHeld, Stage


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


ATTACKS: tuple[Attack, ...] = (
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
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
    ),
)
