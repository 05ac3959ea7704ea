"""How a candidate is looked at for the checks of a changed workspace.

Invariants: one walk, from which the plan's ignored paths are left out as they are from its baseline; an artifact that the
walk met is not read again, so that its digest and the change set speak of the same bytes.
"""

from idkmesh_rules.checks.check import UNLIMITED
from idkmesh_rules.checks.workspace import WorkspaceCase
from idkmesh_rules.model.observation import FileObservation, FileState, TreeFile
from idkmesh_rules.observe.reader import plain_path
from idkmesh_rules.observe.tree import TreeLimits
from idkmesh_rules.paths.patterns import compile_allow
from idkmesh_rules.pipeline.look import Look


def workspace_case(look: Look) -> WorkspaceCase:
    """Look at everything below the root that the plan doesn't ignore, and at the declared artifacts."""
    limits, ignored = look.limits, compile_allow(look.plan.demands.ignore_paths)
    bounds = TreeLimits(limits.tree_entries, limits.tree_path_bytes, limits.tree_bytes)
    tree = look.reader.tree(
        bounds,
        skip=(lambda path: ignored.match(path) is not None) if ignored.patterns else None,
        prune=ignored.covers if ignored.patterns else None,
        progress=look.progress,
    )
    places = {plain_path(artifact.locator) for artifact in look.manifest.artifacts}
    met = {file.path: file for file in tree.files if file.path in places}
    observations = {}
    for artifact in look.manifest.artifacts:
        file = met.get(plain_path(artifact.locator) or "")
        observations[artifact.locator, UNLIMITED] = (
            look.reader.observe(artifact.locator, UNLIMITED) if file is None else _observation(artifact.locator, file)
        )
    return WorkspaceCase(look.unit, look.manifest, look.plan, observations, limits, tree)


def _observation(locator: str, file: TreeFile) -> FileObservation:
    if file.unreadable is not None:
        return FileObservation(locator, UNLIMITED, None, unreadable=file.unreadable)
    return FileObservation(locator, UNLIMITED, FileState.REGULAR, file.size, b"", file.digest)
