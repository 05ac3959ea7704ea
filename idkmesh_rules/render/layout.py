"""Lines of text for a terminal: wrapped to 80 columns, coloured if that is wanted, mistakes with source line and caret."""

import re
import textwrap

from idkmesh_rules.errors import Problem
from idkmesh_rules.model.text import printable

WIDTH = 80
_COMMAND = re.compile(r"^(\s*)::")
RED, GREEN, YELLOW, MAGENTA, FAINT = "31", "32", "33", "35", "2"


def wrapped(text: str, indent: int) -> list[str]:
    """`text` in lines of at most 80 columns where words allow it; further lines are indented by two more.

    No line begins with `::`, which would be a command to GitHub's runner if this is printed there.
    """
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [_COMMAND.sub(r"\1\\x3a:", line) for line in lines]


def painted(text: str, colour: str, wanted: bool) -> str:
    """`text` in a colour, if colours are wanted."""
    return f"\033[{colour}m{text}\033[0m" if wanted else text


def problem_lines(problem: Problem, indent: int) -> list[str]:
    """A mistake: its place and what is wrong, the line with a caret below the place, and what to do about it."""
    if problem.source_line is None or problem.column is None:
        return wrapped(printable(str(problem), 2000), indent)
    lines = wrapped(printable(str(problem._replace(hint=None)), 2000), indent)
    lines += _caret(problem.source_line, problem.column, " " * (indent + 2))
    return lines + (wrapped(printable(problem.hint, 2000), indent + 2) if problem.hint else [])


def _caret(source: str, column: int, margin: str) -> list[str]:
    """The part of a line around a column, cut ends marked, and the caret below it."""
    start = max(0, column - 40)
    before, after = "…" if start else "", "…" if len(source) > start + 68 else ""
    shown, ahead = printable(source[start : start + 68]), printable(source[start : column - 1])
    return [margin + before + shown + after, margin + " " * len(before + ahead) + "^"]
