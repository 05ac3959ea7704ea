"""One evaluation under way, whichever verb asked for it: its bounds and clock, what it has read, and what a refusal leaves.

Invariants: one clock reading a run, what it took is measured beside it; a refusal leaves `refusal.json` where an output
directory can be made and nothing anywhere else.
"""

import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from idkmesh_rules.errors import Refusal
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.control import read_control_file
from idkmesh_rules.observe.sovereignty import CandidateRoot, check_control_outside, check_output_outside
from idkmesh_rules.observe.tracked import check_untracked
from idkmesh_rules.pipeline.contract import Asked, Contract, read_contract
from idkmesh_rules.result.directory import check_absent, publish
from idkmesh_rules.result.documents import file_bytes
from idkmesh_rules.result.refusal import refusal_document
from idkmesh_rules.result.verification import Measured

Clock = Callable[[], datetime]
AnyPath = str | os.PathLike[str]


def utc_now() -> datetime:
    """The current time in UTC: the clock of a run unless another one is passed in."""
    return datetime.now(UTC)


class Run:
    """One evaluation under way. `output` is where its evidence goes, if that is asked for."""

    def __init__(self, limits: Limits | None, clock: Clock, output: AnyPath | None, *, durable: bool) -> None:
        self.limits, self.digests = limits or Limits(), dict[str, str]()
        self.output, self.durable, self.clock = None if output is None else Path(output), durable, clock
        self._publishable = False
        self._started_at, self._wall, self._cpu = clock(), time.perf_counter(), time.process_time()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Whatever refuses inside is completed with what was read, and written down if there is a place for it."""
        try:
            yield
        except Refusal as refusal:
            refusal.digests.update(self.digests)
            if self._publishable and self.output is not None and not refusal.reason.startswith("output-"):
                # That the reason can't be written down doesn't change it: the refusal is raised all the same.
                with suppress(Refusal):
                    files = {"refusal.json": file_bytes(refusal_document(refusal))}
                    publish(self.output, files, durable=self.durable)
            raise

    def candidate(self, candidate_root: AnyPath) -> CandidateRoot:
        """The candidate root, and that the output lies outside of it; raises Refusal."""
        root = CandidateRoot.of(Path(candidate_root))
        if self.output is not None:
            check_absent(self.output)
            check_output_outside(root, self.output)
            check_untracked(self.output)
            self._publishable = True
        return root

    def contract(
        self,
        root: CandidateRoot,
        work_unit: AnyPath,
        evaluator_plan: AnyPath,
        bundle: Path | str | None,
        *,
        require_pin: bool,
        reveal: bool,
    ) -> Contract:
        """Read the verifier's documents and hold them against each other and the candidate root; raises Refusal."""
        limits = self.limits
        unit_file = read_control_file(Path(work_unit), "WorkUnit", limits.document_bytes)
        plan_file = read_control_file(Path(evaluator_plan), "evaluator plan", limits.plan_bytes)
        search = limits.link_search_entries
        check_control_outside(root, (("WorkUnit", unit_file), ("evaluator plan", plan_file)), search_limit=search)
        asked = Asked(unit_file, plan_file, bundle, require_pin, reveal)
        contract = read_contract(asked, limits, self.digests)
        check_control_outside(root, (("rule bundle", contract.rules.control),), search_limit=search)
        return contract

    def measured(self) -> Measured:
        """What the run took until now."""
        wall = time.perf_counter() - self._wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Measured(
            self._started_at,
            self._started_at + timedelta(seconds=wall),
            round(wall, 6),
            round(time.process_time() - self._cpu, 6),
            round(peak, 3),
        )
