"""The verbs of `idkrules`, in one table; a call loads and registers the one that it names.

Registering a verb makes typer build a validator for each of its options, so an app with all verbs starts slower with
every verb that is added; only help and shell completion need them all.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from idkmesh_rules._version import __version__


class Verb(NamedTuple):
    """A verb: the module below `cli` and its function, and an example for its help.

    A verb without a function is a group of verbs, the typer app `group` in its module.
    """

    module: str
    function: str | None
    example: str
    hidden: bool = False


_EVALUATE = (
    "--work-unit wu.json --result-manifest rm.json --evaluator-plan plan.json --candidate-root bundle/ "
    "--output-dir results/run-1"
)
VERBS = {
    "evaluate": Verb("evaluate", "evaluate", f"idkrules evaluate {_EVALUATE}"),
    "grade": Verb("grade", "grade", f"idkrules grade {_EVALUATE} --journal /var/lib/idkrules"),
    "verify": Verb("evaluate", "evaluate", f"idkrules verify {_EVALUATE}", hidden=True),
    "validate": Verb("validate", "validate", "idkrules validate --work-unit wu.json --evaluator-plan plan.json"),
    "explain": Verb("explain", "explain", "idkrules explain results/run-1 independent-review"),
    "why-not": Verb("why_not", "why_not", "idkrules why-not results/run-1"),
    "replay": Verb("replay", "replay", "idkrules replay results/run-1 --candidate-root bundle/"),
    "impact": Verb("impact", "impact", "idkrules impact unified-diff policies/mine results/*"),
    "new": Verb("new", None, "idkrules new bundle my-rules --owner platform-team"),
    "snapshot": Verb("snapshot", "snapshot", "idkrules snapshot --root pristine/ --output baseline.json --ignore .git"),
    "lint": Verb("lint", "lint", "idkrules lint policies/unified-diff"),
    "test": Verb("bundle_tests", "bundle_tests", "idkrules test policies/unified-diff --coverage --mutate"),
    "patch": Verb("patch", "patch", "idkrules patch changes.patch --allow 'docs/**'"),
    "facts": Verb("facts", "facts", "idkrules facts patch.path"),
    "digest": Verb("digest", "digest", "idkrules digest work-unit.json"),
    "reasons": Verb("reasons", "reasons", "idkrules reasons binding-drift"),
    "broker": Verb("broker", None, "idkrules broker init /etc/idkrules/broker --name builder-1"),
    "self-test": Verb("self_test", "self_test", "idkrules self-test"),
}


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The app with the verb that `arguments` begin with, or with all verbs if they begin with something else."""
    named = arguments[0] if arguments else ""
    completing = any(name.endswith("_COMPLETE") for name in os.environ)
    chosen = {named: VERBS[named]} if named in VERBS and not completing else VERBS
    app = typer.Typer(
        help="Verify what autonomous workers hand over: by rules over facts, never by their claims.",
        epilog="Exit codes of evaluate and grade: 0 accept, 1 reject, 2 usage, 3 undecided, 4 refused, 5 bug.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=chosen is VERBS,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )
    app.callback()(_root)
    for name, verb in chosen.items():
        module, epilog = import_module(f"idkmesh_rules.cli.{verb.module}"), f"Example: {verb.example}"
        if verb.function is None:
            app.add_typer(module.group, name=name, epilog=epilog)
        else:
            app.command(name, epilog=epilog, hidden=verb.hidden)(getattr(module, verb.function))
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"idkrules {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that stand before any verb; typer shows the app's own help instead of this."""
