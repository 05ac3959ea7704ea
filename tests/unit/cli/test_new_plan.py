"""`idkrules new plan`: whatever it writes fits its WorkUnit, is pinned, and can be passed; whatever it lacks is named."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import Refusal, evaluate
from idkmesh_rules.pipeline.planning import Demanded, new_plan
from idkmesh_rules.result.file import publish_file
from tests.support.bundles import MARKER, Bundle, builder, make
from tests.support.command import idkrules
from tests.support.places import ROOT


def case(place: Path, kind: Callable[[], Any] = builder.Draft) -> Bundle:
    return make(place / "case", kind=kind)


def new(bundle: Bundle, *options: str | Path, output: str = "plan.json") -> Any:
    return idkrules("new", "plan", "--work-unit", bundle.work_unit, "--output", bundle.place.parent / output, *options)


def assert_good(bundle: Bundle, run: Any, version: str) -> dict[str, Any]:
    """The plan is as it was asked for, passes `validate` with a pin, and the honest candidate passes it."""
    plan = bundle.place.parent / "plan.json"
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("The WorkUnit, the plan and the rule bundle fit each other.")
    assert "unpinned" not in run.stdout
    checked = idkrules("validate", "--work-unit", bundle.work_unit, "--evaluator-plan", plan, "--require-pin")
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout == run.stdout
    evaluation = evaluate(bundle.work_unit, bundle.manifest, plan, bundle.candidate, require_pin=True, durable=False)
    assert evaluation.exit_code == 0, evaluation.findings
    value: dict[str, Any] = json.loads(plan.read_text())
    assert value["schema_version"] == version
    return value


PATCHES: dict[str, tuple[list[str], str, str]] = {
    "a whole line": (["--require-added-text", MARKER], "0.2", "0.1.1"),
    "substrings": (["--require-added-substring", "mesh", "--require-added-substring", "told"], "0.3", "0.2.0"),
}


@pytest.mark.parametrize("name", PATCHES)
def test_from_required_lines(tmp_path: Path, name: str) -> None:
    options, version, adapter = PATCHES[name]
    bundle = case(tmp_path)
    plan = assert_good(bundle, new(bundle, *options, "--require-log", "stdout", "--max-bytes", "5000"), version)
    assert plan["verifier"]["adapter_version"] == adapter
    assert plan["backend"]["required_log_types"] == ["stdout"]
    assert plan["backend"]["max_candidate_bytes"] == 5000
    assert plan["binding"]["source_revision"] == builder.REVISION


def test_from_removed_lines(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.patch = draft.patch.replace("-1,3 +1,4", "-1,3 +1,3").replace(" Start here.\n", "-Start here.\n")

    bundle = make(tmp_path / "case", edit)
    run = new(bundle, "--require-added-substring", "verifies", "--require-removed-substring", "Start")
    assert assert_good(bundle, run, "0.4")["backend"]["required_removed_substrings"] == ["Start"]


def test_from_required_json(tmp_path: Path) -> None:
    bundle = case(tmp_path, builder.AnswerDraft)
    run = new(bundle, "--require-json", bundle.candidate / "answer.json", "--hidden", "--id", "my-plan")
    plan = assert_good(bundle, run, "0.1")
    assert (plan["id"], plan["visibility"], plan["allowed_files"]) == ("my-plan", "hidden", ["answer.json"])
    assert plan["required_json"] == builder.ANSWER_PLAN["required_json"]


LABELS = ("--check", "change-scope=scope", "--check", "artifact-integrity=artifact_digest")


def test_from_a_baseline(tmp_path: Path) -> None:
    bundle = case(tmp_path, builder.WorkspaceDraft)
    changed = (bundle.candidate / "docs" / "guide.md").read_bytes()
    (bundle.candidate / "docs" / "guide.md").write_bytes(builder.WORKSPACE["docs/guide.md"])
    baseline = tmp_path / "baseline.json"
    assert idkrules("snapshot", "--root", bundle.candidate, "--output", baseline, "--ignore", ".git").returncode == 0
    (bundle.candidate / "docs" / "guide.md").write_bytes(changed)
    plan = assert_good(bundle, new(bundle, "--baseline", baseline, *LABELS), "0.1")
    assert plan["baseline"] == json.loads(baseline.read_text())
    assert plan["source_revision"] == builder.REVISION
    assert {check["id"]: (check["type"], check["builtin"]) for check in plan["checks"]} == {
        "change-scope": ("other", "scope"),
        "artifact-integrity": ("security", "artifact_digest"),
        "input_schema": ("schema", "input_schema"),
        "provenance": ("policy", "provenance"),
        "verification_request": ("policy", "verification_request"),
    }
    assert len((tmp_path / "plan.json").read_text().splitlines()) < 100, "one line a file"


def test_a_bundle_of_ones_own_is_pinned_by_its_own_id(tmp_path: Path) -> None:
    bundle = case(tmp_path)
    rules = tmp_path / "rules"
    rules.mkdir()
    text = (ROOT / "policies" / "unified-diff" / "bundle.yaml").read_text()
    (rules / "bundle.yaml").write_text(text.replace("id: unified-diff", "id: our-rules"))
    run = new(bundle, "--require-added-text", MARKER, "--bundle", rules)
    assert run.returncode == 0, run.stderr
    pinned = json.loads((tmp_path / "plan.json").read_text())["extensions"]["org.idkmesh.rules"]["bundle"]
    assert pinned["id"] == "our-rules"
    assert pinned["digest"] == idkrules("digest", rules).stdout.split()[0]


def unit(edit: Callable[[dict[str, Any]], object]) -> Callable[[Bundle], None]:
    return lambda bundle: bundle.rewrite("work-unit.json", edit)


def nothing(bundle: Bundle) -> None:
    pass


def baseline(value: Any) -> Callable[[Bundle], None]:
    return lambda bundle: (bundle.place.parent / "b.json").write_text(json.dumps(value)) and None


def two_outputs(value: dict[str, Any]) -> None:
    value["outputs"].append({**value["outputs"][0], "id": "second"})


def no_revision(value: dict[str, Any]) -> None:
    value["provenance"].pop("source_revision")


GOOD = ["--require-added-text", MARKER]
WRONG: dict[str, tuple[Callable[[Bundle], object], Any, list[str], int, str]] = {
    "nothing demanded": (nothing, builder.Draft, [], 2, "and only one of the four"),
    "two things demanded": (nothing, builder.Draft, [*GOOD, "--baseline", "b.json"], 2, "and only one of the four"),
    "whole lines and substrings": (
        nothing, builder.Draft, [*GOOD, "--require-added-substring", "x"], 1, "whole lines or substrings, not both"),
    "only removed lines": (nothing, builder.Draft, ["--require-removed-substring", "x"], 1, "demands added text, too"),
    "no source revision": (unit(no_revision), builder.Draft, GOOD, 1, "--source-revision"),
    "an artifact that can't be guessed": (unit(two_outputs), builder.Draft, GOOD, 1, "--candidate-artifact"),
    "a WorkUnit that is wrong": (unit(lambda value: value.update(kind="code")), builder.Draft, GOOD, 1, "#/kind"),
    "a WorkUnit that isn't there": (lambda b: b.work_unit.unlink(), builder.Draft, GOOD, 4, "document-unreadable"),
    "another WorkUnit's validators": (nothing, builder.AnswerDraft, [*GOOD, "--candidate-artifact", "answer"], 1,
                                      "validator-set-mismatch"),
    "a bundle that isn't there": (nothing, builder.Draft, [*GOOD, "--bundle", "our-rules"], 4, "bundle-unknown"),
    "a bundle of another backend": (nothing, builder.Draft, [*GOOD, "--bundle", "workspace"], 1, "bundle-backend"),
    "a type of log that nobody knows": (nothing, builder.Draft, [*GOOD, "--require-log", "sdtout"], 1, "expected one of"),
    "a required line with LF": (nothing, builder.Draft, ["--require-added-text", "a\nb"], 1, "/backend/required_added_text/0"),
    "files that patterns allow": (
        unit(lambda value: value["constraints"].update(allowed_paths=["*.json"])), builder.AnswerDraft,
        ["--require-json", "case/candidate/answer.json"], 1, "--allowed-file"),
    "JSON that isn't": (lambda b: (b.candidate / "answer.json").write_text("{"), builder.AnswerDraft,
                        ["--require-json", "case/candidate/answer.json"], 1, "answer.json:1:2"),
    "a validator without a check": (
        baseline({"algorithm": "sha256", "complete": True, "files": [], "ignore_paths": []}), builder.WorkspaceDraft,
        ["--baseline", "b.json", "--check", "change-scope=scope"], 1, "--check artifact-integrity="),
    "a check of nothing": (
        baseline({}), builder.WorkspaceDraft, ["--baseline", "b.json", "--check", "x=scop"], 1, "no built-in check scop"),
    "a check without a name": (
        baseline({}), builder.WorkspaceDraft, ["--baseline", "b.json", "--check", "scope"], 2, "expected ID=BUILTIN"),
    "a baseline that is none": (
        baseline({"files": []}), builder.WorkspaceDraft, ["--baseline", "b.json", *LABELS], 1, "/baseline"),
    "a baseline with a path outside": (
        baseline({"algorithm": "sha256", "complete": True, "ignore_paths": [],
                  "files": [{"path": "../x", "digest": "sha256:" + "0" * 64}]}),
        builder.WorkspaceDraft, ["--baseline", "b.json", *LABELS], 1, "/baseline/files/0/path"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_missing_or_wrong_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    arrange, kind, options, code, words = WRONG[name]
    bundle = case(tmp_path, kind)
    arrange(bundle)
    run = idkrules("new", "plan", "--work-unit", bundle.work_unit, "--output", "plan.json", *options, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (code, ""), run.stderr
    assert words in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "plan.json").exists()


def test_through_the_api_exactly_one_demand_is_needed(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        new_plan(case(tmp_path).work_unit, tmp_path / "plan.json", Demanded())
    assert caught.value.reason == "plan-incomplete"
    assert [problem.message.partition(":")[0] for problem in caught.value.problems] == ["exactly one is needed"]


def test_where_nothing_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file" / "out", tmp_path / ("x" * 300)):
        with pytest.raises(Refusal) as caught:
            publish_file(place, [b"mine"])
        assert caught.value.reason == "output-unwritable"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_plan_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    assert new(case(tmp_path), *GOOD, "--hidden").returncode == 0
    assert (tmp_path / "plan.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("knows", [True, False])
def test_a_file_that_appears_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows: bool
) -> None:
    """Neither where the file system knows how to rename without replacing, nor where it doesn't."""
    if not knows:
        monkeypatch.setattr("idkmesh_rules.result.file.rename_without_replacing", lambda *_: False)
    publish_file(tmp_path / "free", [b"mine"])
    assert (tmp_path / "free").read_bytes() == b"mine"
    (tmp_path / "free").unlink()

    def pieces() -> Iterator[bytes]:
        yield b"mine"
        (tmp_path / "out").write_bytes(b"theirs")

    with pytest.raises(Refusal) as caught:
        publish_file(tmp_path / "out", pieces())
    assert caught.value.reason == "output-exists"
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"theirs")]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    bundle = case(tmp_path)
    (tmp_path / "plan.json").write_text("mine")
    run = new(bundle, *GOOD)
    assert run.returncode == 4
    assert "output-exists" in run.stderr
    assert (tmp_path / "plan.json").read_text() == "mine"


