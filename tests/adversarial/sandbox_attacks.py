"""Attacks on the sandbox, all of which really run: `python -m tests.adversarial.sandbox_attacks [--only NAME]`.

Each is a hostile program, what has to be seen of it, and the control that holds it; *supervisor* stands for the
comparison on the host, which no job takes part in. What a machine can't enforce has to be absent from the controls that
the sandbox reports, and the row then says so. Root plays all of it twice, once as an unprivileged user, who has no control
groups. One attack that succeeds ends the command with 1.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.grading.values import GradingError
from idkmesh_rules.sandbox.controls import CONTROLS
from idkmesh_rules.sandbox.interface import SandboxUnavailable
from idkmesh_rules.sandbox.local import LocalSandbox
from idkmesh_rules.sandbox.runtime import reachable
from tests.adversarial.attacks import export, kernel, lifetime, network, one_process, reading, resources
from tests.adversarial.attacks.attack import Attack
from tests.adversarial.attacks.stage import BY_GROUPS, NotApplicable, NotHeld, Stage, call_numbers
from tests.support.places import ROOT
from tests.support.table import columns

HELD, ABSENT, NOT_APPLICABLE, BROKEN = "held", "not enforced, reported", "not applicable", "BROKEN"
UNPRIVILEGED = 65533

ITEMS = (
    "one process: equality", "one process: stack", "one process: reporters", "one process: shadow modules",
    "one process: os._exit", "one process: atexit", "exit status", "reading the evaluator", "descriptors", "ptrace",
    "namespaces", "fork bomb", "memory bomb", "processor time", "wall clock", "filling", "output flood", "closed stdio",
    "terminal", "setuid", "clocks", "other ABI", "unix sockets", "vsock", "netlink", "network", "io_uring",
    "links and devices as results", "export size", "export after the end", "daemons", "leaks", "signals", "oom score",
    "read-only places", "remount", "administrative calls", "newer system calls", "leftovers",
)  # fmt: skip
"""What the suite has to cover."""

_FAMILIES = (one_process, reading, kernel, network, resources, export, lifetime)
_PLAYED = [each for family in _FAMILIES for each in family.ATTACKS]
ATTACKS = {each.name: each for each in _PLAYED}
assert len(ATTACKS) == len(_PLAYED), "two attacks have one name"


class Row(NamedTuple):
    """A line of the table."""

    name: str
    item: str
    verdict: str
    control: str
    seen: str


_CALLED = (
    "adjtimex", "clock_adjtime", "clock_settime", "clone", "clone3", "io_uring_enter", "io_uring_register",
    "io_uring_setup", "kcmp", "memfd_create", "memfd_secret", "mq_open", "msgget", "name_to_handle_at",
    "open_by_handle_at", "perf_event_open", "pidfd_getfd", "process_madvise", "process_vm_readv",
    "process_vm_writev", "ptrace", "semget", "io_setup", "inotify_init", "inotify_init1", "setdomainname",
    "sethostname", "setns", "settimeofday", "shmat", "shmget", "socket", "socketpair", "unshare", *kernel.REFUSED,
    *kernel.ADMINISTRATIVE,
)  # fmt: skip


@contextmanager
def staged(sandbox: LocalSandbox) -> Iterator[Stage]:
    """The stage around a sandbox that is open."""
    stage = Stage(sandbox, call_numbers(_CALLED))
    try:
        yield stage
    finally:
        stage.close()


@contextmanager
def opened() -> Iterator[LocalSandbox]:
    """A sandbox; raises SandboxUnavailable."""
    sandbox = LocalSandbox(name="attacks")
    sandbox.open()
    try:
        yield sandbox
    finally:
        sandbox.close()


def played(stage: Stage, each: Attack) -> Row:
    """Play one attack, and hold what is seen of it against what has to be."""
    controls = stage.sandbox.controls
    absent = each.control in BY_GROUPS and each.control not in controls

    def row(verdict: str, seen: str) -> Row:
        return Row(each.name, each.item, verdict, each.control, " ".join(seen.split()))

    if each.control in CONTROLS and each.control not in controls and not absent:
        return row(BROKEN, "the control isn't reported, and no machine may lack it")
    try:
        seen = each.play(stage, each) if each.play else each.seen(stage.job(each.program, each.limits))
    except NotApplicable as error:
        return row(NOT_APPLICABLE, str(error))
    except NotHeld as error:
        return row(ABSENT if absent else BROKEN, str(error))
    except (GradingError, OSError, RuntimeError, ValueError) as error:
        stage.renew()
        return row(BROKEN, f"{type(error).__name__}: {error}")
    return row(ABSENT if absent else HELD, seen)


def play(sandbox: LocalSandbox, only: str | None = None) -> Iterator[Row]:
    """Play all attacks, or one, with a sandbox that is open."""
    with staged(sandbox) as stage:
        for each in ATTACKS.values():
            if only in (None, each.name):
                yield played(stage, each)


_UNAVAILABLE = "not played: "


class Elsewhere(Exception):
    """The attacks can't be played as another user; the message says why."""


