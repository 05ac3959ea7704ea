"""Reading patches: against whatthepatch and unidiff on the same bytes, in one run.

    python benchmarks/bench_diff.py [--history DIR] [--quick]

Prints milliseconds (best of several), how many times longer the others take, what the second opinion costs, peak memory
above the input, and how the time grows over three decades of input.
"""

import argparse
import base64
import gzip
import json
import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import unidiff
import whatthepatch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from idkmesh_rules.diff import read_patch, second_opinion

HEADER = b"diff --git a/%(path)b b/%(path)b\nindex 1234567..89abcde 100644\n--- a/%(path)b\n+++ b/%(path)b\n"


def many_files(count: int) -> bytes:
    hunk = (
        b"@@ -1,6 +1,7 @@ def f():\n     first = 1\n     second = 2\n-    return first\n+    third = 3\n"
        b"+    return first + third\n \n     # the end\n \n"
    )
    return b"".join(HEADER % {b"path": b"src/package%d/module%d.py" % (at % 50, at)} + hunk for at in range(count))


def many_hunks(count: int) -> bytes:
    return HEADER % {b"path": b"src/large.py"} + b"".join(
        b"@@ -%d,7 +%d,7 @@ def function():\n context one\n context two\n context three\n-old line %d\n+new line %d\n"
        b" context four\n context five\n context six\n" % (at * 20 + 1, at * 20 + 1, at, at)
        for at in range(count)
    )


def long_content(lines: int) -> bytes:
    start = b"diff --git a/a.py b/a.py\nnew file mode 100644\nindex 0000000..89abcde\n--- /dev/null\n+++ b/a.py\n"
    body = b"".join(b"+line %d of a file that is being added\n" % at for at in range(lines))
    return start + b"@@ -0,0 +1,%d @@\n" % lines + body


def long_line(size: int) -> bytes:
    return HEADER % {b"path": b"min.js"} + b"@@ -1 +1 @@\n-x\n+" + b"y" * size + b"\n"


def history(folder: Path) -> list[bytes]:
    rows = [
        row for file in sorted(folder.glob("*.jsonl.gz")) for row in gzip.decompress(file.read_bytes()).splitlines()
    ]
    return [base64.b64decode(json.loads(row)["patch_b64"]) for row in rows]


def best(work: Callable[[], object], repeat: int) -> float:
    """The shortest of several runs, in milliseconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times)


def peak(work: Callable[[], object]) -> float:
    """Peak memory while working, in MiB above what was there."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def compare(name: str, patches: list[bytes], repeat: int, *, memory: bool) -> None:
    texts = [patch.decode("utf-8", "replace") for patch in patches]
    read = [read_patch(patch) for patch in patches]
    assert all(patch.well_formed for patch in read), name
    works: dict[str, Callable[[], object]] = {
        "ours": lambda: [read_patch(patch) for patch in patches],
        "whatthepatch": lambda: [list(whatthepatch.parse_patch(text)) for text in texts],
        "unidiff": lambda: [unidiff.PatchSet(text) for text in texts],
    }
    took = {who: best(work, repeat if who == "ours" else max(1, repeat // 3)) for who, work in works.items()}
    opinion = best(lambda: [second_opinion(patch, max_bytes=2**40) for patch in read], 1)
    size = sum(map(len, patches))
    print(
        f"{name:18} {size / 1e6:7.2f} MB  ours {took['ours']:8.2f} ms ({size / took['ours'] / 1e3:6.1f} MB/s)"
        f"  whatthepatch {took['whatthepatch'] / took['ours']:6.1f}x  unidiff {took['unidiff'] / took['ours']:6.1f}x"
        f"  second opinion +{opinion:8.2f} ms"
    )
    if memory:
        print(" " * 19 + "peak memory  " + "  ".join(f"{who} {peak(work):.1f} MiB" for who, work in works.items()))


def slope(name: str, make: Callable[[int], bytes], counts: tuple[int, ...]) -> None:
    """Time per item over decades: constant if reading is linear."""
    cells = []
    for count in counts:
        data = make(count)
        cells.append(f"{count:>8,}: {best(lambda data=data: read_patch(data), 3) / count * 1e3:7.3f} us")  # type: ignore[misc]
    print(f"{name:18} per item   " + "   ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    shared = Path(os.environ.get("IDKRULES_SHARED") or Path(__file__).resolve().parents[2] / "shared")
    parser.add_argument(
        "--history", type=Path, help="directory of real commits (*.jsonl.gz)", default=shared / "real-history"
    )
    parser.add_argument("--quick", action="store_true", help="leave out what takes seconds")
    options = parser.parse_args()
    repeat = 3 if options.quick else 9
    compare("small patch", [many_files(2)] * 200, repeat, memory=False)
    compare("1.5 MB in a file", [long_content(38_000)], repeat, memory=True)
    compare("20,000 hunks", [many_hunks(20_000)], repeat, memory=True)
    compare("10,000 files", [many_files(10_000)], repeat, memory=True)
    compare("one 5 MB line", [long_line(5_000_000)], repeat, memory=True)
    if not options.quick:
        compare("100,000 files", [many_files(100_000)], 3, memory=False)
    if options.history.is_dir():
        compare("real history", history(options.history), repeat, memory=False)
    else:
        print("real history: no such directory (--history)")
    for name, make, least in (("files", many_files, 100), ("hunks", many_hunks, 100), ("lines", long_content, 1_000)):
        slope(name, make, tuple(least * 10**power for power in range(3 if options.quick else 4)))


if __name__ == "__main__":
    main()
