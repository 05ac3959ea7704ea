"""The worked example of grading for a test: its cases, a copy to change, and the command line that grades one."""

import importlib.util
import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.grading.values import JobLimits, JobSpec, Role
from idkmesh_rules.sandbox.interface import SandboxUnavailable
from idkmesh_rules.sandbox.local import LocalSandbox
from tests.support.places import FIXTURES

PLACE = FIXTURES / "graded"
_spec = importlib.util.spec_from_file_location("idkrules_graded_builder", PLACE / "build.py")
assert _spec
assert _spec.loader
builder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(builder)
CASES: dict[str, dict[str, Any]] = builder.CASES
ENOUGH = JobLimits(10, 5, 1 << 28, 16, 1 << 16, 1 << 16)


@cache
def _sandbox() -> tuple[frozenset[str], str]:
    """What this machine enforces, and why there is no sandbox if there is none."""
    sandbox = LocalSandbox()
    try:
        sandbox.open()
        return sandbox.controls, ""
    except SandboxUnavailable as error:
        return frozenset(), str(error)
    finally:
        sandbox.close()


def needs(*controls: str) -> None:
    """Skip the test where there is no sandbox, or none that enforces these controls."""
    there, why = _sandbox()
    if why:
        pytest.skip(f"there is no sandbox here: {why}")
    absent = sorted(set(controls) - there)
    if absent:
        pytest.skip(f"not enforced for this user on this machine: {', '.join(absent)}")


def job(*command: str, limits: JobLimits = ENOUGH, runtime: str = "python3", **changes: Any) -> JobSpec:
    """A job of the candidate's role without files."""
    spec = JobSpec("job-1/candidate", Role.CANDIDATE, runtime, command, (), (), limits, ())
    return spec._replace(**changes)


def python(program: str, **changes: Any) -> JobSpec:
    """A job that runs a Python program."""
    return job("python3", "-I", "-S", "-c", program, **changes)


class Graded:
    """A copy of the example in `place`, and its command lines."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.copytree(PLACE, place, ignore=shutil.ignore_patterns("__pycache__"))

    @property
    def plan(self) -> Path:
        return self.place / "evaluator-plan.json"

    def candidate(self, case: str) -> Path:
        return self.place / "cases" / case / "candidate"

    def arguments(self, case: str, output: Path, journal: Path) -> list[str | Path]:
        """The command line that grades a case."""
        return [
            "grade",
            *("--work-unit", self.place / "work-unit.json"),
            *("--result-manifest", self.place / "cases" / case / "result-manifest.json"),
            *("--evaluator-plan", self.plan),
            *("--candidate-root", self.candidate(case)),
            *("--journal", journal),
            *("--output-dir", output),
        ]

    def rewrite(self, edit: Callable[[Any], Any], name: str = "evaluator-plan.json") -> None:
        """Change a document in place."""
        value = json.loads((self.place / name).read_text())
        edit(value)
        (self.place / name).write_text(json.dumps(value))

    def protect(self, path: str, data: bytes) -> None:
        """Replace a protected file and pin the new one everywhere in the plan."""
        (self.place / path).write_bytes(data)

        def pin(value: Any) -> None:
            if isinstance(value, dict):
                if value.get("path") == path:
                    value["digest"] = builder.sha256(data)
                for each in value.values():
                    pin(each)
            elif isinstance(value, list):
                for each in value:
                    pin(each)

        self.rewrite(pin)
