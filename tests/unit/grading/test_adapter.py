"""The adapter: a call's life, every way in which a broker can fail it, and that no job is ever submitted twice."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.grading.adapter import CallMoved, CallUncertain, EvaluationAdapter, StopTimedOut
from idkmesh_rules.grading.broker import CANDIDATE_EXPORT, grader_job
from idkmesh_rules.grading.evidence import Missing, SqliteRepository
from idkmesh_rules.grading.journal import Fault, Journal, JournalLocked, JournalRefused
from idkmesh_rules.grading.retained import KINDS, PURPOSE, Allowance, Phase, signed_as_json
from idkmesh_rules.grading.supervisor import State
from idkmesh_rules.grading.values import ArtifactRef, GradingError, JobOutcome, Manifest, read_receipt, read_result
from tests.support.grading import (
    GOOD,
    SAID,
    FixtureBroker,
    config_of,
    ended,
    manifest_in,
    play,
    result_of,
    statuses,
    supervisor_of,
    values,
)

BOTH = ["job-1/candidate", "job-1/grader"]


class Host:
    """One host: what it keeps across restarts, and the adapter that runs at the moment."""

    def __init__(self, place: Path) -> None:
        self.repository = SqliteRepository(place / "evidence.db").open()
        self.manifests = [manifest_in(self.repository), manifest_in(self.repository, number=2)]
        self.broker = FixtureBroker()
        for each in self.manifests:
            play(self.broker, each)
        self.refused: list[str | None] = [None]
        self.place = place / "journal"
        self.adapter = self.made()

    def made(self, **changes: Any) -> EvaluationAdapter:
        supervisor = supervisor_of(self.repository, *self.manifests, refused=lambda: self.refused[0])
        return EvaluationAdapter(config_of(self.place, supervisor, self.broker, self.repository, **changes))

    def restart(self, **changes: Any) -> EvaluationAdapter:
        self.adapter.stop(10)
        self.adapter = self.made(**changes)
        self.adapter.start()
        return self.adapter

    def asked(self, call_id: str = "call-1", manifest: Manifest | None = None) -> None:
        """Admit a call, whatever becomes of it."""
        try:
            self.adapter.evaluate(call_id, (manifest or self.manifests[0]).digest)
        except CallUncertain as error:
            assert error.call_id == call_id

    def stays(self, phase: Phase, call_id: str = "call-1") -> None:
        """Wait until a call comes to a phase, and then until it was looked at a few times more and is there still."""
        until = time.monotonic() + 10
        while self.adapter.phase(call_id) is not phase and time.monotonic() < until:
            time.sleep(0.002)
        self._looked_at(until)
        assert self.adapter.phase(call_id) is phase

    def fails(self, phase: Phase, call_id: str = "call-1") -> None:
        """Wait until work fails, and see that it leaves a call in a phase."""
        until = time.monotonic() + 10
        while not self.adapter.failures and time.monotonic() < until:
            time.sleep(0.002)
        self._looked_at(until)
        assert self.adapter.phase(call_id) is phase

    def _looked_at(self, until: float) -> None:
        looks = self._looks() + 5
        while self._looks() < looks and time.monotonic() < until:
            time.sleep(0.002)
        assert self._looks() >= looks

    def _looks(self) -> int:
        return len(self.broker.asked) + self.adapter.failures


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    made.adapter.start()
    yield made
    made.adapter.stop(10)
    made.repository.close()


def test_making_one_touches_nothing(tmp_path: Path) -> None:
    host = Host(tmp_path)
    assert list(host.place.iterdir()) == []
    assert not any(each.name == "idkmesh-grading" for each in threading.enumerate())
    with pytest.raises(GradingError, match="isn't started"):
        host.adapter.evaluate("call-1", host.manifests[0].digest)
    host.adapter.stop()


def test_a_call_runs_both_jobs_once_and_comes_to_a_pass(host: Host) -> None:
    host.asked()
    evaluation = ended(host.adapter, "call-1")
    assert evaluation.passed
    assert (evaluation.phase, evaluation.blocked, evaluation.rejection) == (Phase.COMPARED, False, None)
    assert evaluation.allowance == host.adapter.estimate(host.manifests[0].digest) == Allowance(0, 1000)
    assert host.broker.submitted == BOTH
    assert [each.kind for each in host.adapter.history("call-1")] == [
        "planned", "intended", "receipted", "finished", "intended", "receipted", "finished", "compared",
    ]  # fmt: skip
    host.asked()
    assert host.adapter.reconcile("call-1").report() == evaluation.report()
    assert host.broker.submitted == BOTH
    assert host.adapter.failures == 0


@pytest.mark.parametrize(
    ("exported", "said", "state"),
    [
        (values('{"answer": 41}'), statuses(answer="failed"), State.FAILED),
        (values('{"answer": 41}'), SAID, State.DISAGREEMENT),
        (b"{", SAID, State.INVALID),
        (GOOD, None, State.MISSING),
    ],
)
def test_what_it_comes_to_is_the_supervisors(host: Host, exported: bytes, said: bytes | None, state: State) -> None:
    play(host.broker, host.manifests[0], exported, said)
    host.asked()
    evaluation = ended(host.adapter, "call-1")
    assert evaluation.assessment is not None
    assert (evaluation.assessment.state, evaluation.passed) == (state, False)


UNGRADED: dict[str, tuple[bytes | None, dict[str, Any], State, str, bool]] = {
    "it ran out of time": (
        GOOD,
        {"outcome": JobOutcome.WALL},
        State.MISSING,
        "was killed when its wall time was over",
        False,
    ),
    "it never began": (None, {"outcome": JobOutcome.SETUP_FAILED}, State.MISSING, "could not be begun", True),
    "a control was absent": (GOOD, {"enforced": ()}, State.INVALID, "without network-none, wall-clock", True),
    "it exported nothing": (None, {}, State.MISSING, "the candidate's export isn't there", False),
}


@pytest.mark.parametrize("name", UNGRADED)
def test_the_grader_does_not_run_on_what_the_candidate_did_not_export(host: Host, name: str) -> None:
    export, changes, state, reason, hosts = UNGRADED[name]
    host.broker.comes_to["job-1/candidate"] = export, changes
    host.asked()
    evaluation = ended(host.adapter, "call-1")
    assert evaluation.assessment is not None
    assert (evaluation.phase, evaluation.assessment.state, evaluation.passed) == (Phase.COMPARED, state, False)
    assert (reason in evaluation.assessment.reason, evaluation.assessment.host_fault) == (True, hosts)
    assert host.broker.submitted == BOTH[:1]
    assert ended(host.restart(), "call-1").report() == evaluation.report()
    assert host.broker.submitted == BOTH[:1]


def test_the_graders_job_is_bound_to_what_the_candidate_exported(host: Host) -> None:
    """The receipt names the export's digest among the inputs, so that no broker can grade something else."""
    seen: list[Any] = []
    submit = host.broker.submit
    host.broker.submit = lambda spec, *rest: seen.append(spec) or submit(spec, *rest)  # type: ignore[method-assign]
    host.asked()
    ended(host.adapter, "call-1")
    manifest = host.manifests[0]
    assert seen[0] == manifest.candidate
    assert seen[1].inputs == (*manifest.grader.inputs, ArtifactRef(CANDIDATE_EXPORT, bytes_digest(GOOD), len(GOOD)))
    taken = manifest._replace(grader=seen[1])
    with pytest.raises(GradingError, match=CANDIDATE_EXPORT):
        grader_job(taken, ArtifactRef("export", bytes_digest(b""), 0))


