"""A grading that is killed at each of its steps: no job starts twice, nothing survives, and the answer stays one."""

import pytest

from tests.adversarial.graded_kills import FILES, fault_of, killed_after
from tests.support.graded import needs


@pytest.mark.parametrize("files", range(1, FILES + 1))
def test_a_killed_grading_starts_nothing_twice(files: int) -> None:
    needs()
    row = killed_after(files)
    assert not fault_of(row), row
