"""explain, why-not, replay and impact over real result directories: honest ones, tampered ones, hostile ones."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import idkmesh_rules
from idkmesh_rules import Refusal, explain, impact, replay, why_not
from idkmesh_rules.audit.changes import applied
from idkmesh_rules.audit.explain import Explanation, Root, Told
from idkmesh_rules.audit.impact import Turn
from idkmesh_rules.audit.whynot import why_not as sets_of
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.model.proof import Recommendation, Status
from idkmesh_rules.model.truth import Truth
from tests.support.bundles import Bundle, blamed, builder, make
from tests.support.command import idkrules
from tests.support.places import FIXTURES, ROOT, shared
from tests.support.results import DECIDED, basis_of, case_id, fixture_result, load, mend, rewrite

RESULT, FACTS, DECISION = "verification-result.json", "facts.json", "decision.json"
FORBIDDEN = FIXTURES / "reject" / "paths-authorized--forbidden-path"
SECRET = builder.MARKER
SHIPPED = (ROOT / "policies" / "unified-diff" / "bundle.yaml").read_text()
RULE_LINE = SHIPPED.splitlines().index("  paths-authorized:") + 1


@pytest.fixture(scope="module")
def rejected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a rejected candidate, not to be changed."""
    output = tmp_path_factory.mktemp("rejected") / "out"
    fixture_result(FORBIDDEN, output)
    return output


@pytest.fixture
def result(rejected: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(rejected, tmp_path / "result"))


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


# --- every fixture ----------------------------------------------------------------------------------------------------


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
    assert bool(found.sets or found.impossible) is not found.accepted
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
    run = idkrules("replay", tmp_path / "out", "--candidate-root", place.candidate)
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


# --- tampering: one change, found and named ---------------------------------------------------------------------------


def patch_path(value: Any) -> Any:
    return next(kind for kind in value["kinds"] if kind["kind"] == "patch.path")["facts"][0]["fields"]


def authorize(value: Any) -> None:
    patch_path(value).update(allowed=True, writable=True, forbidden=False, authorized=True)
    patch_path(value).pop("reason")


