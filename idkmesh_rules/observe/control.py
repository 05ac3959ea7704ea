"""Read the verifier's own files: bounded and never blocking, links followed, with the identity of what was opened.

Invariant: the bytes, the identity and the link count belong to one descriptor, so that nothing can be swapped between
reading a control file and judging where it lies.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.observe.bounded import read_bounded


class ControlFile(NamedTuple):
    """A control file as read: path as given, bytes, device and inode, and how many names it has."""

    path: Path
    data: bytes
    identity: tuple[int, int]
    links: int


def read_control_file(path: Path, role: str, max_bytes: int) -> ControlFile:
    """Read at most `max_bytes` + 1 bytes of `path`; raises Refusal `document-unreadable` naming the `role`.

    A file that is larger is returned cut after `max_bytes` + 1 bytes, so that its reader can refuse it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise _refusal(path, role, "it is not a regular file")
            data = read_bounded(descriptor, found.st_size, max_bytes + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise _refusal(path, role, said or type(error).__name__) from None
    return ControlFile(path, data, (found.st_dev, found.st_ino), found.st_nlink)


def _refusal(path: Path, role: str, why: str) -> Refusal:
    return Refusal("document-unreadable", f"the {role} can't be read", problems=(Problem(why, str(path)),))
