"""Where no control group can be had: limits of each process do what they can, and nothing more is reported."""

from collections.abc import Iterator

import pytest

from idkmesh_rules.grading.values import JobLimits, JobOutcome
from idkmesh_rules.sandbox import cgroup
from idkmesh_rules.sandbox.controls import BY_CONSTRUCTION
from idkmesh_rules.sandbox.local import LocalSandbox
from tests.support.graded import needs, python

LIMITS = JobLimits(20, 1, 64 << 20, 4, 10_000, 1000)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    needs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cgroup, "_parents", dict)
        sandbox = LocalSandbox(name="bare")
        sandbox.open()
    yield sandbox
    sandbox.close()


def test_what_needs_groups_is_not_reported(sandbox: LocalSandbox) -> None:
    assert sandbox.controls == BY_CONSTRUCTION
    finished = sandbox.run(python("pass"), {})
    assert set(finished.enforced) == BY_CONSTRUCTION
    assert (finished.usage.cpu_seconds, finished.usage.peak_bytes) == (None, None)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("held = bytearray(200 << 20)", b"MemoryError"),
        ("import os, time\nfor _ in range(10): os.fork() or time.sleep(1)", b"Resource temporarily unavailable"),
        ("open('/tmp/a', 'wb').write(b'x' * (80 << 20))", b"MemoryError"),
    ],
)
def test_a_process_that_takes_too_much_is_refused_it(sandbox: LocalSandbox, program: str, said: bytes) -> None:
    finished = sandbox.run(python(program, limits=LIMITS), {})
    assert (finished.outcome, finished.exit_code) == (JobOutcome.EXITED, 1)
    assert said in finished.stderr.data


def test_a_process_that_computes_for_too_long_is_killed(sandbox: LocalSandbox) -> None:
    finished = sandbox.run(python("while True: pass", limits=LIMITS), {})
    assert finished.outcome is JobOutcome.SIGNALED
    assert 1 <= finished.usage.wall_seconds < LIMITS.wall_seconds
