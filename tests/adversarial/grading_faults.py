"""The fault table of protected grading: `python -m tests.adversarial.grading_faults [--only NAME]`.

Each fault is played with real files and real processes: what happened, what was submitted (never anything twice), and what
was kept. A fault that breaks one of its assertions ends the command with 1. The tests run the same functions, one by one.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from errno import EIO
from pathlib import Path
from typing import Any, NamedTuple

from idkmesh_rules.contracts.digest import canonical_bytes, canonical_digest
from idkmesh_rules.grading.exporter import Destination, Exporter
from idkmesh_rules.grading.journal import Fault, JournalError, JournalLocked, JournalRefused
from idkmesh_rules.grading.private import PlaceError, add_file
from idkmesh_rules.grading.values import read_receipt, read_result
from tests.support.grading import FixtureBroker
from tests.support.grading_case import CALL, JOBS, Case, Disk, Steps, die, in_child
from tests.support.table import columns


class Row(NamedTuple):
    """A line of the table."""

    happened: str
    submitted: str
    kept: str


class Absent(Exception):
    """What a fault needs isn't on this machine; the message says what."""


FAULTS: dict[str, Callable[[Path], Row]] = {}


def fault(name: str) -> Callable[[Callable[[Path], Row]], Callable[[Path], Row]]:
    def named(play: Callable[[Path], Row]) -> Callable[[Path], Row]:
        FAULTS[name] = play
        return play

    return named


def fresh(place: Path, name: str) -> Path:
    made = place / name
    made.mkdir(mode=0o700)
    return made


def counted(found: "Counter[str]") -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(found.items()))


# --- Processes that die -----------------------------------------------------------------------------------------------


def steps_of(case: Case) -> int:
    """How many points a whole life has at which it can be stopped."""

    def work() -> int:
        steps = Steps()
        steps.watch(case.broker)
        case.life()
        return steps.count

    return int(in_child(work).said)


def killed_at(case: Case, number: int, act: Callable[[], object] = die) -> None:
    def work() -> None:
        Steps(number, act).watch(case.broker)
        case.life()

    assert in_child(work).signal == signal.SIGKILL, "the child outlived its last step"


def every_kill(place: Path, *, right: bool) -> Row:
    points = steps_of(Case(fresh(place, "whole"), right=right))
    found: Counter[str] = Counter()
    submitted: Counter[int] = Counter()
    for number in range(1, points + 1):
        case = Case(fresh(place, str(number)), right=right)
        killed_at(case, number)
        again = [in_child(case.life).said for _ in range(2)]
        assert again[0] == again[1], "a further restart changes nothing"
        found[case.check(again[0])] += 1
        submitted[len(case.broker.submitted)] += 1
    assert set(found) == {"passed" if right else "failed", "uncertain"}, "both were to be met"
    return Row(
        f"{points} kills, each restarted twice: {counted(found)}",
        "each job at most once: " + ", ".join(f"{jobs} in {times}" for jobs, times in sorted(submitted.items())),
        "every acknowledged record",
    )


@fault("SIGKILL at every step of a call that is right")
def kill_right(place: Path) -> Row:
    return every_kill(place, right=True)


@fault("SIGKILL at every step of a call that is wrong")
def kill_wrong(place: Path) -> Row:
    """No crash makes a pass of it."""
    return every_kill(place, right=False)


@fault("SIGKILL at every step of a publication")
def kill_publication(place: Path) -> Row:
    def exporter(at: Path) -> Exporter:
        return Exporter(at / "journal", [Destination("reports", "1", at / "reports")], os.geteuid())

    def publish(at: Path, steps: Steps | None = None) -> int:
        if steps is not None:
            steps.watch(FixtureBroker())
        made = exporter(at)
        made.start()
        made.publish(CALL, "reports", "1", b"report" * 1000)
        made.stop()
        return steps.count if steps is not None else 0

    def prepared(name: str) -> Path:
        at = fresh(place, name)
        fresh(at, "journal")
        fresh(at, "reports")
        return at

    whole = prepared("whole")
    points = int(in_child(lambda: publish(whole, Steps())).said)
    found: Counter[str] = Counter()
    for number in range(1, points + 1):
        at = prepared(str(number))
        assert in_child(lambda at=at, number=number: publish(at, Steps(number, die))).signal == signal.SIGKILL
        sizes = [file.stat().st_size for file in (at / "reports").iterdir()]
        assert sizes in ([], [6000]), sizes
        found["whole" if sizes else "none"] += 1
        in_child(lambda at=at: publish(at))
        assert [file.read_bytes() for file in (at / "reports").iterdir()] == [b"report" * 1000]
    assert len(found) == 2
    return Row(f"{points} kills: the file was there {counted(found)}; asked again, it is", "nothing", "one whole file")