def as_unprivileged(only: str | None = None) -> list[Row]:
    """The rows of this program, run by a user without any rights; raises Elsewhere."""
    if os.geteuid() != 0:
        raise Elsewhere("only root can become another user")
    version = f"python3.{sys.version_info[1]}"
    pythons = (Path(sys.executable), Path("/usr/bin", version), Path("/usr/local/bin", version))
    python = next((each for each in pythons if each.exists() and reachable(Path(os.path.realpath(each)))), None)
    packages = sysconfig.get_paths()["purelib"]
    if python is None or not reachable(Path(__file__)) or not reachable(Path(packages)):
        raise Elsewhere("another user can't reach the repository, its packages, or an interpreter of this version")
    run = subprocess.run(
        [python, "-m", "tests.adversarial.sandbox_attacks", "--rows", *(("--only", only) if only else ())],
        user=UNPRIVILEGED,
        group=UNPRIVILEGED,
        extra_groups=[],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = run.stdout.splitlines()
    if lines and lines[0].startswith(_UNAVAILABLE):
        raise Elsewhere(lines[0])
    return [Row(*json.loads(line)) for line in lines]


_WIDTHS = (27, 12, 17, 38)


def printed(cells: tuple[str, ...]) -> str:
    return columns(cells, _WIDTHS)


def table(title: str, rows: Iterable[Row], names: Iterable[str]) -> bool:
    """Print the rows as they come; whether there is one for each name, and every one is what it has to be."""
    print(title, "", printed(("attack", "verdict", "control", "what was seen")), sep="\n")
    print("-" * (sum(_WIDTHS) + 6), flush=True)
    counted, missing = Counter[str](), list(names)
    for row in rows:
        counted[row.verdict] += 1
        missing.remove(row.name)
        print(printed((row.name, row.verdict, row.control, row.seen)), flush=True)
    for name in missing:
        counted[BROKEN] += 1
        print(printed((name, BROKEN, ATTACKS[name].control, "not played")), flush=True)
    print("", ", ".join(f"{number} {verdict}" for verdict, number in counted.items()), "", sep="\n")
    return not counted[BROKEN]


def _host(name: str, token: str) -> None:
    """Be a host that is going to be killed."""
    with opened() as sandbox, staged(sandbox) as stage:
        stage.job(ATTACKS[name].program, known={"token": token})


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(ATTACKS), metavar="NAME", help="play this one")
    parser.add_argument("--rows", action="store_true", help="print rows as JSON, and as the present user only")
    parser.add_argument("--host", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    names = [asked.only] if asked.only else list(ATTACKS)
    if asked.host:
        _host(*asked.host)
        return 0
    try:
        with opened() as sandbox:
            if asked.rows:
                for row in play(sandbox, asked.only):
                    print(json.dumps(row), flush=True)
                return 0
            whole = table(f"As uid {os.geteuid()}", play(sandbox, asked.only), names)
    except SandboxUnavailable as error:
        print(f"{_UNAVAILABLE}{error}")
        return 1
    if os.geteuid() == 0:
        try:
            rows = as_unprivileged(asked.only)
            whole = table(f"As uid {UNPRIVILEGED}, which has no control groups", rows, names) and whole
        except Elsewhere as error:
            print(f"Not as uid {UNPRIVILEGED}: {error}")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
