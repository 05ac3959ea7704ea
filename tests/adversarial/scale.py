"""What is too large for a test: `python -m tests.adversarial.scale [FILES]` makes a workspace of a million files.

It takes the baseline, makes a plan of it, changes the workspace at three places, and evaluates it, in processes of their
own; then it prints what each step took, and fails if one of them came out wrong.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.bundles import Bundle, builder, make

ROOT = Path(__file__).resolve().parents[2]


def run(title: str, *arguments: str | Path, code: int = 0) -> str:
    """Run `idkrules`, print what it took, and return what it printed."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    found = subprocess.run(
        [sys.executable, "-m", "idkmesh_rules", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{title:10} {seconds:7.1f} s  {cpu:7.1f} s CPU  peak so far {after.ru_maxrss // 1024:6} MiB  exit {found.returncode}"
    )
    assert found.returncode == code, found.stdout[-2000:] + found.stderr[-2000:]
    return found.stdout


def fill(root: Path, count: int) -> None:
    """Files of 100 bytes, a thousand a directory."""
    block = os.urandom(92)
    for number in range(count):
        if number % 1000 == 0:
            directory = root / "src" / f"{number // 1000:05}"
            directory.mkdir(parents=True)
        (directory / f"{number:08}.txt").write_bytes(number.to_bytes(8, "big") + block)


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        bundle: Bundle = make(place / "case", kind=builder.WorkspaceDraft)
        fill(bundle.candidate, count)
        print(f"{count:,} files of 100 bytes")
        baseline, plan = place / "baseline.json", place / "plan.json"
        print(run("snapshot", "snapshot", "--root", bundle.candidate, "--output", baseline), end="")
        checks = ("--check", "change-scope=scope", "--check", "artifact-integrity=artifact_digest")
        run(
            "new plan",
            "new",
            "plan",
            "--work-unit",
            bundle.work_unit,
            "--baseline",
            baseline,
            *checks,
            "--output",
            plan,
        )
        (bundle.candidate / "src" / "00000" / "00000007.txt").write_bytes(b"changed")
        (bundle.candidate / "src" / "00000" / "00000008.txt").unlink()
        (bundle.candidate / "docs" / "new.md").write_bytes(b"added")
        plan.replace(bundle.plan)
        arguments = bundle.arguments(place / "out")
        run("evaluate", *arguments, code=1)
        facts = json.loads((place / "out" / "facts.json").read_text())
        changes = next(kind for kind in facts["kinds"] if kind["kind"] == "workspace.change")
        found = {fact["fields"]["path"]: fact["fields"]["change"] for fact in changes["facts"]}
        assert found == {
            "src/00000/00000007.txt": "modified",
            "src/00000/00000008.txt": "deleted",
            "docs/new.md": "added",
        }, found
        print("the three changes were found, and nothing else")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
