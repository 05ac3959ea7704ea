"""A private directory of the host, and how a file gets into it: whole and durable, or not at all.

Invariants:
- A directory is used only if it is the owner's, of mode 0700, reached without a symlink, and below directories that nobody
  but root and the owner can change.
- A file is written without a name, made durable, and only then linked under its name, which never replaces anything; the
  directory is made durable before anybody is told (open(2), O_TMPFILE; linkat(2); design: grading, *Journal recipe*).
"""

import os
import stat
from errno import EINVAL, EISDIR, ENOENT, EOPNOTSUPP
from pathlib import Path

from idkmesh_rules.grading.values import GradingError

_WALK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_MODE = 0o400


class PlaceError(GradingError):
    """A directory can't be used, or a file can't be put into it; nothing was put there."""


class NotDurable(PlaceError):
    """The kernel couldn't promise that something is on disk. Whether it is can't be found out by asking again."""


def open_private(path: Path, owner: int) -> int:
    """A descriptor of the directory at `path`, closed on exec; raises PlaceError for one that isn't private."""
    if not path.is_absolute() or ".." in path.parts:
        raise PlaceError(f"{path}: a private directory is named by an absolute path without '..'")
    at = os.open("/", _WALK)
    parts = path.parts[1:]
    for depth, part in enumerate(parts, 1):
        try:
            _check_ancestor(os.fstat(at), owner, Path("/", *parts[: depth - 1]))
            below = os.open(part, _WALK if depth < len(parts) else _OPEN, dir_fd=at)
        except OSError as error:
            raise PlaceError(
                f"{Path('/', *parts[:depth])}: {error.strerror}; it has to be a directory and no symlink"
            ) from None
        finally:
            os.close(at)
        at = below
    found = os.fstat(at)
    if stat.S_IMODE(found.st_mode) != 0o700 or found.st_uid != owner:
        os.close(at)
        raise PlaceError(
            f"{path}: mode {stat.S_IMODE(found.st_mode):04o} and uid {found.st_uid}, "
            f"expected mode 0700 and uid {owner}; make it private with chmod 0700 and chown"
        )
    return at


def _check_ancestor(found: os.stat_result, owner: int, path: Path) -> None:
    # In a sticky directory others may add names, but not take or move those of the owner.
    others_write = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    if found.st_uid not in (0, owner) or others_write:
        raise PlaceError(
            f"{path}: somebody else can change this directory (uid {found.st_uid}, mode "
            f"{stat.S_IMODE(found.st_mode):04o}), and so what lies below it; use a path of "
            + ("root's" if owner == 0 else f"root's or uid {owner}'s")
        )


def check_unmoved(path: Path, at: int) -> None:
    """Raise PlaceError unless `path` still leads to the open directory `at`."""
    here = os.fstat(at)
    try:
        there = os.stat(path, follow_symlinks=False)
    except OSError as error:
        raise PlaceError(f"{path}: {error.strerror}; it was moved away while it was opened") from None
    if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
        raise PlaceError(f"{path}: another directory took its place while it was opened")


def unnamed_file(at: int) -> int:
    """A new file without a name on the file system of `at`; raises PlaceError where there is no such thing."""
    try:
        return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, _FILE_MODE, dir_fd=at)
    except OSError as error:
        if error.errno in (EOPNOTSUPP, EISDIR, EINVAL):
            raise PlaceError("the file system has no O_TMPFILE; use ext4, xfs, btrfs or tmpfs") from None
        raise PlaceError(f"a file can't be made: {error.strerror}") from None


def check_able(at: int) -> None:
    """Raise PlaceError where files can't be added by the recipe: no O_TMPFILE, or no /proc to link it by."""
    descriptor = unnamed_file(at)
    try:
        if not os.path.exists(_by_number(descriptor)):
            raise PlaceError("/proc isn't mounted, so an unnamed file can't get a name; mount it")
    finally:
        os.close(descriptor)


def add_file(at: int, name: str, data: bytes) -> None:
    """Put `data` under `name` into `at`, readable by the owner only; durable when this returns.

    Raises FileExistsError when anything has that name, even a dangling symlink; NotDurable when the kernel reports that
    it couldn't write to the disk; PlaceError for everything else that keeps the file from being there.
    """
    descriptor = unnamed_file(at)
    try:
        os.fchmod(descriptor, _FILE_MODE)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        synchronize(descriptor)
        os.link(_by_number(descriptor), name, dst_dir_fd=at, follow_symlinks=True)
    except FileExistsError:
        raise
    except OSError as error:
        hint = "; is /proc mounted?" if error.errno == ENOENT else ""
        raise PlaceError(f"{name} can't be written: {error.strerror}{hint}") from None
    finally:
        os.close(descriptor)
    synchronize(at)


def _by_number(descriptor: int) -> str:
    # linkat with AT_EMPTY_PATH needs a capability; through /proc it needs none (open(2), O_TMPFILE).
    return f"/proc/self/fd/{descriptor}"


def synchronize(descriptor: int) -> None:
    """Make a file or directory durable; raises NotDurable."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise NotDurable(f"fsync failed: {error.strerror}; check the disk before anything is believed again") from None
