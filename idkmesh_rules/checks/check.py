"""What a check is: a pure rule with declared fact kinds, and what it was asked to judge.

Invariants:
- `run` sees one frozen `Case` and emits facts of the declared kinds only; it reads nothing else and keeps nothing.
- `asked` derives the keys that have to be judged from the case by another way than `run` does; a kind is complete only if
  each of them is there (design: facts-and-policy, *The closed world is earned*).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from idkmesh_rules.model.documents import AnyPlan, Artifact, ResultManifest, WorkUnit
from idkmesh_rules.model.facts import FactKind, Origin, Row, Value
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.observation import FileObservation, FileState

UNLIMITED = 2**63 - 1
"""The limit of files that the plan doesn't limit: more than a file system can hold."""

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
    """What the checks of every backend may look at: typed documents, and observations by locator and limit in bytes.

    A backend whose checks need more (a parsed patch, a snapshot) has a subclass, beside its checks.
    """

    work_unit: WorkUnit
    manifest: ResultManifest
    plan: AnyPlan
    observations: Mapping[tuple[str, int], FileObservation]
    limits: Limits

    @property
    def candidate_id(self) -> str | None:
        """The id of the one artifact that the plan judges; None where the plan judges the whole workspace."""
        wanted: str | None = getattr(self.plan.demands, "candidate_artifact_id", None)
        return wanted

    @property
    def artifact_limit(self) -> int:
        """How many bytes an artifact may have, as the plan says; what the verifier reads at all is another matter."""
        most: int = getattr(self.plan.demands, "max_candidate_bytes", UNLIMITED)
        return most

    def artifact(self, artifact: Artifact) -> FileObservation:
        """A declared artifact as observed."""
        return self.observations[artifact.locator, self.artifact_limit]

    @cached_property
    def candidate(self) -> FileObservation:
        """The plan's candidate artifact as observed; state `undeclared` when the manifest doesn't declare it."""
        declared = next((each for each in self.manifest.artifacts if each.id == self.candidate_id), None)
        return (
            FileObservation("", self.artifact_limit, FileState.UNDECLARED)
            if declared is None
            else self.artifact(declared)
        )


C_contra = TypeVar("C_contra", bound=Case, contravariant=True)


class Check(NamedTuple, Generic[C_contra]):
    """One rule of the engine: its id, what it looks at, the type of its evidence, the kinds it emits, and how."""

    id: str
    meaning: str
    evidence_type: str
    kinds: tuple[FactKind, ...]
    run: Callable[[C_contra], Iterator[Emission]]
    asked: Callable[[C_contra], Asked]


AnyCheck = Check[Any]
"""A check of whatever backend."""


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
