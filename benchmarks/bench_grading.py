"""Protected grading: durable records a second, and the strict scan beside json.loads: `python benchmarks/bench_grading.py [DIR]`.

DIR has to lie on a local disk (default: the directory for temporary files). Bounds: at least 1,000 durable records a
second, and at most 100 ms for a scan of 1 MiB, with a cost that is linear.
"""

import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from idkmesh_rules.grading.journal import Journal
from idkmesh_rules.grading.protocol import MAX_BYTES, ProtocolError, scan

RECORDS = 2000


def seconds(call: Callable[[], object], runs: int = 5) -> float:
    """The median; a refusal is a result like any other."""
    found = []
    for _ in range(runs):
        started = time.perf_counter()
        with contextlib.suppress(ProtocolError, ValueError):
            call()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


def journal(place: Path) -> None:
    kept = Journal(place, os.geteuid(), "benchmark", frozenset({"receipted"})).open()
    body = {"payload": "x" * 1500, "signature": "y" * 88}  # about what a signed receipt takes
    each = []
    for number in range(RECORDS):
        started = time.perf_counter()
        kept.append("receipted", f"job-{number}", body)
        each.append(time.perf_counter() - started)
    kept.close()
    once = seconds(lambda: [kept.open(), kept.close()], 1)
    each.sort()
    print(f"journal, {RECORDS:,} records of 2 KiB, each durable before the next (bound: 1,000/s)")
    print(f"  {RECORDS / sum(each):8,.0f} records/s  median {each[RECORDS // 2] * 1e6:5.0f} µs  "
          f"99th {each[RECORDS * 99 // 100] * 1e6:6.0f} µs  read back and checked in {once * 1000:.0f} ms")  # fmt: skip


def padded(head: bytes, unit: bytes, tail: bytes, size: int) -> bytes:
    return head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


def members(size: int) -> bytes:
    count = size // 14
    return b"{" + b",".join(b'"%07d":%d' % (number, number % 1000) for number in range(count)) + b"}"


SHAPES: dict[str, Callable[[int], bytes]] = {
    "an object of many keys": members,
    "an array of numbers": lambda size: padded(b"[", b"1.5e3,", b"0]", size),
    "an array of objects": lambda size: padded(b"[", b'{"a":[1,"b"]},', b"0]", size),
    "one long string": lambda size: padded(b'"', b"x", b'"', size),
    "one string of escapes": lambda size: padded(b'"', b"\\u00e9", b'"', size),
    "an unterminated string": lambda size: padded(b'"', b"x", b"", size),
    "escaped quotes without end": lambda size: padded(b"", b'"\\', b"", size),
    "only opening brackets": lambda size: padded(b"", b"[", b"", size),
}


def scans() -> None:
    print("strict scan of 1 MiB beside json.loads (bound: 100 ms), and how it grows (1.0 is linear)")
    for name, make in SHAPES.items():
        small, large = make(MAX_BYTES // 16), make(MAX_BYTES)
        ours, less = seconds(lambda data=large: scan(data)), seconds(lambda data=small: scan(data), 21)
        try:
            json.loads(large)
            theirs = f"{seconds(lambda data=large: json.loads(data)) * 1000:6.1f} ms"
        except (ValueError, RecursionError):
            theirs = "  refused"
        growth = (ours / less) / (len(large) / len(small))
        print(f"  {name:26} {ours * 1000:6.1f} ms  json.loads {theirs}  growth {growth:4.2f}")


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=arguments[0] if arguments else None) as scratch:
        journal(Path(scratch).resolve())
    scans()


if __name__ == "__main__":
    main(sys.argv[1:])
