"""`idkrules impact`: what other rules would have decided over recorded facts."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from idkmesh_rules.cli.options import Format, OutputFormat


class Turns(StrEnum):
    """Which changes of a decision make the exit code 1."""

    NEWLY_ACCEPTED = "newly-accepted"
    NEWLY_REJECTED = "newly-rejected"
    ANY = "any"


def impact(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Rule bundle: a directory, or a shipped id.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The rule bundle to compare it with.")],
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT_DIR...", readable=False, help="Result directories, or directories of such."),
    ],
    fail_on: Annotated[Turns | None, typer.Option("--fail-on", help="Exit with 1 if a decision changes so.")] = None,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Decide recorded facts under two rule bundles, and list what changes.

    Exit codes: 0 told, 1 a change of --fail-on, 4 a bundle or a result that can't be read.
    """
    import sys

    from idkmesh_rules.audit.impact import Turn
    from idkmesh_rules.cli.exits import CLEAN, PROBLEM, UNREADABLE
    from idkmesh_rules.cli.output import emit, refuse, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.pipeline.impact import impact as run
    from idkmesh_rules.render.impact import impact_json, impact_text

    try:
        told = run(old, new, directories)
    except Refusal as refusal:
        return refuse(refusal, as_json=output_format is Format.JSON)
    graver = {
        None: (),
        Turns.NEWLY_ACCEPTED: (Turn.NEWLY_ACCEPTED,),
        Turns.NEWLY_REJECTED: (Turn.NEWLY_REJECTED,),
        Turns.ANY: tuple(Turn),
    }
    code = PROBLEM if told.has(*graver[fail_on]) else UNREADABLE if told.unread else CLEAN
    if output_format is Format.JSON:
        return emit(impact_json(told), code)
    return emit(impact_text(told, colour=wants_colour(sys.stdout)), code)
