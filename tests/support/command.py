"""Run the real command line in a real process."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


def hearing_interrupts() -> None:
    """What a child does before it becomes the command: a test run in a shell's background would hand it a deaf ear."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def idkrules(*arguments: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run `idkrules` with `arguments` in a process of its own and return what it printed and its exit code."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "idkmesh_rules", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        **options,
    )


def idkrules_here(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """The same inside this process: for tables of many cases, where starting Python would take most of the time."""
    from idkmesh_rules.cli import main

    out, err = io.StringIO(), io.StringIO()
    given = [str(argument) for argument in arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(given)
    return subprocess.CompletedProcess(given, code, out.getvalue(), err.getvalue())
