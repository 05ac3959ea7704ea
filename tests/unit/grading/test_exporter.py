"""The exporter: where a report goes, that nothing is ever replaced, and that asking again is safe."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from idkmesh_rules.grading import exporter as module
from idkmesh_rules.grading.adapter import CallUncertain, EvaluationAdapter
from idkmesh_rules.grading.evidence import SqliteRepository
from idkmesh_rules.grading.exporter import Destination, Exporter, NotPublished
from idkmesh_rules.grading.journal import JournalError, JournalLocked
from idkmesh_rules.grading.private import PlaceError
from idkmesh_rules.grading.retained import Phase
from idkmesh_rules.grading.values import GradingError
from tests.support.grading import GOOD, FixtureBroker, config_of, ended, manifest_in, play, supervisor_of


def private(place: Path) -> Path:
    place.mkdir(mode=0o700)
    return place


def exporter(place: Path, *destinations: Destination) -> Exporter:
    return Exporter(place / "journal", destinations or (Destination("reports", "1", place / "reports"),), os.geteuid())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    private(tmp_path / "journal")
    private(tmp_path / "reports")
    return tmp_path


@pytest.fixture
def started(place: Path) -> Iterator[Exporter]:
    made = exporter(place)
    made.start()
    yield made
    made.stop()


def test_making_one_touches_nothing(tmp_path: Path) -> None:
    exporter(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(GradingError, match="no two of the same"):
        exporter(tmp_path, Destination("a", "1", tmp_path / "x"), Destination("a", "1", tmp_path / "y"))
    with pytest.raises(GradingError, match="has destinations"):
        Exporter(tmp_path, (), 0)


def test_a_report_is_published_whole_private_and_once(place: Path, started: Exporter) -> None:
    publication = started.publish("call-1", "reports", "1", b"report")
    (file,) = (place / "reports").iterdir()
    assert (file.name, file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (publication.file, b"report", 0o400)
    assert started.publish("call-1", "reports", "1", b"report") == publication
    file.unlink()
    started.stop()
    started.start()
    assert started.publish("call-1", "reports", "1", b"report") == publication
    assert list((place / "reports").iterdir()) == [], "what was published may have been taken; it doesn't come again"


def test_an_operation_does_not_change(started: Exporter) -> None:
    started.publish("call-1", "reports", "1", b"report")
    with pytest.raises(NotPublished, match="something else, or elsewhere"):
        started.publish("call-1", "reports", "1", b"another")


def test_a_request_supplies_no_paths(place: Path, started: Exporter) -> None:
    for name, revision in (("../reports", "1"), (str(place / "reports"), "1"), ("reports", "2"), ("", "")):
        with pytest.raises(NotPublished, match="no open destination"):
            started.publish("call-1", name, revision, b"report")
    started.publish("../../call", "reports", "1", b"report")
    assert [file.name.startswith("evaluation-") for file in (place / "reports").iterdir()] == [True]


STANDING: dict[str, Callable[[Path], object]] = {
    "a file": lambda path: path.write_bytes(b"mine"),
    "the same file": lambda path: path.write_bytes(b"report"),
    "a dangling symlink": lambda path: path.symlink_to("nowhere"),
    "a symlink to the same": lambda path: [(path.parent / "x").write_bytes(b"report"), path.symlink_to("x")],
    "a directory": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("name", STANDING)
def test_nothing_is_replaced(place: Path, started: Exporter, name: str) -> None:
    elsewhere = private(place / "elsewhere")
    (place / "other").mkdir(mode=0o700)
    other = Exporter(place / "other", [Destination("reports", "1", elsewhere)], os.geteuid())
    other.start()
    file = place / "reports" / other.publish("call-1", "reports", "1", b"report").file
    other.stop()
    STANDING[name](file)
    before = os.lstat(file)
    with pytest.raises(NotPublished, match="is there already, and nothing is ever replaced"):
        started.publish("call-1", "reports", "1", b"report")
    assert os.lstat(file) == before
    assert [each.name for each in (place / "journal").iterdir() if not each.name.startswith("journal")] == []


def test_what_appears_at_the_last_moment_is_not_replaced(
    place: Path, started: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = module._standing
    monkeypatch.setattr(module, "_standing", lambda at, name: [standing(at, name), os.mkdir(name, dir_fd=at)][0])
    with pytest.raises(NotPublished, match="appeared meanwhile"):
        started.publish("call-1", "reports", "1", b"report")


def test_an_operation_that_was_begun_is_finished_or_found_finished(place: Path, started: Exporter) -> None:
    publication = started.publish("call-1", "reports", "1", b"report")
    started.stop()
    next((place / "journal").glob("published-*")).unlink()
    started.start()
    assert started.publish("call-1", "reports", "1", b"report") == publication
    started.stop()
    next((place / "journal").glob("published-*")).unlink()
    (place / "reports" / publication.file).unlink()
    started.start()
    assert started.publish("call-1", "reports", "1", b"report") == publication
    assert (place / "reports" / publication.file).read_bytes() == b"report"
    started.stop()
    next((place / "journal").glob("published-*")).unlink()
    (place / "reports" / publication.file).unlink()
    (place / "reports" / publication.file).write_bytes(b"mine")
    started.start()
    with pytest.raises(NotPublished, match="nothing is ever replaced"):
        started.publish("call-1", "reports", "1", b"report")


def test_a_report_is_bounded(started: Exporter, place: Path) -> None:
    with pytest.raises(NotPublished, match="at most"):
        started.publish("call-1", "reports", "1", b" " * ((4 << 20) + 1))
    file = started.publish("call-2", "reports", "1", b"report").file
    with (place / "reports" / file).open("rb") as stream:
        assert stream.read() == b"report"


def test_directories_are_private_distinct_and_held_by_one(place: Path, started: Exporter) -> None:
    with pytest.raises(JournalLocked):
        exporter(place).start()
    started.stop()
    with pytest.raises(NotPublished):
        started.publish("call-1", "reports", "1", b"report")
    for twice in (place / "reports", place / "journal"):
        both = exporter(place, Destination("a", "1", place / "reports"), Destination("a", "2", twice))
        with pytest.raises(PlaceError, match="distinct"):
            both.start()
    (place / "reports").chmod(0o755)
    with pytest.raises(PlaceError, match="expected mode 0700"):
        exporter(place).start()
    (place / "reports").chmod(0o700)
    started.start()
    with pytest.raises(JournalError, match="open already"):
        started.start()


def test_a_call_is_published_through_its_adapter(place: Path, started: Exporter, tmp_path: Path) -> None:
    repository = SqliteRepository(tmp_path / "evidence.db").open()
    manifest, broker = manifest_in(repository), FixtureBroker()
    play(broker, manifest)
    config = config_of(tmp_path / "calls", supervisor_of(repository, manifest), broker, repository)
    adapter = EvaluationAdapter(config)
    adapter.start()
    try:
        broker.lies["fetch"] = lambda _job, _honest: None
        with pytest.raises(CallUncertain):
            adapter.evaluate("call-1", manifest.digest)
        with pytest.raises(CallUncertain):
            adapter.publish("call-1", started, "reports", "1")
        del broker.lies["fetch"]
        report = ended(adapter, "call-1").report()
        publication = adapter.publish("call-1", started, "reports", "1")
        assert (place / "reports" / publication.file).read_bytes() == report
        assert json.loads(report)["passed"] is True
        assert adapter.phase("call-1") is Phase.PUBLISHED
        assert adapter.publish("call-1", started, "reports", "1") == publication
        assert ended(adapter, "call-1").passed
        repository.delete(ended(adapter, "call-1").assessment.observations[0].digest)  # type: ignore[union-attr]
        assert GOOD not in report
        with pytest.raises(GradingError, match="is blocked"):
            adapter.publish("call-1", started, "reports", "1")
        adapter.stop(10)
        adapter.start()
        assert adapter.phase("call-1") is Phase.PUBLISHED
    finally:
        adapter.stop(10)
        repository.close()
