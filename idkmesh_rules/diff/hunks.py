"""Hunks: their numbers, and lines that meet the numbers exactly.

Invariants:

* Counts alone end a hunk. Every line of a body begins with a space, ``+`` or ``-``, is empty (context whose space a
  mailer took away), or is the marker for a missing line end.
* Lines are taken many at once only if their counts of each kind fit into what the hunk still lacks; each line takes at
  least one, so none of them can lie behind the hunk's end. Otherwise they are taken one by one.
* A window ends behind a whole line, and a line that is longer than a window is looked at only for its end.
"""

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from idkmesh_rules.diff.refusal import Refusal, quote
from idkmesh_rules.diff.values import Hunk

NUMBER: Final = rb"(0|[1-9][0-9]{0,9})"
# The four numbers, and then the lines that may be the body, with the line end before them: each begins behind one.
HUNK: Final = rb"@@ -%b(?:,%b)? \+%b(?:,%b)? @@[^\n]*+(\n(?:[ +-][^\n]*+\n)*+)" % ((NUMBER,) * 4)
_HUNK: Final = re.compile(HUNK)
_CONTENT: Final = re.compile(rb"[ \n+-]*+")
SMALL: Final = 1 << 12
_WINDOW: Final = 1 << 16
_LONG: Final = 1 << 10
# The sizes of most hunks, and of one that prints none; quicker than int().
NUMBERS: Final[dict[bytes | None, int]] = {None: 1, **{str(size).encode("ascii"): size for size in range(1, 64)}}
_MARKER: Final = re.compile(rb"\\ [^\x00-\x1f\x7f]{10,}+\n")

_PLUS, _MINUS, _LF, _BACKSLASH = b"+-\n\\"
_first_byte: Final = itemgetter(0)
_tuple: Final = tuple.__new__


def read_hunks(data: bytes, pos: int, line: int, room: int) -> tuple[int, int, list[Hunk], int, int]:
    """Read the hunks of one section; raises `Refusal`.

    ``pos`` and ``line`` are those of the first ``@@``; over ``room`` hunks are refused. Returns where the section's
    content ends, the line there, the hunks, and how many lines they add and remove.
    """
    hunks: list[Hunk] = []
    all_added, all_removed, old_end, new_end, closed = 0, 0, 0, 0, False
    match, append = _HUNK.match, hunks.append
    while True:
        found = match(data, pos, pos + SMALL) or _start_of_long(data, pos)
        old_text, old_size, new_text, new_size, body = found.groups()
        old_start, new_start = int(old_text), int(new_text)
        old_count = NUMBERS.get(old_size) or int(old_size)
        new_count = NUMBERS.get(new_size) or int(new_size)
        if closed:
            raise Refusal("malformed", pos, "a hunk follows the end of the file without a line end")
        if old_start < old_end or new_start < new_end or not (old_start and old_count and new_start and new_count):
            _check_start(pos, old_start, old_count, new_start, new_count, bool(hunks), old_end, new_end)
        added, removed, lines = body.count(b"\n+"), body.count(b"\n-"), body.count(b"\n") - 1
        start, end = found.span(5)
        start += 1
        following = data[end : end + 1]
        if lines - added != old_count or lines - removed != new_count or following == b"\\":
            end, added, removed, lines, closed = _read_body(data, start, old_count, new_count)
            following = data[end : end + 1]
        if not added and not removed:
            raise Refusal("malformed", pos, "the hunk changes nothing")
        append(_tuple(Hunk, (line, old_start, old_count, new_start, new_count, start, end)))
        all_added += added
        all_removed += removed
        line += lines + 1
        pos, old_end, new_end = end, old_start + old_count, new_start + new_count
        if following == b"@":
            continue
        if following in (b"+", b"-", b" ", b"\\") and not data.startswith(b"-- \n", pos):
            raise Refusal("malformed", pos, f"the hunk has all its lines already, but {quote(data, pos)} follows")
        if len(hunks) > room:
            over = data.rfind(b"\n", 0, hunks[room].start - 1) + 1
            raise Refusal("limit", over, "there are more hunks than are read")
        return pos, line, hunks, all_added, all_removed


def _start_of_long(data: bytes, pos: int) -> re.Match[bytes]:
    """Match a hunk whose first line alone is longer than a small window, up to the end of that line."""
    found = _HUNK.match(data, pos, data.find(b"\n", pos) + 1)
    if not found:
        raise Refusal("malformed", pos, f"{quote(data, pos)} is not `@@ -START,COUNT +START,COUNT @@`")
    return found


