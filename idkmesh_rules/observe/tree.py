"""Walk everything below a root once, by descriptors, and hash what is a file.

Invariants:
- Every directory and every file is opened below the descriptor of its parent, no link is followed, and nothing but regular
  files and directories is opened at all: the walk can neither block nor leave the root.
- A level that was left to save descriptors is found again through `..`, and taken only if it is the very same directory.
- Entries, path bytes and content bytes are bounded, depth costs neither stack nor descriptors, and what wasn't seen is a gap.
- A file whose size, times or identity differ before and after reading is unreadable; a directory that changed, or whose
  name leads elsewhere, by the time that everything below it was seen is a gap.
"""

import os
import stat
from collections.abc import Callable
from errno import EACCES, EPERM
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from idkmesh_rules.model.observation import EntryType, Gap, Tree, TreeEntry, TreeFile
from idkmesh_rules.paths.disguise import fold_case

if TYPE_CHECKING:
    from queue import SimpleQueue

    from idkmesh_rules.observe.hashers import Hashed, Hashers

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
# Handing a file to a thread costs as much as hashing some hundred kilobytes: only what is larger is worth it.
_LARGE = 512 * 1024
_BUFFER = 1024 * 1024
_UNDER_WAY = 8
_OPEN_LEVELS = 32
_TELL_EVERY = 256
_CHANGED = "the file changed while it was being read"

Skip = Callable[[str], bool]
Progress = Callable[[int, int], None]


class TreeLimits(NamedTuple):
    """Bounds of a walk: entries, bytes of all paths together, bytes of all files together."""

    entries: int
    path_bytes: int
    content_bytes: int


def read_tree(
    root: int,
    limits: TreeLimits,
    *,
    skip: Skip | None = None,
    prune: Skip | None = None,
    hashing: bool = True,
    progress: Progress | None = None,
) -> Tree:
    """Walk the directory that the descriptor `root` names, and hash every regular file unless `hashing` is off.

    `skip` leaves out an entry that is no directory, `prune` a directory with all below it; both take the path.
    `progress` is told how many files and bytes were read so far, now and then. Raises nothing: what can't be seen is a gap.
    """
    walk = _Walk(limits, skip, prune, hashing, progress)
    try:
        walk.run(root)
        walk.collect()
    finally:
        # Whoever interrupts a walk doesn't wait for what threads are hashing.
        walk.close()
    return walk.tree()


class _Level:
    """A directory on the way: its descriptor (None while it is put aside), what it was when it was opened, what is left."""

    __slots__ = ("before", "descriptor", "name", "path", "pending")

    def __init__(self, descriptor: int, name: str, path: str) -> None:
        self.descriptor: int | None = descriptor
        self.name = name
        self.path = path
        self.before = _version(os.fstat(descriptor))
        self.pending: list[str] = []


class _Stop(Exception):
    """A bound is reached, or the way back up is lost: the rest stays unseen."""


