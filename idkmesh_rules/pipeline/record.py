"""Read a result directory: untrusted, bounded, no link followed, nothing outside it looked at.

Invariants: what is no regular file within its limit is never opened; whatever an evaluation would not have written ends in a
Refusal with its place; no message quotes a hidden plan's expectations unless that is asked for.
"""

from collections.abc import Iterator
from pathlib import Path

from idkmesh_rules.audit.record import CORE_FILES, REFUSAL_FILE, Record, ResultFiles, engine_version, is_other_version
from idkmesh_rules.audit.stored import read_store
from idkmesh_rules.checks import AnyCheck, backend_kinds, checks_of
from idkmesh_rules.checks.backends import backend_names
from idkmesh_rules.contracts.binding import check_independence
from idkmesh_rules.contracts.readers import read_result_manifest
from idkmesh_rules.contracts.schema import check_schema
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError, Problem, Refusal
from idkmesh_rules.model.documents import Document, ResultManifest
from idkmesh_rules.model.evaluation import CheckCrash
from idkmesh_rules.model.facts import FactStore
from idkmesh_rules.model.grading import ATTESTATION_FILES, ATTESTATIONS
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.observation import FileState
from idkmesh_rules.observe.control import ControlFile
from idkmesh_rules.observe.listing import entries
from idkmesh_rules.observe.reader import CandidateReader
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.contract import Asked, Contract, read_contract
from idkmesh_rules.pipeline.rules import backend_floor
from idkmesh_rules.result.assembly import RESULT_FILE, Basis
from idkmesh_rules.result.verification import Subject

_HIDDEN = "[hidden] something here is not what an evaluation writes"


def evidence_path(check: AnyCheck) -> str:
    """Where the evidence of a check lies in a result directory."""
    return f"evidence/{check.id}.json"


def _evidence_paths() -> tuple[str, ...]:
    """Of the checks of all backends: which one it is about isn't known before the plan is read."""
    return tuple(dict.fromkeys(evidence_path(check) for name in backend_names() for check in checks_of(name)))


def holds_result(directory: Path) -> bool:
    """Whether a directory holds any of the files that make a result, whatever they are."""
    try:
        with CandidateReader(directory, budget=0) as reader:
            return any(reader.observe(path, -1).state is not FileState.MISSING for path in (*CORE_FILES, REFUSAL_FILE))
    except (OSError, ValueError):
        return False


def read_files(directory: Path, limits: Limits) -> ResultFiles:
    """Look at every file that a result directory may hold; raises Refusal `result-unreadable` if it is none."""
    most = limits.record_bytes
    try:
        with CandidateReader(directory, budget=4 * most) as reader:
            wanted = (*CORE_FILES, REFUSAL_FILE, *_evidence_paths(), *ATTESTATION_FILES)
            seen = {path: reader.observe(path, most, most) for path in wanted}
        found = entries(directory, ("inputs", "evidence", ATTESTATIONS), limits.record_entries)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise _refusal("result-unreadable", Problem(said or type(error).__name__, str(directory))) from None
    if all(seen[path].state is FileState.MISSING for path in (*CORE_FILES, REFUSAL_FILE)):
        raise _refusal("result-unreadable", Problem("it holds neither a decision nor a refusal", str(directory)))
    return ResultFiles(str(directory), seen, tuple(path for path in found if path not in seen))


def read_refusal(files: ResultFiles, limits: Limits) -> Document:
    """The recorded refusal; raises Refusal when it can't be read or isn't one."""
    return _document(files, REFUSAL_FILE, "refusal-1", limits, hidden=True)


def read_record(files: ResultFiles, limits: Limits, *, reveal: bool) -> Record:
    """The record of a finished run, typed strictly; raises Refusal when it isn't one, with every place."""
    if files.refused:
        told = read_refusal(files, limits).value
        why = f"the evaluation was refused: {told['reason']}: {told['message']}"
        raise _refusal("result-undecided", Problem(why, f"{files.name}/{REFUSAL_FILE}"))
    _check_regular(files, CORE_FILES)
    contract = _contract(files, limits, reveal=reveal)
    plan, hidden = contract.plan, contract.plan.hidden and not reveal
    manifest = _manifest(files, contract, limits)
    result = _document(files, RESULT_FILE, "verification-result-0.1", limits, hidden=hidden)
    decision = _document(files, "decision.json", "decision-1", limits, hidden=hidden)
    facts = _document(files, "facts.json", None, limits, hidden=hidden)
    if facts.value.get("backend") != plan.backend:
        raise _refusal(
            "result-tampered", Problem(f"expected the backend of the plan, {plan.backend}", facts.source, "/backend")
        )
    try:
        store = read_store(facts, backend_kinds(plan.backend), other_version=is_other_version(engine_version(result)))
    except ContractError as error:
        raise _refusal("result-tampered", *error.problems) from None
    checks, rules = checks_of(plan.backend), contract.rules
    basis = Basis(
        Subject(contract.unit, manifest, plan),
        rules.bundle,
        rules.control.data,
        rules.parameters,
        contract.required,
        backend_floor(plan.backend),
        checks,
        store,
        tuple(_crashes(files, checks, store, limits)),
        _attestations(files) if BACKENDS[plan.backend].executes else {},
    )
    return Record(files, basis, result, facts, decision)


