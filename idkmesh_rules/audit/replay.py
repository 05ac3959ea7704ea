"""Does a recorded result follow from its own facts, rules and inputs? Every file is made again and compared.

Invariants: every digest and every byte that an evaluation would have written is compared, except what the run measured
(times, resources, environment); the first differences of each file are told with pointer and both values, masked where the
plan is hidden; what another version may merely word otherwise is told apart (design: facts-and-policy, *For the auditor*).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from idkmesh_rules._version import __version__
from idkmesh_rules.audit.differences import Difference, Path, differing, pointer_of
from idkmesh_rules.audit.record import Record, ResultFiles
from idkmesh_rules.audit.stored import UNRECORDED
from idkmesh_rules.audit.veil import Veil
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError, Problem
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.result.assembly import RESULT_FILE, Assembled
from idkmesh_rules.result.documents import file_bytes

SHOWN = 6
"""How many differences of one file are told."""

_COUNTED = 1_000
_DEPTH = 128
_MEASURED = ("started_at", "finished_at", "resources")
_WORDING: frozenset[str | int] = frozenset(
    {"summary", "diagnostics", "rationale", "correlation_notes", "description", "meaning"}
)


class Replay(NamedTuple):
    """What became of replaying one result directory.

    `differences` are what was tampered with or doesn't follow; `notes` are worth knowing beside that. `recorded` and
    `derived` are recommendations, None where there is none; `candidate` says whether the candidate was looked at again, and
    `unlooked` why it could not be, though it was asked for. `reworded` are places where another version only words things
    otherwise, as far as that can be told: a person has to read them, because a forger may have written them.
    """

    name: str
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()
    recorded: str | None = None
    derived: Recommendation | None = None
    decision_digest: str | None = None
    candidate: bool = False
    unlooked: str | None = None
    pinned: bool = False
    reworded: tuple[Difference, ...] = ()

    @property
    def consistent(self) -> bool:
        """Whether nothing differs and everything that was asked for was looked at."""
        return not self.differences and self.unlooked is None


class Comparison(NamedTuple):
    """What making a record again came to: what differs, what is only worded otherwise, and what follows.

    `revealed` says whether the result shows a hidden plan's expectations.
    """

    differences: tuple[Difference, ...]
    reworded: tuple[Difference, ...]
    made: Assembled
    revealed: bool


class _Found(NamedTuple):
    """A difference before it is shown: values as they are."""

    file: str
    message: str
    path: Path | None = None
    recorded: Any = None
    expected: Any = None
    source: str = "follows"

    @property
    def is_wording(self) -> bool:
        last = self.path[-1] if self.path else ""
        return last in _WORDING or (self.path is not None and self.expected == UNRECORDED)

    def told(self, veil: Veil) -> Difference:
        if self.path is None:
            return Difference(self.file, self.message, None, self.recorded, self.expected, self.source)
        recorded, expected = (veil.shown(value, self.file, self.path) for value in (self.recorded, self.expected))
        pointer = veil.text(pointer_of(self.path))
        return Difference(self.file, self.message, pointer, recorded, expected, self.source)


def compare(record: Record, veil: Veil, *, most_findings: int) -> Comparison:
    """Make everything again that follows from the record's basis, and compare it with what was recorded."""
    in_result, made, revealed = _as_written(record, most_findings)
    found = [*_digests(record.files, record.result.value), *_documents(record), *_files(record, made), *in_result]
    split: dict[bool, list[Difference]] = {False: [], True: []}
    for each in found:
        split[record.other_version and each.is_wording].append(each.told(veil))
    return Comparison(tuple(split[False]), tuple(split[True]), made, revealed)


def compare_again(record: Record, fresh: Mapping[str, bytes], veil: Veil) -> tuple[Difference, ...]:
    """Compare a record with the files of another evaluation of the same inputs and, supposedly, the same candidate."""
    for path in ("facts.json", *sorted(fresh.keys() - {"facts.json", RESULT_FILE})):
        recorded, data = record.files.data(path), fresh[path]
        if recorded is not None and recorded != data and not path.startswith("inputs/"):
            found = _document(path, recorded, data, "the candidate shows something else now", "seen now")
            # What else differs then follows from the first file that does, and facts.json is the first of all.
            return tuple([each.told(veil) for each in found])
    in_result = _result(record, json.loads(fresh[RESULT_FILE]))
    return tuple([each.told(veil) for each in in_result if not (record.other_version and each.is_wording)])


def compare_loosely(
    files: ResultFiles, result: Mapping[str, Any] | None, problems: Iterable[Problem]
) -> tuple[Difference, ...]:
    """What can be said of a directory that isn't what an evaluation writes: digests, as far as there are any, and problems."""
    found = [each.told(Veil.of_nothing_known(revealed=False)) for each in _digests(files, result)] if result else []
    prefix = f"{files.name}/"
    for problem in problems:
        place = problem._replace(pointer=None, message="").place().removesuffix(": ").removeprefix(prefix)
        hint = f" ({problem.hint})" if problem.hint else ""
        found.append(Difference(place or "inputs/", problem.message + hint, problem.pointer))
    return tuple(found)


