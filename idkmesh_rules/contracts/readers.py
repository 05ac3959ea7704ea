"""Documents as typed values: schema, then what a schema can't say, then the fields that the checks need.

Invariants: a reader returns a whole value or raises ContractError with every violation; it believes nothing, it only
gives names to what the document says.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from idkmesh_rules.contracts import plans
from idkmesh_rules.contracts.beyond_schema import bad_patterns, duplicates
from idkmesh_rules.contracts.schema import check_schema, shorten
from idkmesh_rules.errors import ContractError, Problem
from idkmesh_rules.model.documents import (
    Agent,
    AnyPlan,
    Artifact,
    Binding,
    BundlePin,
    Document,
    EvaluatorPlan,
    EvidenceRequirement,
    Log,
    ResultManifest,
    Validator,
    WorkUnit,
)
from idkmesh_rules.paths.patterns import compile_allow, compile_forbid

EXTENSION = "org.idkmesh.rules"
_UNIFIED_DIFF_PLANS = {"0.2": "evaluator-plan-0.2", "0.3": "evaluator-plan-0.3", "0.4": "evaluator-plan-0.4"}
_FURTHER_PLANS = {
    "evaluator-plan-0.1-json": ("exact_json", plans.check_answer, plans.answer_demands),
    "evaluator-plan-0.1-workspace": ("workspace", plans.check_workspace, plans.workspace_demands),
    "evaluator-plan-0.5": ("sandboxed_equality", plans.check_sandbox, plans.sandbox_demands),
}


def read_work_unit(document: Document) -> WorkUnit:
    """The WorkUnit 0.2 in `document`; path patterns that nobody can read in one way are violations too."""
    check_schema(document, "work-unit-0.2")
    value = document.value
    constraints, permissions = value["constraints"], value["permissions"]
    _raise(
        document,
        [
            *duplicates(value["validators"], "/validators", "id"),
            *bad_patterns(constraints["allowed_paths"], "/constraints/allowed_paths", compile_allow),
            *bad_patterns(constraints["forbidden_paths"], "/constraints/forbidden_paths", compile_forbid),
            *bad_patterns(permissions["filesystem_write"], "/permissions/filesystem_write", compile_allow),
        ],
    )
    policy = value["verification_policy"]
    return WorkUnit(
        document,
        value["id"],
        value["version"],
        tuple(Validator(entry["id"], entry["type"], entry["required"]) for entry in value["validators"]),
        tuple(EvidenceRequirement(entry["type"], entry["required"]) for entry in value["evidence_requirements"]),
        tuple(constraints["allowed_paths"]),
        tuple(constraints["forbidden_paths"]),
        tuple(permissions["filesystem_write"]),
        value["provenance"].get("source_revision"),
        policy["independent_from_worker"],
        policy["minimum_independent_verifiers"],
        value["failure_semantics"]["max_attempts"],
        permissions["process_execution"],
        value["budget"].get("wall_seconds"),
    )


def read_result_manifest(document: Document) -> ResultManifest:
    """The ResultManifest 0.1 in `document`: a claim, nothing more."""
    check_schema(document, "result-manifest-0.1")
    value = document.value
    _raise(document, duplicates(value["produced_artifacts"], "/produced_artifacts", "id"))
    provenance, request = value["provenance"], value["verification_request"]
    return ResultManifest(
        document,
        value["id"],
        value["work_unit_id"],
        value["work_unit_version"],
        provenance["work_unit_digest"],
        provenance["source_revision"],
        value["attempt"],
        _agent(value["worker"]),
        value["status"],
        tuple(
            Artifact(entry["id"], entry["type"], entry["locator"], entry["digest"])
            for entry in value["produced_artifacts"]
        ),
        tuple(Log(entry["type"], entry["locator"], entry.get("digest")) for entry in value["logs"]),
        tuple(request["expected_validator_ids"]),
        tuple(request["evidence_artifact_ids"]),
    )


def plan_schema(document: Document) -> str:
    """The name of the schema that a plan's version and shape call for; raises ContractError when there is none."""
    version = document.value.get("schema_version")
    if version == "0.1":
        workspace = "baseline" in document.value or "checks" in document.value
        return "evaluator-plan-0.1-workspace" if workspace else "evaluator-plan-0.1-json"
    if version == "0.5":
        return "evaluator-plan-0.5"
    if isinstance(version, str) and version in _UNIFIED_DIFF_PLANS:
        return _UNIFIED_DIFF_PLANS[version]
    raise ContractError(
        (
            Problem(
                f"expected one of the plan versions 0.1, 0.2, 0.3, 0.4, 0.5; found {shorten(version)}",
                document.source,
                pointer="/schema_version",
            ),
        )
    )


def read_evaluator_plan(document: Document) -> AnyPlan:
    """The plan in `document`, of whichever backend its version and shape call for."""
    schema = plan_schema(document)
    check_schema(document, schema)
    if schema in _UNIFIED_DIFF_PLANS.values():
        return _plan(document, "unified_diff", plans.patch_demands(document.value))
    backend, check, demands = _FURTHER_PLANS[schema]
    _raise(document, check(document.value))
    return _plan(document, backend, demands(document.value))


def _plan(document: Document, backend: str, demands: Any) -> AnyPlan:
    value = document.value
    binding, policy = value["binding"], value["policy"]
    return EvaluatorPlan(
        document,
        value["id"],
        value["schema_version"],
        backend,
        Binding(
            binding["work_unit_id"],
            binding["work_unit_version"],
            binding["work_unit_digest"],
            value["source_revision"] if "source_revision" in value else binding["source_revision"],
            policy.get("require_source_revision_match", True),
        ),
        value["visibility"] == "hidden",
        _agent(value["verifier"]),
        value["verifier"],
        policy.get("require_verifier_distinct_from_worker", False),
        tuple(plans.promised(value)),
        _pin(value.get("extensions", {})),
        demands,
    )


def _pin(extensions: Mapping[str, Any]) -> BundlePin:
    own = extensions.get(EXTENSION, {})
    bundle = own.get("bundle", {})
    return BundlePin(bundle.get("id"), bundle.get("digest"), own.get("parameters", {}))


def _agent(value: Mapping[str, Any]) -> Agent:
    model = value.get("model")
    return Agent(
        value["id"], value["type"], value["adapter"], (model.get("provider"), model["name"]) if model else None
    )


def _raise(document: Document, problems: Iterable[Problem]) -> None:
    found = tuple(Problem(problem.message, document.source, problem.pointer, hint=problem.hint) for problem in problems)
    if found:
        raise ContractError(found)
