"""impact: recorded facts under two rule bundles."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import impact
from idkmesh_rules.audit.impact import Turn
from idkmesh_rules.model.proof import Recommendation, Status
from idkmesh_rules.model.truth import Truth
from tests.support.bundles import builder, make
from tests.support.command import idkrules_here as idkrules
from tests.support.places import ROOT
from tests.support.results import (
    DECISION,
    FACTS,
    SHIPPED,
    rewrite,
    rules,
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three results: one of an honest patch, one of two files, one with a prose line."""
    place = tmp_path_factory.mktemp("recorded")
    make(place / "cases" / "honest").evaluate(output_dir=place / "results" / "honest")

    def two(draft: Any) -> None:
        draft.patch += builder.OTHER_FILE.format(path="docs/other.md")

    def prose(draft: Any) -> None:
        draft.patch = "Here it is.\n\n" + draft.patch

    make(place / "cases" / "two-files", two).evaluate(output_dir=place / "results" / "two-files")
    make(place / "cases" / "prose", prose).evaluate(output_dir=place / "results" / "prose")
    return place / "results"


NO_PROSE_BOUND = ("max_prose_lines: {type: integer, default: 0}", "max_prose_lines: {type: integer, default: 9}")
ONE_FILE = ("default: 200}", "default: 1}")


def test_impact_lists_flips_newly_accepted_first_with_the_condition_that_is_answerable(
    recorded: Path, tmp_path: Path
) -> None:
    new = rules(tmp_path / "new", ONE_FILE, NO_PROSE_BOUND)
    told = impact("unified-diff", new, [recorded])
    assert [(Path(flip.name).name, flip.turn, [each.condition for each in flip.answerable]) for flip in told.flips] == [
        ("prose", Turn.NEWLY_ACCEPTED, ["no-prose"]),
        ("two-files", Turn.NEWLY_REJECTED, ["few-files"]),
    ]
    first = told.flips[0].answerable[0]
    assert (first.old, first.new) == (Truth.FALSE, Truth.TRUE)
    assert first.old_mark is not None
    line = (ROOT / "policies" / "unified-diff" / "bundle.yaml").read_text().splitlines()[first.old_mark.line - 1]
    assert line.strip() == "no-prose:"
    assert (told.looked_at, told.unchanged, told.unread, told.warnings) == (3, 1, (), ())
    run = idkrules("impact", "unified-diff", new, *sorted(recorded.iterdir()))
    assert run.returncode == 0
    assert run.stdout.index("newly accepted (1)") < run.stdout.index("newly rejected (1)")
    assert "3 looked at, 1 unchanged" in run.stdout


@pytest.mark.parametrize(
    ("fail_on", "old", "new", "code"),
    [
        ("newly-accepted", "shipped", "lax", 1),
        ("newly-rejected", "shipped", "lax", 0),
        ("newly-rejected", "lax", "shipped", 1),
        ("newly-accepted", "lax", "shipped", 0),
        ("any", "lax", "shipped", 1),
        ("any", "lax", "lax", 0),
    ],
)
def test_impact_fails_on_what_it_is_told_to(
    recorded: Path, tmp_path: Path, fail_on: str, old: str, new: str, code: int
) -> None:
    names = {"shipped": "unified-diff", "lax": rules(tmp_path / "lax", NO_PROSE_BOUND)}
    assert idkrules("impact", names[old], names[new], recorded, "--fail-on", fail_on).returncode == code
    value = json.loads(idkrules("impact", names[old], names[new], recorded, "--format", "json").stdout)
    assert len(value["flips"]) == (0 if old == new else 1)


def test_impact_tells_of_bundles_below_the_floor_and_of_undeclared_parameters(tmp_path: Path) -> None:
    """Under rules that forgot the worker's status the floor decides; a parameter that they lack is told, and not applied."""

    def prose(draft: Any) -> None:
        draft.plan["extensions"] = {"org.idkmesh.rules": {"parameters": {"max_prose_lines": 3}}}
        draft.patch = "Here it is.\n\n" + draft.patch

    def failed(draft: Any) -> None:
        draft.manifest["status"] = "failed"

    make(tmp_path / "cases" / "prose", prose).evaluate(output_dir=tmp_path / "results" / "prose")
    make(tmp_path / "cases" / "failed", failed).evaluate(output_dir=tmp_path / "results" / "failed")
    new = rules(
        tmp_path / "new",
        (SHIPPED[SHIPPED.index("  max_prose_lines:") : SHIPPED.index("\nconditions:")], ""),
        ("{at_most: {parameter: max_prose_lines}}", "{at_most: 0}"),
        ("required-lines-present, worker-succeeded]", "required-lines-present]"),
        (SHIPPED[SHIPPED.index("  worker-succeeded:\n") : SHIPPED.index("# A failed validator")], ""),
    )
    told = impact("unified-diff", new, [tmp_path / "results"])
    assert [(flip.turn, [(each.condition, each.old, each.new) for each in flip.answerable]) for flip in told.flips] == [
        (Turn.NEWLY_REJECTED, [("no-prose", Truth.TRUE, Truth.FALSE)]),
        (
            Turn.INSIDE,
            [("worker-succeeded", Truth.FALSE, None), ("the floor's worker-succeeded", None, Truth.FALSE)],
        ),
    ]
    assert told.flips[1].statuses == (
        ("independent-review", Status.FAILED, Status.PASSED),
        ("floor", None, Status.FAILED),
    )
    assert any("below its backend's floor" in warning for warning in told.warnings)
    assert any("declares no parameter max_prose_lines" in warning for warning in told.warnings)


def test_impact_counts_what_asks_for_a_person(recorded: Path, tmp_path: Path) -> None:
    condition = '  touches-docs:\n    some: patch.path\n    where: {path: {glob: ["docs/**"]}}\n'
    new = rules(
        tmp_path / "new",
        ("\nvalidators:", f"\n{condition}\nvalidators:"),
        ("escalate: []", "escalate: [touches-docs]"),
    )
    told = impact("unified-diff", new, [recorded / "honest"])
    (flip,) = told.flips
    assert (flip.turn, flip.new) == (Turn.OTHERWISE, Recommendation.ESCALATE)
    assert [each.condition for each in flip.answerable] == ["touches-docs"]


def test_impact_says_which_results_it_could_not_read_and_does_not_decide_over_forged_ones(
    recorded: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(recorded, tmp_path / "results"))
    rewrite(place / "prose", DECISION, lambda value: value.update(recommendation="accept_candidate"))
    (place / "two-files" / FACTS).write_text("{}")
    (place / "not-a-result").mkdir()
    told = impact("unified-diff", "unified-diff", [place])
    assert {Path(each.name).name for each in told.unread} == {"prose", "two-files"}
    assert (told.looked_at, told.unchanged) == (1, 1)
    assert idkrules("impact", "unified-diff", "unified-diff", place).returncode == 4


@pytest.mark.parametrize(("old", "new"), [("nonsense", "unified-diff"), ("unified-diff", "nonsense")])
def test_impact_needs_two_bundles(recorded: Path, old: str, new: str) -> None:
    run = idkrules("impact", old, new, recorded)
    assert (run.returncode, run.stdout) == (4, "")
    assert run.stderr.startswith("refused  bundle-unknown")


def test_impact_refuses_a_wrong_bundle_with_its_line(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bundle.yaml").write_text("schema_version: '1.0'\nrules: {}\n")
    run = idkrules("impact", "unified-diff", tmp_path / "bad", recorded)
    assert run.returncode == 4
    assert "bundle.yaml:2:1" in run.stderr
