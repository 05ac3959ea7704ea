"""Control groups: real ones of this machine where there are any, and both versions by the files that the kernel documents.

What stands for a version 2 group here is a directory with such files. The real version was tried in a virtual machine; what
only a kernel can show (that limits hold) is in the tests of the sandbox.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.sandbox.cgroup import Groups, Place, parents_of
from tests.support.graded import needs

PAGE = os.sysconf("SC_PAGE_SIZE")
V2 = {
    "cgroup.procs": "",
    "memory.max": "max",
    "memory.swap.max": "max",
    "memory.current": "4096",
    "memory.peak": "4096",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
    "pids.max": "max",
    "pids.current": "1",
    "pids.events": "max 0\n",
    "cpu.stat": "usage_usec 10\nuser_usec 5\nsystem_usec 5\n",
}


@pytest.fixture
def real() -> Iterator[Groups]:
    needs("memory-total", "cpu-total")
    groups = Groups("unit")
    yield groups
    groups.kill()
    groups.remove()


def child(program: str) -> "subprocess.Popen[bytes]":
    """A process that waits for a line before it does anything."""
    return subprocess.Popen([sys.executable, "-c", f"input()\n{program}"], stdin=subprocess.PIPE)


def begun(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.close()


def test_memory_and_time_of_a_group_are_counted_job_by_job(real: Groups) -> None:
    for size, least in ((50 << 20, 45 << 20), (1 << 20, 0)):
        process = child(f"held = bytearray(b'x') * {size}\nfor n in range(10 ** 6): pass")
        real.take(process.pid)
        before = real.begin(1 << 30, 10)
        begun(process)
        assert process.wait() == 0
        used = real.used(before)
        assert used.cpu is not None
        assert used.cpu > 0
        assert (used.out_of_memory, used.out_of_processes) == (False, False)
        assert used.peak is None or least <= used.peak < size + (40 << 20)


def test_a_group_that_runs_out_says_of_what(real: Groups) -> None:
    process = child("held = bytearray(b'x') * (200 << 20)")
    real.take(process.pid)
    before = real.begin(20 << 20, 10)
    begun(process)
    assert process.wait() != 0
    assert real.used(before).out_of_memory
    process = child("import os\ntry:\n for _ in range(9): os.fork() or os._exit(0)\nexcept OSError: pass")
    real.take(process.pid)
    before = real.begin(1 << 30, 1)
    begun(process)
    process.wait()
    assert real.used(before).out_of_processes


def test_what_is_killed_below_its_own_ceiling_starved(real: Groups, tmp_path: Path) -> None:
    """The ceiling above is the host's: nobody may hold it against a job."""
    if real._places["memory"].unified:
        pytest.skip("played with version 1 only: a parent of version 2 that gives controllers has no processes")
    parent = real._places["memory"].directory / "tight"
    parent.mkdir()
    (parent / "memory.limit_in_bytes").write_text(str(30 << 20))
    below = Groups("below", {"memory": Place(parent, unified=False)})
    try:
        process = child("held = bytearray(b'x') * (100 << 20)")
        below.take(process.pid)
        before = below.begin(500 << 20, 10)
        begun(process)
        assert process.wait() == -9
        used = below.used(before)
        assert (used.out_of_memory, used.starved) == (False, True)
    finally:
        below.remove()
        parent.rmdir()


def test_killing_a_group_leaves_nobody(real: Groups) -> None:
    processes = [child("import time; time.sleep(60)") for _ in range(3)]
    for each in processes:
        real.take(each.pid)
        begun(each)
    real.kill()
    assert [each.wait(5) for each in processes] == [-9, -9, -9]


def test_groups_are_taken_away_and_those_of_dead_hosts_are_swept(tmp_path: Path) -> None:
    needs("memory-total")
    done = subprocess.run([sys.executable, "-c", ""])
    assert done.returncode == 0
    groups = Groups("first")
    (parent,) = {each.parent for each in groups._made if "memory" in str(each)}
    stale = parent / f"idkrules-{_dead()}-left"
    stale.mkdir()
    groups.remove()
    assert not any(each.exists() for each in groups._made)
    Groups("second").remove()
    assert not stale.exists()


