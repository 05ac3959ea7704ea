"""Patches of real commits: none is refused, and all are read as the repositories' trees say."""

import base64
import gzip
import json

import pytest

from idkmesh_rules.diff import read_patch, second_opinion
from tests.support.places import shared


def of_trees(entries):
    """Files as a patch tells them (a type change is a deletion and an addition), with both modes."""
    for letter, old_mode, new_mode, old, new in entries:
        if letter in "DT":
            yield ("delete", old, None), (old_mode, None)
        if letter in "AT":
            yield ("add", None, new), (None, new_mode)
        if letter in "MRC":
            yield ({"M": "change", "R": "rename", "C": "copy"}[letter], old, new), (old_mode, new_mode)


@pytest.mark.parametrize("name", ["click", "conftest"])
def test_real_commits_are_read_as_their_trees_say(name):
    commits = 0
    with gzip.open(shared("real-history", f"{name}.jsonl.gz"), "rt") as rows:
        for row in map(json.loads, rows):
            commits += 1
            patch = read_patch(base64.b64decode(row["patch_b64"]))
            assert patch.problem is None, (row["commit"], patch.problem)
            assert (patch.added_lines, patch.removed_lines, patch.prose_lines) == (row["added"], row["removed"], 0)
            names = {"modify": "change", "mode_only": "change"}
            told = {
                (names.get(file.operation, file.operation), file.old_path, file.new_path): (
                    file.old_mode,
                    file.new_mode,
                )
                for file in patch.files
            }
            true = dict(of_trees(row["files"]))
            assert told.keys() == true.keys(), row["commit"]
            for key, modes in true.items():
                for said, mode in zip(told[key], modes, strict=True):
                    assert said in (None, mode), (row["commit"], key)
            assert second_opinion(patch).verdict != "disagrees"
    assert commits > 500
