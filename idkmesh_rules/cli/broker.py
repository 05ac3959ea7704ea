"""`idkrules broker`: the identity of what runs jobs for protected grading."""

from pathlib import Path
from typing import Annotated

import typer

group = typer.Typer(
    help="Make the identity of a sandbox broker.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


@group.callback()
def _broker() -> None:
    """Make the identity of a sandbox broker."""


@group.command("init", epilog="Example: idkrules broker init /etc/idkrules/broker --name builder-1")
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", readable=False, help="Where key and identity lie.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the broker is called.")] = "local",
    rotate: Annotated[bool, typer.Option("--rotate", help="Give the broker in DIR a new key.")] = False,
) -> int:
    """Make a broker's signing key, or a new one; print what a host has to pin."""
    from importlib.util import find_spec

    from idkmesh_rules.cli.exits import CLEAN, UNWRITABLE
    from idkmesh_rules.cli.output import complain, emit

    if find_spec("cryptography") is None:
        complain("idkrules: grading needs the package cryptography; pip install 'idkmesh-rules[grading]' brings it")
        return UNWRITABLE
    from idkmesh_rules.grading.keys import IDENTITY_FILE, KEY_FILE, init_broker, rotate_broker
    from idkmesh_rules.grading.values import GradingError

    try:
        identity = rotate_broker(directory) if rotate else init_broker(directory, name)
    except GradingError as error:
        complain(f"idkrules broker init: {error}")
        return UNWRITABLE
    lines = [
        f"{directory / KEY_FILE}  the signing key; it stays here",
        f"{directory / IDENTITY_FILE}  what a host pins",
        f"name    {identity.name}",
        f"key id  {identity.key_id}",
    ]
    return emit("\n".join(lines), CLEAN)
