"""What `git format-patch` really prints stays acceptable."""

import os
import shutil
import subprocess

import pytest

from idkmesh_rules.diff import read_patch

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")

_WHO = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in
        (("NAME", "Zo\u00eb"), ("EMAIL", "zoe@example.com"))}  # fmt: skip
_ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    **_WHO,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        (["-1"], ["b"]),
        (["-1", "HEAD~1"], ["\u00e9 \u00fc.md"]),
        (["-2"], ["\u00e9 \u00fc.md", "b"]),
        (["-1", "HEAD~1", "--encoding=ISO-8859-1"], ["\u00e9 \u00fc.md"]),
        (["-2", "--no-signature", "--base=HEAD~2", "--thread", "--in-reply-to=a@b"], ["\u00e9 \u00fc.md", "b"]),
    ],
)
def test_an_honest_mail_is_accepted(tmp_path, options, paths):
    def git(*arguments: str) -> bytes:
        return subprocess.run(
            ["git", *arguments], cwd=tmp_path, env=_ENVIRONMENT, check=True, capture_output=True
        ).stdout

    git("init", "-q")
    for number, (name, message) in enumerate(
        [
            ("\u00e9 \u00fc.md", "base"),
            ("\u00e9 \u00fc.md", "\u00c4nderung\n\nDate: when it was\n\nplain"),
            ("b", "Second"),
        ]
    ):
        with (tmp_path / name).open("a") as file:
            file.write(f"{number}\n")
        git("add", "-A")
        git("commit", "-q", "-m", message)
    mail = git("format-patch", "--stdout", *options)
    assert mail.startswith(b"From ")
    patch = read_patch(mail)
    assert patch.problem is None
    assert [file.new_path for file in patch.files] == paths
