"""What an attack is, for all families of them: a hostile program as data, and the usual ways to play one."""

import textwrap
from collections.abc import Callable
from typing import NamedTuple

from idkmesh_rules.grading.values import JobLimits
from tests.adversarial.attacks.expected import Expectation
from tests.adversarial.attacks.stage import LIMITS, Stage

SUPERVISOR = "supervisor"
"""Stands, in place of a control, for the comparison on the host, which no job takes part in."""


class Attack(NamedTuple):
    """A hostile program, and what has to be seen of it; `play` is for one that needs more of the host than to be run."""

    name: str
    item: str
    control: str
    program: str
    seen: Expectation
    limits: JobLimits = LIMITS
    play: "Callable[[Stage, Attack], str] | None" = None


def attack(
    name: str,
    item: str,
    control: str,
    program: str,
    seen: Expectation,
    limits: JobLimits = LIMITS,
    play: Callable[[Stage, Attack], str] | None = None,
) -> Attack:
    """An attack whose program may be indented like what surrounds it."""
    return Attack(name, item, control, textwrap.dedent(program), seen, limits, play)


def driven(stage: Stage, each: Attack) -> str:
    """Play a program that is a candidate, under the verifier's driver."""
    return each.seen(stage.drive(each.program))
