"""Every document in the place of every other: one sentence instead of a hundred, and no words of a hidden plan."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import Refusal
from tests.support.bundles import make

NAMES = {"work_unit": "a WorkUnit", "manifest": "a result manifest", "plan": "an evaluator plan"}


def hidden(draft: Any) -> None:
    draft.plan.update(visibility="hidden")
    draft.plan["backend"]["required_added_text"] = ["SECRET"]


@pytest.mark.parametrize(("given", "place"), tuple(permutations(NAMES, 2)))
def test_a_document_in_the_place_of_another_is_called_that(tmp_path: Path, given: str, place: str) -> None:
    bundle = make(tmp_path, hidden)
    target: Path = getattr(bundle, place)
    target.write_bytes(getattr(bundle, given).read_bytes())
    with pytest.raises(Refusal) as caught:
        bundle.evaluate()
    told = [problem.message for problem in caught.value.problems]
    assert told == [f"this is {NAMES[given]}, where {NAMES[place]} belongs"]
    assert caught.value.problems[0].hint == "were two options exchanged?" or place == "plan"
    assert "SECRET" not in str(caught.value.problems)


def test_a_document_that_is_merely_wrong_is_told_by_its_mistakes(tmp_path: Path) -> None:
    bundle = make(tmp_path)
    bundle.rewrite("work-unit.json", lambda unit: unit.pop("objective") and unit.update(worker={}, self_report={}))
    with pytest.raises(Refusal) as caught:
        bundle.evaluate()
    assert 'the key "objective" is missing' in [problem.message for problem in caught.value.problems]
