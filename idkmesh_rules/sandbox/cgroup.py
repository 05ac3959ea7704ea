"""Control groups of one slot: memory, processes and processor time of everything in it, bounded and measured by the kernel.

Both versions are served, controller by controller, as a machine may have either or a mixture (cgroups(7); kernel documents
*cgroup-v1* and *cgroup-v2*). Invariants: a controller counts as there only if its limits were written and read back; nothing
is changed but groups of our own, which are taken away again; groups that a killed host left are taken away by the next one.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PREFIX = "idkrules-"
_V1 = {
    "limit": "memory.limit_in_bytes",
    "usage": "memory.usage_in_bytes",
    "peak": "memory.max_usage_in_bytes",
    "swap": "memory.memsw.limit_in_bytes",
    "events": "memory.oom_control",
}
_V2 = {
    "limit": "memory.max",
    "usage": "memory.current",
    "peak": "memory.peak",
    "swap": "memory.swap.max",
    "events": "memory.events",
}
_NEEDED = {"memory": "memory", "pids": "pids", "cpu": "cpuacct"}
"""Our name of a controller and that of version 1; version 2 measures processor time in every group."""
_END_SECONDS, _LOOK_SECONDS = 10.0, 0.01
"""How long what was killed is waited for, and how often it is looked at."""


class Before(NamedTuple):
    """What a slot's groups had counted before a job: bytes in use, and at a peak that can't be forgotten; nanoseconds,
    kills for memory, how often the limit was reached, refused processes.
    """

    memory: int
    peak: int
    cpu: int
    kills: int
    reached: int
    refused: int


class Used(NamedTuple):
    """What a job took: bytes at its peak and nanoseconds, None where not measured; and whether it ran into a ceiling.

    `starved` says that something of it was killed for memory below its own ceiling: it was the host's that was reached.
    """

    peak: int | None
    cpu: int | None
    out_of_memory: bool
    out_of_processes: bool
    starved: bool = False


class Place(NamedTuple):
    """A group of a controller's: its directory, and whether it is of version 2."""

    directory: Path
    unified: bool

    @property
    def names(self) -> Mapping[str, str]:
        """What the files of the memory controller are called here."""
        return _V2 if self.unified else _V1


