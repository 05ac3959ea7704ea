"""The walk of a whole tree, on real file systems: what it finds, what it can't see, and that it never leaves the root."""

import errno
import hashlib
import os
import resource
import socket
import stat
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idkmesh_rules.model.observation import EntryType, Gap, Tree
from idkmesh_rules.observe.reader import CandidateReader
from idkmesh_rules.observe.tree import TreeLimits
from tests.support.places import ROOT

LIMITS = TreeLimits(100_000, 2**26, 2**34)


def walk(root: Path, limits: TreeLimits = LIMITS, **options: Any) -> Tree:
    with CandidateReader(root) as reader:
        return reader.tree(limits, **options)


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def put(root: Path, *names: str, data: bytes = b"x") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


NAMES = st.text("ab.é", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))
PATHS = st.dictionaries(st.lists(NAMES, min_size=1, max_size=4).map("/".join), st.binary(max_size=40), max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PATHS)
def test_what_was_written_is_what_is_found(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    """Every file with its path, digest, size and mode, in the order of the paths, and nothing else."""
    root = tmp_path_factory.mktemp("tree")
    written: dict[str, bytes] = {}
    for path, data in files.items():
        if not any(other.startswith(f"{path}/") or path.startswith(f"{other}/") for other in written):
            put(root, path, data=data)
            written[path] = data
    tree = walk(root)
    assert [(file.path, file.digest, file.size) for file in tree.files] == [
        (path, digest(data), len(data)) for path, data in sorted(written.items())
    ]
    assert (tree.others, tree.gaps) == ((), ())
    folders = {path.rpartition("/")[0] for path in written}
    above = {"/".join(folder.split("/")[: end + 1]) for folder in folders for end in range(folder.count("/") + 1)}
    assert {entry.path for entry in tree.directories} == above - {""}


@pytest.mark.parametrize("size", [0, 1, 512 * 1024, 512 * 1024 + 1, 2**20, 5 * 2**20 + 3])
def test_digests_of_any_size(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    for number in range(12):
        put(tmp_path, f"f{number:02}", data=data)
    tree = walk(tmp_path)
    assert {(file.digest, file.size, file.unreadable) for file in tree.files} == {(digest(data), size, None)}
    assert [file.path for file in tree.files] == [f"f{number:02}" for number in range(12)]


def test_modes_are_as_git_spells_them(tmp_path: Path) -> None:
    for name, mode in {
        "plain": 0o664,
        "run": 0o755,
        "mine": 0o700,
        "group": 0o654,
        "root": 0o4755,
        "odd": 0o1644,
    }.items():
        put(tmp_path, name)
        (tmp_path / name).chmod(mode)
    assert {file.path: file.mode for file in walk(tmp_path).files} == {
        "plain": "100644",
        "run": "100755",
        "mine": "100755",
        "group": "100644",
        "root": "104755",
        "odd": "101644",
    }


def test_the_order_in_which_the_disk_lists_makes_no_difference(tmp_path: Path) -> None:
    names = [f"{letter}/{number}" for letter in "cab" for number in range(30)]
    put(tmp_path / "one", *names)
    put(tmp_path / "two", *reversed(names))
    assert walk(tmp_path / "one")[:2] == walk(tmp_path / "two")[:2]


def test_what_is_no_file_is_named_and_never_opened(tmp_path: Path) -> None:
    put(tmp_path, "a/file")
    (tmp_path / "a" / "link").symlink_to("/etc/passwd")
    (tmp_path / "a" / "to-dir").symlink_to("/etc")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))
        started = time.monotonic()
        tree = walk(tmp_path)
    assert time.monotonic() - started < 5
    assert {entry.path: entry.type for entry in tree.others} == {
        "a/link": EntryType.SYMLINK,
        "a/to-dir": EntryType.SYMLINK,
        "dangling": EntryType.SYMLINK,
        "fifo": EntryType.FIFO,
        "sock": EntryType.SOCKET,
    }
    assert [file.path for file in tree.files] == ["a/file"]
    assert tree.gaps == ()


