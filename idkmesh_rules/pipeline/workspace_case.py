"""How a candidate is looked at for the checks of a changed workspace.

Invariant: one walk, from which the plan's ignored paths are left out as they are from its baseline.
"""

from idkmesh_rules.checks.workspace import WorkspaceCase
from idkmesh_rules.observe.tree import TreeLimits
from idkmesh_rules.paths.patterns import compile_allow
from idkmesh_rules.pipeline.backends import Look


def workspace_case(look: Look) -> WorkspaceCase:
    """Look at the declared artifacts, and at everything below the root that the plan doesn't ignore."""
    limits, ignored = look.limits, compile_allow(look.plan.demands.ignore_paths)
    observations = look.artifacts(limits.candidate_bytes)
    bounds = TreeLimits(limits.tree_entries, limits.tree_path_bytes, limits.tree_bytes)
    tree = look.reader.tree(
        bounds,
        skip=(lambda path: ignored.match(path) is not None) if ignored.patterns else None,
        prune=ignored.covers if ignored.patterns else None,
    )
    return WorkspaceCase(look.unit, look.manifest, look.plan, observations, limits, tree)
