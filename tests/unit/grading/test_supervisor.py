"""The supervisor and what it rests on: repositories held to one suite, signatures, registrations, assessments."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.grading.authenticity import (
    RECEIPT_TYPE,
    RESULT_TYPE,
    Authenticity,
    NotAuthentic,
    pre_authentication,
    sign,
)
from idkmesh_rules.grading.evidence import MAX_BYTES, EvidenceRepository, FileRepository, Missing, SqliteRepository
from idkmesh_rules.grading.protocol import CheckResult
from idkmesh_rules.grading.supervisor import Registration, State, Supervisor
from idkmesh_rules.grading.values import (
    ArtifactRef,
    GradingError,
    JobOutcome,
    Manifest,
    read_manifest,
    read_receipt,
    read_result,
)
from tests.support.grading import (
    NOW,
    FixtureBroker,
    declared,
    key,
    manifest_in,
    result_of,
    statuses,
    supervisor_of,
    values,
)


@pytest.fixture(params=["files", "sqlite", "sqlite in memory"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EvidenceRepository]:
    if request.param == "files":
        (tmp_path / "evidence").mkdir(mode=0o700)
        kept: Any = FileRepository(tmp_path / "evidence").open()
    else:
        kept = SqliteRepository(":memory:" if request.param.endswith("memory") else tmp_path / "evidence.db").open()
    yield kept
    kept.close()


# --- Repositories: one suite for every implementation -----------------------------------------------------------------


def test_what_is_put_is_got(repository: EvidenceRepository) -> None:
    reference = repository.put("export", b"bytes")
    assert reference == ArtifactRef("export", bytes_digest(b"bytes"), 5)
    assert repository.get(reference) == b"bytes"
    assert repository.put("other name", b"bytes").digest == reference.digest
    assert repository.get(reference._replace(name="any")) == b"bytes"


def test_what_was_never_put_is_missing(repository: EvidenceRepository) -> None:
    reference = ArtifactRef("x", bytes_digest(b"never"), 5)
    assert repository.observation(reference.digest) is None
    with pytest.raises(Missing):
        repository.get(reference)
    with pytest.raises(Missing):
        repository.delete(reference.digest)


def test_a_size_that_is_another_is_no_reference(repository: EvidenceRepository) -> None:
    reference = repository.put("x", b"bytes")
    with pytest.raises(Missing, match="not those"):
        repository.get(reference._replace(size=4))


def test_a_deletion_takes_the_bytes_and_keeps_the_history(repository: EvidenceRepository) -> None:
    reference = repository.put("x", b"bytes")
    repository.delete(reference.digest)
    with pytest.raises(Missing, match="deleted"):
        repository.get(reference)
    known = repository.observation(reference.digest)
    assert known is not None
    assert (known.size, known.deleted) == (5, True)
    with pytest.raises(Missing):
        repository.delete(reference.digest)
    with pytest.raises(GradingError, match="don't come back"):
        repository.put("x", b"bytes")


@pytest.mark.parametrize("digest", ["", "sha256:xyz", "../../etc/passwd", "sha256:" + "A" * 64])
def test_a_digest_that_is_none_is_no_path(repository: EvidenceRepository, digest: str) -> None:
    with pytest.raises(GradingError):
        repository.get(ArtifactRef("x", digest, 1))
    with pytest.raises(GradingError):
        repository.delete(digest)


def test_making_one_touches_nothing(tmp_path: Path) -> None:
    FileRepository(tmp_path / "a")
    SqliteRepository(tmp_path / "b.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "size"), [("", 32), ("builder", 31), ("builder", 33)])
def test_a_broker_is_pinned_by_a_whole_key_and_a_name(name: str, size: int) -> None:
    with pytest.raises(GradingError, match="32 bytes"):
        Authenticity(name, bytes(size))


@pytest.mark.parametrize("kind", [FileRepository, SqliteRepository])
def test_one_that_is_not_open_keeps_nothing(tmp_path: Path, kind: Any) -> None:
    (tmp_path / "kept").mkdir(mode=0o700)
    kept = kind(tmp_path / "kept" if kind is FileRepository else tmp_path / "kept.db")
    with pytest.raises(GradingError, match="isn't open"):
        kept.put("x", b"bytes")
    reference = kept.open().put("x", b"bytes")
    kept.close()
    kept.close()
    with pytest.raises(GradingError, match="isn't open"):
        kept.get(reference)


def test_a_database_that_is_none_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "kept.db").write_bytes(b"no database at all, but long enough to be taken for the header of one" * 10)
    with pytest.raises(GradingError, match="can't be opened"):
        SqliteRepository(tmp_path / "kept.db").open()


def test_no_observation_is_larger_than_any_export(repository: EvidenceRepository) -> None:
    with pytest.raises(GradingError, match="at most"):
        repository.put("x", bytes(MAX_BYTES + 1))


def test_changed_bytes_are_noticed(tmp_path: Path) -> None:
    place = tmp_path / "evidence"
    place.mkdir(mode=0o700)
    kept = FileRepository(place).open()
    reference = kept.put("x", b"bytes")
    file = place / reference.digest.partition(":")[2]
    file.chmod(0o600)
    file.write_bytes(b"bytez")
    with pytest.raises(Missing, match="not those"):
        kept.get(reference)
    file.unlink()
    file.symlink_to("/etc/hostname")
    with pytest.raises(Missing):
        kept.get(reference)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_directory_that_is_not_private_is_refused(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "evidence"
    place.mkdir()
    place.chmod(mode)
    with pytest.raises(GradingError, match="mode 0700"):
        FileRepository(place).open()
    (tmp_path / "link").symlink_to(place)
    with pytest.raises(GradingError):
        FileRepository(tmp_path / "link").open()


# --- Values and signatures --------------------------------------------------------------------------------------------


def test_values_are_read_as_they_were_written(repository: EvidenceRepository) -> None:
    manifest, broker = manifest_in(repository), FixtureBroker()
    assert read_manifest(manifest.as_json()) == manifest
    receipt = broker.receipt_value(manifest.candidate, "journal-1", "a" * 64)
    assert read_receipt(receipt.as_json()) == receipt
    result = result_of(manifest.candidate, repository.put("export", b"x"), receipt)
    assert read_result(result.as_json()) == result


@pytest.mark.parametrize("what", ["an unknown field", "a missing field", "another type", "another word"])
def test_values_that_break_their_contract_are_refused(repository: EvidenceRepository, what: str) -> None:
    value = manifest_in(repository).as_json()
    change = {
        "an unknown field": lambda: value.update(extra=1),
        "a missing field": lambda: value.pop("fixture"),
        "another type": lambda: value["candidate"]["limits"].update(wall_seconds=True),
        "another word": lambda: value["grader"].update(role="judge"),
    }[what]
    change()
    with pytest.raises(GradingError, match="manifest"):
        read_manifest(value)


def test_the_encoding_is_that_of_dsse() -> None:
    """The example of the specification (DSSE protocol, Test Vectors)."""
    assert pre_authentication("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


RECEIPTS = {
    "another journal": {"journal_id": "journal-2"},
    "another job": {"job_id": "job-9/candidate"},
    "another role": {"role": "grader"},
    "another nonce": {"nonce": "b" * 64},
    "another spec": {"spec_digest": bytes_digest(b"x")},
    "other inputs": {"inputs_digest": bytes_digest(b"x")},
    "another evaluator": {"evaluator_digest": bytes_digest(b"x")},
    "another runtime": {"runtime": "ruby"},
    "another key's name": {"key_id": "sha256:" + "0" * 64},
    "the kind of a result": {"kind": "result"},
}


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_receipt_of_another_job_is_not_authentic(repository: EvidenceRepository, name: str) -> None:
    broker, spec = FixtureBroker(), manifest_in(repository).candidate
    value = {**broker.receipt_value(spec, "journal-1", "a" * 64).as_json(), **RECEIPTS[name]}
    signed = sign(key()[0], RECEIPT_TYPE, value)
    with pytest.raises(NotAuthentic):
        broker.authenticity.receipt(signed, spec, "journal-1", "a" * 64)


SIGNATURES = {
    "a byte of the payload": lambda signed: signed._replace(
        payload=signed.payload.replace(b"python-3.11", b"python-3.12")
    ),
    "a byte of the signature": lambda signed: signed._replace(
        signature=bytes([signed.signature[0] ^ 1]) + signed.signature[1:]
    ),
    "a truncated signature": lambda signed: signed._replace(signature=signed.signature[:63]),
    "no signature": lambda signed: signed._replace(signature=b""),
    "the type of a result": lambda signed: signed._replace(payload_type=RESULT_TYPE),
    "another key": lambda _signed: sign(key(2)[0], RECEIPT_TYPE, {}),
    "another key under the pinned name": lambda signed: sign(key(2)[0], RECEIPT_TYPE, {})._replace(
        key_id=signed.key_id
    ),
    "signed bytes that are no JSON": lambda _signed: _sign_raw(b"{"),
    "signed JSON that is not canonical": lambda signed: _sign_raw(signed.payload + b" "),
    "signed JSON that is no receipt": lambda _signed: _sign_raw(b"{}"),
    "deep signed JSON": lambda _signed: _sign_raw(b"[" * 100_000),
}


def _sign_raw(payload: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signed = sign(key()[0], RECEIPT_TYPE, {})
    private = Ed25519PrivateKey.from_private_bytes(key()[0])
    return signed._replace(payload=payload, signature=private.sign(pre_authentication(RECEIPT_TYPE, payload)))


@pytest.mark.parametrize("name", SIGNATURES)
def test_what_the_pinned_broker_did_not_sign_is_not_authentic(repository: EvidenceRepository, name: str) -> None:
    broker, spec = FixtureBroker(), manifest_in(repository).candidate
    receipt = broker.receipt_value(spec, "journal-1", "a" * 64)
    good = broker.sign_receipt(receipt)
    assert broker.authenticity.receipt(good, spec, "journal-1", "a" * 64) == receipt
    with pytest.raises(NotAuthentic):
        broker.authenticity.receipt(SIGNATURES[name](good), spec, "journal-1", "a" * 64)


@pytest.mark.parametrize(
    "change",
    [{"job_id": "job-1/grader"}, {"receipt_digest": bytes_digest(b"x")}, {"nonce": "c" * 64}, {"kind": "receipt"}],
)
def test_a_result_of_another_job_or_receipt_is_not_authentic(
    repository: EvidenceRepository, change: dict[str, str]
) -> None:
    broker, spec = FixtureBroker(), manifest_in(repository).candidate
    receipt = broker.receipt_value(spec, "journal-1", "a" * 64)
    result = result_of(spec, None, receipt)
    assert broker.authenticity.result(broker.sign_result(result), spec, receipt) == result
    with pytest.raises(NotAuthentic):
        broker.authenticity.result(broker.sign_result(result._replace(**change)), spec, receipt)


# --- Registrations and assessments ------------------------------------------------------------------------------------

REGISTRATIONS = {
    "another protocol": ({"protocol": "cortex.json-equality.v2"}, "unknown"),
    "another revision": ({"supervisor_revision": bytes_digest(b"x")}, "another revision"),
    "a state probe": ({"state_probes": ("disk",)}, "state probes"),
}


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_what_can_not_be_registered(repository: EvidenceRepository, name: str) -> None:
    change, said = REGISTRATIONS[name]
    with pytest.raises(GradingError, match=said):
        supervisor_of(repository, manifest_in(repository, **change))


def test_nothing_is_registered_twice_and_something_has_to_be(repository: EvidenceRepository) -> None:
    one, other = manifest_in(repository), manifest_in(repository, number=2)
    with pytest.raises(GradingError, match="1 to 1000"):
        supervisor_of(repository)
    with pytest.raises(GradingError, match="manifest id is registered twice"):
        supervisor_of(repository, one, other._replace(manifest_id=one.manifest_id))
    with pytest.raises(GradingError, match="job id is registered twice"):
        supervisor_of(repository, one, other._replace(grader=one.grader))
    roster = [Registration(one, "same-id"), Registration(other, "same-id")]
    with pytest.raises(GradingError, match="assessment id is registered twice"):
        Supervisor(roster, repository, lambda *_: None, lambda: NOW)


def assess(
    repository: EvidenceRepository, manifest: Manifest, exported: bytes | None, said: bytes | None, **changes: Any
) -> Any:
    supervisor = supervisor_of(repository, manifest, refused=changes.pop("refused", lambda: None))
    exports = [None if data is None else repository.put("export", data) for data in (exported, said)]
    candidate = result_of(manifest.candidate, exports[0], **changes.pop("candidate", {}))
    grader = result_of(manifest.grader, exports[1], **changes.pop("grader", {}))
    return supervisor.assess(manifest.digest, candidate, grader)


GOOD, SAID = values('{"answer": 42}'), statuses(answer="passed")
STATES: dict[str, tuple[bytes | None, bytes | None, dict[str, Any], State, str]] = {
    "equal and passed": (GOOD, SAID, {}, State.PASSED, "every value"),
    "different and failed": (
        values('{"answer": 41}'),
        statuses(answer="failed"),
        {},
        State.FAILED,
        "the grader agrees",
    ),
    "spelled otherwise": (values('{"answer": 42.0}'), statuses(answer="failed"), {}, State.FAILED, "the grader agrees"),
    "equal but failed": (GOOD, statuses(answer="failed"), {}, State.DISAGREEMENT, "disagree"),
    "different but passed": (values('{"answer": true}'), SAID, {}, State.DISAGREEMENT, "disagree"),
    "no export": (None, SAID, {}, State.MISSING, "the candidate's export isn't there"),
    "no word of the grader": (GOOD, None, {}, State.MISSING, "the grader's export isn't there"),
    "an export that is no JSON": (b"{", SAID, {}, State.INVALID, "the candidate's export is malformed"),
    "an export with another check": (
        values('{"other": 42}'),
        SAID,
        {},
        State.INVALID,
        "the candidate's export is malformed",
    ),
    "the grader's word as export": (SAID, SAID, {}, State.INVALID, "the candidate's export is malformed"),
    "the candidate ran out of time": (
        GOOD,
        SAID,
        {"candidate": {"outcome": JobOutcome.WALL}},
        State.MISSING,
        "was killed when its wall time was over",
    ),
    "the grader never began": (
        GOOD,
        SAID,
        {"grader": {"outcome": JobOutcome.SETUP_FAILED}},
        State.MISSING,
        "could not be begun",
    ),
    "the candidate never began, so nothing was enforced": (
        GOOD,
        SAID,
        {"candidate": {"outcome": JobOutcome.SETUP_FAILED, "enforced": ()}},
        State.MISSING,
        "could not be begun",
    ),
    "a control was not enforced": (
        GOOD,
        SAID,
        {"candidate": {"enforced": ("wall-clock",)}},
        State.INVALID,
        "without network-none",
    ),
    "an exit code says nothing": (GOOD, SAID, {"candidate": {"exit_code": 1}}, State.PASSED, "every value"),
    "authority was revoked": (GOOD, SAID, {"refused": lambda: "the grant was revoked"}, State.REVOKED, "revoked"),
}


@pytest.mark.parametrize("name", STATES)
def test_every_outcome_is_named(repository: EvidenceRepository, name: str) -> None:
    exported, said, changes, state, reason = STATES[name]
    assessment = assess(repository, manifest_in(repository), exported, said, **dict(changes))
    assert assessment.state is state
    assert reason in assessment.reason
    assert assessment.passed == (state is State.PASSED)
    assert not assessment.passed or [each.result for each in assessment.checks] == [CheckResult.PASSED]


def test_further_exports_are_none_of_the_protocols(repository: EvidenceRepository) -> None:
    manifest = manifest_in(repository)
    export = repository.put("export", GOOD)
    two = {"candidate": {"exports": (export, export._replace(name="more"))}}
    assert assess(repository, manifest, GOOD, SAID, **two).state is State.MISSING
    other = {"candidate": {"exports": (export._replace(name="answer"),)}}
    assert assess(repository, manifest, GOOD, SAID, **other).state is State.MISSING


def test_a_deleted_or_revoked_observation_blocks_what_was_assessed_before(repository: EvidenceRepository) -> None:
    manifest, refused = manifest_in(repository), [None]
    supervisor = supervisor_of(repository, manifest, refused=lambda: refused[0])
    exports = [repository.put("export", data) for data in (GOOD, SAID)]
    results = [
        result_of(job, export) for job, export in zip((manifest.candidate, manifest.grader), exports, strict=True)
    ]
    first = supervisor.assess(manifest.digest, *results)
    assert first.passed
    assert supervisor.assess(manifest.digest, *results).digest == first.digest
    refused[0] = "expired"
    assert supervisor.assess(manifest.digest, *results).state is State.REVOKED
    refused[0] = None
    repository.delete(exports[0].digest)
    gone = supervisor.assess(manifest.digest, *results)
    assert (gone.state, gone.passed) == (State.MISSING, False)
    assert first.observations == gone.observations, "the history stays readable"
    assert first.passed, "an assessment is immutable; it is the current one that says no"


@pytest.mark.parametrize("which", ["test_bundle", "result_schema", "fixture"])
def test_a_protected_artifact_that_is_gone_or_broken_is_no_pass(repository: EvidenceRepository, which: str) -> None:
    broken = manifest_in(repository, **{which: repository.put("x", b"[]")})
    assert assess(repository, broken, GOOD, SAID).state is State.INVALID
    manifest = manifest_in(repository, number=2, **{which: repository.put("x", declared("z"))})
    repository.delete(getattr(manifest, which).digest)
    assert assess(repository, manifest, GOOD, SAID).state is State.MISSING


def test_declarations_that_differ_are_invalid(repository: EvidenceRepository) -> None:
    manifest = manifest_in(repository, '{"a": 1, "b": 2}', result_schema=repository.put("x", declared("b", "a")))
    assessment = assess(repository, manifest, values('{"a": 1, "b": 2}'), statuses(a="passed", b="passed"))
    assert (assessment.state, assessment.reason) == (
        State.INVALID,
        "the test bundle and the result schema declare other checks",
    )


def test_an_assessment_is_bound_to_everything_that_it_rests_on(repository: EvidenceRepository) -> None:
    manifest = manifest_in(repository)
    digests = {
        assess(repository, manifest, GOOD, SAID).digest,
        assess(repository, manifest_in(repository, number=2), GOOD, SAID).digest,
        assess(repository, manifest, values('{"answer":42}'), SAID).digest,
        assess(repository, manifest, GOOD, statuses(answer="failed")).digest,
    }
    assert len(digests) == 4


def test_a_manifest_off_the_roster_or_another_jobs_result_is_refused(repository: EvidenceRepository) -> None:
    manifest, other = manifest_in(repository), manifest_in(repository, number=2)
    supervisor = supervisor_of(repository, manifest)
    good = result_of(manifest.candidate, None), result_of(manifest.grader, None)
    with pytest.raises(GradingError, match="not on the roster"):
        supervisor.assess(other.digest, *good)
    with pytest.raises(GradingError, match="other jobs"):
        supervisor.assess(manifest.digest, good[1], good[0])
