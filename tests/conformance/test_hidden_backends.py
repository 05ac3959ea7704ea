"""Whatever is printed of a hidden plan's result, by any verb, shows neither its baseline nor the value that it wants."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.bundles import builder, make
from tests.support.command import idkrules

SECRETS = ("secret", "27182818")


def workspace(draft: Any) -> None:
    draft.plan["visibility"] = "hidden"
    draft.before["src/secret-oracle.json"] = b"x"
    draft.files["src/added.js"] = b"x"


def answer(draft: Any) -> None:
    wanted = {"entries": 27182818, "secret-key": "secret-value"}
    draft.plan.update(visibility="hidden", required_json=wanted, allowed_files=["answer.json", "secret-file"])
    draft.answer = {"entries": 16180339}


HIDDEN: dict[str, tuple[Callable[[Any], None], Any]] = {
    "workspace": (workspace, builder.WorkspaceDraft),
    "answer": (answer, builder.AnswerDraft),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_no_verb_shows_what_a_hidden_plan_expects(tmp_path: Path, name: str) -> None:
    edit, kind = HIDDEN[name]
    bundle, out, report = make(tmp_path / "case", edit, kind), tmp_path / "out", tmp_path / "report.xml"
    run = idkrules(*bundle.arguments(out), "--output", f"junit={report}")
    assert run.returncode == 1
    shown = [run.stdout, report.read_text(), (out / "verification-result.json").read_text()]
    for verb in (("explain",), ("why-not",), ("replay",), ("replay", "--candidate-root", bundle.candidate)):
        for options in ((), ("--format", "json")):
            told = idkrules(verb[0], out, *verb[1:], *options)
            assert told.returncode == 0, told.stdout + told.stderr
            shown.append(told.stdout + told.stderr)
    assert [secret for secret in SECRETS for text in shown if secret in text] == []
    assert all(secret in (out / "facts.json").read_text() for secret in SECRETS if name == "answer")
    assert "secret" in idkrules("explain", out, "--reveal").stdout


WRONG: dict[str, tuple[Callable[[Any], object], Any, str]] = {
    "a baseline path outside": (
        lambda plan: plan["baseline"]["files"].append({"path": "../secret", "digest": "sha256:" + "0" * 64}),
        builder.WorkspaceDraft,
        "evaluator-plan.json#/baseline/files/5/path",
    ),
    "an ambiguous ignored path": (
        lambda plan: plan["baseline"]["ignore_paths"].append("!secret"),
        builder.WorkspaceDraft,
        "evaluator-plan.json#/baseline/ignore_paths/0",
    ),
    "an allowed file twice": (
        lambda plan: plan["allowed_files"].extend(["secret", "secret"]),
        builder.AnswerDraft,
        "evaluator-plan.json#/allowed_files/2",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_hidden_plan_that_is_wrong_is_told_by_its_place_only(tmp_path: Path, name: str) -> None:
    edit, kind, place = WRONG[name]
    bundle = make(tmp_path / "case", kind=kind)
    bundle.rewrite("evaluator-plan.json", lambda plan: plan.update(visibility="hidden"))
    bundle.rewrite("evaluator-plan.json", edit)
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert run.returncode == 4
    assert place in run.stderr
    assert "secret" not in run.stderr + (tmp_path / "out" / "refusal.json").read_text()
    assert "[hidden]" in run.stderr
    assert "[hidden]" not in idkrules(*bundle.arguments(tmp_path / "again"), "--reveal").stderr


GUESSES = {f"zz{number:04}": number for number in range(370, 460)}
KEYS = dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 0)
ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a value among guesses": ({"entries": 417}, {"entries": 9999}, {"entries": 0, **GUESSES}),
    "a key among the worker's keys": ({"mango": 1}, {"banana": 1}, KEYS),
    "a key behind a hundred of the worker's": ({"zz": 1}, {"aa": 1}, {f"m{number:03}": 0 for number in range(150)}),
    "two values that are alike": ({"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 0, "b": 0}),
    "a value that was guessed elsewhere": ({"a": "x", "b": 1}, {"a": "y", "b": 1}, {"a": "z", "b": 2, "c": "x"}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_shown_does_not_depend_on_what_is_hidden(tmp_path: Path, name: str) -> None:
    """Two plans that differ in their secrets only, and one answer: the worker is told the same, word for word."""
    told = []
    for number, wanted in enumerate(ANSWERS[name][:2]):

        def edit(draft: Any, wanted: dict[str, Any] = wanted) -> None:
            draft.plan.update(visibility="hidden", required_json=wanted)
            draft.answer = ANSWERS[name][2]

        out = tmp_path / f"out{number}"
        evaluation = make(tmp_path / str(number), edit, builder.AnswerDraft).evaluate(output_dir=out)
        assert evaluation.exit_code == 1
        findings = [(each.condition, each.summary, each.path, each.line) for each in evaluation.findings]
        explained = [
            json.loads(idkrules("explain", out, "--format", "json", *more).stdout) for more in ((), ("--failed",))
        ]
        told.append((findings, [each["roots"] for each in explained]))
    assert told[0] == told[1]


def test_where_a_hidden_path_stands_among_the_workers_is_not_shown(tmp_path: Path) -> None:
    """What only the baseline has is told by a mask; beside the worker's own paths, its place would tell its name."""
    told = []
    for name in ("src/aa.js", "src/zz.js"):

        def edit(draft: Any, name: str = name) -> None:
            draft.plan["visibility"] = "hidden"
            draft.before[name] = b"x"
            draft.files.update({f"src/{letter}.js": b"x" for letter in "bdfhkmoq"})

        out = tmp_path / f"out-{name[4:]}"
        evaluation = make(tmp_path / name[4:], edit, builder.WorkspaceDraft).evaluate(output_dir=out)
        findings = [(each.condition, each.summary, each.path, each.line) for each in evaluation.findings]
        verbs = (("explain", "roots"), ("why-not", "sets"))
        shown = [json.loads(idkrules(verb, out, "--format", "json").stdout)[part] for verb, part in verbs]
        told.append((findings, shown))
    assert "[hidden 1]" in str(told[0][0])
    assert told[0] == told[1]
