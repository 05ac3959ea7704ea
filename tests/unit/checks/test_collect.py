"""Collecting facts: crashes, gaps and conflicts never pass anything."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from idkmesh_rules.checks import backend_kinds, checks_of, collect
from idkmesh_rules.checks.check import Asked, Case, Check, Emission, Unjudged
from idkmesh_rules.model.facts import Category, FactKind, Field, FieldType, FindingTemplate, Origin, Severity, Unknown
from idkmesh_rules.pipeline import evaluation as use_case
from tests.support.bundles import blamed, builder, make
from tests.support.places import ROOT

KIND = FactKind(
    "test.kind",
    "For tests.",
    (Field("name", FieldType.STRING, key=True), Field("good", FieldType.BOOL), Field("size", FieldType.INT)),
    FindingTemplate(Severity.HIGH, Category.OTHER, "{name}"),
)
CASE = cast(Case, None)


def check(name: str, rows: list[tuple[Any, ...]], asked: Any, fails: bool = False) -> Check:
    """A check that emits `rows` and was asked for `asked`; it crashes after them if it `fails`."""

    def run(case: Case) -> Iterator[Emission]:
        for row in rows:
            yield Emission(KIND, row, Origin(name, "file"))
        if fails:
            raise ZeroDivisionError("on purpose")

    def keys(case: Case) -> Asked:
        return {KIND.name: asked if isinstance(asked, Unjudged) else frozenset((key,) for key in asked)}

    return Check(name, "for tests", "trace", (KIND,), run, keys)


def test_a_kind_is_complete_when_every_asked_key_was_judged() -> None:
    store, crashes = collect([check("a", [("x", True, 1), ("y", False, 2)], ["x", "y"])], CASE)
    facts = store[KIND.name]
    assert (facts.complete, facts.reason, facts.rows, crashes) == (True, None, (("x", True, 1), ("y", False, 2)), ())


def test_a_forgotten_key_leaves_the_kind_incomplete() -> None:
    facts = collect([check("a", [("x", True, 1)], ["x", "y"])], CASE)[0][KIND.name]
    assert (facts.complete, facts.reason) == (False, "1 of 2 subjects of a were not judged")


def test_one_check_cannot_complete_a_kind_for_another() -> None:
    facts = collect([check("a", [("x", True, 1), ("y", True, 1)], ["x"]), check("b", [], ["y"])], CASE)[0][KIND.name]
    assert (facts.complete, facts.reason) == (False, "1 of 1 subjects of b were not judged")


def test_an_unjudged_kind_keeps_its_reason() -> None:
    facts = collect([check("a", [], Unjudged("not parsed: too large"))], CASE)[0][KIND.name]
    assert (facts.complete, facts.crashed, facts.reason) == (False, False, "not parsed: too large")


def test_a_crash_leaves_the_kind_incomplete_and_is_reported() -> None:
    store, crashes = collect(
        [check("a", [("x", True, 1)], ["x"], fails=True), check("b", [("y", True, 1)], ["y"])], CASE
    )
    facts = store[KIND.name]
    assert (facts.complete, facts.crashed, facts.reason) == (False, True, "error: the check a crashed")
    assert [(crash.check, crash.error) for crash in crashes] == [("a", "ZeroDivisionError: on purpose")]


def test_equal_facts_are_one_with_both_origins_and_the_order_of_checks_does_not_matter() -> None:
    checks = [check("a", [("x", True, 1), ("b", False, 3)], ["x", "b"]), check("b", [("x", True, 1)], ["x"])]
    forward, backward = collect(checks, CASE)[0], collect(checks[::-1], CASE)[0]
    assert forward == backward
    assert forward[KIND.name].rows == (("b", False, 3), ("x", True, 1))
    assert [origin.check for origin in forward[KIND.name].origins[1]] == ["a", "b"]


def test_different_facts_with_one_key_conflict_field_by_field() -> None:
    facts = collect([check("a", [("x", True, 1)], ["x"]), check("b", [("x", True, 2)], ["x"])], CASE)[0][KIND.name]
    assert facts.rows == (("x", True, Unknown("conflict: two observations differ")),)


def test_true_and_one_conflict() -> None:
    facts = collect([check("a", [("x", True, 1), ("x", 1, 1)], ["x"])], CASE)[0][KIND.name]
    assert facts.rows == (("x", Unknown("conflict: two observations differ"), 1),)


def typed(field: Field, value: object) -> bool:
    """Whether `value` is what the field declares."""
    if value is None:
        return field.optional
    if type(value) is Unknown:
        return not field.key and bool(value.reason)
    return {
        FieldType.BOOL: type(value) is bool,
        FieldType.INT: type(value) is int,
        FieldType.STRING: type(value) is str,
        FieldType.ENUM: value in field.values,
        FieldType.DIGEST: type(value) is str and len(value) == 71 and value.startswith("sha256:"),
    }[field.type]


def assert_lawful(store: Any) -> None:
    """Every fact has the declared types, and the invariants of its kind hold for its known fields."""
    for facts in store:
        for row in facts.rows:
            assert all(map(typed, facts.kind.fields, row)), (facts.kind.name, row)
            for law in facts.kind.invariants:
                values = [row[facts.kind.index[name]] for name in law.fields]
                if not any(type(value) is Unknown for value in values):
                    assert law.holds(*values), (facts.kind.name, law.text, values)


@pytest.mark.parametrize(
    "patch", [None, b"", b"diff --git a/docs/x b/docs/x\nold mode 100644\nnew mode 100755\n", b"junk\n", b"\xff\xfe"]
)
@pytest.mark.parametrize("limit", [3, 4000])
def test_what_the_checks_emit_is_what_their_kinds_declare(tmp_path: Path, patch: bytes | None, limit: int) -> None:
    def edit(draft: Any) -> None:
        draft.plan["backend"]["max_candidate_bytes"] = limit
        if patch is not None:
            draft.files["changes.patch"] = patch

    evaluation = make(tmp_path / "case", edit).evaluate()
    assert_lawful(evaluation.store)
    assert {facts.kind.name for facts in evaluation.store} == set(backend_kinds("unified_diff"))


def test_kinds_are_declared_once_and_told_completely() -> None:
    names = [field.name for kind in backend_kinds("unified_diff").values() for field in kind.fields]
    assert len(names) > 50
    for kind in backend_kinds("unified_diff").values():
        assert kind.meaning.endswith(".")
        assert all(field.meaning for field in kind.fields), kind.name
        assert all((field.type is FieldType.ENUM) == bool(field.values) for field in kind.fields)
        for law in kind.invariants:
            assert set(law.fields) <= set(kind.index)


@pytest.mark.parametrize("position", range(len(checks_of("unified_diff"))))
def test_whichever_check_crashes_nothing_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    """A real bug can sit anywhere; a crash of any one check makes the outcome an error, exit 3, and is reported."""

    def crash(case: Case) -> Iterator[Emission]:
        raise RuntimeError("on purpose")
        yield

    checks = [*checks_of("unified_diff")]
    checks[position] = checks[position]._replace(run=crash)
    monkeypatch.setattr(use_case, "checks_of", lambda backend: tuple(checks))
    evaluation = make(tmp_path / "case").evaluate(output_dir=tmp_path / "out")
    assert evaluation.recommendation.value == "insufficient_evidence"
    assert evaluation.status.value == "error"
    assert evaluation.exit_code == 3
    assert [crash.check for crash in evaluation.crashes] == [checks[position].id]
    assert blamed(evaluation)
    assert "RuntimeError: on purpose" in (tmp_path / "out" / "evidence" / f"{checks[position].id}.json").read_text()


OTHERS = [(builder.AnswerDraft, position) for position in range(len(checks_of("exact_json")))] + [
    (builder.WorkspaceDraft, position) for position in range(len(checks_of("workspace")))
]


@pytest.mark.parametrize(("kind", "position"), OTHERS)
def test_whichever_check_of_another_backend_crashes_nothing_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, position: int
) -> None:
    def crash(case: Case) -> Iterator[Emission]:
        raise RuntimeError("on purpose")
        yield

    bundle = make(tmp_path / "case", kind=kind)
    checks = [*checks_of("exact_json" if kind is builder.AnswerDraft else "workspace")]
    checks[position] = checks[position]._replace(run=crash)
    monkeypatch.setattr(use_case, "checks_of", lambda backend: tuple(checks))
    evaluation = bundle.evaluate()
    assert (evaluation.recommendation.value, evaluation.status.value) == ("insufficient_evidence", "error")
    assert [crash.check for crash in evaluation.crashes] == [checks[position].id]


def test_a_crash_reaches_stderr_as_a_bug(tmp_path: Path) -> None:
    code = (
        "import sys; from idkmesh_rules.pipeline import evaluation as e\n"
        "broken = {'patch-scope': {'run': lambda case: 1 / 0}}\n"
        "true = e.checks_of\n"
        "e.checks_of = lambda name: tuple(c._replace(**broken.get(c.id, {})) for c in true(name))\n"
        "from idkmesh_rules.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, *make(tmp_path / "case").arguments(tmp_path / "out")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 3
    assert "the check patch-scope crashed: ZeroDivisionError" in run.stderr
    assert "This is a bug in idkrules" in run.stderr
    assert run.stdout.startswith("insufficient_evidence")
