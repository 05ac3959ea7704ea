"""The candidate's side: the worker's claim, and the facts that the checks take from the candidate's files.

Invariants: a manifest below the candidate root is read as the candidate's other files are, links refused; nothing of the
worker's words but the claim itself reaches a check.
"""

from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.checks import AnyCheck, Case, collect
from idkmesh_rules.contracts.binding import check_independence
from idkmesh_rules.contracts.readers import read_result_manifest
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError, Problem, Refusal
from idkmesh_rules.model.documents import ResultManifest
from idkmesh_rules.model.evaluation import CheckCrash
from idkmesh_rules.model.facts import FactStore
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.observation import FileObservation, FileState
from idkmesh_rules.observe.control import read_control_file
from idkmesh_rules.observe.reader import CandidateReader
from idkmesh_rules.observe.sovereignty import CandidateRoot
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.contract import Contract
from idkmesh_rules.pipeline.look import Look, Progress


class Seen(NamedTuple):
    """What a run knows of the candidate: the claim, what the checks looked at, the facts, and the checks that crashed."""

    manifest: ResultManifest
    case: Case
    store: FactStore
    crashes: tuple[CheckCrash, ...]


def observe_candidate(
    root: CandidateRoot,
    result_manifest: Path,
    contract: Contract,
    checks: tuple[AnyCheck, ...],
    limits: Limits,
    digests: dict[str, str],
    progress: Progress | None = None,
) -> Seen:
    """Read the claim, look at the declared files, and run `checks`; raises Refusal for a claim that can't be named.

    `digests` gets the manifest's digest as soon as it is known; `progress` is told how many files and bytes were read.
    """
    with root.reader(limits.candidate_bytes) as reader:
        manifest = _manifest(root, result_manifest, reader, limits, digests)
        check_independence(contract.unit, contract.plan, manifest)
        look = Look(contract.unit, manifest, contract.plan, reader, limits, progress)
        case = BACKENDS[contract.plan.backend].observe(look)
    return Seen(manifest, case, *collect(checks, case))


def _manifest(
    root: CandidateRoot, path: Path, reader: CandidateReader, limits: Limits, digests: dict[str, str]
) -> ResultManifest:
    """Read the manifest; below the candidate root only as the candidate's other files are read, links refused."""
    limit = limits.document_bytes
    locator = root.locator_of(path)
    if locator is None:
        data = read_control_file(path, "result manifest", limit).data
    else:
        seen = reader.observe(locator, limit, limit)
        if seen.data is None:
            raise _no_manifest(path, seen)
        data = seen.data
    try:
        document = read_document(data, "result-manifest", str(path), max_bytes=limit, max_depth=limits.json_depth)
        digests[document.name] = document.digest
        return read_result_manifest(document)
    except ContractError as error:
        raise Refusal(
            "manifest-invalid",
            "the worker's result manifest breaks its contract",
            fault="worker",
            problems=error.problems,
        ) from None


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
