"""Allow lists are narrow, forbid lists are wide, and what is ambiguous is refused."""

import subprocess
import sys
import time

import pytest

from idkmesh_rules.paths import PatternError, compile_allow, compile_forbid

ALLOWED = [
    ("README.md", "README.md"),
    ("docs", "docs"),
    ("docs", "docs/a/b.md"),
    ("src/", "src/x.py"),
    ("src/**", "src/a/b/c.py"),
    ("**", "anything/at/all"),
    ("docs/*.md", "docs/x.md"),
    ("**/*.md", "x.md"),
    ("**/*.md", "a/b/x.md"),
    ("**/*.md", "a.md/b.md"),
    ("src/*/", "src/a/b"),
    ("**/foo/**", "foo/x"),
    ("a/**/b", "a/b"),
    ("a/**/b", "a/x/y/b"),
    ("file[0-9].txt", "file7.txt"),
    ("app/\\[slug\\]/**", "app/[slug]/page.tsx"),
    ("\\!x", "!x"),
    ("a[[&]b", "a[b"),
]
NOT_ALLOWED = [
    ("README.md", "docs/README.md"),
    ("README.md", "readme.md"),
    ("docs", "docs2"),
    ("src/", "src"),
    ("src/**", "src"),
    ("src/**", "lib/src/x"),
    ("docs/*.md", "docs/a/x.md"),
    ("docs/*.md", "docs/x.md/y"),
    ("docs/*.md", "x/docs/x.md"),
    ("docs/*.md", "docs/X.MD"),
    ("*", "a/b"),
    ("**/*.md", "a/x.md/y"),
    ("a?b", "a/b"),
    ("a[!x]b", "a/b"),
    ("a[+-9]b", "a/b"),
    ("src/*/", "src/x"),
]
FORBIDDEN = [
    ("SECURITY.md", "SECURITY.md"),
    ("SECURITY.md", "Security.MD"),
    ("SECURITY.md", "SECURITY.md/x"),
    ("SECURITY.md", "SECURITY.md::$DATA"),
    ("SECURITY.md", "SECURITY.md. ."),
    ("schemas/", "schemas"),
    ("schemas/**", "schemas"),
    (".github/", ".GitHub/workflows/x"),
    (".github/", ".git\u200chub/workflows/x"),
    ("*.pem", "x.pem"),
    ("*.pem", "a/b/x.PEM"),
    ("*.pem", "x.pem/y"),
    ("secrets/*.txt", "secrets/a/b.txt"),
    ("conf*/", "conf.d"),
    ("conf*/**", "conf.d/x"),
    ("caf\u00e9/", "cafe\u0301/x"),
    ("STRASSE/*", "stra\u00dfe/x"),
    ("**", "x"),
]
NOT_FORBIDDEN = [
    ("SECURITY.md", "docs/SECURITY.md"),
    ("schemas/", "schemas2/x"),
    ("secrets/*.txt", "secrets/a.md"),
    ("*.pem", "x.pem.txt"),
]
REFUSED = {
    "": "empty",
    "  ": "empty",
    "!x": "negates",
    "#x": "comments",
    "/x": "absolute",
    "C:/x": "absolute",
    "a/../b": "component",
    "./x": "component",
    "a//b": "component",
    ".": "component",
    "a\\b": "separate directories",
    "a\\": "separate directories",
    "x ": "ends in a space",
    "a\nb": "control character",
    "a\u2028b": "control character",
    "docs/[": "never match",
    "a[z-a]b": "character class",
}


@pytest.mark.parametrize(("pattern", "path"), ALLOWED)
def test_an_allow_pattern_names_its_path(pattern, path):
    assert compile_allow((pattern,)).match(path) == pattern


@pytest.mark.parametrize(("pattern", "path"), NOT_ALLOWED)
def test_an_allow_pattern_reaches_no_further(pattern, path):
    assert compile_allow((pattern,)).match(path) is None


@pytest.mark.parametrize(("pattern", "path"), FORBIDDEN)
def test_a_forbid_pattern_matches_under_every_reading(pattern, path):
    assert compile_forbid((pattern,)).match(path) == pattern


@pytest.mark.parametrize(("pattern", "path"), NOT_FORBIDDEN)
def test_a_forbid_pattern_is_not_everything(pattern, path):
    assert compile_forbid((pattern,)).match(path) is None


