"""`idkrules grade`: one candidate, run in a sandbox, one decision."""

from pathlib import Path
from typing import Annotated

import typer

from idkmesh_rules.cli.options import (
    BundleName,
    CandidateDirectory,
    Format,
    ManifestFile,
    OutputDirectory,
    OutputFormat,
    PlanFile,
    Quiet,
    Reports,
    RequirePin,
    Reveal,
    WorkUnitFile,
)


def grade(
    work_unit: WorkUnitFile,
    result_manifest: ManifestFile,
    evaluator_plan: PlanFile,
    candidate_root: CandidateDirectory,
    journal: Annotated[
        Path,
        typer.Option(
            "--journal", metavar="DIR", readable=False, help="The host's private state; made if it isn't there."
        ),
    ],
    output_dir: OutputDirectory,
    runtime: Annotated[
        list[str] | None,
        typer.Option("--runtime", metavar="NAME=DIR", help="A root file system that plans may name as a runtime."),
    ] = None,
    bundle: BundleName = None,
    output_format: OutputFormat = Format.TEXT,
    quiet: Quiet = False,
    require_pin: RequirePin = False,
    reveal: Reveal = False,
    output: Reports = None,
) -> int:
    """Run a candidate in a sandbox, hold its values against protected ones, and decide by rules."""
    from importlib.util import find_spec

    from idkmesh_rules.cli.exits import UNWRITABLE
    from idkmesh_rules.cli.output import complain
    from idkmesh_rules.cli.reports import no_reports, wanted_reports
    from idkmesh_rules.cli.verdict import deliver

    runtimes = _runtimes(runtime or [])
    kept = [
        *(work_unit, result_manifest, evaluator_plan, output_dir, journal),
        *([Path(bundle) / "bundle.yaml"] if bundle else []),
    ]
    reports = wanted_reports(output, candidate_root, kept) if output else no_reports
    if find_spec("cryptography") is None:
        complain("idkrules: grading needs the package cryptography; pip install 'idkmesh-rules[grading]' brings it")
        return UNWRITABLE
    from idkmesh_rules.pipeline.grade import grade as run
    from idkmesh_rules.sandbox.local import LocalSandbox

    printed: list[Path] = []
    return deliver(
        lambda: run(
            work_unit,
            result_manifest,
            evaluator_plan,
            candidate_root,
            journal,
            sandbox=LocalSandbox(runtimes),
            output_dir=output_dir,
            bundle=bundle,
            require_pin=require_pin,
            reveal_hidden=reveal,
            printed=printed.append,
        ),
        reports,
        output_format,
        quiet=quiet,
        more=lambda: [f"  printed   {file}" for file in printed],
    )


def _runtimes(given: list[str]) -> dict[str, Path]:
    found = {}
    for text in given:
        name, equals, directory = text.partition("=")
        if not (name and equals and directory):
            raise typer.BadParameter(f"{text!r} is not NAME=DIR", param_hint="--runtime")
        found[name] = Path(directory)
    return found
