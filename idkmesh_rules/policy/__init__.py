"""Rule bundles: YAML → checked bundle → decision with its proof, and what can be proved of a bundle beforehand.

Invariants: this package reads bytes and values, never a file or a clock; it knows facts by their declared kinds and
nothing of the checks that emit them (design: facts-and-policy). The analysis of bundles (`prove`, and what `lint` loads)
is not imported here: a decision doesn't need it.
"""

from idkmesh_rules.policy.decide import Violation, decide, decide_unsafe_without_floor, judge_for, violations
from idkmesh_rules.policy.document import decision_document
from idkmesh_rules.policy.floor import floor_for
from idkmesh_rules.policy.load import load_bundle
from idkmesh_rules.policy.parameters import bind_parameters

__all__ = [
    "Violation",
    "bind_parameters",
    "decide",
    "decide_unsafe_without_floor",
    "decision_document",
    "floor_for",
    "judge_for",
    "load_bundle",
    "violations",
]
