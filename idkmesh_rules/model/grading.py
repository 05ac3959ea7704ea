"""What a protected grading came to, as the rules' side sees it: values, no bytes, nothing that a candidate said.

Invariants: None stands for what could not be determined, and `reason` says why; names of checks, roles and controls come
from the verifier's plan (design: grading, *Into the rule engine*).
"""

from typing import NamedTuple

STATES = ("passed", "failed", "disagreement", "missing", "invalid", "revoked")
DECIDED = ("passed", "failed", "disagreement")
"""The states that rest on current, authentic and complete observations."""
ROLES = ("candidate", "grader")
ATTESTATIONS = "attestations"
ATTESTATION_FILES = tuple(
    f"{ATTESTATIONS}/{name}.json"
    for name in (
        "broker",
        "manifest",
        "assessment",
        *(f"{role}-{kind}" for role in ROLES for kind in ("receipt", "result")),
    )
)
"""Every file that a graded result may hold besides those of any other."""


class GradedCheck(NamedTuple):
    """One named check: whether the exported value is the protected one, and what the grader says."""

    name: str
    equal: bool | None
    grader_status: str | None


class GradedJob(NamedTuple):
    """One of the two jobs: whether what is known of it is signed by the pinned broker, and is about this very job.

    Times are in milliseconds, sizes in bytes; `within` says whether the job ended by itself within its ceilings.
    """

    role: str
    authentic: bool | None
    matches_job: bool | None
    within: bool | None
    wall_ms: int | None
    cpu_ms: int | None
    peak_bytes: int | None


class GradedControl(NamedTuple):
    """A bound of the sandbox: whether the plan requires it, and whether it was enforced in both jobs."""

    control: str
    required: bool
    enforced: bool | None


class Grading(NamedTuple):
    """A whole grading. `declared` are the checks that the protected bundle declares, None if it can't be read.

    `host_fault` says that it is undecided for a reason that is none of the candidate's.
    """

    state: str
    reason: str
    host_fault: bool
    declared: tuple[str, ...] | None
    checks: tuple[GradedCheck, ...]
    jobs: tuple[GradedJob, ...]
    controls: tuple[GradedControl, ...]
