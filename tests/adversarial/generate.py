"""Makes patches: honest ones in git's style, and what somebody who wants to fool a reader makes of them.

Every case is a function of (seed, number), so a finding can be made again.
"""

import base64
import random
from collections.abc import Callable

from tests.adversarial.render import Side, Style, section
from tests.adversarial.trees import EXECUTABLE, FILES

_NEW_NAMES = [
    "docs/new.md",
    "docs/a b.md",
    "docs/\u00e9t\u00e9.md",
    "docs/tab\there.md",
    'docs/q"uote.md',
    "docs/back\\slash.md",
    "new",
    "b/new",
    "dev/null",
    "docs/x b/y b/x",
    "docs/ok.md.orig",
    "docs/new.md ",
    " new",
    "a b/c d",
    "-x",
    "--- x",
    "docs/ok.md/under",
    "docs/deep/er/x.md",
    "docs/\u2028.md",
    "docs/new.md\ttail",
    "@@ -1 +1 @@",
    "docs/c\u0301.md",
    "src/app.py b/src/app.py",
    "setup.py\n",
    "docs/0",
    "GIT binary patch",
    "docs/~",
    "docs/'",
    "docs/new.md.rej",
]
_PREFIXES = [
    ("b/", "a/"),
    ("i/", "w/"),
    ("c/", "i/"),
    ("c/", "w/"),
    ("o/", "w/"),
    ("1/", "2/"),
    ("", ""),
    ("a/", "a/"),
    ("old/", "new/"),
    ("a/b/", "b/b/"),
    ("i/", "b/"),
    ("./", "./"),
]
_WORDS = [
    b"x",
    b"-- a/setup.py",
    b"++ b/setup.py",
    b"",
    b"diff --git a/setup.py b/setup.py",
    b"@@ -1 +1 @@",
    b" ",
    b"\t",
    b"*** 1,2 ****",
    b"a\x0bb",
    b"c\x0c",
    b"\xe9",
    b"\xe2\x80\xa8",
    b"no cr\r",
    b"\\ No newline at end of file",
    b".",
]
_PROSE = [
    b"Hello.",
    b"",
    b"---",
    b"-- ",
    b"2.39.5",
    b"+++",
    b"Thanks!",
    b"From 0123456789 Mon Sep 17 00:00:00 2001",
    b"From: A <a@example.com>",
    b"Date: Mon, 1 Jan 2024 00:00:00 +0000",
    b"Subject: [PATCH] x",
    b" docs/ok.md | 1 +",
    b" 1 file changed, 1 insertion(+)",
    b"# comment",
    b"```diff",
    b"```",
    b"commit 0123456789",
    b"Only in a: x",
    b"* item",
    b"- item",
    b"> quoted",
    b"Index: setup.py",
    b"Prereq: 1",
    b"=== x",
    b"*** a",
    b"--- a/setup.py",
    b"+++ b/setup.py",
    b"@@ -1,2 +1,3 @@",
    b"    --- a/setup.py",
    b"X--- a/setup.py",
    b"> +++ b/setup.py",
    b"- --- a/setup.py",
    b"diff -u a/setup.py b/setup.py",
    b"diff --git a/setup.py b/setup.py",
    b" diff --git a/setup.py b/setup.py",
    b"rename from docs/ok.md",
    b"rename to setup.py",
    b"copy from docs/ok.md",
    b"copy to docs/new.md",
    b"new file mode 100644",
    b"deleted file mode 100644",
    b"old mode 100644",
    b"new mode 100755",
    b"similarity index 100%",
    b"index 1234567..89abcde",
    b"GIT binary patch",
    b"literal 5",
    b"Mc$~}6%c<l700t-l%>V!Z",
    b"3d",
    b"2a3",
    b"> x",
    b"< x",
    b"1,2c",
    b".",
    b"a1 2",
    b"d1 1",
    b"Content-Type: text/plain; charset=UTF-8",
    b"Content-Type: multipart/mixed; boundary=x",
    b"--x",
    b"Content-Transfer-Encoding: base64",
    b"Content-Transfer-Encoding: 8bit",
    b"Binary files a/x and b/x differ",
    b"Files a/x and b/x differ",
    b"\x1b[1mdiff --git a/x b/x\x1b[m",
    b"Submodule x 1..2:",
    b"line\r",
    b"\\ No newline at end of file",
    b"rename old docs/ok.md",
    b"rename new setup.py",
    b"+line",
    b"-line",
    b" line",
    b"--- /dev/null",
    b"+++ /dev/null",
    b"\xef\xbb\xbfdiff --git a/setup.py b/setup.py",
    b"Xdiff --git a/setup.py b/setup.py",
    b"XX3d",
    b"X2a3",
    b"--- a/setup.py\t",
]
_SIGNS = [
    b"+",
    b"-",
    b" ",
    b"\\",
    b"@",
    b"X",
    b">",
    b"\t",
    b"- ",
    b"  ",
    b"\xef\xbb\xbf",
    b"\r",
    b"\0",
    b"",
    b"/",
    b'"',
]
_SWAPS = [
    (b"100644", b"100755"),
    (b"100644", b"120000"),
    (b"100644", b"160000"),
    (b"100644", b"0100644"),
    (b"100755", b"100644"),
    (b"rename", b"copy"),
    (b"copy", b"rename"),
    (b" from ", b" to "),
    (b" to ", b" from "),
    (b"a/", b"b/"),
    (b"b/", b"a/"),
    (b"docs/", b"src/"),
    (b"docs/ok.md", b"setup.py"),
    (b"ok.md", b"ok.md "),
    (b"ok.md", b"ok.md\t"),
    (b"ok.md", b"\\157k.md"),
    (b"/", b"//"),
    (b"/", b"\\057"),
    (b"a/", b""),
    (b"b/", b""),
    (b"/dev/null", b"a/dev/null"),
    (b"a/docs", b"/dev/null"),
    (b"diff --git ", b"diff --git  "),
    (b"new file mode", b"deleted file mode"),
    (b"deleted file mode", b"new file mode"),
    (b"old mode", b"new mode"),
    (b"--- ", b"+++ "),
    (b"+++ ", b"--- "),
    (b"100%", b"101%"),
    (b"e69de29", b"1234567"),
    (b".md", b".md\x0c"),
    (b".md", b".md\r"),
    (b'"', b""),
    (b" b/", b"\tb/"),
    (b" b/", b"  b/"),
    (b"..", b",1.."),
]
_CASES = 6

