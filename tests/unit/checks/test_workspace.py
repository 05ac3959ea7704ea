"""A changed workspace: which changes are found and how they are judged, on real trees, through the API."""

import os
import stat
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idkmesh_rules import Evaluation, Limits
from idkmesh_rules.model.facts import Unknown
from idkmesh_rules.paths.authority import PathAuthority
from tests.support.bundles import Bundle, blamed, builder, make, no_edit
from tests.support.command import idkrules
from tests.support.places import ROOT
from tests.unit.checks.test_collect import assert_lawful

SCOPE = ("scope", "paths-authorized")


def workspace(place: Path, edit: Callable[[Any], None] = no_edit) -> Bundle:
    return make(place, edit, builder.WorkspaceDraft)


def facts(evaluation: Evaluation, kind: str) -> dict[str, dict[str, Any]]:
    """The facts of a kind by their first field."""
    found = evaluation.store[kind]
    return {row[0]: dict(zip(found.kind.index, row, strict=True)) for row in found.rows}  # type: ignore[misc]


def changes(evaluation: Evaluation) -> dict[str, Any]:
    return {path: fact["change"] for path, fact in facts(evaluation, "workspace.change").items()}


FILES = st.dictionaries(
    st.sampled_from(["docs/a", "docs/b/c", "docs/b/d", "src/e", "src/f", "g", "h/i/j", "README.md"]),
    st.binary(max_size=2),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILES, FILES)
