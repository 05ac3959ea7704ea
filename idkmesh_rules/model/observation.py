"""What was seen of the candidate's files: states instead of exceptions, bytes read once, digests taken once.

Invariants: `digest` is present only for a regular file within its limit that did not change while it was read; whatever
could not be looked at carries a reason in `unreadable` and is nobody's fault (design: contracts, *Outcomes*).
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
