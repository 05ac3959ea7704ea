"""What the reader hands out: values that never change.

Invariants:

* A patch with a problem has no files, and its counts of hunks and lines are 0.
* Offsets count bytes of ``Patch.data`` from 0; lines count from 1 and end at LF only.
* ``old_path`` is None exactly for an addition, ``new_path`` exactly for a deletion.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Operation = Literal["add", "modify", "delete", "rename", "copy", "mode_only"]
Side = Literal["old", "new"]


class DiffLimits(NamedTuple):
    """Bounds on what is read, each inclusive: bytes in all, files, hunks, bytes of a line, bytes of a decoded name."""

    max_bytes: int = 64 * 2**20
    max_files: int = 200_000
    max_hunks: int = 1_000_000
    max_line_bytes: int = 16 * 2**20
    max_name_bytes: int = 4096


class PatchProblem(NamedTuple):
    """Why a patch is refused.

    ``reason`` is a class of `REASONS`, ``line`` the line in the patch (None: the input as a whole), ``message`` what
    was found (bounded, printable), ``remedy`` what to do.
    """

    reason: str
    line: int | None
    message: str
    remedy: str


class Hunk(NamedTuple):
    """One hunk: the line of its ``@@`` in the patch, its four numbers, and the bytes of its body (end exclusive).

    A tuple with names, because there may be a million of them and it is made in a quarter of a dataclass's time.
    """

    line: int
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    start: int
    end: int


class PatchFile(NamedTuple):
    """One section of a patch; a tuple with names for the same reason as a hunk.

    ``index`` counts sections from 0; ``line`` and ``offset`` are where its ``diff --git`` line stands. A mode is None
    if the patch does not print it or the side does not exist; the index line's mode counts for both sides. ``symlink``
    and ``submodule`` tell of either side. ``gains_exec``: the new mode is 100755, and the old one is not or this is a
    copy.
    """

    index: int  # type: ignore[assignment] # a tuple's method of this name is of no use here
    line: int
    offset: int
    operation: Operation
    old_path: str | None
    new_path: str | None
    old_mode: str | None
    new_mode: str | None
    symlink: bool
    submodule: bool
    binary: bool
    mode_changed: bool
    gains_exec: bool
    added_lines: int
    removed_lines: int
    hunks: tuple[Hunk, ...]


class PatchPath(NamedTuple):
    """A path that a section names, the side on which it does so, and the line of its ``diff --git``."""

    path: str
    side: Side
    line: int


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch that was read, or the problem that kept it from being read.

    ``prose_lines`` counts the lines outside the sections that are not empty, ``first_prose_line`` is the first of them;
    both are known up to where a problem stopped the reading.
    """

    data: bytes = field(repr=False)
    problem: PatchProblem | None
    files: tuple[PatchFile, ...]
    hunk_count: int
    added_lines: int
    removed_lines: int
    prose_lines: int
    first_prose_line: int | None

    @property
    def well_formed(self) -> bool:
        """Whether the whole input was read as the grammar demands."""
        return self.problem is None

    def paths(self) -> Iterator[PatchPath]:
        """Yield every path, section by section; a section that keeps its path yields it once, as ``new``."""
        for file in self.files:
            if file.old_path is not None and file.old_path != file.new_path:
                yield PatchPath(file.old_path, "old", file.line)
            if file.new_path is not None:
                yield PatchPath(file.new_path, "new", file.line)
