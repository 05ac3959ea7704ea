"""How the parts of the reader say no.

Invariants:

* A refusal names a class of `REASONS` and the byte where reading stopped; the line is counted once, at the end.
* What is quoted from the patch in a message is bounded, and holds no control character.
"""

from typing import Final

_QUOTED: Final = 60


class Refusal(Exception):
    """The patch is refused: ``reason`` of `REASONS`, ``offset`` in bytes (None: the input as a whole), ``message``."""

    def __init__(self, reason: str, offset: int | None, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.offset = offset
        self.message = message


def quote(data: bytes, offset: int = 0) -> str:
    """Return the start of the line at ``offset`` in backquotes, for a message."""
    end = data.find(b"\n", offset, offset + _QUOTED + 1)
    cut = end == -1 and len(data) > offset + _QUOTED
    text = data[offset : offset + _QUOTED if end == -1 else end].decode("utf-8", "backslashreplace")
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"`{printable}{'…' if cut else ''}`"
