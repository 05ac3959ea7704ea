"""The programs that apply patches for real."""

import os
import subprocess

from tests.adversarial.trees import Tree

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


def run(tree: Tree, command: tuple[str, ...], patch: bytes) -> tuple[bool, set[str]]:
    """Apply a patch to a fresh tree; return whether the program was content, and which paths changed."""
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


def run_am(tree: Tree, patch: bytes) -> tuple[bool, set[str]]:
    """Apply a mail with `git am` in a fresh repository; return whether it was content, and which paths changed."""
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
    code = git("am", "--keep-cr", data=patch)
    return code == 0, {path for path in tree.changed() if not path.startswith(".git/")}
