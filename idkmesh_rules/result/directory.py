"""Publish a set of files as one directory: whole or not at all, never over something that exists.

Invariants: files are written beside the target and the directory is renamed into place with RENAME_NOREPLACE, so that a
reader sees everything or nothing, whatever dies when; the directory has mode 0700 and its files 0600.
"""

import ctypes
import os
import shutil
from collections.abc import Mapping
from errno import EEXIST, EINVAL, ENOSYS, ENOTEMPTY
from pathlib import Path

from idkmesh_rules.errors import Problem, Refusal

_NOREPLACE = 1
_TO_SYNC = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_AT_FDCWD = -100


def check_absent(output: Path) -> None:
    """Raise Refusal `output-exists` when anything stands at `output`, even a dangling link or an empty directory.

    Raises Refusal `output-unwritable` for a path that can't be the name of a new directory.
    """
    try:
        os.lstat(output)
    except FileNotFoundError:
        if output.name in ("", ".", ".."):
            raise _unwritable(output, "it names no new directory") from None
    except (OSError, ValueError) as error:
        raise _unwritable(output, (error.strerror if isinstance(error, OSError) else str(error)) or "") from None
    else:
        raise _exists(output)


def publish(output: Path, files: Mapping[str, bytes], *, durable: bool) -> None:
    """Make `output` with `files` (relative path → bytes); with `durable`, everything is on disk before it appears.

    Raises Refusal `output-exists` or `output-unwritable`, and then leaves nothing of its own behind.
    """
    staging = output.parent / f".idkrules-{os.urandom(8).hex()}.partial"
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        # Opened first: if the rename can't be made durable, nothing is to appear.
        parent = os.open(output.parent, _TO_SYNC) if durable else None
        try:
            try:
                # Made inside: a signal may come right behind any call, and what was made is to be taken away.
                staging.mkdir(mode=0o700)
                _fill(staging, files, durable)
                _rename(staging, output)
            except BaseException:
                shutil.rmtree(staging, ignore_errors=True)
                raise
            if parent is not None:
                os.fsync(parent)
        finally:
            if parent is not None:
                os.close(parent)
    except OSError as error:
        if error.errno in (EEXIST, ENOTEMPTY) and os.path.lexists(output):
            raise _exists(output) from None
        raise _unwritable(output, error.strerror or str(error)) from None


def _unwritable(output: Path, why: str) -> Refusal:
    return Refusal("output-unwritable", "the output directory can't be written", problems=(Problem(why, str(output)),))


def _exists(output: Path) -> Refusal:
    return Refusal(
        "output-exists",
        "something stands already where the output is to be written",
        problems=(Problem("nothing is ever overwritten", str(output), hint="name something that doesn't exist"),),
    )


def _fill(staging: Path, files: Mapping[str, bytes], durable: bool) -> None:
    root = os.fspath(staging)
    directories = {root}
    for name, data in files.items():
        path = f"{root}/{name}"
        parent = path.rpartition("/")[0]
        if parent not in directories:
            os.mkdir(parent, 0o700)
            directories.add(parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    if durable:
        for directory in directories:
            _sync_directory(Path(directory))


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, _TO_SYNC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename(staging: Path, output: Path) -> None:
    if not rename_without_replacing(staging, output):
        # A directory of our own making may be replaced, nobody else's.
        output.mkdir(mode=0o700)
        os.rename(staging, output)


def rename_without_replacing(source: Path, target: Path) -> bool:
    """Rename atomically to a name that nothing has; raises OSError (EEXIST) where something has it.

    Returns False, and does nothing, where the file system or the C library doesn't know RENAME_NOREPLACE.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), _NOREPLACE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (ENOSYS, EINVAL):
        return False
    raise OSError(number, os.strerror(number), os.fspath(target))
