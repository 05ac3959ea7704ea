"""Each attack on the sandbox by its name, as the present user and as one without rights: `make sandbox-attacks` prints them.

What the attacks have to come to is said beside each of them; a test only asks that it did.
"""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from idkmesh_rules.sandbox.controls import BY_CONSTRUCTION
from idkmesh_rules.sandbox.interface import SandboxUnavailable
from tests.adversarial.attacks.attack import SUPERVISOR
from tests.adversarial.attacks.stage import BY_GROUPS, Stage
from tests.adversarial.sandbox_attacks import (
    ABSENT,
    ATTACKS,
    HELD,
    ITEMS,
    NOT_APPLICABLE,
    Elsewhere,
    Row,
    as_unprivileged,
    opened,
    played,
    staged,
)
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    try:
        with opened() as sandbox, staged(sandbox) as stage:
            yield stage
    except SandboxUnavailable as error:
        pytest.skip(f"no sandbox can be had here: {error}")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    """Played once, whichever of several test processes comes first."""
    shared = tmp_path_factory.getbasetemp()
    kept = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "unprivileged-attacks"
    with kept.open("a+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        text = stream.read()
        if not text:
            try:
                found: list[Row] | str = as_unprivileged()
            except Elsewhere as error:
                found = str(error)
            text = json.dumps(found)
            stream.write(text)
    read = json.loads(text)
    if isinstance(read, str):
        pytest.skip(read)
    return {row.name: row for row in (Row(*each) for each in read)}


def as_it_has_to_be(row: Row) -> None:
    if row.verdict == NOT_APPLICABLE:
        pytest.skip(row.seen)
    assert row.verdict in (HELD, ABSENT), f"{row.control} doesn't hold it: {row.seen}"


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_held_or_reported(name: str, stage: Stage) -> None:
    as_it_has_to_be(played(stage, ATTACKS[name]))


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_held_or_reported_without_any_rights(name: str, rows: dict[str, Row]) -> None:
    assert name in rows, "it wasn't played; see what the program printed"
    as_it_has_to_be(rows[name])


def test_nothing_but_control_groups_may_be_absent_for_a_user_without_rights(rows: dict[str, Row]) -> None:
    assert {row.control for row in rows.values() if row.verdict == ABSENT} <= BY_GROUPS


def test_every_item_is_covered_and_no_other() -> None:
    assert {each.item for each in ATTACKS.values()} == set(ITEMS)


def test_every_control_holds_an_attack() -> None:
    assert {each.control for each in ATTACKS.values()} == BY_CONSTRUCTION | BY_GROUPS | {SUPERVISOR}


def test_an_attack_that_succeeds_fails_the_command() -> None:
    program = (
        "import sys\n"
        "from idkmesh_rules.sandbox import seccomp\n"
        "seccomp.REFUSED = tuple(each for each in seccomp.REFUSED if each != 'kcmp')\n"
        "from tests.adversarial.sandbox_attacks import main\n"
        'sys.exit(main(["--only", "other processes\' memory and calls"]))\n'
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    if "not played: " in run.stdout:
        pytest.skip(run.stdout)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "BROKEN" in run.stdout
    assert "kcmp: " in run.stdout
