"""The use cases: the one place that wires the layers together.

Invariants:
- Order of an evaluation: where things lie, the verifier's documents, how they bind, the manifest, the candidate. Nothing
  of the candidate is looked at before the verifier's own inputs are in order.
- Everything that can be wrong with the inputs ends in a `Refusal`; anything else that escapes is a bug of ours.
"""

from idkmesh_rules.pipeline.contract import Contract, validate
from idkmesh_rules.pipeline.evaluation import evaluate
from idkmesh_rules.pipeline.rules import Rules
from idkmesh_rules.pipeline.run import utc_now

__all__ = ["Contract", "Rules", "evaluate", "utc_now", "validate"]
