"""What is refused, by name: each with the class of its reason and the line that is blamed."""

import pytest

from idkmesh_rules.diff import REASONS, DiffLimits, read_patch

GIT = b"diff --git a/docs/ok.md b/docs/ok.md\n"
NAMES = b"--- a/docs/ok.md\n+++ b/docs/ok.md\n"
HUNK = b"@@ -1,3 +1,4 @@\n line1\n+added\n line2\n line3\n"
OK = GIT + NAMES + HUNK
OTHER = b"diff --git a/setup.py b/setup.py\n--- a/setup.py\n+++ b/setup.py\n" + HUNK
RENAME = (
    b"diff --git a/docs/ok.md b/docs/new.md\nsimilarity index 100%\nrename from docs/ok.md\nrename to docs/new.md\n"
)
MODE = GIT + b"old mode 100644\nnew mode 100755\n"
NEW = b"diff --git a/n b/n\nnew file mode 100644\n"
NEW_HUNK = b"--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"
BINARY = b"diff --git a/n b/n\nnew file mode 100644\nindex 0000000..1234567\nGIT binary patch\n"
BLOCK = b"literal 10\nRc${NkWMWRr%u6h)1ON!h0*n9v\n\nliteral 0\nHcmV?d00001\n\n"


def names(old: bytes, new: bytes | None = None) -> bytes:
    new = old if new is None else new
    return b"diff --git " + old + b" " + new + b"\n"


