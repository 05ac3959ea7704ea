"""A second reading of every hunk by another parser, to guard against mistakes of our own.

Invariants:

* Only bodies of hunks are handed over: what the other parser makes of headers and paths does not matter.
* One section that disagrees decides; a section that the other parser would cut into other lines is left out.

Its blind spots: names, modes, renames and binary content (bodies are all that it sees), sections with one of the line
ends that only `str.splitlines` knows, and patches over a mebibyte. It can find that we misread a hunk, never that we
misread a path; for paths there are the grammar and the fuzzer.
"""

import re
from typing import Final, Literal, NamedTuple

from idkmesh_rules.diff.lines import texts
from idkmesh_rules.diff.values import Patch, PatchFile

Verdict = Literal["agrees", "disagrees", "none"]

# Where str.splitlines ends a line and git does not.
_OTHER_LINE_END: Final = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class SecondOpinion(NamedTuple):
    """Whether whatthepatch reads the same lines, and if not, or if it was not asked, why."""

    verdict: Verdict
    reason: str | None


def second_opinion(patch: Patch, *, max_bytes: int = 2**20) -> SecondOpinion:
    """Hold the added and removed lines against whatthepatch's reading; patches over ``max_bytes`` are not compared."""
    if patch.problem is not None:
        return SecondOpinion("none", "the patch is refused")
    if len(patch.data) > max_bytes:
        return SecondOpinion("none", f"the patch has over {max_bytes:,} bytes")
    compared = left_out = 0
    for file in patch.files:
        if not file.hunks:
            continue
        text = _hunk_text(patch, file)
        if _OTHER_LINE_END.search(text):
            left_out += 1
            continue
        compared += 1
        if (why := _difference(text, texts(patch, file, "added"), texts(patch, file, "removed"))) is not None:
            return SecondOpinion("disagrees", f"in the section at line {file.line} the other parser {why}")
    if left_out:
        return SecondOpinion(
            "none",
            f"{left_out} of {left_out + compared} sections with text have characters that the "
            "other parser takes for line ends",
        )
    if not compared:
        return SecondOpinion("none", "no section has lines to compare")
    return SecondOpinion("agrees", None)


def _hunk_text(patch: Patch, file: PatchFile) -> str:
    first, last = file.hunks[0], file.hunks[-1]
    start = patch.data.rfind(b"\n", 0, first.start - 1) + 1
    return patch.data[start : last.end].decode("utf-8", "surrogateescape")


def _difference(text: str, added: list[bytes], removed: list[bytes]) -> str | None:
    from whatthepatch.patch import parse_unified_diff

    changes = parse_unified_diff(text) or ()
    theirs_added = [change.line for change in changes if change.old is None]
    theirs_removed = [change.line for change in changes if change.new is None]
    for name, ours, theirs in (("added", added, theirs_added), ("removed", removed, theirs_removed)):
        if _lines(b"\n".join(ours).decode("utf-8", "surrogateescape")) != _lines("\n".join(theirs)):
            return f"reads {len(theirs):,} {name} lines, not these {len(ours):,}"
    return None


def _lines(text: str) -> list[str]:
    return text.splitlines()
