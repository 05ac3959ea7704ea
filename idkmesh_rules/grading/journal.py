"""The journal: what was decided to be done, durable before it is done, and by one process at a time.

Invariants:
- A record is there whole or not at all, is named by what it is about, and is never replaced: the second record about the
  same thing is an error, and an error means that nothing is done.
- Every record holds its number and its predecessor's digest, from the first one on, which names the journal. Records that
  were changed, moved, taken out or brought in refuse the journal as a whole.
- After a failed fsync nothing more is recorded: what is on disk is then unknown.
- Making a journal object touches nothing; `open` does (design: grading, *Journal recipe*).
"""

import fcntl
import json
import os
import re
import stat
from collections.abc import Mapping
from enum import Enum
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from idkmesh_rules.contracts.digest import canonical_bytes, canonical_digest
from idkmesh_rules.grading.private import (
    NotDurable,
    PlaceError,
    add_file,
    check_able,
    check_unmoved,
    open_private,
    synchronize,
)
from idkmesh_rules.grading.values import Fields, GradingError

MAX_RECORD = 4 << 20
MAX_RECORDS = 100_000
MAX_TOTAL = 256 << 20
FIRST = "journal"
"""The kind of the first record, which names the journal and what it is for."""

_BEFORE_THE_FIRST = "sha256:" + "0" * 64
_NAME = re.compile(r"([a-z]+)-[0-9a-f]{64}\.json")
_FIELDS = ("format", "journal_id", "sequence", "previous", "kind", "key", "body", "digest")
_FORMAT = 1


class JournalError(GradingError):
    """The journal can't be used, or a record can't be made; the message says why. Nothing may be done then."""


class JournalLocked(JournalError):
    """Another process holds the journal."""


class JournalPoisoned(JournalError):
    """The journal takes no more records, because it isn't known any more what is on disk."""


class AlreadyRecorded(JournalError):
    """There is a record about the same thing. Whoever gets this must not act."""


class Fault(Enum):
    """What is wrong with a journal that is refused."""

    UNREADABLE = "unreadable"
    TAMPERED = "tampered"
    REORDERED = "reordered"
    MISSING = "missing"
    FOREIGN = "foreign"


class JournalRefused(JournalError):
    """The records aren't those that were written, one after the other; `fault` says in which way."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(f"{fault.value} record: {message}; restore the journal as it was, or keep it for inspection")
        self.fault = fault


class Record(NamedTuple):
    """One thing that was recorded: the kind, what it is about, its contents, and its place in the chain."""

    sequence: int
    previous: str
    kind: str
    key: str
    body: Mapping[str, Any]
    digest: str


class Head(NamedTuple):
    """A record by number and digest. Kept outside of the journal, it shows whether the journal's end was cut off."""

    sequence: int
    digest: str


