"""What is accepted, and what comes out of it."""

import pytest

from idkmesh_rules.diff import Hunk, PatchPath, read_patch
from idkmesh_rules.diff.reader import _Reader
from idkmesh_rules.diff.values import DiffLimits

GIT = b"diff --git a/docs/ok.md b/docs/ok.md\n"
NAMES = b"--- a/docs/ok.md\n+++ b/docs/ok.md\n"
HUNK = b"@@ -1,3 +1,4 @@\n line1\n+added\n line2\n line3\n"
OK = GIT + NAMES + HUNK
NO_END = b"\\ No newline at end of file\n"
BLOCK = b"literal 10\nRc${NkWMWRr%u6h)1ON!h0*n9v\n\nliteral 0\nHcmV?d00001\n\n"

# Name: the patch; then operation, old path, new path, old mode, new mode of each section, and lines added and removed.
ACCEPTED = {
    "modified": (OK, [("modify", "docs/ok.md", "docs/ok.md", None, None)], 1, 0),
    "modified, mode on the index line": (
        GIT + b"index 1234567..89abcde 100755\n" + NAMES + HUNK,
        [("modify", "docs/ok.md", "docs/ok.md", "100755", "100755")],
        1,
        0,
    ),
    "two hunks": (
        OK + b"@@ -6,2 +7,1 @@ def f():\n line6\n-line7\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        1,
    ),
    "hunks that touch": (
        OK + b"@@ -4,2 +5,1 @@\n line4\n-line5\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        1,
    ),
    "text glued to the ranges": (
        OK.replace(b"@@\n", b"@@def f() @@ x\r\n"),
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        0,
    ),
    "created": (
        (
            b"diff --git a/n b/n\nnew file mode 100644\nindex 0000000..3e75765\n"
            b"--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        ),
        [("add", None, "n", None, "100644")],
        2,
        0,
    ),
    "created empty": (
        b"diff --git a/n b/n\nnew file mode 100755\nindex 0000000..e69de29\n",
        [("add", None, "n", None, "100755")],
        0,
        0,
    ),
    "created empty, sha-256": (
        b"diff --git a/n b/n\nnew file mode 100644\nindex 0000000..473a0f4c3be8\n",
        [("add", None, "n", None, "100644")],
        0,
        0,
    ),
    "created empty, no index line": (
        b"diff --git a/n b/n\nnew file mode 100644\n",
        [("add", None, "n", None, "100644")],
        0,
        0,
    ),
    "deleted": (
        GIT + b"deleted file mode 100644\n--- a/docs/ok.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-line1\n",
        [("delete", "docs/ok.md", None, "100644", None)],
        0,
        1,
    ),
    "deleted empty": (
        GIT + b"deleted file mode 100644\nindex e69de29..0000000\n",
        [("delete", "docs/ok.md", None, "100644", None)],
        0,
        0,
    ),
    "emptied": (GIT + NAMES + b"@@ -1,2 +0,0 @@\n-a\n-b\n", [("modify", "docs/ok.md", "docs/ok.md", None, None)], 0, 2),
    "filled": (GIT + NAMES + b"@@ -0,0 +1 @@\n+a\n", [("modify", "docs/ok.md", "docs/ok.md", None, None)], 1, 0),
    "deletions without context": (
        GIT + NAMES + b"@@ -2 +1,0 @@\n-b\n@@ -4 +2,0 @@\n-d\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        0,
        2,
    ),
    "a deletion without context right below a hunk": (
        OK.replace(b"+1,4", b"+1,4") + b"@@ -4 +4,0 @@\n-line4\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        1,
    ),
    "long text behind the ranges": (
        OK.replace(b"@@\n", b"@@ " + b"x" * 9000 + b"\n"),
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        0,
    ),
    "renamed": (
        b"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n",
        [("rename", "a", "b", None, None)],
        0,
        0,
    ),
    "renamed with an edit, and a mode on the index line": (
        b"diff --git a/a b/b\nsimilarity index 9%\nrename from a\nrename to b\nindex 1234567..89abcde 100755\n"
        b"--- a/a\n+++ b/b\n" + HUNK,
        [("rename", "a", "b", "100755", "100755")],
        1,
        0,
    ),
    "renamed with modes and an edit": (
        b"diff --git a/a b/b\nold mode 100755\nnew mode 100644\nsimilarity index 0%\nrename from a\nrename to b\n"
        b"index 1234567..89abcde\n--- a/a\n+++ b/b\n" + HUNK,
        [("rename", "a", "b", "100755", "100644")],
        1,
        0,
    ),
    "renamed, spaces and b/ in the names": (
        b"diff --git a/x b/y z b/y b/z w\nsimilarity index 100%\nrename from x b/y z\nrename to y b/z w\n",
        [("rename", "x b/y z", "y b/z w", None, None)],
        0,
        0,
    ),
    "renamed, one name quoted": (
        b'diff --git a/a "b/\\303\\251"\nsimilarity index 100%\nrename from a\nrename to "\\303\\251"\n',
        [("rename", "a", "\u00e9", None, None)],
        0,
        0,
    ),
    "renamed, the other name quoted": (
        b'diff --git "a/\\303\\251" b/a b\nsimilarity index 100%\nrename from "\\303\\251"\nrename to a b\n',
        [("rename", "\u00e9", "a b", None, None)],
        0,
        0,
    ),
    "copied": (
        b"diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n",
        [("copy", "a", "b", None, None)],
        0,
        0,
    ),
    "rewritten": (
        GIT + b"dissimilarity index 99%\nindex 1234567..89abcde 100644\n" + NAMES + b"@@ -1 +1 @@\n-a\n+b\n",
        [("modify", "docs/ok.md", "docs/ok.md", "100644", "100644")],
        1,
        1,
    ),
    "mode only": (
        GIT + b"old mode 100755\nnew mode 100644\n",
        [("mode_only", "docs/ok.md", "docs/ok.md", "100755", "100644")],
        0,
        0,
    ),
    "mode only, a name that looks like two": (
        b"diff --git a/x b/x b/x b/x\nold mode 100755\nnew mode 100644\n",
        [("mode_only", "x b/x", "x b/x", "100755", "100644")],
        0,
        0,
    ),
    "mode and edit": (
        GIT + b"old mode 100755\nnew mode 100644\nindex 1234567..89abcde\n" + NAMES + HUNK,
        [("modify", "docs/ok.md", "docs/ok.md", "100755", "100644")],
        1,
        0,
    ),
    "a space and its TAB": (
        b"diff --git a/x y b/x y\n--- a/x y\t\n+++ b/x y\t\n" + HUNK,
        [("modify", "x y", "x y", None, None)],
        1,
        0,
    ),
    "a TAB without need": (
        OK.replace(b"+++ b/docs/ok.md", b"+++ b/docs/ok.md\t"),
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        0,
    ),
    "quoted, with a TAB": (
        b'diff --git "a/\\303\\251 x" "b/\\303\\251 x"\n--- "a/\\303\\251 x"\t\n+++ "b/\\303\\251 x"\n' + HUNK,
        [("modify", "\u00e9 x", "\u00e9 x", None, None)],
        1,
        0,
    ),
    "raw UTF-8": (
        "diff --git a/\u00e9 b/\u00e9\n--- a/\u00e9\n+++ b/\u00e9\n".encode() + HUNK,
        [("modify", "\u00e9", "\u00e9", None, None)],
        1,
        0,
    ),
    "every escape": (
        b'diff --git "a/\\"\\\\x" "b/\\"\\\\x"\nold mode 100755\nnew mode 100644\n',
        [("mode_only", '"\\x', '"\\x', "100755", "100644")],
        0,
        0,
    ),
    "an escaped backslash before digits": (
        b'diff --git "a/\\\\056" "b/\\\\056"\nold mode 100755\nnew mode 100644\n',
        [("mode_only", "\\056", "\\056", "100755", "100644")],
        0,
        0,
    ),
    "prefixes within the name": (
        b"diff --git a/b/x b/b/x\nold mode 100755\nnew mode 100644\n",
        [("mode_only", "b/x", "b/x", "100755", "100644")],
        0,
        0,
    ),
    "a double slash is part of the name": (
        b"diff --git a//x b//x\nold mode 100755\nnew mode 100644\n",
        [("mode_only", "/x", "/x", "100755", "100644")],
        0,
        0,
    ),
    "marker on the new side": (
        OK.replace(b" line3\n", b" line3\n+end\n" + NO_END).replace(b"+1,4", b"+1,5"),
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        2,
        0,
    ),
    "markers on both sides": (
        GIT + NAMES + b"@@ -1 +1 @@\n-a\n" + NO_END + b"+b\n" + NO_END,
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        1,
    ),
    "marker on the old side": (
        GIT + NAMES + b"@@ -1,2 +1,2 @@\n x\n-a\n" + NO_END + b"+b\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        1,
    ),
    "marker in another language": (
        OK + b"\\ Kein Zeilenumbruch am Dateiende.\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        0,
    ),
    "marker of thirteen bytes": (OK + b"\\ 0123456789\n", [("modify", "docs/ok.md", "docs/ok.md", None, None)], 1, 0),
    "context without its space": (
        GIT + NAMES + b"@@ -1,4 +1,5 @@\n line1\n\n+x\n line3\n\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        0,
    ),
    "content that looks like a patch": (
        GIT + NAMES + b"@@ -1,4 +1,4 @@\n line1\n--- a/x\n+++ b/x\n -- y\n @@ -1 +1 @@\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        1,
    ),
    "content of other line ends": (
        GIT + NAMES + b"@@ -1 +1,2 @@\n a\r\n+\x0b\x0c\x1c\x1d\x1e\xc2\x85\xe2\x80\xa8\xe9\r--- a/x\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None)],
        1,
        0,
    ),
    "binary": (
        b"diff --git a/n b/n\nnew file mode 100644\nindex 0000000..1234567\nGIT binary patch\n" + BLOCK,
        [("add", None, "n", None, "100644")],
        0,
        0,
    ),
    "binary, one block": (
        GIT + b"index 1234567..89abcde 100644\nGIT binary patch\ndelta 3\nHcmV?d00001\n\n",
        [("modify", "docs/ok.md", "docs/ok.md", "100644", "100644")],
        0,
        0,
    ),
    "blank lines around": (
        b"\n\n" + OK + b"\n\n" + OK.replace(b"docs/ok.md", b"x") + b"\n",
        [("modify", "docs/ok.md", "docs/ok.md", None, None), ("modify", "x", "x", None, None)],
        2,
        0,
    ),
    "type change": (
        GIT + b"deleted file mode 100644\n" + GIT + b"new file mode 120000\n--- /dev/null\n+++ b/docs/ok.md\n"
        b"@@ -0,0 +1 @@\n+x\n" + NO_END,
        [("delete", "docs/ok.md", None, "100644", None), ("add", None, "docs/ok.md", None, "120000")],
        1,
        0,
    ),
    "swap": (
        (
            b"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"
            b"diff --git a/b b/a\nsimilarity index 100%\nrename from b\nrename to a\n"
        ),
        [("rename", "a", "b", None, None), ("rename", "b", "a", None, None)],
        0,
        0,
    ),
    "copied twice and changed": (
        b"diff --git a/a b/b\ncopy from a\ncopy to b\ndiff --git a/a b/c\ncopy from a\ncopy to c\n"
        + OK.replace(b"docs/ok.md", b"a"),
        [("copy", "a", "b", None, None), ("copy", "a", "c", None, None), ("modify", "a", "a", None, None)],
        1,
        0,
    ),
    "copied to where something is renamed away": (
        b"diff --git a/a b/b\ncopy from a\ncopy to b\ndiff --git a/b b/c\nrename from b\nrename to c\n",
        [("copy", "a", "b", None, None), ("rename", "b", "c", None, None)],
        0,
        0,
    ),
    "a file becomes a directory": (
        b"diff --git a/x b/x\ndeleted file mode 100644\ndiff --git a/x/y b/x/y\nnew file mode 100644\n",
        [("delete", "x", None, "100644", None), ("add", None, "x/y", None, "100644")],
        0,
        0,
    ),
    "neighbours in name only": (
        (
            b"diff --git a/x b/x\nnew file mode 100644\ndiff --git a/x-y b/x-y\nnew file mode 100644\n"
            b"diff --git a/x.d/y b/x.d/y\nnew file mode 100644\n"
        ),
        [
            ("add", None, "x", None, "100644"),
            ("add", None, "x-y", None, "100644"),
            ("add", None, "x.d/y", None, "100644"),
        ],
        0,
        0,
    ),
}


@pytest.mark.parametrize("shortcut", [True, False])
@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, shortcut):
    data, files, added, removed = ACCEPTED[name]
    patch = _Reader(data, DiffLimits(), shortcut=shortcut).read()
    assert patch.problem is None
    assert [
        (file.operation, file.old_path, file.new_path, file.old_mode, file.new_mode) for file in patch.files
    ] == files
    assert (patch.added_lines, patch.removed_lines) == (added, removed)
    assert patch.prose_lines == 0
    assert patch.first_prose_line is None
    assert [file.index for file in patch.files] == list(range(len(files)))
    for file in patch.files:
        assert data.startswith(b"diff --git ", file.offset)
        assert data[: file.offset].count(b"\n") + 1 == file.line
        assert patch.hunk_count == sum(len(each.hunks) for each in patch.files)
        for hunk in file.hunks:
            assert data.split(b"\n")[hunk.line - 1].startswith(b"@@ -%d" % hunk.old_start)
            assert data[: hunk.start].count(b"\n") == hunk.line


