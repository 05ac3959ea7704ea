"""What leads into a job and out of it: files in memory, bounded streams, and the export.

Invariants: nothing here has a path; a stream is read up to its limit and no further, so that a flood costs the job and not
the host; the export has one size from beginning to end, and is read when nobody can write it any more (memfd_create(2),
fcntl(2): F_ADD_SEALS).
"""

import fcntl
import os
from errno import EBUSY

from idkmesh_rules.sandbox.interface import Captured


def memory_file(name: str, data: bytes) -> int:
    """A descriptor from which `data` can be read."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def export_size(limit: int) -> int:
    """How large the memory of an export is: twice what may be used, so that more than that shows as what it is."""
    return 2 * limit


class Export:
    """The memory that a job writes its export to, of one size from beginning to end.

    What counts is what stands there up to the last byte that isn't zero; JSON has no zero bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.descriptor = os.memfd_create("export", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, export_size(limit))
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.descriptor)

    def read(self) -> tuple[bytes | None, bool]:
        """The exported bytes, None when there are none; and whether they are more than allowed, or could still change.

        Of a job that has ended, only what it left in the kernel on purpose can hold them: a pipe in a socket's queue, say.
        """
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        except OSError as error:
            if error.errno == EBUSY:
                return None, True
            # The job itself has sealed it against further seals; all of its processes are gone.
        data = os.pread(self.descriptor, export_size(self._limit), 0).rstrip(b"\0")
        return data or None, len(data) > self._limit


class Stream:
    """The reading end of a pipe that a job prints to, and what was kept of it."""

    def __init__(self, limit: int) -> None:
        self._limit, self._kept = limit, bytearray()
        self.descriptor, self.end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.descriptor, False)
        self.truncated = False
        self.open = True

    def read(self) -> None:
        """Take what is there. More than the limit is noticed, and not kept."""
        room = self._limit - len(self._kept)
        try:
            data = os.read(self.descriptor, min(room + 1, 1 << 16))
        except BlockingIOError:
            return
        self.open = bool(data) and not self.truncated
        self.truncated = self.truncated or len(data) > room
        self._kept += data[:room]

    def drain(self) -> None:
        """Take what is left of a job that has ended."""
        while self.open and not self.truncated:
            before = len(self._kept)
            self.read()
            if len(self._kept) == before:
                return

    def captured(self) -> Captured:
        """What was kept."""
        return Captured(bytes(self._kept), self.truncated)

    def close_end(self) -> None:
        """Let go of the job's end."""
        if self.end >= 0:
            os.close(self.end)
            self.end = -1

    def close(self) -> None:
        """Let go of both ends."""
        self.close_end()
        os.close(self.descriptor)
