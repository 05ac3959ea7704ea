"""Added and removed lines: where they are, where they are not, and that searching stays linear."""

import time

import pytest

from idkmesh_rules.diff import LineHit, changed_lines, find_line, read_patch

DATA = (
    b"needle in prose\n"
    b"diff --git a/needle b/needle\nold mode 100755\nnew mode 100644\n"
    b"diff --git a/x b/x\n--- a/x\n+++ b/x\n"
    b"@@ -1,4 +1,4 @@ needle\n needle\n-needle\n+other\n\n+ needle \n-gone\n"
    b"@@ -11,2 +11,4 @@\n ctx\n+again\n+\n ctx\n\\ No newline at end of file\n"
    b"diff --git a/y b/z\nsimilarity index 50%\nrename from y\nrename to z\n--- a/y\n+++ b/z\n"
    b"@@ -5 +5 @@\n-moved\n+moved\n@@ -9 +9 @@\n-again\n+needle\n"
)
PATCH = read_patch(DATA)


def test_the_patch_is_what_the_tests_think():
    assert PATCH.problem is None
    assert (PATCH.added_lines, PATCH.removed_lines, PATCH.prose_lines) == (6, 4, 1)


def test_changed_lines_know_their_places():
    assert [(line.path, line.patch_line, line.file_line, line.text) for line in changed_lines(PATCH, "added")] == [
        ("x", 11, 2, b"other"),
        ("x", 13, 4, b" needle "),
        ("x", 17, 12, b"again"),
        ("x", 18, 13, b""),
        ("z", 29, 5, b"moved"),
        ("z", 32, 9, b"needle"),
    ]
    assert [(line.path, line.patch_line, line.file_line, line.text) for line in changed_lines(PATCH, "removed")] == [
        ("x", 10, 2, b"needle"),
        ("x", 14, 4, b"gone"),
        ("y", 28, 5, b"moved"),
        ("y", 31, 9, b"again"),
    ]


@pytest.mark.parametrize(
    ("text", "side", "match", "hit"),
    [
        (b"needle", "added", "whole", LineHit("z", 32, 9, False)),
        (b"needle", "removed", "whole", LineHit("x", 10, 2, False)),
        (b"needle", "added", "substring", LineHit("x", 13, 4, False)),
        (b"eed", "removed", "substring", LineHit("x", 10, 2, False)),
        (b"moved", "added", "whole", LineHit("z", 29, 5, True)),
        (b"ove", "removed", "substring", LineHit("y", 28, 5, True)),
        (b"again", "added", "whole", LineHit("x", 17, 12, False)),
        (b"", "added", "whole", LineHit("x", 18, 13, False)),
        (b"", "removed", "whole", None),
        (b"", "added", "substring", LineHit("x", 11, 2, False)),
        (b"+other", "added", "substring", None),
        (b"other", "removed", "whole", None),
        (b"Needle", "added", "substring", None),
        (b"ctx", "added", "substring", None),
        (b"++ b/x", "added", "whole", None),
        (b"-- a/x", "removed", "whole", None),
        (b"other\n\n", "added", "substring", None),
        (b"prose", "added", "substring", None),
        (b"No newline", "added", "substring", None),
        (b"+", "added", "substring", None),
    ],
)
def test_a_line_is_found_where_it_counts(text, side, match, hit):
    assert find_line(PATCH, text, side=side, match=match) == hit


def test_text_behind_the_last_hunk_does_not_count():
    patch = read_patch(DATA + b"the end\n")
    assert patch.problem is None
    assert find_line(patch, b"the end", side="added", match="substring") is None


def test_a_sign_does_not_hide_the_text_behind_it():
    patch = read_patch(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n x\n+a+\n+++\n")
    assert patch.problem is None
    assert find_line(patch, b"+", side="added", match="substring") == LineHit("x", 6, 2, False)
    assert find_line(patch, b"++", side="added", match="whole") == LineHit("x", 7, 3, False)


def test_neighbouring_candidates_are_not_jumped_over():
    patch = read_patch(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+a\n")
    assert find_line(patch, b"a", side="added", match="whole") == LineHit("x", 7, 2, True)


@pytest.mark.parametrize("match", ["whole", "substring"])
def test_many_misses_take_linear_time(match):
    body = b"".join(b" miss\n-miss\n" for _ in range(100_000))
    data = b"miss\n" * 100_000 + b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,200000 +1,100001 @@\n" + body + b"+end\n"
    patch = read_patch(data)
    assert patch.problem is None
    start = time.process_time()
    assert find_line(patch, b"miss", side="added", match=match) is None
    assert time.process_time() - start < 5


def test_text_that_stands_in_every_header_takes_linear_time():
    section = (
        b"diff --git a/%(n)d b/%(n)d\nindex 1234567..89abcde 100644\n--- a/%(n)d\n+++ b/%(n)d\n@@ -1 +1 @@\n-x\n+y\n"
    )
    patch = read_patch(b"".join(section % {b"n": number} for number in range(60_000)))
    assert patch.problem is None
    start = time.process_time()
    assert find_line(patch, b"index", side="added", match="substring") is None
    assert time.process_time() - start < 5


def test_a_refused_patch_has_no_lines():
    patch = read_patch(DATA[:-1])
    assert list(changed_lines(patch, "added")) == []
    assert find_line(patch, b"needle", side="added", match="substring") is None