def edited(name: str, edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    return lambda place: rewrite(place, name, edit)


def appended(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda place: (place / name).write_bytes((place / name).read_bytes() + data) and None


def replaced_by_link(name: str) -> Callable[[Path], None]:
    def swap(place: Path) -> None:
        (place / name).rename(place.parent / "elsewhere")
        (place / name).symlink_to(place.parent / "elsewhere")

    return swap


def rules_changed(place: Path) -> None:
    path = place / "inputs" / "bundle.yaml"
    path.write_text(path.read_text().replace("default: 200}", "default: 201}"))


PATH_AT = "/kinds/8/facts/0/fields"
TAMPERINGS: dict[str, tuple[Callable[[Path], None], set[tuple[str, str | None]]]] = {
    "a fact, in facts.json alone": (
        edited(FACTS, authorize),
        {
            (FACTS, None),
            ("evidence/patch-scope.json", f"{'/kinds/0/facts/0/fields'}/authorized"),
            (DECISION, "/facts_digest"),
        },
    ),
    "a fact, in its evidence alone": (
        edited("evidence/patch-scope.json", authorize),
        {("evidence/patch-scope.json", None), ("evidence/patch-scope.json", "/kinds/0/facts/0/fields/authorized")},
    ),
    "a fact dropped": (
        edited(FACTS, lambda value: value["kinds"][8]["facts"].pop(0)),
        {(FACTS, None), ("evidence/patch-scope.json", "/kinds/0/facts/0"), (DECISION, "/validators/1/status")},
    ),
    "a kind called complete": (
        edited(FACTS, lambda value: value["kinds"][0].update(complete=False, reason="lost")),
        {(FACTS, None), ("evidence/artifact-digest.json", "/kinds/0/complete")},
    ),
    "a fact of a wrong type": (
        edited(FACTS, lambda value: patch_path(value).update(authorized="yes")),
        {(FACTS, None), (FACTS, f"{PATH_AT}/authorized")},
    ),
    "facts.json reformatted": (
        lambda place: rewrite(place, FACTS, lambda value: None, canonical=False),
        {(FACTS, None)},
    ),
    "the recommendation in decision.json": (
        edited(DECISION, lambda value: value.update(recommendation="accept_candidate")),
        {(DECISION, None), (DECISION, "/recommendation")},
    ),
    "a condition's value in decision.json": (
        edited(DECISION, lambda value: value["validators"][1]["proof"]["children"][6].update(value="T")),
        {(DECISION, None), (DECISION, "/validators/1/proof/children/6/value")},
    ),
    "a parameter in decision.json": (
        edited(DECISION, lambda value: value["parameters"].update(max_changed_files=9)),
        {(DECISION, None), (DECISION, "/parameters/max_changed_files")},
    ),
    "the recommendation in the result": (
        edited(RESULT, lambda value: value["decision_support"].update(recommendation="accept_candidate")),
        {(RESULT, "/decision_support/recommendation")},
    ),
    "the status in the result": (edited(RESULT, lambda value: value.update(status="passed")), {(RESULT, "/status")}),
    "a check's status in the result": (
        edited(RESULT, lambda value: value["checks"][1].update(status="passed")),
        {(RESULT, "/checks/1/status")},
    ),
    "a finding taken out": (edited(RESULT, lambda value: value["findings"].clear()), {(RESULT, "/findings/0")}),
    "a metric": (edited(RESULT, lambda value: value["metrics"].update(findings=0)), {(RESULT, "/metrics/findings")}),
    "the rationale": (
        edited(RESULT, lambda value: value["decision_support"].update(rationale="All is well.")),
        {(RESULT, "/decision_support/rationale")},
    ),
    "the id of the result": (edited(RESULT, lambda value: value.update(id="other/verification-1")), {(RESULT, "/id")}),
    "the decision digest in the result": (
        edited(
            RESULT, lambda value: value["extensions"]["org.idkmesh.rules"].update(decision_digest="sha256:" + "0" * 64)
        ),
        {(RESULT, "/extensions/org.idkmesh.rules/decision_digest")},
    ),
    "the verifier in the result": (
        edited(RESULT, lambda value: value["verifier"].update(id="nobody")),
        {(RESULT, "/verifier/id")},
    ),
    "the digest of an evidence file in the result": (
        edited(RESULT, lambda value: value["evidence"][-1].update(digest="sha256:" + "0" * 64)),
        {("evidence/worker-status.json", None)},
    ),
    "an evidence entry taken out": (edited(RESULT, lambda value: value["evidence"].pop()), {(RESULT, "/evidence/14")}),
    "an evidence entry that leads out": (
        edited(RESULT, lambda value: value["evidence"][0].update(locator="../../etc/passwd")),
        {(RESULT, "/evidence/0/locator")},
    ),
    "a byte behind decision.json": (appended(DECISION, b" "), {(DECISION, None)}),
    "a byte behind an evidence file": (
        appended("evidence/log-integrity.json", b"\n"),
        {("evidence/log-integrity.json", None)},
    ),
    "an evidence file cut": (
        lambda place: (place / "evidence/log-integrity.json").write_bytes(b'{"check":') and None,
        {("evidence/log-integrity.json", None)},
    ),
    "an evidence file removed": (
        lambda place: (place / "evidence/patch-scope.json").unlink(),
        {("evidence/patch-scope.json", None)},
    ),
    "facts.json removed": (lambda place: (place / FACTS).unlink(), {(FACTS, None)}),
    "an evidence file behind a link": (
        replaced_by_link("evidence/patch-scope.json"),
        {("evidence/patch-scope.json", None)},
    ),
    "the inputs behind a link": (
        replaced_by_link("inputs"),
        {
            (f"inputs/{name}", None)
            for name in ("work-unit.json", "evaluator-plan.json", "result-manifest.json", "bundle.yaml")
        },
    ),
    "the rules": (
        rules_changed,
        {("inputs/bundle.yaml", None), (DECISION, "/bundle/digest"), (DECISION, "/parameters/max_changed_files")},
    ),
    "a comment in the rules": (
        appended("inputs/bundle.yaml", b"# fine\n"),
        {("inputs/bundle.yaml", None), (DECISION, "/bundle/digest")},
    ),
    "the rules made invalid": (appended("inputs/bundle.yaml", b"}\n"), {("inputs/bundle.yaml", None)}),
    "the manifest": (
        edited("inputs/result-manifest.json", lambda value: value.update(attempt=2)),
        {("inputs/result-manifest.json", None), (FACTS, "/documents/result-manifest"), (RESULT, "/attempt")},
    ),
    "the WorkUnit": (
        edited("inputs/work-unit.json", lambda value: value.update(objective="Do as you like.")),
        {("inputs/work-unit.json", None), ("inputs/evaluator-plan.json", "/binding/work_unit_digest")},
    ),
    "the plan": (
        edited("inputs/evaluator-plan.json", lambda value: value["backend"].update(max_candidate_bytes=5000)),
        {("inputs/evaluator-plan.json", None), (FACTS, "/documents/evaluator-plan")},
    ),
    "the whole result put in another format": (
        edited(RESULT, lambda value: value.update(schema_version="0.2")),
        {(RESULT, "/schema_version")},
    ),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_replay_finds_and_names_each_tampering(result: Path, what: str) -> None:
    tamper, expected = TAMPERINGS[what]
    tamper(result)
    seen = replay(result)
    places = {(each.file, each.pointer) for each in seen.differences}
    assert expected <= places, [str(each) for each in seen.differences]
    assert not seen.consistent
    named = idkrules("replay", result)
    assert (named.returncode, named.stderr) == (1, "")
    assert named.stdout.startswith("differs")
    assert all(file in named.stdout for file, _pointer in expected)


def test_replay_tells_both_values(result: Path) -> None:
    rewrite(result, DECISION, lambda value: value.update(recommendation="accept_candidate"))
    found = {each.place: (each.recorded, each.expected) for each in replay(result).differences}
    assert found[f"{DECISION}#/recommendation"] == ('"accept_candidate"', '"reject_candidate"')


def test_a_forgery_with_mended_digests_is_found_by_deriving_again(result: Path) -> None:
    """Who changes the decision and makes every digest fit is found, since the decision doesn't follow from the facts."""
    rewrite(result, DECISION, lambda value: value.update(recommendation="accept_candidate"))
    rewrite(result, RESULT, lambda value: value["decision_support"].update(recommendation="accept_candidate"))
    mend(result)
    places = {each.place for each in replay(result).differences}
    assert f"{DECISION}#/recommendation" in places
    assert f"{RESULT}#/decision_support/recommendation" in places


def test_forged_facts_are_found_only_with_the_candidate_or_the_pin(rejected: Path, tmp_path: Path) -> None:
    """Consistent, not authenticated: facts, evidence, decision and result that fit each other pass until somebody looks."""
    honest = load(rejected, RESULT)["extensions"]["org.idkmesh.rules"]["decision_digest"]
    case = Path(shutil.copytree(FORBIDDEN, tmp_path / "case"))
    patch = case / "candidate" / "changes.patch"
    patch.write_text(patch.read_text().partition("diff --git a/SECURITY.md")[0])
    make_honest = json.loads((case / "result-manifest.json").read_text())
    make_honest["produced_artifacts"][0]["digest"] = bytes_digest(patch.read_bytes())
    (case / "result-manifest.json").write_text(json.dumps(make_honest))
    fixture_result(case, tmp_path / "out")
    forged = tmp_path / "out"
    assert replay(forged).consistent
    assert "not authenticated" in idkrules("replay", forged).stdout
    looked = replay(forged, candidate_root=FORBIDDEN / "candidate")
    assert {each.file for each in looked.differences} == {FACTS}
    assert any("patch.path" in each.message for each in looked.differences)
    pinned = replay(forged, expect_decision=honest)
    assert [(each.file, each.expected) for each in pinned.differences] == [(DECISION, honest)]
    run = idkrules("replay", forged, "--expect-decision", honest)
    assert (run.returncode, honest in run.stdout) == (1, True)


def test_what_else_lies_in_the_directory_is_told_and_changes_nothing(result: Path) -> None:
    (result / "note\x1b[31m.txt").write_text("hello")
    (result / "evidence" / "extra.json").write_text("{}")
    (result / "more").mkdir()
    run = idkrules("replay", result)
    assert run.returncode == 0
    assert "\x1b" not in run.stdout
    assert all(name in run.stdout for name in ("note\\x1b[31m.txt", "evidence/extra.json", "more/"))


def test_explain_and_why_not_flag_a_forged_decision_and_tell_what_follows(result: Path) -> None:
    rewrite(result, DECISION, lambda value: value.update(recommendation="accept_candidate"))
    told = explained(result)
    assert (told.forged, told.recorded, told.recommendation) == (True, "accept_candidate", "reject_candidate")
    assert why_not(result).forged
    for verb in ("explain", "why-not"):
        run = idkrules(verb, result)
        assert run.returncode == 0
        assert run.stdout.startswith("reject_candidate")
        assert "Tampered" in run.stdout
        assert not json.loads(idkrules(verb, result, "--format", "json").stdout)["follows"]


def test_a_candidate_that_cannot_be_looked_at_is_no_verdict(rejected: Path, tmp_path: Path) -> None:
    run = idkrules("replay", rejected, "--candidate-root", tmp_path / "missing")
    assert run.returncode == 3
    assert "candidate-root-unusable" in run.stdout
    assert json.loads(
        idkrules("replay", rejected, "--candidate-root", tmp_path / "missing", "--format", "json").stdout
    )["could_not_look"]


def test_another_candidate_is_told_apart(rejected: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(FORBIDDEN / "candidate", tmp_path / "candidate"))
    (other / "logs" / "stdout.txt").write_text("5 turns\n")
    seen = replay(rejected, candidate_root=other)
    assert {each.file for each in seen.differences} == {FACTS}
    assert ("candidate.file: the candidate shows something else now", "seen now") in {
        (each.message, each.source) for each in seen.differences
    }


def test_a_result_of_another_version_still_replays(result: Path) -> None:
    """Its decision is derived again; what this version words otherwise is told, and is no difference."""

    def older(value: Any) -> None:
        value["extensions"]["org.idkmesh.rules"]["engine_version"] = "0.0.9"
        value["provenance"]["environment"]["tool_versions"]["idkmesh-rules"] = "0.0.9"
        value["decision_support"]["rationale"] = "Failed."
        value["evidence"][0]["description"] = "the facts"

    rewrite(result, RESULT, older)
    seen = replay(result, candidate_root=FORBIDDEN / "candidate")
    assert seen.consistent, seen.differences
    assert any("0.0.9" in note for note in seen.notes)
    assert any("words 2 places otherwise" in note for note in seen.notes)
    assert explained(result).forged is False
    rewrite(result, RESULT, lambda value: value.update(status="passed"))
    assert {each.place for each in replay(result).differences} == {f"{RESULT}#/status"}


def test_a_result_of_another_version_without_a_newer_field_still_decides(result: Path) -> None:
    """A field that the other version didn't know is unknown: the decision is another one, and no traceback."""

    def older(value: Any) -> None:
        value["extensions"]["org.idkmesh.rules"]["engine_version"] = "0.0.9"
        value["provenance"]["environment"]["tool_versions"]["idkmesh-rules"] = "0.0.9"

    rewrite(result, RESULT, older)
    rewrite(
        result,
        FACTS,
        lambda value: [
            fact["fields"].pop("moved")
            for kind in value["kinds"]
            if kind["kind"] == "requirement.line"
            for fact in kind["facts"]
        ],
    )
    places = {each.place for each in replay(result).differences}
    assert FACTS in places
    assert f"{DECISION}#/facts_digest" in places
    assert not any(place.startswith(f"{DECISION}#/validators") for place in places)


# --- hidden plans -----------------------------------------------------------------------------------------------------


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


# --- hostile directories ----------------------------------------------------------------------------------------------


def fifo(name: str) -> Callable[[Path], None]:
    def make_fifo(place: Path) -> None:
        (place / name).unlink()
        os.mkfifo(place / name)

    return make_fifo


def filled(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda place: (place / name).write_bytes(data) and None


def sparse(name: str) -> Callable[[Path], None]:
    return lambda place: os.truncate(place / name, 2**40)


def directory(name: str) -> Callable[[Path], None]:
    def swap(place: Path) -> None:
        (place / name).unlink()
        (place / name).mkdir()

    return swap


def linked_to_secret(name: str) -> Callable[[Path], None]:
    def swap(place: Path) -> None:
        secret = place.parent / "secret.json"
        secret.write_text('{"secret": "do not print"}')
        (place / name).unlink()
        (place / name).symlink_to(secret)

    return swap


HOSTILE: dict[str, Callable[[Path], None]] = {
    "a FIFO for facts.json": fifo(FACTS),
    "a FIFO for the bundle": fifo("inputs/bundle.yaml"),
    "a terabyte of facts": sparse(FACTS),
    "a terabyte of plan": sparse("inputs/evaluator-plan.json"),
    "a terabyte of rules": sparse("inputs/bundle.yaml"),
    "a directory for decision.json": directory(DECISION),
    "a link to a file outside": linked_to_secret(DECISION),
    "a link for the result": linked_to_secret(RESULT),
    "a device behind a link": lambda place: ((place / FACTS).unlink(), (place / FACTS).symlink_to("/dev/zero"))[1],
    "deep nesting": filled(FACTS, b'{"kinds":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "deep nesting of objects in the decision": filled(DECISION, b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "duplicate keys": filled(DECISION, b'{"schema_version":"1.0","schema_version":"1.0"}'),
    "no JSON": filled(RESULT, b"\x00\xff\xfe"),
    "an empty file": filled(FACTS, b""),
    "an array": filled(RESULT, b"[]"),
    "a number with a million digits": filled(FACTS, b'{"a":' + b"9" * 1_000_000 + b"}"),
    "not UTF-8": filled(DECISION, b'{"a":"\xff"}'),
    "a byte order mark": filled(RESULT, b"\xef\xbb\xbf{}"),
    "a lone surrogate": filled(DECISION, b'{"a":"\\ud800"}'),
    "terminal escapes in a key": filled(RESULT, b'{"\\u001b[31m\\u009b2J":1}'),
    "a commit of other rules": filled("inputs/bundle.yaml", b"schema_version: '1.0'\n\x1b[31m: x\n"),
    "YAML that explodes": filled("inputs/bundle.yaml", b"a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]\n"),
    "nothing": lambda place: (
        [shutil.rmtree(entry) if entry.is_dir() else entry.unlink() for entry in place.iterdir()] and None
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_directories_end_in_a_sentence(result: Path, what: str) -> None:
    HOSTILE[what](result)
    for verb, code in (("explain", 4), ("why-not", 4), ("replay", 4 if what == "nothing" else 1)):
        run = idkrules(verb, result)
        assert run.returncode == code, run.stdout + run.stderr
        assert "Traceback" not in run.stderr
        assert "\x1b" not in run.stdout + run.stderr
        assert "do not print" not in run.stdout + run.stderr
        assert run.stdout or run.stderr
        assert len(run.stdout + run.stderr) < 20_000
    told = idkrules("impact", "unified-diff", "unified-diff", result)
    assert (told.returncode, "not read (1)" in told.stdout) == (4, True)


@pytest.mark.parametrize("verb", ["explain", "why-not", "replay"])
@pytest.mark.parametrize("name", ["missing", "file", "nul\udcff"])
def test_what_is_no_result_directory_is_told(tmp_path: Path, verb: str, name: str) -> None:
    (tmp_path / "file").write_text("{}")
    run = idkrules(verb, tmp_path / name)
    assert (run.returncode, run.stdout) == (4, "")
    assert run.stderr.startswith("refused  result-unreadable")
    printed = json.loads(idkrules(verb, tmp_path / name, "--format", "json").stdout)
    assert printed["reason"] == "result-unreadable"


def test_a_hundred_megabytes_of_brackets_end_in_time(result: Path) -> None:
    with (result / FACTS).open("wb") as file:
        file.write(b'{"kinds":')
        for _ in range(100):
            file.write(b"[" * 2**20)
    run = idkrules("replay", result)
    assert run.returncode == 1
    assert "facts.json" in run.stdout


def test_terminal_escapes_in_recorded_texts_never_reach_a_terminal(tmp_path: Path) -> None:
    """A path that turns the text around, an artifact and a log with escapes: shown escaped by every verb."""
    turned, cleared = "docs/\u202egnp.md", "\x1b[2J\x9b31m"

    def edit(draft: Any) -> None:
        quoted = turned.replace("\u202e", "\\342\\200\\256")
        draft.patch += builder.OTHER_FILE.replace("a/{path}", f'"a/{quoted}"').replace("b/{path}", f'"b/{quoted}"')
        draft.manifest["verification_request"]["evidence_artifact_ids"] = ["patch", cleared]
        draft.after.append(lambda late: late.manifest["logs"][0].update(locator=f"logs/{cleared}"))

    bundle = make(tmp_path / "case", edit)
    evaluation = bundle.evaluate(output_dir=tmp_path / "out")
    assert any(turned in row for row in evaluation.store["patch.path"].rows)
    assert any(cleared in row for row in evaluation.store["evidence.request"].rows)
    honest = idkrules("explain", tmp_path / "out").stdout
    assert "\\u202e" in honest
    assert "\\x1b" in honest
    rewrite(tmp_path / "out", DECISION, lambda value: value["parameters"].update({"\x1b[31m": cleared}))
    for verb in ("explain", "why-not", "replay"):
        for form in ("text", "json"):
            run = idkrules(verb, tmp_path / "out", "--format", form)
            assert run.returncode in (0, 1)
            assert not set("\x1b\u202e\x9b") & set(run.stdout + run.stderr)


# --- refusals ---------------------------------------------------------------------------------------------------------


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


# --- explain on the command line --------------------------------------------------------------------------------------


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


# --- impact -----------------------------------------------------------------------------------------------------------


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


def rules(place: Path, *changes: tuple[str, str]) -> Path:
    """The shipped bundle with some of its text replaced."""
    text = SHIPPED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    place.mkdir()
    (place / "bundle.yaml").write_text(text)
    return place


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


# --- the API ----------------------------------------------------------------------------------------------------------


def test_the_verbs_are_functions_too() -> None:
    assert {"explain", "why_not", "replay", "impact"} <= set(idkmesh_rules.__all__)
    assert all(callable(getattr(idkmesh_rules, name)) for name in ("explain", "why_not", "replay", "impact"))
