"""`idkrules explain`: which facts made a decision, and where they were seen."""

from typing import Annotated

import typer

from idkmesh_rules.cli.options import Format, OutputFormat, ResultDirectory, Reveal


def explain(
    directory: ResultDirectory,
    validator: Annotated[
        str | None, typer.Argument(metavar="[VALIDATOR]", help="Only this validator, `floor`, or escalating condition.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only what kept it from passing.")] = False,
    reveal: Reveal = False,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Print the proof tree of a finished run: each condition, and the facts that decided it.

    Exit codes: 0 explained, 2 no such validator, 4 no result to read.
    """
    import sys

    from idkmesh_rules.audit.explain import Explanation
    from idkmesh_rules.cli.exits import CLEAN
    from idkmesh_rules.cli.output import emit, refuse, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.model.text import printable
    from idkmesh_rules.pipeline.trace import explain as run
    from idkmesh_rules.render.explain import (
        explanation_json,
        explanation_text,
        refusal_explained_json,
        refusal_explained_text,
    )

    try:
        told = run(directory, reveal_hidden=reveal)
    except Refusal as refusal:
        return refuse(refusal, as_json=output_format is Format.JSON)
    colour = wants_colour(sys.stdout)
    if not isinstance(told, Explanation):
        if output_format is Format.JSON:
            return emit(refusal_explained_json(told), CLEAN)
        return emit(refusal_explained_text(told, str(directory), colour=colour), CLEAN)
    names = [root.name for root in told.roots]
    if validator is not None and validator not in names:
        raise typer.BadParameter(
            f"there is no {printable(validator, 80)!r} in this decision; it has: {', '.join(names)}",
            param_hint="VALIDATOR",
        )
    if output_format is Format.JSON:
        return emit(explanation_json(told, only=validator, failed=failed), CLEAN)
    return emit(explanation_text(told, only=validator, failed=failed, colour=colour), CLEAN)
