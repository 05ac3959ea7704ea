"""The candidate reader against a hostile file system: every state by name, nothing followed, nothing blocking."""

import errno
import hashlib
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.model.observation import FileObservation, FileState
from idkmesh_rules.observe.reader import CandidateReader
from tests.support.places import ROOT


def observe(root: Path, locator: str, limit: int = 1000) -> FileObservation:
    with CandidateReader(root) as reader:
        return reader.observe(locator, limit, keep=limit)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A candidate with one of everything, and a secret beside it."""
    (tmp_path / "secret").write_text("do not tell")
    root = tmp_path / "candidate"
    (root / "dir" / "sub").mkdir(parents=True)
    (root / "dir" / "file").write_bytes(b"12345")
    (root / "link").symlink_to("dir/file")
    (root / "out").symlink_to("../secret")
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    (root / "linked-dir").symlink_to("dir")
    (root / "abs-dir").symlink_to(tmp_path)
    os.mkfifo(root / "fifo")
    # A socket's name is short; the path of a scratch directory may not be.
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    with (root / "sparse").open("wb") as sparse:
        sparse.truncate(2**40)
    return root


STATES = {
    "dir/file": FileState.REGULAR,
    "./dir//file": FileState.REGULAR,
    "dir": FileState.DIRECTORY,
    "": FileState.DIRECTORY,
    ".": FileState.DIRECTORY,
    "link": FileState.SYMLINK,
    "out": FileState.SYMLINK,
    "dangling": FileState.SYMLINK,
    "loop": FileState.SYMLINK,
    "linked-dir/file": FileState.SYMLINK,
    "abs-dir/secret": FileState.SYMLINK,
    "loop/x": FileState.SYMLINK,
    "dir/sub/../file": FileState.OUTSIDE,
    "../secret": FileState.OUTSIDE,
    "..": FileState.OUTSIDE,
    "/etc/passwd": FileState.OUTSIDE,
    "dir/\0": FileState.OUTSIDE,
    "fifo": FileState.SPECIAL,
    "socket": FileState.SPECIAL,
    "fifo/x": FileState.MISSING,
    "dir/file/x": FileState.MISSING,
    "nothing": FileState.MISSING,
    "no/thing": FileState.MISSING,
    "x" * 300: FileState.MISSING,
    "x/" * 3000: FileState.MISSING,
    "sparse": FileState.REGULAR,
    "dir\\file": FileState.MISSING,
}


@pytest.mark.parametrize("locator", STATES, ids=lambda text: repr(text[:20]))
def test_states(root: Path, locator: str) -> None:
    seen = observe(root, locator)
    assert (seen.state, seen.unreadable) == (STATES[locator], None)
    assert (seen.data is not None) == (locator in ("dir/file", "./dir//file"))


def test_a_device_is_special_and_never_opened(root: Path) -> None:
    try:
        os.mknod(root / "null", 0o600 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("making a device needs CAP_MKNOD")
    assert observe(root, "null").state is FileState.SPECIAL


def test_bytes_and_digest(root: Path) -> None:
    seen = observe(root, "dir/file", limit=5)
    assert (seen.data, seen.size, seen.within_limit) == (b"12345", 5, True)
    assert seen.digest == "sha256:" + hashlib.sha256(b"12345").hexdigest()


def test_a_file_over_its_limit_is_not_read(root: Path) -> None:
    seen = observe(root, "dir/file", limit=4)
    assert (seen.state, seen.size, seen.within_limit, seen.data, seen.digest) == (
        FileState.REGULAR,
        5,
        False,
        None,
        None,
    )
    started = time.monotonic()
    sparse = observe(root, "sparse", limit=10**9)
    assert (sparse.size, sparse.within_limit, sparse.data) == (2**40, False, None)
    assert time.monotonic() - started < 5


def test_names_are_bytes_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "übung").write_bytes(b"x")
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from idkmesh_rules.observe.reader import CandidateReader\n"
        "print(CandidateReader(Path(sys.argv[2])).observe('\\u00fcbung', 9).state.value)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(tmp_path)],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert run.stdout.strip() == "regular", run.stderr


def test_a_file_that_grows_while_it_is_read_could_not_be_looked_at(tmp_path: Path) -> None:
    """A writer keeps appending; every observation is either one consistent version or no observation at all."""
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 4_000_000)
    stop = threading.Event()

    def write() -> None:
        with path.open("ab") as file:
            while not stop.is_set():
                file.write(b"x")
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [observe(tmp_path, "growing", 10**9)]
        while len(seen) < 20 or (len(seen) < 1000 and all(one.state for one in seen)):
            seen.append(observe(tmp_path, "growing", 10**9))
    finally:
        stop.set()
        writer.join()
    changed = [one for one in seen if one.state is None]
    assert changed, "the writer never hit a read; the test says nothing"
    assert {one.unreadable for one in changed} == {"the file changed while it was being read"}
    for one in seen:
        assert one.data is None or len(one.data) == one.size


def test_a_directory_swapped_for_a_link_never_leads_out(tmp_path: Path) -> None:
    """One thread swaps a directory and a link to a secret; no observation ever carries the secret."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for place, content in ((root / "real", b"candidate"), (outside, b"secret")):
        place.mkdir(parents=True)
        (place / "file").write_bytes(content)
    (root / "evil").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for name in ("real", "evil"):
                os.rename(root / name, root / "dir")
                os.rename(root / "dir", root / name)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = [observe(root, "dir/file") for _ in range(3000)]
    finally:
        stop.set()
        swapper.join()
    assert b"secret" not in {one.data for one in seen}
    assert {one.state for one in seen} <= {FileState.REGULAR, FileState.SYMLINK, FileState.MISSING, None}