@pytest.mark.skipif(os.getuid() != 0, reason="making a device needs root")
def test_a_device_is_named_and_never_opened(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "zero", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        os.mknod(tmp_path / "disk", 0o600 | stat.S_IFBLK, os.makedev(7, 200))
    except PermissionError:
        pytest.skip("making a device needs CAP_MKNOD")
    assert {entry.path: entry.type for entry in walk(tmp_path).others} == dict.fromkeys(
        ("zero", "disk"), EntryType.DEVICE
    )


def test_names_of_255_bytes_and_names_that_are_not_utf8(tmp_path: Path) -> None:
    longest = "é" * 127 + "x"
    put(tmp_path, longest)
    with open(os.fsencode(tmp_path) + b"/\xff\xfe", "wb") as file:
        file.write(b"x")
    assert [file.path for file in walk(tmp_path).files] == [longest, "\udcff\udcfe"]


def test_names_are_utf8_whatever_the_locale(tmp_path: Path) -> None:
    put(tmp_path, "übung/é")
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from idkmesh_rules.observe.reader import CandidateReader\n"
        "from idkmesh_rules.observe.tree import TreeLimits\n"
        "tree = CandidateReader(Path(sys.argv[2])).tree(TreeLimits(99, 9999, 9999))\n"
        "print(ascii([tree.files[0].path, tree.gaps]))"
    )
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(tmp_path)], capture_output=True, text=True, env=environment
    )
    assert run.stdout.strip() == ascii(["übung/é", ()]), run.stderr


def deep(root: Path, levels: int) -> None:
    """Nested directories beyond what one path can name, with a file in the first and in the last."""
    here = os.open(root, os.O_RDONLY)
    for level in range(levels):
        if level in (1, levels - 1):
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def remove_deep(root: Path) -> None:
    subprocess.run(["rm", "-rf", str(root)], check=True)


def test_4000_directories_deep_with_few_descriptors(tmp_path: Path) -> None:
    """No recursion, and no more descriptors than a few dozen, however deep it goes."""
    root = tmp_path / "deep"
    root.mkdir()
    deep(root, 4000)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(os.listdir("/proc/self/fd"))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 50, before[1]))
        tree = walk(root)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        remove_deep(root)
    assert tree.gaps == ()
    assert len(tree.directories) == 4000
    assert sorted(len(file.path) for file in tree.files) == [6, 2 * 3999 + 4]
    assert len(os.listdir("/proc/self/fd")) == in_use


