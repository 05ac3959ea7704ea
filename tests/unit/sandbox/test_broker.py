"""The local broker with a real sandbox: what it signs, what it runs once, what it remembers, and what it never claims."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.grading import provision
from idkmesh_rules.grading.authenticity import Authenticity
from idkmesh_rules.grading.evidence import FileRepository
from idkmesh_rules.grading.keys import rotate_broker
from idkmesh_rules.grading.provision import Provision, provide
from idkmesh_rules.grading.supervisor import EXPORT
from idkmesh_rules.grading.values import GradingError, JobOutcome, JobResult, JobSpec
from idkmesh_rules.sandbox import local
from idkmesh_rules.sandbox.broker import LocalBroker, memory_name
from idkmesh_rules.sandbox.local import LocalSandbox
from tests.support.graded import needs, python

JOURNAL, NONCE = "journal-1", "ab" * 32


class Host:
    """A host's state with an open broker over it."""

    def __init__(self, place: Path, sandbox: LocalSandbox) -> None:
        self.provision: Provision = provide(place)
        self.repository = FileRepository(self.provision.evidence).open()
        self.sandbox = sandbox
        self.broker = self.another()

    def another(self) -> LocalBroker:
        """A broker over the same memory, as after a restart."""
        provision = self.provision
        broker = LocalBroker(
            self.sandbox,
            provision.jobs,
            provision.owner,
            provision.identity.key_id,
            provision.key,
            self.repository,
            lambda: datetime(2026, 12, 1, tzinfo=UTC),
        )
        return broker.open()

    @property
    def authenticity(self) -> Authenticity:
        return self.provision.identity.authenticity

    def ran(self, spec: JobSpec) -> tuple[JobResult, dict[str, bytes]]:
        """Submit a job, wait for it, and authenticate what was signed."""
        receipt = self.authenticity.receipt(self.broker.submit(spec, JOURNAL, NONCE), spec, JOURNAL, NONCE)
        while (answer := self.broker.fetch(spec.job_id)) is None:
            assert self.broker.running(spec.job_id)
        return self.authenticity.result(answer[0], spec, receipt), dict(answer[1])


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    needs()
    sandbox = LocalSandbox(name="broker")
    sandbox.open()
    host = Host(tmp_path / "state", sandbox)
    yield host
    host.broker.close()
    host.repository.close()
    sandbox.close()


def test_a_job_is_receipted_run_and_signed(host: Host) -> None:
    reference = host.repository.put("data", b"41")
    program = "import os; os.write(3, str(int(open('/inputs/data').read()) + 1).encode()); print('done')"
    result, exports = host.ran(python(program, inputs=(reference,)))
    assert result.outcome is JobOutcome.EXITED
    assert exports == {EXPORT: b"42"}
    assert result.exports == ((EXPORT, bytes_digest(b"42"), 2),)
    assert result.stdout == (bytes_digest(b"done\n"), 5, False)
    assert set(result.enforced) == host.sandbox.controls


def test_a_job_id_is_used_up_by_its_first_receipt(host: Host) -> None:
    spec = python("import os; os.write(3, b'1')")
    first, _exports = host.ran(spec)
    for broker in (host.broker, host.another()):
        assert broker.accepted(spec.job_id)
        with pytest.raises(GradingError, match="it runs once"):
            broker.submit(spec, "journal-2", "cd" * 32)
        assert "it runs once" in broker.fault
    answer = host.another().fetch(spec.job_id)
    assert answer is not None
    receipt = host.authenticity.receipt(host.broker.receipt(spec.job_id), spec, JOURNAL, NONCE)  # type: ignore[arg-type]
    assert host.authenticity.result(answer[0], spec, receipt) == first


def test_nothing_is_known_of_what_was_never_submitted(host: Host) -> None:
    assert host.broker.receipt("job-9/candidate") is None
    assert host.broker.fetch("job-9/candidate") is None
    assert not host.broker.accepted("job-9/candidate")
    assert not host.broker.running("job-9/candidate")


def test_a_job_that_was_given_up_stays_without_a_result(host: Host) -> None:
    spec = python("import time; time.sleep(60)")
    host.broker.submit(spec, JOURNAL, NONCE)
    time.sleep(0.2)
    host.broker.close()
    again = host.another()
    assert again.receipt(spec.job_id) is not None
    assert again.fetch(spec.job_id) is None
    assert not again.running(spec.job_id)
    with pytest.raises(GradingError, match="it runs once"):
        again.submit(spec, JOURNAL, NONCE)
    again.close()
    host.broker = host.another()


