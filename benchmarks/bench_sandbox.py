"""A trivial job in the sandbox beside bare bubblewrap with every namespace: overhead a run, and jobs a second.

Both in one run and in turns, so that what else the machine does hits both. Bounds: the sandbox takes at most twice the time
of the bare tool, and 80 jobs a second in two slots.
"""

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable

from idkmesh_rules.grading.values import JobLimits, JobSpec, Role
from idkmesh_rules.sandbox.local import LocalSandbox

RATIO, JOBS = 2.0, 80.0
ROUNDS, EACH, SECONDS = 15, 10, 4.0
SPEC = JobSpec(
    "bench/candidate",
    Role.CANDIDATE,
    "system",
    ("/bin/true",),
    (),
    (),
    JobLimits(10, 10, 1 << 28, 16, 1 << 16, 1 << 16),
    (),
)
BARE = [
    "/usr/bin/bwrap",
    "--unshare-all",
    "--die-with-parent",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--symlink",
    "usr/bin",
    "/bin",
    "--",
    "/bin/true",
]


def bare() -> None:
    """One run of the bare tool, started in the fastest way that Python has."""
    process = os.posix_spawn(BARE[0], BARE, {})
    if os.waitpid(process, 0)[1] != 0:
        raise SystemExit("bare bubblewrap doesn't run here")


def taken(work: Callable[[], object]) -> float:
    """Milliseconds a call, over EACH calls."""
    began = time.perf_counter()
    for _ in range(EACH):
        work()
    return (time.perf_counter() - began) / EACH * 1000


def overhead(sandbox: LocalSandbox) -> bool:
    """Time both in turns, and print medians and their ratio."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(taken(bare))
        ours.append(taken(lambda: sandbox.run(SPEC, {})))
    mine, other = statistics.median(ours), statistics.median(theirs)
    print(f"a job that does nothing: {mine:.2f} ms (lowest {min(ours):.2f}, highest {max(ours):.2f})")
    print(f"bare bubblewrap, all namespaces: {other:.2f} ms (lowest {min(theirs):.2f}, highest {max(theirs):.2f})")
    print(f"ratio {mine / other:.2f} (bound {RATIO:g})")
    return mine / other <= RATIO


def throughput(slots: int) -> bool:
    """Run jobs in so many slots at once for some seconds, and print how many a second."""
    sandboxes = [LocalSandbox(name=f"bench-{number}") for number in range(slots)]
    for sandbox in sandboxes:
        sandbox.open()
    done = [0] * slots
    until = time.monotonic() + SECONDS

    def work(number: int) -> None:
        while time.monotonic() < until:
            sandboxes[number].run(SPEC, {})
            done[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(slots)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sandbox in sandboxes:
        sandbox.close()
    print(f"{slots} slots: {sum(done) / SECONDS:.0f} jobs a second (bound {JOBS:g})")
    return sum(done) / SECONDS >= JOBS


def main() -> int:
    """Print the figures; 0 if both bounds hold."""
    sandbox = LocalSandbox(name="bench")
    began = time.perf_counter()
    sandbox.open()
    print(f"opened in {(time.perf_counter() - began) * 1000:.0f} ms, with {', '.join(sorted(sandbox.controls))}")
    try:
        held = overhead(sandbox)
    finally:
        sandbox.close()
    return 0 if throughput(2) and held else 1


if __name__ == "__main__":
    sys.exit(main())
