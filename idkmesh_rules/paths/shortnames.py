"""The short names that NTFS and FAT give to long ones: ``GITHUB~1`` opens ``.github``.

Invariants:

* Only a name of the form 8.3 with a ``~`` and digits is taken for a short one, and only of names that don't fit 8.3.
* Wide: which digits a disk gave is not known, nor whether it put four hexadecimal digits of a sum before them, so any do.
  What a character beyond ASCII becomes depends on the disk, so it may be any.
"""

import re
from typing import Final

from idkmesh_rules.paths.wildmatch import Reading, Test, Token, whole

_SHORT: Final = re.compile(r"([^~./]{1,6})~([0-9]{1,6})(?:\.([^./]{1,3}))?")
_SUMMED: Final = re.compile(r"[0-9A-F]{4}")
_FITS: Final = re.compile(r"[A-Z0-9!#$%&'()@^_`{}~-]{1,8}(?:\.[A-Z0-9!#$%&'()@^_`{}~-]{1,3})?")
_DROPPED: Final = re.compile(r"[. ]")
_REPLACED: Final = re.compile(r"[+,;=\[\]]")


def may_be_short(path: str) -> bool:
    """Tell cheaply whether a component of ``path`` may be a short name."""
    return "~" in path and any(_SHORT.fullmatch(part) for part in path.split("/"))


def with_short_names(part: list[Token]) -> Test:
    """Make a test for a component of a pattern that is matched by its names, folded, and by their short names."""
    long = whole(part, Reading(folded=True))
    short = _short_test(part)
    return long if short is None else lambda name: long(name) or short(name)


def _short_test(part: list[Token]) -> Test | None:
    """Compare what is known of the names that match: how they begin, and how they end if that has a dot."""
    fixed = [token if isinstance(token, str) else None for token in part]
    complete = None not in fixed
    head = "".join(token for token in fixed[: len(fixed) if complete else fixed.index(None)] if token)
    suffix: str | None
    if complete:
        if _FITS.fullmatch(head.upper()):
            return None
        stem, dot, suffix = head.lstrip(". ").rpartition(".")
        if not dot:
            stem, suffix = suffix, ""
    else:
        stem = head
        last = "".join(token for token in fixed[len(fixed) - fixed[::-1].index(None) :] if token)
        suffix = last.rpartition(".")[2] if "." in last else None
        if not head and suffix is None:
            return None  # what a wildcard at the start may stand for, it matches by itself
    begin, end = _shortened(stem), None if suffix is None else _shortened(suffix)[:3]

    def matches(name: str) -> bool:
        found = _SHORT.fullmatch(name.upper())
        if not found or len(found[1]) + len(found[2]) > 7 or (end is not None and not _same(found[3] or "", end)):
            return False
        given = found[1]
        if _SUMMED.fullmatch(given[-4:]) and len(given) > 4 and _agree(given[:-4], begin):
            return True
        # A whole stem is cut only as far as the digits need the room.
        return _agree(given, begin) and (not complete or len(given) >= min(len(begin), 7 - len(found[2])))

    return matches


def _shortened(text: str) -> str:
    return _REPLACED.sub("_", _DROPPED.sub("", text)).upper()


def _agree(one: str, other: str) -> bool:
    """Tell whether two beginnings may be of one name."""
    return all(a == b or not b.isascii() for a, b in zip(one, other, strict=False))


def _same(given: str, wanted: str) -> bool:
    return len(given) == len(wanted) and _agree(given, wanted)
