"""Replay a result directory: does its decision follow, and, with the candidate at hand, would it come out again?

Invariants: nothing is written but a scratch directory, which is taken away; the candidate is looked at by the same use case
as in any evaluation, over the recorded copies of the inputs.
"""

import tempfile
from importlib.util import find_spec
from pathlib import Path

from idkmesh_rules._version import __version__
from idkmesh_rules.audit.differences import Difference
from idkmesh_rules.audit.record import INPUT_FILES, MANIFEST_FILE, Record, ResultFiles
from idkmesh_rules.audit.replay import Replay, compare, compare_again, compare_loosely
from idkmesh_rules.audit.veil import Veil
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.contracts.schema import check_schema
from idkmesh_rules.errors import ContractError, Refusal
from idkmesh_rules.model.grading import ATTESTATION_FILES
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.listing import entries
from idkmesh_rules.observe.reader import CandidateReader
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.evaluation import evaluate
from idkmesh_rules.pipeline.record import parsed, read_files, read_record
from idkmesh_rules.pipeline.run import AnyPath
from idkmesh_rules.result.assembly import RESULT_FILE


def replay(
    directory: AnyPath,
    *,
    candidate_root: AnyPath | None = None,
    expect_decision: str | None = None,
    expect_broker: str | None = None,
    reveal_hidden: bool = False,
    limits: Limits | None = None,
) -> Replay:
    """Verify every digest of a result directory and derive its decision again, byte for byte.

    With `candidate_root` the candidate is evaluated again, too, and must lead to the same files. `expect_decision` is a
    decision digest that was seen elsewhere, `expect_broker` the id of the key that has to have signed what a graded
    candidate's jobs came to; they are not run again. `reveal_hidden` shows a hidden plan's expectations in the differences.
    A directory that agrees with itself is consistent, not authentic: whoever can write it can make it so.

    Raises Refusal (`result-unreadable`, `result-undecided`) when there is no decision to replay; whatever else is wrong
    with the directory is a difference.
    """
    limits = limits or Limits()
    files = read_files(Path(directory), limits)
    notes = [f"The directory holds something that no evaluation writes: {path}" for path in files.extra]
    try:
        record = read_record(files, limits, reveal=reveal_hidden)
    except Refusal as refusal:
        if refusal.reason != "result-tampered":
            raise
        return Replay(files.name, _loose(files, refusal, limits), tuple(notes))
    veil = record.veil(revealed=reveal_hidden)
    seen = compare(record, veil, most_findings=limits.findings_per_condition)
    differences, unlooked = list(seen.differences), None
    if _is_graded(record):
        if record.basis.attestations and find_spec("cryptography") is None:
            unlooked = (
                "signatures can't be verified without the package cryptography; pip install 'idkmesh-rules[grading]'"
            )
        else:
            from idkmesh_rules.pipeline.regraded import graded_differences

            differences += graded_differences(record, expect_broker)
    if expect_decision is not None and record.decision.digest != expect_decision:
        message = "this is another decision than the one that was expected"
        differences.append(
            Difference("decision.json", message, None, record.decision.digest, expect_decision, "expected")
        )
    if candidate_root is not None and unlooked is None:
        try:
            known = {(each.file, each.pointer) for each in differences}
            again = _again(record, Path(candidate_root), limits, veil, revealed=seen.revealed)
            differences += [each for each in again if (each.file, each.pointer) not in known]
        except Refusal as refusal:
            unlooked = f"{refusal.reason}: {'; '.join(map(str, refusal.problems)) or refusal.message}"
    notes += [f"The directory holds something that no evaluation writes: {path}" for path in _foreign(record)]
    notes += _notes(record, expect_broker, reworded=len(seen.reworded), revealed=seen.revealed)
    return Replay(
        files.name,
        tuple(differences),
        tuple(notes),
        record.decision.value["recommendation"],
        seen.made.decision.recommendation,
        record.decision.digest,
        candidate_root is not None and unlooked is None,
        unlooked,
        expect_decision is not None,
        seen.reworded,
    )


