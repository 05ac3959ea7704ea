"""Result directories made to hurt whoever reads them: bounded, told in a sentence, nothing outside looked at."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.bundles import builder, make
from tests.support.command import idkrules as in_a_process
from tests.support.command import idkrules_here as idkrules
from tests.support.results import (
    DECISION,
    FACTS,
    RESULT,
    rewrite,
)


def fifo(name: str) -> Callable[[Path], None]:
    def make_fifo(place: Path) -> None:
        (place / name).unlink()
        os.mkfifo(place / name)

    return make_fifo


def filled(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda place: (place / name).write_bytes(data) and None


def sparse(name: str) -> Callable[[Path], None]:
    return lambda place: os.truncate(place / name, 2**40)


def directory(name: str) -> Callable[[Path], None]:
    def swap(place: Path) -> None:
        (place / name).unlink()
        (place / name).mkdir()

    return swap


def linked_to_secret(name: str) -> Callable[[Path], None]:
    def swap(place: Path) -> None:
        secret = place.parent / "secret.json"
        secret.write_text('{"secret": "do not print"}')
        (place / name).unlink()
        (place / name).symlink_to(secret)

    return swap


HOSTILE: dict[str, Callable[[Path], None]] = {
    "a FIFO for facts.json": fifo(FACTS),
    "a FIFO for the bundle": fifo("inputs/bundle.yaml"),
    "a terabyte of facts": sparse(FACTS),
    "a terabyte of plan": sparse("inputs/evaluator-plan.json"),
    "a terabyte of rules": sparse("inputs/bundle.yaml"),
    "a directory for decision.json": directory(DECISION),
    "a link to a file outside": linked_to_secret(DECISION),
    "a link for the result": linked_to_secret(RESULT),
    "a device behind a link": lambda place: ((place / FACTS).unlink(), (place / FACTS).symlink_to("/dev/zero"))[1],
    "deep nesting": filled(FACTS, b'{"kinds":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "deep nesting of objects in the decision": filled(DECISION, b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "duplicate keys": filled(DECISION, b'{"schema_version":"1.0","schema_version":"1.0"}'),
    "no JSON": filled(RESULT, b"\x00\xff\xfe"),
    "an empty file": filled(FACTS, b""),
    "an array": filled(RESULT, b"[]"),
    "a number with a million digits": filled(FACTS, b'{"a":' + b"9" * 1_000_000 + b"}"),
    "not UTF-8": filled(DECISION, b'{"a":"\xff"}'),
    "a byte order mark": filled(RESULT, b"\xef\xbb\xbf{}"),
    "a lone surrogate": filled(DECISION, b'{"a":"\\ud800"}'),
    "terminal escapes in a key": filled(RESULT, b'{"\\u001b[31m\\u009b2J":1}'),
    "a commit of other rules": filled("inputs/bundle.yaml", b"schema_version: '1.0'\n\x1b[31m: x\n"),
    "YAML that explodes": filled("inputs/bundle.yaml", b"a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]\n"),
    "nothing": lambda place: (
        [shutil.rmtree(entry) if entry.is_dir() else entry.unlink() for entry in place.iterdir()] and None
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_directories_end_in_a_sentence(result: Path, what: str) -> None:
    HOSTILE[what](result)
    for verb, code in (("replay", 4 if what == "nothing" else 1), ("explain", 4), ("why-not", 4)):
        # What blocks one verb blocks all of them: the first runs where it can be stopped.
        run = in_a_process(verb, result) if verb == "replay" else idkrules(verb, result)
        assert run.returncode == code, run.stdout + run.stderr
        assert "Traceback" not in run.stderr
        assert "\x1b" not in run.stdout + run.stderr
        assert "do not print" not in run.stdout + run.stderr
        assert run.stdout or run.stderr
        assert len(run.stdout + run.stderr) < 20_000
    told = idkrules("impact", "unified-diff", "unified-diff", result)
    assert (told.returncode, "not read (1)" in told.stdout) == (4, True)


@pytest.mark.parametrize("verb", ["explain", "why-not", "replay"])
@pytest.mark.parametrize("name", ["missing", "file", "nul\udcff"])
def test_what_is_no_result_directory_is_told(tmp_path: Path, verb: str, name: str) -> None:
    (tmp_path / "file").write_text("{}")
    run = idkrules(verb, tmp_path / name)
    assert (run.returncode, run.stdout) == (4, "")
    assert run.stderr.startswith("refused  result-unreadable")
    printed = json.loads(idkrules(verb, tmp_path / name, "--format", "json").stdout)
    assert printed["reason"] == "result-unreadable"


def test_a_hundred_megabytes_of_brackets_end_in_time(result: Path) -> None:
    with (result / FACTS).open("wb") as file:
        file.write(b'{"kinds":')
        for _ in range(100):
            file.write(b"[" * 2**20)
    run = in_a_process("replay", result)
    assert run.returncode == 1
    assert "facts.json" in run.stdout


def test_terminal_escapes_in_recorded_texts_never_reach_a_terminal(tmp_path: Path) -> None:
    """A path that turns the text around, an artifact and a log with escapes: shown escaped by every verb."""
    turned, cleared = "docs/\u202egnp.md", "\x1b[2J\x9b31m"

    def edit(draft: Any) -> None:
        quoted = turned.replace("\u202e", "\\342\\200\\256")
        draft.patch += builder.OTHER_FILE.replace("a/{path}", f'"a/{quoted}"').replace("b/{path}", f'"b/{quoted}"')
        draft.manifest["verification_request"]["evidence_artifact_ids"] = ["patch", cleared]
        draft.after.append(lambda late: late.manifest["logs"][0].update(locator=f"logs/{cleared}"))

    bundle = make(tmp_path / "case", edit)
    evaluation = bundle.evaluate(output_dir=tmp_path / "out")
    assert any(turned in row for row in evaluation.store["patch.path"].rows)
    assert any(cleared in row for row in evaluation.store["evidence.request"].rows)
    honest = idkrules("explain", tmp_path / "out").stdout
    assert "\\u202e" in honest
    assert "\\x1b" in honest
    rewrite(tmp_path / "out", DECISION, lambda value: value["parameters"].update({"\x1b[31m": cleared}))
    for verb in ("explain", "why-not", "replay"):
        for form in ("text", "json"):
            run = idkrules(verb, tmp_path / "out", "--format", form)
            assert run.returncode in (0, 1)
            assert not set("\x1b\u202e\x9b") & set(run.stdout + run.stderr)
