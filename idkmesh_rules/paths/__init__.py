"""Which paths of a repository a WorkUnit lets somebody change.

Invariants:

* Everything here is a function of its arguments: no file system, no clock, no environment.
* Allowing is narrow and forbidding is wide: where two readings of a pattern exist, an allow list takes the one that
  matches less, and a forbid list takes both.
* A path that could be another path on some disk (``.GIT``, ``git~1``, a backslash) is reserved whatever was allowed.
"""

from idkmesh_rules.paths.authority import Judgement, PathAuthority
from idkmesh_rules.paths.patterns import PathSet, PatternError, compile_allow, compile_forbid
from idkmesh_rules.paths.reserved import Reserved, reserved

__all__ = [
    "Judgement",
    "PathAuthority",
    "PathSet",
    "PatternError",
    "Reserved",
    "compile_allow",
    "compile_forbid",
    "reserved",
]
