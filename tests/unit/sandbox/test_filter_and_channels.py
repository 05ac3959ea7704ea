"""The system call filter as it is compiled, and what leads into a job and out of it."""

import ctypes
import fcntl
import mmap
import os
import struct

import pytest

from idkmesh_rules.sandbox import seccomp
from idkmesh_rules.sandbox.channels import Export, Stream, export_size, memory_file
from idkmesh_rules.sandbox.interface import SandboxUnavailable
from tests.support.graded import needs


def test_the_filter_is_the_same_each_time_and_whole_instructions() -> None:
    needs()
    one, other = seccomp.compiled(), seccomp.compiled()
    assert one == other
    assert len(one) % 8 == 0
    assert len(one) // 8 <= 4096  # BPF_MAXINSNS


def test_it_begins_with_the_abi_and_ends_no_other_one_early() -> None:
    needs()
    instructions = list(struct.iter_unpack("=HBBI", seccomp.compiled()))
    load, compare, number, other_abi, newest, refuse = instructions[:6]
    assert (load[0], load[3]) == (0x20, 4)
    # Each jump that leaves the beginning lands on the first instruction of libseccomp's own part.
    assert (1 + 1 + compare[2], 3 + 1 + other_abi[1], 4 + 1 + newest[2]) == (6, 6, 6)
    assert (number[3], refuse[0]) == (0, 0x06)


def test_without_libseccomp_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_arguments: object, **_options: object) -> None:
        raise OSError("no such library")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(SandboxUnavailable, match="apt-get install libseccomp2"):
        seccomp.compiled()


def test_a_library_that_does_not_know_a_call_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    needs()
    monkeypatch.setattr(seccomp, "REFUSED", ("socket", "call_of_the_future"))
    with pytest.raises(SandboxUnavailable, match="doesn't know the system call call_of_the_future"):
        seccomp.compiled()


def test_a_rule_that_the_library_refuses_is_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    needs()
    monkeypatch.setattr(seccomp, "_SOCKET_TYPE", 1 << 70)
    monkeypatch.setattr(seccomp, "_ALLOW", 12345)
    with pytest.raises(SandboxUnavailable):
        seccomp.compiled()


@pytest.fixture
def export() -> Export:
    return Export(100)


def test_an_export_never_changes_its_size(export: Export) -> None:
    for size in (0, export_size(100) + 1):
        with pytest.raises(PermissionError):
            os.ftruncate(export.descriptor, size)
    with pytest.raises(PermissionError):
        os.pwrite(export.descriptor, b"x", export_size(100))
    export.close()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b"", (None, False)),
        (b"\0\0", (None, False)),
        (b"{}", (b"{}", False)),
        (b"{}\n\0\0", (b"{}\n", False)),
        (b"a\0b", (b"a\0b", False)),
        (b"x" * 100, (b"x" * 100, False)),
        (b"x" * 101, (b"x" * 101, True)),
        (b"x" + b"\0" * 198 + b"y", (b"x" + b"\0" * 198 + b"y", True)),
    ],
)
def test_what_counts_is_up_to_the_last_byte_that_is_not_zero(
    export: Export, written: bytes, read: tuple[bytes | None, bool]
) -> None:
    os.write(export.descriptor, written)
    assert export.read() == read
    with pytest.raises(PermissionError):
        os.pwrite(export.descriptor, b"late", 0)
    export.close()


def test_an_export_that_somebody_can_still_write_is_none(export: Export) -> None:
    mapped = mmap.mmap(export.descriptor, 100)
    assert export.read() == (None, True)
    mapped.close()
    assert export.read() == (None, False)
    export.close()


def test_an_export_that_the_job_sealed_is_read_all_the_same(export: Export) -> None:
    os.write(export.descriptor, b"{}")
    fcntl.fcntl(export.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)
    assert export.read() == (b"{}", False)
    export.close()


def test_a_stream_keeps_its_limit_and_notices_more() -> None:
    stream = Stream(5)
    stream.read()  # nothing is there yet, which is no end
    assert stream.open
    os.write(stream.end, b"12345")
    stream.read()
    assert (stream.captured(), stream.open) == ((b"12345", False), True)
    os.write(stream.end, b"6")
    stream.close_end()
    stream.close_end()
    stream.drain()
    assert stream.captured() == (b"12345", True)
    stream.close()


def test_a_stream_ends_with_its_last_writer() -> None:
    stream = Stream(5)
    os.write(stream.end, b"1")
    stream.close_end()
    stream.drain()
    assert (stream.captured(), stream.open) == ((b"1", False), False)
    stream.close()


def test_a_memory_file_is_read_from_its_beginning() -> None:
    descriptor = memory_file("data", b"x" * 100_000)
    assert os.read(descriptor, 1 << 20) == b"x" * 100_000
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_a_memory_file_that_can_not_be_written_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    before = set(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        memory_file("data", b"x")
    monkeypatch.undo()
    assert set(os.listdir("/proc/self/fd")) == before
