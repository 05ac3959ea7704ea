"""`idkrules lint`: every mistake in rule bundles, before anybody is judged by them."""

from typing import Annotated

import typer

from idkmesh_rules.cli.options import Format, OutputFormat


def lint(
    bundles: Annotated[
        list[str], typer.Argument(metavar="DIR|ID...", help="Rule bundles: directories, or ids of shipped ones.")
    ],
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Look for every mistake in rule bundles and their tests."""
    import sys

    from idkmesh_rules.cli.exits import CLEAN, PROBLEM, UNREADABLE
    from idkmesh_rules.cli.output import complain, emit, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.pipeline.bundles import lint as run
    from idkmesh_rules.render import bundles as render
    from idkmesh_rules.render.text import refusal_text

    code, reports = CLEAN, []
    for asked in bundles:
        try:
            report = run(asked)
        except Refusal as refusal:
            complain(refusal_text(refusal, colour=wants_colour(sys.stderr)))
            code = UNREADABLE
            continue
        reports.append(report)
        if report.problems:
            code = max(code, PROBLEM)
    if output_format is Format.JSON:
        return emit(render.as_json([render.lint_json(report) for report in reports]), code)
    colour = wants_colour(sys.stdout)
    return emit("\n".join(render.lint_text(report, colour=colour) for report in reports), code) if reports else code
