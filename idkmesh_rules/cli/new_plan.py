"""`idkrules new plan`: a plan that is bound to its WorkUnit and pinned to its rule bundle."""

from pathlib import Path
from typing import Annotated

import typer

from idkmesh_rules.cli.options import WorkUnitFile

_Texts = list[str] | None


def plan(
    work_unit: WorkUnitFile,
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE", readable=False, help="The plan to write; must not exist.")
    ],
    added_text: Annotated[
        _Texts,
        typer.Option("--require-added-text", metavar="TEXT", help="Patch: a whole line to be added."),
    ] = None,
    added_substring: Annotated[
        _Texts,
        typer.Option("--require-added-substring", metavar="TEXT", help="Patch: text inside an added line."),
    ] = None,
    removed_substring: Annotated[
        _Texts,
        typer.Option("--require-removed-substring", metavar="TEXT", help="Patch: text inside a removed line."),
    ] = None,
    log: Annotated[
        _Texts,
        typer.Option("--require-log", metavar="TYPE", help="Patch: a type of log to be declared."),
    ] = None,
    require_json: Annotated[
        Path | None,
        typer.Option(
            "--require-json",
            metavar="FILE",
            readable=False,
            help="Answer: the JSON value to be equalled.",
        ),
    ] = None,
    allowed_file: Annotated[
        _Texts,
        typer.Option(
            "--allowed-file",
            metavar="PATH",
            help="Answer: a file of it.  [default: the WorkUnit's allowed paths]",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="FILE", readable=False, help="Workspace: what `snapshot` wrote."),
    ] = None,
    check: Annotated[
        _Texts,
        typer.Option("--check", metavar="ID=BUILTIN", help="Workspace: a name for a built-in check."),
    ] = None,
    grading: Annotated[
        Path | None,
        typer.Option("--grading", metavar="DIR", readable=False, help="Graded: the verifier's files, beside the plan."),
    ] = None,
    runtime: Annotated[
        str, typer.Option("--runtime", metavar="NAME", help="Graded: what both jobs run in.")
    ] = "python3",
    ceiling: Annotated[
        _Texts,
        typer.Option("--ceiling", metavar="NAME=N", help="Graded: a job's limit, such as wall_seconds=5."),
    ] = None,
    require_control: Annotated[
        _Texts,
        typer.Option("--require-control", metavar="NAME", help="Graded: a further bound, such as memory-total."),
    ] = None,
    candidate_artifact: Annotated[
        str | None,
        typer.Option("--candidate-artifact", metavar="ID", help="The artifact to judge.  [default: the only output]"),
    ] = None,
    source_revision: Annotated[
        str | None, typer.Option("--source-revision", metavar="REV", help="[default: the WorkUnit's]")
    ] = None,
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", metavar="N", min=1, help="Size limit of the candidate and of a log.")
    ] = 2**20,
    bundle: Annotated[
        str | None, typer.Option("--bundle", metavar="DIR|ID", help="The rule bundle to pin.  [default: the backend's]")
    ] = None,
    verifier_id: Annotated[str, typer.Option("--verifier-id", metavar="ID", help="Who verifies.")] = "idkmesh-rules",
    plan_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The plan's id.  [default: the WorkUnit's and /plan]")
    ] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Keep the expectations to the verifier.")] = False,
) -> int:
    """Make a plan from required lines, from required JSON, from a baseline, or for a grading."""
    import sys

    from idkmesh_rules.cli.exits import CLEAN, PROBLEM, UNREADABLE
    from idkmesh_rules.cli.output import complain, emit, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.pipeline.graded_plan import Grading
    from idkmesh_rules.pipeline.planning import Demanded, new_plan
    from idkmesh_rules.render import text

    lines = bool(added_text or added_substring or removed_substring)
    if lines + sum(each is not None for each in (require_json, baseline, grading)) != 1:
        raise typer.BadParameter(
            "give required lines, --require-json, --baseline, or --grading, and only one of the four"
        )
    ceilings = {}
    for each in ceiling or ():
        name, _, number = each.partition("=")
        if not (name and number.isascii() and number.isdigit()) or name in ceilings:
            raise typer.BadParameter(f"expected NAME=N, each name once; found {each!r}", param_hint="--ceiling")
        ceilings[name] = int(number)
    checks = {}
    for each in check or ():
        name, equals, builtin = each.partition("=")
        if not (name and equals and builtin) or name in checks:
            raise typer.BadParameter(f"expected ID=BUILTIN, each id once; found {each!r}", param_hint="--check")
        checks[name] = builtin
    demanded = Demanded(
        tuple(added_text or ()),
        tuple(added_substring or ()),
        tuple(removed_substring or ()),
        require_json,
        baseline,
        tuple(log or ()),
        tuple(allowed_file or ()),
        checks,
        candidate_artifact,
        source_revision,
        max_bytes,
        plan_id,
        verifier_id,
        bundle,
        hidden,
        None if grading is None else Grading(grading, runtime, ceilings, tuple(require_control or ())),
    )
    try:
        contract = new_plan(work_unit, output, demanded)
    except Refusal as refusal:
        complain(text.refusal_text(refusal, colour=wants_colour(sys.stderr)))
        return (
            UNREADABLE if refusal.reason.startswith(("output-", "document-unreadable", "bundle-unknown")) else PROBLEM
        )
    return emit(text.contract_text(contract), CLEAN)
