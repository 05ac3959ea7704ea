"""How a candidate is looked at for the checks of a patch.

Invariant: every declared file is looked at once under each limit that applies to it, what decides first.
"""

from idkmesh_rules.checks.patch import PatchCase
from idkmesh_rules.pipeline.look import Look


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
