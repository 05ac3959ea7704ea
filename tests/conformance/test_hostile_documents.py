"""Every document against every kind of damage: the right refusal, whose fault it is, bounded, never another exception."""

import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules import Limits, Refusal
from tests.support.bundles import blamed, builder, make
from tests.support.places import ROOT

DOCUMENTS = {
    "work-unit.json": ("document-invalid", "verifier"),
    "evaluator-plan.json": ("document-invalid", "verifier"),
    "result-manifest.json": ("manifest-invalid", "worker"),
}


def duplicate_key(data: bytes) -> bytes:
    key, rest = data.split(b":", 1)
    return key + b":" + rest.rstrip().removesuffix(b"}") + b"," + key.lstrip(b"{ \n") + b": 1}"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "a key twice": duplicate_key,
    "nested too deeply": lambda data: b'{"extensions": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "a huge integer": lambda data: data.replace(b"3", b"3" * 100_000, 1),
    "a huge exponent": lambda data: data.replace(b": 3", b": 3e999", 1),
    "invalid UTF-8": lambda data: data.replace(b"fixtures", b"fixt\xfcres", 1),
    "a BOM": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "NaN": lambda data: data.replace(b": 3", b": NaN", 1),
    "a lone surrogate": lambda data: data.replace(b"fixtures", b"fixt\\udfffures", 1),
    "trailing data": lambda data: data + b"{}",
    "an array": lambda data: b"[" + data + b"]",
    "null": lambda data: b"null",
    "too large": lambda data: data + b" " * 2**22,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_damage_is_refused_for_the_right_reason(tmp_path: Path, name: str, damage: str) -> None:
    bundle = make(tmp_path)
    path = bundle.place / name
    before = path.read_bytes()
    path.write_bytes(DAMAGES[damage](before))
    assert path.read_bytes() != before, "the damage has to do something"
    with pytest.raises(Refusal) as caught:
        bundle.evaluate(limits=Limits(plan_bytes=2**22))
    assert (caught.value.reason, caught.value.fault) == DOCUMENTS[name]
    assert all(problem.document == str(path) for problem in caught.value.problems)
    assert all(problem.line is not None or problem.pointer is not None for problem in caught.value.problems)


def pointers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from pointers(below, (*path, key))


WRONG = (None, True, 7, -1, 1.5, "x", [], {}, [None], {"": None})


WRONGED = [(kind, name) for kind in (builder.Draft, builder.AnswerDraft, builder.WorkspaceDraft) for name in DOCUMENTS]


@pytest.mark.parametrize(("kind", "name"), WRONGED)
def test_a_wrong_type_at_any_pointer_never_escapes_and_never_accepts_more(tmp_path: Path, kind: Any, name: str) -> None:
    """Each value of each document replaced by each of a handful of others: a refusal, or a decision about honest bytes."""
    bundle = make(tmp_path, kind=kind)
    path = bundle.place / name
    honest = json.loads(path.read_text())
    outcomes = set()
    for pointer in pointers(honest):
        for wrong in WRONG:
            changed = json.loads(json.dumps(honest))
            node = changed
            for part in pointer[:-1]:
                node = node[part]
            if node[pointer[-1]] == wrong and type(node[pointer[-1]]) is type(wrong):
                continue
            node[pointer[-1]] = wrong
            path.write_text(json.dumps(changed))
            try:
                outcomes.add(bundle.evaluate().recommendation.value)
            except Refusal as refusal:
                outcomes.add(refusal.reason)
    assert DOCUMENTS[name][0] in outcomes
    # Free texts of the claim and of the plan may change without consequence; a WorkUnit's may not: its digest is bound.
    assert ("accept_candidate" in outcomes) == (name != "work-unit.json")


@pytest.mark.parametrize("name", ["work-unit.json", "result-manifest.json"])
def test_a_hundred_megabytes_are_not_read_into_memory(tmp_path: Path, name: str) -> None:
    bundle = make(tmp_path)
    with (bundle.place / name).open("wb") as file:
        file.truncate(100 * 2**20)
    tracemalloc.start()
    with pytest.raises(Refusal) as caught:
        bundle.evaluate()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.reason == DOCUMENTS[name][0]
    assert peak < 32 * 2**20


def test_all_documents_of_the_verifier_are_told_together(tmp_path: Path) -> None:
    bundle = make(tmp_path)
    bundle.rewrite("work-unit.json", lambda unit: unit.update(kind="code"))
    bundle.rewrite("evaluator-plan.json", lambda plan: plan.update(visibility="secret"))
    bundle.rewrite("result-manifest.json", lambda manifest: manifest.update(status="great"))
    with pytest.raises(Refusal) as caught:
        bundle.evaluate()
    assert {(Path(problem.document or "").name, problem.pointer) for problem in caught.value.problems} == {
        ("work-unit.json", "/kind"),
        ("evaluator-plan.json", "/visibility"),
    }


def test_the_verifiers_fault_comes_before_the_workers(tmp_path: Path) -> None:
    bundle = make(tmp_path)
    bundle.manifest.write_text("{}")
    bundle.rewrite("evaluator-plan.json", lambda plan: plan["binding"].update(work_unit_version=9))
    with pytest.raises(Refusal) as caught:
        bundle.evaluate()
    assert (caught.value.reason, caught.value.fault) == ("binding-drift", "verifier")


UNPRIVILEGED = """
import os, sys, shutil
from pathlib import Path
from idkmesh_rules import evaluate
place = Path(sys.argv[1])
paths = [place / name for name in ("work-unit.json", "result-manifest.json", "evaluator-plan.json", "candidate")]
assert evaluate(*paths, durable=False).exit_code == 0
os.setgroups([]); os.setgid(65534); os.setuid(65534)
closed = place / "candidate" / sys.argv[2]
try: closed.open(); sys.exit("opening did not fail")
except PermissionError: pass
evaluation = evaluate(*paths, durable=False)
print(evaluation.recommendation.value, evaluation.exit_code, [finding.condition for finding in evaluation.findings])
print([finding.summary for finding in evaluation.findings])
"""


@pytest.mark.skipif(os.getuid() != 0, reason="dropping to another uid needs root")
@pytest.mark.parametrize(("closed", "conditions"), [("logs/stderr.txt", ["logs-intact"]), ("changes.patch", None)])
def test_what_the_verifier_may_not_read_is_nobodys_fault(closed: str, conditions: list[str] | None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        bundle = make(Path(scratch) / "case")
        warm = subprocess.run([sys.executable, "-c", "import sys"], capture_output=True)
        assert warm.returncode == 0
        code = UNPRIVILEGED.replace(
            "os.setgroups([])", "(place / 'candidate' / sys.argv[2]).chmod(0); os.setgroups([])"
        )
        run = subprocess.run(
            [sys.executable, "-c", code, str(bundle.place), closed], capture_output=True, text=True, cwd=ROOT
        )
        lines = run.stdout.splitlines()
        assert lines, run.stderr
        assert lines[0].startswith("insufficient_evidence 3 ")
        if conditions is not None:
            assert lines[0].endswith(str(conditions))
            assert "the verifier may not read the file" in lines[1]


def test_a_failed_condition_beats_an_unknown_one(tmp_path: Path) -> None:
    """A worker that failed is rejected even where its patch can't be parsed."""

    def edit(draft: Any) -> None:
        draft.manifest["status"] = "failed"
        draft.patch = "not a patch\n"

    evaluation = make(tmp_path, edit).evaluate()
    assert evaluation.exit_code == 1
    assert ("independent-review", "worker-succeeded") in blamed(evaluation)
