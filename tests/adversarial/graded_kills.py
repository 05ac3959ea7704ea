"""`idkrules grade` killed with SIGKILL at every step, and asked again: what it came to, and how often each job was started.

`make grading-kills` prints the table. The host's state grows by one file a step, so the kill comes when the n-th file is
there. Starts are counted outside of everything: by a bubblewrap that writes down what it is called with.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.contracts.digest import bytes_digest
from tests.support.graded import Graded
from tests.support.places import ROOT

FILES = 16
"""More than a whole run leaves, so that the last rows show runs that nobody killed."""

_PROGRAMS = ("candidate/run.py", "grader/run.py")
_SLOW = "import time\ntime.sleep(0.15)\n"
_GRADE = """
import sys
from pathlib import Path
from idkmesh_rules.pipeline.grade import grade
from idkmesh_rules.sandbox.local import LocalSandbox

place, output, bwrap = map(Path, sys.argv[1:])
case = place / "example" / "cases" / "honest"
print(grade(
    place / "example" / "work-unit.json", case / "result-manifest.json", place / "example" / "evaluator-plan.json",
    case / "candidate", place / "journal", sandbox=LocalSandbox(bwrap=str(bwrap)), output_dir=output,
).recommendation.value)
"""


class Row(NamedTuple):
    """What became of one kill: the step it came at, the first answer after it, and how often each job was started."""

    files: int
    last: str
    answer: str
    starts: tuple[int, ...]
    survivors: tuple[str, ...]


@contextmanager
def _stage() -> Iterator[Path]:
    """A place whose programs an unprivileged user may execute."""
    place = Path(tempfile.mkdtemp(prefix="graded-kills-", dir="/tmp"))
    try:
        place.chmod(0o755)
        example = Graded(place / "example")
        solution = example.candidate("honest") / "solution.py"
        solution.write_text(solution.read_text() + _SLOW)
        digest = bytes_digest(solution.read_bytes())
        manifest = "cases/honest/result-manifest.json"
        example.rewrite(lambda value: value["produced_artifacts"][0].update(digest=digest), manifest)
        (place / "starts").touch()
        (place / "starts").chmod(0o666)
        bwrap = place / "bwrap"
        bwrap.write_text(f'#!/bin/sh\necho "$@" >> {place}/starts\nexec /usr/bin/bwrap "$@"\n')
        bwrap.chmod(0o755)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _graded(place: Path, number: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _GRADE, place, place / f"out-{number}", place / "bwrap"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _files(place: Path) -> list[str]:
    journal = place / "journal"
    found = [each for name in ("jobs", "calls/*") for each in journal.glob(f"{name}/*") if each.is_file()]
    return [each.name.partition("-")[0] for each in sorted(found, key=lambda each: each.stat().st_mtime_ns)]


def _alive() -> tuple[str, ...]:
    """The command lines of jobs that still run, after the time that the kernel needs to end them."""
    until, found = time.monotonic() + 5, ("",)
    while found and time.monotonic() < until:
        found = tuple(
            line for each in Path("/proc").glob("[0-9]*") if "/evaluator/protected" in (line := _command_line(each))
        )
        time.sleep(0.02)
    return found


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def killed_after(files: int) -> Row:
    """Kill a run when so many files are there, look for survivors, and ask again twice; raises AssertionError."""
    with _stage() as place:
        run = _graded(place, 0)
        while run.poll() is None and len(_files(place)) < files:
            time.sleep(0.0005)
        there = _files(place)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        survivors = _alive()
        answers = []
        for number in (1, 2):
            again = _graded(place, number)
            told, error = again.communicate(timeout=60)
            assert again.returncode == 0, error
            answers.append(told.strip())
        assert answers[0] == answers[1], f"asked twice, it said {answers}"
        calls = (place / "starts").read_text()
        starts = tuple(calls.count(f"/evaluator/protected/{program}\n") for program in _PROGRAMS)
        return Row(files, there[-1] if there else "nothing", answers[0], starts, survivors)


def fault_of(row: Row) -> str:
    """What is wrong with a row; empty for nothing."""
    if max(row.starts) > 1:
        return f"a job was started twice: {row.starts}"
    if row.survivors:
        return f"processes of the job were left: {row.survivors}"
    if row.answer == "accept_candidate":
        return "" if row.starts == (1, 1) else "accepted without both jobs"
    return "" if row.answer == "insufficient_evidence" else f"it came to {row.answer}"


def main() -> int:
    """Print the table; 0 if every row is right."""
    wrong = 0
    print("killed after   last file there   asked again              starts of candidate, grader")
    for files in range(1, FILES + 1):
        row = killed_after(files)
        fault = fault_of(row)
        wrong += bool(fault)
        print(
            f"{files:6} files   {row.last:15}   {row.answer:22}   {row.starts[0]}, {row.starts[1]}   {fault}",
            flush=True,
        )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
