"""An answer that has to be one JSON value: is it strict JSON, does it equal the demanded value, what else is there.

Invariants: values are equal only if their types are (`true` is not `1`, `1` is not `1.0`); the file set is what a walk found,
whatever the manifest declares; an answer that can't be read leaves the comparison unknown, never equal.
"""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from idkmesh_rules.checks.check import Asked, Case, Check, Emission, Key, Unjudged, unread_reason
from idkmesh_rules.contracts.pointer import json_pointer
from idkmesh_rules.contracts.strict_json import exact_value, read_document
from idkmesh_rules.errors import ContractError
from idkmesh_rules.model.facts import (
    Category,
    FactKind,
    Field,
    FieldType,
    FindingTemplate,
    Invariant,
    Origin,
    Severity,
    Unknown,
)
from idkmesh_rules.model.observation import EntryType, Tree, stored_path

_CHECK = "exact-json"
_SHOWN = 200
_NOTHING = object()
"""Stands where only the other value has something."""

CANDIDATE_JSON = FactKind(
    "candidate.json",
    "Whether the answer is one JSON object by the strict reader.",
    (
        Field("well_formed", FieldType.BOOL, "read to the last byte, without a duplicate key"),
        Field("error", FieldType.STRING, "the first fault", optional=True),
        Field("line", FieldType.INT, "line of the first fault, from 1", optional=True),
    ),
    FindingTemplate(Severity.HIGH, Category.CORRECTNESS, "the answer is not strict JSON: {error}", line="line"),
    (
        Invariant(
            "a fault is named exactly if there is one",
            ("well_formed", "error"),
            lambda well_formed, error: well_formed == (error is None),
        ),
    ),
)

JSON_COMPARISON = FactKind(
    "json.comparison",
    "Whether the answer equals the value that the plan demands, types included.",
    (
        Field("equal", FieldType.BOOL, "no difference was found"),
        Field("nodes_compared", FieldType.INT, "values that stand at one place in both"),
    ),
    FindingTemplate(Severity.HIGH, Category.CORRECTNESS, "the answer is not the demanded value"),
)

JSON_DIFFERENCE = FactKind(
    "json.difference",
    "A place where the answer isn't what the plan demands; the first ones are listed.",
    (
        Field("pointer", FieldType.STRING, "JSON pointer into both values", key=True, secret=True),
        Field("expected", FieldType.STRING, "JSON text of what is demanded, shortened", optional=True, secret=True),
        Field(
            "observed",
            FieldType.STRING,
            "JSON text of what is there, shortened",
            optional=True,
            secret=True,
            supplied=True,
        ),
    ),
    FindingTemplate(Severity.HIGH, Category.CORRECTNESS, "at {pointer}: expected {expected}, found {observed}"),
)

CANDIDATE_ENTRY = FactKind(
    "candidate.entry",
    "A file that the plan allows, or an entry that stands below the candidate root.",
    (
        Field("path", FieldType.STRING, "path below the candidate root", key=True, secret=True),
        Field("expected", FieldType.BOOL, "an allowed file, or the result manifest that is being judged"),
        Field("present", FieldType.BOOL, "something stands there"),
        Field(
            "type",
            FieldType.ENUM,
            "what stands there",
            optional=True,
            values=tuple(each.value for each in EntryType),
        ),
    ),
    FindingTemplate(
        Severity.HIGH,
        Category.SCOPE,
        "{path}: expected {expected}, present {present}, type {type}",
        path="{path}",
    ),
    (
        Invariant(
            "only what is present has a type", ("present", "type"), lambda present, kind: present == (kind is not None)
        ),
    ),
    shown_when=("present", (True,)),
)


class Difference(NamedTuple):
    """One place where two JSON values differ; a side that has nothing there is None, any other JSON text."""

    pointer: str
    expected: str | None
    observed: str | None


