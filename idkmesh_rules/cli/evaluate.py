"""`idkrules evaluate`: one candidate, one decision."""

from pathlib import Path

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


def evaluate(
    work_unit: WorkUnitFile,
    result_manifest: ManifestFile,
    evaluator_plan: PlanFile,
    candidate_root: CandidateDirectory,
    output_dir: OutputDirectory,
    bundle: BundleName = None,
    output_format: OutputFormat = Format.TEXT,
    quiet: Quiet = False,
    require_pin: RequirePin = False,
    reveal: Reveal = False,
    output: Reports = None,
) -> int:
    """Look at a candidate's bytes, decide by rules, and write the evidence."""
    from idkmesh_rules.cli.output import counter
    from idkmesh_rules.cli.reports import no_reports, wanted_reports
    from idkmesh_rules.cli.verdict import deliver
    from idkmesh_rules.pipeline.evaluation import evaluate as run

    kept = [work_unit, result_manifest, evaluator_plan, output_dir, *([Path(bundle) / "bundle.yaml"] if bundle else [])]
    reports = wanted_reports(output, candidate_root, kept) if output else no_reports
    with counter("reading") as progress:
        return deliver(
            lambda: run(
                work_unit,
                result_manifest,
                evaluator_plan,
                candidate_root,
                output_dir=output_dir,
                bundle=bundle,
                require_pin=require_pin,
                reveal_hidden=reveal,
                progress=None if quiet else progress,
            ),
            reports,
            output_format,
            quiet=quiet,
        )
