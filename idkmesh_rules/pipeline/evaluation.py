"""Evaluate one candidate, from paths to a decision with its evidence.

Invariants: one clock reading a run, what it took is measured beside it; the output is published once, at the end, whole;
a refusal leaves `refusal.json` where an output directory can be made and nothing anywhere else.
"""

import os
import platform
import resource
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.checks import UNIFIED_DIFF_CHECKS, Case, collect
from idkmesh_rules.contracts.binding import check_independence
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.contracts.readers import read_result_manifest
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError, Problem, Refusal
from idkmesh_rules.model.documents import EvaluatorPlan, ResultManifest
from idkmesh_rules.model.evaluation import CheckCrash, Evaluation, Finding
from idkmesh_rules.model.facts import FactStore
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.observation import FileObservation, FileState
from idkmesh_rules.model.proof import Decision
from idkmesh_rules.observe.control import read_control_file
from idkmesh_rules.observe.reader import CandidateReader
from idkmesh_rules.observe.sovereignty import CandidateRoot, check_control_outside, check_output_outside
from idkmesh_rules.observe.tracked import check_untracked
from idkmesh_rules.pipeline.contract import Asked, Contract, read_contract
from idkmesh_rules.pipeline.rules import backend_floor
from idkmesh_rules.policy import decide, decision_document
from idkmesh_rules.result.directory import check_absent, publish
from idkmesh_rules.result.documents import evidence_document, facts_document, file_bytes
from idkmesh_rules.result.findings import Mask, bundle_leaves, escalations_of, findings_of, hidden_mask, reveal
from idkmesh_rules.result.refusal import refusal_document
from idkmesh_rules.result.verification import EvidenceFile, Measured, Subject, notes_of, verification_result

Clock = Callable[[], datetime]
AnyPath = str | os.PathLike[str]


def utc_now() -> datetime:
    """The current time in UTC: the clock of a run unless another one is passed in."""
    return datetime.now(UTC)


def evaluate(
    work_unit: AnyPath,
    result_manifest: AnyPath,
    evaluator_plan: AnyPath,
    candidate_root: AnyPath,
    *,
    output_dir: AnyPath | None = None,
    bundle: Path | str | None = None,
    limits: Limits | None = None,
    clock: Clock = utc_now,
    durable: bool = True,
    require_pin: bool = False,
    reveal_hidden: bool = False,
) -> Evaluation:
    """Evaluate a unified-diff candidate and return the decision with all that carries it.

    Nothing of the candidate is executed, applied or believed. With `output_dir`, which must not exist, the evidence is
    written there, whole or not at all; `durable` syncs it to disk first. `bundle` is the id of a shipped rule bundle or a
    directory with a bundle.yaml; without it, the bundle that the plan pins or the backend's own is used. `require_pin`
    refuses a plan that pins no bundle digest; `reveal_hidden` shows a hidden plan's expectations in the result.

    Raises Refusal, and nothing else, when the inputs are wrong; a `refusal.json` was then written to `output_dir` if that
    was possible.
    """
    run = _Run(limits or Limits(), clock)
    output = None if output_dir is None else Path(output_dir)
    publishable = False
    try:
        root = CandidateRoot.of(Path(candidate_root))
        if output is not None:
            check_absent(output)
            check_output_outside(root, output)
            check_untracked(output)
            publishable = True
        contract = run.contract(
            root, Path(work_unit), Path(evaluator_plan), bundle, require_pin=require_pin, reveal=reveal_hidden
        )
        seen = run.observe(root, Path(result_manifest), contract)
        return run.conclude(contract, seen, output, durable=durable, reveal_hidden=reveal_hidden)
    except Refusal as refusal:
        refusal.digests.update(run.digests)
        if publishable and output is not None and not refusal.reason.startswith("output-"):
            # That the reason can't be written down doesn't change it: the refusal is raised all the same.
            with suppress(Refusal):
                publish(output, {"refusal.json": file_bytes(refusal_document(refusal))}, durable=durable)
        raise


class _Seen(NamedTuple):
    """What a run knows of the candidate: the claim, the facts, and the checks that crashed."""

    manifest: ResultManifest
    store: FactStore
    crashes: tuple[CheckCrash, ...]