@dataclass(frozen=True)
class AnswerCase(Case):
    """What the checks of an exact-JSON evaluation may look at besides: the file tree, and the answer as a value.

    `manifest_path` is where the manifest that is judged lies below the candidate root, if it does.
    """

    tree: Tree
    manifest_path: str | None

    @cached_property
    def answer(self) -> Mapping[str, Any] | Unjudged | ContractError:
        """The answer's JSON value; what is wrong with its text; or why there are no bytes to read."""
        seen = self.candidate
        if seen.digest is None or seen.data is None:
            return Unjudged(f"not parsed: {unread_reason(seen)}")
        if seen.size is None or seen.size > len(seen.data):
            return Unjudged(
                f"not parsed: it has more than the {self.limits.answer_bytes} bytes that the verifier parses"
            )
        try:
            limit, depth = len(seen.data), self.limits.json_depth
            read_document(seen.data, "candidate", "", max_bytes=limit, max_depth=depth)
            value: Mapping[str, Any] = exact_value(seen.data)
            return value
        except ContractError as error:
            return error

    @cached_property
    def wanted(self) -> Mapping[str, Any]:
        """The value that the plan demands, with its numbers as they are spelled there."""
        value: Mapping[str, Any] = exact_value(self.plan.document.data)["required_json"]
        return value

    @cached_property
    def differences(self) -> tuple[int, tuple[Difference, ...]] | Unjudged:
        """How many values were compared, and where they differ; or why that is unknown."""
        answer = self.answer
        if isinstance(answer, Unjudged):
            return answer
        if isinstance(answer, ContractError):
            return Unjudged("not compared: the answer is not strict JSON")
        return compare(self.wanted, answer, self.limits.differences)


def compare(expected: Any, observed: Any, most: int) -> tuple[int, tuple[Difference, ...]]:
    """Hold two JSON values against each other: how many were compared, and where they differ.

    What is demanded comes first, in the order of its keys, and then what is there besides, so that an answer can't choose
    which demands are told. Ends behind `most` differences, so that neither time nor memory grows with what a wrong answer
    holds besides.
    """
    found: list[Difference] = []
    nodes = 0
    pending: list[tuple[tuple[str | int, ...], Any, Any]] = [((), expected, observed)]
    besides: deque[tuple[tuple[str | int, ...], Any, Any]] = deque()
    while (pending or besides) and len(found) <= most:
        path, want, have = pending.pop() if pending else besides.popleft()
        nodes += want is not _NOTHING and have is not _NOTHING
        if type(want) is not type(have):
            found.append(Difference(json_pointer(path), _text(want), _text(have)))
        elif isinstance(want, dict):
            pending += [((*path, name), want[name], have.get(name, _NOTHING)) for name in sorted(want, reverse=True)]
            further = sorted(have.keys() - want.keys())[: most + 1 - len(besides)]
            besides += [((*path, name), _NOTHING, have[name]) for name in further]
        elif isinstance(want, list):
            # One more than are told of those that only one of the two lists has: the others would be cut off anyway.
            both, longer = min(len(want), len(have)), max(len(want), len(have))
            for position in reversed(range(min(longer, both + most + 1))):
                sides = [side[position] if position < len(side) else _NOTHING for side in (want, have)]
                if sides[0] is not _NOTHING:
                    pending.append(((*path, position), sides[0], sides[1]))
                elif len(besides) <= most:
                    besides.append(((*path, position), sides[0], sides[1]))
        elif want != have:
            found.append(Difference(json_pointer(path), _text(want), _text(have)))
    return nodes, tuple(found)


def _text(value: Any) -> str | None:
    """JSON text of a value, cut: of a container no more is spelled than can be shown; None for nothing."""
    if value is _NOTHING:
        return None
    if isinstance(value, str):
        value = value[:_SHOWN]
    if not isinstance(value, (str, int, list, dict, type(None))):
        return str(value)[:_SHOWN]  # a decimal, as it is spelled
    pieces, length = [], 0
    for piece in json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=float).iterencode(value):
        pieces.append(piece)
        length += len(piece)
        if length > _SHOWN:
            return "".join(pieces)[: _SHOWN - 1] + "…"
    return "".join(pieces)


def _differing(want: Any, have: Any, pointer: str = "") -> Iterator[str]:
    """The pointers at which two values differ, found by going down both (the reader bounds how deep that can be)."""
    inner: Mapping[Any, Any] | None = want if isinstance(want, dict) else None
    if isinstance(want, list):
        inner = dict(enumerate(want))
    if inner is None or type(want) is not type(have):
        if type(want) is not type(have) or want != have:
            yield pointer
        return
    for name, value in inner.items():
        below = pointer + json_pointer([name])
        if name in have if isinstance(want, dict) else name < len(have):
            yield from _differing(value, have[name], below)
        else:
            yield below
    more = (name for name in have if name not in inner) if isinstance(want, dict) else range(len(want), len(have))
    yield from (pointer + json_pointer([name]) for name in more)


