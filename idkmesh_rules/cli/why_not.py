"""`idkrules why-not`: what would have had to be different for an acceptance."""

from idkmesh_rules.cli.options import Format, OutputFormat, ResultDirectory, Reveal


def why_not(directory: ResultDirectory, reveal: Reveal = False, output_format: OutputFormat = Format.TEXT) -> int:
    """Print the smallest changes of facts that would have led to an acceptance.

    Exit codes: 0 told (also that it is accepted already), 4 no decision to read.
    """
    import sys

    from idkmesh_rules.cli.exits import CLEAN
    from idkmesh_rules.cli.output import emit, refuse, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.pipeline.trace import why_not as run
    from idkmesh_rules.render.whynot import wanted_json, wanted_text

    try:
        told = run(directory, reveal_hidden=reveal)
    except Refusal as refusal:
        return refuse(refusal, as_json=output_format is Format.JSON)
    if output_format is Format.JSON:
        return emit(wanted_json(told), CLEAN)
    return emit(wanted_text(told, colour=wants_colour(sys.stdout)), CLEAN)
