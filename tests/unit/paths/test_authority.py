"""Reserved names and the judgement that combines them with the WorkUnit's lists."""

import itertools
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idkmesh_rules.model.text import printable
from idkmesh_rules.paths import PathAuthority, reserved
from idkmesh_rules.paths.disguise import show
from idkmesh_rules.paths.reserved import _PLAIN

RESERVED = {
    ".git": "git-dir",
    ".git/hooks/x": "git-dir",
    "a/.GIT/x": "git-dir",
    "git~1/x": "git-dir",
    "GIT~1": "git-dir",
    ".git./x": "git-dir",
    ".git /x": "git-dir",
    ".git . ./x": "git-dir",
    ".git::$INDEX_ALLOCATION/x": "git-dir",
    ".git...:x": "git-dir",
    ".g\u200cit/x": "git-dir",
    "a/.git\ufeff": "git-dir",
    "a\\.git\\x": "git-dir",
    "\uff0egit/x": "git-dir",
    "a\\b": "path",
    "": "path",
    "/a": "path",
    "a/": "path",
    "a//b": "path",
    "./a": "path",
    "a/../b": "path",
    "C:a": "path",
    "a\tb": "path",
    "a\x85b": "path",
    "a\u2028b": "path",
    "a\u202eb": "path",
    "a\u2066b": "path",
    "a /b": "path",
    "\u2025/x": "path",
    ".\u200c./x": "path",
    "a\u2100b": "path",
    "a\uff0fb": "path",
    "a\uff3cb": "path",
}
LIFTABLE = {
    "a./b": "path",
    "a...": "path",
    "cafe\u0301": "path",
    ".gitmodules": "git-meta",
    "a/.GitAttributes": "git-meta",
    ".gitmodules::$DATA": "git-meta",
    ".git\u200cmodules": "git-meta",
    "gitmod~1": "git-meta",
    "GI7EBA~1": "git-meta",
    "gi7d29~3": "git-meta",
}
FREE = [
    "a",
    ".github/workflows/x.yml",
    ".gitignore",
    ".gitkeep",
    "git/x",
    "a b/c d",
    "caf\u00e9",
    "ab:y",
    "a.b.c",
    "..a",
    ".a",
    "git~2",
    "mygit~1",
    ".gitx",
    "\u65e5\u672c",
    "a~1",
    "\u00a0x",
]


@pytest.mark.parametrize("path", RESERVED)
def test_reserved_whatever_was_allowed(path):
    found = reserved(path)
    assert found is not None
    assert (found.reason, found.lifted_by_exact_pattern) == (RESERVED[path], False)


@pytest.mark.parametrize("path", LIFTABLE)
def test_reserved_unless_named_exactly(path):
    found = reserved(path)
    assert found is not None
    assert (found.reason, found.lifted_by_exact_pattern) == (LIFTABLE[path], True)
    assert PathAuthority(("**",), ("**",), ()).judge(path).code == LIFTABLE[path]
    assert PathAuthority(("**", path), ("**",), ()).judge(path).authorized


@pytest.mark.parametrize("path", ["docs/\u212a.md", "docs/e\u0301", "\u212b"])
def test_a_name_that_is_not_in_normal_form_c_is_reserved(path):
    """The Kelvin sign is a K to whoever ignores case, and no K to whoever compares bytes."""
    found = reserved(path)
    assert found is not None
    assert "normal form C" in found.message


@given(st.text(st.sampled_from("aKk\u212a\u017fsS.gitGIT/-_~ ") | st.characters(codec="utf-8"), max_size=12))
def test_law_what_the_quick_pattern_lets_pass_is_plain_ascii(path):
    """Anything beyond ASCII takes the careful way, whatever case folding makes of it."""
    if _PLAIN.fullmatch(path):
        assert path.isascii()


@pytest.mark.parametrize("path", FREE)
def test_ordinary_names_are_free(path):
    assert reserved(path) is None


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("lib/x", "path", "outside the allowed paths"),
        ("src/x", "path", "outside the paths that may be written"),
        ("docs/secret/x", "path", "forbidden by the pattern `docs/secret/`"),
        ("docs/.gitattributes", "git-meta", "steers git itself"),
        (".gitattributes", "path", "outside the allowed paths"),
        ("docs/.git/x", "git-dir", "git directory"),
        (".git/x", "git-dir", "git directory"),
        ("docs/a\\x", "path", "backslash"),
    ],
)
def test_the_first_reason_is_named(path, code, words):
    judgement = PathAuthority(("docs/**", "src/"), ("docs/**",), ("docs/secret/",)).judge(path)
    assert (judgement.authorized, judgement.code) == (False, code)
    assert words in judgement.reason


def test_a_message_prints_no_control_characters():
    reason = PathAuthority((), (), ()).judge("a\x1b[31m\u202eb").reason
    assert reason.isprintable()


# The twelve of Bidi_Control, in Unicode's PropList.txt.
BIDI = [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@pytest.mark.parametrize("shown", [show, printable])
def test_whatever_is_invisible_is_escaped(shown):
    assert len(BIDI) == 12
    formats = [
        code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")
    ]
    others = [0x34F, 0x115F, 0x1160, 0x3164, 0xFE0F, 0xFFA0, 0xE0100, 0xD800, 0xDFFF]
    for code in (*BIDI, *formats, *others):
        assert chr(code) not in shown(f"a{chr(code)}b"), hex(code)
        assert "a\\" in shown(f"a{chr(code)}b")


@pytest.mark.parametrize(
    "text", ["caf\u00e9", "\u65e5\u672c", "\u0627\u0644", "e\u0301", "\U0001f600", "\ufffd", "a b", "\uac00"]
)
def test_what_can_be_seen_is_shown_as_it_is(text):
    assert show(text) == f"`{text}`"
    assert printable(text) == text


@given(
    st.text(st.sampled_from("a.gitGIT~1:/ \\-\u200c\u0301")),
    st.sampled_from([(), ("a",), ("**",), ("a/*",)]),
    st.sampled_from([(), ("a/",), ("*g",)]),
)
def test_authorized_is_the_conjunction(path, allowed, forbidden):
    judgement = PathAuthority(allowed, ("**",), forbidden).judge(path)
    assert judgement.authorized == (
        judgement.allowed and judgement.writable and not judgement.forbidden and not judgement.reserved
    )
    assert judgement.authorized == (judgement.code is None) == (judgement.reason is None)


def test_no_component_that_a_disk_takes_for_git_is_free():
    for letters in itertools.product(".", "gG", "iI", "tT", ("", ".", " ", ":x", "\u200d", ". :"), ("", "/x")):
        found = reserved("a/" + "".join(letters))
        assert found is not None
        assert found.reason == "git-dir"