@fault("the broker dies between accepting and answering")
def dies_in_between(place: Path) -> Row:
    case = Case(place)

    def at(step: str, job: str) -> None:
        if (step, job) == ("accepted", JOBS[0]):
            die()

    def work() -> None:
        case.broker.at = at
        case.life()

    assert in_child(work).signal == signal.SIGKILL
    assert case.broker.submitted == JOBS[:1]
    decision = case.check(in_child(case.life).said)
    assert decision == "passed"
    return row(case, "the original receipt was found after a restart: passed")


def row(case: Case, happened: str) -> Row:
    return Row(happened, ", ".join(case.broker.submitted) or "nothing", case.records())


# --- Power ------------------------------------------------------------------------------------------------------------


def restarted(case: Case) -> str:
    try:
        return case.life()
    except JournalRefused:
        return "refused"


def powerless(place: Path, numbers: Callable[[int], range], spoil: Callable[[], None] = lambda: None) -> "Counter[str]":
    """Lose power at some steps of a call's life, with journal and evidence on a disk of their own."""
    why = Disk.missing(fresh(place, "probe"))
    if why is not None:
        raise Absent(why)
    found: Counter[str] = Counter()
    for number in numbers(steps_of(Case(fresh(place, "whole")))):
        at = fresh(place, f"power-{number}")
        disk = Disk(at)
        disk.on()
        try:
            case = Case(disk.mount, fresh(at, "elsewhere"))
            os.sync()

            def end(disk: Disk = disk) -> None:
                disk.lose_power()
                die()

            def work(case: Case = case, number: int = number, end: Callable[[], None] = end) -> None:
                spoil()
                Steps(number, end).watch(case.broker)
                case.life()

            assert in_child(work).signal == signal.SIGKILL
            disk.off()
            disk.on()
            decision = in_child(lambda case=case: restarted(case)).said
            twice = len(set(case.broker.submitted)) != len(case.broker.submitted)
            found["submitted twice" if twice else decision if decision == "refused" else case.check(decision)] += 1
        finally:
            disk.off()
    return found


@fault("power lost at every third step")
def power(place: Path) -> Row:
    found = powerless(place, lambda points: range(1, points + 1, 3))
    assert set(found) == {"passed", "uncertain"}, found
    return Row(
        f"{found.total()} losses, remounted and restarted: {counted(found)}",
        "each job at most once",
        "every acknowledged record",
    )


