"""How each backend looks at a candidate: which files, under which limits, in which order.

Invariant: every declared file is looked at once under each limit that applies to it, what decides first.
"""

from collections.abc import Mapping

from idkmesh_rules.checks.answer import AnswerCase
from idkmesh_rules.checks.patch import PatchCase
from idkmesh_rules.checks.workspace import WorkspaceCase
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.model.observation import FileObservation, Tree, stored_path
from idkmesh_rules.observe.tree import TreeLimits
from idkmesh_rules.paths.patterns import compile_allow
from idkmesh_rules.pipeline.backends import Look


def patch_case(look: Look) -> PatchCase:
    """Look at the declared artifacts and logs.

    Of the candidate one byte more than a patch may have is kept, so that its reader can say that it has too many.
    """
    plan, manifest, limits = look.plan, look.manifest, look.limits
    candidate, most = plan.demands.candidate_artifact_id, plan.demands.max_candidate_bytes
    artifacts = sorted(manifest.artifacts, key=lambda artifact: artifact.id != candidate)
    wanted = {(artifact.locator, most): limits.patch_bytes + 1 for artifact in artifacts if artifact.id == candidate}
    for key in [(log.locator, plan.demands.max_log_bytes) for log in manifest.logs] + [
        (one.locator, most) for one in artifacts
    ]:
        wanted.setdefault(key, 0)
    observations = {
        (locator, limit): look.reader.observe(locator, limit, keep) for (locator, limit), keep in wanted.items()
    }
    return PatchCase(look.unit, manifest, plan, observations, limits)


def answer_case(look: Look) -> AnswerCase:
    """Look at the declared artifacts, keeping the bytes of the answer, and at what else lies below the root."""
    demands, limits = look.plan.demands, look.limits
    observations = _artifacts(
        look, demands.max_candidate_bytes, keep={demands.candidate_artifact_id: limits.answer_bytes}
    )
    bounds = TreeLimits(limits.answer_entries + len(demands.allowed_files), limits.tree_path_bytes, 0)
    tree = look.reader.tree(bounds, hashing=False)
    return AnswerCase(look.unit, look.manifest, look.plan, observations, limits, tree, _manifest_in(look, tree))


def workspace_case(look: Look) -> WorkspaceCase:
    """Look at the declared artifacts, and at everything below the root that the plan doesn't ignore."""
    limits, ignored = look.limits, compile_allow(look.plan.demands.ignore_paths)
    observations = _artifacts(look, limits.candidate_bytes, keep={})
    bounds = TreeLimits(limits.tree_entries, limits.tree_path_bytes, limits.tree_bytes)
    tree = look.reader.tree(
        bounds,
        skip=(lambda path: ignored.match(path) is not None) if ignored.patterns else None,
        prune=ignored.covers if ignored.patterns else None,
    )
    return WorkspaceCase(look.unit, look.manifest, look.plan, observations, limits, tree)


def _manifest_in(look: Look, tree: Tree) -> str | None:
    """Where the manifest that is judged lies below the root: the first file with its bytes that the plan doesn't allow.

    Looked for by content, so that it depends on nothing but the documents and what is there.
    """
    data = look.manifest.document.data
    allowed, digest = frozenset(look.plan.demands.allowed_files), bytes_digest(data)
    for file in tree.files:
        if file.path in allowed or stored_path(file.path) != file.path:
            continue
        if look.reader.observe(file.path, len(data)).digest == digest:
            return file.path
    return None


def _artifacts(look: Look, limit: int, keep: Mapping[str, int]) -> Mapping[tuple[str, int], FileObservation]:
    """Look at each declared artifact once; of those in `keep`, which come first, so many bytes are kept."""
    found: dict[tuple[str, int], FileObservation] = {}
    for artifact in sorted(look.manifest.artifacts, key=lambda artifact: artifact.id not in keep):
        if (artifact.locator, limit) not in found:
            found[artifact.locator, limit] = look.reader.observe(artifact.locator, limit, keep.get(artifact.id, 0))
    return found