Random = random.Random


def is_honest(number: int) -> bool:
    """Whether the case of this number is as git prints it."""
    return number % _CASES == 0


def make(seed: int, number: int) -> bytes:
    """The case of this number: a patch, honest for some numbers, tampered with for most."""
    rnd = random.Random(f"{seed}:{number}")
    if number % _CASES == 1:
        made = soup(rnd)
        return rnd.choice(_MUTATORS)(rnd, made) if rnd.random() < 0.3 else made
    patch = honest(rnd)
    if is_honest(number):
        return patch
    if rnd.random() < 0.25:
        patch = splice(rnd, patch, honest(rnd))
    for _ in range(rnd.choice((0, 1, 1, 1, 2, 3))):
        patch = rnd.choice(_MUTATORS)(rnd, patch)
    return patch


def make_mail(seed: int, number: int) -> bytes:
    """The mail of this number: what `git format-patch` prints, with what could make `git am` read something else."""
    rnd = random.Random(f"{seed}:mail:{number}")
    if rnd.random() < 0.1:
        lines = [rnd.choice(_FORMATS) + b"\n" for _ in range(rnd.choice((1, 1, 2, 3)))]
        return b"".join(lines) + _mail_change(rnd)
    data = b"".join(_mail(rnd) for _ in range(rnd.choice((1, 1, 1, 2))))
    lines = _lines_of(data)
    for _ in range(rnd.choice((0, 0, 0, 1, 1, 2))):
        # Mostly where a header can stand: in front, or behind another one.
        heads = [at for at, line in enumerate(lines) if line.startswith((b"From", b"Date", b"Subject"))]
        at = rnd.choice((0, 0, 1, 2, rnd.choice(heads or [0]) + 1, rnd.randrange(len(lines))))
        lines.insert(at, rnd.choice(_FORMATS) if rnd.random() < 0.7 else _type(rnd))
    data = b"\n".join(lines)
    return rnd.choice(_MUTATORS)(rnd, data) if rnd.random() < 0.15 else data


