"""Our wildmatch against git's own, against fnmatch and pathspec, and against the clock."""

import fnmatch
import random
import shutil
import subprocess
import time

import pathspec
import pytest

from idkmesh_rules.paths import PathAuthority, PatternError, compile_allow, compile_forbid

LETTERS = "ab-]x1.A"
ATOMS = [*"aab-x1.", "*", "*", "*", "**", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[!]]", "[a-]", "[-a]", "[+-9]"]
ATOMS += [
    "[[:digit:]]",
    "[![:alpha:]]",
    "[[:upper:]x]",
    "[\\]x]",
    "[[:punct:]-a]",
    "[[:x]",
    "[a-c-x]",
    "\\*",
    "\\[",
    "A",
]


def make_pattern(rnd: random.Random) -> str:
    parts = []
    for _ in range(rnd.choice((1, 1, 2, 2, 3, 4))):
        if rnd.random() < 0.25:
            parts.append(rnd.choice(("**", "**", "***", "*")))
        else:
            parts.append("".join(rnd.choice(ATOMS) for _ in range(rnd.choice((1, 2, 3, 4)))))
    return "/".join(parts) + rnd.choice(("", "", "", "/", "/**"))


def make_path(rnd: random.Random) -> str:
    return "/".join(
        "".join(rnd.choice(LETTERS) for _ in range(rnd.choice((1, 1, 2, 3))))
        for _ in range(rnd.choice((1, 2, 2, 3, 4)))
    )


def cases(seed: int, patterns: int, paths: int) -> list[tuple[str, list[str]]]:
    """Patterns that are not refused and have a wildcard, each with paths, some of them made from the pattern."""
    rnd = random.Random(seed)
    found = []
    while len(found) < patterns:
        pattern = make_pattern(rnd)
        try:
            compile_allow((pattern,))
        except PatternError:
            continue
        names = [make_path(rnd) for _ in range(paths)]
        plain = pattern.replace("**", "a/b").replace("*", "").replace("\\", "")
        names += [plain, pattern.replace("*", "x"), pattern.replace("/**", "").replace("**/", ""), plain + "/a"]
        clean = [
            name for name in names if "\\" not in name and all(part not in ("", ".", "..") for part in name.split("/"))
        ]
        found.append((pattern, list(dict.fromkeys(clean))))
    return found


