"""Reads a patch from its first byte to its last: sections, and what stands between them.

Invariants:

* ``read_patch`` is total: any bytes give a `Patch`, with a problem or without.
* A common section is read by one pattern that accepts less than the careful reading does; where it does not match, the
  careful reading decides, and it alone refuses.
* Nothing of the content is decoded, and no more of it than a window is copied at a time.
"""

from typing import Final

from idkmesh_rules.diff.binary import read_binary
from idkmesh_rules.diff.common import DEFAULT_PAIR, Common, read_common
from idkmesh_rules.diff.headers import DIFF_GIT, read_header
from idkmesh_rules.diff.hunks import read_hunks
from idkmesh_rules.diff.prose import Prose, count_lines, first_loud_line
from idkmesh_rules.diff.reasons import REASONS
from idkmesh_rules.diff.refusal import Refusal, quote
from idkmesh_rules.diff.repetition import check_repetition
from idkmesh_rules.diff.screen import has_section, refuse_other_format, screen
from idkmesh_rules.diff.values import DiffLimits, Hunk, Operation, Patch, PatchFile, PatchProblem

_MESSAGE: Final = 200
_EXEC: Final = "100755"


def read_patch(data: bytes, limits: DiffLimits = DiffLimits()) -> Patch:  # noqa: B008 - a frozen value
    """Read ``data`` as a patch made by `git diff`; never raises for anything that the bytes hold."""
    return _Reader(data, limits).read()


class _Reader:
    """The state of one reading; used once."""

    def __init__(self, data: bytes, limits: DiffLimits, *, shortcut: bool = True) -> None:
        self.data = data
        self.limits = limits
        self.shortcut = shortcut
        self.files: list[PatchFile] = []
        self.pair: tuple[bytes, bytes] | None = None
        self.hunk_count = self.prose_lines = 0
        self.first_prose_line: int | None = None
        self.line = 1

    def read(self) -> Patch:
        """Return what the data say."""
        try:
            screen(self.data, self.limits)
            if has_section(self.data):
                self._read_all()
                check_repetition(self.files)
            else:
                refuse_other_format(self.data)
                self._count(count_lines(self.data, 0, len(self.data)))
        except Refusal as refusal:
            return self._refused(refusal)
        files = self.files
        return Patch(
            self.data,
            None,
            tuple(files),
            self.hunk_count,
            sum([file.added_lines for file in files]),
            sum([file.removed_lines for file in files]),
            self.prose_lines,
            self.first_prose_line,
        )

    def _refused(self, refusal: Refusal) -> Patch:
        line = None if refusal.offset is None else self.data.count(b"\n", 0, refusal.offset) + 1
        message = refusal.message if len(refusal.message) <= _MESSAGE else refusal.message[: _MESSAGE - 1] + "…"
        problem = PatchProblem(refusal.reason, line, message, REASONS[refusal.reason].remedy)
        return Patch(self.data, problem, (), 0, 0, 0, self.prose_lines, self.first_prose_line)

    def _read_all(self) -> None:
        data, size, pos = self.data, len(self.data), 0
        while pos < size:
            pos = self._section(pos) if data.startswith(DIFF_GIT, pos) else self._between(pos)

    def _section(self, start: int) -> int:
        """Read one section; return where it ends."""
        index, limits = len(self.files), self.limits
        if index >= limits.max_files:
            raise Refusal("limit", start, f"there are more than {limits.max_files:,} files")
        if self.shortcut:
            common = read_common(self.data, start, self.pair or DEFAULT_PAIR, index, self.line, limits.max_name_bytes)
            if common is not None:
                self.pair = self.pair or DEFAULT_PAIR
                if isinstance(common, Common):
                    return self._hunks(start, *common)
                if self.hunk_count < limits.max_hunks:
                    end, self.line, file = common
                    self.files.append(file)
                    self.hunk_count += 1
                    return end
        header = read_header(self.data, start, self.pair, limits.max_name_bytes)
        self.pair = header.pair
        said = header.operation, header.old_path, header.new_path, header.old_mode, header.new_mode
        if header.content == "hunks":
            return self._hunks(start, header.end, *said)
        end = header.end
        if header.content == "binary":
            end = read_binary(self.data, self.data.find(b"\n", end) + 1)
        self._add(start, *said, binary=header.content == "binary", hunks=(), added=0, removed=0)
        self.line += self.data.count(b"\n", start, end)
        return end

    def _hunks(
        self,
        start: int,
        pos: int,
        operation: Operation,
        old_path: str | None,
        new_path: str | None,
        old_mode: str | None,
        new_mode: str | None,
    ) -> int:
        line = self.line + self.data.count(b"\n", start, pos)
        end, line, hunks, added, removed = read_hunks(self.data, pos, line, self.limits.max_hunks - self.hunk_count)
        if operation == "add" or operation == "delete":
            self._check_whole_file(pos, operation, hunks)
        self._add(
            start,
            operation,
            old_path,
            new_path,
            old_mode,
            new_mode,
            binary=False,
            hunks=tuple(hunks),
            added=added,
            removed=removed,
        )
        self.hunk_count += len(hunks)
        self.line = line
        return end

    def _check_whole_file(self, pos: int, operation: Operation, hunks: list[Hunk]) -> None:
        first = hunks[0]
        created = operation == "add"
        absent, present = (first.old_count, first.new_start) if created else (first.new_count, first.old_start)
        if absent or present != 1 or len(hunks) > 1:
            raise Refusal(
                "malformed",
                pos,
                "a file that is created or deleted has exactly one hunk, `@@ -0,0 +1…` or `@@ -1… +0,0`",
            )

    def _add(
        self,
        start: int,
        operation: Operation,
        old_path: str | None,
        new_path: str | None,
        old_mode: str | None,
        new_mode: str | None,
        *,
        binary: bool,
        hunks: tuple[Hunk, ...],
        added: int,
        removed: int,
    ) -> None:
        modes = (old_mode, new_mode)
        self.files.append(
            PatchFile(
                len(self.files),
                self.line,
                start,
                operation,
                old_path,
                new_path,
                old_mode,
                new_mode,
                "120000" in modes,
                "160000" in modes,
                binary,
                old_mode is not None and new_mode is not None and old_mode != new_mode,
                new_mode == _EXEC and (old_mode != _EXEC or operation == "copy"),
                added,
                removed,
                hunks,
            )
        )

    def _between(self, start: int) -> int:
        """Read what is not a section, from ``start`` to the next one or to the end; return where it ends."""
        data = self.data
        end = data.find(b"\n" + DIFF_GIT, start) + 1 or len(data)
        loud = first_loud_line(data, start, end)
        self._count(count_lines(data, start, end if loud is None else loud))
        if loud is not None:
            refuse_other_format(data, loud)
            raise Refusal(
                "prose",
                loud,
                f"{quote(data, loud)} is outside the sections, but some programs read it as part of the patch",
            )
        self.line += data.count(b"\n", start, end)
        return end

    def _count(self, prose: Prose) -> None:
        self.prose_lines += prose.lines
        if prose.first is not None and self.first_prose_line is None:
            self.first_prose_line = self.data.count(b"\n", 0, prose.first) + 1
