"""One evaluation, warm in a process and cold from the shell: `python benchmarks/bench_evaluate.py`.

Warm: schemas and bundle compiled, documents and candidate read anew each time, on the real bundle when the shared material
is there, else on the honest fixture. Cold: `idkrules evaluate` against an empty one-command typer app, one after the other
in turn, so that both meet the same machine.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from idkmesh_rules import evaluate

ROOT = Path(__file__).resolve().parent.parent
# What the disk is busy with is none of the program's cost: where there is a file system in memory, evidence goes there.
_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
EMPTY = "import typer\napp = typer.Typer()\n@app.command()\ndef main() -> None:\n    pass\napp()\n"


def bundle() -> Path:
    """The real bundle, or the honest fixture."""
    shared = Path(os.environ.get("IDKRULES_SHARED") or ROOT.parent / "shared") / "real-bundles" / "node-e2e-2026-08-30"
    return shared if shared.is_dir() else ROOT / "fixtures" / "accept" / "unified-diff--honest-patch"


def warm(place: Path, runs: int = 300) -> None:
    """Print the median of `evaluate` without and with evidence, in milliseconds."""
    documents = [
        place / name for name in ("work-unit.json", "result-manifest.json", "evaluator-plan.json", "candidate")
    ]
    with tempfile.TemporaryDirectory(dir=_MEMORY) as scratch:
        for title, target, bound in (
            ("without evidence", None, 2.0),
            ("with evidence, not synced", Path(scratch), 5.0),
        ):
            times = []
            for number in range(runs + 20):
                output = None if target is None else target / str(number)
                started = time.perf_counter()
                evaluation = evaluate(*documents, output_dir=output, durable=False)
                times.append((time.perf_counter() - started) * 1000)
                assert evaluation.exit_code == 0
            counted = sorted(times[20:])
            middle, high = statistics.median(counted), counted[int(runs * 0.95)]
            print(f"warm, {title}: median {middle:.2f} ms, 95 % below {high:.2f} ms (bound {bound} ms)")


def cold(place: Path, runs: int = 15) -> None:
    """Print whole-process times of both programs, run in turn, and the ratio of the medians."""
    ours: list[float] = []
    empty: list[float] = []
    with tempfile.TemporaryDirectory(dir=_MEMORY) as scratch:
        program = Path(scratch) / "empty.py"
        program.write_text(EMPTY)
        idkrules = [
            str(Path(sys.executable).parent / "idkrules"),
            "evaluate",
            "--quiet",
            "--work-unit",
            str(place / "work-unit.json"),
            "--result-manifest",
            str(place / "result-manifest.json"),
            "--evaluator-plan",
            str(place / "evaluator-plan.json"),
            "--candidate-root",
            str(place / "candidate"),
            "--output-dir",
        ]
        for number in range(runs + 2):
            for times, command in (
                (empty, [sys.executable, str(program)]),
                (ours, [*idkrules, f"{scratch}/out-{number}"]),
            ):
                started = time.perf_counter()
                subprocess.run(command, check=True)
                times.append((time.perf_counter() - started) * 1000)
    a, b = statistics.median(ours[2:]), statistics.median(empty[2:])
    print(f"cold: idkrules evaluate {a:.0f} ms, empty typer app {b:.0f} ms, ratio {a / b:.2f} (bound 1.5)")


if __name__ == "__main__":
    print(f"bundle: {bundle().name}")
    warm(bundle())
    cold(bundle())
