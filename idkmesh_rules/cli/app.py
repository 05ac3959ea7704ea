"""The verbs of `idkrules`, registered."""

from typing import Annotated

import typer

from idkmesh_rules._version import __version__
from idkmesh_rules.cli.digest import digest
from idkmesh_rules.cli.evaluate import evaluate
from idkmesh_rules.cli.patch import patch
from idkmesh_rules.cli.reasons import reasons
from idkmesh_rules.cli.self_test import self_test
from idkmesh_rules.cli.validate import validate

app = typer.Typer(
    help="Verify what autonomous workers hand over: by rules over facts, never by their claims.",
    epilog="Exit codes of evaluate: 0 accept, 1 reject, 2 usage, 3 undecided, 4 refused, 5 bug.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"idkrules {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


app.command(
    epilog="Example: idkrules evaluate --work-unit wu.json --result-manifest rm.json --evaluator-plan plan.json "
    "--candidate-root bundle/ --output-dir results/run-1"
)(evaluate)
app.command("verify", hidden=True, help="The same as evaluate.")(evaluate)
app.command(epilog="Example: idkrules validate --work-unit wu.json --evaluator-plan plan.json")(validate)
app.command(epilog="Example: idkrules patch changes.patch --allow 'docs/**'")(patch)
app.command(epilog="Example: idkrules digest work-unit.json")(digest)
app.command(epilog="Example: idkrules reasons binding-drift")(reasons)
app.command("self-test", epilog="Example: idkrules self-test")(self_test)
