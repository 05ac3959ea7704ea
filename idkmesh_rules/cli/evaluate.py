"""`idkrules evaluate`: one candidate, one decision."""

from pathlib import Path
from typing import Annotated

import typer

from idkmesh_rules.cli.options import BundleName, Format, OutputFormat, PlanFile, RequirePin, Reveal, WorkUnitFile


def evaluate(
    work_unit: WorkUnitFile,
    result_manifest: Annotated[
        Path, typer.Option("--result-manifest", metavar="FILE", readable=False, help="The worker's claim.")
    ],
    evaluator_plan: PlanFile,
    candidate_root: Annotated[
        Path,
        typer.Option("--candidate-root", metavar="DIR", readable=False, help="The directory that holds the candidate."),
    ],
    output_dir: Annotated[
        Path,
        typer.Option(
            "--output-dir", metavar="DIR", readable=False, help="Where to write the evidence; must not exist."
        ),
    ],
    bundle: BundleName = None,
    output_format: OutputFormat = Format.TEXT,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but refusals, on stderr.")] = False,
    require_pin: RequirePin = False,
    reveal: Reveal = False,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            metavar="junit=PATH|github",
            help="Write a JUnit report besides; or GitHub annotations on stderr, and the step summary.",
        ),
    ] = None,
) -> int:
    """Look at a candidate's bytes, decide by rules, and write the evidence."""
    import sys

    from idkmesh_rules.cli.exits import REFUSED, REJECT
    from idkmesh_rules.cli.output import complain, counter, emit, wants_colour
    from idkmesh_rules.cli.reports import no_reports, wanted_reports
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.pipeline.evaluation import evaluate as run
    from idkmesh_rules.render import text

    kept = [work_unit, result_manifest, evaluator_plan, output_dir, *([Path(bundle) / "bundle.yaml"] if bundle else [])]
    reports = wanted_reports(output, candidate_root, kept) if output else no_reports
    try:
        with counter("reading") as progress:
            evaluation = run(
                work_unit,
                result_manifest,
                evaluator_plan,
                candidate_root,
                output_dir=output_dir,
                bundle=bundle,
                require_pin=require_pin,
                reveal_hidden=reveal,
                progress=None if quiet else progress,
            )
    except Refusal as refusal:
        code = reports(refusal, REJECT if refusal.fault == "worker" else REFUSED)
        if output_format is Format.JSON and not quiet:
            return emit(text.refusal_json(refusal), code)
        complain(text.refusal_text(refusal, colour=wants_colour(sys.stderr)))
        return code
    for crash in evaluation.crashes:
        complain(text.crash_text(crash))
    code = reports(evaluation, evaluation.exit_code)
    if quiet:
        return code
    if output_format is Format.JSON:
        return emit(text.result_json(evaluation), code)
    return emit(text.evaluation_text(evaluation, colour=wants_colour(sys.stdout)), code)
