"""The schemas: real shapes pass, each wrong shape is told with its pointer, and both validators agree."""

import copy
import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idkmesh_rules.contracts import schema as module
from idkmesh_rules.contracts.digest import canonical_bytes
from idkmesh_rules.contracts.readers import plan_schema, read_evaluator_plan, read_result_manifest, read_work_unit
from idkmesh_rules.contracts.schema import check_schema, load_schema
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.contracts.timestamps import is_timestamp
from idkmesh_rules.errors import ContractError
from idkmesh_rules.model.documents import Document
from idkmesh_rules.resources import schema_names
from tests.support.bundles import builder

D = "sha256:" + "0" * 64


def honest() -> Any:
    draft = builder.Draft()
    draft.finish()
    return draft


UNIT, MANIFEST, PLAN = honest().unit, honest().manifest, honest().plan
PLANS: dict[str, Any] = {"0.2": PLAN}
PLANS["0.3"] = copy.deepcopy(PLAN) | {"schema_version": "0.3"}
PLANS["0.3"]["verifier"]["adapter_version"] = "0.2.0"
PLANS["0.3"]["backend"] = {key: value for key, value in PLAN["backend"].items() if key != "required_added_text"} | {
    "required_added_substrings": ["a"]
}
PLANS["0.4"] = copy.deepcopy(PLANS["0.3"]) | {"schema_version": "0.4"}
PLANS["0.4"]["verifier"]["adapter_version"] = "0.3.0"
PLANS["0.4"]["backend"]["required_removed_substrings"] = ["b"]
PLANS["0.1 JSON"] = {key: value for key, value in PLAN.items() if key != "backend"} | {
    "schema_version": "0.1",
    "verifier": PLAN["verifier"] | {"adapter": "deterministic-json-verifier", "adapter_version": "0.1"},
    "allowed_files": ["answer.json"],
    "max_candidate_bytes": 100,
    "required_json": {"answer": 42},
}
PLANS["0.1 workspace"] = {
    key: value
    for key, value in PLAN.items()
    if key not in ("backend", "required_validator_ids", "candidate_artifact_id")
} | {
    "schema_version": "0.1",
    "source_revision": "r1",
    "binding": {key: value for key, value in PLAN["binding"].items() if key != "source_revision"},
    "checks": [{"id": "scope", "type": "policy", "required": True, "builtin": "scope"}],
    "baseline": {
        "algorithm": "sha256",
        "complete": True,
        "files": [{"path": "a", "digest": D}, {"path": "b", "digest": D, "mode": "100644"}],
        "ignore_paths": [],
    },
    "policy": {
        "require_plan_outside_candidate_root": True,
        "reject_symlinks": True,
        "require_source_revision_match": False,
        "require_candidate_local_artifacts": True,
    },
}


def document(value: Any) -> Document:
    return read_document(canonical_bytes(value), "document", "doc.json", max_bytes=2**22)


def problems(call: Callable[[Document], object], value: Any) -> list[tuple[str | None, str]]:
    with pytest.raises(ContractError) as caught:
        call(document(value))
    return [(problem.pointer, problem.message) for problem in caught.value.problems]


def edited(value: Any, pointer: str, new: Any) -> Any:
    """A copy with the value at `pointer` replaced, or removed if `new` is Ellipsis."""
    changed = copy.deepcopy(value)
    *path, last = [int(part) if part.isdigit() else part for part in pointer.split("/")[1:]]
    node = changed
    for part in path:
        node = node[part]
    if new is ...:
        del node[last]
    else:
        node[last] = new
    return changed


@pytest.mark.parametrize("name", schema_names())
def test_every_shipped_schema_is_a_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(load_schema(name))


@pytest.mark.parametrize("version", PLANS)
def test_every_plan_version_is_read(version: str) -> None:
    plan = read_evaluator_plan(document(PLANS[version]))
    backend, demands = plan.backend, plan.demands
    if version == "0.1 JSON":
        assert (backend, demands.allowed_files, demands.required_json) == (
            "exact_json",
            ("answer.json",),
            {"answer": 42},
        )
    elif version == "0.1 workspace":
        assert (backend, plan.binding.source_revision, plan.binding.revision_required) == ("workspace", "r1", False)
        assert {path: file.mode for path, file in demands.baseline.items()} == {"a": None, "b": "100644"}
    else:
        assert backend == "unified_diff"
        assert {(line.side, line.match) for line in demands.required_lines} == {
            "0.2": {("added", "whole")},
            "0.3": {("added", "substring")},
            "0.4": {("added", "substring"), ("removed", "substring")},
        }[version]


