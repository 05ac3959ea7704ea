"""A result directory as values: its files as they were read, and, if all of them are what an evaluation writes, a record.

Invariant: a `Record` was typed strictly, and its inputs fit each other; that its decision follows from its facts is for
`rederived` to say.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from idkmesh_rules._version import __version__
from idkmesh_rules.audit.veil import Veil
from idkmesh_rules.checks.check import unread_reason
from idkmesh_rules.contracts.digest import canonical_digest
from idkmesh_rules.contracts.readers import EXTENSION
from idkmesh_rules.model.documents import Document
from idkmesh_rules.model.observation import FileObservation, FileState
from idkmesh_rules.model.proof import Decision
from idkmesh_rules.policy import decision_document
from idkmesh_rules.result.assembly import RESULT_FILE, Assembled, Basis, assemble
from idkmesh_rules.result.documents import file_bytes
from idkmesh_rules.result.verification import Measured

REFUSAL_FILE = "refusal.json"
MANIFEST_FILE = "inputs/result-manifest.json"
INPUT_FILES = (
    "inputs/work-unit.json",
    "inputs/result-manifest.json",
    "inputs/evaluator-plan.json",
    "inputs/bundle.yaml",
)
CORE_FILES = (RESULT_FILE, "facts.json", "decision.json", *INPUT_FILES)
"""What every decided result holds, whatever its backend; the evidence of each check stands beside it."""

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class ResultFiles(NamedTuple):
    """The files of a result directory: what was seen of each expected one, and whatever else stands there."""

    name: str
    seen: Mapping[str, FileObservation]
    extra: tuple[str, ...]

    def data(self, path: str) -> bytes | None:
        """The bytes of an expected file, if it is a regular one within its limit that could be read."""
        return self.seen[path].data if path in self.seen else None

    def fault(self, path: str) -> str:
        """Why an expected file has no bytes, as a sentence without its end."""
        return unread_reason(self.seen[path])

    @property
    def refused(self) -> bool:
        """Whether it records a refusal instead of a decision."""
        return (
            self.seen[REFUSAL_FILE].state is not FileState.MISSING and self.seen[RESULT_FILE].state is FileState.MISSING
        )


_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}([-+][0-9A-Za-z.-]{1,64})?")


class Record(NamedTuple):
    """A finished run as it was recorded: the basis of its decision, and the documents that tell what came of it."""

    files: ResultFiles
    basis: Basis
    result: Document
    facts: Document
    decision: Document

    @property
    def subject(self) -> str:
        """What the run was about, for a person."""
        unit, manifest, _plan = self.basis.subject
        return f"{unit.id} version {unit.version}, attempt {manifest.attempt}"

    @property
    def engine_version(self) -> str:
        """The version of idkrules that wrote it, as it says itself."""
        return engine_version(self.result)

    @property
    def other_version(self) -> bool:
        """Whether another version than this one wrote it; what names no version at all gets no latitude for one."""
        return is_other_version(self.engine_version)

    @property
    def documents(self) -> Mapping[str, str]:
        """The digests of the inputs by name, as facts.json has to list them."""
        subject = self.basis.subject
        return {each.document.name: each.document.digest for each in (subject.unit, subject.manifest, subject.plan)}

    @property
    def forged(self) -> bool:
        """Whether the recorded decision isn't the one that follows, or the facts are of other inputs than those beside them."""
        return self.derived()[1] != self.decision.digest or self.facts.value["documents"] != self.documents

    def derived(self) -> tuple[Decision, str]:
        """The decision that follows from the basis, and its digest, which is the recorded one's unless that was forged."""
        decision = self.basis.decide()
        document = decision_document(decision, self.basis.bundle, self.basis.parameters, self.facts.digest)
        return decision, canonical_digest(document)

    def veil(self, *, revealed: bool) -> Veil:
        """How the plan's expectations are shown."""
        return Veil.of(self.basis.subject.plan, (facts.kind for facts in self.basis.store), revealed=revealed)

    def assemble(self, *, revealed: bool, most_findings: int) -> Assembled:
        """Everything that follows from the basis; what the run measured isn't part of it."""
        return assemble(
            self.basis,
            _unmeasured,
            _NO_ENVIRONMENT,
            revealed=revealed,
            most_findings=most_findings,
            # What another version recorded is taken as it stands: this one might write it in other words.
            facts=file_bytes(self.facts.value) if self.other_version else None,
        )


def engine_version(result: Document) -> str:
    """The version of the engine that a VerificationResult says it comes from; empty if it says none."""
    own = result.value.get("extensions", {}).get(EXTENSION, {})
    said = own.get("engine_version") if isinstance(own, dict) else None
    return said if isinstance(said, str) else ""


def is_other_version(said: str) -> bool:
    """Whether this is the name of another version than the running one; what names none gets no latitude for one."""
    return said != __version__ and _VERSION.fullmatch(said) is not None


_NO_ENVIRONMENT = {"platform": "", "python": ""}


def _unmeasured() -> Measured:
    return Measured(_EPOCH, _EPOCH, 0.0, 0.0, 0.0)
