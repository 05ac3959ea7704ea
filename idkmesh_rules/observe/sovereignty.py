"""Where control files and output lie: never inside the candidate (design: contracts, *Evaluator sovereignty*, 1).

Invariants:
- Decided on real paths and by device and inode of every ancestor, so that neither a link nor a second name deceives.
- A control file with more names than one is searched for below the candidate; a search over its bound is a refusal.
A bind mount of a candidate's subdirectory elsewhere can't be seen this way: it stays a residual risk.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.observe.control import ControlFile
from idkmesh_rules.observe.reader import CandidateReader


class CandidateRoot(NamedTuple):
    """The candidate root as the verifier named it, its real path, and its device and inode."""

    path: Path
    real: Path
    identity: tuple[int, int]

    @classmethod
    def of(cls, path: Path) -> "CandidateRoot":
        """Look at `path`; raises Refusal `candidate-root-unusable` when it isn't a directory that can be looked at."""
        try:
            real = Path(os.path.realpath(path, strict=True))
            found = os.stat(real)
            if not real.is_dir():
                raise NotADirectoryError(0, "it is not a directory")
        except (OSError, ValueError) as error:
            raise _unusable(path, error) from None
        return cls(path, real, (found.st_dev, found.st_ino))

    def reader(self, budget: int) -> CandidateReader:
        """A reader for what lies below the root; raises Refusal `candidate-root-unusable` when it can't be opened."""
        try:
            return CandidateReader(self.path, budget=budget)
        except OSError as error:
            raise _unusable(self.path, error) from None

    def contains(self, path: Path) -> bool:
        """Whether the real path of `path`, which need not exist, lies at or below the root, by name or by identity."""
        real = Path(os.path.realpath(path))
        if real == self.real or self.real in real.parents:
            return True
        for ancestor in (real, *real.parents):
            try:
                found = os.stat(ancestor)
            except OSError:
                continue
            if (found.st_dev, found.st_ino) == self.identity:
                return True
        return False

    def locator_of(self, path: Path) -> str | None:
        """`path` as a locator below the root if that is how it is spelled (links not followed), else None."""
        try:
            here = Path.cwd()
        except OSError:
            # A working directory that is gone leaves only absolute paths meaningful.
            here = Path("/")
        absolute = Path(os.path.normpath(here / path))
        for root in (Path(os.path.normpath(here / self.path)), self.real):
            if root in absolute.parents:
                return absolute.relative_to(root).as_posix()
        return None


def _unusable(path: Path, error: OSError | ValueError) -> Refusal:
    said = error.strerror if isinstance(error, OSError) else str(error)
    return Refusal(
        "candidate-root-unusable",
        "the candidate root can't be looked at",
        problems=(Problem(said or type(error).__name__, str(path)),),
    )


def check_control_outside(
    root: CandidateRoot, controls: Iterable[tuple[str, ControlFile]], *, search_limit: int
) -> None:
    """Raise Refusal `control-inside-candidate` naming each control file that lies inside the candidate root."""
    controls = tuple(controls)
    problems = [
        Problem(
            f"the {role} lies inside the candidate root",
            str(control.path),
            hint="keep control files where no worker can write",
        )
        for role, control in controls
        if root.contains(control.path)
    ]
    linked = {control.identity: (role, control) for role, control in controls if control.links > 1}
    if linked and not problems:
        problems.extend(_search(root, linked, search_limit))
    if problems:
        raise Refusal(
            "control-inside-candidate", "a control file is within the candidate's reach", problems=tuple(problems)
        )


def _search(
    root: CandidateRoot, linked: dict[tuple[int, int], tuple[str, ControlFile]], limit: int
) -> Iterable[Problem]:
    seen = 0
    pending = [os.fspath(root.real)]
    while pending:
        directory = pending.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    seen += 1
                    if seen > limit:
                        yield _unbounded(linked, f"the candidate holds more than {limit} entries")
                        return
                    found = entry.stat(follow_symlinks=False)
                    if (found.st_dev, found.st_ino) in linked:
                        role, control = linked[found.st_dev, found.st_ino]
                        yield Problem(
                            f"the {role} has a second name inside the candidate root",
                            str(control.path),
                            hint="make a copy with one name outside the candidate",
                        )
                    elif entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError as error:
            yield _unbounded(linked, f"the candidate can't be searched: {error.strerror}")
            return


def _unbounded(linked: dict[tuple[int, int], tuple[str, ControlFile]], why: str) -> Problem:
    role, control = next(iter(linked.values()))
    return Problem(f"the {role} has more than one name, and {why}", str(control.path), hint="make a copy with one name")


def check_output_outside(root: CandidateRoot, output: Path) -> None:
    """Raise Refusal `output-inside-candidate` when `output`, which need not exist, would lie inside the candidate root."""
    if root.contains(output):
        raise Refusal(
            "output-inside-candidate",
            "the output directory would lie inside the candidate root",
            problems=(Problem("evidence must lie where no worker can write", str(output)),),
        )
