"""Inputs made to be slow are read in time that grows with their size; the bound is generous, a square would break it."""

import time

import pytest

from idkmesh_rules.diff import read_patch

SIZE = 1_500_000
GIT = b"diff --git a/x b/x\n"
NAMES = GIT + b"--- a/x\n+++ b/x\n"
OK = NAMES + b"@@ -1 +1,2 @@\n x\n+y\n"
MODE = b"diff --git a/%b b/%b\nold mode 100755\nnew mode 100644\n"
DEEP = b"diff --git a/%d/%b b/%d/%b\nnew file mode 100644\n"
SIGNED = b"diff --git a/%d b/%d\n--- a/%d\n+++ b/%d\n@@ -1,2 +1 @@\n x\n-y\n-- \n"
MARKED = b"diff --git a/%d b/%d\n--- a/%d\n+++ b/%d\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n"

INPUTS = {
    "a line of spaces in prose": (b" " * SIZE + b"z\n" + OK, None),
    "a line of dashes in prose": (b"-" * SIZE + b"\n" + OK, None),
    "a line of X in prose": (b"X" * SIZE + b"z\n" + OK, None),
    "empty lines": (b"\n" * SIZE + OK, None),
    "prose": (b"Some prose, harmless.\n" * (SIZE // 22) + OK, None),
    "short prose": (b"a\n" * (SIZE // 2) + OK, None),
    "almost a file comparison": (b"Files " + b" diffe" * (SIZE // 6) + b"\n" + OK, None),
    "almost a command": (b"1," * (SIZE // 2) + b"x\n" + OK, None),
    "almost a content type": (b"Content-Type: text/plain" + b" " * SIZE + b"x\n" + OK, "prose"),
    "spaces in a header": (b"diff --git a/" + b" " * SIZE + b" b/" + b" " * SIZE + b"\nold mode 100755\n", "malformed"),
    "quotes in a header": (
        b'diff --git a/x "' + b' "' * (SIZE // 2) + b"\nold mode 100755\nnew mode 100644\n",
        "malformed",
    ),
    "escapes in a header": (
        b'diff --git "a/' + b"\\\\" * (SIZE // 2) + b"\nold mode 100755\nnew mode 100644\n",
        "malformed",
    ),
    "a name of many names": (MODE % ((b"x b/" * (SIZE // 8) + b"y",) * 2), "limit"),
    "a rename of many names": (
        b"diff --git a/" + b" b/" * (SIZE // 3) + b"\nrename from x\nrename to y\n",
        "malformed",
    ),
    "abandoned diff lines": (GIT * (SIZE // 19), "malformed"),
    "header lines": (GIT + b"index 1234567..1234567\n" * (SIZE // 23), "malformed"),
    "old names without end": (b"--- \n" * (SIZE // 5), None),
    "digits": (b"1" * SIZE + b"\n", None),
    "context without its space": (NAMES + b"@@ -1,%d +1,%d @@\n" % (SIZE, SIZE + 1) + b"\n" * SIZE + b"+x\n", None),
    "empty removals": (NAMES + b"@@ -1,%d +0,0 @@\n" % (SIZE // 2) + b"-\n" * (SIZE // 2), None),
    "a hunk that ends too early": (NAMES + b"@@ -1,9999999999 +1,9999999999 @@\n" + b" \n" * (SIZE // 2), "malformed"),
    "text behind the ranges": (NAMES + b"@@ -1 +1,2 @@" + b" @@" * (SIZE // 3) + b"\n x\n+y\n", None),
    "binary content": (
        GIT
        + b"index 1234567..89abcde 100644\nGIT binary patch\nliteral 1\n"
        + (b"z" + b"0" * 65 + b"\n") * (SIZE // 67)
        + b"\n",
        None,
    ),
    "deep paths": (
        b"".join(DEEP % (at, b"a/" * 1000 + b"b", at, b"a/" * 1000 + b"b") for at in range(SIZE // 4100)),
        None,
    ),
    "modes": (b"".join(MODE % ((b"%d" % at,) * 2) for at in range(SIZE // 60)), None),
    "signatures": (b"".join(SIGNED % ((at,) * 4) for at in range(SIZE // 75)), None),
    "markers": (b"".join(MARKED % ((at,) * 4) for at in range(SIZE // 90)), None),
    "a line of 5 MB": (NAMES + b"@@ -1 +1 @@\n-x\n+" + b"y" * 5_000_000 + b"\n", None),
}


@pytest.mark.parametrize("name", INPUTS)
def test_time_grows_with_the_size(name):
    data, reason = INPUTS[name]
    start = time.process_time()
    problem = read_patch(data).problem
    assert time.process_time() - start < 3
    assert (problem and problem.reason) == reason