class Groups:
    """The groups of one slot, one directory for each controller that can be had. Making one makes them."""

    def __init__(self, name: str, parents: Mapping[str, Place] | None = None) -> None:
        """Make the groups called `name` below those of `parents` by controller, by default below what this process has."""
        self._places: dict[str, Place] = {}
        self._made: list[Path] = []
        self._peak_file: int | None = None
        # Hosts in other process namespaces have the same numbers, and nobody's job may count as another's.
        own = f"{_PREFIX}{os.getpid()}-{name}-{os.urandom(4).hex()}"
        for controller, parent in (_parents() if parents is None else parents).items():
            _sweep(parent.directory)
            place = Place(parent.directory / own, parent.unified)
            if place.directory not in self._made:
                try:
                    place.directory.mkdir()
                except OSError:
                    continue
                self._made.append(place.directory)
            self._places[controller] = place
        self._settle()

    def _settle(self) -> None:
        """Keep the controllers whose limits hold when they are written."""
        for controller, check in (("memory", self._bound_memory), ("pids", self._bound_processes)):
            with suppress(OSError, ValueError):
                if controller in self._places and check(1 << 30 if controller == "memory" else 1 << 10):
                    continue
            self._places.pop(controller, None)
        memory = self._places.get("memory")
        if memory is not None:
            self._peak_file = _opened(memory.directory / memory.names["peak"])

    @property
    def controllers(self) -> frozenset[str]:
        """Which of memory, pids and cpu are there."""
        return frozenset(self._places)

    def take(self, process: int) -> None:
        """Move a process in; what it starts is in from then on. Raises OSError."""
        for directory in self._made:
            (directory / "cgroup.procs").write_text(str(process))

    def begin(self, memory: int, processes: int) -> Before:
        """Bound what comes beyond what is there, and say what is there; raises OSError when a bound doesn't hold."""
        base = 0
        if "memory" in self._places:
            base = int(self._text("memory", self._places["memory"].names["usage"]))
            if not self._bound_memory(base + memory):
                raise OSError(0, "the memory limit of the control group doesn't hold")
        if "pids" in self._places:
            there = int(self._text("pids", "pids.current"))
            if not self._bound_processes(there + processes):
                raise OSError(0, "the process limit of the control group doesn't hold")
        return Before(base, self._old_peak(), self.cpu() or 0, self._kills(), self._reached(), self._refused())

    def used(self, before: Before) -> Used:
        """What was taken since `begin`."""
        peak, cpu = self._peak(), self.cpu()
        if peak is not None and peak <= before.peak:
            peak = None  # this job's is hidden below an earlier one's
        killed, reached = self._kills() > before.kills, self._reached() > before.reached
        return Used(
            None if peak is None else max(peak - before.memory, 0),
            None if cpu is None else cpu - before.cpu,
            killed and reached,
            self._refused() > before.refused,
            killed and not reached,
        )

    def cpu(self) -> int | None:
        """Nanoseconds of processor time of everything that ever was in the group; None where they aren't counted."""
        if "cpu" not in self._places:
            return None
        if self._places["cpu"].unified:
            return _field(self._text("cpu", "cpu.stat"), "usage_usec") * 1000
        return int(self._text("cpu", "cpuacct.usage"))

    def kill(self) -> None:
        """Kill every process in the groups, and wait until none is left."""
        last = time.monotonic() + _END_SECONDS
        for directory in self._made:
            while _killed(directory) and time.monotonic() < last:
                time.sleep(_LOOK_SECONDS)

    def remove(self) -> None:
        """Take the groups away; what is busy is left for the next host to sweep."""
        if self._peak_file is not None:
            os.close(self._peak_file)
            self._peak_file = None
        for directory in self._made:
            with suppress(OSError):
                directory.rmdir()

    def _bound_memory(self, most: int) -> bool:
        directory, names = self._places["memory"].directory, self._places["memory"].names
        unified, page = self._places["memory"].unified, os.sysconf("SC_PAGE_SIZE")
        # Version 1 counts swap on top of memory, and that limit may never be below the other; it is a page above, so that
        # it is memory's own that is met, and counted. Not every kernel counts swap.
        with suppress(OSError):
            (directory / names["swap"]).write_text("0" if unified else str(1 << 62))
        (directory / names["limit"]).write_text(str(most))
        if not unified:
            with suppress(OSError):
                (directory / names["swap"]).write_text(str(most + page))
        # The kernel rounds down to whole pages.
        return most - page < int((directory / names["limit"]).read_text()) <= most

    def _bound_processes(self, most: int) -> bool:
        (self._places["pids"].directory / "pids.max").write_text(str(most))
        return self._text("pids", "pids.max").strip() == str(most)

    def _kills(self) -> int:
        if "memory" not in self._places:
            return 0
        return _field(self._text("memory", self._places["memory"].names["events"]), "oom_kill")

    def _reached(self) -> int:
        """How often the group's own limit of memory was reached, whatever was reached above it."""
        if "memory" not in self._places:
            return 0
        place = self._places["memory"]
        if place.unified:
            return _field(self._text("memory", place.names["events"]), "max")
        return int(self._text("memory", "memory.failcnt"))

    def _refused(self) -> int:
        return _field(self._text("pids", "pids.events"), "max") if "pids" in self._places else 0

    def _peak(self) -> int | None:
        if self._peak_file is None:
            return None
        try:
            return int(os.pread(self._peak_file, 64, 0))
        except (OSError, ValueError):
            return None

    def _old_peak(self) -> int:
        """Have the kernel forget the peak so far; what it is where that can't be, else 0."""
        if self._peak_file is None:
            return 0
        # Version 2 can from Linux 6.12 on, and only for what is then read through the same open file.
        with suppress(OSError):
            os.pwrite(self._peak_file, b"0", 0)
            return 0
        return self._peak() or 0

    def _text(self, controller: str, name: str) -> str:
        return (self._places[controller].directory / name).read_text()


