"""Laws of the reader: it reads back what was rendered, it is total, and its shortcut decides nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idkmesh_rules.diff import changed_lines, read_patch, second_opinion
from idkmesh_rules.diff.hunks import _WINDOW
from idkmesh_rules.diff.reader import _Reader
from idkmesh_rules.diff.values import DiffLimits
from tests.adversarial.generate import make
from tests.adversarial.render import Side, Style, section

_component = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="/"),
    min_size=1,
    max_size=8,
).filter(lambda text: "\x85" not in text)
_path = st.lists(_component, min_size=1, max_size=3).map("/".join)
_line = st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"").replace(b"\0", b""))
_content = st.lists(_line, max_size=12).map(lambda lines: b"".join(line + b"\n" for line in lines))
_mode = st.sampled_from(["100644", "100755"])
_style = st.builds(Style, st.just("a/"), st.just("b/"), st.booleans(), st.booleans(), st.sampled_from([1, 2, 3]))


@st.composite
def changes(draw):
    """One change: its operation and sides, which a reader must find again."""
    path, content, mode = draw(_path), draw(_content), draw(_mode)
    old = Side(path, mode, content)
    how = draw(st.sampled_from(["modify", "add", "delete", "rename", "copy", "mode_only"]))
    if how == "modify":
        return how, old, Side(path, mode, content + b"end\n")
    if how == "add":
        return how, None, old
    if how == "delete":
        return how, old, None
    if how == "mode_only":
        return how, old, Side(path, "100755" if mode == "100644" else "100644", content)
    return how, old, Side(path + "x", draw(_mode), draw(st.one_of(st.just(content), _content)))


@given(changes(), _style)
@settings(max_examples=400)
def test_reading_what_was_rendered_gives_it_back(change, style):
    how, old, new = change
    data = section(old, new, style, how=how if how in ("rename", "copy") else "")
    patch = read_patch(data)
    assert patch.problem is None, (patch.problem, data)
    (file,) = patch.files
    assert (file.operation, file.old_path, file.new_path) == (how, old and old.path, new and new.path)
    for told, side in ((file.old_mode, old), (file.new_mode, new)):
        assert told is None or (side is not None and told == side.mode)
    before = old.content.split(b"\n") if old else []
    after = new.content.split(b"\n") if new else []
    for side, lines in (("removed", before), ("added", after)):
        for line in changed_lines(patch, side):
            assert lines[line.file_line - 1] == line.text
            assert data.split(b"\n")[line.patch_line - 1][1:] == line.text
    assert second_opinion(patch).verdict != "disagrees"


@given(
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from(
            [
                b"diff --git a/x b/x\n",
                b"--- a/x\n",
                b"+++ b/x\n",
                b"@@ -1 +1 @@\n",
                b"-a\n",
                b"+b\n",
                b" c\n",
                b"\n",
                b"junk\n",
                b"\\ No newline at end\n",
                b"new file mode 100644\n",
                b"old mode 100644\n",
                b"new mode 100755\n",
                b"rename from x\n",
                b"rename to y\n",
                b"index 1234567..89abcde\n",
                b"GIT binary patch\n",
                b"literal 0\n",
                b"HcmV?d00001\n",
                b'"',
                b"\r\n",
                b"\0",
                b"\xff",
                b"@@ -1,2 +1,2 @@",
                b"diff --git ",
                b"@@@\n",
            ]
        ),
        max_size=20,
    ).map(b"".join)
)
@settings(max_examples=600)
def test_any_bytes_give_an_answer_and_the_shortcut_does_not_change_it(data):
    assert read_patch(data) == _Reader(data, DiffLimits(), shortcut=False).read()


@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_generated_patches_read_the_same_without_the_shortcut(first):
    for number in range(first, first + 500):
        data = make(77, number)
        assert read_patch(data) == _Reader(data, DiffLimits(), shortcut=False).read()


def _wide(length: int, count: int, signs: bytes) -> tuple[bytes, int, int]:
    lines = [bytes([signs[at % len(signs)]]) + b"x" * length + b"\n" for at in range(count)]
    body = b"".join(lines).replace(b"\n \n", b"\n\n") if length == 0 else b"".join(lines)
    plus, minus = (sum(line[:1] == sign for line in lines) for sign in (b"+", b"-"))
    head = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,%d +1,%d @@\n" % (count - plus, count - minus)
    return head + body, plus, minus


@pytest.mark.parametrize("signs", [b"+- ", b"+ ", b" +-+"])
@pytest.mark.parametrize(
    "length", [0, 1, 37, 1022, 1023, 1024, _WINDOW - 3, _WINDOW - 2, _WINDOW - 1, _WINDOW, _WINDOW + 1, 3 * _WINDOW]
)
@pytest.mark.parametrize("tail", [b"", b"diff --git a/y b/y\nold mode 100644\nnew mode 100755\n", b"-- \n", b"\n"])
def test_hunks_larger_than_a_window(length, signs, tail):
    count = max(7, 3 * _WINDOW // (length + 2))
    data, plus, minus = _wide(length, count, signs)
    patch = read_patch(data + tail)
    assert patch.problem is None, patch.problem
    assert (patch.added_lines, patch.removed_lines) == (plus, minus)
    hunk = patch.files[0].hunks[0]
    assert hunk.end == len(data)
    surplus = read_patch(data + b"+x\n")
    assert surplus.problem is not None
    assert (surplus.problem.reason, surplus.problem.line) == ("malformed", count + 5)
    missing = read_patch(
        data[: data.rfind(b"\n", 0, -1) + 1] + b"diff --git a/y b/y\nold mode 100644\nnew mode 100755\n"
    )
    assert missing.problem is not None
    assert (missing.problem.reason, missing.problem.line) == ("malformed", count + 4)
