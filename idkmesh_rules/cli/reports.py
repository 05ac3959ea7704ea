"""`--output KIND=PATH`: reports that are written besides what is printed.

Invariants: a report appears whole or not at all; one that can't be written makes the exit code 4, because a caller who
asked for it must not take its absence for good news.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import typer

from idkmesh_rules.cli.exits import UNWRITABLE
from idkmesh_rules.cli.output import complain


def report_paths(given: Sequence[str] | None, kinds: Sequence[str]) -> dict[str, Path]:
    """Kind → path of every report that was asked for; a kind that takes no path is left to its caller."""
    found: dict[str, Path] = {}
    for text in given or ():
        kind, _equals, path = text.partition("=")
        if kind not in kinds or not path:
            expected = ", ".join(f"{each}=PATH" for each in kinds)
            raise typer.BadParameter(f"expected {expected}, found {text!r}", param_hint="--output")
        if kind in found:
            raise typer.BadParameter(f"{kind} is asked for twice", param_hint="--output")
        found[kind] = Path(path)
    return found


def write_report(path: Path, text: str, code: int) -> int:
    """Write a report over whatever stood there and return `code`, or 4 if that failed."""
    staging = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        try:
            staging.write_text(text, encoding="utf-8", errors="backslashreplace")
            staging.replace(path)
        except BaseException:
            staging.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        complain(f"idkrules: the report {path} can't be written: {error}")
        return UNWRITABLE
    return code
