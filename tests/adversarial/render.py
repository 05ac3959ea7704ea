"""Prints changes as `git diff` prints them, from scratch, so that the reader is not tested against itself."""

import difflib
import zlib
from dataclasses import dataclass

_LETTERS = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_BASE85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


@dataclass(frozen=True, slots=True)
class Side:
    """A file on one side of a change; the content of a binary one is printed as a literal."""

    path: str
    mode: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Style:
    """What git lets a user choose."""

    old_prefix: str = "a/"
    new_prefix: str = "b/"
    quote_path: bool = True
    index: bool = True
    context: int = 3


def quoted(name: str, style: Style) -> bytes:
    """A name as git's quote.c prints it."""
    raw = name.encode()
    if not any(c < 32 or c in (34, 92, 127) or (c > 127 and style.quote_path) for c in raw):
        return raw
    out = ['"']
    for c in raw:
        if c in _LETTERS:
            out.append("\\" + _LETTERS[c])
        elif c < 32 or c == 127 or (c > 127 and style.quote_path):
            out.append(f"\\{c:03o}")
        else:
            out.append(chr(c))
    return "".join(out).encode("latin-1") + b'"'


def section(old: Side | None, new: Side | None, style: Style, *, how: str = "", binary: bool = False) -> bytes:
    """One section; ``how`` is "rename" or "copy" if the two sides have different paths."""
    known = old or new
    assert known is not None
    old_name = style.old_prefix + (old or known).path
    new_name = style.new_prefix + (new or known).path
    lines = [b"diff --git %b %b" % (quoted(old_name, style), quoted(new_name, style))]
    same_mode = old is not None and new is not None and old.mode == new.mode
    if old is None:
        lines.append(b"new file mode " + known.mode.encode())
    elif new is None:
        lines.append(b"deleted file mode " + known.mode.encode())
    elif not same_mode:
        lines += [b"old mode " + old.mode.encode(), b"new mode " + new.mode.encode()]
    if how:
        assert old is not None
        assert new is not None
        lines += [
            b"similarity index %d%%" % (100 if old.content == new.content else 80),
            b"%b from %b" % (how.encode(), quoted(old.path, style)),
            b"%b to %b" % (how.encode(), quoted(new.path, style)),
        ]
    before, after = old.content if old else b"", new.content if new else b""
    if before != after or (style.index and (old is None or new is None)):
        blobs = [b"0000000" if side is None else b"e69de29" if not side.content else b"1234567" for side in (old, new)]
        if binary:
            blobs = [blob.ljust(40, b"0") for blob in blobs]
        if style.index or binary:
            lines.append(b"index %b..%b" % tuple(blobs) + (b" " + known.mode.encode() if same_mode else b""))
    text = b"\n".join(lines) + b"\n"
    if before == after:
        return text
    if binary:
        return text + b"GIT binary patch\n" + _literal(after) + _literal(before)
    names = [
        b"/dev/null" if side is None else quoted(name, style) + _tab(name, style)
        for side, name in ((old, old_name), (new, new_name))
    ]
    return text + b"--- %b\n+++ %b\n" % tuple(names) + hunks(before, after, style.context)


def _tab(name: str, style: Style) -> bytes:
    return b"\t" if " " in name and not quoted(name, style).startswith(b'"') else b""


def hunks(before: bytes, after: bytes, context: int) -> bytes:
    """The hunks between two contents, with markers for a missing line end."""
    old, new = _lines(before), _lines(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    out = []
    for group in matcher.get_grouped_opcodes(context):
        ranges = []
        for start, end in ((group[0][1], group[-1][2]), (group[0][3], group[-1][4])):
            count = end - start
            first = start + 1 if count else start
            ranges.append(str(first) if count == 1 else f"{first},{count}")
        out.append(f"@@ -{ranges[0]} +{ranges[1]} @@\n".encode())
        for tag, a, b, c, d in group:
            if tag == "equal":
                out += [_line(b" ", line) for line in old[a:b]]
            else:
                out += [_line(b"-", line) for line in old[a:b]] + [_line(b"+", line) for line in new[c:d]]
    return b"".join(out)


def _lines(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"


def _literal(content: bytes) -> bytes:
    packed = zlib.compress(content)
    out = [b"literal %d\n" % len(content)]
    for start in range(0, len(packed), 52):
        chunk = packed[start : start + 52]
        letter = len(chunk) + (64 if len(chunk) <= 26 else 70)
        out.append(bytes([letter]) + b"".join(_five(chunk[at : at + 4]) for at in range(0, len(chunk), 4)) + b"\n")
    return b"".join(out) + b"\n"


def _five(chunk: bytes) -> bytes:
    value = int.from_bytes(chunk.ljust(4, b"\0"), "big")
    digits = []
    for _ in range(5):
        value, digit = divmod(value, 85)
        digits.append(_BASE85[digit])
    return bytes(reversed(digits))