@pytest.mark.skipif(os.getuid() != 0, reason="dropping to another uid needs root")
def test_what_may_not_be_read_is_unreadable_not_missing(tmp_path: Path) -> None:
    """Under a uid that may not: the file exists, opening really fails, and the observation says so."""
    (tmp_path / "closed").write_bytes(b"x")
    (tmp_path / "closed").chmod(0)
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "file").write_bytes(b"x")
    (tmp_path / "shut").chmod(0o600)
    tmp_path.chmod(0o755)
    code = (
        "import os, sys; from pathlib import Path; from idkmesh_rules.observe.reader import CandidateReader\n"
        "os.chdir(sys.argv[1]); os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: open('closed'); sys.exit('opening did not fail')\n"
        "except PermissionError: pass\n"
        "with CandidateReader(Path('.')) as reader:\n"
        "    for name in ('closed', 'shut/file'):\n"
        "        seen = reader.observe(name, 9); print(seen.state, seen.unreadable)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert run.stdout.splitlines() == ["None the verifier may not read the file"] * 2, run.stderr


def test_no_descriptor_is_left_open(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for locator in STATES:
        observe(root, locator)
    assert len(os.listdir("/proc/self/fd")) == before


def test_one_file_under_many_names_is_read_once(tmp_path: Path) -> None:
    """A budget for two files of 100 bytes: thousands of spellings of one file fit, a third file doesn't."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(name.encode() * 100)
    with CandidateReader(tmp_path, budget=200) as reader:
        spellings = ["a", "./a", "././a", *(f"{'./' * number}a" for number in range(3, 500))]
        assert len({reader.observe(spelling, 1000).digest for spelling in spellings}) == 1
        assert reader.observe("b", 1000).state is FileState.REGULAR
        refused = reader.observe("c", 1000)
    assert (refused.state, refused.unreadable) == (
        None,
        "the candidate's files have more bytes than the verifier reads",
    )


@pytest.mark.parametrize("size", [0, 5, 2**20 - 1, 2**20, 3 * 2**20 + 7])
@pytest.mark.parametrize("keep", [0, 3, 2**20 + 5, 2**30])
def test_what_is_kept_is_the_beginning_and_what_is_hashed_is_everything(tmp_path: Path, size: int, keep: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    (tmp_path / "file").write_bytes(data)
    with CandidateReader(tmp_path) as reader:
        seen = reader.observe("file", 2**30, keep)
    assert (seen.size, seen.data, seen.digest) == (size, data[:keep], "sha256:" + hashlib.sha256(data).hexdigest())


def test_a_file_swapped_between_looking_and_opening_could_not_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attacker is given the exact moment: another file stands there when the open happens."""
    (tmp_path / "file").write_bytes(b"good")
    (tmp_path / "other").write_bytes(b"evil")
    real_open = os.open

    def swap_then_open(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if path == b"file":
            os.replace(tmp_path / "other", tmp_path / "file")
        return real_open(path, flags, *rest, **more)

    with CandidateReader(tmp_path) as reader:
        monkeypatch.setattr(os, "open", swap_then_open)
        seen = reader.observe("file", 100, 100)
    assert (seen.state, seen.data) == (None, None)
    assert seen.unreadable == "the file was replaced while it was being opened"


@pytest.mark.parametrize(
    ("number", "state", "words"),
    [(errno.EIO, None, "the file can't be read: Input/output error"), (errno.EACCES, None, "the verifier may not read the file"),
     (errno.ELOOP, FileState.SYMLINK, None), (errno.ENOENT, FileState.MISSING, None)],
)  # fmt: skip
def test_what_the_file_system_answers_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, state: FileState | None, words: str | None
) -> None:
    """Errors that no test can provoke on a healthy disk, given at the moment of opening."""
    (tmp_path / "file").write_bytes(b"x")
    real_open = os.open

    def fail(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if path == b"file":
            raise OSError(number, os.strerror(number))
        return real_open(path, flags, *rest, **more)

    with CandidateReader(tmp_path) as reader:
        monkeypatch.setattr(os, "open", fail)
        seen = reader.observe("file", 100)
    assert (seen.state, seen.unreadable) == (state, words)
