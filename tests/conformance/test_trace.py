"""explain and why-not over real result directories: every fixture, hidden plans, refusals, the command line."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import idkmesh_rules
from idkmesh_rules import Refusal, explain, replay, why_not
from idkmesh_rules.audit.changes import applied
from idkmesh_rules.audit.explain import Explanation, Root, Told
from idkmesh_rules.audit.whynot import why_not as sets_of
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.model.truth import Truth
from tests.support.bundles import Bundle, blamed, builder, make
from tests.support.command import idkrules as in_a_process
from tests.support.command import idkrules_here as idkrules
from tests.support.places import FIXTURES, shared
from tests.support.results import (
    DECIDED,
    DECISION,
    FACTS,
    FORBIDDEN,
    SHIPPED,
    basis_of,
    case_id,
    fixture_result,
    rewrite,
    rules,
)

SECRET = builder.MARKER
RULE_LINE = SHIPPED.splitlines().index("  paths-authorized:") + 1


def hidden(draft: Any) -> None:
    draft.plan["visibility"] = "hidden"
    draft.patch = draft.patch.replace(SECRET, "Something else.")


def nodes(node: Told) -> list[Told]:
    return [node, *(below for child in node.children for below in nodes(child))]


def explained(output: Path) -> Explanation:
    told = explain(output)
    assert isinstance(told, Explanation)
    return told


def root(told: Explanation, name: str) -> Root:
    return next(each for each in told.roots if each.name == name)


@pytest.mark.parametrize("case", DECIDED, ids=case_id)
def test_each_fixture_is_explained_asked_why_not_and_replayed(case: Path, tmp_path: Path) -> None:
    """What is explained is what was decided; each set leads to an acceptance; replaying it comes to the same bytes."""
    evaluation = fixture_result(case, tmp_path / "out")
    told = explained(tmp_path / "out")
    assert (told.recommendation, told.decision_digest, told.forged) == (
        evaluation.recommendation.value,
        evaluation.decision_digest,
        False,
    )
    kept = {
        (each.name, node.name)
        for each in told.roots
        if each.kept
        for node in nodes(each.node)
        if node.proof and node.blamed
    }
    escalated = {(node.condition, node.condition) for node in evaluation.decision.escalations}
    assert kept == blamed(evaluation) | (escalated if evaluation.recommendation is Recommendation.ESCALATE else set())
    for name, condition in kept:
        leaf = next(node for node in nodes(root(told, name).node) if node.name == condition and node.proof)
        assert leaf.rule
        assert leaf.why
        assert leaf.line or name == "floor"
        assert all((tmp_path / "out" / path).exists() for path in leaf.evidence)
        assert all((tmp_path / "out" / place.evidence).exists() for fact in leaf.facts for place in fact.places)

    basis = basis_of(tmp_path / "out")
    found = sets_of(basis)
    assert found.accepted == (case.parent.name == "accept")
    uncovered = "uncovered" in json.loads((case / "expected.json").read_text())
    assert bool(found.sets) is not (found.accepted or uncovered)
    assert bool(found.impossible) is uncovered
    for groups in found.sets:
        changed = basis._replace(store=applied(basis.store, groups))
        assert changed.decide().recommendation is Recommendation.ACCEPT

    again = replay(tmp_path / "out", candidate_root=case / "candidate", expect_decision=evaluation.decision_digest)
    assert (again.differences, again.unlooked, again.candidate, again.consistent) == ((), None, True, True)


def test_the_real_bundle_is_explained_and_replayed(tmp_path: Path) -> None:
    place = Bundle(shared("real-bundles", "node-e2e-2026-08-30"))
    evaluation = place.evaluate(output_dir=tmp_path / "out")
    told = explained(tmp_path / "out")
    assert (told.recommendation, told.forged) == ("accept_candidate", False)
    assert not any(each.kept for each in told.roots)
    assert {node.value for each in told.roots for node in nodes(each.node)} <= {Truth.TRUE, Truth.NOT_APPLICABLE}
    assert why_not(tmp_path / "out").accepted
    again = replay(tmp_path / "out", candidate_root=place.candidate, expect_decision=evaluation.decision_digest)
    assert again.consistent
    run = in_a_process("replay", tmp_path / "out", "--candidate-root", place.candidate)
    assert (run.returncode, run.stdout.split()[0]) == (0, "consistent")


def test_a_leaf_is_explained_with_fact_check_evidence_place_and_rule(rejected: Path) -> None:
    """From the condition to the line of the patch: what the design asks of `explain`."""
    leaf = next(
        node for node in nodes(root(explained(rejected), "independent-review").node) if node.name == "paths-authorized"
    )
    (fact,) = leaf.facts
    (place,) = fact.places
    assert [(field.name, field.value) for field in fact.key] == [("path", "SECURITY.md"), ("side", "new")]
    assert [(field.name, field.value, field.demanded, field.holds) for field in fact.demanded] == [
        ("authorized", "false", "true", Truth.FALSE)
    ]
    assert ("forbidden", "true") in [(field.name, field.value) for field in fact.beside]
    assert (place.where, place.check, place.evidence) == (
        "changes.patch:10",
        "patch-scope",
        "evidence/patch-scope.json",
    )
    assert (rejected / "inputs" / "bundle.yaml").read_text().splitlines()[(leaf.line or 0) - 1] == "  paths-authorized:"
    assert "SECURITY.md" in (FORBIDDEN / "candidate" / "changes.patch").read_text().splitlines()[9]


@pytest.mark.parametrize("revealed", [False, True])
def test_a_hidden_plan_stays_hidden_unless_asked_otherwise(tmp_path: Path, revealed: bool) -> None:
    """Whether the result was written with --reveal or not, it replays, and no verb prints an expectation by itself."""
    bundle = make(tmp_path / "case", hidden)
    bundle.evaluate(output_dir=tmp_path / "out", reveal_hidden=revealed)
    place = tmp_path / "out"
    assert replay(place, candidate_root=bundle.candidate).consistent
    assert any("--reveal" in note for note in replay(place).notes) is revealed
    rewrite(
        place,
        FACTS,
        lambda value: [
            kind["facts"][0]["fields"].update(text=SECRET + "!")
            for kind in value["kinds"]
            if kind["kind"] == "requirement.line"
        ],
    )
    rewrite(place, "evidence/required-lines.json", lambda value: value["kinds"][0]["facts"].clear())
    bundle.evaluate(output_dir=tmp_path / "whole", reveal_hidden=revealed)
    for arguments in (
        ("explain", tmp_path / "whole"),
        ("why-not", tmp_path / "whole"),
        ("replay", tmp_path / "whole"),
        ("replay", place),
        ("replay", place, "--candidate-root", bundle.candidate),
        ("explain", place),
        ("impact", "unified-diff", "unified-diff", tmp_path / "whole", place),
    ):
        for form in ("text", "json"):
            run = idkrules(*arguments, "--format", form)
            assert "Traceback" not in run.stderr
            assert SECRET not in " ".join((run.stdout + run.stderr).split()), arguments
            assert SECRET.split()[2] not in run.stdout + run.stderr, arguments
    assert "[hidden 1]" in idkrules("explain", tmp_path / "whole").stdout
    assert "[hidden 1]" in idkrules("why-not", tmp_path / "whole", "--format", "json").stdout
    for verb in ("explain", "why-not"):
        assert SECRET in " ".join(idkrules(verb, tmp_path / "whole", "--reveal").stdout.split())


@pytest.mark.parametrize("case", [case for case in DECIDED if case.parent.name == "reject"], ids=case_id)
def test_no_secret_field_of_any_backend_is_printed(case: Path, tmp_path: Path) -> None:
    """Whatever kind of fact holds an expectation: under a hidden plan no verb prints it, be the result honest or not."""
    copy = Path(shutil.copytree(case, tmp_path / "case", symlinks=True))
    plan = json.loads((copy / "evaluator-plan.json").read_text())
    (copy / "evaluator-plan.json").write_text(json.dumps(plan | {"visibility": "hidden"}))
    place = tmp_path / "out"
    evaluation = fixture_result(copy, place)
    held = {
        str(row[position])
        for facts in evaluation.store
        for row in facts.rows
        for position, declared in enumerate(facts.kind.fields)
        if declared.secret and not facts.kind.shows(row) and isinstance(row[position], str)
    }
    # A word of the language itself is no sign of a leak.
    secrets = {secret for secret in held if len(secret) > 3 and secret not in ("true", "false", "null")}
    forged = Path(shutil.copytree(place, tmp_path / "forged"))
    rewrite(forged, FACTS, lambda value: [kind["facts"].clear() for kind in value["kinds"]])
    rewrite(forged, DECISION, lambda value: value.update(validators=value["validators"][:1]))
    for arguments in (
        ("explain", place),
        ("why-not", place),
        ("replay", place),
        ("replay", forged),
        ("explain", forged),
    ):
        for form in ("text", "json"):
            run = idkrules(*arguments, "--format", form)
            assert run.returncode in (0, 1, 4)
            told = run.stdout + run.stderr
            assert not {secret for secret in secrets if json.dumps(secret)[1:-1] in told or secret in told}, arguments
    assert replay(place, candidate_root=copy / "candidate").consistent


def test_a_tampered_hidden_plan_is_not_quoted(tmp_path: Path) -> None:
    make(tmp_path / "case", hidden).evaluate(output_dir=tmp_path / "out")
    for edit in (
        lambda value: value["backend"].update(required_added_text=SECRET),
        lambda value: value["backend"].update(required_added_text=[SECRET, SECRET]),
        lambda value: value.update(note=SECRET),
    ):
        place = Path(shutil.copytree(tmp_path / "out", tmp_path / "copy"))
        rewrite(place, "inputs/evaluator-plan.json", edit)
        for verb in ("explain", "why-not", "replay"):
            run = idkrules(verb, place)
            assert run.returncode in (1, 4) or "Tampered" in run.stdout
            assert "mesh verifies" not in run.stdout + run.stderr
        shutil.rmtree(place)


def test_a_recorded_refusal_is_explained_and_has_no_decision(tmp_path: Path) -> None:
    case = FIXTURES / "refuse" / "binding-drift--other-work-unit"
    with pytest.raises(Refusal):
        Bundle(case).evaluate(output_dir=tmp_path / "out")
    run = idkrules("explain", tmp_path / "out")
    assert run.returncode == 0
    assert run.stdout.startswith("refused  binding-drift (fault: verifier)")
    assert "work_unit_digest" in run.stdout
    assert json.loads(idkrules("explain", tmp_path / "out", "--format", "json").stdout)["reason"] == "binding-drift"
    for verb in ("why-not", "replay"):
        told = idkrules(verb, tmp_path / "out")
        assert (told.returncode, told.stdout) == (4, "")
        assert told.stderr.startswith("refused  result-undecided")
    told = idkrules("impact", "unified-diff", "unified-diff", tmp_path / "out")
    assert (told.returncode, "1 without a decision" in told.stdout) == (0, True)
    (tmp_path / "out" / "refusal.json").write_text("{}")
    assert idkrules("explain", tmp_path / "out").returncode == 4


def test_explain_shows_the_whole_tree_or_only_what_failed(rejected: Path) -> None:
    whole, failed = idkrules("explain", rejected).stdout, idkrules("explain", rejected, "--failed").stdout
    assert all(
        name in whole
        for name in (
            "✓ patch-intact",
            "✗ paths-authorized",
            "floor",
            f"inputs/bundle.yaml:{RULE_LINE}:3",
            "changes.patch:10",
        )
    )
    assert "patch-intact" not in failed
    assert "✗ paths-authorized" in failed
    assert max(map(len, whole.splitlines())) <= 83
    only = idkrules("explain", rejected, "result-manifest-schema").stdout
    assert "manifest-bound" in only
    assert "paths-authorized" not in only


def test_explain_names_the_validators_that_there_are(rejected: Path) -> None:
    run = idkrules("explain", rejected, "independent-revue")
    assert (run.returncode, run.stdout) == (2, "")
    told = " ".join(run.stderr.split())
    assert all(name in told for name in ("independent-revue", "result-manifest-schema", "independent-review", "floor"))


def test_explain_as_json_is_the_same_tree(rejected: Path) -> None:
    value = json.loads(idkrules("explain", rejected, "--format", "json").stdout)
    review = next(each for each in value["roots"] if each["name"] == "independent-review")
    leaf = next(each for each in review["proof"]["children"] if each["condition"] == "paths-authorized")
    assert (review["status"], review["kept_from_acceptance"], leaf["value"], leaf["blamed"]) == (
        "failed",
        True,
        "F",
        True,
    )
    assert leaf["facts"][0]["places"][0]["where"] == "changes.patch:10"
    assert leaf["rule_at"] == {"file": "inputs/bundle.yaml", "line": RULE_LINE, "column": 3}
    assert leaf["counts"] == {"facts": 2, "in_scope": 2, "perhaps_in_scope": 0, "deciding": 1}


def test_an_accepted_result_has_nothing_that_failed(tmp_path: Path) -> None:
    make(tmp_path / "case").evaluate(output_dir=tmp_path / "out")
    assert idkrules("explain", tmp_path / "out", "--failed").stdout.rstrip().endswith("Nothing kept it from passing.")
    assert "It is accepted" in idkrules("why-not", tmp_path / "out").stdout


def test_a_usage_error_of_replay(rejected: Path) -> None:
    run = idkrules("replay", rejected, "--expect-decision", "sha256:abc")
    assert (run.returncode, run.stdout) == (2, "")
    assert "64 hexadecimal digits" in " ".join(run.stderr.split())


def test_long_lists_are_cut_for_a_person_and_whole_for_a_program(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.patch += "".join(builder.OTHER_FILE.format(path=f"src/f{number:02}.py") for number in range(30))
        draft.plan["backend"]["max_candidate_bytes"] = 10**6

    make(tmp_path / "case", edit).evaluate(output_dir=tmp_path / "out")
    told = idkrules("explain", tmp_path / "out", "--failed").stdout
    assert "30 break the rule" in told
    assert "… and 20 more" in told
    why = idkrules("why-not", tmp_path / "out").stdout
    assert "if 30 patch.path facts had authorized true, and so allowed true, writable" in why
    assert "… and 25 more" in why
    value = json.loads(idkrules("why-not", tmp_path / "out", "--format", "json").stdout)
    assert [change["number"] for change in value["sets"][0][0]["changes"]] == [30]
    assert len(value["sets"][0][0]["changes"][0]["facts"]) == 30


def test_combinations_and_what_does_not_apply_stand_in_the_tree(tmp_path: Path) -> None:
    """`any` and `all` are nodes with their own value and line; a condition without subject is drawn as not applicable."""
    conditions = (
        "  tiny:\n    count: patch.file\n    at_most: 1\n"
        '  touches-docs:\n    some: patch.path\n    where: {path: {glob: ["doc/**"]}}\n'
        "  small-or-docs: {any: [tiny, touches-docs]}\n"
    )
    place = rules(
        tmp_path / "rules",
        ("\nvalidators:", f"\n{conditions}\nvalidators:"),
        ("worker-succeeded]", "worker-succeeded, small-or-docs]"),
    )

    def edit(draft: Any) -> None:
        draft.patch += builder.OTHER_FILE.format(path="docs/other.md")
        draft.manifest["logs"], draft.plan["backend"]["required_log_types"] = [], []

    make(tmp_path / "case", edit).evaluate(output_dir=tmp_path / "out", bundle=place)
    told = idkrules("explain", tmp_path / "out").stdout
    assert "✗ small-or-docs: any of 2: 2 failed" in told
    assert "✗ touches-docs" in told
    assert "− logs-intact" in told
    assert "2 not applicable" in told
    why = idkrules("why-not", tmp_path / "out").stdout
    assert "tiny would hold" in why
    assert "touches-docs would hold" in why
    assert "with a new patch.path fact\n       • path doc/x" in why


def test_a_gap_that_no_fact_closes_is_told(tmp_path: Path) -> None:
    fixture_result(FIXTURES / "inconclusive" / "coverage--validator-not-covered", tmp_path / "out")
    assert (
        "No change of facts leads to an acceptance: no rule implements" in idkrules("why-not", tmp_path / "out").stdout
    )
    assert "does not implement it" in idkrules("explain", tmp_path / "out").stdout


def test_a_recorded_crash_is_part_of_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a check crashed with stands in its evidence and nowhere else; a result with a crash replays all the same."""
    from idkmesh_rules.pipeline import evaluation as module

    def crash(case: Any) -> Any:
        raise ZeroDivisionError("\x1b[31mby zero")

    real = module.checks_of
    monkeypatch.setattr(
        module,
        "checks_of",
        lambda backend: tuple(
            each._replace(run=crash) if each.id == "worker-status" else each for each in real(backend)
        ),
    )
    bundle = make(tmp_path / "case")
    assert bundle.evaluate(output_dir=tmp_path / "out").crashes
    monkeypatch.undo()
    assert replay(tmp_path / "out").consistent
    told = " ".join(idkrules("explain", tmp_path / "out", "--failed").stdout.split())
    assert "? worker-succeeded" in told
    assert "the check worker-status crashed" in told
    assert not replay(tmp_path / "out", candidate_root=bundle.candidate).consistent
    rewrite(tmp_path / "out", "evidence/worker-status.json", lambda value: value.update(error="all is well"))
    assert {each.place for each in replay(tmp_path / "out").differences} == {"evidence/worker-status.json"}


def test_the_verbs_are_functions_too() -> None:
    assert {"explain", "why_not", "replay", "impact"} <= set(idkmesh_rules.__all__)
    assert all(callable(getattr(idkmesh_rules, name)) for name in ("explain", "why_not", "replay", "impact"))