def ignored(folder, given: list[tuple[str, list[str]]], anchor: str) -> set[tuple[int, str]]:
    """What git ignores of the paths, each pattern in a directory of its own."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    asked = []
    for number, (pattern, paths) in enumerate(given):
        place = folder / f"d{number}"
        place.mkdir()
        (place / ".gitignore").write_text(anchor + pattern + "\n")
        asked += [f"d{number}/{path}" for path in paths]
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=folder,
        input="\0".join(asked).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.decode().split("\0")[:-1]
    return {(int(path.split("/")[0][1:]), path.split("/", 1)[1]) for path in told}


def steps(path: str) -> list[str]:
    names = path.split("/")
    return ["/".join(names[:end]) for end in range(1, len(names) + 1)]


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
@pytest.mark.parametrize("seed", range(4))
def test_law_allowing_agrees_with_git(tmp_path, seed):
    """What git ignores is what a pattern matches, and what lies beneath a match."""
    given = cases(seed, 300, 25)
    by_git = ignored(tmp_path, given, "/")
    wrong, matched = [], 0
    for number, (pattern, paths) in enumerate(given):
        allow = compile_allow((pattern,))
        for path in paths:
            ours = any(allow.match(step) for step in steps(path))
            matched += ours
            if ours != ((number, path) in by_git):
                wrong.append((pattern, path, ours))
    assert wrong == []
    assert matched > 500, "the generator makes too few paths that match"


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
@pytest.mark.parametrize("anchor", ["", "/"])
def test_law_forbidding_is_no_narrower_than_git(tmp_path, anchor):
    given = [(pattern, paths) for pattern, paths in cases(9, 300, 25)]
    by_git = ignored(tmp_path, given, anchor)
    for number, path in by_git:
        pattern = given[number][0]
        literal = not any(sign in pattern.removesuffix("/**") for sign in "*?[\\")
        if not literal:  # those are anchored whatever a .gitignore makes of them
            assert compile_forbid((pattern,)).match(path), (pattern, path)
            assert compile_forbid((pattern,)).match(path.upper()), (pattern, path)


def test_law_forbidding_is_no_narrower_than_fnmatch():
    matched = 0
    for pattern, paths in cases(10, 1500, 25):
        if "\\" in pattern or "[:" in pattern or not any(sign in pattern.removesuffix("/**") for sign in "*?["):
            continue
        bare = pattern.removesuffix("/**").removesuffix("/")
        for path in paths:
            if fnmatch.fnmatchcase(path, bare) or fnmatch.fnmatchcase(path, bare + "/*"):
                matched += 1
                assert compile_forbid((pattern,)).match(path), (pattern, path)
    assert matched > 500


def test_law_forbidding_is_no_narrower_than_allowing():
    for pattern, paths in cases(11, 1500, 25):
        for path in paths:
            if compile_allow((pattern,)).match(path):
                assert compile_forbid((pattern,)).match(path), (pattern, path)


@pytest.mark.parametrize("pattern", ["docs/*.md", "**/*.md", "a/**/b/*", "src/?[a-c]*/x", "**/a/**/b/**", "a*b*c/"])
def test_ordinary_patterns_mean_to_pathspec_what_they_mean_here(pattern):
    rnd = random.Random(pattern)
    theirs = pathspec.GitIgnoreSpec.from_lines(["/" + pattern])
    names = ["docs", "a", "b", "x.md", ".md", "src", "aa", "xcx", "x", "abc", "abxc"]
    for _ in range(3000):
        path = "/".join(rnd.choice(names) for _ in range(rnd.randrange(1, 6)))
        assert any(map(compile_allow((pattern,)).match, steps(path))) == theirs.match_file(path), path


ALLOWED = {
    "packages/*-ui*/README.md": ["packages/core-ui/README.md", "packages/-ui/README.md", "packages/a-ui-b/README.md"],
    "src*/a.md": ["src/a.md", "src2/a.md"],
    "*src/a.md": ["src/a.md"],
    "a*b*/**": ["ab/x", "axb/x", "axbx/x/y"],
    "v[[:digit:]]/x": ["v1/x"],
    "v[![:digit:]]/x": ["va/x", "v:/x"],
    "[\\]x]": ["]", "x"],
    "[]x]": ["]", "x"],
    "[!]x]": ["a", "["],
    "[a\\]-c]": ["a", "b", "c", "]", "^"],
    "a/***": ["a/x", "a/x/y"],
    "a/**/**/b": ["a/b", "a/x/b"],
    "a**b/c": ["ab/c", "axb/c"],
    "x\\?": ["x?"],
    "\u65e5?/[\u00e0-\u00ff]": ["\u65e5\u672c/\u00e9"],
}
NOT_ALLOWED = {
    "v[[:digit:]]/x": ["va/x", "v:]/x", "v]/x"],
    "[\\]x]": ["\\x]", "\\"],
    "a**b/c": ["a/b/c"],
    "x\\?": ["xa"],
    "v[![:digit:]]x": ["v1x", "v/x"],
    "v[^a]x": ["v/x"],
    "v[+-9]x": ["v/x"],
    "v[[:punct:]]x": ["v/x"],
    "**/": ["a"],
    "a/**/": ["a/b"],
}


@pytest.mark.parametrize("pattern", ALLOWED)
def test_what_git_would_match_is_allowed(pattern):
    allow = compile_allow((pattern,))
    assert [path for path in ALLOWED[pattern] if not allow.match(path)] == []


@pytest.mark.parametrize("pattern", NOT_ALLOWED)
def test_what_git_would_not_match_is_not_allowed(pattern):
    allow = compile_allow((pattern,))
    assert [path for path in NOT_ALLOWED[pattern] if allow.match(path)] == []


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/\\[slug\\]*/**", "src/[slug]/page.ts"),
        ("src/\\[slug\\]*/**", "SRC/[Slug]"),
        ("v[[:upper:]]/*", "va/x"),
        ("v[A-Z]/*", "vq/x"),
        ("v[!A]", "va"),
        ("v[A-_]", "v^"),
        ("V?", "v\u00df"),
        ("A?", "A\u00df"),
        ("a*z", "a/b/z/c"),
        ("a[^x]z", "a/z"),
        ("a/**/", "a"),
    ],
)
def test_a_forbid_pattern_is_not_dodged(pattern, path):
    assert compile_forbid((pattern,)).match(path) == pattern


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a[", "without its `]`"),
        ("a[]", "without its `]`"),
        ("a[!]", "without its `]`"),
        ("a[b", "without its `]`"),
        ("a[[:digit:]", "without its `]`"),
        ("a[b-a]", "`b-a` runs backwards"),
        ("a[[:letters:]]", "no `[:letters:]` is known"),
        ("a[[::]]", "no `[::]` is known"),
        ("a[x/y]", "with a `/`"),
        ("a[+-/]", "with a `/`"),
    ],
)
@pytest.mark.parametrize("compiled", [compile_allow, compile_forbid])
def test_a_class_without_a_reading_is_refused(compiled, pattern, words):
    with pytest.raises(PatternError) as caught:
        compiled((pattern,))
    assert words in caught.value.message
    assert caught.value.pattern == pattern


SLOW = [
    ("docs/*-*-*.md", "docs/" + "-" * 20_000 + "x"),
    ("docs/*_*_*_test.py", "docs/" + "_" * 20_000),
    ("**/a/**/b/**/c.md", "a/b/" * 5_000 + "d"),
    ("*/**/x-*-*.md", "a/b/" * 5_000 + "x-" * 500),
    ("*a" * 50 + "b", "a" * 20_000),
    ("**/a/" * 40 + "b", "a/" * 10_000 + "c"),
    ("?*[a-b]*?*[!x]*[ab]?c", "a" * 20_000),
    ("**/*a*a*a/**/*b*b*b/x", "aaaaaa/bbbbbb/" * 1_500 + "y"),
    ("*" * 200 + "b", "a" * 20_000),
]


@pytest.mark.parametrize(("pattern", "path"), SLOW, ids=[pattern[:20] for pattern, _ in SLOW])
def test_no_path_takes_long(pattern, path):
    """A candidate chooses its paths; backtracking would take hours for these."""
    allowing, forbidding = PathAuthority((pattern,), (pattern,), ()), PathAuthority(("**",), ("**",), (pattern,))
    start = time.process_time()
    assert not allowing.judge(path).allowed
    forbidding.judge(path)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "name", [". " * 20_000 + "x", "a/" * 20_000 + "b", ":" * 40_000, "a~1/" * 10_000, "\u00e9. " * 9_000 + "x"]
)
def test_no_disguise_takes_long(name):
    authority = PathAuthority(("src/**", "docs"), ("**",), (".github/**", "*.pem"))
    start = time.process_time()
    authority.judge("src/" + name)
    assert time.process_time() - start < 1
