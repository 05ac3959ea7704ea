"""What lint and the tests of a rule bundle say: as lines for a person, as JSON, as cases for tests.yaml.

Invariants: every mistake, failed case, open obligation and surviving mutant is there with its line; figures are printed
whether or not anything is wrong.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from idkmesh_rules.errors import PolicyError, Problem, Refusal
from idkmesh_rules.model.text import printable
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.pipeline.bundles import LintReport, SuiteReport
from idkmesh_rules.policy.testing.coverage import ESCALATION, Obligation
from idkmesh_rules.policy.testing.generate import Proposals
from idkmesh_rules.policy.testing.mutants import Mutant
from idkmesh_rules.policy.testing.run import CaseResult
from idkmesh_rules.policy.testing.write import case_yaml
from idkmesh_rules.render.junit import JUnitCase, JUnitSuite, Trouble
from idkmesh_rules.render.layout import GREEN, RED, painted, problem_lines, wrapped

_WORDS = {Truth.TRUE: "true", Truth.FALSE: "false", Truth.UNKNOWN: "unknown", Truth.NOT_APPLICABLE: "not applicable"}


def lint_text(report: LintReport, *, colour: bool) -> str:
    """Every mistake with line and caret, or that there is none and what was looked at."""
    source = printable(str(report.source), 4096)
    count = len(report.problems)
    if count:
        lines = [f"{source}: {painted(f'{count} problem{_s(count)}', RED, colour)}"]
        for problem in report.problems:
            lines += problem_lines(problem, 2)
        return "\n".join(lines)
    lines = [f"{source}: {painted('clean', GREEN, colour)}"]
    if report.bundle is not None:
        bundle = report.bundle
        counts = f"{len(bundle.conditions)} conditions, {len(bundle.validators)} validators"
        tests = "no tests" if report.cases is None else f"{report.cases} test cases"
        lines += wrapped(f"{bundle.id} {bundle.version}: {counts}, {tests}", 2)
        lines += wrapped(f"Nothing that it accepts is below the floor of {bundle.backend}.", 2)
    return "\n".join([*lines, *(line for note in report.notes for line in wrapped(note, 2))])


def lint_json(report: LintReport) -> dict[str, Any]:
    """The same as a JSON object."""
    bundle = report.bundle
    return {
        "source": str(report.source),
        "clean": not report.problems,
        "bundle": None if bundle is None else {"id": bundle.id, "version": bundle.version, "digest": bundle.digest},
        "cases": report.cases,
        "problems": [_problem(problem) for problem in report.problems],
        "notes": list(report.notes),
    }


def suite_text(report: SuiteReport, *, colour: bool) -> str:
    """Failed cases with what was otherwise than expected, open obligations, survivors, and the figures."""
    lines = [f"{printable(str(report.source), 4096)}: {report.bundle.id} {report.bundle.version}"]
    for result in report.failed:
        lines.append(f"  {painted('✗', RED, colour)} {result.case.name} (tests.yaml:{result.case.mark.line})")
        lines += [line for difference in result.differences() for line in wrapped(printable(difference, 1000), 6)]
    mark = _mark(bool(report.results) and not report.failed, colour)
    said = f"{len(report.results) - len(report.failed)} of {len(report.results)} cases as expected"
    lines.append(f"  {mark} {said}" + (f"; {report.left_out} left out" if report.left_out else ""))
    lines += [*_coverage_lines(report, colour), *_study_lines(report, colour)]
    return "\n".join(lines)


def _coverage_lines(report: SuiteReport, colour: bool) -> Iterator[str]:
    if report.coverage is None:
        return
    yield from _missing(report.coverage.missing, colour)
    decisive, of_decisive = report.coverage.tally((Truth.TRUE, Truth.FALSE))
    unknown, of_unknown = report.coverage.tally((Truth.UNKNOWN,))
    idle, of_idle = report.coverage.tally((Truth.NOT_APPLICABLE,))
    yield (
        f"  {_mark(not report.coverage.missing, colour)} MC/DC {_percent(decisive, of_decisive)} "
        f"({decisive} of {of_decisive}), unknown {unknown} of {of_unknown}, not applicable {idle} of {of_idle}"
    )


def _missing(obligations: Iterable[Obligation], colour: bool) -> Iterator[str]:
    for each in obligations:
        place = f"bundle.yaml:{each.mark.line}"
        if each.owner == ESCALATION:
            told = f"no case shows the escalation {each.condition} {_WORDS[each.value]}"
        elif each.value is Truth.NOT_APPLICABLE:
            told = f"in no case {each.condition} doesn't apply while {each.owner} passes"
        else:
            told = f"no case shows {each.condition} {_WORDS[each.value]} deciding {each.owner}"
        yield from wrapped(f"{painted('✗', RED, colour)} {place}: {told}", 2)


def _study_lines(report: SuiteReport, colour: bool) -> Iterator[str]:
    if report.study is None:
        return
    study = report.study
    for mutant in study.survived:
        yield from wrapped(
            f"{painted('✗', RED, colour)} bundle.yaml:{mutant.mark.line}: no case notices {printable(mutant.what, 1000)}",
            2,
        )
    yield (
        f"  {_mark(not study.survived, colour)} {study.total} mutants: {study.killed} killed, "
        f"{len(study.survived)} survived, {len(study.refused)} refused, {len(study.equivalent)} equivalent"
    )


def proposals_yaml(report: SuiteReport) -> str:
    """The missing cases as tests.yaml spells them, for a person to judge, to name, and to put below `cases:`."""
    taken = {result.case.name for result in report.results}
    names = (name for number in range(1, 10**9) if (name := f"unnamed-{number}") not in taken)
    found = []
    proposals = report.proposals or Proposals((), 0)
    for proposal, name in zip(proposals.found, names, strict=False):
        comment = textwrap.wrap(printable(proposal.shows, 1000), 110, break_long_words=False)
        found.append(case_yaml(name, proposal.edits, proposal.observed, comment, proposal.parameters))
    if proposals.left:
        found.append(f"  # {proposals.left} more points are open, for which no case was found; write these by hand.\n")
    return "\n".join(found)


def suite_json(report: SuiteReport) -> dict[str, Any]:
    """The whole report as a JSON object; what was not asked for is null."""
    value: dict[str, Any] = {
        "source": str(report.source),
        "bundle": {"id": report.bundle.id, "version": report.bundle.version, "digest": report.bundle.digest},
        "passed": report.passed,
        "cases": [_case(result) for result in report.results],
        "left_out": report.left_out,
        "coverage": None,
        "mutation": None,
    }
    if report.coverage is not None:
        value["coverage"] = [
            {
                "validator": each.owner,
                "condition": each.condition,
                "value": each.value.letter,
                "line": each.mark.line,
                "shown_by": case,
            }
            for each, case in report.coverage.shown.items()
        ]
    if report.study is not None:
        study = report.study
        value["mutation"] = {"total": study.total, "killed": study.killed}
        for name in ("survived", "refused", "equivalent"):
            value["mutation"][name] = [_mutant(mutant) for mutant in getattr(study, name)]
    return value


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "name": result.case.name,
        "line": result.case.mark.line,
        "passed": result.passed,
        "outcome": result.observed.outcome.value,
        "causes": sorted(result.observed.causes),
        "not_applicable": sorted(result.observed.not_applicable),
        "differences": list(result.differences()),
    }


def _mutant(mutant: Mutant) -> dict[str, Any]:
    return {"line": mutant.mark.line, "what": mutant.what}


def _problem(problem: Problem) -> dict[str, Any]:
    return {name: value for name, value in problem._asdict().items() if value is not None and name != "source_line"}


def as_json(value: Any) -> str:
    """One JSON document, indented."""
    return json.dumps(value, indent=2)


def _mark(good: bool, colour: bool) -> str:
    return painted("✓", GREEN, colour) if good else painted("✗", RED, colour)


def _percent(part: int, whole: int) -> str:
    return "100 %" if part == whole else f"{100 * part // whole} %"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def suite_junit(report: SuiteReport) -> JUnitSuite:
    """The cases, and what was demanded besides, as a JUnit suite."""
    group = report.bundle.id
    cases = [JUnitCase(result.case.name, group, _trouble([*result.differences()])) for result in report.results]
    if report.coverage is not None:
        cases.append(JUnitCase("coverage", group, _trouble([*_missing(report.coverage.missing, False)])))
    if report.study is not None:
        survivors = [f"bundle.yaml:{mutant.mark.line}: {mutant.what}" for mutant in report.study.survived]
        cases.append(JUnitCase("mutation", group, _trouble(survivors)))
    return JUnitSuite(str(report.source), tuple(cases))


def _trouble(sentences: list[str]) -> Trouble | None:
    return Trouble(sentences[0].strip(), "\n".join(sentences)) if sentences else None


def unusable(asked: str, error: PolicyError) -> Refusal:
    """That a bundle with mistakes isn't tested."""
    return Refusal("bundle-invalid", f"{asked} can't be tested as it is", problems=error.problems)
