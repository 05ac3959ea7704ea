"""Where two JSON values differ: pointers with both values, the first ones in reading order.

Invariant: types count (`1` isn't `true` and isn't `1.0`); an entry that was taken out of a long array is told as that, not as a
difference of everything behind it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from idkmesh_rules.contracts.pointer import json_pointer

ABSENT: Any = object()
"""Stands for a value that one side doesn't have."""

Path = tuple[str | int, ...]


class Difference(NamedTuple):
    """One place where a record isn't what it has to be: the file, a JSON pointer into it, what was found and what follows.

    `recorded` and `expected` are spelled for a person, masked where the plan is hidden; None where there is no such value.
    `source` says where the expected value comes from.
    """

    file: str
    message: str
    pointer: str | None = None
    recorded: str | None = None
    expected: str | None = None
    source: str = "follows"

    @property
    def place(self) -> str:
        """The file, with the pointer if there is one."""
        return self.file if self.pointer is None else f"{self.file}#{self.pointer}"


def differing(one: Any, other: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """The places at which `one` and `other` differ, with both values there; nothing for equal values."""
    if type(one) is not type(other):
        yield path, one, other
    elif isinstance(one, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _at(one.get(key, ABSENT), other.get(key, ABSENT), (*path, key))
    elif isinstance(one, list):
        yield from _arrays(one, other, path)
    elif one != other:
        yield path, one, other


def _at(one: Any, other: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    if one is ABSENT or other is ABSENT:
        yield path, one, other
    else:
        yield from differing(one, other, path)


def _arrays(one: list[Any], other: list[Any], path: Path) -> Iterator[tuple[Path, Any, Any]]:
    position = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if not _same(a, b)), None)
    if len(one) == len(other):
        if position is not None:
            for index in range(position, len(one)):
                yield from differing(one[index], other[index], (*path, index))
        return
    position = min(len(one), len(other)) if position is None else position
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    more = len(longer) - len(shorter)
    if all(_same(a, b) for a, b in zip(longer[position + more :], shorter[position:], strict=True)):
        for index in range(position, position + more):
            yield (*path, index), *((longer[index], ABSENT) if longer is one else (ABSENT, longer[index]))
    else:
        yield path, f"{len(one)} entries", f"{len(other)} entries"
        yield from _at(one[position], other[position], (*path, position))


def _same(one: Any, other: Any) -> bool:
    return next(differing(one, other), None) is None


def pointer_of(path: Path) -> str:
    """The JSON pointer of a path."""
    return json_pointer(path)
