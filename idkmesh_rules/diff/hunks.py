"""Hunks: their numbers, and lines that meet the numbers exactly.

Invariants:

* Counts alone end a hunk. Every line of a body begins with a space, ``+`` or ``-``, is empty (context whose space a
  mailer took away), or is the marker for a missing line end.
* A whole run of lines is taken at once only if its counts of each kind fit into what the hunk still lacks; each line
  takes at least one, so no line of such a run can lie behind the hunk's end.
* Time is linear: a byte is seen by one pattern and three counts, or in lines over ``_LONG`` bytes only by ``find``.
"""

import re
from typing import Final

from idkmesh_rules.diff.refusal import Refusal, quote
from idkmesh_rules.diff.values import Hunk

_NUMBER: Final = rb"(0|[1-9][0-9]{0,9})"
_RANGES: Final = rb"@@ -%b(?:,%b)? \+%b(?:,%b)? @@[^\n]*+\n" % ((_NUMBER,) * 4)
_START: Final = re.compile(_RANGES)
_RUN: Final = re.compile(rb"(?:[ +-][^\n]*+\n)*+")
_WINDOW: Final = 1 << 16
_LONG: Final = 512
_MARKER: Final = re.compile(rb"\\ [^\x00-\x1f\x7f]{10,}+\n")

_PLUS, _MINUS, _SPACE, _LF, _BACKSLASH, _AT = b"+- \n\\@"


def read_hunks(data: bytes, pos: int, line: int, room: int) -> tuple[int, int, list[Hunk], int, int]:
    """Read the hunks of one section; raises `Refusal`.

    ``pos`` and ``line`` are those of the first ``@@``; at most ``room`` hunks are read. Returns where the section's
    content ends, the line there, the hunks, and how many lines they add and remove.
    """
    hunks: list[Hunk] = []
    size, all_added, all_removed, old_end, new_end, closed = len(data), 0, 0, 0, 0, False
    while True:
        found = _START.match(data, pos)
        if not found:
            raise Refusal("malformed", pos, f"{quote(data, pos)} is not `@@ -START,COUNT +START,COUNT @@`")
        if len(hunks) >= room:
            raise Refusal("limit", pos, "there are more hunks than are read")
        old_text, old_size, new_text, new_size = found.groups()
        old_start, new_start = int(old_text), int(new_text)
        old_count = 1 if old_size is None else int(old_size)
        new_count = 1 if new_size is None else int(new_size)
        if closed:
            raise Refusal("malformed", pos, "a hunk follows the end of the file without a line end")
        if old_start < old_end or new_start < new_end or not old_start * old_count or not new_start * new_count:
            _check_start(pos, old_start, old_count, new_start, new_count, bool(hunks), old_end, new_end)
        start = found.end()
        end, added, removed, lines, closed = _read_body(data, start, old_count, new_count)
        if not added and not removed:
            raise Refusal("malformed", pos, "the hunk changes nothing")
        hunks.append(Hunk(line, old_start, old_count, new_start, new_count, start, end))
        all_added += added
        all_removed += removed
        line += lines + 1
        pos, old_end, new_end = end, old_start + old_count, new_start + new_count
        if pos == size:
            break
        following = data[pos]
        if following == _AT:
            continue
        if following in b"+- \\" and not data.startswith(b"-- \n", pos):
            raise Refusal("malformed", pos, f"the hunk has all its lines already, but {quote(data, pos)} follows")
        break
    return pos, line, hunks, all_added, all_removed


def _check_start(pos: int, old_start: int, old_count: int, new_start: int, new_count: int, later: bool,
                 old_end: int, new_end: int) -> None:
    """Check where a hunk starts, if it touches line 0, has an empty side, or seems to go back."""
    if later and (old_start < old_end or new_start < new_end):
        # An empty side is numbered by the line before it, so it may seem to begin one line early.
        back = new_start + 1 < new_end if not new_count else new_start < new_end
        if old_start < old_end or back:
            raise Refusal("malformed", pos, "the hunk begins before the end of the hunk above it")
    if not old_count and old_start:
        raise Refusal("malformed", pos, "an insertion without context (`-U0`), which programs put at different places; "
                                        "use `git diff` with -U1 or more")
    if (not old_start and (old_count or later)) or (not new_start and new_count):
        raise Refusal("malformed", pos, "the hunk begins at line 0")


def _read_body(data: bytes, start: int, old: int, new: int) -> tuple[int, int, int, int, bool]:
    """Read the lines of one hunk that takes ``old`` and ``new`` lines of its sides.

    Returns its end, the lines added and removed, the lines of the patch that it takes, and whether a side's last line
    was marked as lacking its line end.
    """
    pos, added, removed, lines, closed, last = start, 0, 0, 0, False, 0
    while old or new:
        line_end = data.find(b"\n", pos, pos + _LONG)
        run_end = _RUN.match(data, pos, pos + _WINDOW).end() if line_end != -1 else pos  # type: ignore[union-attr]
        if run_end > pos:
            plus = data.count(b"\n+", pos - 1, run_end)
            minus = data.count(b"\n-", pos - 1, run_end)
            space = data.count(b"\n ", pos - 1, run_end)
            if minus + space <= old and plus + space <= new:
                old -= minus + space
                new -= plus + space
                added += plus
                removed += minus
                lines += plus + minus + space
                pos, last = run_end, -1
                continue
        # One line at a time: a long one, an empty one, a marker, or a run in which the hunk ends or fails.
        sign = data[pos] if pos < len(data) else 0
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
            _check_marker(data, pos, last if last != -1 else _sign_before(data, pos), old, new)
            closed = True
            sign = 0
        else:
            _refuse_line(data, pos, start, old, new)
        lines += 1
        last = sign
        pos = data.find(b"\n", pos) + 1
    if data.startswith(b"\\", pos):
        _check_marker(data, pos, last, old, new)
        closed = True
        lines += 1
        pos = data.find(b"\n", pos) + 1
    return pos, added, removed, lines, closed


def _sign_before(data: bytes, pos: int) -> int:
    return data[data.rfind(b"\n", 0, pos - 1) + 1]


def _check_marker(data: bytes, pos: int, last: int, old: int, new: int) -> None:
    r"""Check a ``\ No newline`` line: its form, and that the line above it (``last`` is its sign) ends its side."""
    if not _MARKER.match(data, pos):
        raise Refusal("malformed", pos, f"{quote(data, pos)} is not a line such as `\\ No newline at end of file`")
    if (last != _PLUS and old) or (last != _MINUS and new):
        raise Refusal("malformed", pos, "a missing line end is marked before the last line of its side")
    if not last:
        raise Refusal("malformed", pos, "a missing line end is marked twice")


def _refuse_line(data: bytes, pos: int, start: int, old: int, new: int) -> None:
    lacking = f"the hunk still lacks {old:,} old and {new:,} new lines"
    if pos >= len(data):
        raise Refusal("malformed", max(start - 1, 0), f"the patch ends inside this hunk; {lacking}")
    raise Refusal("malformed", pos, f"{quote(data, pos)} can't stand here; {lacking}")
