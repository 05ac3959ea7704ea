"""Read files below the candidate root by descriptor, component by component, without following a link.

Invariants:
- A locator that isn't a plain relative path never reaches the file system (state `outside`).
- At most limit + 1 bytes are read; a file over its limit isn't read at all; FIFOs, sockets and devices are never opened.
- All files together are read up to a budget, each of them once whatever it is called, and no more bytes are kept than asked.
- Size, times and identity are taken before and after reading; if they differ, the file could not be looked at.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idkmesh_rules.model.observation import FileObservation, FileState, Tree
from idkmesh_rules.observe.bounded import hash_bounded

if TYPE_CHECKING:
    from idkmesh_rules.observe.tree import TreeLimits

# O_PATH: a directory that may be searched but not listed can be looked into all the same.
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_ABSENT = frozenset({ENOENT, ENOTDIR, ENAMETOOLONG})


def plain_path(locator: str) -> str | None:
    """The path below the root that a locator names (empty for the root itself); None for one that leads out of it."""
    parts = locator.split("/")
    if locator.startswith("/") or "\0" in locator or ".." in parts:
        return None
    return "/".join(part for part in parts if part not in ("", "."))


class CandidateReader:
    """Observes locators below one root. Holds a descriptor of the root; use it as a context manager."""

    def __init__(self, root: Path, *, budget: int = 2**30) -> None:
        """Open `root` as a directory; raises OSError if that can't be done. The root itself may be named through a link.

        `budget` is how many bytes all observations together may read.
        """
        self._root = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._budget = budget
        self._digests: dict[tuple[int, ...], str] = {}

    def __enter__(self) -> "CandidateReader":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    def observe(self, locator: str, limit: int, keep: int = 0) -> FileObservation:
        """Look at `locator`, a `/`-separated path below the root, reading at most `limit` + 1 bytes. Never raises OSError.

        The observation carries the first `keep` bytes of the file, the digest that of all of it.
        """
        path = plain_path(locator)
        if path is None:
            return FileObservation(locator, limit, FileState.OUTSIDE)
        if not path:
            return FileObservation(locator, limit, FileState.DIRECTORY)
        parts = path.encode().split(b"/")
        try:
            with self._parent(parts[:-1]) as parent:
                if isinstance(parent, FileState):
                    return FileObservation(locator, limit, parent)
                return self._file(parent, parts[-1], locator, limit, keep)
        except OSError as error:
            if error.errno in _ABSENT:
                return FileObservation(locator, limit, FileState.MISSING)
            if error.errno == ELOOP:
                return FileObservation(locator, limit, FileState.SYMLINK)
            return _unreadable(locator, limit, _said(error))

    def tree(self, limits: "TreeLimits", **options: Any) -> Tree:
        """Everything below the root, as `observe.tree.read_tree` finds it under `limits`; takes that function's options."""
        from idkmesh_rules.observe.tree import read_tree

        return read_tree(self._root, limits, **options)

    @contextmanager
    def _parent(self, parts: list[bytes]) -> Iterator[int | FileState]:
        descriptor = os.dup(self._root)
        try:
            for part in parts:
                # O_DIRECTORY turns a link's ELOOP into ENOTDIR, so what stands there is asked for first.
                if stat.S_ISLNK(os.stat(part, dir_fd=descriptor, follow_symlinks=False).st_mode):
                    yield FileState.SYMLINK
                    return
                deeper = os.open(part, _DIRECTORY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            os.close(descriptor)

    def _file(self, parent: int, name: bytes, locator: str, limit: int, keep: int) -> FileObservation:
        seen = os.stat(name, dir_fd=parent, follow_symlinks=False)
        state = _state(seen.st_mode)
        if state is not FileState.REGULAR:
            return FileObservation(locator, limit, state)
        descriptor = os.open(name, _FILE, dir_fd=parent)
        try:
            before = os.fstat(descriptor)
            version, size = _version(before), before.st_size
            if version[:2] != (seen.st_dev, seen.st_ino):
                return _unreadable(locator, limit, "the file was replaced while it was being opened")
            if size > limit:
                return FileObservation(locator, limit, FileState.REGULAR, size=size)
            known = self._digests.get(version)
            if known is not None and keep == 0:
                return FileObservation(locator, limit, FileState.REGULAR, size, b"", known)
            if size > self._budget:
                return _unreadable(locator, limit, "the candidate's files have more bytes than the verifier reads")
            self._budget -= size
            kept, digest, length = hash_bounded(descriptor, size, size + 1, keep)
            after = _version(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        if version != after or length != size:
            return _unreadable(locator, limit, "the file changed while it was being read")
        self._digests[version] = digest
        return FileObservation(locator, limit, FileState.REGULAR, size, kept, digest)


def _state(mode: int) -> FileState:
    if stat.S_ISREG(mode):
        return FileState.REGULAR
    if stat.S_ISLNK(mode):
        return FileState.SYMLINK
    return FileState.DIRECTORY if stat.S_ISDIR(mode) else FileState.SPECIAL


def _version(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _unreadable(locator: str, limit: int, why: str) -> FileObservation:
    return FileObservation(locator, limit, None, unreadable=why)


def _said(error: OSError) -> str:
    denied = error.errno in (EACCES, EPERM)
    return "the verifier may not read the file" if denied else f"the file can't be read: {error.strerror}"
