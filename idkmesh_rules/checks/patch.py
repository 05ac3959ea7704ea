"""What the candidate patch would do: its structure, its files, the paths that it touches and their authority.

Invariants: paths come from the patch's own bytes and authority from the WorkUnit alone; a patch that can't be read as
exactly one change set leaves its files and paths incomplete, so that no rule over them can pass.
"""

from collections.abc import Iterator
from functools import cached_property

from idkmesh_rules.checks.authority import AUTHORITY_FIELDS, AUTHORITY_LAWS, authority_row
from idkmesh_rules.checks.check import Asked, Case, Check, Emission, Unjudged, unread_reason
from idkmesh_rules.diff import DiffLimits, Patch, read_patch, second_opinion
from idkmesh_rules.model.facts import (
    Category,
    FactKind,
    Field,
    FieldType,
    FindingTemplate,
    Invariant,
    Origin,
    Row,
    Severity,
    Unknown,
)
from idkmesh_rules.paths.authority import PathAuthority

_STRUCTURE = "patch-structure"

PATCH_STRUCTURE = FactKind(
    "patch.structure",
    "Whether the patch is one closed change set that git would apply as it reads, and its totals.",
    (
        Field("well_formed", FieldType.BOOL, "read to the last byte by the strict grammar"),
        Field("reason", FieldType.STRING, "class of the first fault", optional=True),
        Field("error", FieldType.STRING, "the first fault and its remedy", optional=True),
        Field("line", FieldType.INT, "line of the first fault, from 1", optional=True),
        Field("files", FieldType.INT, "sections"),
        Field("hunks", FieldType.INT, "hunks in all sections"),
        Field("added_lines", FieldType.INT, "lines that hunks add"),
        Field("removed_lines", FieldType.INT, "lines that hunks remove"),
        Field("prose_lines", FieldType.INT, "lines outside the sections that are not blank"),
        Field("first_prose_line", FieldType.INT, "where prose begins, from 1", optional=True),
        Field(
            "second_opinion",
            FieldType.ENUM,
            "another parser's reading of the changed lines",
            values=("agrees", "disagrees", "none"),
        ),
        Field("second_opinion_reason", FieldType.STRING, "why they differ, or why none was taken", optional=True),
    ),
    FindingTemplate(
        Severity.HIGH, Category.POLICY, "the patch is not readable as one change set: {error}", line="line"
    ),
    (
        Invariant(
            "a fault is named exactly if there is one",
            ("well_formed", "reason"),
            lambda well_formed, reason: well_formed == (reason is None),
        ),
    ),
)

PATCH_FILE = FactKind(
    "patch.file",
    "One section of the patch: what it does to which file.",
    (
        Field("index", FieldType.INT, "position in the patch, from 0", key=True),
        Field(
            "operation",
            FieldType.ENUM,
            "what the section does",
            values=("add", "modify", "delete", "rename", "copy", "mode_only"),
        ),
        Field("path", FieldType.STRING, "path after, or before where nothing is after"),
        Field("old_path", FieldType.STRING, "path before", optional=True),
        Field("new_path", FieldType.STRING, "path after", optional=True),
        Field("old_mode", FieldType.STRING, "git mode before, when printed", optional=True),
        Field("new_mode", FieldType.STRING, "git mode after, when printed", optional=True),
        Field("symlink", FieldType.BOOL, "either side is a symbolic link"),
        Field("submodule", FieldType.BOOL, "either side is a submodule"),
        Field("binary", FieldType.BOOL, "carries binary content"),
        Field("mode_changed", FieldType.BOOL, "the mode after is another one"),
        Field("gains_exec", FieldType.BOOL, "becomes executable"),
        Field("added_lines", FieldType.INT, "lines added"),
        Field("removed_lines", FieldType.INT, "lines removed"),
    ),
    FindingTemplate(Severity.HIGH, Category.SECURITY, "{path}: {operation}", path="{path}"),
    (
        Invariant(
            "a path is there on some side",
            ("old_path", "new_path"),
            lambda old, new: old is not None or new is not None,
        ),
        Invariant(
            "the path is the one after, else the one before",
            ("path", "old_path", "new_path"),
            lambda path, old, new: path == (old if new is None else new),
        ),
    ),
)

PATCH_PATH = FactKind(
    "patch.path",
    "A path that the patch touches or reads, and whether the WorkUnit lets it.",
    (
        Field("path", FieldType.STRING, "repository path", key=True),
        Field("side", FieldType.ENUM, "before the change only, or after it", key=True, values=("old", "new")),
        *AUTHORITY_FIELDS,
    ),
    FindingTemplate(Severity.HIGH, Category.SCOPE, "{path} may not be changed: {reason}", path="{path}"),
    AUTHORITY_LAWS,
)


