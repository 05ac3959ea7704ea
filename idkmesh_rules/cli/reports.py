"""`--output`: reports for CI that are written besides what is printed.

Invariants: a file that is a report appears whole or not at all, and never inside the candidate; a report that can't be
written makes the exit code 4, because a caller who asked for it must not take its absence for good news.
"""

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from idkmesh_rules.cli.exits import UNWRITABLE
from idkmesh_rules.cli.output import complain
from idkmesh_rules.errors import Refusal

if TYPE_CHECKING:
    from idkmesh_rules.model.evaluation import Evaluation

Reports = Callable[["Evaluation | Refusal", int], int]
"""Writes what was asked for and returns the exit code: the given one, or 4 if a report could not be written."""


def no_reports(_outcome: "Evaluation | Refusal", code: int) -> int:
    """Write nothing."""
    return code


def wanted_reports(given: Sequence[str], candidate_root: Path, kept: Sequence[Path]) -> Reports:
    """What writes the reports that `--output` asks for; raises typer.BadParameter for what it can't mean.

    `kept` are the files and directories of the run that no report may land on or in: its inputs and its evidence.
    """
    github = "github" in given
    paths = report_paths([text for text in given if text != "github"], ("junit",), "junit=PATH or github")
    for path in paths.values():
        check_apart(path, kept)

    def write(outcome: "Evaluation | Refusal", code: int) -> int:
        from idkmesh_rules.render import evaluations as render
        from idkmesh_rules.render.junit import junit_xml

        if "junit" in paths:
            suite = render.refusal_junit(outcome) if isinstance(outcome, Refusal) else render.evaluation_junit(outcome)
            code = _outside(candidate_root, paths["junit"]) or write_report(paths["junit"], junit_xml([suite]), code)
        if github:
            told, summary = (
                (render.refusal_annotations(outcome), render.refusal_markdown(outcome))
                if isinstance(outcome, Refusal)
                else (render.evaluation_annotations(outcome), render.evaluation_markdown(outcome))
            )
            complain(told)
            code = _append_summary(summary, code)
        return code

    return write


def check_apart(path: Path, kept: Sequence[Path]) -> None:
    """Raise typer.BadParameter when a report would land on or in one of `kept`, by name or by where a link leads."""
    spelled, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))
    for each in kept:
        for one in {Path(os.path.abspath(each)), Path(os.path.realpath(each))}:
            if one in (spelled, real, *spelled.parents, *real.parents):
                raise typer.BadParameter(
                    f"{path} would land on or in {each}, which this run reads or writes", param_hint="--output"
                )


def _outside(candidate_root: Path, path: Path) -> int:
    """4 if a report would land inside the candidate, by where it is spelled or by where a link leads, else 0."""
    from idkmesh_rules.observe.sovereignty import CandidateRoot, check_output_outside

    try:
        root = CandidateRoot.of(candidate_root)
        check_output_outside(root, path)
        # A link in the candidate is the worker's, and must not choose where a report goes.
        check_output_outside(root, path.parent / "report")
    except Refusal as refusal:
        if refusal.reason == "output-inside-candidate":
            complain(f"idkrules: the report {path} would lie inside the candidate; name a path outside of it")
            return UNWRITABLE
    return 0


def _append_summary(text: str, code: int) -> int:
    """Append to the file that GitHub's runner names; without a runner there is none, and nothing to do."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return code
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
    except (OSError, ValueError) as error:
        complain(f"idkrules: the step summary can't be written: {_why(error)}")
        return UNWRITABLE
    return code


def report_paths(given: Sequence[str] | None, kinds: Sequence[str], expected: str) -> dict[str, Path]:
    """Kind → path of every report that was asked for; raises typer.BadParameter for anything but `expected`."""
    found: dict[str, Path] = {}
    for text in given or ():
        kind, _equals, path = text.partition("=")
        if kind not in kinds or not path:
            raise typer.BadParameter(f"expected {expected}, found {text!r}", param_hint="--output")
        if kind in found:
            raise typer.BadParameter(f"{kind} is asked for twice", param_hint="--output")
        found[kind] = Path(path)
    return found


def write_report(path: Path, text: str, code: int) -> int:
    """Write a report over whatever stood there and return `code`, or 4 if that failed.

    A plain file is replaced at once, whole. What is a link, a device or a pipe is written to, as a shell would: replacing
    `/dev/stdout` by a file would be no service.
    """
    try:
        if _is_plain(path):
            _replace(path, text)
        else:
            with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(text)
    except (OSError, ValueError) as error:
        complain(f"idkrules: the report {path} can't be written: {_why(error)}")
        return UNWRITABLE
    return code


def _is_plain(path: Path) -> bool:
    """Whether a plain file stands at `path`, or nothing."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return True


def _replace(path: Path, text: str) -> None:
    staging = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        staging.write_text(text, encoding="utf-8", errors="backslashreplace")
        staging.replace(path)
    except BaseException:
        staging.unlink(missing_ok=True)
        raise


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
