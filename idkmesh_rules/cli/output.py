"""Printing: results on stdout, everything else on stderr, colour only for a terminal that wants it.

Invariants: a reader that goes away (`| head`) doesn't change the exit code; an output that can't be written does, to 4,
because a result that nobody received must not look delivered.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from idkmesh_rules.cli.exits import REFUSED, UNREADABLE
from idkmesh_rules.errors import Refusal


def emit(text: str, code: int) -> int:
    """Print `text` on stdout and return `code`, or 4 if stdout can't be written."""
    return REFUSED if _write(sys.stdout, text) else code


def complain(text: str) -> None:
    """Print `text` on stderr, as far as there is one."""
    _write(sys.stderr, text)


def refuse(refusal: Refusal, *, as_json: bool) -> int:
    """Print why a result directory can't be spoken of, and return the exit code of unreadable input."""
    from idkmesh_rules.render.text import refusal_json, refusal_text

    if as_json:
        return emit(refusal_json(refusal), UNREADABLE)
    complain(refusal_text(refusal, colour=wants_colour(sys.stderr)))
    return UNREADABLE


def attempt(show: Callable[[], object], code: int) -> int:
    """Let somebody else's `show` print on stderr and return `code`, whatever becomes of what was printed."""
    try:
        show()
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        detach(sys.stderr)
    return code


def wants_colour(stream: TextIO | None) -> bool:
    """Whether `stream` is a terminal whose user has not asked for plain text (NO_COLOR, TERM=dumb)."""
    return (
        stream is not None and stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


@contextmanager
def counter(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Count files and bytes on one line of stderr while something long goes on; None where nobody would see it.

    The line is gone when the work is done.
    """
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    shown = 0.0

    def show(files: int, size: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown > 0.1:
            shown = now
            attempt(lambda: stream.write(f"\r{what}: {files:,} files, {size / 2**20:,.0f} MiB\033[K"), 0)

    try:
        yield show
    finally:
        if shown:
            attempt(lambda: stream.write("\r\033[K"), 0)


def _write(stream: TextIO | None, text: str) -> bool:
    """Write a line; return whether that failed for another reason than a reader that went away."""
    if stream is None:
        # The caller closed the descriptor before this process began.
        return True
    try:
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except BrokenPipeError:
        detach(stream)
    except (OSError, ValueError) as error:
        detach(stream)
        if stream is sys.stdout:
            complain(f"idkrules: the output can't be written: {error}")
        return True
    return False


def detach(stream: TextIO | None) -> None:
    """Point the descriptor at nothing, so that the interpreter's own flush at exit can't fail again."""
    if stream is None:
        return
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        return
