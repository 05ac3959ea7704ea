"""What one evaluation comes to: the recommendation with everything that carries it.

Invariant: an `Evaluation` holds the same content as the result directory; nothing in it is merge authority.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from idkmesh_rules.model.bundle import Bundle
from idkmesh_rules.model.facts import Category, FactStore, Origin, Severity
from idkmesh_rules.model.proof import Decision, Recommendation, Status


class Label(NamedTuple):
    """A check of a result: its name and type, whether acceptance needs it, and the validator of the rules behind it.

    `covered` is false for what the WorkUnit requires and the plan doesn't cover: no validator is behind that.
    """

    id: str
    type: str
    required: bool
    validator: str
    covered: bool = True


class Finding(NamedTuple):
    """A violation told to a person, or what kept a condition from being decided.

    `path` is a repository path, or the patch's locator where the patch itself is at fault; `line` counts from 1.
    `origin` is where the fact behind it was seen, if one fact is behind it.
    """

    validator: str
    condition: str
    severity: Severity
    category: Category
    summary: str
    path: str | None = None
    line: int | None = None
    origin: Origin | None = None


class CheckCrash(NamedTuple):
    """A check that crashed: a bug of this tool, reported as one. `trace` is for its maintainers."""

    check: str
    error: str
    trace: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcome of one evaluation.

    `result` is the VerificationResult as a JSON value; `facts_digest` and `decision_digest` are canonical digests of
    facts.json and decision.json; `output_dir` is where the evidence lies, if it was asked for; `notes` are sentences that
    belong beside the recommendation (an unpinned bundle, more verifiers wanted, too many attempts); `labels` are the checks
    of the result, each with the validator whose outcome it reports.
    """

    recommendation: Recommendation
    status: Status
    decision: Decision
    bundle: Bundle
    store: FactStore
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    result: Mapping[str, Any]
    facts_digest: str
    decision_digest: str
    crashes: tuple[CheckCrash, ...] = ()
    output_dir: Path | None = None
    labels: tuple[Label, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code that tells the recommendation: 0 accept, 1 reject, 3 anything else (design: contracts, *Outcomes*)."""
        return {Recommendation.ACCEPT: 0, Recommendation.REJECT: 1}.get(self.recommendation, 3)
