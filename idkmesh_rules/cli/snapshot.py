"""`idkrules snapshot`: the complete baseline of a pristine tree, ready to be put into a plan."""

from pathlib import Path
from typing import Annotated

import typer


def snapshot(
    root: Annotated[Path, typer.Option("--root", metavar="DIR", readable=False, help="The pristine tree.")],
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE", readable=False, help="The baseline to write; must not exist.")
    ],
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="GLOB", help="Paths that aren't compared, such as .git; may be repeated."),
    ] = None,
    modes: Annotated[bool, typer.Option("--modes", help="Record each file's mode, too.")] = False,
) -> int:
    """Hash every file of a tree, so that a plan can hold a changed workspace against it."""
    import sys

    from idkmesh_rules.cli.exits import CLEAN, COULD_NOT_LOOK, PROBLEM, UNREADABLE
    from idkmesh_rules.cli.output import complain, counter, emit, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.model.text import printable
    from idkmesh_rules.paths.patterns import PatternError
    from idkmesh_rules.pipeline.snapshot import snapshot as run
    from idkmesh_rules.render import text

    try:
        with counter("hashing") as progress:
            taken = run(root, output, ignore=tuple(ignore or ()), modes=modes, progress=progress)
    except PatternError as error:
        raise typer.BadParameter(str(error), param_hint="--ignore") from None
    except Refusal as refusal:
        complain(text.refusal_text(refusal, colour=wants_colour(sys.stderr)))
        return {"tree-not-plain": PROBLEM, "tree-unseen": COULD_NOT_LOOK}.get(refusal.reason, UNREADABLE)
    return emit(f"{printable(str(output), 4096)}: {taken.files:,} files, {taken.content_bytes:,} bytes", CLEAN)
