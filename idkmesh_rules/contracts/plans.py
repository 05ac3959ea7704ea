"""What differs between the plans of the backends: what each demands, and what its schema can't say.

Invariants: a demands value is made of a plan that satisfied its schema and its check; the checks return problems, all of
them, and raise nothing.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from idkmesh_rules.contracts.beyond_schema import bad_paths, bad_patterns, duplicates
from idkmesh_rules.contracts.schema import shorten
from idkmesh_rules.errors import Problem
from idkmesh_rules.model.documents import (
    AnswerDemands,
    BaselineFile,
    PatchDemands,
    PlanCheck,
    ProtectedFile,
    RequiredLine,
    SandboxDemands,
    SandboxJob,
    WorkspaceDemands,
)
from idkmesh_rules.paths.patterns import compile_allow

_MODE = re.compile(r"10[0-7](?:644|755)")
_OWN_CHECKS = ("floor", "escalate")


def promised(value: Mapping[str, Any]) -> Iterator[str]:
    """The validators that a plan promises: those it lists, or its own checks as far as acceptance needs them."""
    yield from value.get("required_validator_ids", ())
    yield from (check["id"] for check in value.get("checks", ()) if check["required"])


def patch_demands(value: Mapping[str, Any]) -> PatchDemands:
    """What a unified-diff plan demands."""
    backend = value["backend"]
    return PatchDemands(
        value["candidate_artifact_id"],
        backend["max_candidate_bytes"],
        backend["max_log_bytes"],
        tuple(backend.get("required_log_types", ())),
        (
            *(RequiredLine("added", "whole", text) for text in backend.get("required_added_text", ())),
            *(RequiredLine("added", "substring", text) for text in backend.get("required_added_substrings", ())),
            *(RequiredLine("removed", "substring", text) for text in backend.get("required_removed_substrings", ())),
        ),
    )


def check_answer(value: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the files that an exact-JSON plan allows."""
    files = value["allowed_files"]
    yield from duplicates(({"file": file} for file in files), "/allowed_files", "file")
    yield from bad_paths({file: f"/allowed_files/{position}" for position, file in enumerate(files)})


def answer_demands(value: Mapping[str, Any]) -> AnswerDemands:
    """What an exact-JSON plan demands."""
    return AnswerDemands(
        value["candidate_artifact_id"],
        value["max_candidate_bytes"],
        tuple(value["allowed_files"]),
        value["required_json"],
    )


def check_workspace(value: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the checks, the baseline and the ignored paths of a workspace plan."""
    yield from duplicates(value["checks"], "/checks", "id")
    for position, check in enumerate(value["checks"]):
        if check["id"] in _OWN_CHECKS:
            yield Problem(
                f"a check can't be called {shorten(check['id'])}; results use this name for one of the engine's own",
                pointer=f"/checks/{position}/id",
            )
    baseline = value["baseline"]
    files = baseline["files"]
    yield from duplicates(files, "/baseline/files", "path")
    yield from bad_paths({file["path"]: f"/baseline/files/{position}/path" for position, file in enumerate(files)})
    for position, file in enumerate(files):
        if "mode" in file and _MODE.fullmatch(file["mode"]) is None:
            yield Problem(
                f"expected a mode as git spells it, such as 100644 or 100755; found {shorten(file['mode'])}",
                pointer=f"/baseline/files/{position}/mode",
            )
    yield from bad_patterns(baseline["ignore_paths"], "/baseline/ignore_paths", compile_allow)


def workspace_demands(value: Mapping[str, Any]) -> WorkspaceDemands:
    """What a workspace plan demands."""
    baseline = value["baseline"]
    return WorkspaceDemands(
        tuple(PlanCheck(each["id"], each["type"], each["required"], each["builtin"]) for each in value["checks"]),
        {file["path"]: BaselineFile(file["digest"], file.get("mode")) for file in baseline["files"]},
        tuple(baseline["ignore_paths"]),
    )


def check_sandbox(value: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the jobs and the files of a sandboxed plan."""
    jobs = value["jobs"]
    if jobs["candidate"]["job_id"] == jobs["grader"]["job_id"]:
        yield Problem("both jobs have one id; each is submitted once, under its own", pointer="/jobs/grader/job_id")
    named = {name: value[name]["path"] for name in ("test_bundle", "result_schema", "fixture")}
    yield from bad_paths({path: f"/{name}/path" for name, path in named.items()})
    for role, job in jobs.items():
        for position, part in enumerate(job["command"]):
            if "\0" in part:
                yield Problem("a command has no zero bytes", pointer=f"/jobs/{role}/command/{position}")
        place = f"/jobs/{role}/evaluator"
        yield from duplicates(job["evaluator"], place, "path")
        yield from bad_paths(
            {each["path"]: f"{place}/{position}/path" for position, each in enumerate(job["evaluator"])}
        )
        for position, each in enumerate(job["evaluator"]):
            for field in ("path", "digest"):
                if each[field] == value["fixture"][field]:
                    yield Problem("the expected values are shown to no job", pointer=f"{place}/{position}/{field}")


def sandbox_demands(value: Mapping[str, Any]) -> SandboxDemands:
    """What a sandboxed plan demands."""
    jobs = value["jobs"]
    return SandboxDemands(
        value["candidate_artifact_id"],
        value["max_candidate_bytes"],
        value["assessment_id"],
        _protected(value["test_bundle"]),
        _protected(value["result_schema"]),
        _protected(value["fixture"]),
        _job(jobs["candidate"]),
        _job(jobs["grader"]),
        tuple(value["required_controls"]),
    )


def _protected(value: Mapping[str, Any]) -> ProtectedFile:
    return ProtectedFile(value["path"], value["digest"])


def _job(value: Mapping[str, Any]) -> SandboxJob:
    return SandboxJob(
        value["job_id"],
        value["runtime"],
        tuple(value["command"]),
        tuple([_protected(each) for each in value["evaluator"]]),
        dict(value["limits"]),
    )
