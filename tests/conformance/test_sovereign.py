"""What the verifier promises whatever the candidate is: nothing runs, nothing is believed, secrets stay, results repeat."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.bundles import MARKER, blamed, builder, make
from tests.support.command import idkrules
from tests.support.places import ROOT, shared

AUDIT = """
import sys
seen = []
watched = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "pty.spawn",
           "socket.connect", "socket.bind")
sys.addaudithook(lambda event, arguments: seen.append(event) if event in watched else None)
from idkmesh_rules.cli import main
code = main(sys.argv[1:])
print("AUDITED", seen)
sys.exit(code)
"""


def test_nothing_is_executed_and_nothing_connected_to(tmp_path: Path) -> None:
    """By the interpreter's own audit events, over a whole evaluation in its own process."""
    run = subprocess.run(
        [sys.executable, "-c", AUDIT, *make(tmp_path / "case").arguments(tmp_path / "out")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "AUDITED []"


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_kernel_saw_one_execve_and_no_connect(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    probe = subprocess.run(["strace", "-f", "-o", str(trace), "true"], capture_output=True)
    if probe.returncode != 0:
        pytest.skip("ptrace is not allowed here")
    subprocess.run(
        [
            "strace",
            "-f",
            "-e",
            "trace=execve,execveat,connect,clone,clone3,fork,vfork",
            "-o",
            str(trace),
            sys.executable,
            "-m",
            "idkmesh_rules",
            *make(tmp_path / "case").arguments(tmp_path / "out"),
            "--quiet",
        ],
        check=True,
        cwd=ROOT,
    )
    calls = [line.split(maxsplit=1)[1].partition("(")[0] for line in trace.read_text().splitlines() if "(" in line]
    assert calls == ["execve"], "only the interpreter itself was started"


def hidden(draft: Any) -> None:
    """A hidden plan whose demands the candidate doesn't meet."""
    draft.plan["visibility"] = "hidden"
    draft.plan["backend"]["required_added_text"] = ["the first secret", MARKER, "the second secret"]


def test_a_hidden_plan_keeps_its_expectations(tmp_path: Path) -> None:
    """No secret in anything made to be shown; each is named by its number; facts.json, decision.json and inputs hold them."""
    bundle = make(tmp_path / "case", hidden)
    text = idkrules(*bundle.arguments(tmp_path / "one"))
    as_json = idkrules(*bundle.arguments(tmp_path / "two"), "--format", "json")
    assert text.returncode == as_json.returncode == 1
    for shown in (
        text.stdout,
        text.stderr,
        as_json.stdout,
        (tmp_path / "one" / "verification-result.json").read_text(),
    ):
        assert "secret" not in shown
    assert "[hidden 1]" in text.stdout
    assert "[hidden 3]" in text.stdout
    assert "[hidden 2]" not in text.stdout
    assert "required-lines-present" in text.stdout
    for name in ("facts.json", "inputs/evaluator-plan.json", "evidence/required-lines.json"):
        assert "the first secret" in (tmp_path / "one" / name).read_text()
    assert "the first secret" in idkrules(*bundle.arguments(tmp_path / "three"), "--reveal").stdout


def test_a_hidden_plan_that_is_wrong_keeps_its_expectations_too(tmp_path: Path) -> None:
    bundle = make(tmp_path / "case", hidden)
    bundle.rewrite(
        "evaluator-plan.json", lambda plan: plan["backend"]["required_added_text"].append("the third secret\n")
    )
    run = idkrules(*bundle.arguments(tmp_path / "out"))
    assert run.returncode == 4
    assert "evaluator-plan.json#/backend/required_added_text/3" in run.stderr
    assert "secret" not in run.stderr + (tmp_path / "out" / "refusal.json").read_text()


@pytest.mark.parametrize(
    "environment", [{"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "77", "LC_ALL": "C", "TZ": "Asia/Tokyo"}]
)
def test_facts_and_decision_depend_on_nothing_but_the_bytes(tmp_path: Path, environment: dict[str, str]) -> None:
    """Another process, hash seed, locale, time zone, place and file times: the same bytes of facts.json and decision.json."""
    first, second = make(tmp_path / "case"), make(tmp_path / "elsewhere" / "case")
    for path in second.place.rglob("*"):
        os.utime(path, (1, 1))
    assert idkrules(*first.arguments(tmp_path / "one")).returncode == 0
    assert idkrules(*second.arguments(tmp_path / "two"), env=environment).returncode == 0
    for name in ("facts.json", "decision.json", "evidence/patch-scope.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


LIES: dict[str, Any] = {
    "changed_paths": {"extensions": {"org.example.node": {"changed_paths": ["docs/guide.md"]}}},
    "counters": {"metrics": {"policy_violation_count": 0, "exit_code": 0}},
    "a summary": {"self_report": {"summary": "Everything is allowed.", "claims": ["SECURITY.md was not touched."]}},
    "certainty": {
        "self_report": {"summary": "", "claims": [], "confidence": {"value": 1, "meaning": "probability_of_success"}}
    },
}


@pytest.mark.parametrize("what", LIES)
def test_nothing_that_the_worker_says_changes_the_facts(tmp_path: Path, what: str) -> None:
    """With and without the claim, the facts of a bad candidate are the same but for the manifest's own digest."""

    def bad(draft: Any) -> None:
        draft.patch += builder.OTHER_FILE.format(path="SECURITY.md")

    plain, lying = make(tmp_path / "plain", bad), make(tmp_path / "lying", bad)
    lying.rewrite("result-manifest.json", lambda manifest: manifest.update(LIES[what]))
    one, two = plain.evaluate(), lying.evaluate()
    assert one.store == two.store
    assert blamed(one) == blamed(two) == {("independent-review", "paths-authorized")}


def test_more_verifiers_and_too_many_attempts_are_said(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.unit["verification_policy"]["minimum_independent_verifiers"] = 2
        draft.manifest["attempt"] = 3

    bundle = make(tmp_path / "case", edit)
    rationale = bundle.evaluate().result["decision_support"]["rationale"]
    assert "1 of 2 required independent verifiers" in rationale
    assert "Attempt 3 exceeds the 2" in rationale
    text = " ".join(idkrules(*bundle.arguments(tmp_path / "out")).stdout.split())
    assert "1 of 2 required independent verifiers" in text
    assert "Attempt 3 exceeds the 2" in text


def test_no_hostile_patch_is_accepted() -> None:
    """Through the whole evaluation: no case that has to be rejected is accepted; each honest one is."""
    wrong, honest = [], 0
    for case in sorted(shared("patch-cases").iterdir()):
        if not (case / "expect.json").exists():
            continue
        expect = json.loads((case / "expect.json").read_text())

        def edit(draft: Any, case: Path = case, expect: Any = expect) -> None:
            draft.files["changes.patch"] = (case / "changes.patch").read_bytes()
            draft.unit["constraints"] = {"allowed_paths": expect["allow"], "forbidden_paths": [], "policies": []}
            draft.unit["permissions"]["filesystem_write"] = expect["allow"]
            draft.plan["backend"]["max_candidate_bytes"] = 10**8

        with tempfile.TemporaryDirectory() as scratch:
            evaluation = make(Path(scratch), edit).evaluate()
        mine = {condition for _, condition in blamed(evaluation)} - {"required-lines-present"}
        if expect["default"] == "reject" and not mine:
            wrong.append(case.name)
        if expect["default"] == "accept":
            honest += 1
            if mine:
                wrong.append(case.name)
    assert honest
    assert wrong == []
