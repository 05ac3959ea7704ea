"""The forms that most sections have, each read by one pattern: a shortcut that never refuses.

Invariants:

* What is accepted here, the careful reading accepts too, with the same result; what is not, it decides.
* Names are plain ASCII without spaces, quotes and backslashes, so they need no decoding and no tests.
"""

import functools
import re
from typing import Final, NamedTuple

from idkmesh_rules.diff.hunks import HUNK, NUMBERS, SMALL
from idkmesh_rules.diff.values import Hunk, Operation, PatchFile

DEFAULT_PAIR: Final = (b"a/", b"b/")
_OBJECT: Final = rb"(?!0+[. \n])[0-9a-f]{4,64}"
_ABSENT: Final = rb"0{4,64}"
_MODE: Final = rb"(100644|100755)"
_EXEC: Final = "100755"
_tuple: Final = tuple.__new__


class Common(NamedTuple):
    """A header of a common form, whose hunks are still to be read from ``pos``."""

    pos: int
    operation: Operation
    old_path: str | None
    new_path: str | None
    old_mode: str | None
    new_mode: str | None


def read_common(
    data: bytes, start: int, pair: tuple[bytes, bytes], index: int, line: int, max_name_bytes: int
) -> tuple[int, int, PatchFile] | Common | None:
    """Read the section at ``start``, the ``index``th and at ``line``.

    Returns its end, the line there and the section if it has one small plain hunk; its header if the hunks need a
    closer look; None if the header is of another form.
    """
    found = _pattern(pair).match(data, start, start + SMALL)
    if found is None:
        return None
    name, kept, created, deleted, old_text, old_size, new_text, new_size, body = found.groups()
    if len(name) > max_name_bytes:
        return None
    path = name.decode("ascii")
    operation, old_path, new_path, old_mode, new_mode = _SAID[kept, created, deleted]
    old_path, new_path = old_path and path, new_path and path
    hunk_start, end = found.span(9)
    added, removed, lines = body.count(b"\n+"), body.count(b"\n-"), body.count(b"\n") - 1
    old_start, new_start = int(old_text), int(new_text)
    old_count = NUMBERS.get(old_size) or int(old_size)
    new_count = NUMBERS.get(new_size) or int(new_size)
    if (
        lines - added != old_count
        or lines - removed != new_count
        or data[end : end + 1] not in (b"d", b"")
        or not (added or removed)
        or not ((old_start and old_count) if old_path else (new_start == 1 and not old_start))
        or not ((new_start and new_count) if new_path else (old_start == 1 and not new_start))
    ):
        return Common(found.start(5) - len(b"@@ -"), operation, old_path, new_path, old_mode, new_mode)
    hunk_line = line + data.count(b"\n", start, hunk_start)
    hunk = _tuple(Hunk, (hunk_line, old_start, old_count, new_start, new_count, hunk_start + 1, end))
    return (
        end,
        hunk_line + lines + 1,
        _tuple(
            PatchFile,
            (
                index,
                line,
                start,
                operation,
                old_path,
                new_path,
                old_mode,
                new_mode,
                False,
                False,
                False,
                False,
                new_mode == _EXEC and old_mode is None,
                added,
                removed,
                (hunk,),
            ),
        ),
    )


@functools.cache
def _pattern(pair: tuple[bytes, bytes]) -> re.Pattern[bytes]:
    old, new = map(re.escape, pair)
    return re.compile(
        rb"diff --git %(old)b([!#-\[\]-~]++) %(new)b\1\n"
        rb"(?:(?:index %(object)b\.\.%(object)b(?: %(mode)b)?\n)?--- %(old)b\1\t?\n\+\+\+ %(new)b\1\t?\n"
        rb"|new file mode %(mode)b\n(?:index %(absent)b\.\.%(object)b\n)?--- /dev/null\n\+\+\+ %(new)b\1\t?\n"
        rb"|deleted file mode %(mode)b\n(?:index %(object)b\.\.%(absent)b\n)?--- %(old)b\1\t?\n\+\+\+ /dev/null\n)%(hunk)b"
        % {b"old": old, b"new": new, b"object": _OBJECT, b"absent": _ABSENT, b"mode": _MODE, b"hunk": HUNK}
    )


def _said() -> dict[
    tuple[bytes | None, bytes | None, bytes | None], tuple[Operation, str | None, str | None, str | None, str | None]
]:
    """Return what each choice of mode lines means: operation, whether the sides have paths, and the modes."""
    table: dict[
        tuple[bytes | None, bytes | None, bytes | None],
        tuple[Operation, str | None, str | None, str | None, str | None],
    ] = {(None, None, None): ("modify", "old", "new", None, None)}
    for mode in ("100644", _EXEC):
        told = mode.encode("ascii")
        table[told, None, None] = ("modify", "old", "new", mode, mode)
        table[None, told, None] = ("add", None, "new", None, mode)
        table[None, None, told] = ("delete", "old", None, mode, None)
    return table


_SAID: Final = _said()
