"""What a JSON Schema can't say of a document: entries that repeat an id, patterns and paths with more than one reading.

Invariant: every violation is a `Problem` with its pointer; nothing here raises.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from idkmesh_rules.contracts.schema import shorten
from idkmesh_rules.errors import Problem
from idkmesh_rules.paths.patterns import PatternError


def duplicates(entries: Iterable[Mapping[str, Any]], pointer: str, key: str) -> Iterator[Problem]:
    """Each entry whose `key` an earlier entry has already."""
    first: dict[str, int] = {}
    for position, entry in enumerate(entries):
        earlier = first.setdefault(entry[key], position)
        if earlier != position:
            yield Problem(
                f"the {key} {shorten(entry[key])} stands already at {pointer}/{earlier}; each may stand once",
                pointer=f"{pointer}/{position}/{key}",
            )


def bad_patterns(
    patterns: Iterable[str], pointer: str, compile_one: Callable[[tuple[str, ...]], Any]
) -> Iterator[Problem]:
    """Each path pattern that is refused."""
    for position, pattern in enumerate(patterns):
        try:
            compile_one((pattern,))
        except PatternError as error:
            yield Problem(error.message, pointer=f"{pointer}/{position}")


def bad_paths(places: Mapping[str, str]) -> Iterator[Problem]:
    """Each path (with its pointer) that isn't a plain one below a root, or that lies below another of them."""
    for path, pointer in places.items():
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..") for part in parts):
            yield Problem(
                f"{shorten(path)} is no plain path below the root; write it without `.`, `..` and empty components",
                pointer=pointer,
            )
            continue
        end = path.find("/")
        while end >= 0:
            if path[:end] in places:
                yield Problem(f"{shorten(path)} lies below {shorten(path[:end])}, which is a file", pointer=pointer)
                break
            end = path.find("/", end + 1)