# --- Identities -------------------------------------------------------------------------------------------------------


def test_a_call_does_not_move_and_a_manifest_has_one_call(host: Host) -> None:
    host.asked()
    with pytest.raises(CallMoved, match="another manifest"):
        host.adapter.evaluate("call-1", host.manifests[1].digest)
    with pytest.raises(CallMoved, match="for the call 'call-1'"):
        host.adapter.evaluate("call-2", host.manifests[0].digest)
    host.restart()
    with pytest.raises(CallMoved):
        host.adapter.evaluate("call-1", host.manifests[1].digest)
    with pytest.raises(GradingError, match="not on the roster"):
        host.adapter.evaluate("call-3", bytes_digest(b"x"))
    with pytest.raises(GradingError, match="not on the roster"):
        host.adapter.estimate(bytes_digest(b"x"))
    with pytest.raises(GradingError, match="no call"):
        host.adapter.reconcile("call-3")


def test_many_askers_of_one_identity_are_one_call(host: Host) -> None:
    threads = [threading.Thread(target=host.asked) for _ in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert ended(host.adapter, "call-1").passed
    assert host.broker.submitted == BOTH


def test_the_roster_has_to_be_the_same_after_a_restart(host: Host) -> None:
    host.asked()
    ended(host.adapter, "call-1")
    host.adapter.stop()
    first = host.manifests.pop(0)
    with pytest.raises(GradingError, match="supply the same roster"):
        host.made().start()
    host.manifests.append(first)
    with pytest.raises(GradingError, match="another assessment id"):
        host.made().start()
    host.manifests.reverse()
    assert ended(host.restart(), "call-1").passed


def test_a_manifest_whose_grader_has_no_room_for_the_export_is_not_admitted(host: Host) -> None:
    grader = host.manifests[0].grader
    full = grader._replace(inputs=(ArtifactRef(CANDIDATE_EXPORT, bytes_digest(b""), 0),))
    host.manifests = [host.manifests[0]._replace(grader=full)]
    host.restart()
    with pytest.raises(GradingError, match=CANDIDATE_EXPORT):
        host.adapter.evaluate("call-1", host.manifests[0].digest)
    assert host.broker.submitted == []


# --- A broker that fails ----------------------------------------------------------------------------------------------


def raising(step: str, job_id: str = BOTH[0]) -> Callable[[str, str], None]:
    def at(now: str, job: str) -> None:
        if (now, job) == (step, job_id):
            raise ConnectionError("the broker's secret text")

    return at


def test_a_submission_that_failed_is_uncertain_and_never_repeated(host: Host) -> None:
    """Whether it arrived can't be known; a broker that knows no receipt leaves it uncertain for good."""
    host.broker.at = raising("submit")
    host.asked()
    host.stays(Phase.UNCERTAIN)
    with pytest.raises(CallUncertain, match="only its original receipt") as caught:
        host.adapter.reconcile("call-1")
    assert caught.value.phase is Phase.UNCERTAIN
    assert host.adapter.failures >= 1
    host.restart()
    host.broker.at = lambda _step, _job: None
    host.stays(Phase.UNCERTAIN)
    with pytest.raises(CallUncertain):
        host.adapter.evaluate("call-1", host.manifests[0].digest)
    assert host.broker.submitted == []


@pytest.mark.parametrize("job", [0, 1])
def test_only_the_original_receipt_leads_out_of_uncertainty(host: Host, job: int) -> None:
    host.broker.at = raising("accepted", BOTH[job])
    host.broker.lies["receipt"] = lambda _job, _honest: None
    host.asked()
    host.stays(Phase.UNCERTAIN)
    host.restart()
    host.stays(Phase.UNCERTAIN)
    del host.broker.lies["receipt"]
    assert ended(host.adapter, "call-1").passed
    assert host.broker.submitted == BOTH


def other_receipt(host: Host, **changes: Any) -> Callable[[str, Any], Any]:
    """Another authentic receipt for the same job."""

    def lie(job_id: str, honest: Any) -> Any:
        return honest and host.broker.sign_receipt(read_receipt(json.loads(honest.payload))._replace(**changes))

    return lie


def other_result(host: Host, **changes: Any) -> Callable[[str, Any], Any]:
    def lie(job_id: str, honest: Any) -> Any:
        return honest and (
            host.broker.sign_result(read_result(json.loads(honest[0].payload))._replace(**changes)), honest[1]
        )  # fmt: skip

    return lie


def forged(host: Host) -> Callable[[str, Any], Any]:
    stranger = FixtureBroker(seed=2)

    def lie(_job: str, honest: Any) -> Any:
        signed = honest[0] if isinstance(honest, tuple) and isinstance(honest[1], dict) else honest
        if signed is None:
            return None
        again = stranger.sign_receipt if "receipt" in signed.payload_type else stranger.sign_result
        read = read_receipt if "receipt" in signed.payload_type else read_result
        false = again(read(json.loads(signed.payload)))._replace(key_id=signed.key_id)
        return false if signed is honest else (false, honest[1])

    return lie


def unsigned(_job: str, honest: Any) -> Any:
    if honest is None:
        return None
    return (
        (honest[0]._replace(signature=b""), honest[1])
        if isinstance(honest[1], dict)
        else honest._replace(signature=b"")
    )


def truncated(_job: str, honest: Any) -> Any:
    if honest is None:
        return None
    if isinstance(honest[1], dict):
        return honest[0]._replace(payload=honest[0].payload[:-9]), honest[1]
    return honest._replace(payload=honest.payload[:-9])


RECEIPT_LIES: dict[str, Callable[[Host], Callable[[str, Any], Any]]] = {
    "unsigned": lambda _host: unsigned,
    "wrongly signed": forged,
    "truncated": lambda _host: truncated,
    "of another job": lambda host: other_receipt(host, job_id="job-2/candidate"),
    "of another nonce, as replayed": lambda host: other_receipt(host, nonce="b" * 64),
    "of another journal, as replayed": lambda host: other_receipt(host, journal_id="journal-1"),
    "no message at all": lambda _host: lambda _job, _honest: "accepted",
}


@pytest.mark.parametrize("name", RECEIPT_LIES)
def test_a_false_receipt_is_none(host: Host, name: str) -> None:
    lie = RECEIPT_LIES[name](host)
    host.broker.lies = {"submit": lie, "receipt": lie}
    host.asked()
    host.stays(Phase.UNCERTAIN)
    assert host.adapter.failures > 0
    host.broker.lies = {}
    assert ended(host.adapter, "call-1").passed, "the original one still counts"
    assert host.broker.submitted == BOTH


RESULT_LIES: dict[str, Callable[[Host], Callable[[str, Any], Any]]] = {
    "unsigned": lambda _host: unsigned,
    "wrongly signed": forged,
    "truncated": lambda _host: truncated,
    "of another receipt, as replayed": lambda host: other_result(host, receipt_digest=bytes_digest(b"x")),
    "of another job": lambda host: other_result(host, job_id="job-1/grader"),
    "late": lambda _host: lambda _job, _honest: None,
    "with other bytes": lambda _host: lambda _job, honest: (honest[0], {"export": SAID}),
    "with other bytes of the same size": lambda _host: lambda _job, honest: (honest[0], {"export": GOOD[:-1] + b" "}),
    "without the bytes": lambda _host: lambda _job, honest: (honest[0], {}),
    "with more bytes": lambda _host: lambda _job, honest: (honest[0], {**honest[1], "more": b""}),
}


@pytest.mark.parametrize("name", RESULT_LIES)
def test_a_false_result_moves_nothing(host: Host, name: str) -> None:
    host.broker.lies = {"fetch": RESULT_LIES[name](host)}
    host.asked()
    host.stays(Phase.RECEIPTED)
    with pytest.raises(CallUncertain, match="pending"):
        host.adapter.reconcile("call-1")
    for unsigned_bytes in (SAID, GOOD[:-1] + b" ", b""):
        assert host.repository.observation(bytes_digest(unsigned_bytes)) is None, "and nothing of it is kept"
    assert host.broker.submitted == BOTH[:1]
    host.broker.lies = {}
    assert ended(host.adapter, "call-1").passed
    assert host.broker.submitted == BOTH


def test_an_export_that_is_larger_than_its_job_allows_is_not_kept(host: Host) -> None:
    large = ArtifactRef("export", bytes_digest(b""), 1 << 30)
    host.broker.lies = {"fetch": other_result(host, exports=(large,))}
    host.asked()
    host.stays(Phase.RECEIPTED)


def test_two_receipts_for_one_job_end_the_call(host: Host) -> None:
    host.broker.lies = {"receipt": other_receipt(host, accepted_at="2026-12-01T12:00:01Z")}
    host.asked()
    evaluation = ended(host.adapter, "call-1")
    assert (evaluation.phase, evaluation.passed) == (Phase.REJECTED, False)
    assert "two receipts" in str(evaluation.rejection)
    assert host.broker.submitted == BOTH[:1]


def test_two_results_for_one_job_end_the_call(host: Host) -> None:
    told: list[str] = []
    other = other_result(host, exit_code=1)
    host.broker.lies = {
        "fetch": lambda job, honest: told.append(job) or (other(job, honest) if len(told) % 2 else honest)
    }
    host.asked()
    evaluation = ended(host.adapter, "call-1")
    assert evaluation.phase is Phase.REJECTED
    assert "two results" in str(evaluation.rejection)


def test_a_false_second_look_is_no_contradiction(host: Host) -> None:
    """What isn't signed can't be held against the broker either, or a stranger could end calls."""
    told: list[str] = []
    host.broker.lies = {
        "receipt": unsigned,
        "fetch": lambda job, honest: told.append(job) or (honest if len(told) % 2 else unsigned(job, honest)),
    }
    host.asked()
    assert ended(host.adapter, "call-1").passed


# --- Evidence and authority -------------------------------------------------------------------------------------------


def test_a_deleted_observation_blocks_the_result_and_its_history_stays(host: Host) -> None:
    host.asked()
    before = ended(host.adapter, "call-1")
    host.repository.delete(bytes_digest(GOOD))
    now = host.adapter.reconcile("call-1")
    assert before.passed
    assert (now.passed, now.blocked, now.recorded) == (False, True, before.recorded)
    assert host.adapter.history("call-1")[-1].body["digest"] == before.recorded
    assert not ended(host.restart(), "call-1").passed


def test_evidence_that_comes_back_makes_no_pass_of_what_was_recorded(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An assessment is immutable: that one of the moment would pass doesn't change what the call came to."""
    get, fixture = host.repository.get, host.manifests[0].fixture

    def hidden(reference: ArtifactRef) -> bytes:
        if reference == fixture:
            raise Missing("the bytes aren't there")
        return get(reference)

    monkeypatch.setattr(host.repository, "get", hidden)
    host.asked()
    ended(host.adapter, "call-1")
    monkeypatch.undo()
    now = host.adapter.reconcile("call-1")
    assert now.assessment is not None
    assert now.assessment.passed
    assert (now.blocked, now.passed) == (True, False)


def test_revoked_authority_blocks_everything_and_may_come_back(host: Host) -> None:
    host.refused[0] = "the grant was revoked"
    with pytest.raises(GradingError, match="the grant was revoked"):
        host.adapter.evaluate("call-1", host.manifests[0].digest)
    host.refused[0] = None
    host.broker.lies["fetch"] = lambda _job, _honest: None
    host.asked()
    host.stays(Phase.RECEIPTED)
    host.refused[0] = "expired"
    host.broker.lies = {}
    host.stays(Phase.FINISHED)
    assert host.broker.submitted == BOTH[:1], "no job begins without authority"
    host.refused[0] = None
    assert ended(host.adapter, "call-1").passed
    host.refused[0] = "expired"
    assert host.adapter.reconcile("call-1").blocked
    host.refused[0] = None
    assert host.adapter.reconcile("call-1").passed


def test_nothing_is_assessed_while_authority_is_revoked(host: Host) -> None:
    def at(step: str, job: str) -> None:
        if (step, job) == ("fetch", BOTH[1]):
            host.refused[0] = "expired"

    host.broker.at = at
    host.asked()
    host.fails(Phase.FINISHED)
    host.broker.at, host.refused[0] = (lambda _step, _job: None), None
    assert ended(host.adapter, "call-1").passed


def test_an_export_that_was_deleted_is_not_graded(host: Host) -> None:
    def at(step: str, job: str) -> None:
        if (step, job) == ("fetch", BOTH[0]):
            host.refused[0] = "expired"

    host.broker.at = at
    host.asked()
    host.stays(Phase.FINISHED)
    host.repository.delete(bytes_digest(GOOD))
    host.broker.at, host.refused[0] = (lambda _step, _job: None), None
    host.stays(Phase.FINISHED)
    assert host.broker.submitted == BOTH[:1]


# --- Lifecycle --------------------------------------------------------------------------------------------------------


def test_one_adapter_at_a_time(host: Host) -> None:
    with pytest.raises(GradingError, match="started already"):
        host.adapter.start()
    with pytest.raises(JournalLocked):
        host.made().start()
    host.adapter.stop()
    host.adapter.stop()
    other = host.made()
    other.start()
    other.stop()


def test_a_start_that_fails_holds_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.adapter.stop()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", lambda _thread: (_ for _ in ()).throw(RuntimeError("no threads")))
        with pytest.raises(RuntimeError, match="no threads"):
            host.adapter.start()
    host.adapter.start()


def test_a_repository_that_keeps_something_else_is_not_believed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    put = host.repository.put
    monkeypatch.setattr(host.repository, "put", lambda name, data: put(name, data + b" "))
    host.asked()
    host.stays(Phase.RECEIPTED)
    monkeypatch.undo()
    assert ended(host.adapter, "call-1").passed


def test_a_stop_that_times_out_keeps_the_journal_until_a_later_one_joins(host: Host) -> None:
    go, begun = threading.Event(), threading.Event()

    def wait(step: str, _job: str) -> None:
        if step == "accepted":
            begun.set()
            go.wait(20)

    host.broker.at = wait
    host.asked()
    assert begun.wait(10)
    assert host.adapter.phase("call-1") is Phase.INTENDED
    with pytest.raises(StopTimedOut, match="stays locked"):
        host.adapter.stop(0.05)
    with pytest.raises(JournalLocked):
        host.made().start()
    go.set()
    host.adapter.stop(10)
    assert host.broker.submitted == BOTH[:1], "nothing is begun after a stop"
    host.broker.at = lambda _step, _job: None
    assert ended(host.restart(), "call-1").passed
    assert host.broker.submitted == BOTH


@pytest.mark.parametrize(
    ("allowance", "fits"),
    [
        (Allowance(0, 1), True),
        (Allowance(5, 0, "prices-2026-12"), True),
        (Allowance(0, 0, "prices-2026-12"), True),
        (Allowance(5, 1), False),
        (Allowance(0, 0), False),
        (Allowance(-1, 1, "prices-2026-12"), False),
        (Allowance(0, -1), False),
    ],
)
def test_an_allowance_is_priced_or_of_tokens(host: Host, allowance: Allowance, fits: bool) -> None:
    if fits:
        host.made(allowance=allowance)
        return
    with pytest.raises(GradingError, match="allowance"):
        host.made(allowance=allowance)


def test_the_charge_of_an_admitted_call_stays_what_it_was(host: Host) -> None:
    host.asked()
    ended(host.adapter, "call-1")
    host.restart(allowance=Allowance(7, 7, "prices-2027"))
    assert ended(host.adapter, "call-1").allowance == Allowance(0, 1000)
    host.asked("call-2", host.manifests[1])
    assert ended(host.adapter, "call-2").allowance == Allowance(7, 7, "prices-2027")
    with pytest.raises(GradingError, match="interval"):
        host.made(interval=0)


def test_a_head_kept_elsewhere_is_held_against_the_journal(host: Host) -> None:
    host.asked()
    ended(host.adapter, "call-1")
    head = host.adapter.head
    host.restart(at_least=head)
    host.adapter.stop()
    max(host.place.iterdir(), key=lambda file: file.name.startswith("compared")).unlink()
    with pytest.raises(JournalRefused):
        host.made(at_least=head).start()


# --- A journal of true records that don't belong together -------------------------------------------------------------


def test_retained_records_are_believed_only_as_far_as_the_broker_signed_them(host: Host) -> None:
    """Whoever can write the journal anew, chain and all, still can't make a result."""
    host.asked()
    ended(host.adapter, "call-1")
    true = [(each.kind, each.key, dict(each.body)) for each in host.adapter.history("call-1")]
    journal_id = host.adapter._started().journal.journal_id
    host.adapter.stop()

    def written(records: list[tuple[str, str, Any]]) -> None:
        for file in host.place.iterdir():
            file.unlink()
        journal = Journal(host.place, config_of(host.place, None, host.broker, None).owner, PURPOSE, KINDS).open()  # type: ignore[arg-type]
        journal.close()
        next(host.place.iterdir()).unlink()
        journal._records, journal._places = [], {}
        journal._lock = lambda _at: None  # type: ignore[method-assign]
        journal._read = lambda _at: []  # type: ignore[method-assign]
        journal.open()
        for file in host.place.iterdir():
            file.unlink()
        journal._records, journal._places, journal.journal_id = [], {}, journal_id
        journal.append("journal", PURPOSE, {})
        for record in records:
            journal.append(*record)
        journal.close()

    written(true)
    assert ended(host.restart(), "call-1").passed, "the same records are the same call"
    host.adapter.stop()
    stranger = FixtureBroker(seed=2)
    receipt = stranger.receipt_value(host.manifests[0].candidate, journal_id, true[1][2]["nonce"])
    result = stranger.sign_result(result_of(host.manifests[0].candidate, None, receipt))
    changed = {
        "a forged receipt": [*true[:2], ("receipted", BOTH[0], signed_as_json(stranger.sign_receipt(receipt)))],
        "a forged result": [*true[:3], ("finished", BOTH[0], signed_as_json(result))],
        "a result of the other job": [*true[:3], ("finished", BOTH[0], true[6][2])],
        "a result without a receipt": [*true[:2], true[3]],
        "a receipt before its intent": [true[0], true[2], true[1]],
        "an intent without a call": [true[1]],
        "a grader that began too early": [*true[:3], true[4]],
        "an end out of nothing": [*true[:3], true[7]],
        "a rejection of no call": [("rejected", "call-9", {"reason": "x"})],
        "an assessment of no call": [("compared", "call-9", true[7][2])],
        "a receipt of no job": [("receipted", "job-9", true[2][2])],
        "another job under the same id": [*true[:1], ("intended", BOTH[0], {**true[1][2], "spec_digest": bytes_digest(b"x")})],
        "a signature that is no base64": [*true[:2], ("receipted", BOTH[0], {**true[2][2], "signature": "!"})],
    }  # fmt: skip
    for name, records in changed.items():
        written(records)
        with pytest.raises(GradingError) as caught:
            host.made().start()
        in_order = not isinstance(caught.value, JournalRefused)
        assert in_order or caught.value.fault is Fault.FOREIGN, name  # type: ignore[attr-defined]
    for file in host.place.iterdir():
        file.unlink()
    assert host.broker.submitted == BOTH
