"""Candidate bundles made for a test, by the program that also makes the fixtures."""

import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idkmesh_rules import Evaluation, evaluate
from idkmesh_rules.model.proof import Status, causes
from tests.support.places import FIXTURES

_spec = importlib.util.spec_from_file_location("idkrules_fixture_builder", FIXTURES / "build.py")
assert _spec
assert _spec.loader
builder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(builder)
MARKER: str = builder.MARKER


def no_edit(draft: Any) -> None:
    """Leave the honest bundle as it is."""


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk: the paths that `evaluate` takes."""

    place: Path

    @property
    def work_unit(self) -> Path:
        return self.place / "work-unit.json"

    @property
    def manifest(self) -> Path:
        return self.place / "result-manifest.json"

    @property
    def plan(self) -> Path:
        return self.place / "evaluator-plan.json"

    @property
    def candidate(self) -> Path:
        return self.place / "candidate"

    def evaluate(self, **options: Any) -> Evaluation:
        """Evaluate it through the API, without syncing to disk."""
        return evaluate(self.work_unit, self.manifest, self.plan, self.candidate, **{"durable": False, **options})

    def arguments(self, output: Path | str, verb: str = "evaluate") -> list[str]:
        """The command line that evaluates it."""
        return [
            verb,
            "--work-unit",
            str(self.work_unit),
            "--result-manifest",
            str(self.manifest),
            "--evaluator-plan",
            str(self.plan),
            "--candidate-root",
            str(self.candidate),
            "--output-dir",
            str(output),
        ]

    def rewrite(self, name: str, edit: Callable[[Any], Any]) -> None:
        """Change one JSON document in place, without mending any digest."""
        path = self.place / name
        value = json.loads(path.read_text())
        edit(value)
        path.write_text(json.dumps(value))


def make(place: Path, edit: Callable[[Any], None] = no_edit, kind: Callable[[], Any] = builder.Draft) -> Bundle:
    """Write the honest bundle of a kind, changed by `edit` before its digests are computed."""
    draft = kind()
    edit(draft)
    draft.finish()
    draft.write(place, {})
    return Bundle(place)


def blamed(evaluation: Evaluation) -> set[tuple[str, str]]:
    """(validator, condition) of everything that kept the evaluation from passing."""
    found = {
        (outcome.id, leaf.condition)
        for outcome in evaluation.decision.validators
        if outcome.required and outcome.status is not Status.PASSED
        for leaf in causes(outcome.node)
    }
    floor = evaluation.decision.floor
    if floor is not None and floor.decides:
        found |= {("floor", leaf.condition) for leaf in causes(floor.node)}
    return found
