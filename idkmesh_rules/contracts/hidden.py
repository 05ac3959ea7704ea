"""What a plan that isn't public may show of its own mistakes: their places, and nothing of its expectations.

Invariant: whether some text is an expectation can't be known of a plan that is wrong, so none of its text is quoted, and of
a place only those names that the contract knows (design: contracts, *Evaluator sovereignty*, 9).
"""

from itertools import takewhile

from idkmesh_rules.contracts.mistaken import BEGINNING
from idkmesh_rules.errors import Problem

_PLAN_KEYS = frozenset(
    {
        *("schema_version", "id", "binding", "visibility", "execution_mode", "verifier", "policy", "extensions"),
        *(
            "work_unit_id",
            "work_unit_version",
            "work_unit_digest",
            "source_revision",
            "adapter",
            "adapter_version",
            "model",
        ),
        *("required_validator_ids", "candidate_artifact_id", "backend", "type", "max_candidate_bytes", "max_log_bytes"),
        *("required_added_text", "required_added_substrings", "required_removed_substrings", "required_log_types"),
        *("require_nonempty_patch", "verify_log_digests", "require_plan_outside_candidate_root"),
        *(
            "require_output_outside_candidate_root",
            "require_verifier_distinct_from_worker",
            "org.idkmesh.rules",
            "bundle",
        ),
        *("digest", "parameters", "required_json", "allowed_files", "baseline", "checks", "files", "path"),
        *(
            "assessment_id",
            "test_bundle",
            "result_schema",
            "fixture",
            "jobs",
            "candidate",
            "grader",
            "required_controls",
        ),
        *("job_id", "runtime", "command", "evaluator", "limits"),
        *("builtin", "required", "algorithm", "complete", "mode", "ignore_paths", "reject_symlinks"),
        *("require_source_revision_match", "require_candidate_local_artifacts"),
    }
)
_MASKED = "[hidden] something here breaks the plan's contract"


def masked(problem: Problem) -> Problem:
    """A problem of a plan that isn't public, without the plan's words: its place, as far as that tells nothing either."""
    parts = (problem.pointer or "").split("/")[1:]
    if problem.message.endswith(" is missing") or problem.message.startswith(BEGINNING):
        # Made of the schema alone.
        return problem
    known = takewhile(lambda part: part in _PLAN_KEYS or part.isdigit(), parts)
    return problem._replace(message=_MASKED, pointer="".join(f"/{part}" for part in known), hint="--reveal shows it")
