"""`idkrules validate`: the verifier's documents against each other, before any work is handed out."""

from idkmesh_rules.cli.options import BundleName, Format, OutputFormat, PlanFile, RequirePin, Reveal, WorkUnitFile


def validate(
    work_unit: WorkUnitFile,
    evaluator_plan: PlanFile,
    bundle: BundleName = None,
    require_pin: RequirePin = False,
    reveal: Reveal = False,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Hold WorkUnit, plan and rule bundle against each other."""
    import sys

    from idkmesh_rules.cli.exits import CLEAN, PROBLEM, UNREADABLE
    from idkmesh_rules.cli.output import complain, emit, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.pipeline.contract import validate as run
    from idkmesh_rules.render import text

    try:
        contract = run(work_unit, evaluator_plan, bundle=bundle, require_pin=require_pin, reveal_hidden=reveal)
    except Refusal as refusal:
        code = UNREADABLE if refusal.reason in ("document-unreadable", "bundle-unknown") else PROBLEM
        if output_format is Format.JSON:
            return emit(text.refusal_json(refusal), code)
        complain(text.refusal_text(refusal, colour=wants_colour(sys.stderr)))
        return code
    render = text.contract_json if output_format is Format.JSON else text.contract_text
    return emit(render(contract), CLEAN)