@fault("power lost, with an fsync that does nothing")
def power_without_fsync(place: Path) -> Row:
    """What shows that the simulated loss of power would find a journal that isn't durable."""

    def spoil() -> None:
        os.fsync = lambda _descriptor: None

    found = powerless(place, lambda points: range(points // 2, points // 2 + 12, 3), spoil)
    assert found["submitted twice"] > 0, found
    return Row(
        f"{found.total()} losses: {counted(found)}",
        "twice, as has to be: this is why fsync comes first",
        "what the kernel happened to write",
    )


# --- Processes at the same time ---------------------------------------------------------------------------------------


def forked(works: list[Callable[[], Any]]) -> list[Any]:
    """Do all of it at the same time, each in a process of its own."""
    pipes = [os.pipe() for _ in works]
    for work, (reading, writing) in zip(works, pipes, strict=True):
        if os.fork() == 0:
            os.close(reading)
            try:
                said = work()
            except BaseException:
                said = traceback.format_exc()
            os.write(writing, json.dumps(said).encode())
            os._exit(0)
        os.close(writing)
    found = []
    for reading, _writing in pipes:
        with os.fdopen(reading, "rb") as stream:
            found.append(json.loads(stream.read()))
    for _ in works:
        os.wait()
    return found


@fault("eight processes race for one call")
def race(place: Path) -> Row:
    case = Case(place)

    def work() -> str:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                return case.life()
            except JournalLocked:
                time.sleep(0.001)
        return "never got in"

    said = forked([work] * 8)
    assert said == ["passed"] * 8, said
    assert case.broker.submitted == JOBS
    return row(case, "one at a time held the journal; all eight were told: passed")


@fault("eight processes race for one identity, without the lock")
def race_for_a_name(place: Path) -> Row:
    at = os.open(place, os.O_RDONLY | os.O_DIRECTORY)

    def work() -> str:
        won = 0
        for number in range(100):
            try:
                add_file(at, f"identity-{number}", str(os.getpid()).encode() * 100)
                won += 1
            except FileExistsError:
                pass
        return str(won)

    won = sum(map(int, forked([work] * 8)))
    assert won == 100
    assert all(len(set(file.read_text().split("\n"))) == 1 and file.stat().st_size for file in place.iterdir())
    return Row("of 100 identities, each was had by exactly one of eight", "nothing", "100 whole files, none replaced")


@fault("the lock across fork, exec and death")
def lock_across_fork(place: Path) -> Row:
    case = Case(place)
    ready = place / "ready"

    def holder() -> None:
        adapter = case.adapter()
        adapter.start()
        case.asked(adapter)
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        executed = subprocess.Popen(["sleep", "60"])
        ready.with_suffix(".part").write_text(f"{child} {executed.pid}")
        ready.with_suffix(".part").rename(ready)
        time.sleep(60)

    process = os.fork()
    if process == 0:
        holder()
        os._exit(0)
    until = time.monotonic() + 20
    while not ready.exists() and time.monotonic() < until:
        time.sleep(0.005)
    child, executed = map(int, ready.read_text().split())
    try:
        assert refused(case, JournalLocked)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        assert refused(case, JournalLocked), "a forked child holds what its parent held"
        os.kill(child, signal.SIGKILL)
        while os.path.exists(f"/proc/{child}/fd/0"):
            time.sleep(0.005)
        os.kill(executed, 0)
        assert case.life() == "passed", "what was executed holds nothing"
    finally:
        os.kill(executed, signal.SIGKILL)
    assert case.broker.submitted == JOBS
    return row(case, "held by parent and forked child until both were dead; not by what was executed")


def refused(case: Case, kind: type[Exception], said: str = "") -> str:
    """That a start is refused with this error; its text."""
    try:
        adapter = case.adapter()
        adapter.start()
    except kind as error:
        assert said in str(error), error
        return str(error)
    adapter.stop(10)
    raise AssertionError("it started")


# --- Disks and directories --------------------------------------------------------------------------------------------


def limited(case: Case, size: int) -> Any:
    def limit(step: str, _job: str) -> None:
        # The broker's disk is another one: it writes between these two steps.
        soft = resource.RLIM_INFINITY if step == "submit" else size
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))

    def work() -> str:
        limit("begin", "")
        case.broker.at = limit
        try:
            return case.life(looks=20)
        except JournalError as error:
            return f"refused: {error}"

    return in_child(work).said


@fault("full disk, at every size up to a whole life")
def full_disk(place: Path) -> Row:
    found: Counter[str] = Counter()
    for size in range(0, 4200, 100):
        case = Case(fresh(place, str(size)))
        said = limited(case, size)
        found[said.partition(":")[0]] += 1
        assert set(case.broker.submitted) <= case.intended()
        assert case.check(in_child(case.life).said) == "passed", "with room again, nothing was lost"
    assert {"refused", "uncertain", "passed"} <= set(found), found
    return Row(
        f"meanwhile {counted(found)}; with room again, all passed", "each job once", "whole records only, none torn"
    )


