"""`idkrules patch`: what a patch would touch, and whether the shipped patch conditions hold; no plan is needed."""

from pathlib import Path
from typing import Annotated

import typer

from idkmesh_rules.cli.options import Format, OutputFormat


def patch(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", readable=False, help="Output of `git diff`; - is standard input."),
    ],
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="GLOB", help="Paths that may be changed.  [default: all that are not reserved]"
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option("--forbid", metavar="GLOB", help="Paths that may not be changed.")
    ] = None,
    allow_prose: Annotated[
        bool, typer.Option("--allow-prose", help="Let harmless text stand outside the sections.")
    ] = False,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Show what patches would touch, and whether the shipped conditions hold."""
    from idkmesh_rules.cli.exits import COULD_NOT_LOOK, REJECT
    from idkmesh_rules.cli.output import emit
    from idkmesh_rules.paths import PathAuthority, PatternError
    from idkmesh_rules.pipeline.inspection import Fault, inspect_patch
    from idkmesh_rules.render.patch import as_json, as_text

    allowed = tuple(allow or ("**",))
    try:
        authority = PathAuthority(allowed, allowed, tuple(forbid or ()))
    except PatternError as error:
        raise typer.BadParameter(str(error)) from error
    render = as_json if output_format is Format.JSON else as_text
    worst = undelivered = 0
    for file in files:
        try:
            seen = inspect_patch(_read(file), authority, allow_prose=allow_prose)
        except OSError as error:
            fault = Fault("unreadable", None, error.strerror or str(error), "name a file that can be read")
            undelivered |= emit(render(str(file), None, fault), 0)
            worst = worst or COULD_NOT_LOOK
            continue
        worst = REJECT if seen.fault else worst
        undelivered |= emit(render(str(file), seen, seen.fault), 0)
    return undelivered or worst


def _read(file: Path) -> bytes:
    """Read a file, or standard input, up to one byte more than a patch may have."""
    import sys

    from idkmesh_rules.diff import DiffLimits

    most = DiffLimits().max_bytes + 1
    if str(file) == "-":
        if sys.stdin is None:
            raise OSError("standard input is closed")
        return sys.stdin.buffer.read(most)
    with file.open("rb") as stream:
        return stream.read(most)