# what is changed in a 0.1 plan that its schema can't refuse, where that is told and how
BEYOND_SCHEMA = {
    "an allowed file twice": ("0.1 JSON", "/allowed_files", ["a", "a"], "/allowed_files/1/file", "stands already at"),
    "an allowed file outside": ("0.1 JSON", "/allowed_files", ["../a"], "/allowed_files/0", "no plain path"),
    "an allowed file from the root": ("0.1 JSON", "/allowed_files", ["/a"], "/allowed_files/0", "no plain path"),
    "an allowed file below another": (
        "0.1 JSON",
        "/allowed_files",
        ["a", "a/b/c"],
        "/allowed_files/1",
        "which is a file",
    ),
    "a check twice": (
        "0.1 workspace",
        "/checks",
        [{"id": "s", "type": "policy", "required": True, "builtin": "scope"}] * 2,
        "/checks/1/id",
        "stands already at",
    ),
    "a check called floor": ("0.1 workspace", "/checks/0/id", "floor", "/checks/0/id", "one of the engine's own"),
    "a baseline path twice": (
        "0.1 workspace",
        "/baseline/files/1/path",
        "a",
        "/baseline/files/1/path",
        "stands already at",
    ),
    "a baseline path with a dot": (
        "0.1 workspace",
        "/baseline/files/0/path",
        "./a",
        "/baseline/files/0/path",
        "no plain path",
    ),
    "a baseline path below a file": (
        "0.1 workspace",
        "/baseline/files/1/path",
        "a/b",
        "/baseline/files/1/path",
        "is a file",
    ),
    "a mode that git hasn't": (
        "0.1 workspace",
        "/baseline/files/1/mode",
        "0644",
        "/baseline/files/1/mode",
        "expected a mode",
    ),
    "an ambiguous ignored path": (
        "0.1 workspace",
        "/baseline/ignore_paths",
        ["!x"],
        "/baseline/ignore_paths/0",
        "begins with",
    ),
}


@pytest.mark.parametrize("name", BEYOND_SCHEMA)
def test_what_a_schema_cannot_say_of_a_plan(name: str) -> None:
    version, pointer, new, where, words = BEYOND_SCHEMA[name]
    found = problems(read_evaluator_plan, edited(PLANS[version], pointer, new))
    assert [place for place, _ in found] == [where]
    assert words in found[0][1]


def test_both_generations_of_the_budget_are_read_and_no_mixture() -> None:
    both = {"wall_seconds": 1, "project_spend_usd_max": 0, "paid_fallback_allowed": False}
    read_work_unit(document(edited(UNIT, "/budget", both)))
    read_work_unit(document(edited(UNIT, "/budget", {})))
    assert problems(read_work_unit, edited(UNIT, "/budget", {"paid_fallback_allowed": False})) == [
        ("/budget", '"paid_fallback_allowed" stands without "project_spend_usd_max"; keep both or neither')
    ]


