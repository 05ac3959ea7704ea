"""Collect every mistake in one document: place, sentence, hint and the line's text, and suggest what was meant.

Invariant: nothing here raises while mistakes are still being looked for; `finish` raises once, with all of them in
order.
"""

from collections.abc import Iterable
from typing import NoReturn

from idkmesh_rules.errors import PolicyError, Problem
from idkmesh_rules.model.bundle import Mark

_MOST_LISTED = 12


class Problems:
    """The mistakes found so far in the document `name`, whose lines are `lines`; `what` is it for a person."""

    def __init__(self, name: str, lines: tuple[str, ...], what: str = "a rule bundle") -> None:
        self.name = name
        self.what = what
        self._lines = lines
        self._found: list[Problem] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Note one mistake at `mark`."""
        source = self._lines[mark.line - 1] if mark.line <= len(self._lines) else None
        self._found.append(
            Problem(message, document=self.name, line=mark.line, column=mark.column, hint=hint, source_line=source)
        )

    def in_order(self) -> tuple[Problem, ...]:
        """All mistakes by line and column."""
        return tuple(sorted(self._found, key=lambda problem: (problem.line or 0, problem.column or 0)))

    def fail(self) -> NoReturn:
        """Raise `PolicyError` with all mistakes."""
        raise PolicyError(self.in_order())

    def finish(self) -> None:
        """Raise `PolicyError` with all mistakes, if there are any."""
        if self._found:
            self.fail()


def closest(word: str, options: Iterable[str]) -> str | None:
    """The one of `options` that `word` may have been meant to be, or None."""
    from difflib import get_close_matches  # only a mistake needs it, and every start would pay for it

    known = tuple(options)
    near = get_close_matches(word[:64], known, n=1, cutoff=0.6)
    begun = [option for option in known if len(word) > 2 and option.startswith(word)]
    return near[0] if near else begun[0] if len(begun) == 1 else None


def suggest(word: str, options: Iterable[str]) -> str | None:
    """What to do about an unknown `word`: the closest of `options`, else all of them if they are few."""
    known = tuple(dict.fromkeys(options))
    meant = closest(word, known)
    if meant is not None:
        return f'did you mean "{meant}"?'
    return f"expected one of: {', '.join(known)}" if 0 < len(known) <= _MOST_LISTED else None


def shown(text: str) -> str:
    """`text` in quotes, cut to a length that a terminal line bears."""
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}…"'
