"""Where two JSON values differ, as an auditor wants to be told."""

import pytest

from idkmesh_rules.audit.differences import ABSENT, differing, pointer_of

CASES = {
    "nothing": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
    "a value": ({"a": {"b": 1}}, {"a": {"b": 2}}, [("/a/b", 1, 2)]),
    "true is not 1": ([True], [1], [("/0", True, 1)]),
    "1 is not 1.0": ([1], [1.0], [("/0", 1, 1.0)]),
    "a key too many": ({"a": 1, "b": 2}, {"a": 1}, [("/b", 2, ABSENT)]),
    "a key too few": ({}, {"a": None}, [("/a", ABSENT, None)]),
    "keys in the order of their names": ({"b": 1, "a": 1}, {"b": 2, "a": 2}, [("/a", 1, 2), ("/b", 1, 2)]),
    "another type": ({"a": []}, {"a": {}}, [("/a", [], {})]),
    "two entries of one array": ([1, 2, 3], [0, 2, 4], [("/0", 1, 0), ("/2", 3, 4)]),
    "an entry taken out of the middle": ([1, 3], [1, 2, 3], [("/1", ABSENT, 2)]),
    "two entries put at the end": ([1, 2, 3], [1], [("/1", 2, ABSENT), ("/2", 3, ABSENT)]),
    "an array that is shorter and different": (
        [1, 9],
        [1, 2, 3],
        [("", "2 entries", "3 entries"), ("/1", 9, 2)],
    ),
    "a key with a slash": ({"a/b~": 1}, {"a/b~": 2}, [("/a~1b~0", 1, 2)]),
}


@pytest.mark.parametrize("what", CASES)
def test_differences_are_told_by_pointer_with_both_values(what: str) -> None:
    one, other, expected = CASES[what]
    assert [(pointer_of(path), a, b) for path, a, b in differing(one, other)] == expected