class _Run:
    """One evaluation under way: its bounds, its clock, and the digests of what it has read so far."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self.limits, self.digests = limits, dict[str, str]()
        self._started_at, self._wall, self._cpu = clock(), time.perf_counter(), time.process_time()

    def contract(
        self,
        root: CandidateRoot,
        work_unit: Path,
        evaluator_plan: Path,
        bundle: Path | str | None,
        *,
        require_pin: bool,
        reveal: bool,
    ) -> Contract:
        limits = self.limits
        unit_file = read_control_file(work_unit, "WorkUnit", limits.document_bytes)
        plan_file = read_control_file(evaluator_plan, "evaluator plan", limits.plan_bytes)
        search = limits.link_search_entries
        check_control_outside(root, (("WorkUnit", unit_file), ("evaluator plan", plan_file)), search_limit=search)
        asked = Asked(unit_file, plan_file, bundle, require_pin, reveal)
        contract = read_contract(asked, limits, self.digests)
        check_control_outside(root, (("rule bundle", contract.rules.control),), search_limit=search)
        return contract

    def observe(self, root: CandidateRoot, result_manifest: Path, contract: Contract) -> _Seen:
        with root.reader(self.limits.candidate_bytes) as reader:
            manifest = self._manifest(root, result_manifest, reader)
            check_independence(contract.unit, contract.plan, manifest)
            case = Case(
                contract.unit,
                manifest,
                contract.plan,
                _observations(reader, manifest, contract.plan, self.limits),
                self.limits,
            )
        return _Seen(manifest, *collect(UNIFIED_DIFF_CHECKS, case))

    def _manifest(self, root: CandidateRoot, path: Path, reader: CandidateReader) -> ResultManifest:
        """Read the manifest; below the candidate root only as the candidate's other files are read, links refused."""
        limit = self.limits.document_bytes
        locator = root.locator_of(path)
        if locator is None:
            data = read_control_file(path, "result manifest", limit).data
        else:
            seen = reader.observe(locator, limit, limit)
            if seen.data is None:
                raise _no_manifest(path, seen)
            data = seen.data
        try:
            document = read_document(
                data, "result-manifest", str(path), max_bytes=limit, max_depth=self.limits.json_depth
            )
            self.digests[document.name] = document.digest
            return read_result_manifest(document)
        except ContractError as error:
            raise Refusal(
                "manifest-invalid",
                "the worker's result manifest breaks its contract",
                fault="worker",
                problems=error.problems,
            ) from None

    def conclude(
        self, contract: Contract, seen: _Seen, output: Path | None, *, durable: bool, reveal_hidden: bool
    ) -> Evaluation:
        unit, plan, rules = contract.unit, contract.plan, contract.rules
        store, required = seen.store, tuple(sorted(unit.required_validator_ids))
        decision = decide(
            rules.bundle, store, parameters=rules.parameters, required=required, floor=backend_floor(plan.backend)
        )
        facts = file_bytes(facts_document(store, plan.backend, (unit.document, seen.manifest.document, plan.document)))
        facts_digest = bytes_digest(facts[:-1])
        decided = file_bytes(decision_document(decision, rules.bundle, rules.parameters, facts_digest))
        decision_digest = bytes_digest(decided[:-1])
        mask = (
            hidden_mask(tuple(line.text for line in plan.required_lines))
            if plan.hidden and not reveal_hidden
            else reveal
        )
        findings = self._findings(decision, contract, store, mask)
        subject = Subject(unit, seen.manifest, plan)
        files = {} if output is None else _evidence_files(contract, seen, facts, decided)
        evidence = tuple(_evidence_file(path, data) for path, data in files.items())
        notes = notes_of(subject, store)
        result = verification_result(
            subject,
            decision,
            rules.bundle,
            store,
            findings=findings,
            notes=notes,
            evidence=evidence,
            checks=UNIFIED_DIFF_CHECKS if files else (),
            facts_digest=facts_digest,
            decision_digest=decision_digest,
            measured=self._measured(),
            environment=_environment(),
        )
        if output is not None:
            publish(output, {"verification-result.json": file_bytes(result), **files}, durable=durable)
        return Evaluation(
            decision.recommendation,
            decision.status,
            decision,
            rules.bundle,
            store,
            findings,
            notes,
            result,
            facts_digest,
            decision_digest,
            seen.crashes,
            output,
        )

    def _findings(self, decision: Decision, contract: Contract, store: FactStore, mask: Mask) -> tuple[Finding, ...]:
        most, bundle = self.limits.findings_per_condition, contract.rules.bundle
        leaves = bundle_leaves(bundle)
        found = [
            finding
            for outcome in decision.validators
            if outcome.required
            for finding in findings_of(outcome.id, outcome.node, leaves, store, mask, most)
        ]
        for node in decision.escalations:
            found.extend(escalations_of(node, leaves, store, mask, most))
        if decision.floor is not None and decision.floor.decides:
            below = {leaf.name: leaf for leaf in backend_floor(bundle.backend).leaves}
            found.extend(findings_of("floor", decision.floor.node, below, store, mask, most))
        return tuple(found)

    def _measured(self) -> Measured:
        wall = time.perf_counter() - self._wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Measured(
            self._started_at,
            self._started_at + timedelta(seconds=wall),
            round(wall, 6),
            round(time.process_time() - self._cpu, 6),
            round(peak, 3),
        )


