"""The checks: small pure rules from documents and observations to typed facts, one file a family.

Invariant: all checks of a backend run, whatever a rule bundle asks, so that facts are a function of documents and
observations alone and another bundle can be tried on them later.
"""

from idkmesh_rules.checks.backends import backend_kinds, checks_of, kinds_of_all
from idkmesh_rules.checks.check import AnyCheck, Case, Check
from idkmesh_rules.checks.collect import collect

__all__ = ["AnyCheck", "Case", "Check", "backend_kinds", "checks_of", "collect", "kinds_of_all"]
