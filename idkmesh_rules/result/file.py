"""Publish one file: whole or not at all, never over something that exists, readable by its owner only."""

import os
from collections.abc import Iterable
from contextlib import suppress
from errno import EEXIST
from pathlib import Path

from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.result.directory import rename_without_replacing


def publish_file(output: Path, pieces: Iterable[bytes]) -> None:
    """Write `pieces` beside `output`, sync them to disk, and give them that name; they are never in memory together.

    Raises Refusal `output-exists` or `output-unwritable`, and then leaves nothing of its own behind.
    """
    staging = output.parent / f".idkrules-{os.urandom(8).hex()}.partial"
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(staging, "xb", opener=_private) as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            if not rename_without_replacing(staging, output):
                # A link is never made over something that exists, either.
                os.link(staging, output)
        finally:
            with suppress(FileNotFoundError):
                staging.unlink()
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == EEXIST and os.path.lexists(output):
            raise Refusal(
                "output-exists",
                "the output file exists already",
                problems=(Problem("nothing is overwritten", str(output), hint="name a file that doesn't exist"),),
            ) from None
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise Refusal(
            "output-unwritable",
            "the output file can't be written",
            problems=(Problem(said or type(error).__name__, str(output)),),
        ) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