@fault("fsync fails, at each one in turn")
def fsync_fails(place: Path) -> Row:
    whole = Case(fresh(place, "whole"))

    def counting() -> int:
        real, calls = os.fsync, [0]

        def fsync(descriptor: int) -> None:
            calls[0] += 1
            real(descriptor)

        os.fsync = fsync
        whole.life()
        return calls[0]

    points = int(in_child(counting).said)
    meanwhile: Counter[str] = Counter()
    after: Counter[str] = Counter()
    for number in range(1, points + 1):
        case = Case(fresh(place, str(number)))

        def work(case: Case = case, number: int = number) -> str:
            real, calls = os.fsync, [0]

            def fsync(descriptor: int) -> None:
                calls[0] += 1
                if calls[0] == number:
                    raise OSError(EIO, os.strerror(EIO))
                real(descriptor)

            os.fsync = fsync
            try:
                return case.life(looks=20)
            except (JournalError, PlaceError) as error:
                assert "fsync" in str(error), error
                return "refused"

        before = in_child(work).said
        meanwhile[before] += 1
        after[case.check(in_child(case.life).said)] += 1
    assert {"refused", "uncertain"} <= set(meanwhile), meanwhile
    return Row(
        f"{points} failures: meanwhile {counted(meanwhile)}; restarted {counted(after)}",
        "each job at most once",
        "what was durable before",
    )


@fault("a journal directory that others may read")
def wrong_mode(place: Path) -> Row:
    case = Case(place)
    case.journal.chmod(0o750)
    refused(case, PlaceError, "expected mode 0700")
    return row(case, "refused: not of mode 0700")


@fault("a journal directory of somebody else")
def wrong_owner(place: Path) -> Row:
    if os.geteuid() != 0:
        raise Absent("only root can give a directory to somebody else")
    case = Case(place)
    os.chown(case.journal, 12345, 12345)
    refused(case, PlaceError, "expected mode 0700 and uid 0")
    return row(case, "refused: another owner's")


@fault("a symlink on the way to the journal")
def symlink_on_the_way(place: Path) -> Row:
    case = Case(fresh(place, "real"))
    (place / "way").symlink_to(case.place)
    case.journal = place / "way" / "journal"
    refused(case, PlaceError, "no symlink")
    return row(case, "refused: reached by a symlink")


@fault("a directory on the way that others may write to")
def writable_way(place: Path) -> Row:
    way = fresh(place, "way")
    case = Case(fresh(way, "real"))
    way.chmod(0o777)
    refused(case, PlaceError, "somebody else can change")
    return row(case, "refused: others could exchange what lies below it")


# --- Records ----------------------------------------------------------------------------------------------------------


def damaged(place: Path, kind: Fault, damage: Callable[[dict[int, Path]], object], happened: str) -> Row:
    case = Case(place)
    assert in_child(case.life).said == "passed"
    damage({json.loads(file.read_bytes())["sequence"]: file for file in case.journal.iterdir()})
    try:
        adapter = case.adapter()
        adapter.start()
    except JournalRefused as error:
        assert error.fault is kind, error
        return row(case, f"refused as {error.fault.value}: {happened}")
    adapter.stop(10)
    raise AssertionError("it started")


def rewritten(file: Path, **changes: Any) -> None:
    """A record with other contents, and with the digest that belongs to them."""
    value = {**json.loads(file.read_bytes()), **changes}
    del value["digest"]
    file.chmod(0o600)
    file.write_bytes(canonical_bytes({**value, "digest": canonical_digest(value)}))
    file.chmod(0o400)


@fault("a tampered record")
def tampered(place: Path) -> Row:
    return damaged(place, Fault.TAMPERED, lambda files: rewritten(files[3], body={}), "what follows doesn't fit it")


@fault("reordered records")
def reordered(place: Path) -> Row:
    def swap(files: dict[int, Path]) -> None:
        files[3].rename(files[3].with_name("x"))
        files[6].rename(files[3])
        files[3].with_name("x").rename(files[6])

    return damaged(place, Fault.REORDERED, swap, "a record under another's name")


@fault("a missing record")
def missing(place: Path) -> Row:
    return damaged(place, Fault.MISSING, lambda files: files[2].unlink(), "the intent was taken out")


