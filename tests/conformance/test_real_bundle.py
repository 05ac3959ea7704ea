"""The bundle that a real system emitted: read unchanged, accepted, and each single tampering told apart."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from idkmesh_rules import Refusal, evaluate
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.resources import shipped_bundle
from tests.support.bundles import Bundle, blamed
from tests.support.places import shared

DIGESTS = {
    "work-unit.json": "sha256:40993e892a5b83962364686809f7ec6e94ef379e10aaea9492a0526ed7695e2e",
    "result-manifest.json": "sha256:4247dffda2596ff17916021197fd8cf07837054fa6568f07cd8215c0c095b913",
    "evaluator-plan.json": "sha256:a0e89da54213408e942317816da0ef040d486f182ef160375fffe374c130c968",
}


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """A copy of the real bundle that a test may change."""
    place = tmp_path / "bundle"
    shutil.copytree(shared("real-bundles", "node-e2e-2026-08-30"), place)
    for path in [place, *place.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return Bundle(place)


@pytest.mark.parametrize(("name", "digest"), DIGESTS.items())
def test_known_digests(name: str, digest: str) -> None:
    path = shared("real-bundles", "node-e2e-2026-08-30", name)
    assert read_document(path.read_bytes(), name, name, max_bytes=2**22).digest == digest


def test_it_is_accepted_as_the_emitting_system_recorded(tmp_path: Path) -> None:
    place = shared("real-bundles", "node-e2e-2026-08-30")
    evaluation = evaluate(
        place / "work-unit.json",
        place / "result-manifest.json",
        place / "evaluator-plan.json",
        place / "candidate",
        output_dir=tmp_path / "out",
        durable=False,
    )
    result = evaluation.result
    assert {(check["id"], check["type"], check["status"]) for check in result["checks"]} == {
        ("result-manifest-schema", "schema", "passed"),
        ("independent-review", "review", "passed"),
    }
    assert (result["status"], result["decision_support"]["recommendation"], result["findings"]) == (
        "passed",
        "accept_candidate",
        [],
    )
    assert result["provenance"]["work_unit_digest"] == DIGESTS["work-unit.json"]
    assert result["provenance"]["result_manifest_digest"] == DIGESTS["result-manifest.json"]
    assert result["provenance"]["verifier_config_digest"] == DIGESTS["evaluator-plan.json"]
    assert evaluation.exit_code == 0


def pinned(bundle: Bundle) -> None:
    """Pin the copy of the shipped bundle that lies in the bundle's place, then change a byte of it."""
    source = shipped_bundle("unified-diff")
    assert source
    shutil.copytree(source, bundle.place / "rules")
    from idkmesh_rules.contracts.digest import bytes_digest

    rules = bundle.place / "rules" / "bundle.yaml"
    digest = bytes_digest(rules.read_bytes())
    bundle.rewrite(
        "evaluator-plan.json",
        lambda plan: plan["extensions"].update(
            {"org.idkmesh.rules": {"bundle": {"id": "unified-diff", "digest": digest}}}
        ),
    )
    assert bundle.evaluate(bundle=bundle.place / "rules").exit_code == 0
    rules.write_bytes(rules.read_bytes().replace(b"default: 200", b"default: 201"))


def append_to_log(bundle: Bundle) -> None:
    with (bundle.candidate / "stdout.txt").open("ab") as log:
        log.write(b"x")


def change_patch_byte(bundle: Bundle) -> None:
    path = bundle.candidate / "changes.patch"
    path.write_bytes(path.read_bytes().replace(b"candidate smoke", b"candidate smokE"))


TAMPERINGS: dict[str, tuple[Callable[[Bundle], None], object]] = {
    "a byte of the patch": (
        change_patch_byte,
        {("independent-review", "patch-intact"), ("independent-review", "required-lines-present")},
    ),
    "a byte behind a log": (append_to_log, {("independent-review", "logs-intact")}),
    "a value of the WorkUnit": (
        lambda b: b.rewrite("work-unit.json", lambda v: v.update(objective="Another.")),
        "binding-drift",
    ),
    "a value of the plan's binding": (
        lambda b: b.rewrite("evaluator-plan.json", lambda v: v["binding"].update(work_unit_version=3)),
        "binding-drift",
    ),
    "a byte of a pinned bundle": (pinned, "bundle-pin-mismatch"),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_one_tampering_at_a_time(what: str, bundle: Bundle) -> None:
    tamper, outcome = TAMPERINGS[what]
    tamper(bundle)
    rules = bundle.place / "rules"
    try:
        evaluation = bundle.evaluate(bundle=rules if rules.exists() else None)
    except Refusal as refusal:
        assert refusal.reason == outcome
        return
    assert evaluation.exit_code == 1
    assert blamed(evaluation) == outcome


def test_facts_and_decision_are_the_same_in_another_place(bundle: Bundle, tmp_path: Path) -> None:
    first, second = bundle.evaluate(output_dir=tmp_path / "one"), bundle.evaluate(output_dir=tmp_path / "two")
    assert (first.facts_digest, first.decision_digest) == (second.facts_digest, second.decision_digest)
    for name in ("facts.json", "decision.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert json.loads((tmp_path / "one" / "facts.json").read_text())["documents"] == {
        name.removesuffix(".json"): digest for name, digest in DIGESTS.items()
    }
