"""The system call filter of a job, compiled by libseccomp.

Invariants:
- What isn't named here is allowed, so the list holds whatever reaches beyond the job: sockets, namespaces, mounts, other
  processes' memory, keys, clocks, and memory that no limit counts.
- A call by another ABI than the machine's own (i386's int 0x80, x32) ends the process.
- A call that is newer than this list is refused as not implemented, whatever it does.
- Calls that programs try and do without are refused as not implemented, so that they fall back; `clone3`, whose flags no
  filter can see, is one of them (design: grading, *Learned the hard way*).
"""

import ctypes
import os
import struct
from collections.abc import Iterator
from errno import ENOSYS, EPERM
from typing import NamedTuple

from idkmesh_rules.sandbox.interface import SandboxUnavailable

_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_ATTR_BADARCH, _UNKNOWN = 2, -1
_NOT_EQUAL, _MASKED_EQUAL = 1, 7
_INT = 0xFFFFFFFF
_AF_UNIX, _PR_SET_PDEATHSIG, _PR_SET_MM = 1, 1, 35
_SOCKET_TYPE, _DATAGRAMS = 0xF, (2, 3)
_NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
_TERMINAL = (0x5412, 0x541C, 0x540E, 0x541D, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCCONS, TIOCSETD


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


REFUSED = _words(
    """
    accept accept4 bind connect listen socket
    chroot fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree pivot_root umount umount2 setns unshare
    fanotify_init name_to_handle_at open_by_handle_at quotactl quotactl_fd swapoff swapon
    kcmp pidfd_getfd process_madvise process_vm_readv process_vm_writev ptrace
    add_key keyctl request_key
    bpf perf_event_open userfaultfd lookup_dcookie syslog acct vhangup uselib
    delete_module finit_module init_module kexec_file_load kexec_load reboot
    adjtimex clock_adjtime clock_adjtime64 clock_settime clock_settime64 settimeofday stime
    ioperm iopl modify_ldt sethostname setdomainname
    migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node
    """
)
"""Refused with EPERM."""
UNIMPLEMENTED = _words(
    """
    clone3 io_setup io_uring_setup io_uring_enter io_uring_register inotify_init inotify_init1
    memfd_create memfd_secret shmget shmat shmctl msgget msgsnd semget semop mq_open
    """
)
"""Refused with ENOSYS. Most of them take what the whole machine shares, or memory that no process is charged for."""


_NEWEST = 456
"""The last call that was looked at when this list was made (futex_requeue); from 424 on, machines share the numbers."""
_OTHER_ABI = 0x40000000


def _instruction(code: int, if_true: int, if_false: int, operand: int) -> bytes:
    """One instruction of classic BPF; jumps count the instructions to skip (linux/filter.h)."""
    return struct.pack("=HBBI", code, if_true, if_false, operand)


def _refuses_newer(native: int) -> bytes:
    """The beginning of the filter: calls of the machine's own ABI beyond the newest known end here, all others go on."""
    return b"".join(
        (
            _instruction(0x20, 0, 0, 4),  # load the ABI
            _instruction(0x15, 0, 4, native),
            _instruction(0x20, 0, 0, 0),  # load the call's number
            _instruction(0x35, 2, 0, _OTHER_ABI),  # x32 has the same ABI and numbers of its own
            _instruction(0x25, 0, 1, _NEWEST),
            _instruction(0x06, 0, 0, _ERRNO | ENOSYS),
        )
    )


class _Compare(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class _Rule(NamedTuple):
    call: str
    error: int
    compare: tuple[int, int, int, int] | None = None


def _rules() -> Iterator[_Rule]:
    yield from (_Rule(name, EPERM) for name in REFUSED)
    yield from (_Rule(name, ENOSYS) for name in UNIMPLEMENTED)
    yield _Rule("socketpair", EPERM, (0, _NOT_EQUAL, _AF_UNIX, 0))
    # A pair of datagram sockets can send to any address besides its other half.
    yield from (_Rule("socketpair", EPERM, (1, _MASKED_EQUAL, _SOCKET_TYPE, kind)) for kind in _DATAGRAMS)
    # The kernel takes 32 bits of these; whatever stands above them must not make another value of one.
    yield from (_Rule("clone", EPERM, (0, _MASKED_EQUAL, bit, bit)) for bit in _NAMESPACES)
    yield from (_Rule("ioctl", EPERM, (1, _MASKED_EQUAL, _INT, request)) for request in _TERMINAL)
    for option in (_PR_SET_PDEATHSIG, _PR_SET_MM):
        yield _Rule("prctl", EPERM, (0, _MASKED_EQUAL, _INT, option))


def compiled() -> bytes:
    """The filter as BPF instructions; raises SandboxUnavailable without a libseccomp that knows every call of the list."""
    library = _library()
    context = library.seccomp_init(_ALLOW)
    if not context:
        raise SandboxUnavailable("libseccomp makes no filter", "free some memory and try again")
    try:
        _check(library.seccomp_attr_set(context, _ATTR_BADARCH, _KILL_PROCESS))
        for rule in _rules():
            number = library.seccomp_syscall_resolve_name(rule.call.encode())
            if number == _UNKNOWN:
                raise SandboxUnavailable(
                    f"this libseccomp doesn't know the system call {rule.call}", "install libseccomp2 of 2.5.2 or newer"
                )
            if number < 0:
                continue  # a call of other machines
            compare = (_Compare * 1)(_Compare(*rule.compare)) if rule.compare else None
            action = _ERRNO | rule.error
            _check(library.seccomp_rule_add_array(context, action, number, 1 if compare else 0, compare))
        return _refuses_newer(library.seccomp_arch_native()) + _exported(library, context)
    finally:
        library.seccomp_release(context)


def _exported(library: ctypes.CDLL, context: int) -> bytes:
    descriptor = os.memfd_create("filter", os.MFD_CLOEXEC)
    try:
        _check(library.seccomp_export_bpf(context, descriptor))
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        os.close(descriptor)


def _check(status: int) -> None:
    if status < 0:
        raise SandboxUnavailable(
            f"libseccomp can't make the filter: {os.strerror(-status)}", "install libseccomp2 of 2.5.2 or newer"
        )


def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    except OSError:
        raise SandboxUnavailable(
            "the library libseccomp isn't there", "install it with: apt-get install libseccomp2"
        ) from None
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = (ctypes.c_uint32,)
    library.seccomp_release.argtypes = (ctypes.c_void_p,)
    library.seccomp_release.restype = None
    library.seccomp_attr_set.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32)
    library.seccomp_syscall_resolve_name.argtypes = (ctypes.c_char_p,)
    library.seccomp_rule_add_array.argtypes = (
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.POINTER(_Compare),
    )
    library.seccomp_arch_native.restype = ctypes.c_uint32
    library.seccomp_export_bpf.argtypes = (ctypes.c_void_p, ctypes.c_int)
    return library