_MAIL_HEADERS = [
    b"From: A <a@example.com>",
    b"Date: Mon, 1 Jan 2024 00:00:00 +0000",
    b"Subject: [PATCH] x",
]
_FROM = b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001"
_FORMATS = [
    b"# This series applies on GIT commit 0123456",
    b"# HG changeset patch",
    b"# User A <a@example.com>",
    b"# Date 1700000000 0",
    b"Author: A <a@example.com>",
    b"From: A <a@example.com>",
    b"Date: Mon, 1 Jan 2024 00:00:00 +0000",
    b"-- >8 --",
    b"--",
    b"--x",
    b"--x--",
    b"",
    b" ",
    b" folded",
    b"X: y",
    b">From x",
    b"[PATCH] x",
    _FROM,
]


# With the boundary `x`, `git am` drops the line `--x` and the one behind it, so that the first hunk goes on with `-line8`,
# and setup.py begins where the second one should remove a line.
_LIKE_A_BOUNDARY = (
    b"diff --git a/docs/ok.md b/docs/ok.md\n--- a/docs/ok.md\n+++ b/docs/ok.md\n@@ -7,2 +7 @@\n line7\n--x\n"
    b"@@ -20,2 +19 @@\n-line8\n--- a/setup.py\n+++ b/setup.py\n@@ -30,2 +28,3 @@\n line1\n+pwned\n line2\n"
)


def _hidden() -> bytes:
    """A patch of a file that no section names, for encodings to hide."""
    return (
        b"diff --git a/setup.py b/setup.py\n--- a/setup.py\n+++ b/setup.py\n@@ -1,2 +1,3 @@\n line1\n+pwned\n line2\n"
    )


def _utf7(text: bytes) -> bytes:
    return b"+" + base64.b64encode(text.decode().encode("utf-16-be")).rstrip(b"=") + b"-"


def _quoted_printable(text: bytes) -> bytes:
    return b"".join(b"=%02X" % byte if byte != 10 else b"\n" for byte in text)


def _type(rnd: Random, more: bytes = b"") -> bytes:
    """A header that says how the mail is to be decoded, in one of the forms that readers tell apart by mistake."""
    name, kind, charset = b"Content-Type: ", b"text/plain", rnd.choice((b"UTF-8", b"us-ascii", b"ISO-8859-15"))
    quote, end, between, before, fold = b"", b"", b"", b"", b" "
    if rnd.random() < 0.3:
        quote = end = b'"'
    # One oddity mostly, since a header with several is refused for any of them.
    for _ in range(rnd.choice((0, 1, 1, 1, 2))):
        match rnd.randrange(8):
            case 0:
                charset = rnd.choice((b"UTF-7", b"utf-7", b"UTF-16", b"IBM037", b"utf-8utf-7", b"="))
            case 1 | 2:
                between, more = rnd.choice((b"", b"", b";", b"; ", b" ")), rnd.choice((b"boundary=x", b"format=flowed"))
            case 3:
                quote, end = rnd.choice(((b'"', b""), (b"", b'"'), (b"'", b"'")))
            case 4:
                kind = rnd.choice((b"multipart/mixed", b"text/html", b"text/plainboundary=x", b"text/plain;boundary=x"))
            case 5:
                name = rnd.choice((b"content-type:", b"CONTENT-TYPE:\t", b"Content-Type :", b">Content-Type: "))
            case 6:
                fold = rnd.choice((b"\n ", b"\n\t", b""))
            case _:
                before = rnd.choice((b" ", b"\t", b"X: y\n "))
    value = b"%b;%bcharset=%b%b%b%b%b" % (kind, fold, quote, charset, end, between, more)
    if rnd.random() < 0.05:
        value = b"=?us-ascii?q?" + value.replace(b" ", b"_").replace(b"=", b"=3D").replace(b"\n", b"") + b"?="
    header = before + name + value
    if rnd.random() < 0.15:
        encoding = rnd.choice(
            (b"8bit", b"7bit", b"base64", b"quoted-printable", b"=?us-ascii?q?base64?=", b"8bit base64")
        )
        header += b"\nContent-Transfer-Encoding: " + encoding
    return header