def _field(text: str, name: str) -> int:
    """The number behind a name in a file of lines `name number`; 0 where it isn't told."""
    for line in text.splitlines():
        key, _, number = line.partition(" ")
        if key == name:
            return int(number)
    return 0


def _parents() -> dict[str, Place]:
    """For each controller the group below which ours may be made; none where nothing tells which we are in."""
    try:
        return parents_of(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
    except OSError:
        return {}


def parents_of(groups: str, mounts: str) -> dict[str, Place]:
    """The same by the texts of /proc/self/cgroup and mountinfo: our own groups, or in version 2 what `_delegating` finds."""
    own = dict(_own_groups(groups, dict(_mounts(mounts))))
    found = {name: Place(own[legacy], unified=False) for name, legacy in _NEEDED.items() if legacy in own}
    found = {name: place for name, place in found.items() if os.access(place.directory, os.W_OK)}
    if "" in own:
        directory, given = _delegating(own[""])
        # Version 2 measures processor time everywhere; but a child needs a controller to be worth having.
        names = {*given, "cpu"} if given else set[str]()
        found |= {name: Place(directory, unified=True) for name in names - found.keys()}
    return found


def _delegating(own: Path) -> tuple[Path, set[str]]:
    """Of our own group and those above it, the nearest that gives its children most of the controllers that we need.

    All come from that one, even if others come from nearer: a process is in one group of version 2.
    """
    best: tuple[Path, set[str]] = own, set()
    for directory in (own, *own.parents):
        try:
            given = {"memory", "pids"}.intersection((directory / "cgroup.subtree_control").read_text().split())
            if len(given) > len(best[1]) and _admits(directory):
                best = directory, given
        except OSError:
            break
    return best


def _admits(parent: Path) -> bool:
    """Whether a group can be made in one of version 2, and a process moved there from anywhere below it."""
    if not all(os.access(each, os.W_OK) for each in (parent, parent / "cgroup.procs")):
        return False
    kind = parent / "cgroup.type"  # the root has none; no process can be in the children of a threaded one
    return not kind.exists() or kind.read_text().strip() == "domain"


def _own_groups(text: str, mounts: Mapping[str, tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    """Our own group by controller of version 1, under "" for version 2 (cgroups(7), /proc/self/cgroup)."""
    for line in text.splitlines():
        _number, names, path = line.split(":", 2)
        for name in names.split(","):
            if name in mounts:
                root, point = mounts[name]
                below = os.path.relpath(path, root)
                if not below.startswith(".."):
                    yield name, Path(os.path.normpath(point / below))


def _mounts(text: str) -> Iterator[tuple[str, tuple[str, Path]]]:
    """Of mountinfo, each hierarchy's controllers ("" for version 2), with the group that is its root here and the place."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _source, options = after.split(" ", 2)
        root, point = before.split(" ")[3:5]
        if kind == "cgroup2":
            yield "", (root, Path(point))
        elif kind == "cgroup":
            for name in options.split(","):
                yield name, (root, Path(point))


def _sweep(parent: Path) -> None:
    """Take away the groups of hosts that are gone; one in which something still runs stays."""
    with suppress(OSError):
        for directory in parent.glob(f"{_PREFIX}*"):
            host = directory.name.removeprefix(_PREFIX).partition("-")[0]
            if host.isdigit() and not Path(f"/proc/{host}").exists():
                with suppress(OSError):
                    directory.rmdir()


def _killed(directory: Path) -> bool:
    """Kill every process of a group; whether there was one."""
    with suppress(OSError):
        numbers = (directory / "cgroup.procs").read_text().split()
        with suppress(OSError):  # version 2 does it at once, from Linux 5.14 on
            (directory / "cgroup.kill").write_text("1")
            return bool(numbers)
        for number in numbers:
            with suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)
        return bool(numbers)
    return False


def _opened(path: Path) -> int | None:
    """A descriptor of a file, for writing if that can be; None if it isn't there."""
    for way in (os.O_RDWR, os.O_RDONLY):
        with suppress(OSError):
            return os.open(path, way)
    return None
