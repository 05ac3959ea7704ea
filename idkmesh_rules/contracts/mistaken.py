"""One document in the place of another: told as that, and not as everything that it lacks.

Invariant: what is said is made of the names of documents alone, so that it tells nothing of a hidden plan.
"""

from idkmesh_rules.errors import Problem
from idkmesh_rules.model.documents import Document

BEGINNING = "this is "
_KEYS = {
    "work-unit": ("a WorkUnit", ("objective", "validators", "constraints", "failure_semantics")),
    "result-manifest": ("a result manifest", ("worker", "produced_artifacts", "self_report", "verification_request")),
    "evaluator-plan": ("an evaluator plan", ("binding", "visibility", "execution_mode", "policy")),
    "verification-result": (
        "a verification result",
        ("result_manifest_id", "independence", "decision_support", "checks"),
    ),
}


def mistaken(document: Document) -> Problem | None:
    """That a document is another one than its role says: it has most keys of the other, and none of its own."""
    value = document.value
    expected = _KEYS.get(document.name)
    if expected is None or any(key in value for key in expected[1]):
        return None
    for name, keys in _KEYS.values():
        if sum(key in value for key in keys) > len(keys) // 2:
            return Problem(
                f"{BEGINNING}{name}, where {expected[0]} belongs",
                document.source,
                pointer="",
                hint="were two options exchanged?",
            )
    return None
