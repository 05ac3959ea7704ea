"""The verifier's own files for a grading: found beside the plan, held against their digests, and out of every job's reach.

Invariants: a file is read once, bounded, and is what the plan pins or a Refusal; a hidden plan's paths are told by their
place in the plan only.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.contracts.schema import shorten
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.grading.protocol import MAX_BYTES, ProtocolError, declared_checks, exported_values
from idkmesh_rules.grading.values import ArtifactRef
from idkmesh_rules.model.documents import AnyPlan, ProtectedFile
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.control import ControlFile, read_control_file


class Protected(NamedTuple):
    """The files of a plan by their place in it (`test_bundle`, `jobs/grader/evaluator/0`), and the names of its checks.

    `controls` are the same files as they were opened.
    """

    files: dict[str, tuple[ArtifactRef, bytes]]
    checks: tuple[str, ...]
    controls: Mapping[str, ControlFile]

    def reference(self, place: str) -> ArtifactRef:
        """The reference of the file at a place of the plan."""
        return self.files[place][0]

    def evaluator(self, role: str) -> tuple[ArtifactRef, ...]:
        """The references of a job's evaluator files, in the plan's order."""
        prefix = f"jobs/{role}/evaluator/"
        return tuple([reference for place, (reference, _) in self.files.items() if place.startswith(prefix)])


def read_protected(plan: AnyPlan, limits: Limits, *, reveal: bool) -> Protected:
    """Read every file that a sandboxed plan names; raises Refusal with all that is wrong with them."""
    beside = Path(plan.document.source).parent
    found: dict[str, tuple[ArtifactRef, bytes]] = {}
    controls: dict[str, ControlFile] = {}
    problems: list[Problem] = []
    for place, file, most in _named(plan, limits):
        quoted = shorten(file.path) if reveal or not plan.hidden else "this file"

        def wrong(message: str, place: str = place, quoted: str = quoted) -> None:
            problems.append(Problem(f"{quoted} {message}", plan.document.source, f"/{place}"))

        control = _read(beside / file.path, most, wrong)
        if control is None:
            continue
        digest = bytes_digest(control.data)
        if digest != file.digest:
            wrong(f"has the digest {digest}, and the plan pins {file.digest}")
        found[place] = ArtifactRef(file.path, digest, len(control.data)), control.data
        controls[place] = control
    if problems:
        raise Refusal("protected-invalid", "the plan's own files aren't what it pins", problems=tuple(problems))
    return Protected(found, _checks(plan, found), controls)


def _checks(plan: AnyPlan, found: dict[str, tuple[ArtifactRef, bytes]]) -> tuple[str, ...]:
    """The names that the test bundle declares; raises Refusal unless schema and fixture have the same and are as they must be."""
    place = "test_bundle"
    try:
        checks = declared_checks(found[place][1])
        place = "result_schema"
        if declared_checks(found[place][1]) != checks:
            raise ProtocolError("it declares other checks than the test bundle, or in another order")
        place = "fixture"
        exported_values(found[place][1], checks)
    except ProtocolError as error:
        problem = Problem(f"this file is not what the protocol asks for: {error}", plan.document.source, f"/{place}")
        raise Refusal("protected-invalid", "the plan's own files aren't usable", problems=(problem,)) from None
    return checks


def _read(path: Path, most: int, wrong: Callable[[str], None]) -> ControlFile | None:
    try:
        control = read_control_file(path, "protected file", most)
    except Refusal as refusal:
        wrong(f"can't be read: {refusal.problems[0].message}")
        return None
    if len(control.data) > most:
        wrong(f"has more than {most} bytes")
        return None
    return control


def _named(plan: AnyPlan, limits: Limits) -> Iterator[tuple[str, ProtectedFile, int]]:
    demands = plan.demands
    for place in ("test_bundle", "result_schema", "fixture"):
        yield place, getattr(demands, place), MAX_BYTES
    for role in ("candidate", "grader"):
        for position, file in enumerate(getattr(demands, role).evaluator):
            yield f"jobs/{role}/evaluator/{position}", file, limits.evaluator_bytes