class _Walk:
    def __init__(
        self, limits: TreeLimits, skip: Skip | None, prune: Skip | None, hashing: bool, progress: Progress | None
    ) -> None:
        self._skip, self._prune, self._hashing, self._progress = skip, prune, hashing, progress
        self._limits = limits
        self._entries, self._path_bytes, self._content_bytes = limits
        self._files: list[TreeFile] = []
        self._directories: list[TreeEntry] = []
        self._others: list[TreeEntry] = []
        self._alike: list[tuple[str, ...]] = []
        self._gaps: list[Gap] = []
        self._levels: list[_Level] = []
        self._hashers: Hashers | None = None
        self._large: list[tuple[int, SimpleQueue[Hashed]]] = []
        self._read = 0

    def tree(self) -> Tree:
        return Tree(
            tuple(sorted(self._files, key=_path)),
            tuple(sorted(self._directories, key=_path)),
            tuple(sorted(self._others, key=_path)),
            tuple(sorted(self._alike)),
            tuple(sorted(set(self._gaps))),
        )

    def collect(self) -> None:
        """Wait for what threads are hashing."""
        self._collect(0)

    def close(self) -> None:
        """Let go of every descriptor and thread."""
        for level in self._levels:
            if level.descriptor is not None:
                os.close(level.descriptor)
        if self._hashers is not None:
            self._hashers.close(wait=not self._large)

    def run(self, root: int) -> None:
        try:
            try:
                self._enter(os.open(".", _DIRECTORY, dir_fd=root), ".", "")
            except OSError as error:
                self._gaps.append(Gap("", _said(error, "the directory")))
                return
            while self._levels:
                level = self._levels[-1]
                if level.pending:
                    self._descend(level)
                else:
                    self._leave(level)
        except _Stop as stop:
            self._gaps.append(Gap("", str(stop)))

    def _descend(self, level: _Level) -> None:
        name = level.pending.pop()
        path = f"{level.path}{_utf8(name)}"
        assert level.descriptor is not None
        try:
            descriptor = os.open(name, _DIRECTORY, dir_fd=level.descriptor)
        except OSError as error:
            self._gaps.append(Gap(path, _said(error, "the directory")))
            return
        self._enter(descriptor, name, f"{path}/")

    def _enter(self, descriptor: int, name: str, path: str) -> None:
        level = _Level(descriptor, name, path)
        self._levels.append(level)
        if len(self._levels) > _OPEN_LEVELS:
            aside = self._levels[-1 - _OPEN_LEVELS]
            if aside.descriptor is not None:
                os.close(aside.descriptor)
                aside.descriptor = None
        try:
            self._list(level, descriptor)
        except OSError as error:
            self._gaps.append(Gap(path[:-1], _said(error, "the directory")))

    def _list(self, level: _Level, descriptor: int) -> None:
        # A tree has many files and few of anything else: this loop and `_file` are what a walk takes its time for.
        seen: list[str] = []
        parent, skip, prune = level.path, self._skip, self._prune
        with os.scandir(descriptor) as entries:
            for entry in entries:
                name = entry.name
                text = name if name.isascii() else _utf8(name)
                path = parent + text
                if entry.is_file(follow_symlinks=False):
                    if skip is not None and skip(path):
                        continue
                    self._count(path)
                    self._file(descriptor, name, path)
                elif entry.is_dir(follow_symlinks=False):
                    if prune is not None and prune(path):
                        continue
                    self._count(path)
                    level.pending.append(name)
                    self._directories.append(TreeEntry(path, EntryType.DIRECTORY))
                else:
                    if skip is not None and skip(path):
                        continue
                    self._count(path)
                    self._other(entry, path)
                seen.append(text)
        level.pending.sort(reverse=True)
        if len(seen) > 1:
            self._compare(level.path, seen)

    def _count(self, path: str) -> None:
        self._entries -= 1
        self._path_bytes -= len(path)
        if self._entries < 0:
            raise _Stop(f"there are more than {self._limits.entries} entries")
        if self._path_bytes < 0:
            raise _Stop(f"all paths together have more than {self._limits.path_bytes} characters")

    def _other(self, entry: "os.DirEntry[str]", path: str) -> None:
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError as error:
            self._unreadable(path, _said(error, "the entry"))
            return
        self._others.append(TreeEntry(path, _TYPES.get(stat.S_IFMT(mode), EntryType.DEVICE)))

    def _file(self, parent: int, name: str, path: str) -> None:
        if not self._hashing:
            self._files.append(TreeFile(path, None, "", 0, 1))
            return
        descriptor = -1
        try:
            descriptor = os.open(name, _FILE, dir_fd=parent)
            found = os.fstat(descriptor)
            size = found.st_size
            if not stat.S_ISREG(found.st_mode):
                self._unreadable(path, "the file was replaced while the directory was being read")
                return
            if size > self._content_bytes:
                self._unreadable(path, "the files together have more bytes than the verifier reads")
                return
            self._content_bytes -= size
            digest = None
            if size > _LARGE:
                self._hand_over(descriptor, found)
                descriptor = -1
            else:
                data = os.read(descriptor, size)
                after = os.fstat(descriptor)
                # As `_unchanged`, without the call.
                if len(data) == size == after.st_size and (
                    found.st_ctime_ns == after.st_ctime_ns and found.st_mtime_ns == after.st_mtime_ns
                ):
                    digest = "sha256:" + sha256(data).hexdigest()
            fault = None if digest or descriptor < 0 else _CHANGED
            self._files.append(TreeFile(path, digest, _mode(found.st_mode), size, found.st_nlink, fault))
            if self._progress is not None:
                self._read += size
                if len(self._files) % _TELL_EVERY == 0:
                    self._progress(len(self._files), self._read)
        except OSError as error:
            self._unreadable(path, _said(error, "the file"))
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _hand_over(self, descriptor: int, found: os.stat_result) -> None:
        """Have a thread hash and close `descriptor`; the digest comes into the file that is appended next."""
        if self._hashers is None:
            from idkmesh_rules.observe.hashers import Hashers

            self._hashers = Hashers(_hash_large)
        self._collect(_UNDER_WAY - 1)
        self._large.append((len(self._files), self._hashers.submit(descriptor, found)))

    def _collect(self, most: int) -> None:
        """Wait until no more than `most` files are being hashed by threads."""
        while len(self._large) > most:
            position, result = self._large[0]
            digest, fault = result.get()
            del self._large[0]
            self._files[position] = self._files[position]._replace(digest=digest, unreadable=fault)
            if self._progress is not None:
                self._progress(len(self._files), self._read)

    def _unreadable(self, path: str, why: str) -> None:
        self._files.append(TreeFile(path, None, "", 0, 1, why))

    def _compare(self, parent: str, names: list[str]) -> None:
        """Find names that are one on some disk. Names that folding doesn't change differ as they are."""
        joined = "/".join(names)
        if joined.isascii() and joined == joined.lower():
            return
        folded = [fold_case(name) for name in names]
        if len(set(folded)) == len(names):
            return
        groups: dict[str, list[str]] = {}
        for name, key in zip(names, folded, strict=True):
            groups.setdefault(key, []).append(parent + name)
        self._alike += [tuple(sorted(group)) for group in groups.values() if len(group) > 1]

    def _leave(self, level: _Level) -> None:
        descriptor = level.descriptor
        assert descriptor is not None
        self._levels.pop()
        try:
            changed = _version(os.fstat(descriptor)) != level.before
            if self._levels:
                parent = self._levels[-1]
                if parent.descriptor is None:
                    parent.descriptor = _back_up(descriptor, parent)
                # The name must lead to the very directory that was walked.
                found = os.stat(level.name, dir_fd=parent.descriptor, follow_symlinks=False)
                changed = changed or (found.st_dev, found.st_ino) != level.before[:2]
        except OSError as error:
            self._gaps.append(Gap(level.path[:-1], _said(error, "the directory")))
        else:
            if changed:
                self._gaps.append(Gap(level.path[:-1], "the directory changed while it was being read"))
        finally:
            os.close(descriptor)


