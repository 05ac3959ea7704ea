"""The floors of the workspace and of the exact-JSON backend: what no rule bundle may leave out."""

import pytest

from idkmesh_rules.checks import backend_kinds
from idkmesh_rules.model.bundle import Bundle
from idkmesh_rules.policy import bind_parameters, floor_for, load_bundle
from idkmesh_rules.policy.prove import prove_floor
from idkmesh_rules.resources import shipped_bundle

SHIPPED = {"exact_json": "exact-json", "workspace": "workspace"}


def text_of(backend: str) -> str:
    directory = shipped_bundle(SHIPPED[backend])
    assert directory is not None
    return (directory / "bundle.yaml").read_text()


def holes(bundle: Bundle) -> list[str]:
    floor = floor_for(bundle.backend, backend_kinds(bundle.backend))
    return [problem.message for problem in prove_floor(bundle, floor, bind_parameters(bundle, {}))]


@pytest.mark.parametrize("backend", SHIPPED)
def test_the_shipped_bundle_is_at_or_above_the_floor(backend: str) -> None:
    assert holes(load_bundle(text_of(backend).encode(), "bundle.yaml", backend_kinds)) == []


@pytest.mark.parametrize("backend", SHIPPED)
def test_each_part_of_the_floor_is_needed(backend: str) -> None:
    """Dropping any condition that states a part of the floor is found, so none is implied by accident."""
    loaded = load_bundle(text_of(backend).encode(), "bundle.yaml", backend_kinds)
    for part in floor_for(backend, backend_kinds(backend)).leaves:
        assert part.name in loaded.conditions
        conditions = {name: rule for name, rule in loaded.conditions.items() if name != part.name}
        validators = {
            name: type(each)(each.id, tuple(child for child in each.children if child != part.name), each.mark)
            for name, each in loaded.validators.items()
        }
        fewer = Bundle(
            loaded.id, loaded.version, loaded.owner, backend, loaded.digest, loaded.parameters, conditions, validators, (),
            loaded.name, loaded.mark)  # fmt: skip
        assert [part.name in message for message in holes(fewer)] == [True]


# what is changed in a shipped bundle, and the part of the floor that it then falls below
INTACT = "must: {state: regular, within_limit: true, digest_matches: true}"
WEAKENED = {
    "JSON: any state": ("exact_json", INTACT, "must: {state: regular, within_limit: true}", "answer-intact"),
    "JSON: any size": ("exact_json", INTACT, "must: {state: regular, digest_matches: true}", "answer-intact"),
    "JSON: more files": (
        "exact_json", "must: {expected: true, present: true, type: file}", "must: {present: true, type: file}",
        "files-as-allowed"),
    "JSON: missing files": (
        "exact_json", "must: {expected: true, present: true, type: file}", "must: {expected: true, type: {not: symlink}}",
        "files-as-allowed"),
    "JSON: links": (
        "exact_json", "must: {expected: true, present: true, type: file}", "must: {expected: true, present: true}",
        "files-as-allowed"),
    "JSON: lenient": ("exact_json", "must: {well_formed: true}", "must: {line: {not: 1}}", "json-well-formed"),
    "JSON: nearly equal": ("exact_json", "must: {equal: true}", "must: {nodes_compared: {at_least: 3}}", "json-equal"),
    "JSON: nobody bound": ("exact_json", "must: {matches: true}", "must: {field: work_unit_id}", "manifest-bound"),
    "JSON: worker failed": ("exact_json", "must: {status: succeeded}", "must: {status: {not: error}}", "worker-succeeded"),
    "workspace: reserved paths": (
        "workspace", "must: {authorized: true}", "must: {allowed: true, writable: true, forbidden: false}",
        "paths-authorized"),
    "workspace: deletions": (
        "workspace", "    every: workspace.change\n",
        "    every: workspace.change\n    where: {change: {not: deleted}}\n", "paths-authorized"),
    "workspace: links": ("workspace", "must: {type: file}", "must: {type: {in: [file, symlink]}}", "only-plain-files"),
    "workspace: artifacts of other bytes": (
        "workspace", INTACT, "must: {state: regular, within_limit: true}", "artifacts-intact"),
    "workspace: not requested": (
        "workspace", "must: {requested_by_worker: true}", "must: {covered_by_plan: true}", "validators-requested"),
}  # fmt: skip


@pytest.mark.parametrize("name", WEAKENED)
def test_a_weakened_bundle_is_found_out(name: str) -> None:
    backend, old, new, part = WEAKENED[name]
    text = text_of(backend)
    assert text.count(old) == 1
    found = holes(load_bundle(text.replace(old, new).encode(), "bundle.yaml", backend_kinds))
    assert [f"which demands {part}: " in message for message in found] == [True]


def test_a_split_authority_is_as_good_as_the_whole() -> None:
    parts = "must: {allowed: true, writable: true, forbidden: false, reserved: false}"
    text = text_of("workspace").replace("must: {authorized: true}", parts)
    assert holes(load_bundle(text.encode(), "bundle.yaml", backend_kinds)) == []
