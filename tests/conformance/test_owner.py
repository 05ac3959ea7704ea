"""What a verifier owner meets: lint, the tests of a bundle, their reports; shipped bundles first, then broken ones."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml

from idkmesh_rules.checks.catalog import catalogue, catalogue_page
from idkmesh_rules.resources import schema_bytes, shipped_bundle, shipped_bundle_ids
from tests.support.broken import BROKEN
from tests.support.command import idkrules
from tests.support.places import ROOT

SHIPPED = shipped_bundle_ids()


@pytest.mark.parametrize("bundle", SHIPPED)
def test_shipped_bundles_are_clean(bundle: str) -> None:
    run = idkrules("lint", bundle, "--format", "json")
    (report,) = json.loads(run.stdout)
    assert (run.returncode, report["clean"], report["problems"]) == (0, True, [])
    assert report["cases"] > 20


@pytest.mark.parametrize("bundle", SHIPPED)
def test_shipped_bundles_are_tested_to_the_last_mutant(bundle: str) -> None:
    run = idkrules("test", bundle, "--coverage", "--mutate", "--format", "json")
    (report,) = json.loads(run.stdout)
    assert [case["name"] for case in report["cases"] if not case["passed"]] == []
    assert [each for each in report["coverage"] if each["shown_by"] is None] == []
    assert report["mutation"]["survived"] == []
    assert report["mutation"]["killed"] > 50
    assert (run.returncode, report["passed"]) == (0, True)


@pytest.mark.parametrize("bundle", SHIPPED)
def test_shipped_tests_satisfy_the_editors_schema_and_name_it(bundle: str) -> None:
    directory = shipped_bundle(bundle)
    assert directory is not None
    schema = json.loads(schema_bytes("rule-tests-1"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(yaml.safe_load((directory / "tests.yaml").read_bytes()))
    for name in ("bundle", "tests"):
        first = (directory / f"{name}.yaml").read_text().split("\n")[0]
        target = first.removeprefix("# yaml-language-server: $schema=")
        assert json.loads((directory / target).read_text())["$id"] == f"urn:idkmesh-rules:schema:rule-{name}-1"


@pytest.mark.parametrize("bundle", SHIPPED)
def test_every_condition_has_a_case_that_blames_it(bundle: str) -> None:
    """Where no real candidate can fire a condition, at least a case over facts does."""
    directory = shipped_bundle(bundle)
    assert directory is not None
    rules = yaml.safe_load((directory / "bundle.yaml").read_bytes())
    cases = yaml.safe_load((directory / "tests.yaml").read_bytes())["cases"]
    blamed = {cause.rpartition("/")[2] for case in cases.values() for cause in case.get("causes", ())}
    leaves = {name for name, condition in rules["conditions"].items() if not {"all", "any"} & condition.keys()}
    assert leaves <= blamed


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A bundle of one's own, as copied from the shipped one."""
    directory = shipped_bundle("unified-diff")
    assert directory is not None
    return Path(shutil.copytree(directory, tmp_path / "own"))


def edit(own: Path, before: str, after: str, name: str = "bundle.yaml") -> None:
    text = (own / name).read_text()
    assert before in text, before
    (own / name).write_text(text.replace(before, after, 1))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_bundle_is_shown_with_its_place_and_how_to_mend_it(own: Path, name: str) -> None:
    before, after, at, said, hint = BROKEN[name]
    edit(own, before, after)
    text = (own / "bundle.yaml").read_text()
    place = text.index(after) + after.rindex(at) if at in after else text.index(at)
    number, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    run = idkrules("lint", own, env={"COLUMNS": "80"})
    flat = re.sub(r"\s+", " ", run.stdout)
    assert run.returncode == 1
    assert f"{own}/bundle.yaml:{number}:{column}: {said}" in flat, run.stdout
    assert hint in flat
    shown = run.stdout.split("\n")
    caret = next(n for n, each in enumerate(shown) if each.strip() == "^")
    assert shown[caret - 1][shown[caret].index("^") :].startswith(at[:8])
    assert "Traceback" not in run.stdout + run.stderr


