"""The lines between ``diff --git`` and the content: in git's order, each at most once, and agreeing with each other.

Invariants:

* What comes out was said once on each line that says it; nothing is overridden by a later line.
* Checks run in the order in which reasons are reported: carriage returns, order, modes, prefixes, agreement, names.
"""

import re
from typing import Final, Literal, NamedTuple

from idkmesh_rules.diff import names
from idkmesh_rules.diff.refusal import Refusal, quote
from idkmesh_rules.diff.values import Operation

DIFF_GIT: Final = b"diff --git "
MODES: Final = frozenset((b"100644", b"100755", b"120000", b"160000"))

# One letter for each header line that git knows; x and y are spellings that git reads but never prints.
_LETTER: Final = {
    b"old mode": "o",
    b"new mode": "n",
    b"new file mode": "N",
    b"deleted file mode": "D",
    b"similarity index": "s",
    b"dissimilarity index": "d",
    b"rename from": "f",
    b"rename to": "t",
    b"copy from": "F",
    b"copy to": "T",
    b"index": "i",
    b"---": "m",
    b"+++": "p",
    b"rename old": "x",
    b"rename new": "x",
    b"copy old": "x",
    b"copy new": "x",
}
_ORDER: Final = {
    letter: rank for rank, letters in enumerate(("oND", "n", "sd", "fF", "tT", "i", "m", "p")) for letter in letters
}
_LINE: Final = re.compile(
    rb"(" + b"|".join(re.escape(word) for word in sorted(_LETTER, key=len, reverse=True)) + rb") ([^\n]*+)\n"
)
_SEQUENCE: Final = re.compile(r"(?:(?:on)?(?:s?(?:ft|FT)|d)?|[ND]d?)i?(?:mp)?\Z")
_PERCENT: Final = re.compile(rb"(?:100|[1-9]?[0-9])%\Z")
_INDEX: Final = re.compile(rb"([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: (.*))?\Z", re.DOTALL)
_EMPTY_BLOBS: Final = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)

Content = Literal["hunks", "binary", "none"]


class Header(NamedTuple):
    """What a section's header says: where its content begins (``end``), and of which kind it is."""

    end: int
    content: Content
    operation: Operation
    pair: tuple[bytes, bytes]
    old_path: str | None
    new_path: str | None
    old_mode: str | None
    new_mode: str | None


def read_header(data: bytes, start: int, patch_pair: tuple[bytes, bytes] | None, max_name_bytes: int) -> Header:
    """Read the header of the section whose ``diff --git`` line is at ``start``; raises `Refusal`."""
    end = data.find(b"\n", start) + 1
    lines: dict[str, tuple[bytes, int]] = {}
    letters, found = "", _LINE.match(data, end)
    while found:
        letter = _LETTER[found[1]]
        letters += letter
        lines.setdefault(letter, (found[2], found.start()))
        # A section has at most one of each, so a longer run is refused below whatever follows.
        if len(letters) > 2 * len(_ORDER):
            break
        end = found.end()
        found = _LINE.match(data, end)
    if (cr := data.find(b"\r", start, end)) != -1:
        raise Refusal("cr-in-header", data.rfind(b"\n", 0, cr) + 1, "a header line has a carriage return")
    content = _check_order(data, start, end, letters, lines)
    modes = _modes(letters, lines)
    return _resolve(data, start, patch_pair, max_name_bytes, end, content, letters, lines, modes)


def _check_order(data: bytes, start: int, end: int, letters: str, lines: dict[str, tuple[bytes, int]]) -> Content:
    """Check the order of the header lines and what follows them; return the kind of content."""
    content = _content_kind(data, start, end, letters)
    if not letters:
        raise Refusal("malformed", start, f"no header line follows the `diff --git` line, but {quote(data, end)}")
    if not _SEQUENCE.match(letters):
        _refuse_order(data, start, letters)
    for letter in "sd":
        if letter in lines and not _PERCENT.match(lines[letter][0]):
            raise Refusal("malformed", lines[letter][1], "the similarity is not a percentage")
    index = _INDEX.match(lines["i"][0]) if "i" in lines else None
    if "i" in lines and not index:
        raise Refusal("malformed", lines["i"][1], "the index line does not name two objects")
    if index and index[3] is not None and letters[0] in "oND":
        raise Refusal("malformed", lines["i"][1], "the index line has a mode although a mode line says it")
    # GNU patch takes an object of zeros for a file that does not exist, whatever the other lines say.
    if index and (_is_zero(index[1]) != (letters[0] == "N") or _is_zero(index[2]) != (letters[0] == "D")):
        raise Refusal(
            "malformed",
            lines["i"][1],
            "an object of zeros stands on the index line, but not exactly where a file is created or deleted",
        )
    if "p" in letters:
        if content != "hunks":
            raise Refusal("malformed", end, f"after the `+++` line comes {quote(data, end)} and not a hunk")
    elif content == "hunks":
        raise Refusal("malformed", end, "a hunk stands without `---` and `+++` lines before it")
    elif content == "none":
        _check_no_content(start, letters, index)
    return content


def _is_zero(name: bytes) -> bool:
    return not name.strip(b"0")