class PatchCase(Case):
    """What the checks of a unified-diff evaluation may look at besides: the candidate read as a patch."""

    @cached_property
    def patch(self) -> Patch | Unjudged:
        """The candidate's bytes read as a patch, once; or why there are no bytes to read."""
        seen = self.candidate
        if seen.data is None or seen.digest is None:
            return Unjudged(f"not parsed: {unread_reason(seen)}")
        limits = self.limits
        return read_patch(
            seen.data,
            DiffLimits(
                limits.patch_bytes,
                limits.patch_files,
                limits.patch_hunks,
                limits.patch_line_bytes,
                limits.patch_name_bytes,
            ),
        )


def _readable(case: PatchCase) -> Patch | Unjudged:
    """The patch if it was read whole, else why its files and paths can't be judged."""
    patch = case.patch
    if isinstance(patch, Unjudged) or patch.problem is None:
        return patch
    return Unjudged(f"not parsed: the patch is refused ({patch.problem.reason})")


def _structure(case: PatchCase) -> Iterator[Emission]:
    patch, locator = case.patch, case.candidate.locator
    yield Emission(PATCH_STRUCTURE, *_structure_row(patch, locator, case.limits.second_opinion_bytes))
    readable = _readable(case)
    if isinstance(readable, Patch):
        for file in readable.files:
            path = file.new_path if file.new_path is not None else file.old_path
            row: Row = (
                file.index,
                file.operation,
                path,
                file.old_path,
                file.new_path,
                file.old_mode,
                file.new_mode,
                file.symlink,
                file.submodule,
                file.binary,
                file.mode_changed,
                file.gains_exec,
                file.added_lines,
                file.removed_lines,
            )
            yield Emission(PATCH_FILE, row, Origin(_STRUCTURE, locator, line=file.line))


def _structure_row(patch: Patch | Unjudged, locator: str, opinion_bytes: int) -> tuple[Row, Origin]:
    if isinstance(patch, Unjudged):
        return (Unknown(patch.reason),) * len(PATCH_STRUCTURE.fields), Origin(_STRUCTURE, locator)
    prose = (patch.prose_lines, patch.first_prose_line)
    fault = patch.problem
    if fault is not None:
        gone = Unknown(f"not parsed: the patch is refused ({fault.reason})")
        error = f"{fault.message}; {fault.remedy}" if fault.remedy else fault.message
        row: Row = (False, fault.reason, error, fault.line, gone, gone, gone, gone, *prose, gone, gone)
        return row, Origin(_STRUCTURE, locator, line=fault.line)
    opinion = second_opinion(patch, max_bytes=opinion_bytes)
    counts = (len(patch.files), patch.hunk_count, patch.added_lines, patch.removed_lines)
    return (True, None, None, None, *counts, *prose, opinion.verdict, opinion.reason), Origin(_STRUCTURE, locator)


def _structure_asked(case: PatchCase) -> Asked:
    patch = _readable(case)
    files = patch if isinstance(patch, Unjudged) else frozenset((number,) for number in range(len(patch.files)))
    return {PATCH_STRUCTURE.name: frozenset({()}), PATCH_FILE.name: files}


def _scope(case: PatchCase) -> Iterator[Emission]:
    patch, unit = _readable(case), case.work_unit
    if isinstance(patch, Unjudged):
        return
    authority = PathAuthority(unit.allowed_paths, unit.filesystem_write, unit.forbidden_paths)
    locator = case.candidate.locator
    for path, side, line in patch.paths():
        judged = authority.judge(path)
        row = (
            path,
            side,
            *authority_row(judged),
        )
        yield Emission(PATCH_PATH, row, Origin("patch-scope", locator, line=line))


def _scope_asked(case: PatchCase) -> Asked:
    patch = _readable(case)
    if isinstance(patch, Unjudged):
        return {PATCH_PATH.name: patch}
    # A file that keeps its path has one subject, on the new side.
    sides = {(file.old_path, "old") for file in patch.files if file.old_path != file.new_path}
    sides |= {(file.new_path, "new") for file in patch.files}
    return {PATCH_PATH.name: frozenset(key for key in sides if key[0] is not None)}


STRUCTURE_CHECK = Check(
    _STRUCTURE,
    "the patch by the strict grammar, section by section, with a second parser beside it",
    "static_analysis",
    (PATCH_STRUCTURE, PATCH_FILE),
    _structure,
    _structure_asked,
)
SCOPE_CHECK = Check(
    "patch-scope",
    "each path of the patch under the WorkUnit's authority",
    "static_analysis",
    (PATCH_PATH,),
    _scope,
    _scope_asked,
)