def _mail_change(rnd: Random) -> bytes:
    if rnd.random() < 0.1:
        return _LIKE_A_BOUNDARY
    name = rnd.choice(("docs/ok.md", "docs/guide.md", "docs/caf\u00e9.md", "src/q.sql", "docs/x b/docs/x"))
    old = Side(name, "100644", FILES[name])
    content = _edit(rnd, old.content)
    if content == old.content:
        content += b"z\n"
    return section(old, Side(name, "100644", content), Style(quote_path=rnd.random() < 0.7))


def _mail(rnd: Random) -> bytes:
    headers = [_FROM] if rnd.random() < 0.7 else []
    parts = rnd.random() < 0.1
    rest = [*_MAIL_HEADERS, *([_type(rnd, b"boundary=x" if parts else b"")] if rnd.random() < 0.7 else [])]
    if rnd.random() < 0.3:
        rnd.shuffle(rest)
    body = [b"x"] if rnd.random() < 0.8 else []
    if rnd.random() < 0.6:
        hide = rnd.choice((_utf7, _utf7, base64.b64encode, _quoted_printable))
        body += [hide(_hidden())]
    if parts or rnd.random() < 0.1:
        body.insert(0, b"--x\n")
    change = _LIKE_A_BOUNDARY if parts else _mail_change(rnd)
    after = rnd.choice(([], [b"-- ", b"2.39.5", b""], [b"--x", b""], [b"", rnd.choice(_FORMATS), b""]))
    lines = [*headers, *rest, b"", *body, b"---", b" x | 1 +", b""]
    return b"".join(line + b"\n" for line in lines) + change + b"".join(line + b"\n" for line in after)


def honest(rnd: Random) -> bytes:
    """A patch as git prints it of some change of the tree, perhaps within a mail."""
    old_prefix, new_prefix = rnd.choice(_PREFIXES) if rnd.random() < 0.15 else ("a/", "b/")
    style = Style(old_prefix, new_prefix, rnd.random() < 0.8, rnd.random() < 0.8, rnd.choice((0, 1, 3, 3, 3)))
    names = list(FILES)
    rnd.shuffle(names)
    sections = []
    for _ in range(rnd.choice((1, 1, 1, 2, 2, 3))):
        sections.append(_change(rnd, names.pop(), style))
    patch = b"".join(sections)
    if rnd.random() < 0.25:
        before = [rnd.choice(_PROSE[:24]) for _ in range(rnd.randrange(6))]
        if rnd.random() < 0.5:
            before = [*_PROSE[7:11], b"", *before, b"---", *_PROSE[11:13], b""]
        after = rnd.choice(([], [b"-- ", b"2.39.5", b""], [b"", b"Thanks!"]))
        patch = b"".join(line + b"\n" for line in before) + patch + b"".join(line + b"\n" for line in after)
    return patch


