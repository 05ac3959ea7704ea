"""Added and removed lines, found when somebody asks for them.

Invariants:

* Only bytes inside a hunk's body are looked at, one line of one kind at a time; prose, headers and context never match.
* Lines end at LF only; the text of a line has neither its sign nor its LF.
* Searching is linear: `bytes.find` finds candidates, and every miss moves on at least to the next line.
"""

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Literal, NamedTuple

from idkmesh_rules.diff.values import Hunk, Patch, PatchFile

LineSide = Literal["added", "removed"]
Match = Literal["whole", "substring"]


class ChangedLine(NamedTuple):
    """One added or removed line: its file and path, its line in the patch and in the file of its side, its bytes."""

    file: PatchFile
    path: str
    patch_line: int
    file_line: int
    text: bytes


class LineHit(NamedTuple):
    """Where a line was found; ``moved`` tells that the same whole line is both added and removed in this file."""

    path: str
    patch_line: int
    file_line: int
    moved: bool


def changed_lines(patch: Patch, side: LineSide) -> Iterator[ChangedLine]:
    """Yield the added or removed lines of ``patch`` in their order."""
    sign = _sign(side)
    for file in patch.files:
        if not (file.added_lines if side == "added" else file.removed_lines):
            continue
        path = _path(file, side)
        for hunk in file.hunks:
            number = _first_line(hunk, side) - 1
            for index, line in enumerate(patch.data[hunk.start : hunk.end - 1].split(b"\n"), hunk.line + 1):
                kind = line[:1]
                if kind == sign or kind in (b" ", b""):
                    number += 1
                if kind == sign:
                    yield ChangedLine(file, path, index, number, line[1:])


def texts(patch: Patch, file: PatchFile, side: LineSide) -> list[bytes]:
    """Return only the bytes of a file's added or removed lines, which is several times quicker than `changed_lines`."""
    sign = _sign(side)[0]
    return [
        line[1:]
        for hunk in file.hunks
        for line in patch.data[hunk.start : hunk.end - 1].split(b"\n")
        if line and line[0] == sign
    ]


def find_line(patch: Patch, text: bytes, *, side: LineSide, match: Match) -> LineHit | None:
    """Return the first added or removed line that is ``text`` (``whole``), or has it in it (``substring``), or None."""
    if b"\n" in text:
        return None
    sign = _sign(side)
    data = patch.data
    needle, ahead = (b"\n" + sign + text + b"\n", 1) if match == "whole" else (text, 0)
    pos = 0
    while (found := data.find(needle, pos)) != -1:
        place = _hunk_at(patch, found + ahead)
        if isinstance(place, int):
            if place == -1:
                return None
            pos = place - ahead
            continue
        file, hunk = place
        start = data.rfind(b"\n", 0, found + ahead) + 1
        line_end = data.find(b"\n", start)
        # What was found may begin with the sign, which is no part of the line.
        if data[start : start + 1] == sign and (match == "whole" or data.find(text, start + 1, line_end) != -1):
            return _hit(patch, file, hunk, start, line_end, side)
        pos = line_end if match == "whole" else line_end + 1
    return None


def _hunk_at(patch: Patch, pos: int) -> tuple[PatchFile, Hunk] | int:
    """Return the hunk whose body holds ``pos``; else where the next body starts, or -1 if there is none."""
    files = patch.files
    index = bisect_right(files, pos, key=attrgetter("offset")) - 1
    if index >= 0:
        hunks = files[index].hunks
        number = bisect_right(hunks, pos, key=attrgetter("start"))
        if number and pos < hunks[number - 1].end:
            return files[index], hunks[number - 1]
        if number < len(hunks):
            return hunks[number].start
    for later in range(index + 1, len(files)):
        if files[later].hunks:
            return files[later].hunks[0].start
    return -1


def _hit(patch: Patch, file: PatchFile, hunk: Hunk, start: int, line_end: int, side: LineSide) -> LineHit:
    data = patch.data
    other = b"-" if side == "added" else b"+"
    before = data.count(b"\n", hunk.start, start)
    skipped = sum(data.count(b"\n" + kind, hunk.start - 1, start - 1) for kind in (other, b"\\"))
    return LineHit(
        path=_path(file, side),
        patch_line=hunk.line + 1 + before,
        file_line=_first_line(hunk, side) + before - skipped,
        moved=_stands_in(data, file, b"\n" + other + data[start + 1 : line_end] + b"\n"),
    )


def _stands_in(data: bytes, file: PatchFile, line: bytes) -> bool:
    """Tell whether a line, with its sign and both line ends, is in a hunk of the file (between them stand @ lines)."""
    return data.find(line, file.hunks[0].start - 1, file.hunks[-1].end) != -1


def _sign(side: LineSide) -> bytes:
    return b"+" if side == "added" else b"-"


def _first_line(hunk: Hunk, side: LineSide) -> int:
    return hunk.new_start if side == "added" else hunk.old_start


def _path(file: PatchFile, side: LineSide) -> str:
    path = file.new_path if side == "added" else file.old_path
    assert path is not None, "a file that is created removes no lines, and a deleted one adds none"
    return path