WHOLE = {
    "utf-16 little endian": (b"\xff\xfe" + "diff --git a/x b/x\n".encode("utf-16-le"), "utf-16", 1),
    "utf-16 big endian": ("\ufeffdiff".encode("utf-16-be"), "utf-16", 1),
    "utf-16 without a mark": ("diff --git".encode("utf-16-le"), "utf-16", 1),
    "utf-16 without a mark, big endian": ("diff --git".encode("utf-16-be"), "utf-16", 1),
    "byte order mark": (b"\xef\xbb\xbf" + OK, "bom", 1),
    "NUL in content": (OK.replace(b"added", b"ad\0ded"), "nul", 6),
    "NUL as the only byte": (b"\0", "nul", 1),
    "nothing": (b"", "empty", None),
    "no last line end": (OK[:-1], "truncated", 8),
    "no last line end and nothing else is looked at": (b"junk\ndiff --git", "truncated", 2),
    "traditional": (NAMES + HUNK, "traditional", 1),
    "traditional below text": (b"hello\n" + NAMES + HUNK, "traditional", 2),
    "subversion": (
        b"Index: docs/ok.md\n" + b"=" * 67 + b"\n--- docs/ok.md\t(r1)\n+++ docs/ok.md\t(r2)\n",
        "traditional",
        3,
    ),
    "context": (b"*** a/x\n--- b/x\n***************\n*** 1 ****\n", "context", 1),
    "context, stars first": (b"***************\n", "context", 1),
    "normal": (b"2a3\n> added\n", "normal", 1),
    "normal, changed": (b"1,2c1,2\n< a\n", "normal", 1),
    "ed": (b"2a\nadded\n.\n", "ed", 1),
    "ed below text": (b"hi\n1,3d\n", "ed", 2),
    "rcs": (b"d1 1\na1 1\nx\n", "rcs", 1),
    "begin patch": (b"*** Begin Patch\n*** Update File: x\n", "begin-patch", 1),
    "colour": (b"\x1b[1mdiff --git a/x b/x\x1b[m\n", "ansi", 1),
    "combined": (b"diff --cc docs/ok.md\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n", "combined", 1),
    "combined, long": (b"diff --combined docs/ok.md\n", "combined", 1),
    "combined hunk": (b"@@@ -1 -1 +1 @@@\n", "combined", 1),
    "hunk alone": (HUNK, "malformed", 1),
    "hunk below half a header": (b"--- a/x\n+++\tb/x\n" + HUNK, "malformed", 3),
}
SECTION = {
    "nothing behind the diff line": (GIT, "malformed", 1),
    "unknown header line": (GIT + b"extended stuff\n" + NAMES + HUNK, "malformed", 1),
    "blank line behind the diff line": (GIT + b"\n" + NAMES + HUNK, "malformed", 1),
    "header lines without end": (MODE + b"new mode 100755\n" * 1000 + NAMES + HUNK, "malformed", 4),
    "a binary line that is none": (GIT + b"index 1234567..89abcde\nBinary files are odd\n", "malformed", 1),
    "two diff lines": (GIT + OTHER, "malformed", 1),
    "undocumented spelling": (GIT + b"rename old docs/ok.md\nrename new x\n", "malformed", 2),
    "order: names before modes": (GIT + NAMES + b"old mode 100644\nnew mode 100755\n" + HUNK, "malformed", 4),
    "order: index before mode": (GIT + b"index 1234567..89abcde\nold mode 100644\nnew mode 100755\n", "malformed", 3),
    "order: new mode first": (GIT + b"new mode 100644\nold mode 100755\n", "malformed", 3),
    "new mode twice": (MODE + b"new mode 100644\n", "malformed", 4),
    "minus twice": (GIT + b"--- a/docs/ok.md\n" + NAMES + HUNK, "malformed", 3),
    "plus twice": (GIT + NAMES + b"+++ b/setup.py\n" + HUNK, "malformed", 4),
    "old mode only": (GIT + b"old mode 100644\n" + NAMES + HUNK, "malformed", 1),
    "new mode only": (GIT + b"new mode 100755\n", "malformed", 1),
    "same mode": (GIT + b"old mode 100644\nnew mode 100644\n", "malformed", 3),
    "created and deleted": (GIT + b"new file mode 100644\ndeleted file mode 100644\n", "malformed", 3),
    "created and renamed": (NEW + b"rename from n\nrename to n\n", "malformed", 1),
    "rename from only": (b"diff --git a/a b/b\nrename from a\n", "malformed", 1),
    "rename to only": (b"diff --git a/a b/b\nrename to b\n", "malformed", 1),
    "rename and copy": (RENAME + b"copy from docs/ok.md\ncopy to x\n", "malformed", 5),
    "rename from, copy to": (b"diff --git a/a b/b\nrename from a\ncopy to b\n", "malformed", 1),
    "similarity alone": (GIT + b"similarity index 100%\n", "malformed", 1),
    "dissimilarity of a rename": (RENAME.replace(b"similarity", b"dissimilarity"), "malformed", 1),
    "similarity of 101": (RENAME.replace(b"100%", b"101%"), "malformed", 2),
    "similarity of 05": (RENAME.replace(b"100%", b"05%"), "malformed", 2),
    "renamed to itself": (names(b"a/x", b"b/x") + b"rename from x\nrename to x\n", "malformed", 1),
    "copied to itself": (names(b"a/x", b"b/x") + b"copy from x\ncopy to x\n", "malformed", 1),
    "minus only": (GIT + b"--- a/docs/ok.md\n" + HUNK, "malformed", 1),
    "plus only": (GIT + b"+++ b/docs/ok.md\n" + HUNK, "malformed", 1),
    "no names before the hunk": (GIT + b"index 1234567..89abcde 100644\n" + HUNK, "malformed", 3),
    "no hunk behind the names": (GIT + NAMES, "malformed", 4),
    "names, then another section": (GIT + NAMES + OTHER, "malformed", 4),
    "binary behind the names": (GIT + NAMES + b"GIT binary patch\n" + BLOCK, "malformed", 4),
    "index alone": (GIT + b"index 1234567..89abcde 100644\n", "malformed", 1),
    "index names no objects": (GIT + b"index 1,2..3\n" + NAMES + HUNK, "malformed", 2),
    "index in capitals": (GIT + b"index ABCDEF0..1234567\n" + NAMES + HUNK, "malformed", 2),
    "mode said twice": (NEW + b"index 0000000..1234567 120000\n" + NEW_HUNK, "malformed", 3),
    "zeros on the index line of a change": (GIT + b"index 1234567..0000000 100644\n" + NAMES + HUNK, "malformed", 2),
    "zeros on the index line of a new mode": (MODE + b"index 0000000..e69de29\n", "malformed", 4),
    "created, but the index line names an old object": (NEW + b"index 1234567..89abcde\n" + NEW_HUNK, "malformed", 3),
    "created, but the index line names no object": (NEW + b"index 0000000..0000000\n" + NEW_HUNK, "malformed", 3),
    "deleted, but the index line names a new object": (
        GIT + b"deleted file mode 100644\nindex e69de29..1234567\n",
        "malformed",
        3,
    ),
    "created with content that is missing": (NEW + b"index 0000000..1234567\n", "malformed", 1),
    "deleted with content that is missing": (
        GIT + b"deleted file mode 100644\nindex 1234567..0000000\n",
        "malformed",
        1,
    ),
    "dev null without a mode line": (GIT + b"--- a/docs/ok.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-line1\n", "malformed", 3),
    "dev null on both sides": (GIT + b"--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n", "malformed", 2),
    "dev null with a prefix": (NEW + NEW_HUNK.replace(b"/dev/null", b"a/dev/null"), "malformed", 3),
    "dev null in quotes": (NEW + NEW_HUNK.replace(b"/dev/null", b'"/dev/null"'), "malformed", 3),
    "dev null with a tail": (NEW + NEW_HUNK.replace(b"/dev/null", b"/dev/nullx"), "malformed", 3),
    "created, but both sides named": (GIT + b"new file mode 100644\n" + NAMES + HUNK, "malformed", 3),
    "names differ without a rename": (names(b"a/docs/ok.md", b"b/docs/moved.md") + NAMES + HUNK, "malformed", 1),
    "diff line and names disagree": (GIT + OTHER.split(b"\n", 1)[1], "malformed", 2),
    "plus disagrees": (GIT + NAMES.replace(b"b/docs/ok.md", b"b/setup.py") + HUNK, "malformed", 3),
    "rename disagrees with the diff line": (
        RENAME.replace(b"rename to docs/new.md", b"rename to setup.py"),
        "malformed",
        1,
    ),
    "rename disagrees with quoted diff line": (
        names(b'"a/docs/ok.md"', b'"b/x"') + b"rename from docs/ok.md\nrename to y\n",
        "malformed",
        1,
    ),
    "rename disagrees with the names": (RENAME + b"--- a/docs/ok.md\n+++ b/setup.py\n" + HUNK, "malformed", 6),
    "a TAB between the names": (
        b"diff --git a/setup.py\tb/setup.py\nold mode 100644\nnew mode 100755\n",
        "malformed",
        1,
    ),
    "a TAB and text behind a name": (GIT + b"--- a/setup.py\ta/docs/ok.md\n+++ b/docs/ok.md\n" + HUNK, "malformed", 2),
    "a timestamp": (GIT + NAMES.replace(b"ok.md\n", b"ok.md\t2024-01-01\n") + HUNK, "malformed", 2),
    "two TABs": (GIT + NAMES.replace(b"ok.md\n", b"ok.md\t\t\n", 1) + HUNK, "malformed", 2),
    "a space and no TAB": (names(b"a/x y", b"b/x y") + b"--- a/x y\n+++ b/x y\n" + HUNK, "malformed", 2),
    "a quote that does not end": (GIT + b'--- a/docs/ok.md\n+++ "b/docs/ok.md\n' + HUNK, "malformed", 3),
    "text behind a quote": (GIT + b'--- "a/docs/ok.md"/x\n+++ b/docs/ok.md\n' + HUNK, "malformed", 2),
    "a quote in the middle": (names(b'a/x"y', b'b/x"y') + b"old mode 100644\nnew mode 100755\n", "malformed", 1),
    "octal over 377": (names(b'"a/\\456"', b'"b/\\456"') + b"old mode 100644\nnew mode 100755\n", "malformed", 1),
    "octal of two digits": (names(b'"a/\\56x"', b'"b/\\56x"') + b"old mode 100644\nnew mode 100755\n", "malformed", 1),
    "an escape that C has and git lacks": (
        names(b'"a/\\x41"', b'"b/\\x41"') + b"old mode 100644\nnew mode 100755\n",
        "malformed",
        1,
    ),
    "quoted names without a space between": (
        b'diff --git "a/x""b/x"\nold mode 100644\nnew mode 100755\n',
        "malformed",
        1,
    ),
    "a quoted rename with a tail": (b'diff --git a/x b/y\nrename from "x" \nrename to y\n', "malformed", 2),
    "an empty name": (names(b"a/", b"b/") + b"old mode 100644\nnew mode 100755\n", "malformed", 1),
    "CR on the diff line": (GIT[:-1] + b"\r\n" + NAMES + HUNK, "cr-in-header", 1),
    "CR within a name": (names(b"a/x\rb/x", b"b/x\rb/x") + b"old mode 100644\nnew mode 100755\n", "cr-in-header", 1),
    "CR behind a mode": (NEW[:-1] + b"\r\n" + NEW_HUNK, "cr-in-header", 2),
    "CR in a later header line, order wrong": (GIT + NAMES + b"old mode 100644\r\n" + HUNK, "cr-in-header", 4),
    "mode with text": (NEW.replace(b"100644", b"100755 100644") + NEW_HUNK, "mode", 2),
    "mode with a zero": (NEW.replace(b"100644", b"0120000") + NEW_HUNK, "mode", 2),
    "mode of a directory": (NEW.replace(b"100644", b"040000") + NEW_HUNK, "mode", 2),
    "mode with other bits": (NEW.replace(b"100644", b"120777") + NEW_HUNK, "mode", 2),
    "mode without digits": (NEW.replace(b"100644", b"") + NEW_HUNK, "mode", 2),
    "mode on the index line": (GIT + b"index 1234567..89abcde 100600\n" + NAMES + HUNK, "mode", 2),
    "mode and text on the index line": (GIT + b"index 1234567..89abcde 100644 x\n" + NAMES + HUNK, "mode", 2),
    "no prefix": (OK.replace(b"a/docs", b"docs").replace(b"b/docs", b"docs"), "prefix", 1),
    "own prefixes": (OK.replace(b"a/docs", b"old/docs").replace(b"b/docs", b"new/docs"), "prefix", 1),
    "one prefix twice": (OK.replace(b"b/docs", b"a/docs"), "prefix", 1),
    "an unknown pair": (OK.replace(b"a/docs", b"i/docs"), "prefix", 1),
    "no second prefix": (names(b"a/x/y", b"x/y") + b"old mode 100644\nnew mode 100755\n", "prefix", 1),
    "an unknown second prefix": (names(b"a/x", b"new/x") + b"old mode 100644\nnew mode 100755\n", "prefix", 1),
    "another pair in a later section": (OK + OTHER.replace(b"a/", b"c/").replace(b"b/", b"i/"), "prefix", 9),
    "two spaces": (b"diff --git  a/setup.py b/setup.py\nold mode 100644\nnew mode 100755\n", "prefix", 1),
    "no prefix on the names": (GIT + NAMES.replace(b"a/", b"") + HUNK, "prefix", 2),
    "the prefixes swapped on the names": (GIT + b"--- b/docs/ok.md\n+++ a/docs/ok.md\n" + HUNK, "prefix", 2),
    "no prefix on a renaming diff line": (RENAME.replace(b"a/", b"").replace(b"b/", b""), "prefix", 1),
    "a name that is not UTF-8": (names(b"a/\xe9", b"b/\xe9") + b"old mode 100644\nnew mode 100755\n", "name", 1),
    "a quoted name that is not UTF-8": (
        names(b'"a/\\351"', b'"b/\\351"') + b"old mode 100644\nnew mode 100755\n",
        "name",
        1,
    ),
    "an overlong slash": (names(b"a/x\xc0\xafy", b"b/x\xc0\xafy") + b"old mode 100644\nnew mode 100755\n", "name", 1),
    "a surrogate": (names(b"a/\xed\xa0\x80", b"b/\xed\xa0\x80") + b"old mode 100644\nnew mode 100755\n", "name", 1),
    "a form feed in a name": (names(b"a/x\x0c", b"b/x\x0c") + b"old mode 100644\nnew mode 100755\n", "name", 1),
    "a quoted TAB in a name": (names(b'"a/x\\ty"', b'"b/x\\ty"') + b"old mode 100644\nnew mode 100755\n", "name", 1),
    "a quoted NUL in a name": (
        names(b'"a/x\\000y"', b'"b/x\\000y"') + b"old mode 100644\nnew mode 100755\n",
        "name",
        1,
    ),
    "NEL in a name": (names(b"a/x\xc2\x85", b"b/x\xc2\x85") + b"old mode 100644\nnew mode 100755\n", "name", 1),
    "a line separator in a name": (
        names(b"a/\xe2\x80\xa8", b"b/\xe2\x80\xa8") + b"old mode 100644\nnew mode 100755\n",
        "name",
        1,
    ),
    "a raw TAB in a rename": (b"diff --git a/x b/y\tz\nrename from x\nrename to y\tz\n", "name", 1),
    "a long name": (
        names(b"a/" + b"x" * 4097, b"b/" + b"x" * 4097) + b"old mode 100644\nnew mode 100755\n",
        "limit",
        1,
    ),
    "binary files differ": (GIT + b"index 1234567..89abcde 100644\nBinary files a/x and b/x differ\n", "binary", 3),
    "files differ": (GIT + b"index 1234567..89abcde 100644\nFiles a/docs/ok.md and b/docs/ok.md differ\n", "binary", 3),
    "binary files differ, no header": (GIT + b"Binary files a/docs/ok.md and b/docs/ok.md differ\n", "binary", 2),
    "combined hunk in a section": (GIT + b"index 1234567..89abcde\n@@@ -1 -1 +1 @@@\n", "combined", 3),
    "coloured hunk": (GIT + NAMES + b"\x1b[36m@@ -1 +1 @@\x1b[m\n", "ansi", 4),
    "binary without a block": (BINARY, "malformed", 5),
    "binary without the empty line": (BINARY + BLOCK.replace(b"9v\n\n", b"9v\n"), "malformed", 7),
    "binary, second block open": (BINARY + BLOCK[:-1] + OTHER, "malformed", 10),
    "binary, three blocks": (BINARY + BLOCK + b"literal 0\nHcmV?d00001\n\n", "malformed", 11),
    "binary, wrong length letter": (BINARY + BLOCK.replace(b"Rc$", b"Sc$").replace(b"9v", b"9vaaaaa"), "malformed", 6),
    "binary, space in base85": (BINARY + BLOCK.replace(b"WMW", b"W W"), "malformed", 6),
    "binary, size with a zero": (BINARY + BLOCK.replace(b"literal 10", b"literal 010"), "malformed", 5),
    "binary, short line first": (
        BINARY + BLOCK.replace(b"9v\n", b"9v\nRc${NkWMWRr%u6h)1ON!h0*n9v\n", 1),
        "malformed",
        7,
    ),
    "binary, empty block": (BINARY + b"literal 0\n\n", "malformed", 6),
}
HUNKS = {
    "bare": (GIT + NAMES + b"@@\n line1\n+x\n", "malformed", 4),
    "dots": (GIT + NAMES + b"@@ ... @@\n line1\n+x\n", "malformed", 4),
    "negative": (GIT + NAMES + b"@@ --1,3 +1,4 @@\n", "malformed", 4),
    "plus sign": (GIT + NAMES + b"@@ -+1,3 +1,4 @@\n", "malformed", 4),
    "leading zeros": (GIT + NAMES + b"@@ -01,3 +1,4 @@\n", "malformed", 4),
    "two spaces": (GIT + NAMES + b"@@ -1,3  +1,4 @@\n", "malformed", 4),
    "eleven digits": (GIT + NAMES + b"@@ -10000000000,3 +1,4 @@\n", "malformed", 4),
    "other digits": (GIT + NAMES + "@@ -\u0661 +1 @@\n".encode(), "malformed", 4),
    "huge count": (GIT + NAMES + HUNK.replace(b"-1,3 +1,4", b"-1,4294967299 +1,4294967300"), "malformed", 4),
    "no change": (GIT + NAMES + b"@@ -1,2 +1,2 @@\n line1\n line2\n", "malformed", 4),
    "no change, no lines, a marker": (GIT + NAMES + b"@@ -0,0 +0,0 @@\n\\ No newline at end of file\n", "malformed", 4),
    "no change, no lines": (GIT + NAMES + b"@@ -0,0 +0,0 @@\n", "malformed", 4),
    "too few lines": (GIT + NAMES + HUNK.replace(b"1,3 +1,4", b"1,9 +1,10") + OTHER, "malformed", 9),
    "too few lines at the end": (GIT + NAMES + HUNK.replace(b"1,3 +1,4", b"1,9 +1,10"), "malformed", 4),
    "too many lines": (OK + b"+more\n", "malformed", 9),
    "a context line too many": (OK + b" more\n", "malformed", 9),
    "old lines instead of new ones": (GIT + NAMES + b"@@ -1,2 +1,3 @@\n line1\n-line2\n-line3\n", "malformed", 7),
    "junk in the hunk": (GIT + NAMES + b"@@ -1,2 +1,3 @@\n line1\n+x\njunk\n", "malformed", 7),
    "a new header behind the hunk": (OK + b"--- a/setup.py\n+++ b/setup.py\n" + HUNK, "malformed", 9),
    "a bad hunk behind the hunk": (OK + b"@@ junk\n", "malformed", 9),
    "a hunk cut off by an empty line": (OK + b"\n@@ -6,2 +7,3 @@\n line6\n+x\n line7\n", "malformed", 10),
    "a hunk that goes back": (OK + b"@@ -1,2 +9,3 @@\n line1\n+x\n line2\n", "malformed", 9),
    "a hunk that overlaps": (OK + b"@@ -3,2 +4,3 @@\n line3\n+x\n line4\n", "malformed", 9),
    "a hunk that goes back on the new side": (OK + b"@@ -9,2 +2,3 @@\n line9\n+x\n line4\n", "malformed", 9),
    "an emptied side that goes back": (OK + b"@@ -6,2 +2,0 @@\n-line6\n-line7\n", "malformed", 9),
    "no context": (GIT + NAMES + b"@@ -2,0 +3 @@\n+x\n", "malformed", 4),
    "an insertion into nothing below a hunk": (OK + b"@@ -0,0 +9 @@\n+x\n", "malformed", 9),
    "lines before line one": (GIT + NAMES + b"@@ -0,2 +1,3 @@\n a\n+x\n b\n", "malformed", 4),
    "new lines before line one": (GIT + NAMES + b"@@ -1,2 +0,3 @@\n a\n+x\n b\n", "malformed", 4),
    "created with an old line": (NEW + NEW_HUNK.replace(b"-0,0", b"-1").replace(b"+a\n", b"-z\n+a\n"), "malformed", 5),
    "created at line two": (NEW + NEW_HUNK.replace(b"+1,2", b"+2,2"), "malformed", 5),
    "created twice over": (NEW + NEW_HUNK + b"@@ -1,1 +4,2 @@\n x\n+c\n", "malformed", 5),
    "deleted with a new line": (
        GIT + b"deleted file mode 100644\n--- a/docs/ok.md\n+++ /dev/null\n@@ -1,2 +1 @@\n-a\n b\n",
        "malformed",
        5,
    ),
    "deleted from line two": (
        GIT + b"deleted file mode 100644\n--- a/docs/ok.md\n+++ /dev/null\n@@ -2 +0,0 @@\n-a\n",
        "malformed",
        5,
    ),
    "marker in the middle of additions": (
        NEW + NEW_HUNK.replace(b"+a\n", b"+a\n\\ No newline at end of file\n"),
        "malformed",
        7,
    ),
    "marker behind context in the middle": (
        GIT + NAMES + HUNK.replace(b" line1\n", b" line1\n\\ No newline at end of file\n"),
        "malformed",
        6,
    ),
    "marker behind a line that only ends the old side": (
        GIT + NAMES + b"@@ -1 +1,2 @@\n line1\n\\ No newline at end of file\n+x\n",
        "malformed",
        6,
    ),
    "marker first": (GIT + NAMES + b"@@ -1,2 +1,3 @@\n\\ No newline at end of file\n a\n+x\n b\n", "malformed", 5),
    "marker twice": (OK + b"\\ No newline at end of file\n" * 2, "malformed", 10),
    "marker twice in the hunk": (
        GIT + NAMES + b"@@ -1 +1 @@\n-a\n" + b"\\ No newline at end of file\n" * 2 + b"+b\n",
        "malformed",
        7,
    ),
    "marker too short": (OK + b"\\ No newlin\n", "malformed", 9),
    "marker without a space": (OK + b"\\No newline at end of file\n", "malformed", 9),
    "marker with a control character": (OK + b"\\ No newline\x0bat end of file\n", "malformed", 9),
    "hunk behind a marker": (
        OK + b"\\ No newline at end of file\n@@ -6,2 +7,3 @@\n line6\n+x\n line7\n",
        "malformed",
        10,
    ),
    "marker behind a gap": (OK + b"\n\\ No newline at end of file\n+x\n" + NAMES, "traditional", 12),
}
PROSE = {
    "a traditional patch before": (NAMES + HUNK + OK, "traditional", 1),
    "a traditional patch behind text": (OK + b"Thanks!\n" + NAMES + HUNK, "traditional", 10),
    "a traditional patch behind a mode": (MODE + b"junk\n" + NAMES + HUNK, "traditional", 5),
    "half a header": (b"--- a/x\n" + OK, "prose", 1),
    "an indented diff": (b"Why:\n    --- a/setup.py\n" + OK, "prose", 2),
    "a diff behind X": (b"X--- a/setup.py\n" + OK, "prose", 1),
    "a quoted diff": (b"> diff --git a/x b/x\n" + OK, "prose", 1),
    "a diff behind a dash": (b"- --- a/setup.py\n" + OK, "prose", 1),
    "a diff behind a byte order mark": (OK + b"\xef\xbb\xbfdiff --git a/x b/x\nold mode 100644\n", "prose", 9),
    "an index line of Subversion": (b"Index: setup.py\n" + OK, "prose", 1),
    "a prerequisite": (b"Prereq: 1.2\n" + OK, "prose", 1),
    "an index line": (b"index 1234567..89abcde\n" + OK, "prose", 1),
    "a mode behind a mode": (MODE + b"\nnew mode 100644\n", "prose", 5),
    "a rename behind a mode": (MODE + b"junk\nrename from x\n", "prose", 5),
    "the other spelling behind a mode": (MODE + b"junk\nrename new x\n", "prose", 5),
    "binary files differ": (b"Binary files a/x and b/x differ\n" + OK, "prose", 1),
    "a binary patch": (b"GIT binary patch\n" + OK, "prose", 1),
    "an ed command": (OK + b"x\n3d\n", "ed", 10),
    "an ed command behind X": (OK + b"x\nX3d\n", "prose", 10),
    "an RCS command": (OK + b"x\nd1 1\n", "rcs", 10),
    "a carriage return": (b"hello\r\n" + OK, "prose", 1),
    "a vertical tab": (b"x\x0bdiff --git a/x b/x\n" + OK, "prose", 1),
    "NEL": (b"x\xc2\x85y\n" + OK, "prose", 1),
    "base64": (b"Content-Transfer-Encoding: base64\n\n" + OK, "prose", 1),
    "quoted-printable in capitals": (b"CONTENT-TRANSFER-ENCODING: Quoted-Printable\n\n" + OK, "prose", 1),
    "a folded encoding": (b"Content-Transfer-Encoding: 8bit\n\tx\n" + OK, "prose", 1),
    "multipart": (b"Content-Type: multipart/mixed; boundary=x\n" + OK, "prose", 1),
    "flowed": (b"Content-Type: text/plain; charset=utf-8; format=flowed\n" + OK, "prose", 1),
    "a folded type": (b"Content-Type: text/plain;\n charset=utf-8\n" + OK, "prose", 1),
    "UTF-7": (b"Content-Type: text/plain; charset=UTF-7\n" + OK, "prose", 1),
    "a boundary behind a quoted charset": (b'Content-Type: text/plain; charset="utf-8"boundary=x\n' + OK, "prose", 1),
    "flowed behind a quoted charset": (b'Content-Type: text/plain; charset="utf-8"format=flowed\n' + OK, "prose", 1),
    "a charset that only begins well": (b"Content-Type: text/plain; charset=utf-8boundary=x\n" + OK, "prose", 1),
    "a charset without its second quote": (b'Content-Type: text/plain; charset="utf-8\n' + OK, "prose", 1),
    "a charset that git may not know": (b"Content-Type: text/plain; charset=iso-8859-16\n" + OK, "prose", 1),
    "two charsets": (b"Content-Type: text/plain; charset=utf-8; charset=utf-7\n" + OK, "prose", 1),
    "an encoded word": (b"Content-Type: =?us-ascii?q?text/plain;_charset=3Dutf-7?=\n" + OK, "prose", 1),
    "an indented type": (b"\n \tcontent-type: text/html\n" + OK, "prose", 2),
    "an indented encoding": (b"  Content-Transfer-Encoding: base64\n" + OK, "prose", 1),
    "a type in a later mail": (OK + b"From 0123\nContent-Type: text/plain; charset=utf-7\n", "prose", 10),
    "a series of StGit": (b"# This series applies on GIT commit 0123\n" + OK, "prose", 1),
    "a type in a changeset of hg": (b"# HG changeset patch\nContent-Type: text/html\n" + OK, "prose", 2),
    "a patch of StGit": (b"\n\nDate: x\n\nFrom: a\n" + OK, "prose", 5),
    "a patch of StGit by an author": (b"x\n\nAuthor: a\n" + OK, "prose", 3),
}
REPEATED = {
    "modified twice": (OK + OK, "repeated", 9),
    "modified and deleted": (OK + GIT + b"deleted file mode 100644\n", "repeated", 9),
    "created twice": ((NEW + NEW_HUNK) * 2, "repeated", 8),
    "created, then deleted": (NEW + NEW_HUNK + b"diff --git a/n b/n\ndeleted file mode 100644\n", "repeated", 8),
    "deleted, something else, created": (b"diff --git a/n b/n\ndeleted file mode 100644\n" + OK + NEW, "repeated", 11),
    "renamed, and changed": (RENAME + OK, "repeated", 5),
    "renamed, and created": (RENAME + GIT + b"new file mode 100644\n", "repeated", 5),
    "renamed to a changed path": (
        b"diff --git a/x b/docs/ok.md\nrename from x\nrename to docs/ok.md\n" + OK,
        "repeated",
        4,
    ),
    "deleted, and renamed to": (
        GIT + b"deleted file mode 100644\ndiff --git a/x b/docs/ok.md\nrename from x\nrename to docs/ok.md\n",
        "repeated",
        3,
    ),
    "copied from a path that is created": (b"diff --git a/n b/m\ncopy from n\ncopy to m\n" + NEW, "repeated", 4),
    "below a file of the old tree": (OK + OTHER.replace(b"setup.py", b"docs/ok.md/x"), "repeated", 9),
    "below a file of the new tree": (NEW + NEW.replace(b"/n", b"/n/x"), "repeated", 3),
    "below a copy's source": (
        b"diff --git a/n b/m\ncopy from n\ncopy to m\n" + NEW.replace(b"/n", b"/n/x"),
        "repeated",
        4,
    ),
    "copied below itself": (b"diff --git a/n b/n/m\ncopy from n\ncopy to n/m\n", "repeated", 1),
    "below a link that is renamed to": (
        b"diff --git a/l b/m\nrename from l\nrename to m\n" + NEW.replace(b"/n", b"/m/x"),
        "repeated",
        4,
    ),
    "below a link that is deleted": (
        b"diff --git a/l b/l\ndeleted file mode 120000\n" + NEW.replace(b"/n", b"/l/x"),
        "repeated",
        3,
    ),
}
ALL = {
    f"{group}: {name}": case
    for group, table in (
        ("whole", WHOLE),
        ("section", SECTION),
        ("hunk", HUNKS),
        ("prose", PROSE),
        ("repeated", REPEATED),
    )
    for name, case in table.items()
}


