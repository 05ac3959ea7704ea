"""What `evaluate --output` writes for CI: JUnit, GitHub annotations and summary, for every outcome and for hostile text."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.bundles import MARKER, Bundle, builder, make
from tests.support.command import idkrules
from tests.support.places import FIXTURES


def fixture(name: str) -> Bundle:
    return Bundle(FIXTURES / name)


def arguments(case: Bundle, place: Path, *more: str) -> list[str]:
    expected = json.loads((case.place / "expected.json").read_text())
    given = expected.get("arguments", {})
    bundle = ["--bundle", str(case.place / given["bundle"])] if "bundle" in given else []
    return [*case.arguments(place / "out"), *bundle, *more]


OUTCOMES = {
    "accept/unified-diff--honest-patch": (0, "notice", "accept_candidate", (0, 0)),
    "accept/logs-intact--none-declared": (0, "notice", "accept_candidate", (0, 0)),
    "reject/paths-authorized--forbidden-path": (1, "error", "reject_candidate", (1, 0)),
    "reject/patch-intact--missing-patch": (1, "error", "reject_candidate", None),
    "escalate/escalation--build-files": (3, "warning", "escalate", (0, 1)),
    "inconclusive/on-empty--trace-demanded": (3, "warning", "insufficient_evidence", None),
    "refuse/binding-drift--other-work-unit": (4, "error", "refused, binding-drift", (0, 1)),
    "refuse/manifest-invalid--no-status": (1, "error", "refused, manifest-invalid", (1, 0)),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_is_told_in_every_form_and_changes_no_exit_code(tmp_path: Path, name: str) -> None:
    code, level, said, counts = OUTCOMES[name]
    summary = tmp_path / "summary.md"
    reports = ["--output", f"junit={tmp_path / 'junit.xml'}", "--output", "github"]
    run = idkrules(*arguments(fixture(name), tmp_path, *reports), env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert run.returncode == code
    commands = [line for line in run.stderr.split("\n") if line.startswith("::")]
    assert commands[-1].startswith(f"::{level} title=idkrules%3A {said.replace(',', '%2C')}::")
    assert not [line for line in run.stdout.split("\n") if line.lstrip().startswith("::")]
    root = ElementTree.fromstring((tmp_path / "junit.xml").read_text())
    told = (int(root.get("failures", "")), int(root.get("errors", "")))
    assert told == counts if counts is not None else sum(told) > 0
    assert int(root.get("tests", "")) == len(root.findall(".//testcase"))
    assert (code == 0) == (sum(told) == 0), "a green report is an acceptance and nothing else"
    assert summary.read_text().startswith("## ")


def test_a_condition_that_does_not_apply_is_skipped_and_not_passed(tmp_path: Path) -> None:
    case = fixture("accept/logs-intact--none-declared")
    idkrules(*arguments(case, tmp_path, "--output", f"junit={tmp_path / 'junit.xml'}"))
    root = ElementTree.fromstring((tmp_path / "junit.xml").read_text())
    assert [each.get("name") for each in root.findall(".//testcase[skipped]")] == [
        "logs-intact",
        "required-logs-present",
    ]
    assert root.get("skipped") == "2"


def test_an_annotation_names_the_file_that_was_touched(tmp_path: Path) -> None:
    run = idkrules(*arguments(fixture("reject/paths-authorized--forbidden-path"), tmp_path, "--output", "github"))
    assert "::error title=independent-review%3A paths-authorized,file=SECURITY.md::" in run.stderr


HOSTILE = "docs/a ::add-mask::x ##[add-mask]y <b>&amp; | `c` [d](https://evil.test) %0A::error::z é.md"


def hostile(draft: Any) -> None:
    section = builder.OTHER_FILE.replace("a/{path}\n+++ b/{path}", "a/{path}\t\n+++ b/{path}\t").replace(
        "{path}", HOSTILE
    )
    draft.patch += section
    draft.unit["constraints"]["allowed_paths"] = ["docs/guide.md"]


def test_no_text_of_a_candidate_becomes_a_command_or_markup(tmp_path: Path) -> None:
    case = make(tmp_path / "case", hostile)
    summary = tmp_path / "summary.md"
    for extra in ((), ("--format", "json")):
        place = tmp_path / f"run{len(extra)}"
        report = ["--output", f"junit={tmp_path / 'junit.xml'}", "--output", "github"]
        run = idkrules(*case.arguments(place / "out"), *report, *extra, env={"GITHUB_STEP_SUMMARY": str(summary)})
        assert run.returncode == 1
        assert "##[" not in run.stdout + run.stderr + summary.read_text()
        lines = run.stdout.split("\n")
        assert not [line for line in lines if line.lstrip().startswith("::")], "a wrapped line is a command"
        commands = [line for line in run.stderr.split("\n") if line.startswith("::")]
        assert len(commands) == run.stderr.count("\n"), "each line on stderr is a command of ours"
        assert all(re.match(r"::(error|warning) title=(independent-review|idkrules)%3A", line) for line in commands)
        assert "%250A::error::z" in commands[0]
    text = summary.read_text()
    assert "<b>" not in text
    assert "https://evil" not in text
    assert all(line.count("|") - line.count("\\|") == 4 for line in text.split("\n") if line.startswith("| path"))
    root = ElementTree.fromstring((tmp_path / "junit.xml").read_text())
    assert "::add-mask::x" in (root.find(".//failure").get("message") or "")  # type: ignore[union-attr]


def test_hidden_expectations_stay_hidden_in_every_report(tmp_path: Path) -> None:
    def edit(draft: Any) -> None:
        draft.plan["visibility"] = "hidden"
        draft.plan["backend"]["required_added_text"] = [MARKER, "SECRET expectation"]

    case, summary = make(tmp_path / "case", edit), tmp_path / "summary.md"
    reports = ["--output", f"junit={tmp_path / 'junit.xml'}", "--output", "github"]
    run = idkrules(*case.arguments(tmp_path / "out"), *reports, env={"GITHUB_STEP_SUMMARY": str(summary)})
    told = run.stdout + run.stderr + summary.read_text() + (tmp_path / "junit.xml").read_text()
    assert run.returncode == 1
    assert "SECRET" not in told
    assert "[hidden 2]" in run.stderr
    run = idkrules(*case.arguments(tmp_path / "again"), *reports, "--reveal")
    assert "SECRET expectation" in (tmp_path / "junit.xml").read_text()


BAD = {
    "an unknown form": (["--output", "sarif=x"], 2),
    "no path": (["--output", "junit"], 2),
    "an empty path": (["--output", "junit="], 2),
    "twice": (["--output", "junit=a", "--output", "junit=b"], 2),
    "a directory that isn't there": (["--output", "junit=nowhere/x.xml"], 4),
    "a directory": (["--output", "junit=."], 4),
}


@pytest.mark.parametrize("name", BAD)
def test_a_report_that_can_not_be_written_is_no_success(tmp_path: Path, name: str) -> None:
    more, code = BAD[name]
    run = idkrules(*arguments(fixture("accept/unified-diff--honest-patch"), tmp_path, *more), cwd=tmp_path)
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    assert not list(tmp_path.glob(".*partial"))


def test_a_report_inside_the_candidate_is_refused_and_not_written(tmp_path: Path) -> None:
    case = make(tmp_path / "case")
    run = idkrules(*case.arguments(tmp_path / "out"), "--output", f"junit={case.candidate / 'j.xml'}")
    assert run.returncode == 4
    assert "inside the candidate" in run.stderr
    assert not (case.candidate / "j.xml").exists()


def test_a_report_replaces_a_file_whole_and_is_written_through_a_link(tmp_path: Path) -> None:
    case, report = fixture("accept/unified-diff--honest-patch"), tmp_path / "junit.xml"
    report.write_text("old")
    held = report.open()
    idkrules(*arguments(case, tmp_path / "1", "--output", f"junit={report}"))
    assert held.read() == "old", "whoever reads the old one sees all of it"
    assert report.read_text().startswith("<?xml")
    (tmp_path / "elsewhere").symlink_to(report)
    report.write_text("old")
    run = idkrules(*arguments(case, tmp_path / "2", "--output", f"junit={tmp_path / 'elsewhere'}"))
    assert run.returncode == 0
    assert (tmp_path / "elsewhere").is_symlink()
    assert report.read_text().startswith("<?xml")


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    """A pipe, standard output, a full disk: nothing that isn't a plain file is ever replaced by one."""
    case = fixture("accept/unified-diff--honest-patch")
    run = idkrules(*arguments(case, tmp_path / "1", "--quiet", "--output", "junit=/dev/stdout"))
    assert (run.returncode, run.stdout.startswith("<?xml")) == (0, True)
    run = idkrules(*arguments(case, tmp_path / "2", "--output", "junit=/dev/full"))
    assert run.returncode == 4
    assert "can't be written: No space left on device" in run.stderr
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    assert stat.S_ISLNK(os.lstat("/dev/stdout").st_mode)