NEGATIVES: dict[str, tuple[Any, Callable[[Document], object], str, Any, str, str]] = {
    "kind code": (UNIT, read_work_unit, "/kind", "code", "/kind", "expected one of"),
    "id with a trailing newline": (
        UNIT,
        read_work_unit,
        "/id",
        "fixtures/greeting\n",
        "/id",
        "expected text of the form",
    ),
    "id too short": (UNIT, read_work_unit, "/id", "ab", "/id", "expected text of the form"),
    "version below 1": (UNIT, read_work_unit, "/version", 0, "/version", "expected at least 1"),
    "version as a float": (UNIT, read_work_unit, "/version", 3.0, "/version", "expected integer, found number 3.0"),
    "version as a boolean": (
        UNIT,
        read_work_unit,
        "/version",
        True,
        "/version",
        "expected integer, found boolean true",
    ),
    "version beyond 2^53": (UNIT, read_work_unit, "/version", 2**53, "/version", "expected at most"),
    "no schema version": (UNIT, read_work_unit, "/schema_version", ..., "", 'the key "schema_version" is missing'),
    "unknown key": (
        UNIT,
        read_work_unit,
        "/constraints/alowed_paths",
        [],
        "/constraints/alowed_paths",
        'did you mean "allowed_paths"?',
    ),
    "allowlist without a list": (
        UNIT,
        read_work_unit,
        "/permissions/network",
        "allowlist",
        "/permissions",
        'the key "network_allowlist" is missing',
    ),
    "quorum without a number": (
        UNIT,
        read_work_unit,
        "/verification_policy/strategy",
        "quorum",
        "/verification_policy",
        'the key "quorum" is missing',
    ),
    "no outputs": (UNIT, read_work_unit, "/outputs", [], "/outputs", "expected at least 1 entry"),
    "a negated pattern": (
        UNIT,
        read_work_unit,
        "/constraints/allowed_paths/0",
        "!docs",
        "/constraints/allowed_paths/0",
        "",
    ),
    "a comment as a pattern": (
        UNIT,
        read_work_unit,
        "/constraints/forbidden_paths/0",
        "#x",
        "/constraints/forbidden_paths/0",
        "",
    ),
    "an absolute pattern": (
        UNIT,
        read_work_unit,
        "/permissions/filesystem_write/0",
        "/docs",
        "/permissions/filesystem_write/0",
        "",
    ),
    "a climbing pattern": (
        UNIT,
        read_work_unit,
        "/constraints/allowed_paths/0",
        "docs/../x",
        "/constraints/allowed_paths/0",
        "",
    ),
    "an empty pattern": (UNIT, read_work_unit, "/constraints/allowed_paths/0", "", "/constraints/allowed_paths/0", ""),
    "a control character in a pattern": (
        UNIT,
        read_work_unit,
        "/constraints/allowed_paths/0",
        "a\tb",
        "/constraints/allowed_paths/0",
        "",
    ),
    "one validator twice": (
        UNIT,
        read_work_unit,
        "/validators/1/id",
        "result-manifest-schema",
        "/validators/1/id",
        "stands already at /validators/0",
    ),
    "a time that doesn't exist": (
        MANIFEST,
        read_result_manifest,
        "/started_at",
        "2026-02-30T00:00:00Z",
        "/started_at",
        "RFC 3339",
    ),
    "a status of its own": (MANIFEST, read_result_manifest, "/status", "accepted", "/status", "expected one of"),
    "an upper-case digest": (
        MANIFEST,
        read_result_manifest,
        "/provenance/work_unit_digest",
        "sha256:" + "A" * 64,
        "/provenance/work_unit_digest",
        "expected text of the form",
    ),
    "a metric that is a text": (
        MANIFEST,
        read_result_manifest,
        "/metrics/turns",
        "4",
        "/metrics/turns",
        "expected number or null",
    ),
    "confidence above 1": (
        MANIFEST,
        read_result_manifest,
        "/self_report/confidence",
        {"value": 1.5, "meaning": "subjective"},
        "/self_report/confidence/value",
        "expected at most 1",
    ),
    "another plan version": (
        PLAN,
        read_evaluator_plan,
        "/schema_version",
        "0.9",
        "/schema_version",
        "expected one of the plan versions",
    ),
    "a plan version that is a number": (
        PLAN,
        read_evaluator_plan,
        "/schema_version",
        0.2,
        "/schema_version",
        "expected one of the plan versions",
    ),
    "a policy that is false": (
        PLAN,
        read_evaluator_plan,
        "/policy/require_verifier_distinct_from_worker",
        False,
        "/policy/require_verifier_distinct_from_worker",
        "expected true, found false",
    ),
    "an empty required line": (
        PLAN,
        read_evaluator_plan,
        "/backend/required_added_text/0",
        "",
        "/backend/required_added_text/0",
        "expected text of the form",
    ),
    "a required line with LF": (
        PLAN,
        read_evaluator_plan,
        "/backend/required_added_text/0",
        "a\nb",
        "/backend/required_added_text/0",
        "expected text of the form",
    ),
    "a required line that ends with LF": (
        PLAN,
        read_evaluator_plan,
        "/backend/required_added_text/0",
        "a\n",
        "/backend/required_added_text/0",
        "expected text of the form",
    ),
    "no required line": (
        PLAN,
        read_evaluator_plan,
        "/backend/required_added_text",
        [],
        "/backend/required_added_text",
        "expected at least 1 entry",
    ),
    "the demands of another version": (
        PLAN,
        read_evaluator_plan,
        "/backend/required_added_substrings",
        ["a"],
        "/backend/required_added_substrings",
        "this key is unknown",
    ),
    "0.1.1 without log types": (
        PLAN,
        read_evaluator_plan,
        "/backend/required_log_types",
        ...,
        "/backend",
        'the key "required_log_types" is missing',
    ),
    "another adapter": (
        PLAN,
        read_evaluator_plan,
        "/verifier/adapter",
        "my-verifier",
        "/verifier/adapter",
        'expected "deterministic-patch-verifier"',
    ),
    "a sandboxed mode": (
        PLAN,
        read_evaluator_plan,
        "/execution_mode",
        "sandboxed",
        "/execution_mode",
        'expected "metadata_only"',
    ),
    "a pin that is no digest": (
        PLAN,
        read_evaluator_plan,
        "/extensions",
        {"org.idkmesh.rules": {"bundle": {"id": "x", "digest": "abc"}}},
        "/extensions/org.idkmesh.rules/bundle/digest",
        "expected text of the form",
    ),
    "a workspace plan with one path twice": (
        PLANS["0.1 workspace"],
        read_evaluator_plan,
        "/baseline/files/1/path",
        "a",
        "/baseline/files/1/path",
        "stands already at /baseline/files/0",
    ),
}


