"""Bundles that were read before: the tree is the one in the file, and the bundle made of it is the same bundle."""

import pytest

from idkmesh_rules.checks import backend_kinds
from idkmesh_rules.model.bundle import Mark
from idkmesh_rules.policy import load_bundle
from idkmesh_rules.policy.parsed import from_json, to_json
from idkmesh_rules.policy.yaml_reader import Broken, read_yaml
from idkmesh_rules.resources import proven_bundles, shipped_bundle, shipped_bundle_ids


@pytest.mark.parametrize("name", shipped_bundle_ids())
def test_a_proven_bundle_is_the_bundle_in_the_file(name: str) -> None:
    place = shipped_bundle(name)
    assert place is not None
    data = (place / "bundle.yaml").read_bytes()
    read = load_bundle(data, "bundle.yaml", backend_kinds)
    tree = proven_bundles()[read.digest]
    assert from_json(tree) == read_yaml(data, "bundle.yaml")[0]
    kept = load_bundle(data, "bundle.yaml", backend_kinds, tree=tree)
    assert kept == read
    assert [condition.mark for condition in kept.conditions.values()] == [
        condition.mark for condition in read.conditions.values()
    ]


def test_a_tree_comes_back_as_it_went_in() -> None:
    root = read_yaml(b'a: [1, "2", {b: "c: d", e: []}]\nf:\n  g: |\n    text\n', "x.yaml")[0]
    assert from_json(to_json(root)) == root


def test_a_tree_with_mistakes_is_not_kept() -> None:
    with pytest.raises(TypeError):
        to_json(Broken(Mark(1, 1)))
