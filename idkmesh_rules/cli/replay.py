"""`idkrules replay`: does a recorded decision follow, and would it come out again?"""

from pathlib import Path
from typing import Annotated

import typer

from idkmesh_rules.cli.options import Format, OutputFormat, ResultDirectory, Reveal


def replay(
    directory: ResultDirectory,
    candidate_root: Annotated[
        Path | None,
        typer.Option("--candidate-root", metavar="DIR", readable=False, help="Evaluate this candidate again, too."),
    ] = None,
    expect_decision: Annotated[
        str | None,
        typer.Option("--expect-decision", metavar="DIGEST", help="The decision digest that was kept elsewhere."),
    ] = None,
    reveal: Reveal = False,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Verify every digest of a result directory, and derive its decision again.

    Exit codes: 0 consistent, 1 something differs, 3 the candidate could not be looked at, 4 no result to read.
    """
    import re
    import sys

    from idkmesh_rules.cli.exits import CLEAN, COULD_NOT_LOOK, PROBLEM
    from idkmesh_rules.cli.output import emit, refuse, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.pipeline.replay import replay as run
    from idkmesh_rules.render.replay import replay_json, replay_text

    if expect_decision is not None and re.fullmatch("sha256:[0-9a-f]{64}", expect_decision) is None:
        raise typer.BadParameter(
            "a decision digest is sha256: and 64 hexadecimal digits", param_hint="--expect-decision"
        )
    try:
        seen = run(directory, candidate_root=candidate_root, expect_decision=expect_decision, reveal_hidden=reveal)
    except Refusal as refusal:
        return refuse(refusal, as_json=output_format is Format.JSON)
    code = PROBLEM if seen.differences else CLEAN if seen.consistent else COULD_NOT_LOOK
    if output_format is Format.JSON:
        return emit(replay_json(seen), code)
    return emit(replay_text(seen, colour=wants_colour(sys.stdout)), code)