def _check_start(
    pos: int, old_start: int, old_count: int, new_start: int, new_count: int, later: bool, old_end: int, new_end: int
) -> None:
    """Check where a hunk starts, if it touches line 0, has an empty side, or seems to go back."""
    if later and (old_start < old_end or new_start < new_end):
        # An empty side is numbered by the line before it, so it may seem to begin one line early.
        back = new_start + 1 < new_end if not new_count else new_start < new_end
        if old_start < old_end or back:
            raise Refusal("malformed", pos, "the hunk begins before the end of the hunk above it")
    if not old_count and old_start:
        raise Refusal(
            "malformed",
            pos,
            "an insertion without context (`-U0`), which programs put at different places; "
            "use `git diff` with -U1 or more",
        )
    if (not old_start and (old_count or later)) or (not new_start and new_count):
        raise Refusal("malformed", pos, "the hunk begins at line 0")


def _read_body(data: bytes, start: int, old: int, new: int) -> tuple[int, int, int, int, bool]:
    """Read the lines of one hunk that takes ``old`` and ``new`` lines of its sides.

    Returns its end, the lines added and removed, the lines of the patch that it takes, and whether a side's last line
    was marked as lacking its line end.
    """
    pos, added, removed, lines, closed, last = start, 0, 0, 0, False, 0
    while old or new:
        signs, lengths = _next_lines(data, pos, min(_WINDOW, 256 + 64 * (old + new)))
        run = _CONTENT.match(signs).end()  # type: ignore[union-attr]  # it matches the empty text, too
        plus, minus = signs.count(b"+", 0, run), signs.count(b"-", 0, run)
        if run and run - plus <= old and run - minus <= new:
            old -= run - plus
            new -= run - minus
            added += plus
            removed += minus
            lines += run
            pos += run + sum(lengths[:run])
            last = signs[run - 1]
            continue
        for sign, length in zip(signs, lengths, strict=True):
            if sign == _PLUS and new:
                new -= 1
                added += 1
            elif sign == _MINUS and old:
                old -= 1
                removed += 1
            elif sign in b" \n" and old and new:
                old -= 1
                new -= 1
            elif sign == _BACKSLASH and last:
                _check_marker(data, pos, last, old, new)
                closed, sign = True, 0
            else:
                raise Refusal("malformed", pos, f"{quote(data, pos)} can't stand here; {_lacking(old, new)}")
            lines += 1
            pos += length + 1
            last = sign
            if not old and not new:
                break
        if not signs:
            raise Refusal("malformed", start - 1, f"the patch ends inside this hunk; {_lacking(old, new)}")
    if last and data.startswith(b"\\", pos):
        _check_marker(data, pos, last, old, new)
        closed = True
        lines += 1
        pos = data.find(b"\n", pos) + 1
    return pos, added, removed, lines, closed


def _next_lines(data: bytes, pos: int, size: int) -> tuple[bytes, Sequence[int]]:
    """Return the first bytes of the next lines (LF for an empty one) and the lengths of these lines.

    One line is returned at least, if there is any, and no others than end within ``size`` bytes: a hunk of few lines must
    not cost a large window.
    """
    end = data.find(b"\n", pos, pos + _LONG)
    if end == -1:
        end = data.find(b"\n", pos)
        return (b"", ()) if end == -1 else (data[pos : pos + 1], (end - pos,))
    end = data.rfind(b"\n", end, max(end + 1, pos + size))
    lines = data[pos:end].split(b"\n")
    signs = bytes([each[0] if each else _LF for each in lines]) if b"" in lines else bytes(map(_first_byte, lines))
    return signs, list(map(len, lines))


def _check_marker(data: bytes, pos: int, last: int, old: int, new: int) -> None:
    r"""Check a ``\ No newline`` line: its form, and that the line above it (``last`` is its sign) ends its side."""
    if not _MARKER.match(data, pos):
        raise Refusal("malformed", pos, f"{quote(data, pos)} is not a line such as `\\ No newline at end of file`")
    if (last != _PLUS and old) or (last != _MINUS and new):
        raise Refusal("malformed", pos, "a missing line end is marked before the last line of its side")


def _lacking(old: int, new: int) -> str:
    return f"the hunk still lacks {old:,} old and {new:,} new lines"