def test_a_removed_rule_breaks_the_floor_with_a_counterexample(own: Path) -> None:
    """Condition and mention are gone, so that nothing is left unused: the floor says what would be accepted."""
    text = (own / "bundle.yaml").read_text()
    start = text.index("  paths-authorized:\n")
    text = text[:start] + text[text.index("\n\n", start) + 2 :]
    (own / "bundle.yaml").write_text(text.replace("paths-authorized, ", ""))
    run = idkrules("lint", own)
    flat = re.sub(r"\s+", " ", run.stdout)
    assert run.returncode == 1
    assert "below the floor of unified_diff, which demands paths-authorized" in flat
    assert "demand {every: patch.path, must: {authorized: true}, on_empty: fail} in a validator" in flat
    assert "there is no cause" in flat, "the tests that speak of it are told, too"


def test_a_loosened_rule_is_shown_a_fact_that_would_be_accepted(own: Path) -> None:
    edit(own, "must: {authorized: true}", "must: {forbidden: false}")
    run = idkrules("lint", own)
    flat = re.sub(r"\s+", " ", run.stdout)
    assert "a patch.path fact with forbidden false, authorized false would be accepted" in flat, run.stdout
    assert run.returncode == 1


def test_all_mistakes_are_told_at_once_and_nothing_is_evaluated(own: Path, tmp_path: Path) -> None:
    for before, after, *_ in [BROKEN[name] for name in ("a typo in a kind", "a typo in a parameter", "an alias")][:2]:
        edit(own, before, after)
    assert idkrules("lint", own).stdout.count("\n    ^") + idkrules("lint", own).stdout.count("did you mean") >= 2
    run = idkrules("test", own)
    assert (run.returncode, run.stdout) == (4, "")
    assert "did you mean" in run.stderr


def test_several_bundles_and_the_worst_exit_code(own: Path) -> None:
    edit(own, "every: patch.path", "every: patch.paths")
    run = idkrules("lint", "unified-diff", own)
    assert run.returncode == 1
    assert run.stdout.count(": clean") == 1
    assert idkrules("lint", "unified-diff", own / "nowhere").returncode == 4


def test_a_bundle_without_tests_is_clean_and_can_not_be_tested(own: Path) -> None:
    (own / "tests.yaml").unlink()
    run = idkrules("lint", own)
    assert (run.returncode, "It has no tests.yaml." in run.stdout) == (0, True)
    run = idkrules("test", own)
    assert run.returncode == 4
    assert "tests.yaml: there is no such file" in re.sub(r"\s+", " ", run.stderr)


def test_a_mistake_in_the_tests_is_a_lint_problem(own: Path) -> None:
    edit(own, "{drop: manifest.binding}", "{drop: manifest.bindings}", "tests.yaml")
    run = idkrules("lint", own)
    assert run.returncode == 1
    assert 'there is no fact kind "manifest.bindings"' in run.stdout
    edit(
        own,
        "{drop: manifest.bindings}",
        "{drop: manifest.binding, where: {field: source_revision, matches: false}}",
        "tests.yaml",
    )
    run = idkrules("lint", own)
    assert "in bound-to-nothing: no manifest.binding is there to drop" in re.sub(r"\s+", " ", run.stdout)


def test_a_case_that_comes_out_otherwise_fails_the_run_and_says_how(own: Path, tmp_path: Path) -> None:
    edit(own, "causes: [independent-review/patch-intact]", "causes: [independent-review/no-prose]", "tests.yaml")
    report = tmp_path / "report.xml"
    run = idkrules("test", own, "--output", f"junit={report}")
    assert run.returncode == 1
    assert "✗ forged-digest-of-the-patch (tests.yaml:" in run.stdout
    assert "expected as cause, but isn't: independent-review/no-prose" in run.stdout
    assert "cause, but not expected: independent-review/patch-intact" in run.stdout
    root = ElementTree.fromstring(report.read_text())
    assert (root.get("failures"), root.get("errors")) == ("1", "0")
    (failed,) = root.findall(".//testcase[failure]")
    assert failed.get("name") == "forged-digest-of-the-patch"


