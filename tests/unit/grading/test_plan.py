"""Plan 0.5: read strictly, validated with the rest, refused by every verb that runs nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import Refusal, validate
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.grading.protocol import PROTOCOL
from idkmesh_rules.model.documents import SandboxDemands
from tests.support.bundles import Bundle, make
from tests.support.command import idkrules

LIMITS = {
    "wall_seconds": 10,
    "cpu_seconds": 10,
    "memory_bytes": 1 << 28,
    "processes": 16,
    "output_bytes": 65536,
    "export_bytes": 65536,
}
VALIDATORS = ["result-manifest-schema", "sandbox-integrity", "hidden-tests"]


def sandboxed(draft: Any) -> None:
    """Turn the honest draft into one whose plan is of version 0.5."""
    draft.unit["validators"] = [{"id": name, "type": "test", "required": True} for name in VALIDATORS]
    draft.manifest["verification_request"]["expected_validator_ids"] = VALIDATORS
    job = {"runtime": "python-3.11", "command": ["python3", "run.py"], "evaluator": [], "limits": LIMITS}
    del draft.plan["backend"]
    draft.plan |= {
        "schema_version": "0.5",
        "execution_mode": "sandboxed",
        "required_validator_ids": VALIDATORS,
        "max_candidate_bytes": 4000,
        "assessment_id": "assessment-1",
        **{
            name: {"path": f"protected/{name}.json", "digest": "sha256:" + "1" * 64}
            for name in ("test_bundle", "result_schema", "fixture")
        },
        "jobs": {
            "candidate": {**job, "job_id": "greeting/candidate"},
            "grader": {
                **job,
                "job_id": "greeting/grader",
                "evaluator": [{"path": "grader.py", "digest": "sha256:" + "2" * 64}],
            },
        },
        "required_controls": ["network-none"],
    }
    draft.plan["verifier"] |= {"adapter": "sandboxed-equality-verifier", "adapter_version": "0.1.0"}


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    made = make(tmp_path / "case", sandboxed)
    checks = json.dumps({"protocol": PROTOCOL, "checks": ["answer"]})
    values = json.dumps({"protocol": PROTOCOL, "values": {"answer": 42}})
    files = {
        "protected/test_bundle.json": checks,
        "protected/result_schema.json": checks,
        "protected/fixture.json": values,
        "grader.py": "pass",
    }
    for name, text in files.items():
        (made.place / name).parent.mkdir(exist_ok=True)
        (made.place / name).write_text(text)

    def pin(plan: Any) -> None:
        for each in (plan["test_bundle"], plan["result_schema"], plan["fixture"], *plan["jobs"]["grader"]["evaluator"]):
            each["digest"] = bytes_digest(files[each["path"]].encode())

    made.rewrite("evaluator-plan.json", pin)
    return made


def test_such_a_plan_is_validated(bundle: Bundle) -> None:
    contract = validate(bundle.work_unit, bundle.plan)
    assert contract.rules.bundle.id == "sandboxed-equality"
    demands = contract.plan.demands
    assert isinstance(demands, SandboxDemands)
    assert demands.grader.evaluator[0].path == "grader.py"
    assert demands.candidate.limits == LIMITS


def test_evaluate_refuses_it_and_names_the_verb_that_serves_it(bundle: Bundle, tmp_path: Path) -> None:
    (bundle.candidate / "changes.patch").unlink()  # nothing of the candidate is looked at
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert run.returncode == 4
    assert run.stderr.startswith("refused  plan-sandboxed (fault: verifier)")
    assert "idkrules grade" in run.stderr
    assert json.loads((tmp_path / "out" / "refusal.json").read_text())["reason"] == "plan-sandboxed"


def both_jobs_of_one_id(plan: Any) -> None:
    plan["jobs"]["grader"]["job_id"] = plan["jobs"]["candidate"]["job_id"]


def fixture_shown(plan: Any) -> None:
    plan["jobs"]["candidate"]["evaluator"] = [plan["fixture"]]


MISTAKES = {
    "both jobs of one id": (both_jobs_of_one_id, "/jobs/grader/job_id", "both jobs have one id"),
    "expected values shown to a job": (fixture_shown, "/jobs/candidate/evaluator/0/path", "shown to no job"),
    "a path that leads out": (lambda plan: plan["fixture"].update(path="../x"), "/fixture/path", ""),
    "an absolute path": (lambda plan: plan["test_bundle"].update(path="/etc/x"), "/test_bundle/path", ""),
    "metadata only": (lambda plan: plan.update(execution_mode="metadata_only"), "/execution_mode", "sandboxed"),
    "another adapter": (
        lambda plan: plan["verifier"].update(adapter="deterministic-patch-verifier"),
        "/verifier/adapter",
        "",
    ),
    "a network of its own": (
        lambda plan: plan["jobs"]["grader"].update(network="host"),
        "/jobs/grader/network",
        "unknown",
    ),
    "no ceiling": (
        lambda plan: plan["jobs"]["candidate"]["limits"].pop("processes"),
        "/jobs/candidate/limits",
        "processes",
    ),
    "an export over a mebibyte": (
        lambda plan: plan["jobs"]["candidate"]["limits"].update(export_bytes=1 << 21),
        "/jobs/candidate/limits/export_bytes",
        "at most",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_plan_that_is_wrong_is_told_where(bundle: Bundle, name: str) -> None:
    edit, pointer, said = MISTAKES[name]
    bundle.rewrite("evaluator-plan.json", edit)
    with pytest.raises(Refusal) as caught:
        validate(bundle.work_unit, bundle.plan)
    told = {problem.pointer: problem.message for problem in caught.value.problems}
    assert pointer in told, told
    assert said in told[pointer]
