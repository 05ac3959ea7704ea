"""Path patterns: gitignore's wildmatch, anchored at the root, narrow to allow and wide to forbid.

Invariants:

* A pattern with two readings that matter is refused when it is compiled, never when a path comes.
* ``compile_allow`` is anchored and case-sensitive, and no ``*``, ``?`` or ``[…]`` in it crosses a ``/``.
* ``compile_forbid`` matches whatever any usual reading of the pattern matches, also on disks that ignore case or
  give names a short form.
* Time grows with the pattern times the path, never faster (wildmatch.py): a candidate chooses the paths.
"""

import functools
import re
from collections.abc import Callable
from typing import Final

from idkmesh_rules.paths.disguise import fold_case, fold_disguise, may_be_disguised, show
from idkmesh_rules.paths.shortnames import may_be_short, with_short_names
from idkmesh_rules.paths.wildmatch import (
    Class,
    One,
    Reading,
    Star,
    Token,
    components,
    is_double_star,
    path_test,
    quick,
    tokens,
    whole,
)

_WILDCARD: Final = re.compile(r"[*?\[\\]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LOOSE_BACKSLASH: Final = re.compile(r"(?:[^\\]|\A)(?:\\\\)*\\(?:[A-Za-z0-9_./-]|\Z)")

Matcher = Callable[[str], bool]


class PatternError(ValueError):
    """A path pattern that is refused: ``pattern`` as it was given, ``message`` with what to write instead."""

    def __init__(self, pattern: str, message: str) -> None:
        super().__init__(f"pattern {show(pattern)}: {message}")
        self.pattern = pattern
        self.message = message


class PathSet:
    """Compiled patterns, asked one path at a time; immutable once built."""

    __slots__ = ("_everything", "_exact", "_fold", "_longest", "_under", "_wild", "patterns")

    def __init__(self, patterns: tuple[str, ...], *, wide: bool) -> None:
        self.patterns = patterns
        self._fold = wide
        self._everything: str | None = None
        self._exact: dict[str, str] = {}
        self._under: dict[str, str] = {}
        wild: list[tuple[str, Matcher]] = []
        for pattern in patterns:
            _refuse_ambiguous(pattern)
            literal = pattern.removesuffix("/**").removesuffix("/")
            if pattern == "**":
                self._everything = self._everything or pattern
            elif _WILDCARD.search(literal):
                wild.append((pattern, _wide_matcher(pattern) if wide else _narrow_matcher(pattern)))
            else:
                for name in {literal, fold_case(literal)} if wide else (literal,):
                    self._under.setdefault(name, pattern)
                    if wide or literal == pattern:
                        self._exact.setdefault(name, pattern)
        self._wild = tuple(wild)
        self._longest = max(map(len, self._under), default=-1)

    def match(self, path: str) -> str | None:
        """Return a pattern that matches ``path``, or None."""
        found = self._everything or self._match_one(path)
        if found or not self._fold:
            return found
        folded = fold_case(path)
        if folded != path and (found := self._match_one(folded)):
            return found
        bare = fold_disguise(path) if may_be_disguised(path) else folded
        if bare != folded and (found := self._match_one(bare)):
            return found
        return self._match_short(bare) if may_be_short(bare) else None

    def names_exactly(self, path: str) -> bool:
        """Tell whether a pattern without wildcards is exactly ``path``."""
        return self._exact.get(path) == path

    def covers(self, directory: str) -> bool:
        """Tell whether a pattern without wildcards matches whatever can lie below ``directory``."""
        if self._everything or directory in self._under:
            return True
        end = directory.find("/")
        while -1 < end <= self._longest:
            if directory[:end] in self._under:
                return True
            end = directory.find("/", end + 1)
        return False

    def _match_one(self, path: str) -> str | None:
        if found := self._exact.get(path):
            return found
        if self._under:
            end = path.find("/")
            while -1 < end <= self._longest:
                if found := self._under.get(path[:end]):
                    return found
                end = path.find("/", end + 1)
        for pattern, matches in self._wild:
            if matches(path):
                return pattern
        return None

    def _match_short(self, path: str) -> str | None:
        for pattern, matches in zip(self.patterns, _short_matchers(self.patterns), strict=True):
            if matches(path):
                return pattern
        return None


@functools.lru_cache(maxsize=256)
def compile_allow(patterns: tuple[str, ...]) -> PathSet:
    """Compile an allow list (`allowed_paths`, `filesystem_write`, a glob demand); an empty one allows nothing.

    Raises `PatternError` for a pattern that is refused.
    """
    return PathSet(patterns, wide=False)


@functools.lru_cache(maxsize=256)
def compile_forbid(patterns: tuple[str, ...]) -> PathSet:
    """Compile `forbidden_paths`, each pattern under every usual reading; raises `PatternError` for a refused one."""
    return PathSet(patterns, wide=True)


def _refuse_ambiguous(pattern: str) -> None:
    """Refuse what people or tools read in more than one way."""
    if not pattern or pattern.isspace():
        raise PatternError(pattern, "is empty; write a path, or `**` for everything")
    if pattern[0] in "!#":
        raise PatternError(
            pattern,
            f"begins with `{pattern[0]}`, which negates or comments in a .gitignore; "
            f"write `\\{pattern[0]}` if the name begins so",
        )
    if _CONTROL.search(pattern):
        raise PatternError(pattern, "has a control character; paths with one are never allowed")
    if re.match(r"/|[A-Za-z]:", pattern):
        raise PatternError(pattern, "is absolute; write it relative to the repository root, without the start")
    if _LOOSE_BACKSLASH.search(pattern):
        raise PatternError(pattern, "has a backslash before an ordinary character; separate directories with `/`")
    if pattern.endswith(" "):
        raise PatternError(pattern, "ends in a space, which a .gitignore drops; leave it away")
    if any(part in (".", "..", "") for part in pattern.removesuffix("/").split("/")):
        raise PatternError(pattern, "has an empty, `.` or `..` component; write the path from the root without it")


def _tokens(pattern: str, written: str) -> list[Token]:
    try:
        return tokens(pattern)
    except ValueError as error:
        raise PatternError(written, str(error)) from error


def _narrow_matcher(pattern: str) -> Matcher:
    """Match ``pattern`` from the root; what lies beneath a match counts only after a final ``/`` or ``/**``."""
    parts = components(_tokens(pattern.removesuffix("/"), pattern))
    tail = 1 if pattern.endswith("/") else None
    return _path_test(parts, Reading(), tail)


@functools.lru_cache(maxsize=256)
def _short_matchers(patterns: tuple[str, ...]) -> tuple[Matcher, ...]:
    """Match forbid patterns against paths with short names in them; made when a path has one, which is rare."""
    made = []
    for pattern in patterns:
        parts, _ = _wide_parts(pattern)
        made.append(path_test(parts, with_short_names, tail=0))
    return tuple(made)


def _wide_parts(pattern: str) -> tuple[list[list[Token]], list[Token]]:
    """Return the components of a forbid pattern, as gitignore takes them, and its tokens without their end."""
    written = pattern.removesuffix("/**").removesuffix("/")
    bare = _tokens(written, pattern)
    parts = components(bare)
    while len(parts) > 1 and is_double_star(parts[-1]):
        parts.pop()
    anywhere = len(parts) == 1 and _WILDCARD.search(written)
    return ([[Star(2)], *parts] if anywhere else parts), bare


def _wide_matcher(pattern: str) -> Matcher:
    """Match ``pattern`` as gitignore does, anchored, with ``*`` crossing ``/``, and whatever lies beneath a match."""
    parts, bare = _wide_parts(pattern)
    flat = [bare] if "/" in bare or isinstance(bare[0], Star) else [bare, [Star(1), "/", *bare]]
    if (glued := _glued(bare)) != bare:
        flat.append(glued)
    # Every path is asked as it is and folded, so that folded text finds whatever text finds. A `[!…]` turns that round,
    # and one wildcard may stand for a letter that becomes two when it is folded.
    turned = any(isinstance(token, Class) and token.negation for token in bare)
    counted = any(isinstance(token, Class | One) for token in bare)
    both = turned or (counted and fold_case(pattern) != pattern)
    tests: list[Matcher] = []
    for folded in (False, True) if both else (True,):
        tests.append(_path_test(parts, Reading(folded), 0))
        tests += [whole(each + tail, Reading(folded, crossing=True)) for each in flat for tail in _tails(bare)]

    def matches(path: str) -> bool:
        for test in tests:  # noqa: SIM110 - a generator would take as long as the tests
            if test(path):
                return True
        return False

    return matches


def _glued(bare: list[Token]) -> list[Token]:
    """The tokens without each `/` behind a `**` that isn't a whole component.

    git takes a pattern's literal start away before it matches (dir.c, simple_length), so that a `**/` right behind it
    stands at the start of what is left, and may match nothing: `a**/b` ignores `ab`.
    """
    return [
        token
        for at, token in enumerate(bare)
        if not (
            token == "/"
            and at > 1
            and isinstance(star := bare[at - 1], Star)
            and star.length > 1
            and bare[at - 2] != "/"
        )
    ]


def _tails(bare: list[Token]) -> tuple[list[Token], ...]:
    return ([],) if isinstance(bare[-1], Star) else ([], ["/", Star(1)])


def _path_test(parts: list[list[Token]], reading: Reading, tail: int | None) -> Matcher:
    return quick(parts, reading, tail=tail) or path_test(parts, lambda part: whole(part, reading), tail=tail)
