"""A strict reader of `git diff` output: read exactly what git would do, or refuse.

Invariants:

* What is accepted means the same to `git apply -p1`, `git am` and GNU `patch -p1`, and touches only the paths told.
* Everything is a function of the bytes: no file, no clock, no environment.
* Time and memory are linear in the bytes; every bound stands in `DiffLimits`.
"""

from idkmesh_rules.diff.lines import ChangedLine, LineHit, changed_lines, find_line
from idkmesh_rules.diff.opinion import SecondOpinion, second_opinion
from idkmesh_rules.diff.reader import read_patch
from idkmesh_rules.diff.reasons import REASONS, Reason
from idkmesh_rules.diff.values import DiffLimits, Hunk, Patch, PatchFile, PatchPath, PatchProblem

__all__ = [
    "REASONS",
    "ChangedLine",
    "DiffLimits",
    "Hunk",
    "LineHit",
    "Patch",
    "PatchFile",
    "PatchPath",
    "PatchProblem",
    "Reason",
    "SecondOpinion",
    "changed_lines",
    "find_line",
    "read_patch",
    "second_opinion",
]
