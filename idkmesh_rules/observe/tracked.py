"""Whether an output directory would land in tracked repository state (design: contracts, *Evaluator sovereignty*, 8).

Invariants: git is never run; only .gitignore files that are regular and the repository's info/exclude can excuse an output
inside a working tree; whatever can't be read excuses nothing.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from idkmesh_rules.errors import Problem, Refusal

_MOST_BYTES = 2**20


def check_untracked(output: Path) -> None:
    """Raise Refusal `output-tracked` when `output` would lie in a git working tree that doesn't ignore it."""
    real = Path(os.path.realpath(output.parent)) / output.name
    tree = next((parent for parent in real.parents if os.path.lexists(parent / ".git")), None)
    if tree is None or _ignored(tree, real.relative_to(tree).parts):
        return
    raise Refusal(
        "output-tracked",
        "the output directory would lie in a git working tree that does not ignore it",
        problems=(
            Problem(
                f"the working tree is {tree}",
                str(output),
                hint=f"choose a directory outside it, or add /{real.relative_to(tree).parts[0]}/ to its .gitignore",
            ),
        ),
    )


def _ignored(tree: Path, parts: Sequence[str]) -> bool:
    """An ignored parent decides, as in git: what lies below it can't be taken back."""
    sources = [(0, _patterns(_git_directory(tree) / "info" / "exclude"))]
    for depth in range(len(parts)):
        sources.append((depth, _patterns(tree.joinpath(*parts[:depth]) / ".gitignore")))
        verdicts = (_verdict(patterns, "/".join(parts[base : depth + 1])) for base, patterns in reversed(sources))
        if next((verdict for verdict in verdicts if verdict is not None), False):
            return True
    return False


def _verdict(patterns: Sequence[Any], directory: str) -> bool | None:
    """What the last pattern that matches exactly this directory says of it; None if there is none."""
    for pattern in reversed(patterns):
        if pattern.include is None:
            continue
        found = pattern.regex.match(directory + "/")
        if found is None:
            continue
        # pathspec lets a pattern match what lies below a match, too, and marks the slash where the match itself ended.
        # Here each level is asked for by itself, so only a match that ends with the directory counts.
        marked = "ps_d" in found.re.groupindex
        if found.end("ps_d") == len(directory) + 1 if marked else pattern.regex.match(directory):
            return bool(pattern.include)
    return None


def _git_directory(tree: Path) -> Path:
    """The repository's common directory; in a linked working tree `.git` is a file that names it in two steps."""
    marker = tree / ".git"
    for line in _lines(marker):
        if line.startswith("gitdir:"):
            own = tree / line.removeprefix("gitdir:").strip()
            common = next(_lines(own / "commondir"), ".")
            return own / common.strip()
    return marker


def _lines(path: Path) -> Iterator[str]:
    try:
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                yield from file.read(_MOST_BYTES).decode(errors="surrogateescape").split("\n")
    except OSError:
        return


class _Everything:
    """Stands for a line that can't be read: it excuses no directory, whatever git makes of it."""

    include = False
    regex = re.compile("")


def _patterns(path: Path) -> Sequence[Any]:
    """The patterns of an ignore file; a slash at the end goes, since whatever is asked about is a directory."""
    patterns: list[Any] = []
    for line in _lines(path):
        if not line.strip() or line.startswith("#") or "//" in line:
            # To git a double slash matches nothing.
            continue
        from pathspec import GitIgnoreSpec

        try:
            patterns.extend(
                GitIgnoreSpec.from_lines([line[:-1] if line.endswith("/") and line != "/" else line]).patterns
            )
        except (ValueError, re.error):
            patterns.append(_Everything)
    return patterns