def _back_up(descriptor: int, parent: _Level) -> int:
    found = os.open("..", _DIRECTORY, dir_fd=descriptor)
    seen = os.fstat(found)
    if (seen.st_dev, seen.st_ino) != parent.before[:2]:
        os.close(found)
        raise _Stop("a directory was moved while it was being read")
    return found


def _hash_large(descriptor: int, before: os.stat_result) -> "Hashed":
    """The digest of all of an open file, which is closed then, or why there is none."""
    digest, buffer, length = sha256(), bytearray(_BUFFER), 0
    view = memoryview(buffer)
    try:
        while length <= before.st_size and (got := os.readv(descriptor, [buffer])):
            digest.update(view[:got])
            length += got
        unchanged = length == before.st_size and _unchanged(before, os.fstat(descriptor))
    except OSError as error:
        return None, _said(error, "the file")
    finally:
        os.close(descriptor)
    return ("sha256:" + digest.hexdigest(), None) if unchanged else (None, _CHANGED)


_TYPES = {
    stat.S_IFLNK: EntryType.SYMLINK,
    stat.S_IFIFO: EntryType.FIFO,
    stat.S_IFSOCK: EntryType.SOCKET,
    stat.S_IFCHR: EntryType.DEVICE,
    stat.S_IFBLK: EntryType.DEVICE,
}
_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


@cache
def _mode(mode: int) -> str:
    """As git spells it: what the owner may, so that no umask makes a difference, and the bits that git doesn't keep."""
    return f"{stat.S_IFREG | (mode & _SPECIAL_BITS) | (0o755 if mode & stat.S_IXUSR else 0o644):06o}"


def _unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether an open file is as it was: the same descriptor has the same identity."""
    return (
        before.st_ctime_ns == after.st_ctime_ns
        and before.st_mtime_ns == after.st_mtime_ns
        and before.st_size == after.st_size
    )


def _version(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _path(entry: TreeEntry | TreeFile) -> str:
    return entry.path


def _utf8(name: str) -> str:
    """A name as UTF-8 text whatever the locale is; bytes that aren't UTF-8 become lone surrogates."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "surrogateescape")


def _said(error: OSError, what: str) -> str:
    if error.errno in (EACCES, EPERM):
        return f"the verifier may not read {what}"
    return f"{what} can't be read: {error.strerror}"
