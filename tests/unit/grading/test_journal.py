"""The journal: what directory it takes, what it records, and what it says of records that aren't those it wrote."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.contracts.digest import bytes_digest, canonical_bytes, canonical_digest
from idkmesh_rules.grading import journal as module
from idkmesh_rules.grading.journal import (
    AlreadyRecorded,
    Fault,
    Head,
    Journal,
    JournalError,
    JournalLocked,
    JournalPoisoned,
    JournalRefused,
)
from idkmesh_rules.grading.private import PlaceError, open_private

KINDS = frozenset({"planned", "intended"})


def journal(place: Path, purpose: str = "evaluation", kinds: frozenset[str] = KINDS) -> Journal:
    return Journal(place, os.geteuid(), purpose, kinds)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A private directory."""
    made = tmp_path / "journal"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def opened(place: Path) -> Iterator[Journal]:
    kept = journal(place).open()
    yield kept
    kept.close()


def test_making_one_touches_nothing(tmp_path: Path) -> None:
    journal(tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []


def test_what_was_recorded_is_there_after_opening_again(place: Path, opened: Journal) -> None:
    written = [opened.append("planned", f"call-{number}", {"number": number}) for number in range(5)]
    head, journal_id = opened.head, opened.journal_id
    opened.close()
    again = journal(place).open(at_least=head)
    try:
        assert again.every("planned") == tuple(written)
        assert again.find("planned", "call-3") == written[3]
        assert again.find("intended", "call-3") is None
        assert (again.head, again.journal_id) == (head, journal_id)
        assert again.append("intended", "call-3", {}).sequence == 6
    finally:
        again.close()


def test_a_record_is_private_whole_and_linked_to_the_one_before(place: Path, opened: Journal) -> None:
    record = opened.append("planned", "call-1", {"a": 1})
    files = sorted(place.iterdir())
    assert len(files) == 2, "the first record names the journal"
    assert {file.stat().st_mode & 0o7777 for file in files} == {0o400}
    value = json.loads(next(file for file in files if file.name.startswith("planned")).read_bytes())
    digest = value.pop("digest")
    assert canonical_digest(value) == digest == record.digest
    assert value["previous"] == record.previous != opened.head.digest


def test_nothing_is_recorded_twice(opened: Journal) -> None:
    opened.append("planned", "call-1", {"a": 1})
    with pytest.raises(AlreadyRecorded):
        opened.append("planned", "call-1", {"a": 2})
    assert opened.append("intended", "call-1", {}).sequence == 2, "another kind about the same is another record"


def test_a_record_that_somebody_else_made_ends_recording(place: Path, opened: Journal) -> None:
    elsewhere = place.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    other = journal(elsewhere).open()
    other.append("planned", "call-1", {})
    other.close()
    os.link(next(elsewhere.glob("planned-*")), place / next(elsewhere.glob("planned-*")).name)
    with pytest.raises(AlreadyRecorded, match="somebody else"):
        opened.append("planned", "call-1", {})
    with pytest.raises(JournalPoisoned, match="somebody else"):
        opened.append("planned", "call-2", {})


def test_what_is_no_record_of_this_journal(opened: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JournalError, match="no kind"):
        opened.append("guessed", "call-1", {})
    for key, body in (("x" * 257, {}), ("", {}), ("\ud800", {}), ("call-1", {"a": float("nan")})):
        with pytest.raises(JournalError, match=r"makes no record|is no JSON"):
            opened.append("planned", key, body)
    monkeypatch.setattr(module, "MAX_RECORD", 400)
    with pytest.raises(JournalError, match="full"):
        opened.append("planned", "call-1", {"a": "x" * 400})
    opened.append("planned", "call-1", {})


def test_one_process_and_one_object_at_a_time(place: Path, opened: Journal) -> None:
    with pytest.raises(JournalLocked, match="another process holds"):
        journal(place).open()
    with pytest.raises(JournalError, match="open already"):
        opened.open()
    opened.close()
    opened.close()
    with pytest.raises(JournalError, match="isn't open"):
        opened.append("planned", "call-1", {})
    journal(place).open().close()


# --- Directories ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o1700, 0o500])
def test_a_directory_of_another_mode_is_refused(place: Path, mode: int) -> None:
    place.chmod(mode)
    with pytest.raises(PlaceError, match="expected mode 0700"):
        journal(place).open()


def test_a_directory_of_another_owner_is_refused(place: Path) -> None:
    with pytest.raises(PlaceError):
        Journal(place, os.geteuid() + 1, "evaluation", KINDS).open()


def test_the_owner_is_told_from_who_is_asked_for(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to somebody else")
    os.chown(tmp_path, 0, 0)
    place = Path("/tmp") / f"idkrules-owner-{os.getpid()}"
    place.mkdir(mode=0o700)
    try:
        os.chown(place, 12345, 12345)
        with pytest.raises(PlaceError, match="uid 12345, expected mode 0700 and uid 0"):
            open_private(place, 0)
        os.close(open_private(place, 12345))
    finally:
        place.rmdir()


@pytest.mark.parametrize("path", ["relative/journal", "/srv/../srv/journal"])
def test_a_path_that_is_not_plain_is_refused(path: str) -> None:
    with pytest.raises(PlaceError, match="absolute path"):
        journal(Path(path)).open()


def test_no_symlink_leads_to_it(tmp_path: Path, place: Path) -> None:
    (tmp_path / "link").symlink_to(place)
    with pytest.raises(PlaceError, match="no symlink"):
        journal(tmp_path / "link").open()
    (tmp_path / "way").symlink_to(tmp_path)
    with pytest.raises(PlaceError, match="no symlink"):
        journal(tmp_path / "way" / "journal").open()
    with pytest.raises(PlaceError, match="No such file"):
        journal(tmp_path / "absent").open()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(PlaceError, match="has to be a directory"):
        journal(tmp_path / "file").open()


def test_nobody_else_can_change_the_way_to_it(tmp_path: Path) -> None:
    way = tmp_path / "way"
    place = way / "journal"
    place.mkdir(parents=True)
    place.chmod(0o700)
    way.chmod(0o777)
    with pytest.raises(PlaceError, match="somebody else can change"):
        journal(place).open()
    way.chmod(0o1777)
    journal(place).open().close()


def test_a_directory_that_was_exchanged_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exchange happens between opening and locking, where only the second look can see it."""
    lock = Journal._lock

    def exchange(self: Journal, at: int) -> None:
        place.rename(place.parent / "moved")
        place.mkdir(mode=0o700)
        lock(self, at)

    monkeypatch.setattr(Journal, "_lock", exchange)
    with pytest.raises(PlaceError, match="took its place"):
        journal(place).open()
    place.rmdir()
    (place.parent / "moved").rename(place)
    monkeypatch.setattr(Journal, "_lock", lambda _self, _at: place.rename(place.parent / "gone"))
    with pytest.raises(PlaceError, match="moved away"):
        journal(place).open()


def test_a_file_system_without_unnamed_files_is_refused() -> None:
    """procfs knows no O_TMPFILE; the same call is what a journal begins with."""
    from idkmesh_rules.grading.private import check_able

    at = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(PlaceError, match=r"no O_TMPFILE|a file can't be made"):
            check_able(at)
    finally:
        os.close(at)


def test_without_proc_it_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from idkmesh_rules.grading import private

    monkeypatch.setattr(private, "_by_number", lambda descriptor: f"/nowhere/{descriptor}")
    with pytest.raises(PlaceError, match="/proc isn't mounted"):
        journal(place).open()


# --- Records that aren't those that were written ----------------------------------------------------------------------


def rewrite(file: Path, change: Callable[[dict[str, Any]], object], *, sealed: bool = True) -> None:
    """Change a record; `sealed` gives it the digest that belongs to its new contents."""
    value = json.loads(file.read_bytes())
    change(value)
    if sealed:
        del value["digest"]
        value["digest"] = canonical_digest(value)
    file.chmod(0o600)
    file.write_bytes(canonical_bytes(value))
    file.chmod(0o400)


def file_of(place: Path, sequence: int) -> Path:
    return next(file for file in place.iterdir() if json.loads(file.read_bytes())["sequence"] == sequence)


def replace(file: Path, data: bytes) -> None:
    file.chmod(0o600)
    file.write_bytes(data)
    file.chmod(0o400)


def swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    replace(one, second)
    replace(other, first)


def bring_in(place: Path) -> None:
    elsewhere = place.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    other = journal(elsewhere).open()
    for number in range(4):
        other.append("planned", f"call-{number}", {"number": number})
    other.append("intended", "job-1", {})
    other.close()
    (place / file_of(elsewhere, 5).name).write_bytes(file_of(elsewhere, 5).read_bytes())
    (place / file_of(elsewhere, 5).name).chmod(0o400)


DAMAGE: dict[str, tuple[Callable[[Path], object], Fault]] = {
    "a body changed": (
        lambda p: rewrite(file_of(p, 2), lambda v: v["body"].update(number=9), sealed=False),
        Fault.TAMPERED,
    ),
    "a body changed, and its digest": (
        lambda p: rewrite(file_of(p, 2), lambda v: v["body"].update(number=9)),
        Fault.TAMPERED,
    ),
    "the last body changed": (
        lambda p: rewrite(file_of(p, 4), lambda v: v["body"].update(number=9), sealed=False),
        Fault.TAMPERED,
    ),
    "not canonical": (lambda p: replace(file_of(p, 2), file_of(p, 2).read_bytes() + b"\n"), Fault.TAMPERED),
    "truncated": (lambda p: replace(file_of(p, 2), file_of(p, 2).read_bytes()[:-20]), Fault.TAMPERED),
    "empty": (lambda p: replace(file_of(p, 2), b""), Fault.TAMPERED),
    "deep": (lambda p: replace(file_of(p, 2), b"[" * 100_000), Fault.TAMPERED),
    "another format": (lambda p: rewrite(file_of(p, 2), lambda v: v.update(format=2)), Fault.TAMPERED),
    "a field more": (lambda p: rewrite(file_of(p, 2), lambda v: v.update(more=2)), Fault.TAMPERED),
    "another mode": (lambda p: file_of(p, 2).chmod(0o600), Fault.TAMPERED),
    "a second name": (lambda p: os.link(file_of(p, 2), p.parent / "second"), Fault.TAMPERED),
    "two exchanged": (lambda p: swap(file_of(p, 2), file_of(p, 3)), Fault.REORDERED),
    "two renumbered": (
        lambda p: [
            rewrite(file, lambda v, to=to: v.update(sequence=to))
            for file, to in ((file_of(p, 2), 3), (file_of(p, 3), 2))
        ],
        Fault.TAMPERED,
    ),
    "a number twice": (lambda p: rewrite(file_of(p, 3), lambda v: v.update(sequence=2)), Fault.REORDERED),
    "one taken out": (lambda p: file_of(p, 2).unlink(), Fault.MISSING),
    "the first taken out": (lambda p: file_of(p, 0).unlink(), Fault.MISSING),
    "one of another journal": (bring_in, Fault.FOREIGN),
    "another journal's id": (
        lambda p: rewrite(file_of(p, 4), lambda v: v.update(journal_id="journal-other")),
        Fault.FOREIGN,
    ),
    "a file of another name": (lambda p: (p / "notes.txt").write_bytes(b""), Fault.FOREIGN),
    "a kind that it has not": (lambda p: (p / f"guessed-{'0' * 64}.json").write_bytes(b""), Fault.FOREIGN),
    "a directory": (lambda p: (p / f"planned-{'0' * 64}.json").mkdir(), Fault.FOREIGN),
    "a pipe": (lambda p: os.mkfifo(p / f"planned-{'0' * 64}.json"), Fault.FOREIGN),
    "a socket": (lambda p: os.mknod(p / f"planned-{'0' * 64}.json", stat.S_IFSOCK | 0o400), Fault.UNREADABLE),
    "a symlink": (lambda p: (p / f"planned-{'0' * 64}.json").symlink_to(file_of(p, 2)), Fault.UNREADABLE),
    "4 MiB and more": (lambda p: replace(file_of(p, 2), b" " * ((4 << 20) + 1)), Fault.UNREADABLE),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_journal_that_was_touched_is_refused_by_name(place: Path, name: str) -> None:
    damage, fault = DAMAGE[name]
    kept = journal(place).open()
    for number in range(4):
        kept.append("planned", f"call-{number}", {"number": number})
    kept.close()
    journal(place).open().close()
    damage(place)
    with pytest.raises(JournalRefused) as caught:
        journal(place).open()
    assert caught.value.fault is fault
    assert fault.value in str(caught.value)


def test_a_journal_for_something_else_is_refused(place: Path, opened: Journal) -> None:
    opened.close()
    with pytest.raises(JournalRefused, match="is for export"):
        journal(place, "export").open()


def test_only_a_head_kept_elsewhere_shows_that_the_end_was_cut_off(place: Path, opened: Journal) -> None:
    opened.append("planned", "call-1", {})
    before = opened.head
    opened.append("planned", "call-2", {})
    head = opened.head
    opened.close()
    file_of(place, 2).unlink()
    journal(place).open(at_least=before).close()
    for absent in (head, Head(1, bytes_digest(b"x")), Head(-1, before.digest)):
        with pytest.raises(JournalRefused, match="was there before") as caught:
            journal(place).open(at_least=absent)
        assert caught.value.fault is Fault.MISSING


def test_what_is_read_is_bounded(place: Path, opened: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    opened.append("planned", "call-1", {"a": "x" * 1000})
    opened.close()
    monkeypatch.setattr(module, "MAX_TOTAL", 1000)
    with pytest.raises(JournalRefused, match="more than 1000 bytes"):
        journal(place).open()
    monkeypatch.setattr(module, "MAX_RECORDS", 1)
    with pytest.raises(JournalRefused, match="more than 1 files"):
        journal(place).open()


def in_another(code: str, place: Path) -> None:
    """Run code in a process of its own, with `kept` open at `place`; what it asserts has to hold."""
    begin = """
import errno, os, resource, sys
from pathlib import Path
from idkmesh_rules.grading.journal import Journal, JournalError, JournalPoisoned
place = Path(sys.argv[1])
kept = Journal(place, os.geteuid(), "evaluation", frozenset({"planned", "intended"})).open()
def raised(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")
"""
    run = subprocess.run([sys.executable, "-c", begin + code, str(place)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


def test_a_child_can_neither_record_nor_release(place: Path) -> None:
    """In processes of their own: a fork with the journal open, which writes, closes, and executes something else."""
    code = """
child = os.fork()
if child == 0:
    try:
        kept.append("planned", "call-1", {})
    except JournalError as error:
        assert "forked" in str(error), error
    else:
        os._exit(1)
    kept.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
probe = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)"
assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", probe, str(place)]) == 1, "still held"
kept.append("planned", "call-1", {})
"""
    in_another(code, place)


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failed_fsync_poisons_the_journal(place: Path, failing: int) -> None:
    """The file's, after which nothing is linked, and the directory's, after which nobody knows. Either way nobody acts."""
    code = f"""
real, calls = os.fsync, []
def fsync(descriptor):
    calls.append(descriptor)
    if len(calls) == {failing}:
        raise OSError(errno.EIO, "Input/output error")
    real(descriptor)
os.fsync = fsync
assert "fsync failed: Input/output error" in raised(JournalPoisoned, lambda: kept.append("planned", "call-1", {{}}))
assert kept.find("planned", "call-1") is None
assert "no more records" in raised(JournalPoisoned, lambda: kept.append("planned", "call-2", {{}}))
assert len(calls) == {failing}, "nothing was tried any more"
kept.close()
"""
    in_another(code, place)
    again = journal(place).open()
    try:
        assert (again.find("planned", "call-1") is not None) == (failing == 2)
        assert again.find("planned", "call-2") is None
        again.append("planned", "call-2", {})
    finally:
        again.close()


def test_a_full_disk_keeps_a_record_out_and_the_journal_whole(place: Path) -> None:
    code = """
kept.append("planned", "call-1", {})
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
assert "File too large" in raised(JournalError, lambda: kept.append("planned", "call-2", {"a": "x" * 2000}))
kept.append("planned", "call-3", {})
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept.append("planned", "call-2", {"a": "x" * 2000})
"""
    in_another(code, place)
    again = journal(place).open()
    assert [each.key for each in again.every("planned")] == ["call-1", "call-3", "call-2"]
    again.close()


def test_a_journal_that_can_not_be_begun_is_not_held(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, "MAX_RECORD", 10)
        with pytest.raises(JournalError, match="full"):
            journal(place).open()
    journal(place).open().close()


def test_where_linking_is_impossible_it_says_so(place: Path, opened: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    from idkmesh_rules.grading import private

    monkeypatch.setattr(private, "_by_number", lambda descriptor: f"/nowhere/{descriptor}")
    with pytest.raises(JournalError, match="is /proc mounted"):
        opened.append("planned", "call-1", {})
    monkeypatch.undo()
    opened.append("planned", "call-1", {})


def test_a_directory_that_is_gone_takes_no_file(tmp_path: Path) -> None:
    from idkmesh_rules.grading.private import unnamed_file

    (tmp_path / "gone").mkdir()
    at = os.open(tmp_path / "gone", os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "gone").rmdir()
    try:
        with pytest.raises(PlaceError, match="a file can't be made"):
            unnamed_file(at)
    finally:
        os.close(at)