@pytest.mark.parametrize("pair", [b"i/ w/", b"c/ i/", b"c/ w/", b"o/ w/", b"1/ 2/", b"b/ a/", b"w/ i/", b"2/ 1/"])
def test_every_pair_of_prefixes_that_git_prints(pair):
    old, new = pair.split()
    data = OK.replace(b"a/docs", b"\0").replace(b"b/docs", new + b"docs").replace(b"\0", old + b"docs")
    patch = read_patch(data + data.replace(b"ok.md", b"other.md"))
    assert patch.problem is None
    assert [file.new_path for file in patch.files] == ["docs/ok.md", "docs/other.md"]


PROSE = {
    "a mail": (
        b"From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: x\nContent-Type: text/plain; charset=UTF-8\n"
        b"Content-Transfer-Encoding: 8bit\n\nWhy\n---\n x | 1 +\n\n" + OK + b"-- \n2.39.5\n\n",
        10,
        1,
    ),
    "a fence": (b"```diff\n" + OK + b"```\n", 2, 1),
    "text behind a hunk": (OK + b"\nBye.\n\n", 1, 10),
    "a signature behind a hunk that ends in a removal": (GIT + NAMES + b"@@ -1,2 +1 @@\n a\n-b\n-- \n2.39.5\n", 2, 7),
    "bare marks": (OK + b"x\n---\n+++\n", 3, 9),
    "hg": (b"# HG changeset patch\n# User a\n" + OK, 2, 1),
    "a quoted charset": (b'Content-Type: text/plain; charset="ISO-8859-15" \n' + OK, 1, 1),
    "ASCII": (b"content-type:text/plain;charset=us-ascii\n" + OK, 1, 1),
    "a mail that names its sender in its text": (b"From: A <a@b>\nSubject: x\n\nFrom: C <c@d>\n\ny\n" + OK, 4, 1),
    "a date far from the start": (b"x\n\n\nDate: x\n" + OK, 2, 1),
    "a sender after a section": (OK + b"x\n\nFrom: a\n", 2, 9),
    "two mails": (OK + b"-- \n2.39.5\n\nFrom 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\n\nx\n---\n", 6, 9),
    "lists": (b"- one\n* two\n> three\n1. four\n" + OK, 4, 1),
    "tabs": (b"\tindented\n" + OK, 1, 1),
}