def _observations(
    reader: CandidateReader, manifest: ResultManifest, plan: EvaluatorPlan, limits: Limits
) -> Mapping[tuple[str, int], FileObservation]:
    """Look once at each declared locator under each limit that applies to it, at what decides first.

    Of the candidate one byte more than a patch may have is kept, so that its reader can say that it has too many.
    """
    candidate, most = plan.candidate_artifact_id, plan.max_candidate_bytes
    artifacts = sorted(manifest.artifacts, key=lambda artifact: artifact.id != candidate)
    wanted = {(artifact.locator, most): limits.patch_bytes + 1 for artifact in artifacts if artifact.id == candidate}
    for key in [(log.locator, plan.max_log_bytes) for log in manifest.logs] + [
        (one.locator, most) for one in artifacts
    ]:
        wanted.setdefault(key, 0)
    return {(locator, limit): reader.observe(locator, limit, keep) for (locator, limit), keep in wanted.items()}


def _no_manifest(path: Path, seen: FileObservation) -> Refusal:
    if seen.state is None:
        return Refusal(
            "document-unreadable",
            "the result manifest can't be read",
            problems=(Problem(seen.unreadable or "it could not be looked at", str(path)),),
        )
    if seen.state is FileState.REGULAR:
        why = f"the manifest has {seen.size} bytes, more than the {seen.limit} that are allowed"
    else:
        why = f"no regular file stands there ({seen.state.value})"
    return Refusal(
        "manifest-invalid",
        "the candidate holds no readable result manifest",
        fault="worker",
        problems=(Problem(why, str(path)),),
    )


def _evidence_files(contract: Contract, seen: _Seen, facts: bytes, decided: bytes) -> dict[str, bytes]:
    crashes = {crash.check: crash for crash in seen.crashes}
    files = {"facts.json": facts, "decision.json": decided}
    for document in (contract.unit.document, seen.manifest.document, contract.plan.document):
        files[f"inputs/{document.name}.json"] = document.data
    files["inputs/bundle.yaml"] = contract.rules.control.data
    for check in UNIFIED_DIFF_CHECKS:
        files[f"evidence/{check.id}.json"] = file_bytes(evidence_document(check, seen.store, crashes.get(check.id)))
    return files


def _evidence_file(path: str, data: bytes) -> EvidenceFile:
    check = next((check for check in UNIFIED_DIFF_CHECKS if path == f"evidence/{check.id}.json"), None)
    if check is not None:
        return EvidenceFile(path, check.evidence_type, bytes_digest(data), check.meaning)
    told = {"facts.json": "all facts", "decision.json": "the proof tree of the decision"}
    return EvidenceFile(path, "trace", bytes_digest(data), told.get(path, "exact copy of an input"))


@cache
def _environment() -> Mapping[str, str]:
    system = os.uname()
    return {"platform": f"{system.sysname}-{system.release}-{system.machine}", "python": platform.python_version()}
