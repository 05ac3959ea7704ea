"""What can be said about the input as a whole, before any section is looked at.

Invariants:

* The checks run in the order in which their reasons are reported.
* Input that passes has no NUL, is not empty, ends in LF, and has no line over its limit.
"""

import functools
import re
from typing import Final

from idkmesh_rules.diff.headers import DIFF_GIT
from idkmesh_rules.diff.refusal import Refusal, quote
from idkmesh_rules.diff.values import DiffLimits

_FORMATS: Final = rb"""^(?: (?P<ansi> \x1b\[ ) | (?P<begin> \*\*\*[ ]Begin[ ]Patch )
    | (?P<context> \*\*\*[ ][^\n]*\n---[ ] | \*{15} )
    | (?P<combined> diff[ ]--(?:cc|combined)[ ] | @@@ )
    | (?P<traditional> ---[ ][^\n]*\n\+\+\+[ ] ) | (?P<malformed> @@ )
    | (?P<normal> [0-9]+(?:,[0-9]+)?[acd][0-9]+(?:,[0-9]+)?\r?\n[<>][ ] ) | (?P<ed> [0-9]+(?:,[0-9]+)?[acdis]\r?\n )
    | (?P<rcs> [ad][0-9]+[ ][0-9]+\r?\n ) )"""
_MESSAGES: Final = {
    "ansi": "colour codes stand before the text",
    "begin": "a patch in the `*** Begin Patch` format begins here",
    "context": "a context diff begins here",
    "combined": "a combined diff of a merge begins here",
    "traditional": "a diff without a `diff --git` line begins here",
    "malformed": "a hunk stands without a `diff --git` line",
    "normal": "a diff without context lines begins here",
    "ed": "an ed command stands here",
    "rcs": "an RCS command stands here",
}


def screen(data: bytes, limits: DiffLimits) -> None:
    """Refuse input that can't be a patch as a whole; raises `Refusal`."""
    if len(data) > limits.max_bytes:
        raise Refusal("limit", None, f"the patch has over {limits.max_bytes:,} bytes")
    nul = data.find(b"\0")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or (nul in (0, 1) and len(data) > 3 and _alternates(data[:8])):
        raise Refusal("utf-16", 0, "the text is UTF-16")
    if data.startswith(b"\xef\xbb\xbf"):
        raise Refusal("bom", 0, "the patch begins with a byte order mark")
    if nul != -1:
        raise Refusal("nul", nul, "a NUL byte stands in this line")
    if not data:
        raise Refusal("empty", None, "the patch has no bytes")
    if not data.endswith(b"\n"):
        raise Refusal("truncated", len(data), "the last line has no line end")
    start = 0
    while len(data) - start > limits.max_line_bytes:
        end = data.rfind(b"\n", start, start + limits.max_line_bytes + 1)
        if end == -1:
            raise Refusal("limit", start, f"the line has over {limits.max_line_bytes:,} bytes")
        start = end + 1


@functools.cache
def _formats() -> re.Pattern[bytes]:
    return re.compile(_FORMATS, re.MULTILINE | re.VERBOSE)


def has_section(data: bytes) -> bool:
    """Tell whether any line begins ``diff --git``."""
    return data.startswith(DIFF_GIT) or b"\n" + DIFF_GIT in data


def refuse_other_format(data: bytes, line_start: int | None = None) -> None:
    """Refuse input by the first line that begins another format, or by the line at ``line_start``; raises `Refusal`."""
    formats = _formats()
    found = formats.search(data) if line_start is None else formats.match(data, line_start)
    if found and found.lastgroup:
        reason = "begin-patch" if found.lastgroup == "begin" else found.lastgroup
        raise Refusal(reason, found.start(), f"{_MESSAGES[found.lastgroup]}: {quote(data, found.start())}")


def _alternates(head: bytes) -> bool:
    """Tell whether every second byte is NUL and no other, as in UTF-16 without a byte order mark."""
    return any(not any(head[zero::2]) and all(head[1 - zero :: 2]) for zero in (0, 1))