def _dead() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: tuple[str, ...] = (), name: str = "two"
) -> tuple[Groups, Path]:
    """Groups of version 2: a new directory there has the files of a group, as the kernel makes them."""
    make = Path.mkdir

    def with_files(self: Path, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **options)
        for file, text in V2.items():
            if file not in without:
                (self / file).write_text(text)

    monkeypatch.setattr(Path, "mkdir", with_files)
    groups = Groups(name, dict.fromkeys(("memory", "pids", "cpu"), Place(tmp_path, unified=True)))
    monkeypatch.undo()
    (directory,) = tmp_path.iterdir()
    return groups, directory


def test_version_2_is_bound_by_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups, directory = second(tmp_path, monkeypatch)
    assert directory.name.startswith(f"idkrules-{os.getpid()}-two-")
    assert groups.controllers == {"memory", "pids", "cpu"}
    before = groups.begin(10 * PAGE, 7)
    assert (directory / "memory.max").read_text() == str(4096 + 10 * PAGE)
    assert (directory / "memory.swap.max").read_text() == "0"
    assert (directory / "pids.max").read_text() == "8"
    groups.take(77)
    assert (directory / "cgroup.procs").read_text() == "77"
    (directory / "memory.peak").write_text("50000")
    (directory / "cpu.stat").write_text("usage_usec 1010\n")
    assert groups.used(before) == (50000 - 4096, 1_000_000, False, False, False)
    (directory / "memory.events").write_text("max 0\noom 0\noom_kill 1\n")
    assert groups.used(before)[2:] == (False, False, True)  # killed, and not for its own limit
    (directory / "memory.events").write_text("max 7\noom 1\noom_kill 1\n")
    (directory / "pids.events").write_text("max 3\n")
    assert groups.used(before)[2:] == (True, True, False)
    groups.remove()


def test_a_peak_that_can_not_be_forgotten_hides_smaller_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups, directory = second(tmp_path, monkeypatch)
    peak = directory / "memory.peak"
    peak.write_text("90000")
    os.close(groups._peak_file)  # type: ignore[arg-type]
    groups._peak_file = os.open(peak, os.O_RDONLY)  # as the file is before Linux 6.12
    before = groups.begin(PAGE, 1)
    assert groups.used(before).peak is None
    peak.write_text("95000")
    assert groups.used(before).peak == 95000 - 4096
    peak.write_text("none")
    assert groups.used(before).peak is None
    groups.remove()


