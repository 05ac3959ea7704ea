"""What the host asks of whoever runs jobs: to run one, once, and then only to be told about it.

Invariants: no verb repeats a job; everything that a broker answers is signed, and is nothing until its signature was held
against the pinned key and the job (design: grading, *Broker, receipts, authenticity*).
"""

from collections.abc import Mapping
from typing import Protocol

from idkmesh_rules.grading.authenticity import Signed
from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobSpec, Manifest

CANDIDATE_EXPORT = "candidate-export"
"""The name under which the grader's job finds what the candidate's job exported."""


class Broker(Protocol):
    """Runs jobs in sandboxes. Any method may raise; what was asked for is then unknown, not undone."""

    def submit(self, spec: JobSpec, journal_id: str, nonce: str) -> Signed:
        """Accept a job and return the signed receipt. Called at most once for a job id, whatever comes of it."""

    def receipt(self, job_id: str) -> Signed | None:
        """The original receipt of a job that was accepted, None if none is known. Starts nothing."""

    def fetch(self, job_id: str) -> tuple[Signed, Mapping[str, bytes]] | None:
        """The signed result of a job that ended, with its exports' bytes by name; None before. Starts nothing."""


def grader_job(manifest: Manifest, export: ArtifactRef) -> JobSpec:
    """The grader's sealed job with what the candidate's job exported as its last input.

    Raises GradingError when the sealed job has an input of that name already.
    """
    if CANDIDATE_EXPORT in [each.name for each in manifest.grader.inputs]:
        raise GradingError(
            f"the grader's job has an input named {CANDIDATE_EXPORT}, which is for the candidate's export"
        )
    return manifest.grader._replace(inputs=(*manifest.grader.inputs, export._replace(name=CANDIDATE_EXPORT)))
