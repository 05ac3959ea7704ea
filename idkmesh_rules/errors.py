"""What can go wrong, as data: one root error and its kinds. Nothing here prints.

Invariants: every error that a user may meet carries what is wrong, where, what was expected and what to do; anything
that isn't an `IdkrulesError` is a bug and is reported as one.
"""

from typing import NamedTuple


class IdkrulesError(Exception):
    """The root of everything that this package raises on purpose."""


class Problem(NamedTuple):
    """One thing wrong with a document: a JSON pointer, or a 1-based line and column, and a sentence for a person.

    `hint` says what to do, `source_line` is the text of the line, for a caret; both may be absent.
    """

    message: str
    document: str | None = None
    pointer: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    source_line: str | None = None

    def place(self) -> str:
        """`file:line:col`, `file#/pointer`, or whatever of it is known; empty if nothing is."""
        name = self.document or ""
        if self.line is not None:
            return f"{name}:{self.line}:{self.column if self.column is not None else 1}".lstrip(":")
        return f"{name}#{self.pointer}" if self.pointer is not None else name

    def __str__(self) -> str:
        """The problem as one line: place, message, hint."""
        place, hint = self.place(), f" ({self.hint})" if self.hint else ""
        return f"{place}: {self.message}{hint}" if place else self.message + hint


class ContractError(IdkrulesError):
    """A document breaks its contract: all violations at once."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class PolicyError(IdkrulesError):
    """A rule bundle is wrong: all mistakes at once, each with file, line and column."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Refusal(IdkrulesError):
    """The verifier refuses to decide (design: contracts, *Outcomes*): no verdict exists.

    `reason` is a registered code; `fault` is `verifier` (exit 4) or `worker` (exit 1); `digests` are those of the
    documents that were read before the refusal, by name.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        fault: str = "verifier",
        problems: tuple[Problem, ...] = (),
        digests: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.fault = fault
        self.problems = problems
        self.digests = dict(digests or {})
