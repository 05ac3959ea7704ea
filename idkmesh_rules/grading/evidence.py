"""Where observed bytes are kept: one interface, once as files by content, once in SQLite.

Invariants:
- What is read is what was put: bytes are hashed again on every reading, and others than the reference's are none.
- Putting the same bytes twice keeps them once; nothing that is there is ever replaced.
- Deleting an observation takes its bytes and keeps that it was there: its metadata stays readable as history.
- Making a repository touches nothing; `open` does (design: grading, *Supervisor*).
"""

import os
import stat
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from idkmesh_rules.grading.private import add_file, synchronize
from idkmesh_rules.grading.values import ArtifactRef, GradingError, is_digest

if TYPE_CHECKING:
    import sqlite3

MAX_BYTES = 64 << 20


class Missing(GradingError):
    """The bytes of a reference aren't there: never put, deleted, or not what they were."""


class Observation(NamedTuple):
    """What is known of kept bytes even after they were deleted."""

    digest: str
    size: int
    deleted: bool


class EvidenceRepository(Protocol):
    """Keeps bytes by their digest."""

    def put(self, name: str, data: bytes) -> ArtifactRef:
        """Keep `data` and return its reference; raises GradingError when it is too large or was deleted before."""

    def get(self, reference: ArtifactRef) -> bytes:
        """The bytes of a reference, hashed again; raises Missing."""

    def delete(self, digest: str) -> None:
        """Take the bytes away for good; raises Missing when there are none."""

    def observation(self, digest: str) -> Observation | None:
        """What is known of a digest, None if nothing ever was."""


def _reference(name: str, data: bytes) -> ArtifactRef:
    if len(data) > MAX_BYTES:
        raise GradingError(f"an observation has at most {MAX_BYTES} bytes")
    return ArtifactRef(name, "sha256:" + sha256(data).hexdigest(), len(data))


def _held(reference: ArtifactRef, data: bytes) -> bytes:
    if len(data) != reference.size or "sha256:" + sha256(data).hexdigest() != reference.digest:
        raise Missing("the bytes are not those that were observed")
    return data


def _hex(digest: str) -> str:
    if not is_digest(digest):
        raise GradingError("a digest has to be sha256: and 64 hexadecimal digits")
    return digest.partition(":")[2]


class FileRepository:
    """Files named by their digest, in a private directory that exists; `<digest>.gone` marks a deletion."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._descriptor: int | None = None

    def open(self) -> "FileRepository":
        """Open the directory, which has to be a real one of mode 0700; raises GradingError."""
        try:
            descriptor = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise GradingError(f"the evidence directory can't be opened: {error.strerror}") from None
        found = os.fstat(descriptor)
        if stat.S_IMODE(found.st_mode) != 0o700 or found.st_uid != os.geteuid():
            os.close(descriptor)
            raise GradingError("the evidence directory has to be of mode 0700 and ours")
        self._descriptor = descriptor
        return self

    def close(self) -> None:
        """Let go of the directory."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _at(self) -> int:
        if self._descriptor is None:
            raise GradingError("the evidence repository isn't open")
        return self._descriptor

    def put(self, name: str, data: bytes) -> ArtifactRef:
        """See EvidenceRepository."""
        reference = _reference(name, data)
        place, at = _hex(reference.digest), self._at()
        known = self.observation(reference.digest)
        if known is not None and known.deleted:
            raise GradingError("these bytes were deleted, and don't come back")
        if known is None:
            with suppress(FileExistsError):  # somebody else put the same bytes meanwhile
                add_file(at, place, data)
        else:
            self.get(reference)  # what has the name may not be what it was
        synchronize(at)  # also what a killed process put is durable from here on
        return reference

    def get(self, reference: ArtifactRef) -> bytes:
        """See EvidenceRepository."""
        place, at = _hex(reference.digest), self._at()
        if self._exists(f"{place}.gone"):
            raise Missing("the bytes were deleted")
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=at)
        except OSError:
            raise Missing("the bytes aren't there") from None
        with closing(os.fdopen(descriptor, "rb")) as stream:
            return _held(reference, stream.read(MAX_BYTES + 1))

    def delete(self, digest: str) -> None:
        """See EvidenceRepository."""
        place, at = _hex(digest), self._at()
        known = self.observation(digest)
        if known is None or known.deleted:
            raise Missing("there are no such bytes")
        # Marked first: bytes that are half gone must not look as if they had never been there.
        descriptor = os.open(f"{place}.gone", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400, dir_fd=at)
        try:
            os.write(descriptor, str(known.size).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.fsync(at)
        os.unlink(place, dir_fd=at)
        os.fsync(at)

    def observation(self, digest: str) -> Observation | None:
        """See EvidenceRepository."""
        place, at = _hex(digest), self._at()
        for name, deleted in ((f"{place}.gone", True), (place, False)):
            try:
                found = os.stat(name, dir_fd=at, follow_symlinks=False)
            except FileNotFoundError:
                continue
            return Observation(digest, self._size_before(name) if deleted else found.st_size, deleted)
        return None

    def _size_before(self, name: str) -> int:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._at())
        with closing(os.fdopen(descriptor, "rb")) as stream:
            text = stream.read(20)
        return int(text) if text.isdigit() else 0

    def _exists(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self._at(), follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True


class SqliteRepository:
    """One table of a SQLite database, in a file or in memory."""

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None

    def open(self) -> "SqliteRepository":
        """Open the database, making its table where it is new; raises GradingError."""
        import sqlite3

        try:
            database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            database.execute("PRAGMA synchronous = FULL")
            database.execute(
                "CREATE TABLE IF NOT EXISTS observation (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, data BLOB) STRICT"
            )
        except sqlite3.Error as error:
            raise GradingError(f"the evidence database can't be opened: {error}") from None
        self._database = database
        return self

    def close(self) -> None:
        """Let go of the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _at(self) -> "sqlite3.Connection":
        if self._database is None:
            raise GradingError("the evidence repository isn't open")
        return self._database

    def put(self, name: str, data: bytes) -> ArtifactRef:
        """See EvidenceRepository."""
        reference = _reference(name, data)
        known = self.observation(reference.digest)
        if known is not None and known.deleted:
            raise GradingError("these bytes were deleted, and don't come back")
        self._at().execute("INSERT OR IGNORE INTO observation VALUES (?, ?, ?)", (reference.digest, len(data), data))
        return reference

    def get(self, reference: ArtifactRef) -> bytes:
        """See EvidenceRepository."""
        _hex(reference.digest)
        found = self._at().execute("SELECT data FROM observation WHERE digest = ?", (reference.digest,)).fetchone()
        if found is None:
            raise Missing("the bytes aren't there")
        if found[0] is None:
            raise Missing("the bytes were deleted")
        return _held(reference, bytes(found[0]))

    def delete(self, digest: str) -> None:
        """See EvidenceRepository."""
        _hex(digest)
        changed = self._at().execute(
            "UPDATE observation SET data = NULL WHERE digest = ? AND data IS NOT NULL", (digest,)
        )
        if changed.rowcount == 0:
            raise Missing("there are no such bytes")

    def observation(self, digest: str) -> Observation | None:
        """See EvidenceRepository."""
        _hex(digest)
        found = self._at().execute("SELECT size, data IS NULL FROM observation WHERE digest = ?", (digest,)).fetchone()
        return None if found is None else Observation(digest, int(found[0]), bool(found[1]))