def _content_kind(data: bytes, start: int, end: int, letters: str) -> Content:
    if data.startswith(b"@@@", end):
        raise Refusal("combined", end, "a hunk of a combined diff (`@@@`)")
    if data.startswith(b"@@", end):
        return "hunks"
    if data.startswith((b"Binary files ", b"Files "), end) and "m" not in letters:
        line_end = data.find(b"\n", end)
        if data.endswith((b" differ", b" differ\r"), end, line_end):
            raise Refusal("binary", end, f"{quote(data, end)} says that content changes, but not how")
    if data.startswith(b"GIT binary patch\n", end):
        return "binary"
    if data.startswith(b"\x1b[", end):
        raise Refusal("ansi", end, "the line begins with a colour code")
    return "none"


def _refuse_order(data: bytes, start: int, letters: str) -> None:
    """Name the first line that is out of order, else the section."""
    offset, last = data.find(b"\n", start) + 1, -1
    for letter in letters:
        rank = _ORDER.get(letter, -1)
        if rank <= last:
            raise Refusal("malformed", offset, f"{quote(data, offset)} stands twice, or not in git's order")
        last, offset = rank, data.find(b"\n", offset) + 1
    raise Refusal(
        "malformed",
        start,
        "header lines that belong together are incomplete or mixed (old and new mode, from and to, `---` and `+++`)",
    )


def _check_no_content(start: int, letters: str, index: re.Match[bytes] | None) -> None:
    if not set(letters) & set("oNDfF"):
        raise Refusal("malformed", start, "the section changes nothing: it has no hunk, no new mode and no new name")
    if index and letters[0] in "ND":
        blob = index[2] if letters[0] == "N" else index[1]
        if not any(empty.startswith(blob) for empty in _EMPTY_BLOBS):
            raise Refusal("malformed", start, "the index line names content, but the section has none")


def _modes(letters: str, lines: dict[str, tuple[bytes, int]]) -> tuple[str | None, str | None]:
    """Return the old and the new mode, None where the header says nothing."""
    said: dict[str, str] = {}
    for letter in "onNDi":
        if letter not in lines:
            continue
        text, offset = lines[letter]
        if letter == "i":
            index = _INDEX.match(text)
            if index is None or index[3] is None:
                continue
            text = index[3]
        if text not in MODES:
            raise Refusal("mode", offset, f"{quote(text)} is none of the modes 100644, 100755, 120000 and 160000")
        said[letter] = text.decode("ascii")
    if "n" in said and said["o"] == said["n"]:
        raise Refusal("malformed", lines["n"][1], "the old mode and the new mode are the same")
    return said.get("o") or said.get("D") or said.get("i"), said.get("n") or said.get("N") or said.get("i")


def _resolve(
    data: bytes,
    start: int,
    patch_pair: tuple[bytes, bytes] | None,
    max_name_bytes: int,
    end: int,
    content: Content,
    letters: str,
    lines: dict[str, tuple[bytes, int]],
    modes: tuple[str | None, str | None],
) -> Header:
    """Bring the names of the ``diff --git``, rename or copy, ``---`` and ``+++`` lines together."""
    moves = "ft" if "f" in lines else "FT" if "F" in lines else ""
    renamed = None
    if moves:
        source, target = (names.bare_name(*lines[letter]) for letter in moves)
        renamed = source, target
    text = data[start + len(DIFF_GIT) : data.find(b"\n", start)]
    first, second = names.diff_line_names(text, renamed, start)
    pair = names.pair_of(first, second, patch_pair, start)
    old, new = first[2:], second[2:]
    if (old, new) != (renamed or (old, old)):
        raise Refusal("malformed", start, "the two names differ from each other, or from the rename or copy lines")
    if moves and old == new:
        raise Refusal(
            "malformed", start, "a file is renamed or copied to its own name, which GNU patch takes for a deletion"
        )
    for letter, prefix, name, absent in (("m", pair[0], old, "N" in lines), ("p", pair[1], new, "D" in lines)):
        if letter in lines:
            value, offset = lines[letter]
            _agree(value, prefix, name, absent, offset)
    old_path = names.as_path(old, max_name_bytes, start)
    new_path = names.as_path(new, max_name_bytes, start) if moves else old_path
    operation: Operation = "modify"
    if "N" in lines or "D" in lines:
        operation = "add" if "N" in lines else "delete"
    elif moves:
        operation = "rename" if moves == "ft" else "copy"
    elif content == "none":
        operation = "mode_only"
    return Header(
        end, content, operation, pair, None if "N" in lines else old_path, None if "D" in lines else new_path, *modes
    )


def _agree(value: bytes, prefix: bytes, name: bytes, absent: bool, offset: int) -> None:
    """Check one of ``---`` and ``+++``: ``/dev/null`` exactly where the header says that there is no file."""
    said = names.side_name(value, offset)
    if absent:
        if said != names.DEV_NULL or value.startswith(b'"'):
            raise Refusal("malformed", offset, f"this side has no file, says the header, but {quote(value)} names one")
    elif said == names.DEV_NULL:
        raise Refusal(
            "malformed",
            offset,
            "`/dev/null` without a `new file mode` or `deleted file mode` line; git reads it as the file dev/null",
        )
    else:
        names.agree(said, prefix, name, offset)
