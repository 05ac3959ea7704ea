"""`idkrules facts`: the catalogue of fact kinds that rules can speak of."""

from enum import StrEnum
from typing import Annotated

import typer


class CatalogueFormat(StrEnum):
    """How the catalogue is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def facts(
    names: Annotated[list[str] | None, typer.Argument(metavar="[KIND]...", help="Only these kinds, whole.")] = None,
    catalog: Annotated[bool, typer.Option("--catalog", help="Every kind, whole: fields, checks, invariants.")] = False,
    backend: Annotated[
        str | None, typer.Option("--backend", metavar="NAME", help="Only what this backend's checks emit.")
    ] = None,
    output_format: Annotated[
        CatalogueFormat, typer.Option("--format", help="How to print the catalogue.")
    ] = CatalogueFormat.TEXT,
) -> int:
    """List the kinds of facts that rules can speak of."""
    from idkmesh_rules.checks.catalog import catalogue, catalogue_page
    from idkmesh_rules.cli.exits import CLEAN, PROBLEM
    from idkmesh_rules.cli.output import complain, emit
    from idkmesh_rules.policy.problems import suggest
    from idkmesh_rules.render import catalogue as render

    entries = catalogue()
    known = sorted({name for entry in entries for name in entry.backends})
    if backend is not None and backend not in known:
        raise typer.BadParameter(f"expected one of {', '.join(known)}, found {backend!r}", param_hint="--backend")
    chosen = [entry for entry in entries if backend is None or backend in entry.backends]
    unknown = [name for name in names or () if name not in {entry.kind.name for entry in chosen}]
    for name in unknown:
        hint = suggest(name, [entry.kind.name for entry in chosen]) or "idkrules facts lists them"
        complain(f"idkrules facts: there is no fact kind {name!r}; {hint}")
    if names:
        chosen = [entry for entry in chosen if entry.kind.name in names]
    code = PROBLEM if unknown else CLEAN
    if not chosen:
        return code
    if output_format is CatalogueFormat.JSON:
        return emit(render.catalogue_json(chosen), code)
    if output_format is CatalogueFormat.MARKDOWN:
        return emit(catalogue_page(chosen).rstrip("\n"), code)
    return emit((render.catalogue_text if catalog or names else render.names_text)(chosen), code)
