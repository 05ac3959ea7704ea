"""The second opinion: asked only where it can be right, and heard when it disagrees."""

import subprocess
import sys

import pytest
import whatthepatch.patch

from idkmesh_rules.diff import SecondOpinion, read_patch, second_opinion

HEAD = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n"


@pytest.mark.parametrize(
    "body",
    [
        b"@@ -1 +1 @@\n-a\n+b\n",
        b"@@ -1,4 +1,4 @@\n line1\n--- a/docs/ok.md\n+++ b/setup.py\n -- y\n @@ -1 +1 @@\n",
        b"@@ -1,3 +1,4 @@\n line1\n\n+x\n line3\n@@ -9,2 +10 @@\n-a\n b\n",
        b"@@ -0,0 +1,2 @@\n+\n+x\n",
        b"@@ -1,3 +1,2 @@\n x\n-a\n-b\n+c\n\\ No newline at end of file\n",
        b"@@ -1 +1,2 @@\n caf\xe9\n+\xff\xfe\n",
        b"@@ -1 +1,2 @@\n x\n+\x85\n",
    ],
)
def test_both_parsers_agree(body):
    assert second_opinion(read_patch(HEAD + body)) == SecondOpinion("agrees", None)


ODD = [b"\r", b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9"]


@pytest.mark.parametrize("odd", ODD)
def test_other_line_ends_leave_a_section_out(odd):
    patch = read_patch(HEAD + b"@@ -1 +1,2 @@\n x\n+a" + odd + b"b\n")
    opinion = second_opinion(patch)
    assert opinion.verdict == "none"
    assert "1 of 1 sections" in (opinion.reason or "")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"junk\n", "no section"),
        (b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "no section"),
        (b"", "refused"),
    ],
)
def test_nothing_to_compare(data, words):
    opinion = second_opinion(read_patch(data))
    assert opinion.verdict == "none"
    assert words in (opinion.reason or "")


def test_large_patches_are_not_compared():
    patch = read_patch(HEAD + b"@@ -1 +1 @@\n-a\n+b\n")
    assert second_opinion(patch, max_bytes=len(patch.data)).verdict == "agrees"
    assert second_opinion(patch, max_bytes=len(patch.data) - 1) == SecondOpinion(
        "none", f"the patch has over {len(patch.data) - 1} bytes"
    )


@pytest.mark.parametrize(("drop", "words"), [(0, "removed"), (-1, "added")])
def test_a_disagreement_is_told_with_its_section(monkeypatch, drop, words):
    patch = read_patch(HEAD + b"@@ -1 +1 @@\n-a\n+b\n")
    real = whatthepatch.patch.parse_unified_diff

    def forgetful(text):
        changes = real(text)
        del changes[drop]
        return changes

    monkeypatch.setattr(whatthepatch.patch, "parse_unified_diff", forgetful)
    opinion = second_opinion(patch)
    assert opinion.verdict == "disagrees"
    assert "line 1" in (opinion.reason or "")
    assert words in (opinion.reason or "")


def test_reading_a_patch_does_not_import_the_second_parser():
    code = "import sys; from idkmesh_rules.diff import read_patch; read_patch(b'x'); sys.exit('whatthepatch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        (b"diff --git a/x b/.github/x\nsimilarity index 100%\nrename from x\nrename to .github/x\n", "none"),
        (b"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n", "none"),
        (b"diff --git a/.git/x b/.git/x\n--- a/.git/x\n+++ b/.git/x\n@@ -1 +1 @@\n-a\n+b\n", "agrees"),
    ],
)
def test_it_is_blind_to_names_and_modes(data, verdict):
    """A disagreement is a reason to refuse; agreement is no reason to trust a path."""
    patch = read_patch(data)
    assert patch.problem is None
    assert second_opinion(patch).verdict == verdict
