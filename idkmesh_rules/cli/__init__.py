"""The command line: parse, call the pipeline, print, and exit with a code that never lies.

Invariants: one file a verb; a verb returns its exit code; every verb imports what it needs when it runs, so that start-up
stays cheap; no traceback reaches a user unless it is a bug, and then it is called one.
"""

import signal
import sys
from contextlib import suppress
from functools import partial

from idkmesh_rules.cli.exits import BUG, CLEAN, INTERRUPTED, TERMINATED, UNWRITABLE, USAGE
from idkmesh_rules.cli.output import attempt, complain, detach


def main(arguments: list[str] | None = None) -> int:
    """Run `idkrules` with `arguments` (those of the process by default) and return the exit code."""
    import gc

    # A process this short is over before its cycles matter, and collecting while everything is being imported costs a
    # tenth of the start-up; long runs still collect, only more rarely.
    gc.set_threshold(500_000, 20, 20)
    arguments = sys.argv[1:] if arguments is None else arguments
    with suppress(ValueError):  # whoever calls this from another thread handles signals itself
        signal.signal(signal.SIGTERM, _terminated)
    try:
        from idkmesh_rules.cli.app import app_for

        code = app_for(arguments)(args=arguments, prog_name="idkrules", standalone_mode=False)
    except KeyboardInterrupt:  # typer turns one into an exit while a verb runs; this is for the moments around it
        return INTERRUPTED
    except SystemExit as stop:
        if stop.code == TERMINATED:
            return TERMINATED
        # The other one is typer's, for a reader that went away. After a verb it would be a bug, and 0 would say `accept`.
        return CLEAN if _asks_for_help(arguments) else BUG
    except Exception as error:
        # The edge of the program: usage errors are told as such, anything else is reported as the bug that it is.
        if hasattr(error, "show") and hasattr(error, "exit_code"):
            return attempt(error.show, USAGE)
        if isinstance(error, OSError) and _asks_for_help(arguments):
            detach(sys.stdout)
            complain(f"idkrules: the output can't be written: {error}")
            return UNWRITABLE
        return attempt(partial(_tell_bug, error), BUG)
    # A verb that returns no code has decided nothing, and 0 would say `accept`.
    return code if isinstance(code, int) else BUG


def _asks_for_help(arguments: list[str]) -> bool:
    """Whether typer itself prints what was asked for; a verb prints through `output.emit`, which knows what to do."""
    return not arguments or not {"-h", "--help", "--version"}.isdisjoint(arguments)


def _terminated(number: int, frame: object) -> None:
    """End by unwinding, so that whoever has something half-made takes it away; more of the same doesn't disturb that."""
    with suppress(ValueError):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise SystemExit(TERMINATED)


def _tell_bug(error: Exception) -> None:
    import traceback

    from idkmesh_rules._version import __version__

    complain(
        f"idkrules {__version__}: internal error. This is a bug in idkrules, not a verdict on anything.\n"
        "Please report it with the lines below.\n" + "".join(traceback.format_exception(error)).rstrip()
    )
