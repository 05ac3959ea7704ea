"""`idkrules reasons`: the registry of reason codes."""

from typing import Annotated

import typer

from idkmesh_rules.cli.options import Format, OutputFormat


def reasons(
    codes: Annotated[list[str] | None, typer.Argument(metavar="[CODE]...", help="Only these codes.")] = None,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    """Explain the reason codes of refusals and of refused patches."""
    from idkmesh_rules.cli.exits import CLEAN, PROBLEM
    from idkmesh_rules.cli.output import complain, emit
    from idkmesh_rules.render import reasons as render

    unknown = render.unknown_codes(codes or ())
    for code, near in unknown:
        hint = f"did you mean {near}?" if near else "a condition's name is explained in its rule bundle"
        complain(f"idkrules reasons: there is no reason {code!r}; {hint}")
    known = [code for code in codes or () if code not in dict(unknown)]
    if unknown and not known:
        return PROBLEM
    table = render.as_json if output_format is Format.JSON else render.as_text
    return emit(table(known), PROBLEM if unknown else CLEAN)
