"""Text outside the sections: counted if it is inert, refused if any applier could read it as part of a patch.

Invariants:

* Inert is what git, `git am` and GNU patch all skip, also after taking away an indent, ``>``, ``-`` or ``X``
  (GNU patch, pch.c, intuit_diff_type; git, mailinfo.c).
* No line makes `git am` decode, unfold or cut what follows: a mail's type is plain text in a character set whose ASCII is
  ASCII, and nothing is taken for an export of StGit (git, builtin/am.c, detect_patch_format). What it makes of an export
  of Mercurial is a mail whose header is held to the same rules.
* Empty lines are not prose.
"""

import functools
import re
from typing import Final, NamedTuple

# What may stand before a disguised header; only `--- ` itself begins with one of these, so all else is tried just once.
_DISGUISE: Final = rb"[ \t>X-]*"
_HEADER: Final = (
    rb"(?:\xef\xbb\xbf)?(?:%b---[ ]|%b+(?:" % (_DISGUISE, _DISGUISE)
    + rb"""diff[ ]- | \+\+\+[ ] | \*\*\* | @@ | Index: | Prereq: | ===
    | (?:old|new|new[ ]file|deleted[ ]file)[ ]mode[ ] | (?:dis)?similarity[ ]index[ ] | index[ ][0-9a-f,]+\.\.
    | (?:rename|copy)[ ](?:from|to|old|new)[ ] | Binary[ ]files[ ] | Files[ ][^\n]*[ ]differ | GIT[ ]binary[ ]patch
    | [0-9][0-9,]*[acdis][0-9,]*[ \t]*\n | [ad][0-9]+[ ][0-9]+[ \t]*\n ))"""
)
# git looks for `boundary=`, `charset=` and `format=` anywhere in a type, so that nothing may stand there but what is known.
# The message is decoded before git looks for the patch in it: the character set must leave ASCII alone (UTF-7 doesn't).
# Space before the first header of a mail is skipped (mailinfo.c), so that an indent makes no header harmless.
# A series of StGit lists the files that hold the patches, a line each.
_MAIL: Final = rb"""
    [ \t]* (?i: content-type: (?! [ \t]* text/plain [ \t]*
            (?:; [ \t]* charset= (?P<quote>"?) (?:utf-8|us-ascii|iso-8859-(?:[1-9]|1[0-5])) (?P=quote) [ \t]*)?
        \n (?![ \t]) )
    | content-transfer-encoding: (?! [ \t]* (?:7bit|8bit) [ \t]* \n (?![ \t]) ) )
    | \#[ ]This[ ]series[ ]applies[ ]on[ ]GIT[ ]commit"""
# What makes a file an StGit patch to `git am`, which then takes its first lines for a subject, also a `diff --git` line.
_STGIT: Final = re.compile(rb"[^\n]++\n\n(?=From:|Author:|Date:)")
_CONTROL: Final = rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]"
_BLANK: Final = re.compile(rb"\n*+")
_EMPTY_LINES: Final = re.compile(rb"\n{2,}")


class Prose(NamedTuple):
    """How many lines that are not empty, and the offset of the first of them."""

    lines: int
    first: int | None


class _Patterns(NamedTuple):
    """What is not inert: on the first line, on a later one (header or mail), and anywhere."""

    first: re.Pattern[bytes]
    later: tuple[re.Pattern[bytes], ...]
    anywhere: re.Pattern[bytes]


@functools.cache
def _patterns() -> _Patterns:
    """Compile when prose is met: most patches have none, and these patterns take milliseconds."""
    # Searching for a line end first is several times quicker than trying every byte for the start of a line.
    later = tuple(re.compile(rb"\n(?:%b)" % each, re.VERBOSE) for each in (_HEADER, _MAIL))
    return _Patterns(re.compile(rb"%b|%b" % (_HEADER, _MAIL), re.VERBOSE), later, re.compile(_CONTROL))


def skip_blank(data: bytes, start: int, end: int) -> int:
    """Return the offset of the first line from ``start`` to ``end`` that is not empty, or ``end``."""
    blank = _BLANK.match(data, start, end)
    return blank.end() if blank else start


def first_loud_line(data: bytes, start: int, end: int) -> int | None:
    """Return the offset of the first line from ``start`` to ``end`` (whole lines) that is not inert."""
    first = start == 0
    start = skip_blank(data, start, end)
    if start == end:
        return None
    patterns = _patterns()
    if start == 0 and patterns.first.match(data, 0, end):
        return 0
    loud = [found.start() + 1 for each in patterns.later if (found := each.search(data, max(start - 1, 0), end))]
    if first and (stgit := _STGIT.match(data, start, end)):
        loud.append(stgit.end())
    if control := patterns.anywhere.search(data, start, end):
        loud.append(data.rfind(b"\n", 0, control.start()) + 1)
    return min(loud, default=None)


def count_lines(data: bytes, start: int, end: int) -> Prose:
    """Count the lines from ``start`` to ``end`` (whole lines) that are not empty."""
    first = skip_blank(data, start, end)
    if first == end:
        return Prose(0, None)
    empty = sum(found.end() - found.start() - 1 for found in _EMPTY_LINES.finditer(data, first, end))
    return Prose(data.count(b"\n", first, end) - empty, first)
