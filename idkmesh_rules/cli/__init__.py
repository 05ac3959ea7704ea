"""The command line: parse, call the pipeline, print, and exit with a code that never lies.

Invariants: one file a verb; a verb returns its exit code; every verb imports what it needs when it runs, so that start-up
stays cheap; no traceback reaches a user unless it is a bug, and then it is called one.
"""

import sys

from idkmesh_rules.cli.exits import BUG, INTERRUPTED, USAGE


def main(arguments: list[str] | None = None) -> int:
    """Run `idkrules` with `arguments` (those of the process by default) and return the exit code."""
    import gc

    # A process this short is over before its cycles matter, and collecting while everything is being imported costs a
    # tenth of the start-up; long runs still collect, only more rarely.
    gc.set_threshold(50_000, 20, 20)
    from idkmesh_rules.cli.app import app_for

    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = app_for(arguments)(args=arguments, prog_name="idkrules", standalone_mode=False)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):
            error.show()
            return USAGE
        return _bug(error)
    return code if isinstance(code, int) else 0


def _bug(error: Exception) -> int:
    import traceback

    from idkmesh_rules._version import __version__

    print(
        f"idkrules {__version__}: internal error. This is a bug in idkrules, not a verdict on anything.\n"
        "Please report it with the lines below.",
        file=sys.stderr,
    )
    traceback.print_exception(error, file=sys.stderr)
    return BUG
