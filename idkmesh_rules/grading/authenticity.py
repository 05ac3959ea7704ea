"""Who said it: Ed25519 over exact bytes in DSSE pre-authentication encoding, held against a pinned broker.

Source: DSSE protocol 1.0.2 (secure-systems-lab), *PAE*; RFC 8032. Invariants: broker name and key come from the host's
configuration, never from a response; a receipt is authentic only if it names exactly the job that was asked for; a result
is an observation of that job, never a verdict (design: grading, *Broker, receipts, authenticity*).
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from idkmesh_rules.contracts.digest import bytes_digest, canonical_bytes, canonical_digest
from idkmesh_rules.grading.values import (
    GradingError,
    JobResult,
    JobSpec,
    Receipt,
    as_plain,
    read_receipt,
    read_result,
)

RECEIPT_TYPE = "application/vnd.idkmesh.grading.receipt+json; version=1"
RESULT_TYPE = "application/vnd.idkmesh.grading.result+json; version=1"
ASSESSMENT_TYPE = "application/vnd.idkmesh.grading.assessment+json; version=1"
MAX_PAYLOAD = 1 << 20

T = TypeVar("T")


class Signed(NamedTuple):
    """Exact bytes with who signed them: the payload's type, the payload, the key's id, and 64 bytes of signature."""

    payload_type: str
    payload: bytes
    key_id: str
    signature: bytes


class NotAuthentic(GradingError):
    """A message isn't what the pinned broker signed for this job; the message says why."""


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed: DSSE's PAE of type and payload, so that no other message has the same bytes."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def key_id_of(public_key: bytes) -> str:
    """The id of a raw public key of 32 bytes: its digest."""
    return bytes_digest(public_key)


def sign(private_key: bytes, payload_type: str, value: dict[str, Any]) -> Signed:
    """Sign a JSON value with a raw private key of 32 bytes, in its canonical bytes."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PrivateKey.from_private_bytes(private_key)
    payload = canonical_bytes(value)
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return Signed(payload_type, payload, key_id_of(public), key.sign(pre_authentication(payload_type, payload)))


class Authenticity:
    """A broker as the host knows it: its name and its raw Ed25519 public key. Making one touches nothing."""

    def __init__(self, name: str, public_key: bytes) -> None:
        if not name or len(public_key) != 32:
            raise GradingError("a broker is pinned by its name and a public key of 32 bytes")
        self.name = name
        self.key_id = key_id_of(public_key)
        self._key = public_key

    def receipt(self, signed: Signed, spec: JobSpec, journal_id: str, nonce: str) -> Receipt:
        """The receipt in `signed`, for exactly this job, journal and nonce; raises NotAuthentic."""
        receipt = self._opened(signed, RECEIPT_TYPE, read_receipt)
        inputs, evaluator = (canonical_digest(as_plain(each)) for each in (spec.inputs, spec.evaluator))
        expected = {
            "kind": "receipt",
            "key_id": self.key_id,
            "journal_id": journal_id,
            "job_id": spec.job_id,
            "role": spec.role,
            "nonce": nonce,
            "spec_digest": spec.digest,
            "inputs_digest": inputs,
            "evaluator_digest": evaluator,
            "runtime": spec.runtime,
        }
        for name, wanted in expected.items():
            if getattr(receipt, name) != wanted:
                raise NotAuthentic(f"the receipt's {name} is that of another job")
        return receipt

    def result(self, signed: Signed, spec: JobSpec, receipt: Receipt) -> JobResult:
        """The result in `signed`, for exactly this job and receipt; raises NotAuthentic."""
        result = self._opened(signed, RESULT_TYPE, read_result)
        expected = {
            "kind": "result",
            "key_id": self.key_id,
            "job_id": spec.job_id,
            "receipt_digest": receipt.digest,
            "nonce": receipt.nonce,
        }
        for name, wanted in expected.items():
            if getattr(result, name) != wanted:
                raise NotAuthentic(f"the result's {name} is that of another job")
        return result

    def assessment(self, signed: Signed, read: Callable[[Any], T]) -> T:
        """The assessment in `signed`, which the host signed with the same key, as `read` makes it; raises NotAuthentic."""
        return self._opened(signed, ASSESSMENT_TYPE, read)

    def _opened(self, signed: Signed, payload_type: str, read: Callable[[Any], T]) -> T:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if signed.payload_type != payload_type:
            raise NotAuthentic("the message is of another kind")
        if signed.key_id != self.key_id:
            raise NotAuthentic("the message is signed by another key than the pinned one")
        if len(signed.payload) > MAX_PAYLOAD:
            raise NotAuthentic(f"the message has more than {MAX_PAYLOAD} bytes")
        try:
            key = Ed25519PublicKey.from_public_bytes(self._key)
            key.verify(signed.signature, pre_authentication(payload_type, signed.payload))
        except (InvalidSignature, ValueError):
            raise NotAuthentic("the signature doesn't fit the message") from None
        try:
            value = json.loads(signed.payload)
            if canonical_bytes(value) != signed.payload:
                raise NotAuthentic("the message is signed, but not in its canonical bytes")
            return read(value)
        except (ValueError, RecursionError):
            raise NotAuthentic("the message is signed, but is no JSON") from None
        except NotAuthentic:
            raise
        except GradingError as error:
            raise NotAuthentic(f"the message is signed, but {error}") from None
