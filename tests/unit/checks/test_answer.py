"""Exact JSON: values compared type by type, where they differ, and what a hidden plan keeps to itself."""

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idkmesh_rules import Limits
from idkmesh_rules.checks.answer import _differing, compare
from idkmesh_rules.contracts.digest import canonical_bytes
from idkmesh_rules.contracts.strict_json import exact_value
from tests.support.bundles import Bundle, blamed, builder, make
from tests.support.command import idkrules

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(-2, 2).map(lambda x: x + 0.0)
    | st.text("ab~/", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab~/", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def answer(place: Path, value: Any = None, **plan: Any) -> Bundle:
    """The honest answer, or another value, under a plan with some fields changed."""

    def edit(draft: Any) -> None:
        draft.plan.update(plan)
        if value is not None:
            draft.answer = value

    return make(place, edit, builder.AnswerDraft)


@given(VALUES, VALUES)
def test_equal_means_the_same_canonical_text(one: Any, other: Any) -> None:
    """Without -0.0 in them, two values are equal exactly if their canonical forms are: types count."""
    same = canonical_bytes(one) == canonical_bytes(other)
    assert (compare(one, other, 100)[1] == ()) == same
    assert (list(_differing(one, other)) == []) == same
    assert compare(one, one, 100)[1] == ()


@given(VALUES, VALUES)
def test_two_ways_down_find_the_same_places(one: Any, other: Any) -> None:
    """What is asked for is derived by another function than what is judged, and both name the same differences."""
    assert sorted(each.pointer for each in compare(one, other, 10_000)[1]) == sorted(_differing(one, other))


UNEQUAL = {
    "true is not 1": (True, 1, "true", "1"),
    "1 is not 1.0": (1, 1.0, "1", "1.0"),
    "false is not null": (False, None, "false", "null"),
    "null is not nothing": ({"a": None}, {}, None, None),
    "0 is not an empty list": (0, [], "0", "[]"),
    "text is not a number": ("1", 1, '"1"', "1"),
    "a list is in order": ([1, 2], [2, 1], None, None),
    "a longer list": ([1], [1, 1], None, None),
    "a key more": ({}, {"a": 1}, None, None),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_unequal(name: str) -> None:
    one, other, expected, observed = UNEQUAL[name]
    found = compare({"x": one}, {"x": other}, 100)[1]
    assert found
    if expected is not None:
        assert [tuple(each) for each in found] == [("/x", expected, observed)]


def test_pointers_are_escaped_and_long_values_cut() -> None:
    (found,) = compare({"a/b~c": ["x" * 1000]}, {"a/b~c": [list(range(1000))]}, 100)[1]
    assert found.pointer == "/a~1b~0c/0"
    assert found.expected
    assert found.observed
    assert max(len(found.expected), len(found.observed)) <= 200
    assert found.observed.startswith("[0,1,2")


def test_what_a_wrong_answer_holds_besides_costs_nothing(tmp_path: Path) -> None:
    """A million unexpected values: a hundred are told, the rest is only said to be there, and the kind is incomplete."""
    bundle = answer(tmp_path, {"gaps": list(range(500_000))}, max_candidate_bytes=2**23)
    evaluation = bundle.evaluate()
    facts = evaluation.store["json.difference"]
    assert (len(facts.rows), facts.complete) == (100, False)
    assert facts.reason == "there are more than 100 differences; the first ones are listed"
    assert ("independent-acceptance", "json-equal") in blamed(evaluation)


def test_an_answer_is_compared_as_deep_as_the_reader_lets_it_be(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(61):
        deep = [deep]
    assert answer(tmp_path / "deep", {"a": deep}, required_json={"a": deep}).evaluate().exit_code == 0
    bundle = answer(tmp_path / "deeper", {"a": deep})
    (bundle.candidate / "answer.json").write_text('{"a": ' + "[" * 70 + "]" * 70 + "}")
    evaluation = bundle.evaluate()
    assert ("independent-acceptance", "json-well-formed") in blamed(evaluation)
    assert any("nesting is deeper" in finding.summary for finding in evaluation.findings)


NOT_JSON = {
    "empty": b"",
    "not UTF-8": b'{"a": "\xff"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "NaN": b'{"a": NaN}',
    "1e400": b'{"a": 1e400}',
    "a lone surrogate": b'{"a": "\\ud800"}',
    "two values": b"{} {}",
    "a list": b"[]",
    "a number of a million digits": b'{"a": ' + b"9" * 1_000_000 + b"}",
}


@pytest.mark.parametrize("name", NOT_JSON)
def test_what_is_no_strict_json_is_rejected_for_that(tmp_path: Path, name: str) -> None:
    def edit(draft: Any) -> None:
        draft.plan["max_candidate_bytes"] = 2**21
        draft.files["answer.json"] = NOT_JSON[name]

    evaluation = make(tmp_path, edit, builder.AnswerDraft).evaluate()
    assert evaluation.exit_code == 1
    failed = {cause for cause in blamed(evaluation) if cause[1] == "json-well-formed"}
    assert failed == {("independent-acceptance", "json-well-formed")}
    assert evaluation.store["json.comparison"].has_unknowns


def link(root: Path) -> None:
    (root / "answer.json").rename(root.parent / "real.json")
    (root / "answer.json").symlink_to("../real.json")


def inner_file(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "x").write_text("")


def directory(root: Path) -> None:
    (root / "answer.json").unlink()
    (root / "answer.json").mkdir()


def not_utf8(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_text("")


ENTRIES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a link as the answer": (link, "answer.json", "symlink"),
    "a link beside it": (lambda root: (root / "more").symlink_to("answer.json"), "more", "symlink"),
    "a FIFO beside it": (lambda root: os.mkfifo(root / "pipe"), "pipe", "fifo"),
    "a file below a directory": (inner_file, "d/x", "file"),
    "a name that isn't UTF-8": (not_utf8, "\\xff", "file"),
    "a directory instead": (directory, "answer.json", "directory"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_whatever_else_is_there_is_named(tmp_path: Path, name: str) -> None:
    arrange, path, kind = ENTRIES[name]
    bundle = answer(tmp_path)
    arrange(bundle.candidate)
    evaluation = bundle.evaluate()
    assert evaluation.exit_code == 1
    assert ("candidate-scope", "files-as-allowed") in blamed(evaluation)
    found = {row[0]: row for row in evaluation.store["candidate.entry"].rows}
    assert found[path][2:] == (True, kind)
    assert any(finding.path == path for finding in evaluation.findings)


def test_one_copy_of_the_manifest_belongs_to_no_answer_and_a_second_one_is_too_many(tmp_path: Path) -> None:
    bundle = answer(tmp_path)
    (bundle.candidate / "b.json").write_bytes(bundle.manifest.read_bytes())
    assert bundle.evaluate().exit_code == 0
    (bundle.candidate / "a.json").write_bytes(bundle.manifest.read_bytes())
    evaluation = bundle.evaluate()
    assert blamed(evaluation) == {("candidate-scope", "files-as-allowed")}
    assert [finding.path for finding in evaluation.findings] == ["b.json"]
    (bundle.candidate / "a.json").write_bytes(bundle.manifest.read_bytes() + b"\n")
    assert [finding.path for finding in bundle.evaluate().findings] == ["a.json"]


def test_more_entries_than_are_looked_at_are_no_pass(tmp_path: Path) -> None:
    bundle = answer(tmp_path)
    for number in range(12):
        (bundle.candidate / f"{number}.d").mkdir()
    evaluation = bundle.evaluate(limits=Limits(answer_entries=5))
    assert evaluation.recommendation.value == "insufficient_evidence"
    assert blamed(evaluation) == {("candidate-scope", "files-as-allowed")}
    assert "there are more than 6 entries" in (evaluation.store["candidate.entry"].reason or "")


def test_a_hidden_plan_keeps_the_value_and_the_files_to_itself(tmp_path: Path) -> None:
    bundle = answer(
        tmp_path,
        {"entries": 16180339},
        visibility="hidden",
        allowed_files=["answer.json", "secret-file"],
        required_json={"entries": 27182818, "secret-key": "secret-value"},
    )
    (bundle.candidate / "seen-file").write_text("")
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert run.returncode == 1
    shown = run.stdout + (tmp_path / "out" / "verification-result.json").read_text()
    assert "secret" not in shown
    assert "27182818" not in shown
    assert "16180339" not in shown
    assert "[hidden 1]" in run.stdout
    assert "[hidden 2]" in run.stdout
    assert "seen-file" in run.stdout
    assert "secret-value" in (tmp_path / "out" / "facts.json").read_text()
    revealed = idkrules(*bundle.arguments(tmp_path / "again"), "--reveal").stdout
    assert "/secret-key" in revealed
    assert "secret-file" in revealed


def test_an_answer_larger_than_the_verifier_parses_is_nobodys_fault(tmp_path: Path) -> None:
    evaluation = answer(tmp_path).evaluate(limits=Limits(answer_bytes=10))
    assert evaluation.recommendation.value == "insufficient_evidence"
    assert {condition for _, condition in blamed(evaluation)} == {"json-well-formed", "json-equal", "no-differences"}


def test_paths_that_an_answer_never_needs_are_not_missed(tmp_path: Path) -> None:
    bundle = make(tmp_path, lambda draft: draft.unit["permissions"].update(filesystem_write=[]), builder.AnswerDraft)
    run = idkrules("validate", "--work-unit", bundle.work_unit, "--evaluator-plan", bundle.plan)
    assert (run.returncode, "filesystem_write" in run.stdout) == (0, False)


def test_the_result_names_the_works_own_validators(tmp_path: Path) -> None:
    result = json.loads(json.dumps(answer(tmp_path).evaluate(output_dir=tmp_path / "out").result))
    assert {(check["id"], check["type"], check["status"]) for check in result["checks"]} == {
        ("artifact-digest", "security", "passed"),
        ("candidate-scope", "other", "passed"),
        ("independent-acceptance", "test", "passed"),
    }
    assert result["metrics"]["candidate_change_count"] is None


ROUNDED = [
    ("12345678901234567890.5", "12345678901234567890.6"),
    ("9007199254740993.0", "9007199254740992.0"),
    ("1e-400", "0.0"),
    ("0.1", "0.1000000000000000055"),
]


@pytest.mark.parametrize(("want", "have"), ROUNDED)
def test_numbers_that_a_float_would_take_for_one_are_two(want: str, have: str) -> None:
    one, other = (exact_value(b'{"a": [%s]}' % text.encode()) for text in (want, have))
    ((pointer, expected, observed),) = compare(one, other, 100)[1]
    assert (pointer, expected, observed) == ("/a/0", str(Decimal(want)), str(Decimal(have)))
    assert list(_differing(one, other)) == ["/a/0"]


@pytest.mark.parametrize(("want", "have"), [("1.0", "1.00"), ("100.0", "1e2"), ("0.0", "-0.0")])
def test_spellings_of_one_number_are_one(want: str, have: str) -> None:
    assert compare(exact_value(want.encode()), exact_value(have.encode()), 100)[1] == ()