_SOUP_NAMES = [b"docs/ok.md", b"docs/ok.md", b"setup.py", b"ok.md", b"new", b"docs/with space.md", b"src/empty.txt"]
_SOUP_HUNKS = [
    b"@@ -1,3 +1,4 @@\n line1\n+added\n line2\n line3\n",
    b"@@ -1,8 +0,0 @@\n" + b"".join(b"-line%d\n" % at for at in range(1, 9)),
    b"@@ -0,0 +1,2 @@\n+a\n+b\n",
    b"@@ -6,2 +6,3 @@\n line6\n+x\n line7\n",
    b"@@ -3,0 +4 @@\n+x\n",
    b"@@ -2 +1,0 @@\n-line2\n",
    b"@@ -1,2 +1,2 @@\n-line1\n+--- a/setup.py\n line2\n",
    b"@@ -8 +8,2 @@\n line8\n+end\n\\ No newline at end of file\n",
    b"@@ -1,2 +1,1 @@\n line1\n-line2\n-- \n2.39.5\n",
    b"GIT binary patch\nliteral 0\nHcmV?d00001\n\n",
    b"@@ -1 +1 @@\n-one\n+two\n",
    b"@@ -1,4 +1,5 @@ one\n one\n two\n+2.5\n three\n four\n\n",
]


def soup(rnd: Random) -> bytes:
    """Sections put together from header lines that git knows, in order, but without heed of what they say together."""
    out = []
    for _ in range(rnd.choice((1, 1, 2, 3))):
        old = rnd.choice(_SOUP_NAMES)
        new = old if rnd.random() < 0.6 else rnd.choice(_SOUP_NAMES)

        def name(known: bytes) -> bytes:
            return known if rnd.random() < 0.95 else rnd.choice(_SOUP_NAMES)

        out.append(b"diff --git a/%b b/%b\n" % (name(old), name(new)))
        mode = rnd.choice(
            (
                b"",
                b"",
                b"",
                b"old mode 100644\nnew mode 100755\n",
                b"new file mode 100644\n",
                b"new mode 100755\n",
                b"deleted file mode 100644\n",
                b"old mode 100755\nnew mode 100644\n",
                b"new file mode 120000\n",
            )
        )
        move = b"rename" if rnd.random() < 0.8 else b"copy"
        moves = rnd.random() < (0.9 if old != new else 0.05)
        out += [mode, b"similarity index 90%\n" if rnd.random() < (0.6 if moves else 0.03) else b""]
        if moves:
            out.append(b"%b from %b\n%b to %b\n" % (move, name(old), move, name(new)))
        if rnd.random() < 0.4:
            out.append(
                rnd.choice((b"index 1234567..89abcde", b"index 0000000..e69de29", b"index e69de29..0000000"))
                + (b" 100644\n" if not mode and rnd.random() < 0.8 else b"\n")
            )
        if rnd.random() < 0.7:
            sides = [
                b"/dev/null" if word in mode else prefix + name(known) + (b"\t" if b" " in known else b"")
                for word, prefix, known in ((b"new file", b"a/", old), (b"deleted", b"b/", new))
            ]
            out.append(b"--- %b\n+++ %b\n" % tuple(sides))
            out += rnd.choices(_SOUP_HUNKS, k=rnd.choice((1, 1, 1, 2)))
        if rnd.random() < 0.2:
            out += [rnd.choice(_PROSE) + b"\n" for _ in range(rnd.choice((1, 2, 3)))]
    return b"".join(out)