def test_the_change_set_is_the_symmetric_difference(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    """Δ = B ⊕ C, path by path, each judged as the path authority says; rejected exactly if one of them isn't authorized."""

    def edit(draft: Any) -> None:
        draft.before, draft.files = before, after
        draft.manifest["produced_artifacts"] = []
        draft.manifest["verification_request"]["evidence_artifact_ids"] = []

    bundle = workspace(tmp_path_factory.mktemp("case"), edit)
    bundle.candidate.mkdir(exist_ok=True)
    evaluation = bundle.evaluate()
    expected = dict.fromkeys(after.keys() - before.keys(), "added")
    expected |= dict.fromkeys(before.keys() - after.keys(), "deleted")
    expected |= {path: "modified" for path in before.keys() & after.keys() if before[path] != after[path]}
    assert changes(evaluation) == expected
    unit = builder.WORKSPACE_UNIT
    authority = PathAuthority(
        tuple(unit["constraints"]["allowed_paths"]),
        tuple(unit["permissions"]["filesystem_write"]),
        tuple(unit["constraints"]["forbidden_paths"]),
    )
    verdicts = {path: authority.judge(path).authorized for path in expected}
    assert {path: fact["authorized"] for path, fact in facts(evaluation, "workspace.change").items()} == verdicts
    assert blamed(evaluation) == (set() if all(verdicts.values()) else {SCOPE})
    assert_lawful(evaluation.store)


def test_a_mode_counts_where_the_baseline_has_one(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.modes_before = {"docs/old.md": "100644", "scripts/release.sh": "100755", "src/main.js": "100644"}
        draft.modes = {"docs/old.md": 0o755, "README.md": 0o755, "scripts/release.sh": 0o700, "src/main.js": 0o600}

    evaluation = workspace(tmp_path, edit).evaluate()
    assert changes(evaluation) == {"docs/guide.md": "modified", "docs/old.md": "mode"}
    assert evaluation.exit_code == 0


def test_a_file_that_gains_set_uid_has_another_mode(tmp_path: Path) -> None:
    bundle = workspace(tmp_path, lambda draft: draft.modes_before.update({"src/main.js": "100644"}))
    (bundle.candidate / "src" / "main.js").chmod(0o4644)
    assert changes(bundle.evaluate())["src/main.js"] == "mode"


def act(path: str, do: Callable[[Path], object]) -> Callable[[Path], None]:
    def arrange(root: Path) -> None:
        (root / path).unlink(missing_ok=True)
        do(root / path)

    return arrange


# what stands where a file of the baseline stood, or where nothing did, and what becomes of both kinds
INSTEAD: dict[str, tuple[Callable[[Path], None], dict[str, str], dict[str, str]]] = {
    "a link for a file": (
        act("src/main.js", lambda p: p.symlink_to("x")), {"src/main.js": "modified"}, {"src/main.js": "symlink"}),
    "a link for nothing": (act("docs/l", lambda p: p.symlink_to("/etc")), {"docs/l": "added"}, {"docs/l": "symlink"}),
    "a FIFO": (act("docs/f", os.mkfifo), {"docs/f": "added"}, {"docs/f": "fifo"}),
    "a directory for a file": (
        act("src/main.js", lambda p: (p.mkdir(), (p / "x").write_text(""))),
        {"src/main.js": "deleted", "src/main.js/x": "added"},
        {},
    ),
    "an empty directory": (act("src/new", lambda p: p.mkdir()), {}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", INSTEAD)
def test_what_stands_in_the_place_of_a_file(tmp_path: Path, name: str) -> None:
    arrange, changed, entries = INSTEAD[name]
    bundle = workspace(tmp_path)
    arrange(bundle.candidate)
    evaluation = bundle.evaluate()
    assert changes(evaluation) == {"docs/guide.md": "modified", **changed}
    assert {path: fact["type"] for path, fact in facts(evaluation, "workspace.entry").items()} == entries
    expected = {SCOPE} if any(not path.startswith("docs/") for path in changed) else set()
    assert blamed(evaluation) == expected | ({("scope", "only-plain-files")} if entries else set())


def test_a_directory_replaced_by_a_link_is_followed_nowhere(tmp_path: Path) -> None:
    """The linked directory holds the very same files; they are gone all the same, and a link stands there."""
    bundle = workspace(tmp_path)
    (bundle.candidate / "src").rename(tmp_path / "elsewhere")
    (bundle.candidate / "src").symlink_to(tmp_path / "elsewhere")
    evaluation = bundle.evaluate()
    assert changes(evaluation) == {"docs/guide.md": "modified", "src": "added", "src/main.js": "deleted"}
    assert blamed(evaluation) == {SCOPE, ("scope", "only-plain-files")}


ARTIFACTS: dict[str, tuple[str, str | None]] = {
    "spelled otherwise": ("./docs//guide.md", None),
    "of a directory": ("docs", "directory"),
    "of the root": (".", "directory"),
    "of nothing": ("docs/none.md", "missing"),
    "from the root of the disk": ("/etc/passwd", "outside"),
    "out of the workspace": ("docs/../../work-unit.json", "outside"),
    "in an ignored place": (".cache/made", None),
}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_is_local_and_a_plain_file(tmp_path: Path, name: str) -> None:
    locator, state = ARTIFACTS[name]

    def edit(draft: Any) -> None:
        draft.plan["baseline"]["ignore_paths"] = [".cache"]
        draft.files[".cache/made"] = draft.files["docs/guide.md"]
        draft.after.append(lambda late: late.manifest["produced_artifacts"][0].update(locator=locator))

    evaluation = workspace(tmp_path, edit).evaluate()
    assert blamed(evaluation) == (set() if state is None else {("artifact_digest", "artifacts-intact")})
    (row,) = evaluation.store["candidate.file"].rows
    assert row[3] == (state or "regular")


def test_an_artifact_is_read_once_with_everything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes it between two reads finds that there is no second one: both facts speak of the same bytes."""
    bundle = workspace(tmp_path)
    guide = bundle.candidate / "docs" / "guide.md"
    identity, reads, real = guide.stat().st_ino, [], os.read

    def counting(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        if os.fstat(descriptor).st_ino == identity and data:
            reads.append(size)
        return data

    monkeypatch.setattr(os, "read", counting)
    assert bundle.evaluate().exit_code == 0
    assert len(reads) == 1


def test_an_artifact_beyond_what_the_verifier_reads_is_nobodys_fault(tmp_path: Path) -> None:
    bundle = workspace(tmp_path)
    with (bundle.candidate / "docs" / "guide.md").open("ab") as file:
        file.truncate(2**33)
    evaluation = bundle.evaluate(limits=Limits(tree_bytes=2**20))
    assert evaluation.exit_code == 3
    assert ("artifact_digest", "artifacts-intact") in blamed(evaluation)


def test_a_name_that_is_not_utf8_is_reserved(tmp_path: Path) -> None:
    bundle = workspace(tmp_path)
    with open(os.fsencode(bundle.candidate) + b"/docs/\xff.md", "wb") as file:
        file.write(b"")
    evaluation = bundle.evaluate()
    fact = facts(evaluation, "workspace.change")["docs/\\xff.md"]
    assert (fact["change"], fact["reserved"], fact["authorized"]) == ("added", True, False)
    assert blamed(evaluation) == {SCOPE}
    assert idkrules(*bundle.arguments(tmp_path / "out")).returncode == 1


COLLIDING = {
    "a file in another case": ("docs/GUIDE.md", "docs/guide.md", "case"),
    "a directory in another case": ("Docs", "docs", "case"),
    "another Unicode form": ("docs/caf\u00e9", "docs/cafe\u0301", "unicode"),
}


@pytest.mark.parametrize("name", COLLIDING)
def test_new_names_that_are_old_ones_on_some_disks(tmp_path: Path, name: str) -> None:
    new, other, how = COLLIDING[name]

    def edit(draft: Any) -> None:
        draft.before["docs/cafe\u0301"] = draft.files["docs/cafe\u0301"] = b"x"
        draft.files[new if "." in new or "é" in new else f"{new}/x"] = b"x"

    evaluation = workspace(tmp_path, edit).evaluate()
    assert facts(evaluation, "workspace.collision") == {new: {"path": new, "other": other, "how": how}}
    assert ("scope", "no-collisions") in blamed(evaluation)
    assert unicodedata.is_normalized("NFC", new)


def test_names_that_collided_before_the_work_are_nobodys_fault(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        for name in ("src/Makefile", "src/makefile"):
            draft.before[name] = draft.files[name] = b"all:\n"

    evaluation = workspace(tmp_path, edit).evaluate()
    assert evaluation.exit_code == 0
    assert evaluation.store["workspace.collision"].rows == ()


def test_a_hard_link_to_the_plan_is_refused(tmp_path: Path) -> None:
    bundle = workspace(tmp_path)
    os.link(bundle.plan, bundle.candidate / "docs" / "plan.json")
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert run.returncode == 4
    assert run.stderr.startswith("refused  control-inside-candidate (fault: verifier)")


def test_a_file_of_two_names_is_told(tmp_path: Path) -> None:
    bundle = workspace(tmp_path)
    os.link(bundle.candidate / "docs" / "old.md", bundle.candidate / "docs" / "also.md")
    evaluation = bundle.evaluate()
    assert {path: (fact["type"], fact["links"]) for path, fact in facts(evaluation, "workspace.entry").items()} == {
        "docs/also.md": ("file", 2),
        "docs/old.md": ("file", 2),
    }
    assert evaluation.exit_code == 0


UNPRIVILEGED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from idkmesh_rules import evaluate
place = Path(sys.argv[1])
paths = [place / name for name in ("work-unit.json", "result-manifest.json", "evaluator-plan.json", "candidate")]
evaluate(*paths, durable=False)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try: open(sys.argv[3]).close(); sys.exit("opening did not fail")
except (PermissionError, IsADirectoryError): pass
evaluation = evaluate(*paths, durable=False)
print(evaluation.recommendation.value, evaluation.exit_code)
for finding in evaluation.findings: print(finding.condition)
"""
UNREADABLE = {
    "a file outside the scope": ("src/main.js", ["paths-authorized", "only-plain-files"]),
    "a file inside the scope": ("docs/old.md", ["only-plain-files"]),
    "a directory": ("src", ["paths-authorized", "only-plain-files", "no-collisions"]),
}


@pytest.mark.skipif(os.getuid() != 0, reason="dropping to another uid needs root")
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_the_verifier_may_not_read_is_nobodys_fault(tmp_path: Path, name: str) -> None:
    """It may be unchanged, so it is never held against the worker; and it is never taken for unchanged."""
    path, conditions = UNREADABLE[name]
    bundle = workspace(tmp_path / "case")
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.getuid() and directory != Path("/"):
            directory.chmod(directory.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    (bundle.candidate / path).chmod(0)
    run = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(bundle.place), str(ROOT), str(bundle.candidate / path)],
        capture_output=True,
        text=True,
    )
    assert run.stdout.splitlines() == ["insufficient_evidence 3", *conditions], run.stderr


def test_an_unreadable_file_is_unknown_where_it_may_be_unchanged(tmp_path: Path) -> None:
    """A bound in bytes stands for a disk that fails: facts on what is unchanged or not are unknown, not false."""
    bundle = workspace(tmp_path)
    with (bundle.candidate / "src" / "main.js").open("wb") as file:
        file.truncate(2**30)
    with (bundle.candidate / "docs" / "huge").open("wb") as file:
        file.truncate(2**30)
    evaluation = bundle.evaluate(limits=Limits(tree_bytes=2**20))
    found = facts(evaluation, "workspace.change")
    gone = Unknown("the files together have more bytes than the verifier reads")
    assert set(found["src/main.js"].values()) == {"src/main.js", gone}
    assert (found["docs/huge"]["change"], found["docs/huge"]["authorized"]) == ("added", True)
    assert {path: fact["type"] for path, fact in facts(evaluation, "workspace.entry").items()} == {
        "docs/huge": gone,
        "src/main.js": gone,
    }
    assert evaluation.recommendation.value == "insufficient_evidence"
    assert blamed(evaluation) == {SCOPE, ("scope", "only-plain-files")}


def test_more_entries_than_are_walked_are_no_pass_and_nobody_is_blamed_for_what_lies_behind(tmp_path: Path) -> None:
    evaluation = workspace(tmp_path).evaluate(limits=Limits(tree_entries=3))
    assert evaluation.recommendation.value == "insufficient_evidence"
    assert "deleted" not in changes(evaluation).values()
    assert "there are more than 3 entries" in (evaluation.store["workspace.change"].reason or "")


def test_facts_are_bounded_and_a_forbidden_change_behind_the_bound_is_told_all_the_same(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.files |= {f"docs/a{number:02}": b"x" for number in range(30)}

    bundle = workspace(tmp_path, edit)
    evaluation = bundle.evaluate(limits=Limits(tree_facts=10))
    assert len(changes(evaluation)) == 10
    assert evaluation.store["workspace.change"].reason == "there are 31, of which 10 are listed"
    assert (evaluation.exit_code, blamed(evaluation)) == (3, {SCOPE})
    (bundle.candidate / "src" / "z").write_text("")
    (bundle.candidate / "src" / "zz").write_text("")
    for number in range(12):
        (bundle.candidate / "docs" / f"l{number:02}").symlink_to("x")
    evaluation = bundle.evaluate(limits=Limits(tree_facts=10))
    assert [path for path in changes(evaluation) if path.startswith("src")] == ["src/z"]
    assert len(facts(evaluation, "workspace.entry")) == 10
    assert (evaluation.exit_code, blamed(evaluation)) == (1, {SCOPE, ("scope", "only-plain-files")})


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    bundle = workspace(tmp_path, lambda draft: draft.files.update({f"docs/{number}": b"12" for number in range(300)}))
    bundle.evaluate(progress=lambda files, size: told.append((files, size)))
    assert [files for files, _ in told] == [256]
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert (run.returncode, run.stderr) == (0, ""), "nothing of it where no terminal is"


def test_ignored_paths_speak_the_allow_dialect(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.plan["baseline"]["ignore_paths"] = [".git", "build/", "**/*.log"]
        draft.before["old.log"] = b"gone"
        for name in (".git/config", "build/x/y", "a.log", "src/deep/b.log"):
            draft.files[name] = b"x"

    bundle = workspace(tmp_path, edit)
    (bundle.candidate / "build" / "link").symlink_to("/")
    assert changes(bundle.evaluate()) == {"docs/guide.md": "modified"}
    (bundle.candidate / ".GIT").mkdir()
    (bundle.candidate / ".GIT" / "config").write_text("")
    evaluation = bundle.evaluate()
    assert changes(evaluation)[".GIT/config"] == "added"
    assert blamed(evaluation) == {SCOPE}


def test_a_link_in_the_name_of_an_ignored_directory_is_not_ignored(tmp_path: Path) -> None:
    bundle = workspace(tmp_path, lambda draft: draft.plan["baseline"].update(ignore_paths=["build/"]))
    (bundle.candidate / "build").symlink_to("/etc")
    assert blamed(bundle.evaluate()) == {SCOPE, ("scope", "only-plain-files")}


def test_a_hidden_plan_keeps_its_baseline_to_itself(tmp_path: Path) -> None:
    """A path that only the baseline has is a secret; one that the candidate shows is none."""

    def edit(draft: Any) -> None:
        draft.plan["visibility"] = "hidden"
        draft.before["src/secret-oracle.json"] = b"x"
        draft.files["src/added.js"] = b"x"

    bundle = workspace(tmp_path / "case", edit)
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert run.returncode == 1
    shown = run.stdout + (tmp_path / "out" / "verification-result.json").read_text()
    assert "secret-oracle" not in shown
    assert "[hidden 1]" in run.stdout
    assert "src/added.js" in run.stdout
    assert "secret-oracle" in (tmp_path / "out" / "facts.json").read_text()
    assert "secret-oracle" in idkrules(*bundle.arguments(tmp_path / "again"), "--reveal").stdout


def labels(*checks: tuple[str, bool, str]) -> list[dict[str, Any]]:
    return [
        {"id": name, "type": "lint", "required": required, "builtin": builtin} for name, required, builtin in checks
    ]


# the plan's checks, and the result's (id, type, required, status) for an attempt whose worker failed
LABELS: dict[str, tuple[list[dict[str, Any]], set[tuple[str, str, bool, str]], int]] = {
    "one check for one built-in one": (
        labels(("asked", True, "verification_request")),
        {("asked", "lint", True, "failed"), ("scope", "policy", True, "passed"), ("provenance", "policy", True, "passed"),
         ("input_schema", "schema", True, "passed"), ("artifact_digest", "security", True, "passed")},
        1,
    ),
    "two checks for one, one of them required": (
        labels(("a", False, "verification_request"), ("b", True, "verification_request")),
        {("a", "lint", False, "failed"), ("b", "lint", True, "failed")},
        1,
    ),
    "an optional check is shown and stops nothing but what is below the floor": (
        labels(("asked", False, "verification_request")),
        {("asked", "lint", False, "failed"), ("floor", "policy", True, "failed")},
        1,
    ),
    "a check with a built-in one's name": (
        labels(("scope", True, "provenance")),
        {("scope", "lint", True, "passed"), ("builtin/scope", "policy", True, "passed"),
         ("verification_request", "policy", True, "failed")},
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LABELS)
def test_a_result_reports_under_the_plans_labels(tmp_path: Path, name: str) -> None:
    checks, expected, code = LABELS[name]

    def edit(draft: Any) -> None:
        draft.plan["checks"] = checks
        draft.unit["validators"] = [{"id": checks[-1]["id"], "type": "test", "required": checks[-1]["required"]}]
        draft.unit["validators"].append({"id": "spelling", "type": "lint", "required": False})
        if not checks[-1]["required"]:
            draft.unit["validators"].append({"id": "scope", "type": "lint", "required": True})
            draft.plan["checks"] = [*checks, *labels(("scope", True, "scope"))]
        required = [each["id"] for each in draft.unit["validators"]]
        draft.manifest["verification_request"]["expected_validator_ids"] = required
        draft.manifest["status"] = "failed"

    evaluation = workspace(tmp_path, edit).evaluate()
    found = {(check["id"], check["type"], check["required"], check["status"]) for check in evaluation.result["checks"]}
    assert expected <= found
    assert len(found) == len(evaluation.result["checks"]) >= 5
    assert evaluation.exit_code == code


GAPS: dict[str, tuple[Callable[[Any], object], str]] = {
    "no check of that name": (lambda draft: draft.plan["checks"].pop(0), "change-scope"),
    "an optional check only": (lambda draft: draft.plan["checks"][0].update(required=False), "uncovered/change-scope"),
}


@pytest.mark.parametrize("name", GAPS)
def test_what_the_plan_does_not_cover_is_inconclusive(tmp_path: Path, name: str) -> None:
    edit, gap = GAPS[name]
    bundle = workspace(tmp_path / "case", edit)
    evaluation = bundle.evaluate(output_dir=tmp_path / "out")
    told = {check["id"]: check for check in evaluation.result["checks"]}
    assert (told[gap]["status"], told[gap]["required"], told[gap]["type"]) == ("inconclusive", True, "other")
    assert told[gap]["evidence_ids"] == ["evidence/validator-coverage"]
    assert evaluation.exit_code == 3
    assert "change-scope" in evaluation.result["decision_support"]["rationale"]
    run = idkrules("validate", "--work-unit", bundle.work_unit, "--evaluator-plan", bundle.plan)
    assert run.returncode == 0
    assert "which the WorkUnit requires: no candidate can pass" in " ".join(run.stdout.split())


def test_rules_for_workspaces_implement_the_built_in_checks_exactly(tmp_path: Path) -> None:
    from idkmesh_rules import Refusal

    bundle = workspace(tmp_path / "case")
    text = (ROOT / "policies" / "workspace" / "bundle.yaml").read_text()
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "bundle.yaml").write_text(text.replace("  input_schema:\n", "  schema:\n"))
    with pytest.raises(Refusal) as caught:
        bundle.evaluate(bundle=rules)
    assert caught.value.reason == "validator-set-mismatch"
    assert {problem.message.split(",")[0] for problem in caught.value.problems} == {
        'the workspace backend names "input_schema"',
        'the rule bundle workspace names "schema"',
    }
