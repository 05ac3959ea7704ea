"""The part of a plan that says how a candidate is graded, made of a directory that holds the verifier's files.

Layout of the directory: `test-bundle.json`, `result-schema.json` and `expected.json`; below `candidate/` what the candidate's
job gets, with its driver `run.py`; below `grader/` what the grader's job gets besides, with its `run.py`. Invariants: every
file is pinned by the digest of the bytes that were read; the expected values are in no job, and what is the grader's is
never the candidate's.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.errors import Refusal
from idkmesh_rules.model.documents import WorkUnit
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.control import read_control_file
from idkmesh_rules.sandbox.controls import BY_CONSTRUCTION, CONTROLS

DOCUMENTS = {"test_bundle": "test-bundle.json", "result_schema": "result-schema.json", "fixture": "expected.json"}
PROGRAM = "run.py"
CEILINGS: Mapping[str, int] = {
    "wall_seconds": 30,
    "cpu_seconds": 20,
    "memory_bytes": 512 << 20,
    "processes": 64,
    "output_bytes": 1 << 20,
    "export_bytes": 1 << 20,
}
"""What a job may take unless something else is asked for; both jobs together fit the WorkUnit's wall time, if it has one."""


class Grading(NamedTuple):
    """How a candidate is to be graded: the directory, the runtime of both jobs, ceilings by name, further controls."""

    directory: Path
    runtime: str = "python3"
    ceilings: Mapping[str, int] = {}
    controls: tuple[str, ...] = ()


Missing = Callable[[str, str | None], None]
"""Is told what a plan can't be made of, and what to do about it."""


def graded_part(grading: Grading, output: Path, unit: WorkUnit, limits: Limits, missing: Missing) -> dict[str, Any]:
    """The plan's fields from `assessment_id` on, for a plan that is going to be written to `output`."""
    directory = Path(os.path.abspath(grading.directory))
    if not directory.is_dir():
        missing(f"{grading.directory} is no directory", "it holds the verifier's files: see docs/grading.md")
        return {}
    for name in sorted(set(grading.controls) - CONTROLS.keys()):
        missing(f"there is no control {name}", f"expected some of: {', '.join(CONTROLS)}")
    if Path(os.path.abspath(output)).parent not in (directory, *directory.parents):
        missing(f"{grading.directory} doesn't lie beside or below {output}", "write the plan next to the directory")
        return {}
    root = Path(os.path.abspath(output)).parent
    pins = _Pins(directory, root, limits, missing)
    documents = {field: pins.file(directory / name) for field, name in DOCUMENTS.items()}
    shared = list(pins.below("candidate"))
    token = os.urandom(6).hex()
    ceilings = _ceilings(grading, unit, missing)

    def job(role: str, files: list[dict[str, str]]) -> dict[str, Any]:
        program = (directory / role / PROGRAM).relative_to(root).as_posix()
        if program not in [each["path"] for each in files]:
            missing(f"{grading.directory / role} has no {PROGRAM}", "the program that the job runs lies there")
        return {
            "job_id": f"{_prefix(unit)}/{token}/{role}",
            "runtime": grading.runtime,
            "command": ["python3", "-I", f"/evaluator/{program}"],
            "evaluator": files,
            "limits": ceilings,
        }

    return {
        "assessment_id": f"{_prefix(unit)}/{token}/assessment",
        **documents,
        "jobs": {
            "candidate": job("candidate", shared),
            "grader": job("grader", [*shared, *pins.below("grader")]),
        },
        "required_controls": sorted({*BY_CONSTRUCTION, *grading.controls}),
    }


def _prefix(unit: WorkUnit) -> str:
    return unit.id[:90]


def _ceilings(grading: Grading, unit: WorkUnit, missing: Missing) -> dict[str, int]:
    found = {**CEILINGS, **grading.ceilings}
    for name in sorted(grading.ceilings.keys() - CEILINGS.keys()):
        missing(f"there is no ceiling {name}", f"expected one of: {', '.join(CEILINGS)}")
    if unit.wall_seconds is not None and "wall_seconds" not in grading.ceilings:
        found["wall_seconds"] = max(1, min(found["wall_seconds"], int(unit.wall_seconds // 2)))
    return found


class _Pins(NamedTuple):
    """Reads the verifier's files and pins them."""

    directory: Path
    root: Path
    limits: Limits
    missing: Missing

    def file(self, path: Path) -> dict[str, str]:
        """A file's path below the plan's directory, and the digest of its bytes."""
        try:
            data = read_control_file(path, "protected file", self.limits.evaluator_bytes).data
        except Refusal as refusal:
            self.missing(f"{path} can't be read: {refusal.problems[0].message}", None)
            data = b""
        if len(data) > self.limits.evaluator_bytes:
            self.missing(f"{path} has more than {self.limits.evaluator_bytes} bytes", None)
        return {"path": path.relative_to(self.root).as_posix(), "digest": bytes_digest(data)}

    def below(self, name: str) -> Iterator[dict[str, str]]:
        """Every file below a directory, but for compiled Python and what begins with a dot, which editors leave there."""
        for path in sorted((self.directory / name).rglob("*")):
            parts = path.relative_to(self.directory).parts
            if path.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in parts):
                yield self.file(path)
