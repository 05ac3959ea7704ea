"""What a path becomes on disks that don't keep names apart as git does.

Invariants:

* Folding is idempotent, and two names that HFS+, APFS or NTFS take for one fold to one text.
* ``show`` returns text that can be printed: no control character, nothing invisible (model/text.py).
"""

import re
import unicodedata

from idkmesh_rules.model.text import escaped

# HFS+ drops these from names before it compares them (git: utf8.c, next_hfs_char).
HFS_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
# NTFS: a stream name after a colon, and dots and spaces at the end, name the same file. Each run of those is tried once.
_NTFS_TAIL = re.compile(r"(?<![. ])[. ]*+(?::[^/]*+)?(?=/|\Z)")
_MAY_BE_DISGUISED = re.compile(r"[^\x00-\x7f]|:|[. ](?:/|\Z)")


def fold_case(text: str) -> str:
    """Return ``text`` as a disk compares it that ignores case and Unicode composition."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def fold_disguise(path: str) -> str:
    """Return ``path`` folded as `fold_case` does, without what HFS+ and NTFS drop from the names in it."""
    return _NTFS_TAIL.sub("", fold_case(HFS_IGNORED.sub("", path)))


def may_be_disguised(path: str) -> bool:
    """Tell cheaply whether `fold_disguise` may differ from `fold_case`; never wrongly False."""
    return _MAY_BE_DISGUISED.search(path) is not None


def show(path: str, limit: int = 120) -> str:
    """Return ``path`` quoted for a message: unprintable characters escaped, at most about ``limit`` characters."""
    text = escaped(path)
    return f"`{text if len(text) <= limit else text[:limit] + '…'}`"