def _change(rnd: Random, name: str, style: Style) -> bytes:
    old = Side(name, "100755" if name in EXECUTABLE else "100644", FILES[name])
    kind = rnd.choice(
        (
            "modify",
            "modify",
            "modify",
            "add",
            "add",
            "delete",
            "rename",
            "rename",
            "copy",
            "mode",
            "type",
            "link",
            "binary",
            "submodule",
        )
    )
    other = rnd.choice(_NEW_NAMES)
    if kind == "modify":
        mode = rnd.choice((old.mode, old.mode, old.mode, "100755", "100644"))
        return section(old, Side(name, mode, _edit(rnd, old.content)), style)
    if kind == "add":
        content = b"".join(rnd.choice(_WORDS) + b"\n" for _ in range(rnd.randrange(4)))
        return section(None, Side(other, rnd.choice(("100644", "100755")), _cut(rnd, content)), style)
    if kind == "delete":
        return section(old, None, style)
    if kind in ("rename", "copy"):
        content = old.content if rnd.random() < 0.5 else _edit(rnd, old.content)
        mode = rnd.choice((old.mode, old.mode, "100755"))
        return section(old, Side(other, mode, content), style, how=kind)
    if kind == "mode":
        return section(old, Side(name, "100644" if old.mode == "100755" else "100755", old.content), style)
    if kind == "type":
        return section(old, None, style) + section(None, Side(name, "120000", b"target"), style)
    if kind == "link":
        return section(None, Side(other, "120000", rnd.choice((b"../setup.py", b"/etc", b"docs"))), style)
    if kind == "binary":
        return section(
            old,
            Side(name, old.mode, old.content + bytes(rnd.randrange(256) for _ in range(rnd.randrange(1, 99)))),
            style,
            binary=True,
        )
    return section(None, Side(other, "160000", b"Subproject commit " + b"0123456789" * 4 + b"\n"), style)


