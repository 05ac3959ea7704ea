"""Inspect a patch by itself: what it would touch, and whether the shipped patch conditions hold.

Invariants: the conditions are looked at in the order in which a decision reports them, and the first that fails is the
reason; a conformance test holds the verdict to what the shipped bundle decides of the same bytes.
"""

from typing import NamedTuple

from idkmesh_rules.diff import REASONS, Patch, PatchPath, read_patch, second_opinion
from idkmesh_rules.model.text import printable
from idkmesh_rules.paths import Judgement, PathAuthority
from idkmesh_rules.pipeline.rules import shipped_parameter

_FLAGS = (
    ("symlink", "symlink", "a symbolic link"),
    ("gitlink", "submodule", "a submodule"),
    ("binary", "binary", "binary content"),
    ("exec-bit", "gains_exec", "becomes executable"),
)


class Fault(NamedTuple):
    """Why a patch is not accepted: reason class, line in the patch, what was found, what to do."""

    reason: str
    line: int | None
    message: str
    remedy: str


class Inspection(NamedTuple):
    """A patch as it was read, each of its paths with its judgement, and the first fault, if there is one."""

    patch: Patch
    judged: tuple[tuple[PatchPath, Judgement], ...]
    fault: Fault | None


def inspect_patch(data: bytes, authority: PathAuthority, *, allow_prose: bool = False) -> Inspection:
    """Inspect `data` under `authority`; `allow_prose` lets inert text stand outside the sections. Raises nothing."""
    patch = read_patch(data)
    judged = tuple((path, authority.judge(path.path)) for path in patch.paths())
    return Inspection(patch, judged, _first_fault(patch, judged, allow_prose))


def _first_fault(patch: Patch, judged: tuple[tuple[PatchPath, Judgement], ...], allow_prose: bool) -> Fault | None:
    problem, prose = patch.problem, None if allow_prose else patch.first_prose_line
    if problem is None and not patch.files:
        return _fault("empty", None, "the patch has no section")
    if prose is not None and (problem is None or problem.reason == "repeated" or prose < (problem.line or 0)):
        return _fault("prose", prose, "text stands outside the sections")
    if problem is not None:
        return Fault(problem.reason, problem.line, problem.message, problem.remedy)
    for path, judgement in judged:
        if judgement.code is not None:
            return _fault(judgement.code, path.line, f"{printable(path.path, 1000)}: {judgement.reason}")
    for reason, flag, message in _FLAGS:
        for file in patch.files:
            if getattr(file, flag):
                return _fault(reason, file.line, f"{printable(file.new_path or file.old_path or '', 1000)}: {message}")
    most = shipped_parameter("unified-diff", "max_changed_files")
    if isinstance(most, int) and len(patch.files) > most:
        return _fault("too-many-files", None, f"{len(patch.files):,} files are changed; at most {most} may be")
    opinion = second_opinion(patch)
    return _fault("second-opinion", None, opinion.reason or "") if opinion.verdict == "disagrees" else None


def _fault(reason: str, line: int | None, message: str) -> Fault:
    return Fault(reason, line, message, REASONS[reason].remedy)
