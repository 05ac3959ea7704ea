"""An inspected patch as a few lines for a person, or as one JSON object on a line (design: patch-grammar)."""

import json

from idkmesh_rules.model.text import printable
from idkmesh_rules.pipeline.inspection import Fault, Inspection

_FIELDS = (
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


def as_json(file: str, seen: Inspection | None, fault: Fault | None) -> str:
    """One object on one line; a file that could not be read has a fault and no inspection."""
    patch = seen.patch if seen else None
    counted = patch is not None and patch.well_formed
    return json.dumps(
        {
            "file": file,
            "verdict": _verdict(seen, fault),
            "reason": fault and fault.reason,
            "message": fault and fault.message,
            "line": fault and fault.line,
            "paths": [
                {"path": path.path, "side": path.side, "authorized": told.authorized, "reason": told.reason}
                for path, told in (seen.judged if seen else ())
            ],
            "files": [{field: getattr(each, field) for field in _FIELDS} for each in (patch.files if patch else ())],
            "added_lines": patch.added_lines if patch and counted else None,
            "removed_lines": patch.removed_lines if patch and counted else None,
        }
    )


def as_text(file: str, seen: Inspection | None, fault: Fault | None) -> str:
    """The verdict with reason and remedy, then each file with what is done to it, then each path without authority."""
    name, verdict, lines = printable(file, 4096), _verdict(seen, fault), []
    patch = seen.patch if seen else None
    if fault is not None:
        where = "" if fault.line is None else f", line {fault.line}"
        lines += [f"{name}: {verdict} ({fault.reason}{where})", f"  {fault.message}", f"  Remedy: {fault.remedy}"]
    elif patch is not None:
        lines.append(f"{name}: {verdict} ({len(patch.files)} files, +{patch.added_lines} -{patch.removed_lines} lines)")
    for each in patch.files if patch else ():
        names = [printable(path, 1000) for path in dict.fromkeys((each.old_path, each.new_path)) if path is not None]
        counts = "binary" if each.binary else f"+{each.added_lines} -{each.removed_lines}"
        lines.append(f"  {each.operation:9}  {counts:>11}  {' -> '.join(names)}")
    for path, told in seen.judged if seen else ():
        if not told.authorized:
            lines.append(f"  not authorized: {printable(path.path, 1000)}: {told.reason}")
    return "\n".join(lines)


def _verdict(seen: Inspection | None, fault: Fault | None) -> str:
    if seen is None:
        return "error"
    return "accept" if fault is None else "reject"
