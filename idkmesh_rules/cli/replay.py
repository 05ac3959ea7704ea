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
    expect_broker: Annotated[
        str | None,
        typer.Option("--expect-broker", metavar="KEYID", help="The key id of the broker that has to have signed."),
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

    for option, given in (("decision", expect_decision), ("broker", expect_broker)):
        if given is not None and re.fullmatch("sha256:[0-9a-f]{64}", given) is None:
            raise typer.BadParameter("it is sha256: and 64 hexadecimal digits", param_hint=f"--expect-{option}")
    try:
        seen = run(
            directory,
            candidate_root=candidate_root,
            expect_decision=expect_decision,
            expect_broker=expect_broker,
            reveal_hidden=reveal,
        )
    except Refusal as refusal:
        return refuse(refusal, as_json=output_format is Format.JSON)
    code = PROBLEM if seen.differences else CLEAN if seen.consistent else COULD_NOT_LOOK
    if output_format is Format.JSON:
        return emit(replay_json(seen), code)
    return emit(replay_text(seen, colour=wants_colour(sys.stdout)), code)