@pytest.mark.parametrize("where", ["/dev/full", "/nonexistent/summary.md"])
def test_a_summary_that_can_not_be_written_is_no_success(tmp_path: Path, where: str) -> None:
    case = fixture("accept/unified-diff--honest-patch")
    run = idkrules(*arguments(case, tmp_path, "--output", "github"), env={"GITHUB_STEP_SUMMARY": where})
    assert run.returncode == 4
    assert "the step summary can't be written" in run.stderr


def test_a_report_never_lands_on_what_the_run_reads_or_writes(tmp_path: Path) -> None:
    case = make(tmp_path / "case")
    before = {path: path.read_bytes() for path in (case.work_unit, case.manifest, case.plan)}
    (tmp_path / "link").symlink_to(case.plan)
    out = tmp_path / "out"
    for path in (*before, tmp_path / "link", out / "verification-result.json", out / "junit.xml", out):
        run = idkrules(*case.arguments(out), "--output", f"junit={path}")
        assert run.returncode == 2, path
        assert "which this run reads or writes" in " ".join(run.stderr.split())
        assert not out.exists()
    assert {path: path.read_bytes() for path in before} == before


def test_a_link_in_the_candidate_does_not_choose_where_a_report_goes(tmp_path: Path) -> None:
    case, victim = make(tmp_path / "case"), tmp_path / "victim"
    victim.write_text("precious")
    (case.candidate / "report.xml").symlink_to(victim)
    run = idkrules(*case.arguments(tmp_path / "out"), "--output", f"junit={case.candidate / 'report.xml'}")
    assert run.returncode == 4
    assert victim.read_text() == "precious"


def test_the_report_of_a_bundles_tests_spares_the_bundle(tmp_path: Path) -> None:
    assert idkrules("new", "bundle", tmp_path / "own").returncode == 0
    before = (tmp_path / "own" / "bundle.yaml").read_text()
    assert idkrules("test", "own", "--output", "junit=own/bundle.yaml", cwd=tmp_path).returncode == 2
    assert (tmp_path / "own" / "bundle.yaml").read_text() == before
    assert idkrules("test", ".", "--output", "junit=report.xml", cwd=tmp_path / "own").returncode == 0
