"""The guide to grading is a session that anybody can repeat: each command is run, each output compared."""

import re
import textwrap
from pathlib import Path

import pytest

from idkmesh_rules.sandbox.controls import CONTROLS
from tests.conformance.test_owners_guide import line_pattern, run
from tests.support.graded import needs
from tests.support.places import ROOT

GUIDE = (ROOT / "docs" / "grading.md").read_text()
SANDBOX = (ROOT / "docs" / "sandbox.md").read_text()


def test_the_guide_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line `…` stands for any lines, and … within a line for any text."""
    needs()
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.setenv("HOME", str(tmp_path))
    blocks = [
        textwrap.dedent(each) for each in re.findall(r"^ *```console\n(.*?)^ *```", GUIDE, re.MULTILINE | re.DOTALL)
    ]
    commands = [each for text in blocks for each in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)]
    assert len(commands) >= 9
    for command, expected in commands:
        shown = run(command, tmp_path)
        assert re.fullmatch("".join(map(line_pattern, expected.splitlines())), shown), f"$ {command}\n{shown}"


def test_the_page_of_the_sandbox_lists_every_control_with_its_meaning() -> None:
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| (.*?) \| .* \|$", SANDBOX, re.MULTILINE))
    assert {name: listed.get(name) for name in CONTROLS} == dict(CONTROLS)