def test_a_missing_case_is_named_found_and_written(own: Path) -> None:
    """Without its cases an obligation is open and mutants survive; what --generate writes closes both."""
    text = (own / "tests.yaml").read_text()
    start = text.index("  required-log-missing:")
    end = text.index("  logs-not-counted:")
    (own / "tests.yaml").write_text(text[:start] + text[end:])
    run = idkrules("test", own, "--coverage", "--mutate")
    flat = re.sub(r"\s+", " ", run.stdout)
    line = next(
        n for n, each in enumerate((own / "bundle.yaml").read_text().split("\n"), 1) if "required-logs-present:" in each
    )
    assert run.returncode == 1
    assert f"bundle.yaml:{line}: no case shows required-logs-present false deciding independent-review" in flat
    assert "no case notices required-logs-present: where: required: true dropped" in flat
    run = idkrules("test", own, "--generate")
    assert run.returncode == 1, "they were missing"
    with (own / "tests.yaml").open("a") as stream:
        stream.write(run.stdout)
    run = idkrules("test", own, "--coverage", "--mutate")
    assert run.returncode == 0, run.stdout


def test_a_filter_chooses_cases_and_one_that_matches_nothing_is_an_error(own: Path) -> None:
    run = idkrules("test", own, "--filter", "no-*")
    assert run.returncode == 0
    assert re.search(r"(\d+) of \1 cases as expected; \d+ left out", run.stdout)
    run = idkrules("test", own, "--filter", "nothing-*")
    assert run.returncode == 2
    assert "nothing was tested" in run.stderr


def test_bad_bundles_are_bounded(tmp_path: Path) -> None:
    """A bomb, ten megabytes, ten thousand conditions, deep nesting: told, quickly, without a traceback."""
    head = 'schema_version: "1.0"\nbundle: {id: b, version: 1.0.0, owner: o, backend: unified_diff}\nconditions:\n'
    bombs = {
        "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        "megabytes": head + "#" * 10_000_000,
        "depth": head + "  a: " + "[" * 5_000,
        "conditions": head
        + "".join(f"  c{n}: {{one: patch.structure, must: {{files: {{at_least: {n + 1}}}}}}}\n" for n in range(10_000))
        + "validators:\n  v: {all: [c0]}\n",
    }
    for name, text in bombs.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        run = idkrules("lint", path)
        assert run.returncode == 1, (name, run.stderr[-500:])
        assert str(path) in run.stdout.replace("\n", "")
        assert "Traceback" not in run.stderr


def test_the_catalogue_is_the_documentation(tmp_path: Path) -> None:
    run = idkrules("facts", "--catalog", "--format", "markdown")
    assert run.stdout == (ROOT / "docs" / "facts.md").read_text() == catalogue_page(catalogue())
    listed = json.loads(idkrules("facts", "--format", "json").stdout)
    assert [each["kind"] for each in listed] == [entry.kind.name for entry in catalogue()]
    assert all(each["checks"] and each["backends"] and each["fields"] for each in listed)


def test_the_catalogue_tells_one_kind_and_suggests_what_was_meant() -> None:
    run = idkrules("facts", "patch.path")
    assert "authorized = allowed ∧ writable ∧ ¬forbidden ∧ ¬reserved" in run.stdout
    assert max(map(len, run.stdout.split("\n"))) <= 80
    run = idkrules("facts", "patch.paht")
    assert (run.returncode, run.stdout) == (1, "")
    assert "did you mean" in run.stderr
    assert idkrules("facts", "--backend", "nonsense").returncode == 2