@pytest.mark.parametrize("name", PROSE)
def test_inert_prose_is_counted(name):
    data, lines, first = PROSE[name]
    patch = read_patch(data)
    assert patch.problem is None
    assert len(patch.files) == 1
    assert (patch.prose_lines, patch.first_prose_line) == (lines, first)


@pytest.mark.parametrize(
    ("data", "lines", "first"), [(b"\n\n", 0, None), (b"hello\n", 1, 1), (b"\n+++ b/file\n\n", 1, 2)]
)
def test_without_sections_it_is_well_formed_and_empty(data, lines, first):
    patch = read_patch(data)
    assert patch.problem is None
    assert (patch.files, patch.prose_lines, patch.first_prose_line) == ((), lines, first)


def flags(header: bytes) -> tuple[bool, bool, bool, bool]:
    patch = read_patch(header)
    assert patch.problem is None
    file = patch.files[-1]
    return file.symlink, file.submodule, file.mode_changed, file.gains_exec


COPY = b"diff --git a/a b/b\n%bcopy from a\ncopy to b\n%b"
RENAME = b"diff --git a/a b/b\n%brename from a\nrename to b\n%b"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (GIT + b"old mode 100644\nnew mode 100755\n", (False, False, True, True)),
        (GIT + b"old mode 100755\nnew mode 100644\n", (False, False, True, False)),
        (b"diff --git a/x b/x\nnew file mode 100755\n", (False, False, False, True)),
        (b"diff --git a/x b/x\nnew file mode 100644\n", (False, False, False, False)),
        (b"diff --git a/x b/x\ndeleted file mode 100755\n", (False, False, False, False)),
        (b"diff --git a/x b/x\ndeleted file mode 120000\n", (True, False, False, False)),
        (b"diff --git a/x b/x\nnew file mode 120000\n", (True, False, False, False)),
        (b"diff --git a/x b/x\nnew file mode 160000\n", (False, True, False, False)),
        (b"diff --git a/x b/x\nold mode 100644\nnew mode 120000\n", (True, False, True, False)),
        (GIT + b"index 1234567..89abcde 160000\n" + NAMES + HUNK, (False, True, False, False)),
        (GIT + b"index 1234567..89abcde 120000\n" + NAMES + HUNK, (True, False, False, False)),
        (GIT + b"index 1234567..89abcde 100755\n" + NAMES + HUNK, (False, False, False, False)),
        (COPY % (b"old mode 100644\nnew mode 100755\n", b""), (False, False, True, True)),
        (COPY % (b"", b"index 1234567..89abcde 100755\n--- a/a\n+++ b/b\n" + HUNK), (False, False, False, True)),
        (RENAME % (b"", b"index 1234567..89abcde 100755\n--- a/a\n+++ b/b\n" + HUNK), (False, False, False, False)),
        (RENAME % (b"", b""), (False, False, False, False)),
    ],
)
def test_flags(header, expected):
    assert flags(header) == expected