@pytest.mark.parametrize("name", NEGATIVES)
def test_negatives_are_told_with_their_pointer(name: str) -> None:
    value, read, pointer, new, where, said = NEGATIVES[name]
    found = problems(read, edited(value, pointer, new))
    assert [place for place, message in found if said in message] == [where], found


def test_an_artifact_id_twice_is_an_error_of_the_manifest() -> None:
    value = copy.deepcopy(MANIFEST)
    value["produced_artifacts"] *= 2
    assert problems(read_result_manifest, value) == [
        ("/produced_artifacts/1/id", 'the id "patch" stands already at /produced_artifacts/0; each may stand once')
    ]


def test_0_1_plans_needed_no_log_types() -> None:
    value = edited(edited(PLAN, "/verifier/adapter_version", "0.1"), "/backend/required_log_types", ...)
    plan = read_evaluator_plan(document(value))
    assert plan is not None
    assert plan.demands.required_log_types == ()


def test_all_violations_are_told_at_once() -> None:
    value = edited(edited(edited(UNIT, "/kind", "code"), "/version", "3"), "/budget", {"wall_seconds": -1})
    assert [pointer for pointer, _ in problems(read_work_unit, value)] == ["/budget/wall_seconds", "/kind", "/version"]


BASES = [
    ("work-unit-0.2", UNIT),
    ("result-manifest-0.1", MANIFEST),
    *((plan_schema(document(plan)), plan) for plan in PLANS.values()),
]
junk = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        1.0,
        0.5,
        2**53,
        2**70,
        "",
        "x",
        "x\n",
        "0.2",
        D,
        D + "\n",
        [],
        ["x"],
        ["x", "x"],
        {},
        {"id": "x"},
        ...,
    ]
)


def places(value: Any, path: str = "") -> list[str]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [
        place for key, item in below if "/" not in str(key) for place in places(item, f"{path}/{key}")
    ]


@given(st.data())
def test_law_both_validators_come_to_the_same_verdict(data: st.DataObject) -> None:
    """What jsonschema-rs (with the rule that 1.0 is no integer) calls valid, strict jsonschema calls valid, and the reverse."""
    name, value = data.draw(st.sampled_from(BASES))
    for _ in range(data.draw(st.integers(0, 3))):
        value = edited(value, data.draw(st.sampled_from(places(value))), data.draw(junk))
        if not places(value):
            return
    slow = module._strict(name).is_valid(value)
    try:
        check_schema(document(value), name)
    except ContractError as error:
        assert not slow, error.problems
        assert not any(problem.message.startswith("the document doesn't satisfy") for problem in error.problems)
    else:
        assert slow


