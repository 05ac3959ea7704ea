"""The exporter: puts a finished evaluation's report into a directory that the host named, once, and never over anything.

Invariants:
- A request names a destination and its revision, never a path; the file's name is made of the operation's id.
- What is going to be published is recorded first. A crash leaves the whole file or none, and the same operation may be
  asked for again; it is published then, or found to have been.
- Making an exporter touches nothing; `start` does (design: grading, *Exporter*).
"""

import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.grading.journal import Journal
from idkmesh_rules.grading.private import PlaceError, add_file, check_able, check_unmoved, open_private, synchronize
from idkmesh_rules.grading.values import GradingError

MAX_BYTES = 4 << 20
_PURPOSE = "export"
_KINDS = frozenset({"intended", "published"})


class Destination(NamedTuple):
    """A private directory of the host under a name and a revision; for a new directory, the revision is another one."""

    name: str
    revision: str
    directory: Path


class Publication(NamedTuple):
    """Where a report is: destination and revision, the file's name in it, and the bytes' digest and size."""

    destination: str
    revision: str
    file: str
    digest: str
    size: int


class NotPublished(GradingError):
    """Nothing was published, and nothing was replaced; the message says why."""


class Exporter:
    """Publishes reports; open while it holds its journal's lock."""

    def __init__(self, journal_directory: Path, destinations: Sequence[Destination], owner: int) -> None:
        """Freeze the destinations; raises GradingError when two have the same name and revision, or there are none."""
        self._directories = {(each.name, each.revision): each.directory for each in destinations}
        if not destinations or len(self._directories) != len(destinations):
            raise GradingError("an exporter has destinations, no two of the same name and revision")
        self._journal_directory, self._owner = journal_directory, owner
        self._journal = Journal(journal_directory, owner, _PURPOSE, _KINDS)
        self._open: dict[tuple[str, str], int] = {}
        self._publishing = Lock()

    def start(self) -> None:
        """Take the journal's lock and open every destination.

        Raises JournalError, and PlaceError for a directory that isn't private, or is there twice.
        """
        with ExitStack() as undo:
            self._journal.open()
            undo.callback(self._journal.close)
            found = {_identity(os.stat(self._journal_directory))}
            opened: dict[tuple[str, str], int] = {}
            for key, directory in self._directories.items():
                opened[key] = open_private(directory, self._owner)
                undo.callback(os.close, opened[key])
                check_unmoved(directory, opened[key])
                check_able(opened[key])
                identity = _identity(os.fstat(opened[key]))
                if identity in found:
                    raise PlaceError(
                        f"{directory}: it is a destination or the journal already; all have to be distinct"
                    )
                found.add(identity)
            undo.pop_all()
        self._open = opened

    def stop(self) -> None:
        """Let go of the directories and release the journal."""
        with self._publishing:
            for descriptor in self._open.values():
                os.close(descriptor)
            self._open = {}
            self._journal.close()

    def publish(self, operation_id: str, destination: str, revision: str, data: bytes) -> Publication:
        """Publish `data` under a name made of `operation_id`; durable when this returns.

        An operation that was published already is answered from the journal. Raises NotPublished when the destination
        isn't known, something else has the file's name, or the operation was for something else; JournalError.
        """
        file = f"evaluation-{sha256(operation_id.encode()).hexdigest()}.json"
        wanted = Publication(destination, revision, file, bytes_digest(data), len(data))
        if len(data) > MAX_BYTES:
            raise NotPublished(f"a report has at most {MAX_BYTES} bytes, and this one {len(data)}")
        with self._publishing:
            at = self._open.get((destination, revision))
            if at is None:
                raise NotPublished(f"there is no open destination {destination!r} of revision {revision!r}")
            done, intent = (self._journal.find(kind, operation_id) for kind in ("published", "intended"))
            if intent is not None and dict(intent.body) != wanted._asdict():
                raise NotPublished(f"the operation {operation_id!r} was to publish something else, or elsewhere")
            if done is None:
                self._publish(at, operation_id, wanted, data, begun=intent is not None)
            return wanted

    def _publish(self, at: int, operation_id: str, wanted: Publication, data: bytes, *, begun: bool) -> None:
        standing = _standing(at, wanted.file)
        if standing is not None and not (begun and standing == wanted.digest):
            raise NotPublished(f"{wanted.file} is there already, and nothing is ever replaced; publish elsewhere")
        if not begun:
            self._journal.append("intended", operation_id, wanted._asdict())
        if standing is None:
            try:
                add_file(at, wanted.file, data)
            except FileExistsError:
                raise NotPublished(f"{wanted.file} appeared meanwhile; nothing was replaced") from None
        else:
            synchronize(at)  # a killed process linked it, perhaps without more
        self._journal.append("published", operation_id, wanted._asdict())


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _standing(at: int, name: str) -> str | None:
    """The digest of what has this name, "" for what is no file that we could have put there, None for nothing."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    except FileNotFoundError:
        return None
    except OSError:
        return ""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
            return ""
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return bytes_digest(stream.read(MAX_BYTES + 1))
    finally:
        os.close(descriptor)