def test_binary_is_told():
    (file,) = read_patch(ACCEPTED["binary"][0]).files
    assert file.binary
    assert not read_patch(OK).files[0].binary


@pytest.mark.parametrize("size", range(1, 53))
def test_a_line_of_binary_content_of_every_length(size):
    letter = chr(size + 64) if size <= 26 else chr(size + 70)
    block = b"literal 99\n" + letter.encode() + b"0" * (5 * -(-size // 4)) + b"\n\n"
    head = GIT + b"index 1234567..89abcde 100644\nGIT binary patch\n"
    assert read_patch(head + block).problem is None
    for wrong in (block.replace(b"00000", b"", 1), block.replace(b"0", b"000000", 1), block.replace(b"0", b"", 1)):
        problem = read_patch(head + wrong).problem
        assert problem is not None
        assert (problem.reason, problem.line) == ("malformed", 5)


def test_paths_come_with_their_sides():
    data = b"".join(ACCEPTED[name][0] for name in ("modified", "created", "renamed")) + (
        b"diff --git a/c b/d\ncopy from c\ncopy to d\ndiff --git a/e b/e\ndeleted file mode 100644\n"
    )
    assert list(read_patch(data).paths()) == [
        PatchPath("docs/ok.md", "new", 1),
        PatchPath("n", "new", 9),
        PatchPath("a", "old", 17),
        PatchPath("b", "new", 17),
        PatchPath("c", "old", 21),
        PatchPath("d", "new", 21),
        PatchPath("e", "old", 24),
    ]


def test_hunks_span_their_lines():
    data = OK + b"@@ -6 +7,2 @@\n line6\n+end\n" + NO_END
    first, second = read_patch(data).files[0].hunks
    assert first[:5] == (4, 1, 3, 1, 4)
    assert data[first.start : first.end] == HUNK.split(b"\n", 1)[1]
    assert second == Hunk(9, 6, 1, 7, 2, data.index(b" line6"), len(data))
