"""`idkrules new`: make what a verifier writes, so that nobody begins with an empty page."""

from pathlib import Path
from typing import Annotated

import typer

from idkmesh_rules.cli.new_plan import plan

group = typer.Typer(
    help="Make a plan bound to a WorkUnit, or a rule bundle to start from.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


group.command(
    "plan",
    epilog="Example: idkrules new plan --work-unit wu.json --baseline baseline.json --output plan.json",
)(plan)


@group.command("bundle", epilog="Example: idkrules new bundle my-rules --owner platform-team")
def bundle(
    directory: Annotated[Path, typer.Argument(metavar="DIR", readable=False, help="Where to make it; must not exist.")],
    owner: Annotated[str, typer.Option("--owner", metavar="NAME", help="Who answers for the rules.")] = "verifiers",
    bundle_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The bundle's id.  [default: the directory's name]")
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", metavar="NAME", help="The backend whose facts the rules speak of.")
    ] = "unified_diff",
) -> int:
    """Make a working, tested rule bundle of your own."""
    import sys

    from idkmesh_rules.cli.exits import CLEAN, UNWRITABLE
    from idkmesh_rules.cli.output import complain, emit, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.pipeline.backends import BACKENDS
    from idkmesh_rules.pipeline.drafting import draft_bundle
    from idkmesh_rules.render.text import refusal_text

    if backend not in BACKENDS:
        raise typer.BadParameter(f"expected one of {', '.join(BACKENDS)}, found {backend!r}", param_hint="--backend")
    if not owner.strip():
        raise typer.BadParameter("somebody has to answer for the rules", param_hint="--owner")
    try:
        rules, tests = draft_bundle(directory, bundle_id=bundle_id, owner=owner, backend=backend)
    except Refusal as refusal:
        complain(refusal_text(refusal, colour=wants_colour(sys.stderr)))
        return UNWRITABLE
    lines = [
        f"{rules}  what must hold; edit it",
        f"{tests}  what must come of which facts",
        f"next: idkrules lint {directory} && idkrules test {directory} --coverage --mutate",
    ]
    return emit("\n".join(lines), CLEAN)
