"""`idkrules patch` and the shipped bundle come to the same verdict on the same bytes."""

import json
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.paths import PathAuthority
from idkmesh_rules.pipeline.inspection import inspect_patch
from idkmesh_rules.pipeline.rules import shipped_parameter
from tests.support.bundles import blamed, builder, make
from tests.support.places import FIXTURES, shared

# What a patch by itself can't show: the claim around it, its digest, the lines that a plan demands.
OF_THE_BUNDLE_ONLY = {"required-lines-present"}


def same_verdict(place: Path, data: bytes, allow: list[str], allow_prose: bool) -> bool:
    def edit(draft: Any) -> None:
        draft.files["changes.patch"] = data
        draft.unit["constraints"] = {"allowed_paths": allow, "forbidden_paths": [], "policies": []}
        draft.unit["permissions"]["filesystem_write"] = allow
        draft.plan["backend"]["max_candidate_bytes"] = 10**8
        if allow_prose:
            draft.plan["extensions"] = {"org.idkmesh.rules": {"parameters": {"max_prose_lines": 10**6}}}

    decided = {condition for _, condition in blamed(make(place, edit).evaluate())} - OF_THE_BUNDLE_ONLY
    inspected = inspect_patch(data, PathAuthority(tuple(allow), tuple(allow), ()), allow_prose=allow_prose)
    return (not decided) == (inspected.fault is None)


@pytest.mark.parametrize("allow_prose", [False, True])
def test_over_the_fixtures(tmp_path: Path, allow_prose: bool) -> None:
    patches = {path.read_bytes() for path in FIXTURES.glob("*/*/candidate/changes.patch")}
    assert len(patches) > 20
    for number, data in enumerate(sorted(patches)):
        assert same_verdict(tmp_path / str(number), data, ["docs/**", "README.md"], allow_prose), data


@pytest.mark.parametrize("allow_prose", [False, True])
def test_over_the_hostile_and_honest_cases(tmp_path: Path, allow_prose: bool) -> None:
    cases = sorted(path.parent for path in shared("patch-cases").glob("*/expect.json"))
    different = [
        case.name
        for case in cases
        if not same_verdict(
            tmp_path / case.name,
            (case / "changes.patch").read_bytes(),
            json.loads((case / "expect.json").read_text())["allow"],
            allow_prose,
        )
    ]
    assert cases
    assert different == []


def test_the_number_of_files_is_the_shipped_parameter(tmp_path: Path) -> None:
    most = shipped_parameter("unified-diff", "max_changed_files")
    assert isinstance(most, int)
    for count, reason in ((most, None), (most + 1, "too-many-files")):
        data = "".join(builder.OTHER_FILE.format(path=f"docs/{number}") for number in range(count)).encode()
        fault = inspect_patch(data, PathAuthority(("**",), ("**",), ())).fault
        assert (fault.reason if fault else None) == reason
        assert same_verdict(tmp_path / str(count), data, ["**"], False)
