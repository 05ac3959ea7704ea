"""A graded result directory that was changed: replay finds each change, and where a forger signs himself, the key tells."""

import json
import shutil
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from idkmesh_rules.contracts.digest import bytes_digest, canonical_bytes
from idkmesh_rules.grading.authenticity import ASSESSMENT_TYPE, RECEIPT_TYPE, RESULT_TYPE, key_id_of, sign
from idkmesh_rules.pipeline.replay import replay
from tests.support.command import idkrules
from tests.support.graded import Graded, needs


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The results of an honest and a wrong candidate, and of one that was never started."""
    needs()
    place = tmp_path_factory.mktemp("graded")
    example = Graded(place / "example")
    for case in ("honest", "wrong", "tampered"):
        idkrules(*example.arguments(case, place / case, place / f"journal-{case}"))
    return {case: place / case for case in ("honest", "wrong", "tampered")}


@pytest.fixture
def result(honest: dict[str, Path], tmp_path: Path) -> Path:
    shutil.copytree(honest["honest"], tmp_path / "out")
    return tmp_path / "out"


def rewrite(place: Path, name: str, edit: Callable[[Any], Any]) -> None:
    """Change a document in its canonical form, and mend the digest that the result gives it."""
    value = json.loads((place / name).read_bytes())
    edit(value)
    data = canonical_bytes(value) + b"\n"
    (place / name).write_bytes(data)
    mend(place, name, data)


def mend(place: Path, name: str, data: bytes | None) -> None:
    path = place / "verification-result.json"
    value = json.loads(path.read_bytes())
    if data is None:
        value["evidence"] = [each for each in value["evidence"] if each["locator"] != name]
    for each in value["evidence"]:
        if each["locator"] == name and data is not None:
            each["digest"] = bytes_digest(data)
    path.write_bytes(canonical_bytes(value) + b"\n")


TYPES = {"receipt": RECEIPT_TYPE, "result": RESULT_TYPE, "assessment": ASSESSMENT_TYPE}


def resigned(place: Path, kind: str, role: str | None, edit: Callable[[Any], Any], key: bytes) -> None:
    """Change what a message says and sign it with another key."""
    name = f"attestations/{kind}.json" if role is None else f"attestations/{role}-{kind}.json"
    value = json.loads((place / name).read_bytes())
    payload = json.loads(b64decode(value["payload"]))
    edit(payload)
    signed = sign(key, TYPES[kind], payload)

    def put(envelope: Any) -> None:
        envelope["payload"] = b64encode(signed.payload).decode()
        envelope["signatures"] = [{"keyid": signed.key_id, "sig": b64encode(signed.signature).decode()}]

    rewrite(place, name, put)


FOREIGN = bytes([7]) * 32


def usage(place: Path) -> None:
    resigned(place, "result", "candidate", lambda payload: payload["usage"].update(wall_seconds=0.001), FOREIGN)


def receipt(place: Path) -> None:
    resigned(place, "receipt", "grader", lambda payload: payload.update(policy_digest=bytes_digest(b"lax")), FOREIGN)


def payload(place: Path) -> None:
    """The bytes under a signature, without another signature."""

    def edit(envelope: Any) -> None:
        said = json.loads(b64decode(envelope["payload"]))
        said["enforced"] = []
        envelope["payload"] = b64encode(canonical_bytes(said)).decode()

    rewrite(place, "attestations/candidate-result.json", edit)


def swapped(place: Path) -> None:
    one, other = (place / f"attestations/{role}-result.json" for role in ("candidate", "grader"))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    mend(place, "attestations/candidate-result.json", second)
    mend(place, "attestations/grader-result.json", first)


def gone(name: str) -> Callable[[Path], None]:
    def take(place: Path) -> None:
        (place / f"attestations/{name}.json").unlink()
        mend(place, f"attestations/{name}.json", None)

    return take


def all_gone(place: Path) -> None:
    for each in sorted((place / "attestations").iterdir()):
        gone(each.stem)(place)


def edited(name: str, edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    return lambda place: rewrite(place, f"attestations/{name}.json", edit)


def doubt(value: Any) -> None:
    value["state"], value["reason"] = "failed", "it was not"


def claimed(place: Path) -> None:
    def edit(envelope: Any) -> None:
        said = json.loads(b64decode(envelope["payload"]))
        doubt(said)
        envelope["payload"] = b64encode(canonical_bytes(said)).decode()

    rewrite(place, "attestations/assessment.json", edit)


def claimed_by_somebody(place: Path) -> None:
    resigned(place, "assessment", None, doubt, FOREIGN)


def not_canonical(place: Path) -> None:
    path = place / "attestations" / "assessment.json"
    data = json.dumps(json.loads(path.read_bytes()), indent=1).encode()
    path.write_bytes(data)
    mend(place, "attestations/assessment.json", data)


TAMPERINGS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a result signed by another key": (usage, "attestations/candidate-result.json"),
    "a receipt signed by another key": (receipt, "attestations/grader-receipt.json"),
    "what a signature is about": (payload, "attestations/candidate-result.json"),
    "two results exchanged": (swapped, "attestations/candidate-result.json"),
    "a receipt taken away": (gone("candidate-receipt"), "attestations/candidate-result.json"),
    "the grader's result taken away": (gone("grader-result"), "attestations/assessment.json"),
    "the assessment taken away": (gone("assessment"), "facts.json"),
    "the sealed manifest taken away": (gone("manifest"), "attestations/manifest.json"),
    "the broker taken away": (gone("broker"), "attestations/broker.json"),
    "every attestation taken away": (all_gone, "facts.json"),
    "another assessment, unsigned": (claimed, "attestations/assessment.json"),
    "another assessment, signed by another key": (claimed_by_somebody, "attestations/assessment.json"),
    "an assessment in other bytes": (not_canonical, "attestations/assessment.json"),
    "a manifest with another command": (
        edited("manifest", lambda value: value["candidate"].update(command=["/bin/true"])),
        "attestations/candidate-receipt.json",
    ),
    "a key id that isn't the key's": (
        edited("broker", lambda value: value.update(key_id=bytes_digest(b"x"))),
        "attestations/broker.json",
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_changed_attestation_is_found(result: Path, name: str) -> None:
    tamper, place = TAMPERINGS[name]
    tamper(result)
    seen = replay(result)
    assert not seen.consistent
    assert place in {each.file for each in seen.differences}, seen.differences


def test_a_changed_attestation_without_its_digest_mended_is_found_by_that(result: Path) -> None:
    path = result / "attestations" / "grader-result.json"
    path.write_bytes(path.read_bytes().replace(b"payload", b"Payload"))
    files = {each.file for each in replay(result).differences}
    assert "attestations/grader-result.json" in files


def test_facts_that_nobody_signed_for_are_found(honest: dict[str, Path], tmp_path: Path) -> None:
    """The facts of a pass, in the result of a candidate that was never started, decision and all."""
    forged = tmp_path / "out"
    shutil.copytree(honest["honest"], forged)
    all_gone(forged)
    seen = replay(forged)
    assert {each.message.partition(":")[0] for each in seen.differences if each.file == "facts.json"} >= {
        "grading.assessment",
        "grading.check",
        "grading.receipt",
    }


def test_another_grading_of_the_same_plan_is_another_candidate(honest: dict[str, Path], result: Path) -> None:
    """The attestations of an honest candidate beside the claim of a wrong one."""
    forged = result.parent / "forged"
    shutil.copytree(honest["wrong"], forged)
    shutil.rmtree(forged / "attestations")
    shutil.copytree(result / "attestations", forged / "attestations")
    for each in (forged / "attestations").iterdir():
        mend(forged, f"attestations/{each.name}", each.read_bytes())
    found = {(each.file, each.pointer) for each in replay(forged).differences}
    assert ("attestations/manifest.json", "/candidate/inputs") in found


def test_a_forger_with_a_key_of_his_own_is_told_by_the_key(result: Path) -> None:
    """Everything signed again: consistent with itself, and of another broker than the one that a host knows."""
    known = json.loads((result / "attestations" / "broker.json").read_bytes())["key_id"]
    public = Ed25519PrivateKey.from_private_bytes(FOREIGN).public_key().public_bytes_raw()
    digests: dict[str, str] = {}
    for role in ("candidate", "grader"):

        def own(said: Any, role: str = role) -> None:
            said["key_id"] = key_id_of(public)
            if "receipt_digest" in said:
                said["receipt_digest"] = digests[role]
            else:
                digests[role] = bytes_digest(canonical_bytes(said))

        resigned(result, "receipt", role, own, FOREIGN)
        resigned(result, "result", role, own, FOREIGN)
    resigned(result, "assessment", None, lambda said: None, FOREIGN)
    identity = {"name": "local", "key_id": key_id_of(public), "public_key": public.hex()}
    rewrite(result, "attestations/broker.json", lambda value: value.update(identity))
    assert replay(result).consistent
    assert replay(result, expect_broker=key_id_of(public)).consistent
    seen = replay(result, expect_broker=known)
    assert [(each.file, each.pointer) for each in seen.differences] == [("attestations/broker.json", "/key_id")]


def test_the_broker_that_signed_can_be_held_against_a_known_one(honest: dict[str, Path]) -> None:
    known = json.loads((honest["honest"] / "attestations" / "broker.json").read_bytes())["key_id"]
    run = idkrules("replay", honest["honest"], "--expect-broker", known)
    assert (run.returncode, run.stderr) == (0, "")
    assert "signed by the broker that was expected" in " ".join(run.stdout.split())
    other = idkrules("replay", honest["honest"], "--expect-broker", bytes_digest(b"x"))
    assert other.returncode == 1
    wrong = idkrules("replay", honest["honest"], "--expect-broker", "local")
    assert wrong.returncode == 2
    assert "--expect-broker" in wrong.stderr
    never = idkrules("replay", honest["tampered"], "--expect-broker", known)
    assert never.returncode == 0
    assert "No job was started, so that nothing is signed" in never.stdout


def test_another_candidate_than_the_graded_one_is_seen(honest: dict[str, Path]) -> None:
    other = honest["honest"].parent / "example" / "cases" / "wrong" / "candidate"
    seen = replay(honest["honest"], candidate_root=other)
    assert not seen.consistent
    assert any(each.file == "facts.json" and each.source == "seen now" for each in seen.differences)


def test_attestations_in_a_result_of_metadata_are_told_as_foreign(honest: dict[str, Path], tmp_path: Path) -> None:
    from tests.support.bundles import make

    bundle = make(tmp_path / "case")
    assert idkrules(*bundle.arguments(tmp_path / "out")).returncode == 0
    shutil.copytree(honest["honest"] / "attestations", tmp_path / "out" / "attestations")
    seen = replay(tmp_path / "out")
    assert any("attestations/broker.json" in note for note in seen.notes)


def test_without_cryptography_signatures_are_said_to_be_unverified(
    honest: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idkmesh_rules.pipeline.replay.find_spec", lambda _name: None)
    seen = replay(
        honest["honest"], candidate_root=honest["honest"].parent / "example" / "cases" / "honest" / "candidate"
    )
    assert not seen.consistent
    assert seen.unlooked is not None
    assert "signatures can't be verified" in seen.unlooked
    assert replay(honest["tampered"]).consistent  # nothing is signed there


def test_attestations_that_can_not_be_read_leave_the_candidate_to_be_looked_at(
    honest: dict[str, Path], result: Path
) -> None:
    gone("broker")(result)
    example = honest["honest"].parent / "example"
    seen = replay(result, candidate_root=example / "cases" / "honest" / "candidate")
    assert "attestations/broker.json" in {each.file for each in seen.differences}