def _again(record: Record, root: Path, limits: Limits, veil: Veil, *, revealed: bool) -> tuple[Difference, ...]:
    """What differs when the candidate is evaluated once more.

    Some checks ask whether an entry of the candidate is the manifest that is being judged. The record doesn't say where that
    lay, so if something differs, files at the candidate's top that are that manifest, byte for byte, are tried as well.
    """
    found = compare_again(record, _evaluated(record, root, limits, None, revealed=revealed), veil)
    for manifest in _manifests(record, root, limits) if found else ():
        other = compare_again(record, _evaluated(record, root, limits, manifest, revealed=revealed), veil)
        found = min(found, other, key=len)
    return found


def _manifests(record: Record, root: Path, limits: Limits) -> list[Path]:
    digest = bytes_digest(record.files.data(MANIFEST_FILE) or b"")
    try:
        with CandidateReader(root, budget=4 * limits.document_bytes) as reader:
            names = [name for name in entries(root, (), limits.record_entries) if not name.endswith("/")]
            return [root / name for name in names if reader.observe(name, limits.document_bytes).digest == digest]
    except (OSError, ValueError):
        return []


def _evaluated(
    record: Record, root: Path, limits: Limits, manifest: Path | None, *, revealed: bool
) -> dict[str, bytes]:
    """Evaluate the recorded inputs over a candidate once more, and return every file that was written.

    `manifest` is where the recorded manifest stands besides, if it isn't to be read from a copy.
    """
    with tempfile.TemporaryDirectory(prefix="idkrules-replay-") as place:
        scratch = Path(place)
        for path in INPUT_FILES:
            copy = scratch / path
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(record.files.data(path) or b"")
        unit, copied, plan, bundle = (scratch / path for path in INPUT_FILES)
        if _is_graded(record):
            from idkmesh_rules.pipeline.regraded import write_again

            inputs = (unit, manifest or copied, plan, bundle)
            write_again(record, inputs, root, scratch / "out", limits, revealed=revealed)
            return _written(scratch / "out")
        evaluate(
            unit,
            manifest or copied,
            plan,
            root,
            output_dir=scratch / "out",
            bundle=bundle.parent,
            limits=limits,
            durable=False,
            reveal_hidden=revealed,
        )
        return _written(scratch / "out")


def _written(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()
    }


def _is_graded(record: Record) -> bool:
    """Whether a record is of a candidate that may have run."""
    return BACKENDS[record.basis.subject.plan.backend].executes


def _foreign(record: Record) -> list[str]:
    """The files that only a graded result has, in one that isn't."""
    return [] if _is_graded(record) else [path for path in ATTESTATION_FILES if record.files.data(path) is not None]


def _graded_note(record: Record, expect_broker: str | None) -> str:
    if not record.basis.attestations:
        return "No job was started, so that nothing is signed, and none is started now."
    if not any(path.endswith("-result.json") for path in record.basis.attestations):
        return "No job came to an end that anybody saw, so that no result is signed. Nothing is run again."
    if expect_broker is not None:
        return "The jobs are not run again; what they came to has to be signed by the broker that was expected."
    return (
        "What the jobs came to was signed by the broker that attestations/broker.json names, and they are not run again. "
        "Whether it is yours, --expect-broker with its key id tells."
    )


def _loose(files: ResultFiles, refusal: Refusal, limits: Limits) -> tuple[Difference, ...]:
    try:
        result = parsed(files, RESULT_FILE, limits)
        check_schema(result, "verification-result-0.1")
    except ContractError:
        return compare_loosely(files, None, refusal.problems)
    return compare_loosely(files, result.value, refusal.problems)


def _notes(record: Record, expect_broker: str | None, *, reworded: int, revealed: bool) -> list[str]:
    notes = []
    if record.other_version:
        said = record.engine_version or "one that it does not name"
        notes.append(
            f"It was written by version {said}; this is {__version__}, which may observe and word things otherwise."
        )
    if _is_graded(record):
        notes.append(_graded_note(record, expect_broker))
    if reworded:
        notes.append(
            f"This version words {reworded} places otherwise. That is no difference if that version really wrote them, which "
            "nothing here proves; read them."
        )
    if revealed:
        notes.append("The result was written with --reveal: it shows the expectations of a hidden plan.")
    return notes
