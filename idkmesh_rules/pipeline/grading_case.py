"""How a candidate is looked at whose behaviour is graded: its bytes, and a grading in which nothing has run yet.

Invariant: until the jobs have run, everything about them is unknown, so that a decision over such a case can reject for
what the metadata show and can't accept.
"""

from idkmesh_rules.checks.grading import GradingCase
from idkmesh_rules.grading.observed import not_observed
from idkmesh_rules.pipeline.look import Look

NOT_BEGUN = "no job was started"


def grading_case(look: Look) -> GradingCase:
    """Look at the declared artifacts, keeping the bytes of the candidate."""
    demands = look.plan.demands
    most = demands.max_candidate_bytes
    observations = look.artifacts(most, {demands.candidate_artifact_id: min(most, look.limits.graded_bytes)})
    grading = not_observed(None, demands.required_controls, NOT_BEGUN)
    return GradingCase(look.unit, look.manifest, look.plan, observations, look.limits, grading)