def protected(place: Path) -> Path:
    """A directory with the files of a grading, beside where plans are written."""
    directory = place / "protected"
    for name, text in {
        "test-bundle.json": '{"protocol": "cortex.json-equality.v1", "checks": ["answer"]}',
        "result-schema.json": '{"protocol": "cortex.json-equality.v1", "checks": ["answer"]}',
        "expected.json": '{"protocol": "cortex.json-equality.v1", "values": {"answer": 42}}',
        "candidate/run.py": "pass",
        "candidate/data/inputs.json": "{}",
        "candidate/__pycache__/run.pyc": "compiled",
        "grader/run.py": "pass",
    }.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def graded_unit(place: Path, **changes: Any) -> Path:
    """A WorkUnit whose validators are those of a grading."""
    bundle = make(place / "unit")
    value = json.loads(bundle.work_unit.read_text())
    names = ("result-manifest-schema", "sandbox-integrity", "hidden-tests")
    value["validators"] = [{"id": name, "type": "test", "required": True} for name in names]
    path = place / "work-unit.json"
    path.write_text(json.dumps(value | changes))
    return path


def test_for_a_grading(tmp_path: Path) -> None:
    unit, directory = graded_unit(tmp_path), protected(tmp_path)
    made = []
    for name in ("one.json", "two.json"):
        options = ("--grading", directory, "--output", tmp_path / name, "--ceiling", "processes=3")
        run = idkrules("new", "plan", "--work-unit", unit, *options, "--require-control", "memory-total")
        assert (run.returncode, run.stderr) == (0, "")
        made.append(json.loads((tmp_path / name).read_text()))
    plan = made[0]
    files = {role: [each["path"] for each in plan["jobs"][role]["evaluator"]] for role in ("candidate", "grader")}
    assert files["candidate"] == ["protected/candidate/data/inputs.json", "protected/candidate/run.py"]
    assert files["grader"] == [*files["candidate"], "protected/grader/run.py"]
    assert plan["jobs"]["grader"]["command"] == ["python3", "-I", "/evaluator/protected/grader/run.py"]
    assert plan["jobs"]["candidate"]["limits"]["processes"] == 3
    assert plan["jobs"]["candidate"]["limits"]["wall_seconds"] == 30
    assert {"network-none", "memory-total"} <= set(plan["required_controls"])
    assert plan["visibility"] == "public"
    assert plan["execution_mode"] == "sandboxed"
    # Ids are used once, so no two plans may have the same.
    ids = [[each["assessment_id"], *(job["job_id"] for job in each["jobs"].values())] for each in made]
    assert not set(ids[0]) & set(ids[1])