def _attestations(files: ResultFiles) -> dict[str, bytes]:
    return {path: data for path in ATTESTATION_FILES if (data := files.data(path)) is not None}


def parsed(files: ResultFiles, path: str, limits: Limits, *, quote: bool = False) -> Document:
    """A JSON file of a result directory by itself; raises ContractError when it is none, quoting it only with `quote`."""
    data = files.data(path)
    if data is None:
        raise ContractError((Problem(files.fault(path), path),))
    return read_document(
        data, _name(path), path, max_bytes=limits.record_bytes, max_depth=limits.record_depth, quote=quote
    )


def _document(files: ResultFiles, path: str, schema: str | None, limits: Limits, *, hidden: bool) -> Document:
    _check_regular(files, (path,))
    try:
        document = parsed(files, path, limits)
        if schema is not None:
            check_schema(document, schema)
    except ContractError as error:
        problems = error.problems
        if hidden:
            problems = tuple(each._replace(message=_HIDDEN) if each.pointer is not None else each for each in problems)
        raise _refusal("result-tampered", *problems) from None
    return document


def _contract(files: ResultFiles, limits: Limits, *, reveal: bool) -> Contract:
    unit, plan, bundle = (
        ControlFile(Path(path), files.data(path) or b"", (0, 0), 1)
        for path in ("inputs/work-unit.json", "inputs/evaluator-plan.json", "inputs/bundle.yaml")
    )
    try:
        return read_contract(Asked(unit, plan, bundle, reveal=reveal), limits, {})
    except Refusal as refusal:
        raise _not_taken(refusal) from None


def _manifest(files: ResultFiles, contract: Contract, limits: Limits) -> ResultManifest:
    try:
        manifest = read_result_manifest(parsed(files, "inputs/result-manifest.json", limits, quote=True))
        check_independence(contract.unit, contract.plan, manifest)
    except ContractError as error:
        raise _refusal("result-tampered", *error.problems) from None
    except Refusal as refusal:
        raise _not_taken(refusal) from None
    return manifest


def _not_taken(refusal: Refusal) -> Refusal:
    """The recorded inputs would have been refused, so nothing can have been decided over them."""
    why = Problem(f"an evaluation of these inputs is refused: {refusal.reason}: {refusal.message}", "inputs/")
    return _refusal("result-tampered", why, *refusal.problems)


def _crashes(
    files: ResultFiles, checks: tuple[AnyCheck, ...], store: FactStore, limits: Limits
) -> Iterator[CheckCrash]:
    """Of the checks whose kinds a crash left incomplete, the error that their evidence records: it is nowhere else."""
    for check in checks:
        if any(store[kind.name].crashed for kind in check.kinds):
            try:
                error = parsed(files, evidence_path(check), limits).value.get("error")
            except ContractError:
                continue
            if isinstance(error, str):
                yield CheckCrash(check.id, error, "")


def _check_regular(files: ResultFiles, paths: tuple[str, ...]) -> None:
    faulty = [path for path in paths if files.data(path) is None]
    if faulty:
        unseen = any(files.seen[path].state is None for path in faulty)
        reason = "result-unreadable" if unseen else "result-tampered"
        raise _refusal(reason, *(Problem(files.fault(path), f"{files.name}/{path}") for path in faulty))


def _refusal(reason: str, *problems: Problem) -> Refusal:
    message = {
        "result-unreadable": "the result directory can't be read",
        "result-tampered": "the result directory holds what no evaluation writes",
        "result-undecided": "there is no decision in the result directory",
    }[reason]
    return Refusal(reason, message, problems=problems)


def _name(path: str) -> str:
    """The role of a document, which facts.json lists its digest by."""
    return path.rpartition("/")[2].removesuffix(".json")