class Journal:
    """Records in a private directory; open while this process holds the directory's lock."""

    def __init__(self, directory: Path, owner: int, purpose: str, kinds: frozenset[str]) -> None:
        self._directory, self._owner, self._purpose = directory, owner, purpose
        self._kinds = kinds | {FIRST}
        self._descriptor: int | None = None
        self._process = 0
        self._poisoned = ""
        self._adding = Lock()
        self._records: list[Record] = []
        self._places: dict[tuple[str, str], int] = {}
        self._total = 0

    def open(self, at_least: Head | None = None) -> "Journal":
        """Take the lock, read and check every record, and begin the journal if there is none.

        With `at_least`, the journal has to hold that record. Raises PlaceError for a directory that isn't private,
        JournalLocked, JournalRefused, or JournalError when it is open already.
        """
        if self._descriptor is not None:
            raise JournalError(f"{self._directory}: the journal is open already")
        at = open_private(self._directory, self._owner)
        try:
            self._lock(at)
            check_unmoved(self._directory, at)
            check_able(at)
            # What a killed process linked may be visible without being durable, and is going to be acted upon.
            synchronize(at)
            records = self._read(at)
            if at_least is not None and not _holds(records, at_least):
                raise JournalRefused(
                    Fault.MISSING, f"number {at_least.sequence}, which was there before, is not there as it was"
                )
        except BaseException:
            os.close(at)
            raise
        self._records = records
        self._places = {(each.kind, each.key): each.sequence for each in records}
        self._descriptor, self._process, self._poisoned = at, os.getpid(), ""
        if not records:
            self.journal_id = f"journal-{os.urandom(16).hex()}"
            self.append(FIRST, self._purpose, {})
        return self

    def _lock(self, at: int) -> None:
        try:
            # On the directory itself: a lock file could be replaced, and fcntl's locks end with any other descriptor.
            fcntl.flock(at, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalLocked(f"{self._directory}: another process holds this journal; stop it first") from None

    def close(self) -> None:
        """Release the lock. In a forked child the parent keeps it."""
        with self._adding:
            if self._descriptor is None:
                return
            if self._process == os.getpid():
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def head(self) -> Head:
        """The last record."""
        return Head(self._records[-1].sequence, self._records[-1].digest)

    def find(self, kind: str, key: str) -> Record | None:
        """The record of this kind about `key`."""
        place = self._places.get((kind, key))
        return None if place is None else self._records[place]

    def every(self, kind: str) -> tuple[Record, ...]:
        """All records of a kind, the oldest first."""
        return tuple([each for each in self._records if each.kind == kind])

    def append(self, kind: str, key: str, body: Mapping[str, Any]) -> Record:
        """Record that `kind` holds of `key`; it is durable when this returns.

        Raises AlreadyRecorded when there is one, JournalPoisoned after a failed fsync, JournalError otherwise.
        """
        with self._adding:
            at = self._usable()
            if kind not in self._kinds:
                raise JournalError(f"{kind!r} is no kind of record of this journal")
            if (kind, key) in self._places:
                raise AlreadyRecorded(f"{kind} {key} is recorded already")
            previous = self._records[-1].digest if self._records else _BEFORE_THE_FIRST
            name, data = _file_name(kind, key), self._written(kind, key, body, previous)
            try:
                # What can't be read back would refuse the whole journal after the next start.
                record, _journal_id = _parsed(name, data)
            except JournalRefused as error:
                raise JournalError(f"{kind} {key[:80]!r} makes no record: {error}") from None
            if len(data) > MAX_RECORD or len(self._records) >= MAX_RECORDS or self._total + len(data) > MAX_TOTAL:
                raise JournalError(
                    f"{self._directory}: the journal is full ({MAX_RECORDS} records, {MAX_RECORD} bytes each, "
                    f"{MAX_TOTAL} together); begin another one in another directory"
                )
            try:
                add_file(at, name, data)
            except NotDurable as error:
                self._poisoned = str(error)
                raise JournalPoisoned(f"{self._directory}: {error}") from None
            except FileExistsError:
                self._poisoned = "somebody else writes to it"
                raise AlreadyRecorded(f"{kind} {key} was recorded by somebody else") from None
            except PlaceError as error:
                raise JournalError(f"{self._directory}: {error}") from None
            self._places[kind, key] = record.sequence
            self._records.append(record)
            self._total += len(data)
            return record

    def _written(self, kind: str, key: str, body: Mapping[str, Any], previous: str) -> bytes:
        content = {
            "format": _FORMAT,
            "journal_id": self.journal_id,
            "sequence": len(self._records),
            "previous": previous,
            "kind": kind,
            "key": key,
            "body": dict(body),
        }
        try:
            return canonical_bytes({**content, "digest": canonical_digest(content)})
        except ValueError as error:
            raise JournalError(f"{kind} {key[:80]!r} is no JSON: {error}") from None

    def _usable(self) -> int:
        if self._descriptor is None:
            raise JournalError(f"{self._directory}: the journal isn't open")
        if self._process != os.getpid():
            raise JournalError(f"{self._directory}: the journal belongs to the process that forked this one")
        if self._poisoned:
            raise JournalPoisoned(f"{self._directory}: no more records, since {self._poisoned}")
        return self._descriptor

    def _read(self, at: int) -> list[Record]:
        names = os.listdir(at)
        if len(names) > MAX_RECORDS:
            raise JournalRefused(Fault.FOREIGN, f"there are more than {MAX_RECORDS} files")
        found: dict[int, tuple[Record, str]] = {}
        self._total = 0
        for name in sorted(names):
            matched = _NAME.fullmatch(name)
            if matched is None or matched[1] not in self._kinds:
                raise JournalRefused(Fault.FOREIGN, f"{name!r} is no name that this journal gives")
            data = self._bytes(at, name)
            self._total += len(data)
            if self._total > MAX_TOTAL:
                raise JournalRefused(Fault.UNREADABLE, f"the records have more than {MAX_TOTAL} bytes")
            record, journal_id = _parsed(name, data)
            if record.sequence in found:
                raise JournalRefused(Fault.REORDERED, f"number {record.sequence} is there twice, once in {name}")
            found[record.sequence] = record, journal_id
        return self._chained(found)

    def _bytes(self, at: int, name: str) -> bytes:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        except OSError as error:
            raise JournalRefused(Fault.UNREADABLE, f"{name}: {error.strerror}") from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise JournalRefused(Fault.FOREIGN, f"{name} is no regular file")
            if stat.S_IMODE(status.st_mode) != 0o400 or status.st_uid != self._owner or status.st_nlink != 1:
                raise JournalRefused(Fault.TAMPERED, f"{name} is not of mode 0400, uid {self._owner} and one name")
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                data = stream.read(MAX_RECORD + 1)
        finally:
            os.close(descriptor)
        if len(data) > MAX_RECORD:
            raise JournalRefused(Fault.UNREADABLE, f"{name} has more than {MAX_RECORD} bytes")
        return data

    def _chained(self, found: Mapping[int, tuple[Record, str]]) -> list[Record]:
        records: list[Record] = []
        previous = _BEFORE_THE_FIRST
        for sequence in range(len(found)):
            if sequence not in found:
                raise JournalRefused(Fault.MISSING, f"there are {len(found)}, but none of number {sequence}")
            record, journal_id = found[sequence]
            if sequence == 0:
                if (record.kind, record.key) != (FIRST, self._purpose):
                    raise JournalRefused(
                        Fault.FOREIGN, f"the first one doesn't say that this journal is for {self._purpose}"
                    )
                self.journal_id = journal_id
            if journal_id != self.journal_id:
                raise JournalRefused(Fault.FOREIGN, f"number {sequence} is of the journal {journal_id}")
            if record.previous != previous:
                raise JournalRefused(Fault.TAMPERED, f"number {sequence} was not written after what is now before it")
            previous = record.digest
            records.append(record)
        return records


def _file_name(kind: str, key: str) -> str:
    return f"{kind}-{sha256(key.encode(errors='surrogatepass')).hexdigest()}.json"


def _holds(records: list[Record], head: Head) -> bool:
    return 0 <= head.sequence < len(records) and records[head.sequence].digest == head.digest


def _parsed(name: str, data: bytes) -> tuple[Record, str]:
    """A record and the id of its journal; raises JournalRefused."""
    try:
        value = json.loads(data)
        if canonical_bytes(value) != data:
            raise JournalRefused(Fault.TAMPERED, f"{name} is not in its canonical bytes")
        fields = Fields(value, "record", _FIELDS)
        fields.take("format", lambda number: number == _FORMAT, f"the format {_FORMAT}")
        record = Record(
            fields.count("sequence"),
            fields.digest("previous"),
            fields.text("kind"),
            fields.text("key"),
            fields.take("body", lambda body: isinstance(body, dict), "an object"),
            fields.digest("digest"),
        )
        journal_id = fields.id("journal_id")
    except JournalRefused:
        raise
    except GradingError as error:
        raise JournalRefused(Fault.TAMPERED, f"{name}: {error}") from None
    except (ValueError, RecursionError):
        raise JournalRefused(Fault.TAMPERED, f"{name} is no JSON") from None
    if canonical_digest({key: value[key] for key in _FIELDS[:-1]}) != record.digest:
        raise JournalRefused(Fault.TAMPERED, f"{name} is not what was written")
    if _file_name(record.kind, record.key) != name:
        raise JournalRefused(Fault.REORDERED, f"{name} holds the record of another name")
    return record, journal_id