TIMES = {
    "2026-11-02T09:15:00Z": True,
    "2026-11-02t09:15:00.123456789z": True,
    "2024-02-29T00:00:00+14:00": True,
    "2016-12-31T23:59:60Z": True,
    "2017-01-01T00:59:60+01:00": True,
    "2026-11-02T09:15:60Z": False,
    "2026-02-29T00:00:00Z": False,
    "2026-11-02 09:15:00Z": False,
    "2026-11-02T09:15:00": False,
    "2026-11-02T24:00:00Z": False,
    "2026-11-02T09:15:00Z\n": False,
    "20261102T091500Z": False,
    "2026-11-02T09:15:00+25:00": False,
    "０026-11-02T09:15:00Z": False,
    "0001-01-01T00:00:00+23:59": False,
}


@pytest.mark.parametrize("text", TIMES)
def test_timestamps_are_really_checked(text: str) -> None:
    assert is_timestamp(text) is TIMES[text]


def test_the_schemas_demand_their_own_version() -> None:
    for name, value in BASES:
        assert json.dumps(value["schema_version"]) == json.dumps(
            load_schema(name)["properties"]["schema_version"]["const"]
        )


@pytest.mark.parametrize("wrong", [[0] * 300_000, {"metrics": {f"m{number}": "x" for number in range(100_000)}}])
def test_a_million_violations_are_not_all_told(wrong: Any) -> None:
    """The hundred first are told; nobody waits for, or holds in memory, the rest."""
    value = MANIFEST | ({"produced_artifacts": wrong} if isinstance(wrong, list) else wrong)
    assert len(problems(read_result_manifest, value)) == 100


def test_a_million_unknown_keys_are_not_all_told() -> None:
    assert len(problems(read_result_manifest, MANIFEST | {f"status{number}": 1 for number in range(50_000)})) == 100


def test_sentences_for_the_rarer_rules() -> None:
    assert problems(read_work_unit, edited(UNIT, "/objective", "")) == [
        ("/objective", 'expected at least 1 character, found ""')
    ]
    twice = edited(PLAN, "/required_validator_ids", ["a", "a"])
    assert ("/required_validator_ids", 'the entries must differ from each other, found ["a", "a"]') in problems(
        read_evaluator_plan, twice
    )
    assert problems(read_evaluator_plan, edited(PLANS["0.3"], "/verifier/adapter_version", "0.1")) == [
        ("/verifier/adapter_version", 'expected "0.2.0", found "0.1"')
    ]
    assert module._sentence("oneOf", [], {"a": 1}) == '{"a": 1} breaks the rule oneOf'


def test_integers_in_arrays_may_not_be_spelled_as_floats_either() -> None:
    """The result's own schema has them: the line of a finding."""
    draft = honest()
    finding = {"severity": "low", "category": "policy", "summary": "x", "line": 3}
    result = {
        "schema_version": "0.1", "id": "r", "result_manifest_id": "m", "work_unit_id": draft.unit["id"], "work_unit_version": 1,
        "attempt": 1, "verifier": PLAN["verifier"],
        "independence": {"independent_from_worker": True, "worker_id_observed": "w", "shared_model_family": False,
                         "shared_runtime": False},
        "status": "passed", "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:00Z",
        "checks": [{"id": "c", "type": "schema", "required": True, "status": "passed", "summary": "", "evidence_ids": []}],
        "evidence": [], "findings": [finding], "metrics": {},
        "resources": {"wall_seconds": 0, "cpu_seconds": 0, "max_rss_mb": 0},
        "provenance": {"result_manifest_digest": D, "work_unit_digest": D, "source_revision": "r", "verifier_config_digest": D,
                       "environment": {}},
        "decision_support": {"recommendation": "accept_candidate", "confidence": 1.0, "rationale": ""},
    }  # fmt: skip
    check_schema(document(result), "verification-result-0.1")
    finding["line"] = 3.0
    found = problems(lambda read: check_schema(read, "verification-result-0.1"), result)
    assert found == [("/findings/0/line", "expected integer, found number 3.0")]