BOUNDS = {
    "entries": (TreeLimits(10, 2**20, 2**20), "there are more than 10 entries"),
    "path bytes": (TreeLimits(10**6, 30, 2**20), "all paths together have more than 30 characters"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_what_lies_behind_a_bound_is_unseen(tmp_path: Path, name: str) -> None:
    put(tmp_path, *(f"d{number}/file" for number in range(20)))
    limits, reason = BOUNDS[name]
    before = len(os.listdir("/proc/self/fd"))
    tree = walk(tmp_path, limits)
    assert tree.gaps == (Gap("", reason),)
    assert tree.unseen == f"not everything below the root could be seen: {reason}"
    assert len(tree.files) + len(tree.directories) <= 20
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_sparse_terabyte_is_not_read(tmp_path: Path) -> None:
    put(tmp_path, "a", "z")
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(2**40)
    started = time.monotonic()
    tree = walk(tmp_path)
    assert time.monotonic() - started < 5
    assert [(file.path, file.unreadable) for file in tree.files] == [
        ("a", None),
        ("hole", "the files together have more bytes than the verifier reads"),
        ("z", None),
    ]


def test_memory_does_not_grow_with_content(tmp_path: Path) -> None:
    """64 MiB in one file and in sixteen: never more than a few buffers are held."""
    for name in ("big", *(f"part{number}" for number in range(16))):
        with (tmp_path / name).open("wb") as file:
            file.truncate(2**26 if name == "big" else 2**22)
    walk(tmp_path)
    tracemalloc.start()
    try:
        tree = walk(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(file.size for file in tree.files) == 2**27
    assert peak < 2**24, f"{peak:,} bytes"


def replace_by_link(path: Path, target: Path) -> None:
    path.rename(path.with_name("moved-away"))
    path.symlink_to(target)


# what happens to `dir` (its file is `dir/file`) at the moment at which the walk decides to go there or to open the file
MOMENTS: dict[str, tuple[str, Callable[[Path, Path], object], set[str]]] = {
    "the directory becomes a link to the outside": ("dir", lambda d, out: replace_by_link(d, out), {"dir", ""}),
    "the directory is gone": ("dir", lambda d, out: d.rename(out / "gone"), {"dir", ""}),
    "the directory becomes a file": ("dir", lambda d, out: (d.rename(out / "gone"), d.write_bytes(b"")), {"dir", ""}),
    "another directory takes its name": ("dir/file", lambda d, out: (d.rename(out / "old"), d.mkdir()), {"dir", ""}),
    "its name becomes a link while it is read": ("dir/file", lambda d, out: replace_by_link(d, out), {"dir", ""}),
    "its name is gone while it is read": ("dir/file", lambda d, out: d.rename(out / "gone"), {"dir", ""}),
    "a file appears in it": ("dir/file", lambda d, out: (d / "new").write_bytes(b""), {"dir"}),
}  # fmt: skip


@pytest.mark.parametrize("name", MOMENTS)
def test_a_directory_that_is_swapped_is_unseen_and_never_leads_out(tmp_path: Path, name: str) -> None:
    moment, swap, places = MOMENTS[name]
    root, outside = tmp_path / "root", tmp_path / "outside"
    put(root, "dir/file", "other", data=b"candidate")
    put(outside, "file", data=b"secret")
    done: list[str] = []

    def hook(path: str) -> bool:
        if path == moment and not done:
            done.append(path)
            swap(root / "dir", outside)
        return False

    tree = walk(root, skip=hook, prune=hook)
    assert done
    assert digest(b"secret") not in {file.digest for file in tree.files}
    assert {gap.path for gap in tree.gaps} <= places
    assert tree.gaps
    assert all(gap.reason for gap in tree.gaps)


def test_a_level_that_was_put_aside_is_found_again_or_the_walk_ends(tmp_path: Path) -> None:
    """Deep down, a directory above is moved out of the tree: going up leads elsewhere, and nothing there is touched."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    chain = "/".join(f"l{number:02}" for number in range(60))
    put(root, f"{chain}/file", "zz/file")
    put(outside, "trap/file", data=b"secret")
    top = "/".join(chain.split("/")[:10])

    def hook(path: str) -> bool:
        if path == f"{chain}/file":
            (root / top).rename(outside / "trap" / "moved")
        return False

    tree = walk(root, skip=hook)
    assert Gap("", "a directory was moved while it was being read") in tree.gaps
    assert digest(b"secret") not in {file.digest for file in tree.files}


def test_levels_that_were_put_aside_are_found_again_from_each_of_two_depths(tmp_path: Path) -> None:
    chain = "/".join(f"l{number:02}" for number in range(50))
    names = [f"{chain}/a/b/file", f"{chain}/c/d/e/file", "l00/l01/z/file", "zz"]
    put(tmp_path, *names)
    tree = walk(tmp_path)
    assert (sorted(file.path for file in tree.files), tree.gaps) == (sorted(names), ())


@pytest.mark.parametrize("size", [1000, 2**21])
def test_a_disk_that_fails_makes_a_file_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    put(tmp_path, "broken", data=b"x" * size)

    def failing(*_: Any) -> Any:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "read" if size < 2**19 else "readv", failing)
    (file,) = walk(tmp_path).files
    assert (file.digest, file.unreadable) == (None, "the file can't be read: Input/output error")


@pytest.mark.parametrize(
    ("name", "place"), [("scandir", "the root"), ("open", "the root"), ("scandir", "the directory d")]
)
def test_a_disk_that_fails_makes_a_directory_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: str
) -> None:
    """For the root and for a directory below it, when it is opened and when it is listed."""
    put(tmp_path, "d/file")
    real, calls = getattr(os, name), []

    def failing(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if (name == "open" and arguments[0] != ".") or (place != "the root" and len(calls) == 1):
            return real(*arguments, **options)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, name, failing)
    tree = walk(tmp_path)
    assert tree.unseen == f"not everything below {place} could be seen: the directory can't be read: Input/output error"
    assert tree.files == ()


def test_where_no_thread_can_be_started_large_files_are_hashed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(2**20)
    put(tmp_path, "a", "b", "c", data=data)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert {file.digest for file in walk(tmp_path).files} == {digest(data)}


def test_no_thread_and_no_descriptor_is_left(tmp_path: Path) -> None:
    put(tmp_path, *(f"f{number}" for number in range(20)), data=b"x" * 2**20)
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    walk(tmp_path)
    walk(tmp_path, TreeLimits(10, 2**20, 2**30))
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == (threads, descriptors)


def test_a_link_that_is_gone_when_it_is_looked_at_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("x")
    tree = walk(tmp_path, skip=lambda path: bool((tmp_path / path).unlink()))
    assert tree.others == ()
    assert [(file.path, file.unreadable) for file in tree.files] == [
        ("link", "the entry can't be read: No such file or directory")
    ]


def test_a_file_that_is_gone_or_swapped_when_it_is_opened_is_unreadable(tmp_path: Path) -> None:
    put(tmp_path, "gone", "link", "pipe", "dir", "stays")

    def hook(path: str) -> bool:
        if path != "stays":
            (tmp_path / path).unlink()
        if path == "link":
            (tmp_path / path).symlink_to("/etc/passwd")
        if path == "pipe":
            os.mkfifo(tmp_path / path)
        if path == "dir":
            (tmp_path / path).mkdir()
        return False

    started = time.monotonic()
    tree = walk(tmp_path, skip=hook)
    assert time.monotonic() - started < 5
    found = {file.path: (file.digest, file.unreadable) for file in tree.files}
    assert found.pop("stays") == (digest(b"x"), None)
    assert {path: seen for path, (seen, _) in found.items()} == dict.fromkeys(("gone", "link", "pipe", "dir"))
    assert all(why for _, why in found.values())
    assert found["pipe"][1] == "the file was replaced while the directory was being read"
    assert [gap.reason for gap in tree.gaps] == ["the directory changed while it was being read"]


@pytest.mark.parametrize("size", [1000, 2**21])
def test_a_file_that_changes_while_it_is_read_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """The attacker has the exact moment: between opening and reading, for small files and for those that threads read."""
    put(tmp_path, "target", data=b"x" * size)
    name = "read" if size < 2**19 else "readv"
    real = getattr(os, name)
    lock = threading.Lock()
    done: list[int] = []

    def appending(*arguments: Any) -> Any:
        with lock:
            if not done:
                done.append(1)
                with (tmp_path / "target").open("ab") as file:
                    file.write(b"y")
        return real(*arguments)

    monkeypatch.setattr(os, name, appending)
    (file,) = walk(tmp_path).files
    assert done
    assert (file.digest, file.unreadable) == (None, "the file changed while it was being read")


def test_a_file_that_grows_is_seen_at_one_size_or_not_at_all(tmp_path: Path) -> None:
    """A writer keeps appending; every digest is that of the file at the size that is told with it, or there is none."""
    put(tmp_path, "file", data=b"x" * 3 * 2**19)
    stop = threading.Event()

    def write() -> None:
        with (tmp_path / "file").open("ab") as file:
            while not stop.is_set():
                file.write(b"x")
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [walk(tmp_path).files[0] for _ in range(30)]
        while len(seen) < 1000 and not any(file.unreadable for file in seen):
            seen.append(walk(tmp_path).files[0])
    finally:
        stop.set()
        writer.join()
    assert any(file.unreadable for file in seen), "the writer never hit a read; the test says nothing"
    assert {file.digest == digest(b"x" * file.size) for file in seen if file.digest is not None} <= {True}


@pytest.mark.skipif(os.getuid() != 0, reason="dropping to another uid needs root")
def test_what_may_not_be_read_is_unseen_and_not_missing(tmp_path: Path) -> None:
    """Under a uid that may not: opening really fails, and the tree says of which file and of which directory."""
    put(tmp_path, "closed", "shut/file", "listed/file")
    (tmp_path / "closed").chmod(0)
    (tmp_path / "shut").chmod(0)
    (tmp_path / "listed").chmod(0o644)
    (tmp_path / "passage").mkdir(mode=0o711)
    (tmp_path / "passage").chmod(0o711)
    tmp_path.chmod(0o755)
    code = (
        "import os, sys; from pathlib import Path; from idkmesh_rules.observe.reader import CandidateReader\n"
        "from idkmesh_rules.observe.tree import TreeLimits\n"
        "os.chdir(sys.argv[1]); os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: open('closed'); sys.exit('opening did not fail')\n"
        "except PermissionError: pass\n"
        "with CandidateReader(Path('.')) as reader:\n"
        "    tree = reader.tree(TreeLimits(99, 9999, 9999))\n"
        "    for file in tree.files: print(file.path, file.digest, file.unreadable)\n"
        "    for gap in tree.gaps: print(*gap)\n"
        "with CandidateReader(Path('passage')) as reader: print(reader.tree(TreeLimits(99, 9999, 9999)).unseen)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert run.stdout.splitlines() == [
        "closed None the verifier may not read the file",
        "listed/file None the verifier may not read the file",
        "passage the verifier may not read the directory",
        "shut the verifier may not read the directory",
        "not everything below the root could be seen: the verifier may not read the directory",
    ], run.stderr


def test_names_that_are_one_on_some_disks(tmp_path: Path) -> None:
    put(tmp_path, "a/Read", "a/README", "a/readme", "b/readme", "Dir/x", "dir/y", "caf\u00e9", "cafe\u0301")
    assert walk(tmp_path).alike == (("Dir", "dir"), ("a/README", "a/readme"), ("cafe\u0301", "caf\u00e9"))


def test_what_is_left_out_is_neither_opened_nor_counted(tmp_path: Path) -> None:
    put(tmp_path, ".git/objects/x", "src/a", "src/b.tmp")
    (tmp_path / ".git" / "link").symlink_to("x")
    (tmp_path / "src" / "link.tmp").symlink_to("x")
    asked: list[str] = []

    def prune(path: str) -> bool:
        asked.append(path)
        return path == ".git"

    tree = walk(tmp_path, TreeLimits(2, 99, 1), skip=lambda path: path.endswith(".tmp"), prune=prune)
    assert ([file.path for file in tree.files], tree.others, tree.gaps) == (["src/a"], (), ())
    assert sorted(asked) == [".git", "src"]


def test_progress_counts_files_and_bytes(tmp_path: Path) -> None:
    put(tmp_path, *(f"f{number}" for number in range(600)), data=b"12")
    told: list[tuple[int, int]] = []
    walk(tmp_path, progress=lambda files, size: told.append((files, size)))
    assert told == [(256, 512), (512, 1024)]


def test_progress_goes_on_while_large_files_are_hashed(tmp_path: Path) -> None:
    put(tmp_path, "a", "b", data=b"x" * 2**20)
    told: list[tuple[int, int]] = []
    walk(tmp_path, progress=lambda files, size: told.append((files, size)))
    assert told == [(2, 2**21)] * 2
