"""`idkrules patch`: what a patch would touch, and whether the shipped patch conditions hold; no plan is needed.

Invariants: the conditions are looked at in the order in which a decision reports them, and the first that fails is the
reason; a file that can't be read is an error and never a verdict; JSON is one object a line, in the order of the files.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from idkmesh_rules.cli.options import Format, OutputFormat

if TYPE_CHECKING:
    from idkmesh_rules.diff import Patch, PatchPath
    from idkmesh_rules.paths import Judgement

# What the shipped unified-diff bundle takes unless its parameter says otherwise.
_MOST_FILES = 200

_Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Output of `git diff`; - is standard input.")]
_Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="GLOB", help="Paths that may be changed.  [default: all that are not reserved]"),
]
_Forbid = Annotated[list[str] | None, typer.Option("--forbid", metavar="GLOB", help="Paths that may not be changed.")]
_AllowProse = Annotated[bool, typer.Option("--allow-prose", help="Let harmless text stand outside the sections.")]


class _Fault(NamedTuple):
    """Why a patch is not accepted: class, line in the patch, what was found, what to do."""

    reason: str
    line: int | None
    message: str
    remedy: str


def patch(
    files: _Files,
    allow: _Allow = None,
    forbid: _Forbid = None,
    allow_prose: _AllowProse = False,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Show what patches would touch, and whether the shipped conditions hold."""
    from idkmesh_rules.cli.exits import COULD_NOT_LOOK, REJECT
    from idkmesh_rules.cli.output import emit
    from idkmesh_rules.diff import read_patch
    from idkmesh_rules.paths import PathAuthority, PatternError

    allowed = tuple(allow or ("**",))
    try:
        authority = PathAuthority(allowed, allowed, tuple(forbid or ()))
    except PatternError as error:
        raise typer.BadParameter(str(error)) from error
    render = _as_json if output_format is Format.JSON else _as_text
    verdicts, undelivered = set(), 0
    for file in files:
        try:
            data = _read(file)
        except OSError as error:
            verdicts.add("error")
            fault = _Fault("unreadable", None, error.strerror or str(error), "name a file that can be read")
            undelivered |= emit(render(file, "error", None, (), fault), 0)
            continue
        read = read_patch(data)
        judged = tuple((path, authority.judge(path.path)) for path in read.paths())
        found = _first_fault(read, judged, allow_prose)
        verdicts.add("reject" if found else "accept")
        undelivered |= emit(render(file, "reject" if found else "accept", read, judged, found), 0)
    return undelivered or (REJECT if "reject" in verdicts else COULD_NOT_LOOK if "error" in verdicts else 0)


def _read(file: Path) -> bytes:
    """Read a file, or standard input, up to one byte more than a patch may have."""
    import sys

    from idkmesh_rules.diff import DiffLimits

    most = DiffLimits().max_bytes + 1
    if str(file) == "-":
        return sys.stdin.buffer.read(most)
    with file.open("rb") as stream:
        return stream.read(most)


def _first_fault(patch: "Patch", judged: "tuple[tuple[PatchPath, Judgement], ...]", allow_prose: bool) -> _Fault | None:
    """Return what keeps a patch from being accepted: of several reasons the one that is reported first."""
    from idkmesh_rules.diff import second_opinion

    problem, prose = patch.problem, None if allow_prose else patch.first_prose_line
    if problem is None and not patch.files:
        return _fault("empty", None, "the patch has no section")
    if prose is not None and (problem is None or problem.reason == "repeated" or prose < (problem.line or 0)):
        return _fault("prose", prose, "text stands outside the sections")
    if problem is not None:
        return _Fault(problem.reason, problem.line, problem.message, problem.remedy)
    for path, judgement in judged:
        if judgement.code is not None:
            return _fault(judgement.code, path.line, f"{_name(path.path)}: {judgement.reason}")
    for reason, flag, message in (
        ("symlink", "symlink", "a symbolic link"),
        ("gitlink", "submodule", "a submodule"),
        ("binary", "binary", "binary content"),
        ("exec-bit", "gains_exec", "becomes executable"),
    ):
        for file in patch.files:
            if getattr(file, flag):
                return _fault(reason, file.line, f"{_name(file.new_path or file.old_path)}: {message}")
    if len(patch.files) > _MOST_FILES:
        return _fault("too-many-files", None, f"{len(patch.files):,} files are changed; at most {_MOST_FILES} may be")
    opinion = second_opinion(patch)
    return _fault("second-opinion", None, opinion.reason or "") if opinion.verdict == "disagrees" else None


def _fault(reason: str, line: int | None, message: str) -> _Fault:
    from idkmesh_rules.diff import REASONS

    return _Fault(reason, line, message, REASONS[reason].remedy)


def _as_json(
    file: Path,
    verdict: str,
    patch: "Patch | None",
    judged: "tuple[tuple[PatchPath, Judgement], ...]",
    fault: _Fault | None,
) -> str:
    import json

    readable = patch is not None and patch.well_formed
    fields = (
        "operation",
        "old_path",
        "new_path",
        "old_mode",
        "new_mode",
        "binary",
        "symlink",
        "submodule",
        "added_lines",
        "removed_lines",
    )
    return json.dumps(
        {
            "file": str(file),
            "verdict": verdict,
            "reason": fault and fault.reason,
            "message": fault and fault.message,
            "line": fault and fault.line,
            "paths": [
                {"path": path.path, "side": path.side, "authorized": judgement.authorized, "reason": judgement.reason}
                for path, judgement in judged
            ],
            "files": [{field: getattr(each, field) for field in fields} for each in (patch.files if patch else ())],
            "added_lines": patch.added_lines if patch and readable else None,
            "removed_lines": patch.removed_lines if patch and readable else None,
        }
    )


def _as_text(
    file: Path,
    verdict: str,
    patch: "Patch | None",
    judged: "tuple[tuple[PatchPath, Judgement], ...]",
    fault: _Fault | None,
) -> str:
    lines = []
    if fault is None and patch is not None:
        lines.append(f"{file}: {verdict} ({len(patch.files)} files, +{patch.added_lines} -{patch.removed_lines} lines)")
    if fault is not None:
        where = "" if fault.line is None else f", line {fault.line}"
        lines += [f"{file}: {verdict} ({fault.reason}{where})", f"  {fault.message}", f"  Remedy: {fault.remedy}"]
    for each in patch.files if patch else ():
        names = [_name(path) for path in dict.fromkeys((each.old_path, each.new_path)) if path is not None]
        counts = "binary" if each.binary else f"+{each.added_lines} -{each.removed_lines}"
        lines.append(f"  {each.operation:9}  {counts:>11}  {' -> '.join(names)}")
    lines += [f"  not authorized: {_name(path.path)}: {told.reason}" for path, told in judged if not told.authorized]
    return "\n".join(lines)


def _name(path: str | None) -> str:
    """Return a path as it can be printed."""
    from idkmesh_rules.paths.disguise import show

    return show(path or "", 1000)[1:-1]
