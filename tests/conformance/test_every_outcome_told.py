"""Outcomes that neither a passed nor a failed validator explains: escalations, the floor, what nothing covers."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.command import idkrules_here
from tests.support.places import FIXTURES
from tests.support.results import FORBIDDEN, fixture_result, rewrite

TOLD: dict[str, tuple[str, str, str]] = {
    "an escalation": ("escalate/escalation--build-files", "asks for a person", "escalate"),
    "the floor decides": ("reject/floor--optional-scope-check", "it decides", "floor"),
    "nothing covers a validator": ("inconclusive/coverage--validator-not-covered", "inconclusive", ""),
    "an observation is wanting": ("inconclusive/on-empty--trace-demanded", "inconclusive", ""),
}


@pytest.mark.parametrize("name", TOLD)
def test_each_verb_tells_what_decided(tmp_path: Path, name: str) -> None:
    case, said, role = TOLD[name]
    fixture_result(FIXTURES / case, tmp_path / "out")
    for options in ((), ("--failed",)):
        assert said in idkrules_here("explain", tmp_path / "out", *options).stdout
    roots = json.loads(idkrules_here("explain", tmp_path / "out", "--format", "json").stdout)["roots"]
    kept = [root["role"] for root in roots if root["kept_from_acceptance"]]
    assert {"escalate": "escalation", "floor": "floor", "": "validator"}[role] in kept
    text = idkrules_here("why-not", tmp_path / "out").stdout
    assert text.startswith(("escalate", "reject", "insufficient"))


@pytest.mark.parametrize("name", TOLD)
def test_junit_shows_what_decided(tmp_path: Path, name: str) -> None:
    case, _said, role = TOLD[name]
    place = FIXTURES / case
    given = json.loads((place / "expected.json").read_text()).get("arguments", {})
    arguments = ["--work-unit", place / "work-unit.json", "--candidate-root", place / "candidate"]
    arguments += ["--result-manifest", place / given.get("result_manifest", "result-manifest.json")]
    arguments += ["--evaluator-plan", place / given.get("evaluator_plan", "evaluator-plan.json")]
    if "bundle" in given:
        arguments += ["--bundle", place / given["bundle"]]
    report = tmp_path / "report.xml"
    run = idkrules_here("evaluate", *arguments, "--output-dir", tmp_path / "out", "--output", f"junit={report}")
    assert run.returncode in (1, 3)
    wrong = [each.get("classname") for each in ElementTree.parse(report).iter("testcase") if len(each)]
    assert wrong
    assert role in ("", *wrong)


@pytest.mark.parametrize("file", ["inputs/result-manifest.json", "inputs/work-unit.json", "inputs/evaluator-plan.json"])
def test_recorded_inputs_that_would_be_refused_are_tampered_with(tmp_path: Path, file: str) -> None:
    fixture_result(FORBIDDEN, tmp_path / "out")
    rewrite(tmp_path / "out", file, lambda value: value.update(schema_version="9"))
    for verb in ("explain", "why-not", "replay"):
        run = idkrules_here(verb, tmp_path / "out")
        assert run.returncode == (1 if verb == "replay" else 4)
        assert file in run.stdout + run.stderr
