"""The checks: small pure rules from documents and observations to typed facts, one file a family.

Invariant: all checks of a backend run, whatever a rule bundle asks, so that facts are a function of documents and
observations alone and another bundle can be tried on them later.
"""

from collections.abc import Mapping

from idkmesh_rules.checks import files, manifest, patch, required_lines, worker_status
from idkmesh_rules.checks.check import Case, Check
from idkmesh_rules.checks.collect import collect
from idkmesh_rules.model.facts import FactKind

UNIFIED_DIFF_CHECKS: tuple[Check, ...] = (
    manifest.SCHEMA_CHECK,
    manifest.BINDING_CHECK,
    manifest.COVERAGE_CHECK,
    files.ARTIFACT_CHECK,
    files.LOG_CHECK,
    patch.STRUCTURE_CHECK,
    patch.SCOPE_CHECK,
    required_lines.LINES_CHECK,
    worker_status.STATUS_CHECK,
)


def unified_diff_kinds() -> Mapping[str, FactKind]:
    """The fact kinds of the unified-diff backend by name, as its checks declare them."""
    return {kind.name: kind for check in UNIFIED_DIFF_CHECKS for kind in check.kinds}


__all__ = ["UNIFIED_DIFF_CHECKS", "Case", "Check", "collect", "unified_diff_kinds"]