@pytest.mark.parametrize("name", ALL)
def test_refused_for_its_reason_at_its_line(name):
    data, reason, line = ALL[name]
    patch = read_patch(data)
    assert patch.problem is not None
    assert (patch.problem.reason, patch.problem.line) == (reason, line), patch.problem.message
    assert patch.problem.message.isprintable()
    assert len(patch.problem.message) <= 200
    assert patch.problem.remedy == REASONS[reason].remedy
    assert (patch.files, patch.hunk_count, patch.added_lines, patch.removed_lines) == ((), 0, 0, 0)
    assert not patch.well_formed


@pytest.mark.parametrize(
    ("limits", "data", "line"),
    [
        (DiffLimits(max_bytes=len(OK) - 1), OK, None),
        (DiffLimits(max_files=1), OK + OTHER, 9),
        (DiffLimits(max_hunks=1), OK + OTHER, 12),
        (DiffLimits(max_hunks=1), OK + HUNK.replace(b"-1,3 +1,4", b"-9,3 +10,4"), 9),
        (DiffLimits(max_line_bytes=len(GIT) - 2), OK, 1),
        (
            DiffLimits(max_name_bytes=10),
            OK + b"diff --git a/long-names.py b/long-names.py\nold mode 100644\nnew mode 100755\n",
            9,
        ),
        (DiffLimits(max_name_bytes=10), OK + OTHER.replace(b"setup.py", b"long-setups"), 9),
    ],
)
def test_each_bound_is_inclusive_and_named(limits, data, line):
    problem = read_patch(data, limits).problem
    assert problem is not None
    assert (problem.reason, problem.line) == ("limit", line), problem.message


def test_bounds_that_are_just_met_are_no_trouble():
    data = OK + OTHER
    exact = DiffLimits(max_bytes=len(data), max_files=2, max_hunks=2, max_line_bytes=len(GIT), max_name_bytes=10)
    assert read_patch(data, exact).well_formed
    two = OK + HUNK.replace(b"-1,3 +1,4", b"-9,3 +10,4")
    assert read_patch(two, DiffLimits(max_hunks=2)).well_formed


def test_prose_is_counted_up_to_a_later_problem():
    patch = read_patch(b"\nhello\n\nworld\n" + OK + b"bye\n" + GIT)
    assert patch.problem is not None
    assert (patch.problem.reason, patch.problem.line) == ("malformed", 14)
    assert (patch.prose_lines, patch.first_prose_line) == (3, 2)
