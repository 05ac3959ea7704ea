"""gitignore's wildmatch, in time that grows with the pattern's length times the path's, whatever the two are.

Invariants:

* What matches is what git's wildmatch.c matches with WM_PATHNAME: ``*``, ``?`` and ``[…]`` never match a ``/``, ``**``
  stands for whole components only where it is one. Characters are compared, not bytes.
* Nothing is tried twice: the stars of a component, and the ``**`` of a path, are each passed once, from left to right.
  What stands between two stars has a fixed length, so that its first place is as good as any later one.
* What has no reading (a ``[`` without ``]``, a range that runs backwards, an unknown class) is a ``ValueError``.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from idkmesh_rules.paths.disguise import fold_case, show

Test = Callable[[str], bool]

# git's classes are ASCII's (git-compat-util.h, wildmatch.c); the texts stand inside a regular expression's brackets.
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\ \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r"\x09-\x0d\x20",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_NAMED: Final = re.compile(r"\[:([^\]]*):\]")
_SLASH: Final = "has a character class with a `/`, which none can match; leave it away"
_NEVER: Final = "can never match; is a `[` without its `]` in it? Write `\\[` for the character"


class Class(NamedTuple):
    """A ``[…]``: how it began (an empty text, ``!`` or ``^``), and what a regular expression's brackets hold for it."""

    negation: str
    members: str


class Star(NamedTuple):
    """A run of ``*``."""

    length: int


class One(NamedTuple):
    """A ``?``."""


Token = str | Class | Star | One
_Fixed = str | Class | One


def tokens(pattern: str) -> list[Token]:
    """Cut a pattern into characters and wildcards; raises ValueError for one without a reading."""
    found: list[Token] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "[":
            read, at = _class(pattern, at)
            found.append(read)
        elif letter == "*":
            end = at
            while pattern.startswith("*", end):
                end += 1
            found.append(Star(end - at))
            at = end
        elif letter == "?":
            found.append(One())
            at += 1
        else:
            letter, at = _member(pattern, at)
            found.append(letter)
    return found


def _class(pattern: str, start: int) -> tuple[Class, int]:
    """Read the class that begins at ``start`` as wildmatch.c does; return it and the offset behind it."""
    at = start + 1
    negation = pattern[at : at + 1] if pattern[at : at + 1] in ("!", "^") else ""
    at += len(negation)
    members: list[str] = []
    before = ""  # what a `-` may begin a range at
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        letter = pattern[at : at + 1]
        if letter == "-" and before and pattern[at + 1 : at + 2] not in ("", "]"):
            last, at = _member(pattern, at + 1)
            if last == "/":
                raise ValueError(_SLASH)
            if last < before:
                raise ValueError(
                    f"has a character class that can't be read ({show(f'{before}-{last}')} runs backwards)"
                )
            members.append(f"{_escape(before)}-{_escape(last)}")
            before = ""
        elif named := _NAMED.match(pattern, at):
            if named[1] not in _POSIX:
                raise ValueError(f"has a character class that can't be read (no {show(named[0])} is known)")
            members.append(_POSIX[named[1]])
            before, at = "", named.end()
        else:
            before, at = _member(pattern, at)
            members.append(_escape(before))
            if before == "/":
                raise ValueError(_SLASH)
    return Class(negation, "".join(members)), at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    at += pattern.startswith("\\", at)
    if at >= len(pattern):
        raise ValueError(_NEVER)
    return pattern[at], at + 1


def _escape(letter: str) -> str:
    return f"\\U{ord(letter):08x}"


class Reading(NamedTuple):
    """How tokens are compared.

    ``folded``: without heed of case, with text that `fold_case` has folded. ``crossing``: as fnmatch does, where every
    wildcard may match a ``/``, and ``[^`` is whatever somebody may have meant by it.
    """

    folded: bool = False
    crossing: bool = False


class _Piece(NamedTuple):
    """What stands between two stars: a text, or a pattern without repetitions, of a fixed length."""

    text: str
    regex: re.Pattern[str] | None
    length: int

    def at(self, name: str, start: int) -> bool:
        return name.startswith(self.text, start) if self.regex is None else self.regex.match(name, start) is not None

    def find(self, name: str, start: int, end: int) -> int:
        """The offset behind the first place from ``start`` to ``end``, or -1."""
        if self.regex is None:
            place = name.find(self.text, start, end)
            return place if place == -1 else place + self.length
        found = self.regex.search(name, start, end)
        return found.end() if found else -1


def _split(parts: list[Token]) -> list[list[_Fixed]]:
    """Cut tokens at their stars; there is one piece more than there are stars."""
    pieces: list[list[_Fixed]] = [[]]
    for part in parts:
        if isinstance(part, Star):
            pieces.append([])
        else:
            pieces[-1].append(part)
    return pieces


def _pieces(parts: list[Token], reading: Reading) -> list[_Piece]:
    return [_piece(piece, reading) for piece in _split(parts)]


def _literals(parts: list[_Fixed], reading: Reading) -> Iterator[_Fixed]:
    """Join neighbouring characters, folded if the reading is."""
    run = ""
    for part in [*parts, None]:
        if isinstance(part, str):
            run += part
            continue
        if run:
            yield fold_case(run) if reading.folded else run
            run = ""
        if part is not None:
            yield part


