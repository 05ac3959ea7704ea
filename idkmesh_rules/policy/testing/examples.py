"""A text for a wanted row: one of which demands are true and false as the row says, `glob` and `contains` included.

Invariant: a text is tried before it is given; where none of those that come to mind fits, none is given.
"""

import re
from collections.abc import Iterator

from idkmesh_rules.model.bundle import Operator
from idkmesh_rules.model.facts import Unknown, Value
from idkmesh_rules.policy.abstract import AbstractRow, Atom
from idkmesh_rules.policy.predicate import test_of

_TEXTUAL = (Operator.GLOB, Operator.CONTAINS)
_WILDCARD = re.compile(r"\*\*|\*|\?|\[[!^]?\]?[^\]]*\]|\\.")


def fitting(row: AbstractRow, field: str) -> Value | Unknown:
    """The row's value of a field, or a text that fits where the row only says that there is one."""
    value = row.sample[field]
    told = [(atom, truth) for atom, truth in row.truths.items() if atom.field == field]
    if not isinstance(value, str) or not any(atom.operator in _TEXTUAL for atom, _truth in told):
        return value
    tests = [(test_of(atom.operator, atom.operands), truth) for atom, truth in told]
    texts = (value, "some text", *_examples([atom for atom, _truth in told]))
    return next((text for text in texts if all(test(text) is truth for test, truth in tests)), value)


def _examples(atoms: list[Atom]) -> Iterator[str]:
    """Texts that meet at least one of the atoms each, and some that meet two."""
    needles = [str(operand) for atom in atoms if atom.operator is Operator.CONTAINS for operand in atom.operands]
    globs = [str(operand) for atom in atoms if atom.operator is Operator.GLOB for operand in atom.operands]
    yield from (str(operand) for atom in atoms if atom.operator not in _TEXTUAL for operand in atom.operands)
    yield from (f"some {needle} text" for needle in needles)
    yield "some ".join(needles)
    for pattern in globs:
        for filling in ("some", *needles):
            yield _path(pattern, filling)


def _path(pattern: str, filling: str) -> str:
    """A path that a pattern of the allow dialect is likely to match."""

    def stand_in(found: re.Match[str]) -> str:
        wildcard = found[0]
        if wildcard in ("*", "**"):
            return filling
        if wildcard == "?":
            return "x"
        return wildcard[1] if wildcard[0] == "\\" else _member(wildcard[1:-1])

    path = _WILDCARD.sub(stand_in, pattern).strip("/")
    return f"{path}/{filling}" if pattern.endswith("/") else path


def _member(characters: str) -> str:
    """A character of a class, or one that is likely to be outside of a negated one."""
    if characters[:1] in ("!", "^"):
        return next(character for character in "xyz~0" if character not in characters)
    return characters[:1] or "x"
