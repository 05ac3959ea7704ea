"""What was seen of the candidate's files: states instead of exceptions, bytes read once, digests taken once.

Invariants:
- Whatever could not be looked at carries a reason, and is nobody's fault (design: contracts, *Outcomes*).
- In a tree, names that aren't UTF-8 keep their bytes as lone surrogates; sequences are in the order of their paths.
- `FileObservation.digest` is present only for a regular file within its limit that did not change while it was read.
"""

from enum import Enum
from typing import NamedTuple


class FileState(Enum):
    """What stands at a declared place below the candidate root."""

    REGULAR = "regular"
    MISSING = "missing"
    UNDECLARED = "undeclared"
    SYMLINK = "symlink"
    DIRECTORY = "directory"
    SPECIAL = "special"
    OUTSIDE = "outside"


class FileObservation(NamedTuple):
    """One look at one locator with a limit in bytes.

    `state` is None when the verifier could not look (`unreadable` says why). `size` is in bytes, for regular files;
    `digest` is `sha256:` and hex of the whole file, absent when it is over `limit` and so wasn't read; `data` holds as many
    of its first bytes as the observer was asked to keep.
    """

    locator: str
    limit: int
    state: FileState | None
    size: int | None = None
    data: bytes | None = None
    digest: str | None = None
    unreadable: str | None = None

    @property
    def within_limit(self) -> bool | None:
        """Whether a regular file is no larger than its limit; None for anything else."""
        return None if self.size is None else self.size <= self.limit


class EntryType(Enum):
    """What an entry of a directory is."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    DEVICE = "device"


class TreeFile(NamedTuple):
    """A regular file of a tree: its path below the root, its digest, its git mode (`100644`, `100755`), its size,
    and how many names it has.

    `digest` is None when the tree was walked without hashing, and when the file could not be read (`unreadable` says why).
    """

    path: str
    digest: str | None
    mode: str
    size: int
    links: int
    unreadable: str | None = None


class TreeEntry(NamedTuple):
    """An entry that is no regular file: a directory, a link, or something special."""

    path: str
    type: EntryType


class Gap(NamedTuple):
    """A directory (the root is "") of which not everything could be seen, and why."""

    path: str
    reason: str


class Tree(NamedTuple):
    """Everything below a root, as one walk found it.

    `alike` holds groups of paths with one parent whose names are one name on disks that ignore case or Unicode form.
    `gaps` says what wasn't seen; a tree without gaps is complete.
    """

    files: tuple[TreeFile, ...]
    directories: tuple[TreeEntry, ...]
    others: tuple[TreeEntry, ...]
    alike: tuple[tuple[str, ...], ...]
    gaps: tuple[Gap, ...]

    @property
    def unseen(self) -> str | None:
        """Why the tree isn't complete, as a sentence; None if it is."""
        if not self.gaps:
            return None
        first = self.gaps[0]
        where = f"the directory {stored_path(first.path)}" if first.path else "the root"
        more = f" (and {len(self.gaps) - 1} more)" if len(self.gaps) > 1 else ""
        return f"not everything below {where} could be seen: {first.reason}{more}"


def stored_path(path: str) -> str:
    """A path of a tree as text that any document can hold: bytes that aren't UTF-8 are spelled `\\xNN`."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
