"""The four truth values of a condition and the tables that combine them (design: facts-and-policy, *Truth tables*).

Invariants: `UNKNOWN` is the zero value; no combinator yields `TRUE` from an empty sequence.
"""

from collections.abc import Iterable
from enum import IntEnum


class Truth(IntEnum):
    """A condition's value: unknown (the zero value), true, false, or not applicable."""

    UNKNOWN = 0
    TRUE = 1
    FALSE = 2
    NOT_APPLICABLE = 3

    # An enum's own hash is a Python function over its name, which every set and table of truths would pay for.
    __hash__ = int.__hash__

    @property
    def letter(self) -> str:
        """The one-letter spelling used in recorded proof trees: T, F, U or N."""
        return "UTFN"[self]


def conjunction(values: Iterable[Truth]) -> Truth:
    """`all`: any F → F, else any U → U, else any T → T, else N. Empty is N, which no validator takes for a pass."""
    return _fold(values, (Truth.FALSE, Truth.UNKNOWN, Truth.TRUE))


def disjunction(values: Iterable[Truth]) -> Truth:
    """`any`: any T → T, else any U → U, else any F → F, else N."""
    return _fold(values, (Truth.TRUE, Truth.UNKNOWN, Truth.FALSE))


def _fold(values: Iterable[Truth], precedence: tuple[Truth, ...]) -> Truth:
    seen = set(values)
    for value in precedence:
        if value in seen:
            return value
    return Truth.NOT_APPLICABLE