@fault("a foreign record")
def foreign(place: Path) -> Row:
    other = Case(fresh(place, "other"))
    assert in_child(other.life).said == "passed"
    (compared,) = other.journal.glob("compared-*")

    def bring(files: dict[int, Path]) -> None:
        (mine,) = files[0].parent.glob("compared-*")
        mine.unlink()
        compared.rename(mine)

    return damaged(fresh(place, "mine"), Fault.FOREIGN, bring, "another journal's assessment")


# --- Brokers that lie -------------------------------------------------------------------------------------------------

Lies = dict[str, Callable[[str, Any], Any]]


def lied(place: Path, lies: Callable[[Case], Lies], meanwhile: str, happened: str, after: str = "passed") -> Row:
    """A call with a broker that lies, in a process of its own; then a restart with one that doesn't."""
    case = Case(place)

    def work() -> str:
        case.broker.lies = lies(case)
        return case.life()

    said = in_child(work).said
    assert said.startswith(meanwhile), said
    before = case.broker.submitted
    again = in_child(case.life).said
    assert again.startswith(after), again
    assert len(set(case.broker.submitted)) == len(case.broker.submitted)
    assert meanwhile != "uncertain" or before == JOBS[:1]
    return row(case, f"{happened}: {meanwhile}; honest again: {after}")


def signed_of(honest: Any) -> Any:
    return honest[0] if type(honest) is tuple else honest


def changed(honest: Any, change: Callable[[Any], Any]) -> Any:
    """The same answer with its signed part changed; None stays None."""
    if honest is None:
        return None
    return (change(honest[0]), honest[1]) if type(honest) is tuple else change(honest)


def without_signature(_job: str, honest: Any) -> Any:
    return changed(honest, lambda signed: signed._replace(signature=b""))


def cut(_job: str, honest: Any) -> Any:
    return changed(honest, lambda signed: signed._replace(payload=signed.payload[:-20]))


def by_another_key(_job: str, honest: Any) -> Any:
    stranger = FixtureBroker(seed=2)

    def sign(signed: Any) -> Any:
        value = json.loads(signed.payload)
        again = (
            stranger.sign_receipt(read_receipt(value))
            if "spec_digest" in value
            else stranger.sign_result(read_result(value))
        )
        return again._replace(key_id=signed.key_id)

    return changed(honest, sign)


RECEIPTS_AND_RESULTS: dict[str, Callable[[str, Any], Any]] = {
    "unsigned": without_signature,
    "wrongly signed": by_another_key,
    "truncated": cut,
}


def _add_lies() -> None:
    for name, lie in RECEIPTS_AND_RESULTS.items():
        FAULTS[f"broker: {name} receipts"] = lambda place, name=name, lie=lie: lied(
            place, lambda _case: {"submit": lie, "receipt": lie}, "uncertain", f"{name}, so no receipt"
        )
        FAULTS[f"broker: {name} results"] = lambda place, name=name, lie=lie: lied(
            place, lambda _case: {"fetch": lie}, "receipted", f"{name}, so no result"
        )


_add_lies()


def earlier(place: Path) -> dict[str, Any]:
    """What the broker signed for the same manifest in a life with another journal."""
    case = Case(fresh(place, "earlier"))
    assert in_child(case.life).said == "passed"
    return {job: (case.broker.receipt(job), case.broker.fetch(job)) for job in JOBS}


@fault("broker: receipts replayed from another journal")
def replayed_receipts(place: Path) -> Row:
    old = earlier(place)
    replay = lambda job, _honest: old[job][0]  # noqa: E731
    lies = {"submit": replay, "receipt": replay}
    return lied(fresh(place, "now"), lambda _case: lies, "uncertain", "of another journal and nonce")


@fault("broker: results replayed from another journal")
def replayed_results(place: Path) -> Row:
    old = earlier(place)
    return lied(
        fresh(place, "now"),
        lambda _case: {"fetch": lambda job, _: old[job][1]},
        "receipted",
        "of another receipt and nonce",
    )


@fault("broker: receipts swapped between jobs")
def swapped_receipts(place: Path) -> Row:
    def lies(case: Case) -> Lies:
        other = case.manifests[1].candidate
        signed = case.broker.sign_receipt(case.broker.receipt_value(other, "journal-x", "a" * 64))
        return {"submit": lambda *_: signed, "receipt": lambda *_: signed}

    return lied(place, lies, "uncertain", "another job's")