def _edit(rnd: Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    for _ in range(rnd.choice((1, 1, 2, 3))):
        at = rnd.randrange(len(lines))
        what = rnd.random()
        if what < 0.4:
            lines[at] = rnd.choice(_WORDS)
        elif what < 0.75:
            lines.insert(at, rnd.choice(_WORDS))
        else:
            del lines[at]
            lines = lines or [b""]
    return _cut(rnd, b"\n".join(lines))


def _cut(rnd: Random, content: bytes) -> bytes:
    return content.removesuffix(b"\n") if rnd.random() < 0.1 else content


def splice(rnd: Random, one: bytes, two: bytes) -> bytes:
    """The beginning of one patch, and the end of another."""
    first, second = one.splitlines(keepends=True), two.splitlines(keepends=True)
    a, b = rnd.randrange(len(first) + 1), rnd.randrange(len(second) + 1)
    return b"".join(first[:a] + rnd.choice(([], [b"\n"], [rnd.choice(_PROSE) + b"\n"])) + second[b:])


def _lines_of(patch: bytes) -> list[bytes]:
    return patch.split(b"\n")


def _interesting(rnd: Random, lines: list[bytes]) -> int:
    """A line to meddle with: mostly not content."""
    heads = [
        at for at, line in enumerate(lines) if line[:1] not in (b"+", b"-", b" ") or line[:4] in (b"--- ", b"+++ ")
    ]
    return rnd.choice(heads) if heads and rnd.random() < 0.75 else rnd.randrange(len(lines))


def _insert_prose(rnd: Random, patch: bytes) -> bytes:
    lines = _lines_of(patch)
    places = [at for at, line in enumerate(lines) if line.startswith(b"diff --git")] + [len(lines) - 1, 0]
    at = rnd.choice(places) if rnd.random() < 0.7 else rnd.randrange(len(lines))
    lines[at:at] = [rnd.choice(_PROSE) for _ in range(rnd.choice((1, 1, 2, 3)))]
    return b"\n".join(lines)


def _delete_line(rnd: Random, patch: bytes) -> bytes:
    lines = _lines_of(patch)
    del lines[_interesting(rnd, lines)]
    return b"\n".join(lines)


def _repeat_line(rnd: Random, patch: bytes) -> bytes:
    lines = _lines_of(patch)
    lines.insert(rnd.randrange(len(lines) + 1), lines[_interesting(rnd, lines)])
    return b"\n".join(lines)


def _swap_lines(rnd: Random, patch: bytes) -> bytes:
    lines = _lines_of(patch)
    a, b = _interesting(rnd, lines), _interesting(rnd, lines)
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _replace_text(rnd: Random, patch: bytes) -> bytes:
    old, new = rnd.choice(_SWAPS)
    lines = _lines_of(patch)
    places = [at for at, line in enumerate(lines) if old in line]
    if places:
        every = rnd.random() < 0.3
        for at in places if every else [rnd.choice(places)]:
            lines[at] = lines[at].replace(old, new, rnd.choice((1, 1, 9)))
    return b"\n".join(lines)


def _sign_line(rnd: Random, patch: bytes) -> bytes:
    lines = _lines_of(patch)
    at = _interesting(rnd, lines)
    lines[at] = rnd.choice(
        (lambda line, sign: sign + line, lambda line, sign: sign + line[1:], lambda line, sign: line + sign)
    )(lines[at], rnd.choice(_SIGNS))
    return b"\n".join(lines)


def _indent_section(rnd: Random, patch: bytes) -> bytes:
    lines = _lines_of(patch)
    a, b = sorted((rnd.randrange(len(lines) + 1), rnd.randrange(len(lines) + 1)))
    sign = rnd.choice(_SIGNS)
    lines[a:b] = [sign + line for line in lines[a:b]]
    return b"\n".join(lines)


def _change_number(rnd: Random, patch: bytes) -> bytes:
    lines = _lines_of(patch)
    places = [at for at, line in enumerate(lines) if line.startswith(b"@@")]
    if places:
        at = rnd.choice(places)
        digits = [index for index, c in enumerate(lines[at]) if 48 <= c < 58]
        if digits:
            index = rnd.choice(digits)
            lines[at] = (
                lines[at][:index]
                + rnd.choice((b"0", b"1", b"2", b"9", b"10", b"", b"-1", b"4294967299"))
                + lines[at][index + 1 :]
            )
    return b"\n".join(lines)


def _rename_in_header(rnd: Random, patch: bytes) -> bytes:
    lines = _lines_of(patch)
    places = [
        at for at, line in enumerate(lines) if line.startswith((b"diff --git ", b"--- ", b"+++ ", b"rename ", b"copy "))
    ]
    if places:
        at = rnd.choice(places)
        words = lines[at].split(b" ")
        words[-1] = rnd.choice(
            (
                b"b/setup.py",
                b"a/setup.py",
                b"setup.py",
                b"b/docs/ok.md",
                b"docs/ok.md",
                b"/dev/null",
                b'"b/setup.py"',
                b'"b/docs/ok.md"\t',
                b"b/setup.py\tb/docs/ok.md",
                b"b/docs/ok.md b/docs/ok.md",
            )
        )
        lines[at] = b" ".join(words)
    return b"\n".join(lines)


def _repeat_section(rnd: Random, patch: bytes) -> bytes:
    sections = (b"\n" + patch).split(b"\ndiff --git ")
    if len(sections) > 1:
        sections.insert(rnd.randrange(1, len(sections) + 1), rnd.choice(sections[1:]))
    return b"\ndiff --git ".join(sections)[1:]


def _drop_byte(rnd: Random, patch: bytes) -> bytes:
    at = rnd.randrange(len(patch) or 1)
    return patch[:at] + rnd.choice((b"", b"\n", b"\r", b" ", b"\0", b"\xff")) + patch[at + 1 :]


def _strip_ends(_: Random, patch: bytes) -> bytes:
    return b"\n".join(line.rstrip(b" ") for line in _lines_of(patch))


def _reverse_sections(_: Random, patch: bytes) -> bytes:
    head, *sections = (b"\n" + patch).split(b"\ndiff --git ")
    return b"\ndiff --git ".join([head, *reversed([each.removesuffix(b"\n") for each in sections])])[1:] + b"\n"


_MUTATORS: list[Callable[[Random, bytes], bytes]] = [
    _insert_prose,
    _insert_prose,
    _insert_prose,
    _delete_line,
    _repeat_line,
    _swap_lines,
    _replace_text,
    _replace_text,
    _sign_line,
    _sign_line,
    _indent_section,
    _change_number,
    _rename_in_header,
    _rename_in_header,
    _repeat_section,
    _drop_byte,
    _strip_ends,
    _reverse_sections,
]
