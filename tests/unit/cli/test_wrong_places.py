"""Verbs that make or compare things, given names and places that can't serve: each says what is wrong, and makes nothing."""

import json
from pathlib import Path

import pytest

from idkmesh_rules.cli.exits import UNWRITABLE, USAGE
from tests.support.bundles import builder, make
from tests.support.command import idkrules_here

NO_DIRECTORY = "/proc/self/none/here"
"""A place where nobody can make anything, root included."""

NEW_BUNDLES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "a name that is no id": (("{here}/Rules_1",), UNWRITABLE, "a–z, 0–9 and -"),
    "an id that is none": (("{here}/rules", "--id", "no id"), UNWRITABLE, "a–z, 0–9 and -"),
    "a directory that exists": (("{here}/there",), UNWRITABLE, "the directory exists already"),
    "a place where nothing can be made": ((NO_DIRECTORY, "--id", "mine"), UNWRITABLE, "the directory can't be made"),
    "a backend that isn't one": (("{here}/rules", "--backend", "unified"), USAGE, "unified_diff"),
    "nobody who answers": (("{here}/rules", "--owner", " "), USAGE, "somebody has to answer"),
}


@pytest.mark.parametrize("name", NEW_BUNDLES)
def test_no_bundle_is_made_where_none_can_be(tmp_path: Path, name: str) -> None:
    arguments, code, said = NEW_BUNDLES[name]
    (tmp_path / "there").mkdir()
    run = idkrules_here("new", "bundle", *(argument.format(here=tmp_path) for argument in arguments))
    assert (run.returncode, run.stdout) == (code, "")
    assert said in " ".join(run.stderr.replace("│", " ").split())
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


BROKERS: dict[str, tuple[tuple[str, ...], str]] = {
    "a directory that exists": (("{here}/there",), "exists already; --rotate"),
    "a place where nothing can be made": ((NO_DIRECTORY,), "can't be written"),
    "a name that can't be printed": (("{here}/new", "--name", "a\x1b"), "printable"),
    "a broker that isn't there": (("{here}/none", "--rotate"), "can't be read"),
    "a broker whose identity is none": (("{here}/there", "--rotate"), "is no broker's identity"),
}


@pytest.mark.parametrize("name", BROKERS)
def test_no_broker_is_made_where_none_can_be(tmp_path: Path, name: str) -> None:
    pytest.importorskip("cryptography", reason="grading needs the extra of that name")
    arguments, said = BROKERS[name]
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "broker.json").write_text("{")
    run = idkrules_here("broker", "init", *(argument.format(here=tmp_path) for argument in arguments))
    assert (run.returncode, run.stdout) == (UNWRITABLE, "")
    assert said in run.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["broker.json", "there"]


def test_bundles_of_two_backends_are_not_compared(tmp_path: Path) -> None:
    run = idkrules_here("impact", "unified-diff", "workspace", tmp_path)
    assert (run.returncode, run.stdout) == (4, "")
    assert "is for unified_diff, " in " ".join(run.stderr.split())


def test_a_result_of_another_backend_is_left_undecided_and_told(tmp_path: Path) -> None:
    make(tmp_path / "case", kind=builder.WorkspaceDraft).evaluate(output_dir=tmp_path / "out")
    told = json.loads(
        idkrules_here("impact", "unified-diff", "unified-diff", tmp_path / "out", "--format", "json").stdout
    )
    assert "its facts are of workspace" in json.dumps(told)


def test_a_validator_that_only_one_bundle_has_is_told(tmp_path: Path) -> None:
    assert idkrules_here("new", "bundle", tmp_path / "more").returncode == 0
    rules = tmp_path / "more" / "bundle.yaml"
    rules.write_text(
        rules.read_text().replace("\nvalidators:\n", "\nvalidators:\n  another:\n    all: [worker-succeeded]\n")
    )
    for pair, whose in (
        (("unified-diff", tmp_path / "more"), "unified-diff"),
        ((tmp_path / "more", "unified-diff"), "unified"),
    ):
        told = " ".join(idkrules_here("impact", *pair, tmp_path).stdout.split())
        assert "does not implement the validator another" in told
        assert whose in told


def test_what_a_suite_lacks_is_told_as_json_and_as_junit(tmp_path: Path) -> None:
    """Without its last cases a suite neither covers nor kills everything, and each format says what is left."""
    assert idkrules_here("new", "bundle", tmp_path / "own").returncode == 0
    tests = tmp_path / "own" / "tests.yaml"
    head, cases = tests.read_text().split("\ncases:\n")
    first = cases.split("\n\n")[0]
    tests.write_text(f"{head}\ncases:\n{first}\n")
    report = tmp_path / "report.xml"
    options = ("--coverage", "--mutate", "--format", "json", "--output", f"junit={report}")
    run = idkrules_here("test", tmp_path / "own", *options)
    assert run.returncode == 1
    (told,) = [json.loads(run.stdout)] if run.stdout.startswith("{") else json.loads(run.stdout)
    assert None in {each["shown_by"] for each in told["coverage"]}
    assert told["mutation"]["killed"] < told["mutation"]["total"]
    assert told["mutation"]["survived"]
    for name in ("coverage", "mutation"):
        assert f'name="{name}"' in report.read_text()
    assert "no case shows" in report.read_text()
