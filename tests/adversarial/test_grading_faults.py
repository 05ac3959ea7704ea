"""Each fault of the table by its name, in a process of its own: `make grading-faults` prints the same as a table."""

import subprocess
import sys

import pytest

from tests.adversarial.grading_faults import FAULTS
from tests.support.places import ROOT


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_submits_nothing_twice_and_makes_no_pass(name: str) -> None:
    command = [sys.executable, "-m", "tests.adversarial.grading_faults", "--only", name]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    if "not played:" in run.stdout:
        pytest.skip(" ".join(run.stdout.split("not played:")[1].split()))


def test_an_unknown_fault_is_said_to_be_one() -> None:
    command = [sys.executable, "-m", "tests.adversarial.grading_faults", "--only", "earthquake"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "earthquake" in run.stderr