def test_the_work_units_wall_time_bounds_both_jobs_of_a_new_plan(tmp_path: Path) -> None:
    unit, directory = graded_unit(tmp_path, budget={"wall_seconds": 7}), protected(tmp_path)
    run = idkrules("new", "plan", "--work-unit", unit, "--grading", directory, "--output", tmp_path / "plan.json")
    assert run.returncode == 0, run.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert [job["limits"]["wall_seconds"] for job in plan["jobs"].values()] == [3, 3]


def no_driver(directory: Path) -> None:
    (directory / "candidate" / "run.py").unlink()


def no_grader(directory: Path) -> None:
    (directory / "grader" / "run.py").unlink()


def no_values(directory: Path) -> None:
    (directory / "expected.json").unlink()


def other_values(directory: Path) -> None:
    (directory / "expected.json").write_text('{"protocol": "cortex.json-equality.v1", "values": {"anser": 42}}')


def too_large(directory: Path) -> None:
    (directory / "candidate" / "data" / "inputs.json").write_bytes(b" " * ((16 << 20) + 1))


NOT_GRADED: dict[str, tuple[Callable[[Path], Any], list[str], int, str]] = {
    "no driver": (no_driver, [], 1, "protected/candidate has no run.py"),
    "no grader": (no_grader, [], 1, "protected/grader has no run.py"),
    "no expected values": (no_values, [], 1, "expected.json can't be read"),
    "a file that is too large": (too_large, [], 1, "has more than 16777216 bytes"),
    "a control that isn't one": (lambda _: None, ["--require-control", "memory"], 1, "there is no control memory"),
    "no directory": (shutil.rmtree, [], 1, "protected is no directory"),
    "expected values of other checks": (other_values, [], 1, "doesn't have exactly the declared checks"),
    "a ceiling that isn't one": (lambda _: None, ["--ceiling", "patience=3"], 1, "there is no ceiling patience"),
    "a ceiling that is no number": (lambda _: None, ["--ceiling", "processes=many"], 2, "expected NAME=N"),
    "a ceiling twice": (lambda _: None, ["--ceiling", "processes=1", "--ceiling", "processes=2"], 2, "each name once"),
    "more than the budget": (lambda _: None, ["--ceiling", "wall_seconds=100"], 1, "plan-exceeds-work-unit"),
    "another demand besides": (lambda _: None, ["--require-added-text", "x"], 2, "only one of the four"),
}


@pytest.mark.parametrize("name", NOT_GRADED)
def test_what_a_grading_lacks_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    arrange, options, code, words = NOT_GRADED[name]
    unit, directory = graded_unit(tmp_path), protected(tmp_path)
    arrange(directory)
    output = tmp_path / "plan.json"
    run = idkrules("new", "plan", "--work-unit", unit, "--grading", directory, "--output", output, *options)
    assert (run.returncode, run.stdout) == (code, ""), run.stderr
    assert words in " ".join(run.stderr.split())
    assert not output.exists()


def test_the_files_of_a_grading_lie_beside_the_plan(tmp_path: Path) -> None:
    unit, directory = graded_unit(tmp_path), protected(tmp_path / "elsewhere")
    (tmp_path / "here").mkdir()
    output = tmp_path / "here" / "plan.json"
    run = idkrules("new", "plan", "--work-unit", unit, "--grading", directory, "--output", output)
    assert run.returncode == 1
    assert "write the plan next to the directory" in " ".join(run.stderr.split())
