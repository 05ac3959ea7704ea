"""What a result directory holds of a grading, so that anybody can check it: what was sealed, what was signed, what it came to.

Each message is a DSSE envelope, which any implementation of DSSE verifies. Invariants:
- The facts of a grading follow from these files alone, by the same code whether they were just made or are being replayed.
- Reading believes nothing: every message has to be signed by the broker that is named here, for exactly the sealed jobs.
  That this is the broker which a host trusts, only a key id from elsewhere can show (design: grading, *Broker, receipts,
  authenticity*; DSSE 1.0.2, *Envelope*).
"""

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from idkmesh_rules.contracts.digest import canonical_bytes
from idkmesh_rules.grading.authenticity import MAX_PAYLOAD, Authenticity, Signed, key_id_of
from idkmesh_rules.grading.broker import grader_job
from idkmesh_rules.grading.journal import Record
from idkmesh_rules.grading.keys import Identity
from idkmesh_rules.grading.observed import observed
from idkmesh_rules.grading.retained import read_signed
from idkmesh_rules.grading.supervisor import Assessment, export_of, export_to_grade, read_assessment
from idkmesh_rules.grading.values import (
    Fields,
    GradingError,
    JobResult,
    JobSpec,
    Manifest,
    read_manifest,
    read_receipt,
)
from idkmesh_rules.model.grading import ATTESTATION_FILES, ATTESTATIONS, Grading

BROKER_FILE, MANIFEST_FILE, ASSESSMENT_FILE, *_ = ATTESTATION_FILES
_KINDS = {"receipted": "receipt", "finished": "result"}


class Read(NamedTuple):
    """What the files say: the broker's key id, the sealed manifest, and the grading; None where it came to no assessment."""

    key_id: str
    manifest: Manifest
    grading: Grading | None


def attestations(
    manifest: Manifest, identity: Identity, history: Sequence[Record], assessment: Signed | None
) -> dict[str, bytes]:
    """The files of a grading by path, as far as it has come; `history` are the journal's records of the call.

    `assessment` is what the supervisor made of it, signed by the host with the broker's key.
    """
    found: dict[str, Any] = {BROKER_FILE: identity._asdict(), MANIFEST_FILE: manifest.as_json()}
    roles = {job.job_id: job.role.value for job in (manifest.candidate, manifest.grader)}
    for record in history:
        if record.kind in _KINDS:
            path = f"{ATTESTATIONS}/{roles[record.key]}-{_KINDS[record.kind]}.json"
            found[path] = _envelope(read_signed(record.body))
    if assessment is not None:
        found[ASSESSMENT_FILE] = _envelope(assessment)
    return {path: canonical_bytes(found[path]) + b"\n" for path in ATTESTATION_FILES if path in found}


def read_attestations(files: Mapping[str, bytes]) -> Read:
    """Hold the files of a grading against each other, signatures and all; raises GradingError naming the file."""
    identity = _identity(_value(files, BROKER_FILE))
    broker = Authenticity(identity.name, bytes.fromhex(identity.public_key))
    try:
        manifest = read_manifest(_value(files, MANIFEST_FILE))
    except GradingError as error:
        raise GradingError(f"{MANIFEST_FILE}: {str(error).removeprefix(f'{MANIFEST_FILE}: ')}") from None
    candidate = _result(files, broker, manifest.candidate)
    export = None if candidate is None else export_to_grade(manifest.candidate, candidate)
    grader = None if export is None else _result(files, broker, grader_job(manifest, export))
    if ASSESSMENT_FILE not in files:
        return Read(identity.key_id, manifest, None)
    try:
        assessment = broker.assessment(_opened(_value(files, ASSESSMENT_FILE)), read_assessment)
    except GradingError as error:
        raise GradingError(f"{ASSESSMENT_FILE}: {str(error).removeprefix(f'{ASSESSMENT_FILE}: ')}") from None
    _check_bound(assessment, manifest, candidate, grader)
    return Read(identity.key_id, manifest, observed(manifest, assessment, (candidate, grader)))


def _check_bound(
    assessment: Assessment, manifest: Manifest, candidate: JobResult | None, grader: JobResult | None
) -> None:
    exports = tuple(None if each is None else export_of(each) for each in (candidate, grader))
    wanted = (
        manifest.manifest_id,
        manifest.digest,
        manifest.candidate.job_id,
        manifest.grader.job_id,
        exports,
    )
    if candidate is None or wanted != (
        assessment.assessment_id,
        assessment.manifest_digest,
        assessment.candidate_job,
        assessment.grader_job,
        assessment.observations,
    ):
        raise GradingError(f"{ASSESSMENT_FILE}: it is of other jobs or exports than those that were signed")


def _result(files: Mapping[str, bytes], broker: Authenticity, spec: JobSpec) -> JobResult | None:
    receipt_file, result_file = (f"{ATTESTATIONS}/{spec.role.value}-{kind}.json" for kind in ("receipt", "result"))
    if receipt_file not in files:
        if result_file in files:
            raise GradingError(f"{result_file}: there is no receipt beside it")
        return None
    try:
        signed = _opened(_value(files, receipt_file))
        said = read_receipt(json.loads(signed.payload))
        receipt = broker.receipt(signed, spec, said.journal_id, said.nonce)
    except (GradingError, ValueError, RecursionError) as error:
        raise GradingError(f"{receipt_file}: {error}") from None
    if result_file not in files:
        return None
    try:
        return broker.result(_opened(_value(files, result_file)), spec, receipt)
    except GradingError as error:
        raise GradingError(f"{result_file}: {error}") from None


def _identity(value: Any) -> Identity:
    fields = Fields(value, BROKER_FILE, Identity._fields)
    identity = Identity(fields.text("name"), fields.digest("key_id"), fields.text("public_key"))
    try:
        raw = bytes.fromhex(identity.public_key)
    except ValueError:
        raw = b""
    if len(raw) != 32 or key_id_of(raw) != identity.key_id:
        raise GradingError(f"{BROKER_FILE}: key_id is not that of public_key")
    return identity


def _value(files: Mapping[str, bytes], path: str) -> Any:
    data = files.get(path)
    if data is None:
        raise GradingError(f"{path}: it isn't there")
    try:
        value = json.loads(data)
        if canonical_bytes(value) + b"\n" != data:
            raise GradingError(f"{path}: it isn't in its canonical bytes")
    except (ValueError, RecursionError):
        raise GradingError(f"{path}: it is no JSON") from None
    return value


def _envelope(signed: Signed) -> dict[str, Any]:
    return {
        "payloadType": signed.payload_type,
        "payload": b64encode(signed.payload).decode(),
        "signatures": [{"keyid": signed.key_id, "sig": b64encode(signed.signature).decode()}],
    }


def _opened(value: Any) -> Signed:
    fields = Fields(value, "envelope", ("payloadType", "payload", "signatures"))
    signatures = fields.each("signatures", lambda each, what: Fields(each, what, ("keyid", "sig")))
    if len(signatures) != 1:
        raise GradingError("it has to have one signature")
    try:
        payload = b64decode(fields.text("payload", 2 * MAX_PAYLOAD), validate=True)
        signature = b64decode(signatures[0].text("sig"), validate=True)
    except (Base64Error, ValueError):
        raise GradingError("its payload or signature is no base64") from None
    return Signed(fields.text("payloadType"), payload, signatures[0].text("keyid"), signature)
