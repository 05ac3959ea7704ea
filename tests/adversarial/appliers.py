"""The programs that apply patches for real."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

from tests.adversarial.trees import Changes, Tree, scratch

_QUIET = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}
GIT_APPLY = ("git", "apply", "-p1")
GNU_PATCH = ("patch", "-p1", "--batch", "--no-backup-if-mismatch", "--reject-file=-", "--silent")

_FROM_SERIES = b"""x

From: A <a@example.com>
Date: Mon, 1 Jan 2024 00:00:00 +0000

y
---
diff --git a/from-a-series b/from-a-series
new file mode 100644
--- /dev/null
+++ b/from-a-series
@@ -0,0 +1 @@
+x
"""


def run(tree: Tree, command: tuple[str, ...], patch: bytes) -> tuple[bool, Changes]:
    """Apply a patch to a fresh tree; return whether the program was content, and what changed."""
    tree.reset()
    environment = {**_QUIET, "GIT_CEILING_DIRECTORIES": str(tree.outer)}
    try:
        done = subprocess.run(
            command, input=patch, cwd=tree.root, env=environment, capture_output=True, check=False, timeout=10
        )
    except subprocess.TimeoutExpired:
        # GNU patch tries every line up to a hunk's start, however large that number is.
        return False, tree.changed()
    return done.returncode == 0, tree.changed()


def run_am(tree: Tree, patch: bytes, *, by_name: bool = False) -> tuple[bool, Changes]:
    """Apply a mail with `git am` in a fresh repository; return whether it was content, and what changed.

    By its name git guesses the format (mail, StGit, Mercurial); what it reads from a pipe is always mail. Beside the file
    lies one for each line of it that could be the name of a patch in a series; all of these create `from-a-series`.
    """
    tree.reset()
    environment = {**_QUIET, "GIT_CEILING_DIRECTORIES": str(tree.outer)}

    def git(*arguments: str, data: bytes | None = None) -> int:
        return subprocess.run(
            ("git", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", *arguments),
            input=data,
            cwd=tree.root,
            env=environment,
            capture_output=True,
            check=False,
            timeout=60,
        ).returncode

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "base")
    if by_name:
        with tempfile.TemporaryDirectory(dir=scratch()) as place:
            _lay_series(os.fsencode(place), patch)
            name = os.path.join(place, "given.patch")
            Path(name).write_bytes(patch)
            code = git("am", "--keep-cr", name)
    else:
        code = git("am", "--keep-cr", data=patch)
    return code == 0, {path: now for path, now in tree.changed().items() if not path.startswith(".git/")}


def _lay_series(place: bytes, patch: bytes) -> None:
    for line in set(patch.split(b"\n")):
        name = os.path.normpath(os.path.join(place, line))
        if line and b"\0" not in line and name.startswith(place + b"/"):
            with contextlib.suppress(OSError):  # a name too long, or one that another line made a directory
                os.makedirs(os.path.dirname(name), exist_ok=True)
                Path(os.fsdecode(name)).write_bytes(_FROM_SERIES)
