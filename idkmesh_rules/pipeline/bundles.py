"""The verifier owner's use cases: look for every mistake in a rule bundle, and run its tests.

Invariants: files are read once, bounded; a bundle with a mistake is not tested; its tests are held against it with the
kinds and the floor of its own backend.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.checks import backend_kinds
from idkmesh_rules.errors import PolicyError, Problem, Refusal
from idkmesh_rules.model.bundle import Bundle
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.proof import Decision
from idkmesh_rules.observe.control import ControlFile, read_control_file
from idkmesh_rules.pipeline.rules import backend_floor, bundle_directory, loaded
from idkmesh_rules.policy import bind_parameters, load_bundle
from idkmesh_rules.policy.prove import prove_floor
from idkmesh_rules.policy.testing.coverage import Coverage, coverage
from idkmesh_rules.policy.testing.generate import Proposals, propose
from idkmesh_rules.policy.testing.read import read_suite
from idkmesh_rules.policy.testing.run import CaseResult, Staged, run_bare, run_case, staged
from idkmesh_rules.policy.testing.study import Study, study
from idkmesh_rules.policy.testing.suite import Suite
from idkmesh_rules.resources import shipped_bundle_ids

BUNDLE_FILE, TESTS_FILE = "bundle.yaml", "tests.yaml"


class LintReport(NamedTuple):
    """Everything that is wrong with one bundle and its tests; `bundle` is None if it could not be read as one.

    `cases` counts its tests, None if it has none; `notes` are sentences about what is no mistake and yet worth knowing.
    """

    source: Path
    bundle: Bundle | None
    problems: tuple[Problem, ...]
    cases: int | None
    notes: tuple[str, ...]


class Wanted(NamedTuple):
    """What a test run is to show besides the cases; `pattern` chooses cases by name, `*` and `?` standing for any text."""

    coverage: bool = False
    mutate: bool = False
    generate: bool = False
    pattern: str | None = None


class SuiteReport(NamedTuple):
    """What the tests of one bundle came to; what was not wanted is None."""

    source: Path
    bundle: Bundle
    results: tuple[CaseResult, ...]
    left_out: int
    coverage: Coverage | None = None
    study: Study | None = None
    proposals: Proposals | None = None

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        """The cases that didn't come out as expected."""
        return tuple([result for result in self.results if not result.passed])

    @property
    def passed(self) -> bool:
        """Whether every case came out, every obligation is met and no mutant survived, as far as they were wanted."""
        return not (
            self.failed
            or (self.coverage is not None and self.coverage.missing)
            or (self.study is not None and self.study.survived)
        )


def lint(asked: str, limits: Limits | None = None) -> LintReport:
    """Look for every mistake in a bundle, its floor and its tests; raises Refusal when there is nothing to read.

    `asked` is the id of a shipped bundle, a directory, or a file.
    """
    limits = limits or Limits()
    source = _bundle_path(asked)
    control = read_control_file(source, "rule bundle", limits.bundle_bytes)
    try:
        # Not as an evaluation does it: what was proven of a shipped bundle before is proven again.
        bundle = load_bundle(control.data, str(source), backend_kinds)
    except PolicyError as error:
        return LintReport(source, None, error.problems, None, ())
    problems = [*_below_floor(bundle, control)]
    tests = _tests_of(source, limits)
    if tests is None:
        return LintReport(source, bundle, tuple(problems), None, (*_notes(bundle), "It has no tests.yaml."))
    cases = None
    try:
        cases = len(_staged(bundle, tests)[1])
    except PolicyError as error:
        problems.extend(error.problems)
    return LintReport(source, bundle, tuple(problems), cases, tuple(_notes(bundle)))


def run_tests(asked: str, wanted: Wanted, limits: Limits | None = None) -> SuiteReport:
    """Run the tests of a bundle; raises Refusal when something can't be read, PolicyError for mistakes in either file."""
    limits = limits or Limits()
    source = _bundle_path(asked)
    bundle = loaded(read_control_file(source, "rule bundle", limits.bundle_bytes).data, str(source))
    tests = _tests_of(source, limits)
    if tests is None:
        missing = Problem(
            "there is no such file", str(source.parent / TESTS_FILE), hint="idkrules new bundle makes one"
        )
        raise Refusal("document-unreadable", "the bundle has no tests", problems=(missing,))
    suite, ready = _staged(bundle, tests)
    chosen = [each for each in ready if wanted.pattern is None or fnmatchcase(each.case.name, wanted.pattern)]
    floor = backend_floor(bundle.backend)
    report = SuiteReport(
        source, bundle, tuple([run_case(bundle, each, floor) for each in chosen]), len(ready) - len(chosen)
    )
    if wanted.coverage or wanted.generate:
        report = report._replace(coverage=coverage(bundle, _decided(bundle, chosen)))
    if wanted.mutate or wanted.generate:
        report = report._replace(study=study(bundle, chosen))
    if wanted.generate and report.coverage is not None and report.study is not None:
        kinds, missing_cases = backend_kinds(bundle.backend), report.coverage.missing
        report = report._replace(proposals=propose(suite, kinds, floor, missing_cases, report.study.survived))
    return report


def _bundle_path(asked: str) -> Path:
    directory = bundle_directory(asked)
    if directory is not None:
        return directory / BUNDLE_FILE
    if Path(asked).exists():
        return Path(asked)
    raise Refusal(
        "bundle-unknown",
        f"there is no rule bundle {asked}",
        problems=(
            Problem(
                f"shipped bundles are: {', '.join(shipped_bundle_ids())}",
                asked,
                hint=f"or name a directory that holds a {BUNDLE_FILE}",
            ),
        ),
    )


def _tests_of(source: Path, limits: Limits) -> ControlFile | None:
    """The tests beside a bundle; a bundle in a file of another name has none."""
    path = source.parent / TESTS_FILE
    if source.name != BUNDLE_FILE or not path.exists():
        return None
    return read_control_file(path, "tests of the rule bundle", limits.bundle_bytes)


def _staged(bundle: Bundle, tests: ControlFile) -> tuple[Suite, tuple[Staged, ...]]:
    kinds, floor = backend_kinds(bundle.backend), backend_floor(bundle.backend)
    suite = read_suite(tests.data, str(tests.path), bundle, kinds, floor)
    try:
        return suite, staged(suite, kinds)
    except PolicyError as error:
        lines = tests.data.decode().split("\n")
        raise PolicyError(tuple([_with_source(problem, lines) for problem in error.problems])) from None


def _below_floor(bundle: Bundle, control: ControlFile) -> Iterator[Problem]:
    lines = control.data.decode().split("\n")
    for problem in prove_floor(bundle, backend_floor(bundle.backend), bind_parameters(bundle, {})):
        yield _with_source(problem, lines)


def _with_source(problem: Problem, lines: list[str]) -> Problem:
    return problem._replace(source_line=lines[problem.line - 1]) if problem.line is not None else problem


def _decided(bundle: Bundle, chosen: list[Staged]) -> Iterator[tuple[str, Decision]]:
    for each in chosen:
        yield each.case.name, run_bare(bundle, each)


def _notes(bundle: Bundle) -> Iterator[str]:
    demanded = {leaf.name for each in bundle.validators.values() for leaf in bundle.leaves(each.children)}
    for leaf in bundle.leaves(bundle.escalate):
        if leaf.name in demanded:
            yield f"{leaf.name} is demanded by a validator and escalates, too: where it is false or unknown, nobody is asked."
