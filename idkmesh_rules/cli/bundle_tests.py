"""`idkrules test`: the tests of rule bundles, what they show, and what they would miss."""

from pathlib import Path
from typing import Annotated

import typer

from idkmesh_rules.cli.options import Format, OutputFormat


def bundle_tests(
    bundles: Annotated[
        list[str], typer.Argument(metavar="DIR|ID...", help="Rule bundles: directories, or ids of shipped ones.")
    ],
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Demand that each leaf's value decides a case: MC/DC, and unknown.")
    ] = False,
    mutate: Annotated[bool, typer.Option("--mutate", help="Demand that a case notices each small change.")] = False,
    generate: Annotated[bool, typer.Option("--generate", help="Print the missing cases, for you to name.")] = False,
    pattern: Annotated[
        str | None, typer.Option("--filter", metavar="PATTERN", help="Run only cases whose name matches, as in a-*.")
    ] = None,
    output: Annotated[
        list[str] | None, typer.Option("--output", metavar="junit=PATH", help="Write a report for CI besides.")
    ] = None,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Run the tests of rule bundles."""
    import sys

    from idkmesh_rules.cli.exits import CLEAN, PROBLEM, UNREADABLE, USAGE
    from idkmesh_rules.cli.output import complain, emit, wants_colour
    from idkmesh_rules.cli.reports import check_apart, report_paths, write_report
    from idkmesh_rules.errors import PolicyError, Refusal
    from idkmesh_rules.pipeline.bundles import Wanted, run_tests
    from idkmesh_rules.render import bundles as render
    from idkmesh_rules.render.junit import junit_xml
    from idkmesh_rules.render.text import refusal_text

    paths = report_paths(output, ("junit",), "junit=PATH")
    for path in paths.values():
        check_apart(path, [Path(each) / name for each in bundles for name in ("bundle.yaml", "tests.yaml")])
    wanted = Wanted(coverage, mutate, generate, pattern)
    code, reports = CLEAN, []
    for asked in bundles:
        try:
            report = run_tests(asked, wanted)
        except (Refusal, PolicyError) as error:
            refusal = error if isinstance(error, Refusal) else render.unusable(asked, error)
            complain(refusal_text(refusal, colour=wants_colour(sys.stderr)))
            code = UNREADABLE
            continue
        reports.append(report)
        if not report.passed:
            code = max(code, PROBLEM)
    if reports and not any(report.results for report in reports):
        complain(f"idkrules: no case has a name that matches {pattern}; nothing was tested")
        code = max(code, USAGE)
    if "junit" in paths:
        code = write_report(paths["junit"], junit_xml([render.suite_junit(report) for report in reports]), code)
    if output_format is Format.JSON:
        return emit(render.as_json([render.suite_json(report) for report in reports]), code)
    colour = wants_colour(sys.stderr if generate else sys.stdout)
    told = "\n".join(render.suite_text(report, colour=colour) for report in reports)
    if not reports:
        return code
    if generate:
        complain(told)
        return emit("\n".join(render.proposals_yaml(report) for report in reports), code)
    return emit(told, code)