def _json(case: AnswerCase) -> Iterator[Emission]:
    answer, locator = case.answer, case.candidate.locator
    if isinstance(answer, Unjudged):
        gone = Unknown(answer.reason)
        yield Emission(CANDIDATE_JSON, (gone, gone, gone), Origin(_CHECK, locator))
    elif isinstance(answer, ContractError):
        first = answer.problems[0]
        yield Emission(CANDIDATE_JSON, (False, first.message, first.line), Origin(_CHECK, locator, line=first.line))
    else:
        yield Emission(CANDIDATE_JSON, (True, None, None), Origin(_CHECK, locator))
    compared = case.differences
    if isinstance(compared, Unjudged):
        gone = Unknown(compared.reason)
        yield Emission(JSON_COMPARISON, (gone, gone), Origin(_CHECK, locator))
        return
    nodes, differences = compared
    yield Emission(JSON_COMPARISON, (not differences, nodes), Origin(_CHECK, locator))
    for each in differences[: case.limits.differences]:
        # Where in the answer is the fact's key, and may be a secret; an origin is shown to everybody.
        yield Emission(JSON_DIFFERENCE, tuple(each), Origin(_CHECK, locator))


def _json_asked(case: AnswerCase) -> Asked:
    single: frozenset[Key] = frozenset({()})
    return {CANDIDATE_JSON.name: single, JSON_COMPARISON.name: single, JSON_DIFFERENCE.name: _differences_asked(case)}


def _differences_asked(case: AnswerCase) -> frozenset[Key] | Unjudged:
    answer = case.answer
    if isinstance(answer, (Unjudged, ContractError)):
        return Unjudged("not compared: there is no value to compare")
    most = case.limits.differences
    keys = frozenset((each,) for each in islice(_differing(case.wanted, answer), most + 1))
    return keys if len(keys) <= most else Unjudged(f"there are more than {most} differences; the first ones are listed")


def _entries(case: AnswerCase) -> Iterator[Emission]:
    check, allowed = "candidate-files", case.plan.demands.allowed_files
    expected = {*allowed, case.manifest_path}
    there = {file.path: EntryType.FILE for file in case.tree.files} | {
        each.path: each.type for each in case.tree.others
    }
    unknown = {file.path: file.unreadable for file in case.tree.files if file.unreadable is not None}
    for directory in case.tree.directories:
        if directory.path in expected:
            there[directory.path] = directory.type
    for path, found in there.items():
        told = Unknown(unknown[path]) if path in unknown else found.value
        row = (stored_path(path), path in expected, True, told)
        yield Emission(CANDIDATE_ENTRY, row, Origin(check, stored_path(path)))
    complete = not case.tree.gaps
    for position, path in enumerate(allowed):
        if path not in there and complete:
            origin = Origin(check, "evaluator-plan", pointer=f"/allowed_files/{position}")
            yield Emission(CANDIDATE_ENTRY, (path, True, False, None), origin)


def _entries_asked(case: AnswerCase) -> Asked:
    unseen = case.tree.unseen
    if unseen is not None:
        return {CANDIDATE_ENTRY.name: Unjudged(unseen)}
    keys = {(path,) for path in case.plan.document.value["allowed_files"]}
    keys |= {(stored_path(file.path),) for file in case.tree.files}
    keys |= {(stored_path(entry.path),) for entry in case.tree.others}
    return {CANDIDATE_ENTRY.name: frozenset(keys)}


JSON_CHECK = Check(
    _CHECK,
    "the answer by the strict JSON reader, and against the value that the plan demands",
    "test_output",
    (CANDIDATE_JSON, JSON_COMPARISON, JSON_DIFFERENCE),
    _json,
    _json_asked,
)
FILES_CHECK = Check(
    "candidate-files",
    "the files below the candidate root against those that the plan allows",
    "static_analysis",
    (CANDIDATE_ENTRY,),
    _entries,
    _entries_asked,
)
