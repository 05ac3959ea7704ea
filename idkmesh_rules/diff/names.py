"""File names as git prints them: quoted, prefixed, and the same wherever a section repeats them.

Invariants:

* A quoted name is decoded once, on bytes; its closing quote ends it.
* A ``diff --git`` line is split in one way or refused; no way is guessed.
* The name that is returned has lost its prefix, and nothing else.
"""

import re
from typing import Final

from idkmesh_rules.diff.refusal import Refusal, quote

# What git prints: the default, mnemonic pairs (git-config, diff.mnemonicPrefix), and all of them with -R.
_ONE_WAY: Final = ((b"a/", b"b/"), (b"i/", b"w/"), (b"c/", b"i/"), (b"c/", b"w/"), (b"o/", b"w/"), (b"1/", b"2/"))
PAIRS: Final = frozenset(_ONE_WAY) | frozenset((new, old) for old, new in _ONE_WAY)
_PREFIXES: Final = frozenset(prefix for pair in PAIRS for prefix in pair)

_QUOTED: Final = re.compile(rb'"((?:[^"\\]++|\\(?:[abtnvfr"\\]|[0-3][0-7]{2}))*+)"')
_ESCAPE: Final = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS: Final = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

DEV_NULL: Final = b"/dev/null"


def _decode_escape(found: re.Match[bytes]) -> bytes:
    text = found[1]
    return bytes([int(text, 8)]) if len(text) == 3 else _LETTERS.get(text, text)


def _leading_quoted(text: bytes, offset: int) -> tuple[bytes, bytes]:
    """Split a quoted name off ``text``; return it decoded, and the rest."""
    found = _QUOTED.match(text)
    if not found:
        raise Refusal("malformed", offset, f"the quoted name {quote(text)} has no end, or an unknown escape")
    return _ESCAPE.sub(_decode_escape, found[1]), text[found.end() :]


def bare_name(text: bytes, offset: int) -> bytes:
    """Return the name on a ``rename`` or ``copy`` line: quoted or not, and nothing after it."""
    if text.startswith(b'"'):
        name, rest = _leading_quoted(text, offset)
        if rest:
            raise Refusal("malformed", offset, f"{quote(rest)} follows the quoted name")
        return name
    return _without_quotes(text, offset)


def side_name(text: bytes, offset: int) -> bytes:
    """Return the name on a ``---`` or ``+++`` line, with its prefix: after a space in it there is a TAB at the end."""
    if text.startswith(b'"'):
        name, rest = _leading_quoted(text, offset)
        if rest not in (b"", b"\t"):
            raise Refusal("malformed", offset, f"{quote(rest)} follows the quoted name")
        return name
    name, tab, rest = text.partition(b"\t")
    if rest:
        raise Refusal("malformed", offset, f"{quote(rest)} follows the TAB that ends the name")
    if b" " in name and not tab:
        raise Refusal("malformed", offset, f"the name {quote(name)} has a space, and no TAB tells where it ends")
    return _without_quotes(name, offset)


def diff_line_names(text: bytes, renamed: tuple[bytes, bytes] | None, offset: int) -> tuple[bytes, bytes]:
    """Return both names of a ``diff --git`` line, with prefixes.

    ``renamed`` are the names of the rename or copy lines, which alone make a line with two different names readable.
    """
    if b'"' in text:
        return _names_with_quotes(text, offset)
    if renamed is not None:
        first, second = text[: len(renamed[0]) + 2], text[len(renamed[0]) + 3 :]
        if text[len(first) : len(first) + 1] == b" " and second[2:] == renamed[1] and first[2:] == renamed[0]:
            return first, second
        _refuse_prefix(text, text[:2], offset)
        raise Refusal("malformed", offset, f"the names {quote(text)} are not those of the lines that rename or copy")
    middle = len(text) // 2
    first, second = text[:middle], text[middle + 1 :]
    if len(text) % 2 and text[middle : middle + 1] == b" " and first[2:] == second[2:]:
        return first, second
    _refuse_prefix(text, text[:2], offset)
    words = text.split(b" ", 2)
    if len(words) == 2 and words[0][2:] in (words[1], words[1].partition(b"/")[2]):
        _refuse_prefix(text, words[1][:2], offset)
    raise Refusal("malformed", offset, f"{quote(text)} is not one name twice, and no rename or copy lines follow")


def _names_with_quotes(text: bytes, offset: int) -> tuple[bytes, bytes]:
    if text.startswith(b'"'):
        first, rest = _leading_quoted(text, offset)
        if not rest.startswith(b" "):
            raise Refusal("malformed", offset, f"{quote(rest)} follows the quoted name, and not a space and a name")
        return first, bare_name(rest[1:], offset)
    first, _, rest = text.partition(b' "')
    return _without_quotes(first, offset), bare_name(b'"' + rest, offset)


def _without_quotes(name: bytes, offset: int) -> bytes:
    if b'"' in name:
        raise Refusal("malformed", offset, f"the unquoted name {quote(name)} has a quote in it")
    return name


def _refuse_prefix(text: bytes, prefix: bytes, offset: int) -> None:
    if prefix not in _PREFIXES:
        raise Refusal(
            "prefix",
            offset,
            f"{quote(text)} has names without a prefix that git uses; applied with -p1 it would change other files",
        )


def pair_of(first: bytes, second: bytes, patch_pair: tuple[bytes, bytes] | None, offset: int) -> tuple[bytes, bytes]:
    """Return the prefixes of a section's names, which must be a known pair, and the patch's if it has one already."""
    pair = first[:2], second[:2]
    if pair not in PAIRS:
        raise Refusal("prefix", offset, f"the names {quote(first)} and {quote(second)} don't begin with `a/` and `b/`")
    if patch_pair not in (None, pair):
        raise Refusal("prefix", offset, f"the prefixes {quote(b' '.join(pair))} are not those of the first section")
    return pair


def agree(name: bytes, prefix: bytes, expected: bytes, offset: int) -> None:
    """Check that a ``---`` or ``+++`` line names what the ``diff --git`` line names."""
    if name == prefix + expected:
        return
    if name != DEV_NULL and name[:2] not in _PREFIXES:
        raise Refusal("prefix", offset, f"the name {quote(name)} has no prefix that git uses")
    if name[2:] == expected:
        raise Refusal("prefix", offset, f"the prefix of {quote(name)} is not the one on the `diff --git` line")
    raise Refusal("malformed", offset, f"{quote(name)} is not {quote(expected)}, which the `diff --git` line names")


def as_path(name: bytes, max_bytes: int, offset: int) -> str:
    """Decode a name without its prefix."""
    if not name:
        raise Refusal("malformed", offset, "a name is empty behind its prefix")
    if len(name) > max_bytes:
        raise Refusal("limit", offset, f"a name has {len(name):,} bytes; at most {max_bytes:,} are read")
    try:
        path = name.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal("name", offset, f"the name {quote(name)} is not UTF-8") from None
    if _CONTROL.search(path):
        raise Refusal("name", offset, f"the name {quote(name)} has a control character")
    return path
