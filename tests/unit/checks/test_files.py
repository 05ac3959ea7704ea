"""What the file checks say of an observation, for every state that a file can be in."""

from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.checks.files import ARTIFACT_CHECK, CANDIDATE_FILE, LOG_CHECK
from idkmesh_rules.checks.patch import PatchCase
from idkmesh_rules.contracts.readers import read_evaluator_plan, read_result_manifest, read_work_unit
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.model.facts import Unknown
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.observation import FileObservation, FileState
from tests.support.bundles import make

UNREADABLE = "the file changed while it was being read"


def case(place: Path, seen: FileObservation, edit: Any = lambda draft: None) -> PatchCase:
    """The honest bundle, with one observation for every file."""
    bundle = make(place, edit)
    read = [
        read_document(path.read_bytes(), path.stem, str(path), max_bytes=2**22)
        for path in (bundle.work_unit, bundle.manifest, bundle.plan)
    ]
    plan = read_evaluator_plan(read[2])
    assert plan is not None
    manifest = read_result_manifest(read[1])
    demands = plan.demands
    locators = [(artifact.locator, demands.max_candidate_bytes) for artifact in manifest.artifacts]
    locators += [(log.locator, demands.max_log_bytes) for log in manifest.logs]
    return PatchCase(
        read_work_unit(read[0]), manifest, plan, {key: seen._replace(locator=key[0]) for key in locators}, Limits()
    )


def fields(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(CANDIDATE_FILE.index, row, strict=True))


def test_a_file_that_could_not_be_read_is_unknown_in_everything_that_depends_on_it(tmp_path: Path) -> None:
    subject = case(tmp_path, FileObservation("", 100, None, unreadable=UNREADABLE))
    rows = [
        emission.row
        for check in (ARTIFACT_CHECK, LOG_CHECK)
        for emission in check.run(subject)
        if emission.kind is CANDIDATE_FILE
    ]
    assert len(rows) == 3
    for row in rows:
        told = fields(row)
        assert {name for name, value in told.items() if value == Unknown(UNREADABLE)} == {
            "state",
            "bytes",
            "within_limit",
            "observed_digest",
            "digest_matches",
            "fault",
        }
        assert told["declared_digest"].startswith("sha256:")


def test_without_a_declared_digest_nothing_matches_even_if_nothing_could_be_read(tmp_path: Path) -> None:
    def undeclared(draft: Any) -> None:
        draft.after.append(lambda late: [log.pop("digest") for log in late.manifest["logs"]])

    subject = case(tmp_path, FileObservation("", 100, None, unreadable=UNREADABLE), undeclared)
    assert {
        fields(emission.row)["digest_matches"] for emission in LOG_CHECK.run(subject) if emission.kind is CANDIDATE_FILE
    } == {False}


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (FileState.MISSING, "nothing stands there"),
        (FileState.SYMLINK, "symbolic link"),
        (FileState.DIRECTORY, "a directory"),
        (FileState.SPECIAL, "a device, a FIFO or a socket"),
        (FileState.OUTSIDE, "out of the candidate root"),
    ],
)
def test_every_state_is_told_in_words(tmp_path: Path, state: FileState, words: str) -> None:
    told = [fields(emission.row) for emission in ARTIFACT_CHECK.run(case(tmp_path, FileObservation("", 100, state)))]
    assert [(one["state"], one["digest_matches"], one["bytes"]) for one in told] == [(state.value, False, None)]
    assert words in told[0]["fault"]
    assert told[0]["fault"].startswith("changes.patch: ")


def test_unreadable_bytes_leave_the_patch_unjudged(tmp_path: Path) -> None:
    subject = case(tmp_path, FileObservation("changes.patch", 100, None, unreadable=UNREADABLE))
    assert subject.patch.reason == f"not parsed: {UNREADABLE}"  # type: ignore[union-attr]
