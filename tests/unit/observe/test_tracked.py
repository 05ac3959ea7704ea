"""Output in a git working tree: what we call ignored is what git calls ignored."""

import itertools
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idkmesh_rules import Refusal
from idkmesh_rules.observe.tracked import check_untracked


def git(place: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", *arguments], cwd=place, capture_output=True, text=True
    )


def tracked(output: Path) -> bool:
    try:
        check_untracked(output)
    except Refusal as refusal:
        assert refusal.reason == "output-tracked"
        return True
    return False


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "tree")
    return tmp_path / "tree"


def test_outside_any_working_tree(tmp_path: Path) -> None:
    assert not tracked(tmp_path / "out")


def test_not_ignored_is_refused_with_what_to_do(tree: Path) -> None:
    with pytest.raises(Refusal) as caught:
        check_untracked(tree / "results" / "run")
    assert "add /results/ to its .gitignore" in str(caught.value.problems[0].hint)


def test_ignored_by_each_source(tree: Path) -> None:
    (tree / ".gitignore").write_text("/results/\n")
    assert not tracked(tree / "results" / "deep" / "run")
    assert tracked(tree / "other")
    (tree / ".git" / "info").mkdir(exist_ok=True)
    (tree / ".git" / "info" / "exclude").write_text("other\n")
    assert not tracked(tree / "other")
    (tree / "sub").mkdir()
    (tree / "sub" / ".gitignore").write_text("*\n")
    assert not tracked(tree / "sub" / "run")


def test_a_linked_working_tree_uses_the_common_exclude_file(tree: Path) -> None:
    git(tree, "-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "--allow-empty", "-m", "x")
    assert git(tree, "worktree", "add", "-q", "../linked").returncode == 0
    linked = tree.parent / "linked"
    assert tracked(linked / "out")
    (tree / ".git" / "info").mkdir(exist_ok=True)
    (tree / ".git" / "info" / "exclude").write_text("/out/\n")
    assert not tracked(linked / "out")


def test_a_link_into_a_working_tree_is_followed_first(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tree)
    assert tracked(tmp_path / "alias" / "out")


def test_an_ignore_file_that_is_a_link_excuses_nothing(tree: Path) -> None:
    (tree / "rules").write_text("*\n")
    (tree / ".gitignore").symlink_to("rules")
    assert tracked(tree / "out")


PATTERNS = [
    "*",
    "/a/",
    "a",
    "b/",
    "a/b",
    "!a",
    "!a/b/",
    "**/c",
    "a/**",
    "!a/**/c",
    "/c",
    "*/b",
    "!*",
    "a*",
    "",
    "#x",
    "a/*",
    "!a/b",
    "a//",
    "!a//b",
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    root=st.lists(st.sampled_from(PATTERNS), max_size=4),
    below=st.lists(st.sampled_from(PATTERNS), max_size=3),
    exclude=st.lists(st.sampled_from(PATTERNS), max_size=2),
)
def test_law_we_never_call_ignored_what_git_does_not(
    tmp_path_factory: pytest.TempPathFactory, root: list[str], below: list[str], exclude: list[str]
) -> None:
    """For every directory: ignored by us only if git check-ignore says so too (refusing more than git is safe)."""
    tree = tmp_path_factory.mktemp("tree")
    git(tree, "init", "-q", ".")
    (tree / "a").mkdir()
    (tree / ".gitignore").write_text("\n".join(root) + "\n")
    (tree / "a" / ".gitignore").write_text("\n".join(below) + "\n")
    (tree / ".git" / "info").mkdir(exist_ok=True)
    (tree / ".git" / "info" / "exclude").write_text("\n".join(exclude) + "\n")
    outputs = ["/".join(parts) for length in (1, 2, 3) for parts in itertools.product("abc", repeat=length)]
    for name in outputs:
        (tree / name).mkdir(parents=True, exist_ok=True)
    said = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "--stdin"],
        cwd=tree,
        input="\n".join(outputs),
        capture_output=True,
        text=True,
    ).stdout
    ignored = set(said.splitlines())
    ours = {name for name in outputs if not tracked(tree / name)}
    assert ours <= ignored, (ours - ignored, root, below, exclude)
    assert ours == ignored, ("git ignores more", ignored - ours, root, below, exclude)


@pytest.mark.parametrize("line", ["!", "\\", "out\\", "[z-a]", "[a-\\]"])
def test_a_line_that_nobody_can_read_excuses_nothing_and_crashes_nothing(tree: Path, line: str) -> None:
    (tree / ".gitignore").write_text(f"/out/\n{line}\n")
    assert tracked(tree / "out")
    (tree / ".gitignore").write_text(f"{line}\n/out/\n")
    assert not tracked(tree / "out")
