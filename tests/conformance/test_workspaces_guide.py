"""The guide to workspaces and answers is a session that anybody can repeat: each command is run, each output compared."""

import re
from pathlib import Path

from tests.conformance.test_owners_guide import line_pattern, run
from tests.support.places import ROOT

GUIDE = (ROOT / "docs" / "workspaces.md").read_text()


def test_the_guide_can_be_followed(tmp_path: Path) -> None:
    """A line `…` stands for any lines, and … within a line for any text."""
    for name in ("docs", "fixtures"):
        (tmp_path / name).symlink_to(ROOT / name)
    blocks = re.findall(r"^```console\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    commands = [each for text in blocks for each in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)]
    assert len(commands) >= 9
    for command, expected in commands:
        shown = run(command, tmp_path)
        assert re.fullmatch("".join(map(line_pattern, expected.splitlines())), shown), f"$ {command}\n{shown}"
