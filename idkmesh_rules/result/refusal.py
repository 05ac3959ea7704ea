"""refusal.json: why there is no verdict, and whose fault that is (design: outputs)."""

from typing import Any

from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.model.text import printable

SCHEMA_VERSION = "1.0"


def refusal_document(refusal: Refusal) -> dict[str, Any]:
    """A refusal as the JSON value that is written and printed; candidate text in it is made printable."""
    return {
        "schema_version": SCHEMA_VERSION,
        "reason": refusal.reason,
        "fault": refusal.fault,
        "message": printable(refusal.message, 1000),
        "problems": [_problem(problem) for problem in refusal.problems],
        "digests": dict(sorted(refusal.digests.items())),
    }


def _problem(problem: Problem) -> dict[str, Any]:
    parts = {
        "document": problem.document,
        "pointer": problem.pointer,
        "line": problem.line,
        "column": problem.column,
        "message": printable(problem.message, 1000),
        "hint": problem.hint,
    }
    return {
        name: printable(value, 4096) if isinstance(value, str) else value
        for name, value in parts.items()
        if value is not None
    }
