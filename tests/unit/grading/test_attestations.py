"""The files that an auditor gets of a grading: what follows from them, and everything that they must not be."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import pytest

from idkmesh_rules.contracts.digest import bytes_digest, canonical_bytes
from idkmesh_rules.grading.attestations import ASSESSMENT_FILE, BROKER_FILE, attestations, read_attestations
from idkmesh_rules.grading.authenticity import ASSESSMENT_TYPE, Signed, key_id_of, sign
from idkmesh_rules.grading.broker import grader_job
from idkmesh_rules.grading.evidence import SqliteRepository
from idkmesh_rules.grading.journal import Record
from idkmesh_rules.grading.keys import Identity
from idkmesh_rules.grading.observed import observed
from idkmesh_rules.grading.retained import signed_as_json
from idkmesh_rules.grading.supervisor import export_of, read_assessment
from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobOutcome, Manifest
from idkmesh_rules.model.grading import ATTESTATION_FILES
from tests.support.grading import GOOD, SAID, FixtureBroker, key, manifest_in, result_of, supervisor_of

NONCE = "0" * 64


def signed(value: Any, seed: int = 1) -> Signed:
    return sign(key(seed)[0], ASSESSMENT_TYPE, value)


class Story:
    """A finished grading of the fixture broker, and its files."""

    def __init__(self, **changes: Any) -> None:
        self.repository = SqliteRepository(":memory:").open()
        self.manifest: Manifest = manifest_in(self.repository)
        self.broker = FixtureBroker()
        self.records: list[Record] = []
        exports = [self.repository.put("export", data) for data in (GOOD, SAID)]
        candidate = self._ran(self.manifest.candidate, exports[0], **changes)
        export = export_of(candidate)
        graded = changes.get("outcome") in (None, JobOutcome.EXITED) and export is not None
        grader = self._ran(grader_job(self.manifest, export), exports[1]) if graded and export else None
        self.results = (candidate, grader)
        assessed = supervisor_of(self.repository, self.manifest).assess(self.manifest.digest, candidate, grader)
        self.assessment = assessed._replace(assessment_id=self.manifest.manifest_id)
        public = key(1)[1]
        self.identity = Identity("fixture", key_id_of(public), public.hex())
        self.files = attestations(self.manifest, self.identity, self.records, signed(self.assessment.as_json()))

    def _ran(self, spec: Any, export: ArtifactRef, **changes: Any) -> Any:
        receipt = self.broker.receipt_value(spec, "journal-1", NONCE)
        result = result_of(spec, export, receipt, **changes)
        for kind, signed in (
            ("receipted", self.broker.sign_receipt(receipt)),
            ("finished", self.broker.sign_result(result)),
        ):
            self._record(kind, spec.job_id, signed)
        return result

    def _record(self, kind: str, job_id: str, signed: Signed) -> None:
        self.records.append(Record(len(self.records), "", kind, job_id, signed_as_json(signed), ""))

    def assess(self, edit: Callable[[Any], Any], seed: int = 1) -> None:
        """Change what the host says of the grading, and sign it."""
        value = self.assessment.as_json()
        changed = edit(value)
        again = signed(value if changed is None else changed, seed)
        self.files = attestations(self.manifest, self.identity, self.records, again)

    def rewrite(self, path: str, edit: Callable[[Any], Any]) -> None:
        value = json.loads(self.files[path])
        changed = edit(value)
        self.files[path] = canonical_bytes(value if changed is None else changed) + b"\n"


def test_the_facts_follow_from_the_files_alone() -> None:
    story = Story()
    assert tuple(story.files) == ATTESTATION_FILES
    read = read_attestations(story.files)
    assert read.key_id == story.identity.key_id
    assert read.manifest == story.manifest
    assert read.grading == observed(story.manifest, story.assessment, story.results)
    assert read.grading.state == "passed"


def test_of_a_candidate_that_was_not_graded_there_is_one_job() -> None:
    story = Story(outcome=JobOutcome.WALL, exit_code=None, exports=())
    assert len(story.files) == 5
    read = read_attestations(story.files)
    assert read.grading is not None
    assert (read.grading.state, read.grading.jobs[1].authentic) == ("missing", None)


def test_of_a_call_that_came_to_nothing_there_is_no_grading() -> None:
    story = Story()
    del story.files[ASSESSMENT_FILE]
    assert read_attestations(story.files).grading is None
    files = attestations(story.manifest, story.identity, (), None)
    assert read_attestations(files) == (story.identity.key_id, story.manifest, None)


def test_an_assessment_is_read_as_it_was_written() -> None:
    story = Story()
    assert read_assessment(story.assessment.as_json()) == story.assessment
    assert json.loads(b64decode(json.loads(story.files[ASSESSMENT_FILE])["payload"])) == story.assessment.as_json()


RECEIPT, RESULT = "attestations/candidate-receipt.json", "attestations/candidate-result.json"


def put(value: Any, *path: Any, to: Any) -> None:
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = to


MISTAKES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "a broker with a field too many": (BROKER_FILE, lambda v: v | {"x": 1}, "exactly the fields"),
    "a broker whose key is no hexadecimal": (BROKER_FILE, lambda v: v | {"public_key": "zz"}, "not that of public_key"),
    "a broker that isn't named": (BROKER_FILE, lambda v: v | {"name": ""}, "name"),
    "a broker that is a list": (BROKER_FILE, lambda v: [v], "exactly the fields"),
    "no signature": (RECEIPT, lambda v: v | {"signatures": []}, "one signature"),
    "two signatures": (RECEIPT, lambda v: v | {"signatures": v["signatures"] * 2}, "one signature"),
    "a signature that is no base64": (RECEIPT, lambda v: put(v, "signatures", 0, "sig", to="?"), "base64"),
    "a payload that is no base64": (RESULT, lambda v: v | {"payload": "?"}, "base64"),
    "a payload that is no JSON": (RECEIPT, lambda v: v | {"payload": b64encode(b"{").decode()}, RECEIPT),
    "a payload that is deep": (RECEIPT, lambda v: v | {"payload": b64encode(b"[" * 100_000).decode()}, RECEIPT),
    "a payload of another kind": (RESULT, lambda v: v | {"payloadType": "text/plain"}, "another kind"),
    "a signature of somebody else": (
        RESULT,
        lambda v: put(v, "signatures", 0, "keyid", to=bytes_digest(b"x")),
        "another key",
    ),
    "a manifest without a job": ("attestations/manifest.json", lambda v: v | {"grader": None}, "grader"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_not_what_it_has_to_be_is_told_with_its_place(name: str) -> None:
    path, edit, said = MISTAKES[name]
    story = Story()
    story.rewrite(path, edit)
    with pytest.raises(GradingError) as caught:
        read_attestations(story.files)
    assert said in str(caught.value)


ASSESSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "in an unknown state": (lambda v: v | {"state": "perfect"}, "known words"),
    "of one export": (lambda v: v | {"observations": [None]}, "two entries"),
    "of no export": (lambda v: v | {"observations": [None, None]}, "other jobs or exports"),
    "of other jobs": (lambda v: v | {"grader_job": "job-9/grader"}, "other jobs"),
    "of another name": (lambda v: v | {"assessment_id": "evaluation-9"}, "other jobs"),
    "with a check that is equal to 1": (lambda v: put(v, "checks", 0, "equal", to=1), "true, false or null"),
    "with another status": (lambda v: put(v, "checks", 0, "grader_status", to="maybe"), "passed, failed or null"),
}


@pytest.mark.parametrize("name", ASSESSED)
def test_an_assessment_that_is_signed_and_wrong_is_refused(name: str) -> None:
    edit, said = ASSESSED[name]
    story = Story()
    story.assess(edit)
    with pytest.raises(GradingError) as caught:
        read_attestations(story.files)
    assert str(caught.value).startswith(f"{ASSESSMENT_FILE}: ")
    assert said in str(caught.value)


def test_an_assessment_that_somebody_else_signed_is_refused() -> None:
    story = Story()
    story.assess(lambda value: value, seed=2)
    with pytest.raises(GradingError, match="another key"):
        read_attestations(story.files)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, b"null\n", b"{}", b' {"name": 1}\n'])
def test_bytes_that_are_no_such_file_are_refused(data: bytes) -> None:
    story = Story()
    for path in ATTESTATION_FILES:
        files = {**story.files, path: data}
        with pytest.raises(GradingError):
            read_attestations(files)


@pytest.mark.parametrize("path", [path for path in ATTESTATION_FILES if path != ASSESSMENT_FILE])
def test_a_file_that_is_missing_is_missed(path: str) -> None:
    story = Story()
    del story.files[path]
    with pytest.raises(GradingError):
        read_attestations(story.files)