@pytest.mark.parametrize("pattern", REFUSED)
@pytest.mark.parametrize("compiled", [compile_allow, compile_forbid])
def test_an_ambiguous_pattern_is_refused(compiled, pattern):
    with pytest.raises(PatternError) as caught:
        compiled(("docs/**", pattern))
    assert caught.value.pattern == pattern
    assert REFUSED[pattern] in caught.value.message


def test_no_pattern_allows_nothing():
    assert compile_allow(()).match("x") is None


def test_only_a_literal_names_a_path_exactly():
    patterns = compile_allow(("docs/a.", "src/", "*.x"))
    assert patterns.names_exactly("docs/a.")
    assert not any(patterns.names_exactly(path) for path in ("src", "src/", "*.x", "docs/a./b"))


def test_patterns_do_not_import_pathspec():
    code = (
        "import sys; from idkmesh_rules.paths import PathAuthority; lists = ('a/**', 'b', 'c/', '**', '*.[ch]'); "
        "PathAuthority(lists, ('**',), ('d/', '*.x')).judge('a/x'); sys.exit('pathspec' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


SHORT = [
    (".github/**", "GITHUB~1/workflows/ci.yml"),
    (".github/", "github~2"),
    (".github", "GITHU~12/x"),
    (".github", "GI7EBA~1/x"),
    (".github/workflows/**", "GITHUB~1/WORKFL~1/ci.yml"),
    (".github/workflows/**", ".github/WORKFL~1/ci.yml"),
    (".github/workflows/**", "GITHUB~1/workflows/ci.yml"),
    (".github/workflows/*.yml", "GITHUB~1/WORKFL~1/ci.yml"),
    ("**/secret files/*", "a/SECRET~1/x"),
    ("package-lock.json", "PACKAG~1.JSO"),
    ("credentials*", "config/CREDEN~1"),
    ("*.json", "a/PACKAG~1.JSO"),
    (".env", "ENV~1"),
    (".env.production", "ENV~1.PRO"),
    ("a+b.config", "A_B~1.CON"),
    ("caf\u00e9-terrasse", "CAF\u00c9-T~1"),
    ("caf\u00e9-terrasse", "CAF_-T~1"),
    (".github", "GITHUB~1. /x"),
]
NOT_SHORT = [
    (".github/**", "docs/notes~1.md"),
    (".github/**", "notes~1.md"),
    (".github/**", "GITHUB~1.TXT"),
    (".github/**", "src/GITHUB~1/x"),
    (".github/**", "GITHUB~x/y"),
    (".github/**", "GITHUBS~1/y"),
    (".github/**", "G~1/y"),
    ("notes-private.md", "notes~1.md"),
    ("notes-private.md", "NOTES-~1.TXT"),
    ("SECURITY.md", "SECURI~1.MD"),
    ("docs/**", "DOCS~1/x"),
    ("*.pem", "notes~1.md"),
    ("*.json", "notes~1.js"),
    ("**/secrets/*.key", "notes~1.md"),
]


@pytest.mark.parametrize(("pattern", "path"), SHORT)
def test_a_forbidden_name_has_a_short_one(pattern, path):
    """NTFS and FAT open the same file by both."""
    assert compile_forbid(("other", pattern)).match(path) == pattern


@pytest.mark.parametrize(("pattern", "path"), NOT_SHORT)
def test_a_tilde_alone_forbids_nothing(pattern, path):
    assert compile_forbid(("other", pattern)).match(path) is None


def test_no_short_name_is_allowed_for_the_long_one():
    assert compile_allow((".github/**",)).match("GITHUB~1/x") is None


def test_many_short_names_take_no_longer():
    forbid = compile_forbid(("**/" + "/**/".join(["secret files"] * 20) + "/x",))
    start = time.process_time()
    assert forbid.match("SECRET~1/" * 3000 + "y") is None
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("secret**/*", "secrets.pem"), (".env**/*", ".env.local"), ("src/priv**/key", "src/privkey"), ("a**/b", "ab")],
)
def test_a_double_star_behind_a_literal_start_may_stand_for_nothing(pattern, path):
    """As git reads it: the literal start goes first, and what is left begins with `**/`."""
    assert compile_forbid((pattern,)).match(path) == pattern
    assert compile_forbid((pattern,)).match(path.upper()) == pattern
    assert compile_allow((pattern,)).match(path) is None
