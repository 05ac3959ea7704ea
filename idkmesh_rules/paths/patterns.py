"""Path patterns: gitignore's wildmatch, anchored at the root, narrow to allow and wide to forbid.

Invariants:

* A pattern with two readings that matter is refused when it is compiled, never when a path comes.
* ``compile_allow`` is anchored and case-sensitive, and no ``*``, ``?`` or ``[…]`` in it crosses a ``/``.
* ``compile_forbid`` matches whatever any usual reading of the pattern matches, also on disks that ignore case.
* pathspec is imported only for a pattern that has a wildcard other than a final ``/**``.
"""

import functools
import re
from collections.abc import Callable
from typing import Final

from idkmesh_rules.paths.disguise import fold_case, fold_disguise, may_be_disguised, show

_WILDCARD: Final = re.compile(r"[*?\[\\]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LOOSE_BACKSLASH: Final = re.compile(r"(?:[^\\]|\A)(?:\\\\)*\\(?:[A-Za-z0-9_./-]|\Z)")
_CLASS: Final = re.compile(r"\\.|(\[\^?\]?(?:\\.|[^\]\\])*\])", re.DOTALL)

# Python warns that these may become set operators inside a class.
_SET_OPERATOR: Final = re.compile(r"(?<!\\)[\[&~|]")

Matcher = Callable[[str], bool]


class PatternError(ValueError):
    """A path pattern that is refused: ``pattern`` as it was given, ``message`` with what to write instead."""

    def __init__(self, pattern: str, message: str) -> None:
        super().__init__(f"pattern {show(pattern)}: {message}")
        self.pattern = pattern
        self.message = message


class PathSet:
    """Compiled patterns, asked one path at a time; immutable once built."""

    __slots__ = ("_everything", "_exact", "_fold", "_under", "_wild", "patterns")

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

    def match(self, path: str) -> str | None:
        """Return a pattern that matches ``path``, or None."""
        found = self._everything or self._match_one(path)
        if found or not self._fold:
            return found
        folded = fold_case(path)
        if folded != path and (found := self._match_one(folded)):
            return found
        bare = fold_disguise(path) if may_be_disguised(path) else folded
        return self._match_one(bare) if bare != folded else None

    def names_exactly(self, path: str) -> bool:
        """Tell whether a pattern without wildcards is exactly ``path``."""
        return self._exact.get(path) == path

    def _match_one(self, path: str) -> str | None:
        if found := self._exact.get(path):
            return found
        if self._under:
            end = path.find("/")
            while end != -1:
                if found := self._under.get(path[:end]):
                    return found
                end = path.find("/", end + 1)
        for pattern, matches in self._wild:
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


def _wildmatch(pattern: str, written: str) -> re.Pattern[str]:
    """Let pathspec translate a gitignore pattern (``written`` by its owner); its classes never match a slash."""
    try:
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern as Translator
    except ImportError:  # pragma: no cover - the name before pathspec 1.0
        from pathspec.patterns.gitwildmatch import GitWildMatchPattern as Translator
    try:
        regex, include = Translator.pattern_to_regex(pattern)
    except ValueError as error:  # pragma: no cover - what else pathspec refuses differs between its versions
        raise PatternError(written, "is not a gitignore pattern; does it end in a backslash?") from error
    if not isinstance(regex, str) or not include:
        raise PatternError(written, "can never match; is a `[` without its `]` in it? Write `\\[` for the character")
    try:
        return re.compile(_CLASS.sub(_without_slash, regex), re.DOTALL)
    except re.error as error:
        raise PatternError(written, f"has a character class that can't be read ({error})") from error


def _without_slash(token: re.Match[str]) -> str:
    if not token[1]:
        return token[0]
    return "(?!/)[" + _SET_OPERATOR.sub(r"\\\g<0>", token[1][1:])


def _narrow_matcher(pattern: str) -> Matcher:
    """Match ``pattern`` from the root; what lies beneath a match counts only after a final ``/`` or ``/**``."""
    regex = _wildmatch("/" + pattern, pattern)
    if pattern.endswith(("/", "/**")) or "ps_d" not in regex.groupindex:
        return lambda path: regex.match(path) is not None

    def matches(path: str) -> bool:
        found = regex.match(path)
        return found is not None and found["ps_d"] is None

    return matches


def _wide_matcher(pattern: str) -> Matcher:
    """Match ``pattern`` as gitignore does, anchored, with ``*`` crossing ``/``, and whatever lies beneath a match."""
    import fnmatch

    regexes: list[re.Pattern[str]] = []
    for spelling in dict.fromkeys((pattern, fold_case(pattern))):
        bare = spelling.removesuffix("/**").removesuffix("/")
        regexes += [_wildmatch(each, pattern) for each in (bare, "/" + bare)]
        flat = [bare] if "/" in bare else [bare, "*/" + bare]
        regexes += [re.compile(fnmatch.translate(each + tail)) for each in flat for tail in ("", "/*")]
    searches = tuple(regex.match for regex in regexes)
    return lambda path: any(search(path) for search in searches)