def test_what_can_not_be_run_is_not_accepted(host: Host) -> None:
    absent = host.repository.put("data", b"1")._replace(digest=bytes_digest(b"2"))
    for spec in (
        python("pass", runtime="no-such-runtime"),
        python("pass", inputs=(absent,)),
        python("pass", required_controls=("tamper-proof-clock",)),
    ):
        with pytest.raises(GradingError):
            host.broker.submit(spec, JOURNAL, NONCE)
        assert host.broker.receipt(spec.job_id) is None


def test_a_sandbox_that_fails_ends_the_job_as_never_begun(host: Host) -> None:
    """The launcher is gone for good: it can't be moved into groups, nor started again."""
    slot = host.sandbox._slot
    assert slot is not None
    slot.close()
    result, exports = host.ran(python("pass"))
    assert (result.outcome, exports, result.enforced) == (JobOutcome.SETUP_FAILED, {}, ())
    assert "isn't open" in host.broker.fault


def test_a_result_that_can_not_be_kept_is_none(host: Host) -> None:
    spec = python("import os; os.write(3, b'1')")
    place = host.provision.jobs
    (place / memory_name("export", spec.job_id)).write_bytes(b"somebody was here")
    host.broker.submit(spec, JOURNAL, NONCE)
    while host.broker.running(spec.job_id):
        time.sleep(0.01)
    assert host.broker.fetch(spec.job_id) is None
    assert "can't be kept" in host.broker.fault


def test_a_broker_that_is_being_closed_accepts_nothing_more(host: Host) -> None:
    """Or a job that began beside the closing would be run by nobody's leave, and with nobody to keep its result."""
    slow = python("import time; time.sleep(60)")
    host.broker.submit(slow, JOURNAL, NONCE)
    closing = Thread(target=host.broker.close)
    closing.start()
    while not host.broker._closing:
        time.sleep(0.001)
    other = slow._replace(job_id="job-2/candidate")
    with pytest.raises(GradingError, match="being closed"):
        host.broker.submit(other, JOURNAL, NONCE)
    closing.join()
    host.broker = host.another()
    assert not host.broker.accepted(other.job_id)


def test_a_closed_broker_knows_nothing(host: Host) -> None:
    host.broker.close()
    with pytest.raises(GradingError, match="isn't open"):
        host.broker.receipt("job-1/candidate")
    host.broker = host.another()


def test_state_is_made_once_and_kept(tmp_path: Path) -> None:
    first = provide(tmp_path / "state")
    assert provide(tmp_path / "state") == first
    assert sorted(each.name for each in (tmp_path / "state").iterdir()) == ["broker", "calls", "evidence", "jobs"]
    assert all(each.stat().st_mode & 0o777 == 0o700 for each in (tmp_path / "state").iterdir())


def test_two_hosts_that_begin_at_once_have_one_broker(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: provide(tmp_path / "state"), range(8)))
    assert len({each.identity.key_id for each in made}) == 1
    assert sorted(each.name for each in (tmp_path / "state").iterdir()) == ["broker", "calls", "evidence", "jobs"]


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_state_that_others_reach_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(mode)
    with pytest.raises(GradingError, match="0700"):
        provide(tmp_path / "state")


def test_a_state_below_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GradingError, match="can't be made"):
        provide(tmp_path / "no" / "state")


def test_a_journal_is_made_for_each_assessment(tmp_path: Path) -> None:
    host = provide(tmp_path / "state")
    one, other = host.journal("one"), host.journal("other")
    assert one != other
    assert host.journal("one") == one
    assert os.stat(one).st_mode & 0o777 == 0o700


def test_a_broker_is_made_also_where_renames_may_replace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provision, "rename_without_replacing", lambda _source, _target: False)
    assert provide(tmp_path / "state").identity.name == "local"


def test_a_broker_that_can_not_be_put_in_its_place_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_source: Path, _target: Path) -> bool:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(provision, "rename_without_replacing", failing)
    with pytest.raises(GradingError, match="broker can't be made: Input/output error"):
        provide(tmp_path / "state")
    assert not list((tmp_path / "state").glob(".broker-*"))


def test_files_that_can_not_be_handed_over_are_the_hosts_fault(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_name: str, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local, "memory_file", full)
    result, _exports = host.ran(python("pass"))
    assert result.outcome is JobOutcome.SETUP_FAILED
    assert "can't be handed over: No space left" in host.broker.fault


def test_the_identities_that_were_rotated_are_kept(tmp_path: Path) -> None:
    first = provide(tmp_path / "state")
    rotate_broker(tmp_path / "state" / "broker")
    second = provide(tmp_path / "state")
    assert second.identity != first.identity
    assert second.retired == (first.identity,)
    (retired,) = (tmp_path / "state" / "broker" / "retired").iterdir()
    retired.chmod(0o600)
    retired.write_text("{")
    with pytest.raises(GradingError, match="no broker's identity"):
        provide(tmp_path / "state")
