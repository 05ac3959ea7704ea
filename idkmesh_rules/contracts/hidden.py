"""What a plan that isn't public may show of its own mistakes: their places, and nothing of its expectations.

Invariant: whether some text is an expectation can't be known of a plan that is wrong, so nothing but a few fields, which
never hold one, is quoted (design: contracts, *Evaluator sovereignty*, 9).
"""

from itertools import takewhile

from idkmesh_rules.errors import Problem

# What a hidden plan says here may be shown; anything else in it could be, or could have been meant as, an expectation.
_SHOWABLE = frozenset(
    {
        "schema_version",
        "id",
        "binding",
        "visibility",
        "execution_mode",
        "verifier",
        "policy",
        "required_validator_ids",
        "candidate_artifact_id",
        "source_revision",
    }
)
_PLAN_KEYS = frozenset(
    {
        "backend",
        "required_added_text",
        "required_added_substrings",
        "required_removed_substrings",
        "required_log_types",
        "max_candidate_bytes",
        "max_log_bytes",
        "type",
        "extensions",
        "org.idkmesh.rules",
        "required_json",
        "allowed_files",
        "baseline",
        "checks",
    }
)
_MASKED = "[hidden] something here breaks the plan's contract"


def masked(problem: Problem) -> Problem:
    """A problem of a plan that isn't public, without the plan's words: its place, as far as that tells nothing either."""
    parts = (problem.pointer or "").split("/")[1:]
    if (parts and parts[0] in _SHOWABLE) or problem.message.endswith(" is missing"):
        return problem
    known = takewhile(lambda part: part in _PLAN_KEYS or part.isdigit(), parts)
    return problem._replace(message=_MASKED, pointer="".join(f"/{part}" for part in known), hint="--reveal shows it")
