"""Paths that no WorkUnit can hand out, or only by naming them exactly.

Invariants:

* A path made of plain ASCII components is decided by one compiled pattern; that pattern accepts nothing that the
  careful reading below would reserve.
* The reasons are looked at in one order: the git directory, then names that can't be trusted, then git's own files.
"""

import re
import unicodedata
from typing import Final, Literal, NamedTuple

from idkmesh_rules.paths.disguise import HFS_IGNORED, fold_disguise

ReservedReason = Literal["git-dir", "path", "git-meta"]


class Reserved(NamedTuple):
    """Why a path is reserved.

    ``reason`` is the class, ``message`` what is said of the path (it begins with "it"), and ``lifted_by_exact_pattern``
    tells whether a pattern that is exactly this path makes it available.
    """

    reason: ReservedReason
    message: str
    lifted_by_exact_pattern: bool


# Components of ASCII letters, digits and harmless signs that neither are called like git's own nor end in a dot.
_SIGNS: Final = r"A-Za-z0-9_+@=,%#&!()\[\]{}$^;'-"
# Without re.ASCII, ignoring case lets U+212A pass for a K, and that is not in normal form C.
_PLAIN: Final = re.compile(
    rf"(?:(?!\.git(?:[./]|\Z|modules|attributes))[{_SIGNS}.]*[{_SIGNS}](?:/(?!\Z)|\Z))+", re.IGNORECASE | re.ASCII
)
_GIT_DIR: Final = re.compile(r"(?:\.git|git~1)\Z")
# The short names are those that NTFS gives to the two files (git: path.c, is_ntfs_dotgitmodules).
_GIT_META: Final = re.compile(
    r"(?:\.gitmodules|gitmod~\d+|gi7eb[0-9a-f]?~\d+|\.gitattributes|gitatt~\d+|gi7d2[0-9a-f]?~\d+)\Z"
)
_EXACTLY: Final = "; only a pattern that is exactly this path allows it"
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DRIVE: Final = re.compile(r"[A-Za-z]:")


def reserved(path: str) -> Reserved | None:
    """Return why ``path`` (decoded, relative, ``/`` between components) is reserved, or None if it is not."""
    if _PLAIN.fullmatch(path):
        return None
    folded = [fold_disguise(part) for part in path.replace("\\", "/").split("/")]
    folded += [unicodedata.normalize("NFKC", part) for part in folded]
    if any(_GIT_DIR.match(part) for part in folded):
        return Reserved("git-dir", "it lies in a git directory, or looks like one to some disk", False)
    if why := _untrusted(path):
        return Reserved("path", f"it {why}", False)
    if why := _unclear(path):
        return Reserved("path", f"it {why}", True)
    if any(_GIT_META.match(part) for part in folded):
        return Reserved("git-meta", f"it steers git itself{_EXACTLY}", True)
    return None


def _untrusted(path: str) -> str | None:
    if "\\" in path:
        return "has a backslash, which separates directories on some systems"
    if _CONTROL.search(path):
        return "has a control character"
    if _BIDI.search(path):
        return "has a character that reverses the direction of the text"
    if _DRIVE.match(path):
        return "begins like a drive letter"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "has an empty, `.` or `..` component"
        if part.endswith(" "):
            return "has a component that ends in a space"
        if not part.isascii() and _hides_a_separator(part):
            return "has a component that becomes empty, `.`, `..` or two components when its characters are normalized"
    return None


def _hides_a_separator(part: str) -> bool:
    compatible = unicodedata.normalize("NFKC", part)
    visible = HFS_IGNORED.sub("", compatible)
    return compatible in ("", ".", "..") or visible in ("", ".", "..") or "/" in compatible or "\\" in compatible


def _unclear(path: str) -> str | None:
    if any(part.endswith(".") for part in path.split("/")):
        return f"has a component that ends in a dot, which some disks drop{_EXACTLY}"
    if not unicodedata.is_normalized("NFC", path):
        return f"is not in Unicode normal form C, so that another name looks the same{_EXACTLY}"
    return None
