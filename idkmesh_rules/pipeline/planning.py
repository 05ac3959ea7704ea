"""Make a plan: bound to a WorkUnit by digest, pinned to its rule bundle, with demands of one backend.

Invariants: nothing is written that `validate` would refuse, or under which no candidate could ever pass; whatever a plan
needs and nobody gave is named, all of it at once.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from idkmesh_rules._version import __version__
from idkmesh_rules.contracts.labels import BUILTIN_TYPES
from idkmesh_rules.contracts.readers import EXTENSION, read_work_unit
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError, Problem, Refusal
from idkmesh_rules.model.documents import BUILTINS, WorkUnit
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.control import ControlFile, read_control_file
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.contract import Asked, Contract, read_contract
from idkmesh_rules.pipeline.graded_plan import Grading, graded_part
from idkmesh_rules.pipeline.protected import read_protected
from idkmesh_rules.pipeline.rules import named_bundle
from idkmesh_rules.pipeline.snapshot import baseline_text
from idkmesh_rules.result.directory import check_absent
from idkmesh_rules.result.file import publish_file

_WILDCARDS = frozenset("*?[\\")
_OUTSIDE = ("require_plan_outside_candidate_root", "require_output_outside_candidate_root")
_POLICY = dict.fromkeys((*_OUTSIDE, "require_verifier_distinct_from_worker"), True)
_WORKSPACE_POLICY = dict.fromkeys(
    (_OUTSIDE[0], "reject_symlinks", "require_source_revision_match", "require_candidate_local_artifacts"), True
)


class Demanded(NamedTuple):
    """What a new plan is to demand, and of whom. Exactly one of the four: lines, a JSON file, a baseline, a grading.

    `checks` maps names of checks to the built-in checks that they are labels on, for a baseline.
    """

    added_text: tuple[str, ...] = ()
    added_substrings: tuple[str, ...] = ()
    removed_substrings: tuple[str, ...] = ()
    json_file: Path | None = None
    baseline: Path | None = None
    log_types: tuple[str, ...] = ()
    allowed_files: tuple[str, ...] = ()
    checks: Mapping[str, str] = {}
    candidate_artifact: str | None = None
    source_revision: str | None = None
    max_bytes: int = 2**20
    plan_id: str | None = None
    verifier_id: str = "idkmesh-rules"
    bundle: str | None = None
    hidden: bool = False
    grading: Grading | None = None


def new_plan(work_unit: Path, output: Path, demanded: Demanded, limits: Limits | None = None) -> Contract:
    """Write a plan for `work_unit` to `output`, which must not exist, and return what `validate` makes of it.

    Raises Refusal: for files that can't be read or written, for documents that break their contract, for what is missing
    or can't go together (`plan-incomplete`), and for whatever `validate` refuses.
    """
    limits = limits or Limits()
    check_absent(output)
    unit_file = read_control_file(work_unit, "WorkUnit", limits.document_bytes)
    try:
        unit = read_work_unit(
            read_document(unit_file.data, "work-unit", str(work_unit), max_bytes=limits.document_bytes)
        )
        draft = _Draft(unit, demanded, limits, output)
        value = draft.plan()
    except ContractError as error:
        raise Refusal("document-invalid", "a document breaks its contract", problems=error.problems) from None
    if draft.problems:
        raise Refusal("plan-incomplete", "the plan can't be made of what was given", problems=tuple(draft.problems))
    text = "".join(_plan_text(value))
    plan_file = ControlFile(output, text.encode(), (0, 0), 1)
    contract = read_contract(Asked(unit_file, plan_file, demanded.bundle, reveal=True), limits, {})
    if BACKENDS[contract.plan.backend].executes:
        read_protected(contract.plan, limits, reveal=True)
    publish_file(output, (plan_file.data,))
    return contract


class _Draft:
    """One plan under construction, and what is missing for it."""

    def __init__(self, unit: WorkUnit, demanded: Demanded, limits: Limits, output: Path) -> None:
        self.problems: list[Problem] = []
        self._output = output
        self._unit, self._demanded, self._limits = unit, demanded, limits

    def plan(self) -> dict[str, Any]:
        demanded = self._demanded
        lines = demanded.added_text or demanded.added_substrings or demanded.removed_substrings
        others = (demanded.json_file, demanded.baseline, demanded.grading)
        if bool(lines) + sum(each is not None for each in others) != 1:
            self._missing("exactly one is needed: required lines, a required JSON document, a baseline, or a grading")
            return {}
        if demanded.grading is not None:
            return self._graded(demanded.grading)
        if demanded.baseline is not None:
            return self._workspace(demanded.baseline)
        if demanded.json_file is not None:
            return self._answer(demanded.json_file)
        return self._patch()

    def _missing(self, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(message, self._unit.document.source, hint=hint))

    def _patch(self) -> dict[str, Any]:
        demanded = self._demanded
        whole, inside, removed = demanded.added_text, demanded.added_substrings, demanded.removed_substrings
        if whole and (inside or removed):
            self._missing("a plan demands whole lines or substrings, not both")
        if removed and not inside:
            self._missing("a plan that demands removed text demands added text, too")
        version, adapter = ("0.2", "0.1.1") if whole else ("0.4", "0.3.0") if removed else ("0.3", "0.2.0")
        backend: dict[str, Any] = {
            "type": "unified_diff",
            "max_candidate_bytes": demanded.max_bytes,
            "max_log_bytes": demanded.max_bytes,
            "require_nonempty_patch": True,
            "verify_log_digests": True,
            "required_log_types": list(demanded.log_types),
        }
        texts = {
            "required_added_text": whole,
            "required_added_substrings": inside,
            "required_removed_substrings": removed,
        }
        backend |= {name: list(each) for name, each in texts.items() if each}
        head = self._head("unified_diff", version, "deterministic-patch-verifier", adapter, _POLICY)
        return head | self._promises("patch") | {"backend": backend}

    def _answer(self, path: Path) -> dict[str, Any]:
        demanded, limits = self._demanded, self._limits
        allowed = demanded.allowed_files or self._literal_paths()
        if not allowed:
            self._missing(
                "the WorkUnit's constraints.allowed_paths don't say which files the answer consists of",
                "name each with --allowed-file",
            )
        required = _json(path, "required JSON", limits.document_bytes, limits.json_depth)
        head = self._head("exact_json", "0.1", "deterministic-json-verifier", "0.1", _POLICY)
        return (
            head
            | self._promises(None)
            | {
                "allowed_files": list(allowed),
                "max_candidate_bytes": demanded.max_bytes,
                "required_json": required,
            }
        )

    def _graded(self, grading: Grading) -> dict[str, Any]:
        head = self._head("sandboxed_equality", "0.5", "sandboxed-equality-verifier", "0.1.0", _POLICY)

        def missing(message: str, hint: str | None = None) -> None:
            self.problems.append(Problem(message, hint=hint))

        part = graded_part(grading, self._output, self._unit, self._limits, missing)
        promises = self._promises(None) | {"max_candidate_bytes": self._demanded.max_bytes}
        return head | {"execution_mode": "sandboxed"} | promises | part

    def _literal_paths(self) -> tuple[str, ...]:
        paths = self._unit.allowed_paths
        literal = all(not _WILDCARDS & set(path) and not path.endswith("/") for path in paths)
        return paths if literal else ()

    def _workspace(self, path: Path) -> dict[str, Any]:
        baseline = _json(path, "baseline", self._limits.plan_bytes, self._limits.json_depth)
        head = self._head("workspace", "0.1", "deterministic-workspace-verifier", __version__, _WORKSPACE_POLICY)
        binding = head["binding"]
        head["source_revision"] = binding.pop("source_revision")
        return head | {"checks": list(self._checks()), "baseline": baseline}

    def _checks(self) -> Iterator[dict[str, Any]]:
        labels = dict(self._demanded.checks)
        named = set(labels.values())
        labels |= {name: name for name in BUILTINS if name not in named}
        types = {each.id: each.type for each in self._unit.validators}
        for name, builtin in labels.items():
            if builtin not in BUILTINS:
                self._missing(f"there is no built-in check {builtin}", f"expected one of: {', '.join(BUILTINS)}")
            told = types.get(name) or BUILTIN_TYPES.get(builtin, "other")
            yield {
                "id": name,
                "type": "other" if told == "benchmark" else told,
                "required": True,
                "builtin": builtin,
            }
        for name in sorted(self._unit.required_validator_ids - labels.keys()):
            self._missing(
                f"the WorkUnit requires the validator {name}, and no check covers it",
                f"say which built-in check it is: --check {name}=scope (or {', '.join(BUILTINS)})",
            )

    def _head(
        self, backend: str, version: str, adapter: str, adapter_version: str, policy: Mapping[str, bool]
    ) -> dict[str, Any]:
        unit, demanded = self._unit, self._demanded
        revision = demanded.source_revision or unit.source_revision
        if revision is None:
            self._missing("the WorkUnit names no source revision", "say which one with --source-revision")
        bundle_id = demanded.bundle or BACKENDS[backend].bundle
        bundle, _ = named_bundle(bundle_id, self._limits)
        return {
            "schema_version": version,
            "id": demanded.plan_id or f"{unit.id}/plan",
            "binding": {
                "work_unit_id": unit.id,
                "work_unit_version": unit.version,
                "work_unit_digest": unit.document.digest,
                "source_revision": revision,
            },
            "visibility": "hidden" if demanded.hidden else "public",
            "execution_mode": "metadata_only",
            "verifier": {
                "id": demanded.verifier_id,
                "type": "system",
                "adapter": adapter,
                "adapter_version": adapter_version,
            },
            "policy": dict(policy),
            "extensions": {EXTENSION: {"bundle": {"id": bundle.id, "digest": bundle.digest}}},
        }

    def _promises(self, output_type: str | None) -> dict[str, Any]:
        """Which validators, and which artifact: the one that was named, or the WorkUnit's only output of the type."""
        outputs = [each["id"] for each in self._unit.document.value["outputs"] if output_type in (None, each["type"])]
        chosen = self._demanded.candidate_artifact or (outputs[0] if len(outputs) == 1 else None)
        if chosen is None:
            found = ", ".join(outputs) or "none"
            self._missing(
                f"the WorkUnit doesn't tell which artifact is the candidate (outputs that could be: {found})",
                "name it with --candidate-artifact",
            )
        return {
            "required_validator_ids": sorted(self._unit.required_validator_ids),
            "candidate_artifact_id": chosen,
        }


def _json(path: Path, role: str, most: int, depth: int) -> Mapping[str, Any]:
    data = read_control_file(path, role, most).data
    return read_document(data, role, str(path), max_bytes=most, max_depth=depth).value


def _plan_text(value: Mapping[str, Any]) -> Iterable[str]:
    """A plan as JSON text: indented, but for a baseline, which takes one line a file."""
    rest = {name: part for name, part in value.items() if name != "baseline"}
    text = json.dumps(rest, indent=2, ensure_ascii=False)
    if "baseline" not in value:
        yield text + "\n"
        return
    yield text.removesuffix("\n}") + ',\n  "baseline": '
    baseline = value["baseline"]
    known = {"algorithm": "sha256", "complete": True}.items() <= baseline.items() and {
        "files",
        "ignore_paths",
    } <= baseline.keys()
    # What isn't a baseline is written as it is, so that the reader tells what is wrong with it.
    if known and len(baseline) == 4 and isinstance(baseline["files"], list):
        yield from baseline_text(baseline)
    else:
        yield json.dumps(baseline, ensure_ascii=False)
    yield "}\n"
