"""Run the real command line in a real process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


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