def _as_written(record: Record, most_findings: int) -> tuple[list[_Found], Assembled, bool]:
    """The differences of the result under the mask that it was written with: a hidden plan's may have been revealed."""
    made = record.assemble(revealed=False, most_findings=most_findings)
    masked = list(_result(record, made.result))
    if not masked or not record.basis.subject.plan.hidden:
        return masked, made, False
    shown = record.assemble(revealed=True, most_findings=most_findings)
    revealed = list(_result(record, shown.result))
    return (revealed, shown, True) if len(revealed) < len(masked) else (masked, made, False)


def _digests(files: ResultFiles, result: Mapping[str, Any]) -> Iterator[_Found]:
    """The bytes of each file against the digest that the result gives it."""
    for entry in result["evidence"]:
        data = files.data(entry["locator"])
        if data is not None and (found := bytes_digest(data)) != entry["digest"]:
            message = "its bytes have another digest than the result says"
            yield _Found(entry["locator"], message, None, found, entry["digest"], "the result")


def _documents(record: Record) -> Iterator[_Found]:
    """The digests of the inputs in the facts of another version, which aren't made again as a whole."""
    if record.other_version:
        for path, one, other in differing(record.facts.value["documents"], record.documents):
            yield _Found("facts.json", _FOLLOWS["facts.json"], ("documents", *path), one, other)


def _files(record: Record, made: Assembled) -> Iterator[_Found]:
    """Each file against what follows; the inputs follow from nothing and are held by their digests."""
    for path, expected in made.files.items():
        data = record.files.data(path)
        if data is None:
            yield _Found(path, record.files.fault(path))
        elif data != expected and not path.startswith("inputs/"):
            yield from _document(path, data, expected, _FOLLOWS.get(path, "it differs from facts.json"))


def _document(path: str, recorded: bytes, expected: bytes, message: str, source: str = "follows") -> Iterator[_Found]:
    """The differences of one written file, whose recorded bytes may be anything."""
    try:
        value = read_document(recorded, path, path, max_bytes=len(recorded), max_depth=_DEPTH, quote=False).value
    except ContractError as error:
        first = error.problems[0]
        yield _Found(path, f"{first.message} (line {first.line}, column {first.column})")
        return
    wanted = json.loads(expected)
    found = list(islice(differing(value, wanted), _COUNTED))
    # What stands high in a document says most: the recommendation before the counts of a leaf.
    for place, one, other in sorted(found, key=lambda each: len(each[0]))[:SHOWN]:
        yield _Found(path, f"{_kind_at(place, wanted)}{message}", place, one, other, source)
    if len(found) > SHOWN:
        number = f"{len(found) - SHOWN}" if len(found) < _COUNTED else f"at least {_COUNTED - SHOWN}"
        yield _Found(path, f"{number} more places differ")
    if not found:
        yield _Found(path, "it holds the right values, but not in the bytes that an evaluation writes")


def _kind_at(place: Path, document: Any) -> str:
    """The kind of fact that a place in facts.json or in an evidence file belongs to, as the beginning of a message."""
    if place[:1] != ("kinds",) or len(place) < 2 or not isinstance(place[1], int) or place[1] >= len(document["kinds"]):
        return ""
    return f"{document['kinds'][place[1]]['kind']}: "


_FOLLOWS = {
    "facts.json": "it differs from the inputs",
    "decision.json": "it doesn't follow from facts, rules and inputs",
    RESULT_FILE: "it doesn't follow from facts, rules and inputs",
}


def _result(record: Record, made: Mapping[str, Any]) -> Iterator[_Found]:
    """verification-result.json against what follows, with what was measured and the digests of the files as recorded.

    Those digests are compared with the files' bytes, and the files with what follows; a third time would tell nothing.
    """
    recorded = record.result.value
    expected: dict[str, Any] = json.loads(file_bytes(made))
    for name in _MEASURED:
        expected[name] = recorded[name]
    environment = {**expected["provenance"]["environment"], **recorded["provenance"]["environment"]}
    version = record.engine_version if record.other_version else __version__
    environment["tool_versions"] = {"idkmesh-rules": version}
    expected["provenance"]["environment"] = environment
    for own in expected["extensions"].values():
        own["engine_version"] = version
    digests = {entry["locator"]: entry["digest"] for entry in recorded["evidence"]}
    for entry in expected["evidence"]:
        entry["digest"] = digests.get(entry["locator"], entry["digest"])
    wanted, data = file_bytes(expected), record.files.data(RESULT_FILE) or b""
    if data != wanted:
        yield from _document(RESULT_FILE, data, wanted, _FOLLOWS[RESULT_FILE])
