"""What every backend looks at a candidate with."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from idkmesh_rules.model.documents import AnyPlan, ResultManifest, WorkUnit
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.observation import FileObservation
from idkmesh_rules.observe.reader import CandidateReader

Progress = Callable[[int, int], None]
"""Is told how many files and bytes were read so far."""


class Look(NamedTuple):
    """What a backend looks at the candidate with: the documents, a reader of the root, the bounds, and who is told."""

    unit: WorkUnit
    manifest: ResultManifest
    plan: AnyPlan
    reader: CandidateReader
    limits: Limits
    progress: Progress | None = None

    def artifacts(self, limit: int, keep: Mapping[str, int] | None = None) -> Mapping[tuple[str, int], FileObservation]:
        """Look at each declared artifact once; of those in `keep`, which come first, so many bytes are kept."""
        kept, found = keep or {}, dict[tuple[str, int], FileObservation]()
        for artifact in sorted(self.manifest.artifacts, key=lambda artifact: artifact.id not in kept):
            if (artifact.locator, limit) not in found:
                most = kept.get(artifact.id, 0)
                found[artifact.locator, limit] = self.reader.observe(artifact.locator, limit, most)
        return found
