"""idkmesh-rules: an independent verifier of what autonomous workers hand over. This is its public API.

`evaluate` looks at a candidate's bytes and decides by rules; `validate` holds the verifier's own documents against each
other beforehand. `explain`, `why_not`, `replay` and `impact` speak of finished runs, from their result directories alone.
Everything is loaded when it is first used, so that importing the package costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

from idkmesh_rules._version import __version__

if TYPE_CHECKING:
    from idkmesh_rules.errors import IdkrulesError, Problem, Refusal
    from idkmesh_rules.model.evaluation import Evaluation, Finding
    from idkmesh_rules.model.limits import Limits
    from idkmesh_rules.model.proof import Recommendation, Status
    from idkmesh_rules.pipeline import Contract, evaluate, validate
    from idkmesh_rules.pipeline.impact import impact
    from idkmesh_rules.pipeline.replay import replay
    from idkmesh_rules.pipeline.trace import explain, why_not

_HOMES = {
    "Contract": "pipeline",
    "Evaluation": "model.evaluation",
    "Finding": "model.evaluation",
    "IdkrulesError": "errors",
    "Limits": "model.limits",
    "Problem": "errors",
    "Recommendation": "model.proof",
    "Refusal": "errors",
    "Status": "model.proof",
    "evaluate": "pipeline",
    "explain": "pipeline.trace",
    "impact": "pipeline.impact",
    "replay": "pipeline.replay",
    "validate": "pipeline",
    "why_not": "pipeline.trace",
}

__all__ = [
    "Contract",
    "Evaluation",
    "Finding",
    "IdkrulesError",
    "Limits",
    "Problem",
    "Recommendation",
    "Refusal",
    "Status",
    "__version__",
    "evaluate",
    "explain",
    "impact",
    "replay",
    "validate",
    "why_not",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
