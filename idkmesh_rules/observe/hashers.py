"""Threads that hash large files while the walk goes on; hashing lets other threads run.

Invariants: whoever takes a descriptor closes it; where no thread can be started, files are hashed all the same, at once.
"""

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

Hashed = tuple[str | None, str | None]
"""A digest, or why there is none."""

_Job = tuple[int, os.stat_result, SimpleQueue[Hashed]]
_MOST = 8


class Hashers:
    """As many threads as there are processors, each started when there is work for it. Close it when all is collected."""

    def __init__(self, work: Callable[[int, os.stat_result], Hashed]) -> None:
        """Have files hashed by `work`, which takes a descriptor to close and what the file was when it was opened."""
        self._work = work
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._most = min(_MOST, os.cpu_count() or 1)

    def submit(self, descriptor: int, found: os.stat_result) -> SimpleQueue[Hashed]:
        """Have a file hashed; what comes of it can be got from the queue that is returned, once."""
        result: SimpleQueue[Hashed] = SimpleQueue()
        if len(self._threads) < self._most:
            thread = Thread(target=self._run, daemon=True)
            try:
                thread.start()
                self._threads.append(thread)
            except RuntimeError:
                self._most = len(self._threads)
        if self._threads:
            self._jobs.put((descriptor, found, result))
        else:
            result.put(self._work(descriptor, found))
        return result

    def close(self, *, wait: bool) -> None:
        """Have the threads end when they have no more work; with `wait`, be back when they did."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            descriptor, found, result = job
            result.put(self._work(descriptor, found))
