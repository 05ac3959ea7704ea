"""Text outside the sections: counted if it is inert, refused if any applier could read it as part of a patch.

Invariants:

* Inert is what git, `git am` and GNU patch all skip, also after taking away an indent, ``>``, ``-`` or ``X``
  (GNU patch, pch.c, intuit_diff_type; git, mailinfo.c).
* Empty lines are not prose.
"""

import re
from typing import Final, NamedTuple

_LOUD: Final = re.compile(
    rb"""^(?:[ \t>X-]|\xef\xbb\xbf)*(?:
      diff[ ]- | ---[ ] | \+\+\+[ ] | \*\*\* | @@ | Index: | Prereq: | ===
    | (?:old|new|new[ ]file|deleted[ ]file)[ ]mode[ ] | (?:dis)?similarity[ ]index[ ] | index[ ][0-9a-f,]+\.\.
    | (?:rename|copy)[ ](?:from|to|old|new)[ ] | Binary[ ]files[ ] | Files[ ][^\n]*[ ]differ | GIT[ ]binary[ ]patch
    | [0-9][0-9,]*[acdis][0-9,]*[ \t]*$ | [ad][0-9]+[ ][0-9]+[ \t]*$
    )""",
    re.MULTILINE | re.VERBOSE,
)
_MAIL: Final = re.compile(
    rb"""^(?: content-type: (?! [ \t]* text/plain [ \t]* (?:; [ \t]* charset= [!-:<-~]+ [ \t]*)? \n (?![ \t]) )
    | content-transfer-encoding: (?! [ \t]* (?:7bit|8bit) [ \t]* \n (?![ \t]) ) )""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]")
_EMPTY_LINES: Final = re.compile(rb"\n{2,}")


class Prose(NamedTuple):
    """How many lines that are not empty, and the offset of the first of them."""

    lines: int
    first: int | None


def first_loud_line(data: bytes, start: int, end: int) -> int | None:
    """Return the offset of the first line from ``start`` to ``end`` (whole lines) that is not inert."""
    found = (pattern.search(data, start, end) for pattern in (_LOUD, _MAIL, _CONTROL))
    return min((data.rfind(b"\n", 0, each.start()) + 1 for each in found if each), default=None)


def count_lines(data: bytes, start: int, end: int) -> Prose:
    """Count the lines from ``start`` to ``end`` (whole lines) that are not empty."""
    first = start
    while first < end and data[first] == 10:
        first += 1
    if first >= end:
        return Prose(0, None)
    empty = sum(found.end() - found.start() - 1 for found in _EMPTY_LINES.finditer(data, first, end))
    return Prose(data.count(b"\n", first, end) - empty, first)
