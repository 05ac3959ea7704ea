"""The owner's guide is a session that anybody can repeat: each command is run, each edit applied, each output compared."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.bundles import builder, make
from tests.support.places import ROOT

GUIDE = (ROOT / "docs" / "owners-guide.md").read_text()


def test_the_guide_can_be_followed(tmp_path: Path) -> None:
    """A line `…` stands for any lines, and … within a line for any text."""
    make(tmp_path / "past" / "1").evaluate(output_dir=tmp_path / "results" / "guide-text")
    make(tmp_path / "past" / "2", touch_lock_file).evaluate(output_dir=tmp_path / "results" / "site-lock")
    blocks = re.findall(r"^```(console|diff)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 12
    for kind, text in blocks:
        if kind == "diff":
            subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=text, text=True, check=True)
            continue
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
            shown = run(command, tmp_path)
            assert re.fullmatch("".join(map(line_pattern, expected.splitlines())), shown), f"$ {command}\n{shown}"
        if "{paht}" in text:
            path = tmp_path / "docs-rules" / "bundle.yaml"
            path.write_text(path.read_text().replace("{paht}", "{path}"))


def touch_lock_file(draft: Any) -> None:
    draft.patch += builder.OTHER_FILE.format(path="docs/site.lock")


def line_pattern(line: str) -> str:
    return "(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n"


def run(command: str, place: Path) -> str:
    script = f'idkrules() {{ {sys.executable} -m idkmesh_rules "$@"; }}\n{command}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(["bash", "-c", script], cwd=place, capture_output=True, text=True, env=environment)
    assert "Traceback" not in done.stderr
    return done.stdout