@pytest.mark.parametrize(
    ("missing", "left"),
    [
        ("memory.max", {"pids", "cpu"}),
        ("pids.max", {"memory", "cpu"}),
    ],
)
def test_a_limit_that_can_not_be_written_is_no_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, left: set[str]
) -> None:
    write = Path.write_text

    def refusing(self: Path, *arguments: Any, **options: Any) -> int:
        if self.name == missing:
            raise PermissionError(13, "Permission denied")
        return write(self, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", refusing)
    groups = Groups(
        "less", {"memory": Place(tmp_path, True), "pids": Place(tmp_path, True), "cpu": Place(tmp_path, True)}
    )
    monkeypatch.undo()
    assert groups.controllers <= left


def test_without_a_peak_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups, _directory = second(tmp_path, monkeypatch, without=("memory.peak",))
    assert groups.used(groups.begin(PAGE, 1)).peak is None
    groups.remove()


def test_where_no_group_can_be_made_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    groups = Groups("none", {"memory": Place(tmp_path / "file", unified=True)})
    assert groups.controllers == set()
    assert groups.cpu() is None
    assert groups.used(groups.begin(1, 1)) == (None, None, False, False, False)
    groups.take(os.getpid())
    groups.kill()
    groups.remove()


def hierarchy(place: Path, *, children: str = "", procs: bool = True, kind: str | None = None) -> Path:
    """A directory that looks like a group of version 2."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "cgroup.subtree_control").write_text(children)
    if procs:
        (place / "cgroup.procs").write_text("")
    if kind is not None:
        (place / "cgroup.type").write_text(kind)
    return place


def mountinfo(place: Path, kind: str = "cgroup2", options: str = "rw", root: str = "/") -> str:
    return f"30 23 0:26 {root} {place} rw,nosuid shared:9 - {kind} {kind} {options}\n"


def test_our_own_groups_of_version_1_are_used_where_they_can_be_written(tmp_path: Path) -> None:
    for name in ("memory", "pids"):
        (tmp_path / name / "mine").mkdir(parents=True)
    mounts = "".join(mountinfo(tmp_path / name, "cgroup", f"rw,{name}") for name in ("memory", "pids"))
    text = "9:memory:/mine\n8:pids:/mine\n7:cpuacct:/gone\n"
    assert parents_of(text, mounts) == {
        "memory": Place(tmp_path / "memory" / "mine", unified=False),
        "pids": Place(tmp_path / "pids" / "mine", unified=False),
    }


def test_a_container_sees_its_group_as_the_root_of_the_mount(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    mounts = mountinfo(tmp_path / "memory", "cgroup", "rw,memory", root="/docker/abc")
    assert parents_of("9:memory:/docker/abc\n", mounts) == {"memory": Place(tmp_path / "memory", unified=False)}
    assert parents_of("9:memory:/elsewhere\n", mounts) == {}


def test_the_nearest_group_that_gives_most_is_the_parent_in_version_2(tmp_path: Path) -> None:
    top = hierarchy(tmp_path / "top", children="cpu memory pids")
    middle = hierarchy(top / "user", children="pids")
    own = hierarchy(middle / "mine")
    assert own.exists()
    place = Place(top, unified=True)
    assert parents_of("0::/user/mine\n", mountinfo(top)) == dict.fromkeys(("memory", "pids", "cpu"), place)
    hierarchy(middle, children="memory pids")
    assert parents_of("0::/user/mine\n", mountinfo(top))["memory"].directory == middle


@pytest.mark.parametrize("fault", ["no procs", "threaded", "nothing given", "no such group"])
def test_a_group_that_admits_nobody_is_no_parent(tmp_path: Path, fault: str) -> None:
    top = hierarchy(
        tmp_path / "top",
        children="" if fault == "nothing given" else "memory pids",
        procs=fault != "no procs",
        kind="domain threaded" if fault == "threaded" else "domain",
    )
    if fault == "no such group":
        (top / "cgroup.subtree_control").unlink()
    assert parents_of("0::/\n", mountinfo(top)) == {}


def test_a_mixture_takes_each_controller_from_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    unified = hierarchy(tmp_path / "unified", children="pids")
    mounts = mountinfo(tmp_path / "memory", "cgroup", "rw,memory") + mountinfo(unified)
    found = parents_of("9:memory:/\n0::/\n", mounts)
    assert found == {
        "memory": Place(tmp_path / "memory", unified=False),
        "pids": Place(unified, unified=True),
        "cpu": Place(unified, unified=True),
    }


@pytest.mark.parametrize("what", ["_bound_memory", "_bound_processes"])
def test_a_bound_that_does_not_hold_starts_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    groups, _directory = second(tmp_path, monkeypatch)
    monkeypatch.setattr(groups, what, lambda _most: False)
    with pytest.raises(OSError, match="doesn't hold"):
        groups.begin(PAGE, 1)
    groups.remove()


def test_where_proc_can_not_be_read_there_are_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(_self: Path, *_arguments: Any, **_options: Any) -> str:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(Path, "read_text", unreadable)
    assert Groups("blind").controllers == set()
