"""replay: one change of a result directory at a time, found and named; other candidates and other versions."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import explain, replay, why_not
from idkmesh_rules.audit.explain import Explanation
from idkmesh_rules.contracts.digest import bytes_digest
from tests.support.command import idkrules_here as idkrules
from tests.support.results import (
    DECISION,
    FACTS,
    FORBIDDEN,
    RESULT,
    fixture_result,
    load,
    mend,
    rewrite,
)


def explained(output: Path) -> Explanation:
    told = explain(output)
    assert isinstance(told, Explanation)
    return told


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
    "an evidence file nested deeper than any": (
        lambda place: (place / "evidence/log-integrity.json").write_bytes(b'{"a":' * 900 + b"1" + b"}" * 900) and None,
        {("evidence/log-integrity.json", None)},
    ),
    "a key that stands twice in an evidence file": (
        lambda place: (
            (place / "evidence/log-integrity.json").write_bytes(
                (place / "evidence/log-integrity.json").read_bytes().replace(b'{"check"', b'{"check":"none","check"', 1)
            )
            and None
        ),
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


def test_what_another_version_worded_is_shown_with_both_values(result: Path) -> None:
    """A forger may name another version; what a person then has to judge is laid before them."""

    def forged(value: Any) -> None:
        value["extensions"]["org.idkmesh.rules"]["engine_version"] = "0.0.9"
        value["provenance"]["environment"]["tool_versions"]["idkmesh-rules"] = "0.0.9"
        value["decision_support"]["rationale"] = "Everything is fine."

    rewrite(result, RESULT, forged)
    (place,) = replay(result).reworded
    assert place.place == f"{RESULT}#/decision_support/rationale"
    assert "Everything is fine." in str(place.recorded)
    assert "Everything is fine." not in str(place.expected or "Everything is fine.")
    text = idkrules("replay", result).stdout
    assert f"~ {place.place}" in text
    assert "Everything is fine." in text
    (shown,) = json.loads(idkrules("replay", result, "--format", "json").stdout)["reworded"]
    assert (shown["file"], shown["pointer"], shown["recorded"]) == (place.file, place.pointer, place.recorded)


@pytest.mark.parametrize("version", ["", "0.1.0 ", "v0.1.0", "0.1", "00.1.0", "\x1b[31m", "0.1.0\n"])
def test_what_names_no_version_gets_no_latitude(result: Path, version: str) -> None:
    def forged(value: Any) -> None:
        value["extensions"]["org.idkmesh.rules"]["engine_version"] = version
        value["decision_support"]["rationale"] = "Everything is fine."

    rewrite(result, RESULT, forged)
    seen = replay(result)
    assert not seen.reworded
    assert f"{RESULT}#/decision_support/rationale" in {each.place for each in seen.differences}
    assert "\x1b" not in idkrules("replay", result).stdout


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