def _piece(parts: list[_Fixed], reading: Reading) -> _Piece:
    joined = list(_literals(parts, reading))
    if all(isinstance(part, str) for part in joined):
        text = "".join(part for part in joined if isinstance(part, str))
        return _Piece(text, None, len(text))
    length = sum(len(part) if isinstance(part, str) else 1 for part in joined)
    flags = re.DOTALL | (re.IGNORECASE if reading.folded else re.NOFLAG)
    return _Piece("", re.compile("".join(_source(part, reading) for part in joined), flags), length)


def _source(part: _Fixed, reading: Reading) -> str:
    if isinstance(part, str):
        return re.escape(part)
    if isinstance(part, One):
        return "." if reading.crossing else "[^/]"
    if part.negation:
        if reading.crossing:
            return "." if part.negation == "^" else f"[^{part.members}]"
        return f"[^/{part.members}]"
    return f"[{part.members}]" if reading.crossing else f"(?!/)[{part.members}]"


def whole(parts: list[Token], reading: Reading) -> Test:
    """Make a test whether a text is what the tokens say, from its start to its end; stars match anything."""
    head, *middle = _pieces(parts, reading)
    if not middle:
        return lambda name: len(name) == head.length and head.at(name, 0)
    tail = middle.pop()
    # Two stars side by side leave nothing to find between them.
    inner = tuple(piece for piece in middle if piece.length)
    least = head.length + tail.length
    if not inner and head.regex is None and tail.regex is None:
        begins, ends = head.text, tail.text
        if not begins:
            return lambda name: name.endswith(ends)
        if not ends:
            return lambda name: name.startswith(begins)
        return lambda name: len(name) >= least and name.startswith(begins) and name.endswith(ends)

    def matches(name: str) -> bool:
        end = len(name) - tail.length
        if len(name) < least or not head.at(name, 0) or not tail.at(name, end):
            return False
        at = head.length
        for piece in inner:
            at = piece.find(name, at, end)
            if at == -1:
                return False
        return True

    return matches


def components(parts: list[Token]) -> list[list[Token]]:
    """Cut tokens at their slashes."""
    cut: list[list[Token]] = [[]]
    for part in parts:
        if part == "/":
            cut.append([])
        else:
            cut[-1].append(part)
    return cut


def is_double_star(part: list[Token]) -> bool:
    """Tell whether a component is ``**``."""
    return len(part) == 1 and isinstance(part[0], Star) and part[0].length > 1


def path_test(parts: list[list[Token]], make: Callable[[list[Token]], Test], *, tail: int | None) -> Test:
    """Make a test of paths, their components tested by what ``make`` makes of those of the pattern.

    Behind what the pattern names lie at least ``tail`` more components, or none if it is None. A ``**`` at the end names
    what lies beneath, so it is one more.
    """
    groups: list[list[Test]] = [[]]
    for part in parts:
        if not is_double_star(part):
            groups[-1].append(make(part))
        elif groups[-1] or len(groups) == 1:
            groups.append([])
    if len(groups) > 1 and not groups[-1]:
        groups.pop()
        tail = (tail or 0) + 1
    first, *others = groups
    last = others.pop() if others and tail is None else []

    def matches(path: str) -> bool:
        names = path.split("/")
        end = len(names) - (tail or 0) - len(last)
        at = len(first)
        if at > end or not _all_at(first, names, 0) or not _all_at(last, names, end):
            return False
        if exact:
            return at == end
        for group in others:
            while at + len(group) <= end and not _all_at(group, names, at):
                at += 1
            at += len(group)
            if at > end:
                return False
        return True

    exact = len(groups) == 1 and tail is None
    return matches


def _all_at(group: list[Test], names: list[str], start: int) -> bool:
    return all(test(name) for test, name in zip(group, names[start : start + len(group)], strict=True))


def quick(parts: list[list[Token]], reading: Reading, *, tail: int | None) -> Test | None:
    """Make the test of `path_test` as one regular expression, or return None if that could be slow.

    With one star in a component at most, and no ``**`` but in front, a component that matches does so in one way only,
    because no wildcard passes the slash behind it: so none is tried again when a later one doesn't match.
    """
    rest = list(itertools.dropwhile(is_double_star, parts))
    stars = [sum(isinstance(token, Star) for token in part) for part in rest]
    if not rest or tail not in (None, 0, 1) or max(stars) > 1 or any(map(is_double_star, rest)):
        return None
    sources = []
    for part in rest:
        pieces = _split(part)
        sources.append("[^/]*".join("".join(_source(each, reading) for each in _literals(p, reading)) for p in pieces))
    flags = re.DOTALL | (re.IGNORECASE if reading.folded else re.NOFLAG)
    begin = "" if len(rest) == len(parts) else r"(?:\A|/)"
    regex = re.compile(begin + "/".join(sources) + {None: r"\Z", 0: r"(?=/|\Z)", 1: "/"}[tail], flags)
    find = regex.search if begin else regex.match
    return lambda path: find(path) is not None
