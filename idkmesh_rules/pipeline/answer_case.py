"""How a candidate is looked at for the checks of an exact answer.

Invariant: the answer is read once; what else lies below the root is listed and, but for a copy of the manifest, not read.
"""

from idkmesh_rules.checks.answer import AnswerCase
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.model.observation import Tree, stored_path
from idkmesh_rules.observe.tree import TreeLimits
from idkmesh_rules.pipeline.look import Look


def answer_case(look: Look) -> AnswerCase:
    """Look at the declared artifacts, keeping the bytes of the answer, and at what else lies below the root."""
    demands, limits = look.plan.demands, look.limits
    keep = {demands.candidate_artifact_id: limits.answer_bytes}
    observations = look.artifacts(demands.max_candidate_bytes, keep)
    bounds = TreeLimits(limits.answer_entries + len(demands.allowed_files), limits.tree_path_bytes, 0)
    tree = look.reader.tree(bounds, hashing=False)
    return AnswerCase(look.unit, look.manifest, look.plan, observations, limits, tree, _manifest_in(look, tree))


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
