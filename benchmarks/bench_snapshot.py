"""A snapshot against `find | xargs -P2 sha256sum`, warm, in one run: `python benchmarks/bench_snapshot.py [FILES]`.

Three trees: 20,000 files as large as source files are (1 to 32 KiB), 20,000 of 4 KiB, where opening costs more than hashing,
and one GiB in four files. Both programs run in turn on the same tree, so that both meet the
same machine; the ratio is the peer's time by ours, and has to be 0.9 at least. Beside the use case, the whole command is
timed, start-up included. At the end, how memory grows: with the number of files, and not with what they hold.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from idkmesh_rules.model.limits import Limits
from idkmesh_rules.pipeline.snapshot import snapshot

ROOT = Path(__file__).resolve().parent.parent
_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
LIMITS = Limits()._replace(tree_entries=20_000_000)


def many_files(place: Path, count: int, sizes: tuple[int, ...] = (4096,)) -> Path:
    """`count` files of these sizes in turn, a hundred a directory."""
    root = place / f"many-{len(sizes)}"
    block = os.urandom(max(sizes))
    for number in range(count):
        if number % 100 == 0:
            directory = root / f"{number // 10_000:03}" / f"{number // 100 % 100:02}"
            directory.mkdir(parents=True)
        (directory / f"file-{number:07}").write_bytes(number.to_bytes(8, "big") + block[8 : sizes[number % len(sizes)]])
    return root


def large_files(place: Path) -> Path:
    """One GiB in four files."""
    root = place / "large"
    root.mkdir()
    for number in range(4):
        with (root / f"part-{number}").open("wb") as file:
            for _ in range(256):
                file.write(os.urandom(2**20))
    return root


def compare(title: str, root: Path, runs: int) -> None:
    """Print the medians and what they come to as ratios."""
    with tempfile.TemporaryDirectory(dir=_MEMORY) as scratch:
        output = Path(scratch) / "baseline.json"
        peer_output = Path(scratch) / "peer"
        command = f"find {root} -type f -print0 | xargs -0 -P2 sha256sum > {peer_output}"
        idkrules = [sys.executable, "-m", "idkmesh_rules", "snapshot", "--root", str(root), "--output", str(output)]
        contenders: dict[str, Callable[[], object]] = {
            "find | xargs -P2 sha256sum": lambda: subprocess.run(command, shell=True, check=True),
            "snapshot": lambda: snapshot(root, output, limits=LIMITS),
            "idkrules snapshot, start-up included": lambda: subprocess.run(
                idkrules, check=True, stdout=subprocess.DEVNULL, cwd=ROOT
            ),
        }
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for number in range(runs + 1):
            for name, run in contenders.items():
                output.unlink(missing_ok=True)
                started = time.perf_counter()
                run()
                if number:  # the first round warms the cache
                    times[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(found) for name, found in times.items()}
    peer = medians["find | xargs -P2 sha256sum"]
    print(title)
    for name, median in medians.items():
        print(f"  {name:38} {median * 1000:8.0f} ms  ratio {peer / median:5.2f}")


def memory(title: str, root: Path) -> None:
    """Print the peak memory of a process that does nothing but take the snapshot."""
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from idkmesh_rules.model.limits import Limits; from idkmesh_rules.pipeline.snapshot import snapshot\n"
        "limits = Limits()._replace(tree_entries=20_000_000)\n"
        "taken = snapshot(Path(sys.argv[1]), Path(sys.argv[2]), limits=limits)\n"
        "print(taken.files, taken.content_bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    with tempfile.TemporaryDirectory(dir=_MEMORY) as scratch:
        run = [sys.executable, "-c", code, str(root), f"{scratch}/out"]
        started = time.perf_counter()
        found = subprocess.run(run, check=True, capture_output=True, text=True, cwd=ROOT).stdout.split()
        seconds = time.perf_counter() - started
    files, content, peak = map(int, found)
    print(f"  {title:24} {files:9,} files {content / 2**20:7,.0f} MiB  {seconds:6.1f} s  peak {peak:5} MiB")


def main(count: int) -> None:
    """Run everything on scratch trees; only the figures for a million files come from a larger `count`."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        large = large_files(place)
        if count <= 20_000:
            mixed = many_files(place, count, tuple(1024 << step for step in range(6)))
            compare(f"{count:,} files of 1 to 32 KiB (bound: ratio 0.9)", mixed, 7)
            many = many_files(place, count)
            compare(f"{count:,} files of 4 KiB (bound: ratio 0.9)", many, 7)
            compare("1 GiB in four files (bound: ratio 0.9)", large, 3)
        else:
            many = many_files(place, count)
        print("memory")
        memory("many files", many)
        memory("large files", large)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
