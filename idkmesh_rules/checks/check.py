"""What a check is: a pure rule with declared fact kinds, and what it was asked to judge.

Invariants:
- `run` sees one frozen `Case` and emits facts of the declared kinds only; it reads nothing else and keeps nothing.
- `asked` derives the keys that have to be judged from the case by another way than `run` does; a kind is complete only if
  each of them is there (design: facts-and-policy, *The closed world is earned*).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from idkmesh_rules.diff import DiffLimits, Patch, read_patch
from idkmesh_rules.model.documents import EvaluatorPlan, ResultManifest, WorkUnit
from idkmesh_rules.model.facts import FactKind, Origin, Row, Value
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.observation import FileObservation, FileState

Key = tuple[Value, ...]


class Emission(NamedTuple):
    """A fact as a check emits it: its kind, its values in the order of the kind's fields, and where it was seen."""

    kind: FactKind
    row: Row
    origin: Origin


class Unjudged(NamedTuple):
    """Instead of keys: the kind can't be completed, and why (it depends on bytes that couldn't be read or parsed)."""

    reason: str


Asked = Mapping[str, frozenset[Key] | Unjudged]


@dataclass(frozen=True)
class Case:
    """Everything that the checks of a unified-diff evaluation may look at: typed documents and observations."""

    work_unit: WorkUnit
    manifest: ResultManifest
    plan: EvaluatorPlan
    observations: Mapping[tuple[str, int], FileObservation]
    limits: Limits

    @cached_property
    def candidate(self) -> FileObservation:
        """The plan's candidate artifact as observed; state `undeclared` when the manifest doesn't declare it."""
        for artifact in self.manifest.artifacts:
            if artifact.id == self.plan.candidate_artifact_id:
                return self.observations[artifact.locator, self.plan.max_candidate_bytes]
        return FileObservation("", self.plan.max_candidate_bytes, FileState.UNDECLARED)

    @cached_property
    def patch(self) -> Patch | Unjudged:
        """The candidate's bytes read as a patch, once; or why there are no bytes to read."""
        seen = self.candidate
        if seen.data is None or seen.digest is None:
            return Unjudged(f"not parsed: {unread_reason(seen)}")
        limits = self.limits
        return read_patch(
            seen.data,
            DiffLimits(
                limits.patch_bytes,
                limits.patch_files,
                limits.patch_hunks,
                limits.patch_line_bytes,
                limits.patch_name_bytes,
            ),
        )


class Check(NamedTuple):
    """One rule of the engine: its id, what it looks at, the type of its evidence, the kinds it emits, and how."""

    id: str
    meaning: str
    evidence_type: str
    kinds: tuple[FactKind, ...]
    run: Callable[[Case], Iterator[Emission]]
    asked: Callable[[Case], Asked]


def unread_reason(seen: FileObservation) -> str:
    """Say why an observation carries no bytes, as the end of a sentence."""
    if seen.unreadable is not None:
        return seen.unreadable
    if seen.state is FileState.REGULAR:
        return f"it has {seen.size} bytes, over its limit of {seen.limit}"
    if seen.state is FileState.UNDECLARED:
        return "the manifest declares no such artifact"
    told = {
        FileState.MISSING: "nothing stands there",
        FileState.SYMLINK: "it is, or lies behind, a symbolic link",
        FileState.DIRECTORY: "it is a directory",
        FileState.SPECIAL: "it is a device, a FIFO or a socket",
        FileState.OUTSIDE: "its locator leads out of the candidate root",
    }
    return told.get(seen.state, "it was not looked at") if seen.state else "it was not looked at"