@fault("broker: results swapped between jobs")
def swapped_results(place: Path) -> Row:
    def lies(case: Case) -> Lies:
        other = earlier(place)
        return {"fetch": lambda job, _: other[JOBS[1 - JOBS.index(job)]][1]}

    return lied(place, lies, "receipted", "another job's")


@fault("broker: other bytes than were signed")
def other_bytes(place: Path) -> Row:
    def lie(_job: str, honest: Any) -> Any:
        return honest and (honest[0], {name: data[::-1] for name, data in honest[1].items()})

    return lied(place, lambda _case: {"fetch": lie}, "receipted", "not kept, not believed")


@fault("broker: late receipts")
def late_receipts(place: Path) -> Row:
    case = Case(place)
    asked: list[int] = []

    def lie(_job: str, honest: Any) -> Any:
        asked.append(1)
        return honest if len(asked) > 10 else None

    def vanish(_job: str, _honest: Any) -> Any:
        raise TimeoutError

    case.broker.lies = {"submit": vanish, "receipt": lie}
    decision = case.check(in_child(lambda: case.life(looks=1000)).said)
    assert decision == "passed"
    return row(case, "no answer to any submission, the original receipts later: passed")


@fault("broker: late results")
def late_results(place: Path) -> Row:
    case = Case(place)
    asked: list[int] = []

    def lie(_job: str, honest: Any) -> Any:
        asked.append(1)
        return honest if len(asked) > 10 else None

    case.broker.lies = {"fetch": lie}
    assert case.check(in_child(lambda: case.life(looks=1000)).said) == "passed"
    return row(case, "waited for: passed")


@fault("broker: vanished before it accepted")
def vanished(place: Path) -> Row:
    case = Case(place)

    def away(step: str, _job: str) -> None:
        if step == "submit":
            raise ConnectionError

    def work() -> str:
        case.broker.at = away
        return case.life()

    assert in_child(work).said == "uncertain"
    assert case.check(in_child(case.life).said) == "uncertain"
    return row(case, "uncertain for good: nobody can tell whether it arrived")


@fault("broker: contradictory receipts")
def two_receipts(place: Path) -> Row:
    def lies(case: Case) -> Lies:
        def another(signed: Any) -> Any:
            receipt = read_receipt(json.loads(signed.payload))
            return case.broker.sign_receipt(receipt._replace(accepted_at="2026-12-01T13:00:00Z"))

        return {"receipt": lambda _job, honest: changed(honest, another)}

    return lied(place, lies, "rejected: the broker signed two receipts", "noticed", "rejected")


@fault("broker: contradictory results")
def two_results(place: Path) -> Row:
    def lies(case: Case) -> Lies:
        asked: list[int] = []

        def another(signed: Any) -> Any:
            return case.broker.sign_result(read_result(json.loads(signed.payload))._replace(exit_code=1))

        def lie(_job: str, honest: Any) -> Any:
            asked.append(1)
            return changed(honest, another) if len(asked) % 2 else honest

        return {"fetch": lie}

    return lied(place, lies, "rejected: the broker signed two results", "noticed", "rejected")


# --- The table --------------------------------------------------------------------------------------------------------

_WIDTHS = (32, 44, 26, 30)


def printed(cells: tuple[str, ...]) -> str:
    return columns(cells, _WIDTHS)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(FAULTS), help="play this one")
    only = parser.parse_args(arguments).only
    failed = 0
    print(printed(("fault", "what happened", "submitted", "kept")), "-" * sum((*_WIDTHS, 6)), sep="\n", flush=True)
    for name in [only] if only else list(FAULTS):
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch).resolve() / "fault"
            place.mkdir(mode=0o700)
            try:
                found = FAULTS[name](place)
            except Absent as error:
                found = Row(f"not played: {error}", "", "")
            except Exception:
                failed += 1
                found = Row("BROKEN: see below", "", "")
                traceback.print_exc()
        print(printed((name, *found)), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
