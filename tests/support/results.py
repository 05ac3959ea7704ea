"""Result directories made for a test: of fixtures, of drafts, and changed afterwards as somebody might change them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from idkmesh_rules import Evaluation, evaluate
from idkmesh_rules.contracts.digest import bytes_digest, canonical_bytes
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.pipeline.record import read_files, read_record
from idkmesh_rules.result.assembly import Basis
from tests.support.places import FIXTURES, ROOT

RESULT, FACTS, DECISION = "verification-result.json", "facts.json", "decision.json"
SHIPPED = (ROOT / "policies" / "unified-diff" / "bundle.yaml").read_text()
FORBIDDEN = FIXTURES / "reject" / "paths-authorized--forbidden-path"
DECIDED = sorted(
    path.parent
    for path in FIXTURES.glob("*/*/expected.json")
    if path.parent.parent.name not in ("refuse", "patches", "graded")
)
"""The fixtures that lead to a decision."""


def case_id(case: Path) -> str:
    return f"{case.parent.name}/{case.name}"


def fixture_result(case: Path, output: Path) -> Evaluation:
    """Evaluate a fixture that leads to a decision, with the bundle that its story names."""
    given = json.loads((case / "expected.json").read_text()).get("arguments", {})
    return evaluate(
        case / "work-unit.json",
        case / given.get("result_manifest", "result-manifest.json"),
        case / given.get("evaluator_plan", "evaluator-plan.json"),
        case / "candidate",
        output_dir=output,
        bundle=str(case / given["bundle"]) if "bundle" in given else None,
        durable=False,
    )


def basis_of(output: Path) -> Basis:
    """What a result's decision follows from, read back."""
    return read_record(read_files(output, Limits()), Limits(), reveal=False).basis


def load(output: Path, name: str) -> Any:
    return json.loads((output / name).read_text())


def rewrite(output: Path, name: str, edit: Callable[[Any], Any], *, canonical: bool = True) -> None:
    """Change one JSON file of a result in place, without mending any digest."""
    value = load(output, name)
    edit(value)
    data = canonical_bytes(value) + b"\n" if canonical else json.dumps(value, indent=1).encode()
    (output / name).write_bytes(data)


def mend(output: Path) -> None:
    """Make every digest fit the files as they are now, as somebody would who forges more than one file."""
    rewrite(output, "decision.json", lambda value: value.update(facts_digest=_canonical(output, "facts.json")))

    def in_result(value: Any) -> None:
        for entry in value["evidence"]:
            entry["digest"] = bytes_digest((output / entry["locator"]).read_bytes())
        own = value["extensions"]["org.idkmesh.rules"]
        own["facts_digest"] = _canonical(output, "facts.json")
        own["decision_digest"] = _canonical(output, "decision.json")
        value["id"] = value["id"].rpartition("-")[0] + "-" + own["decision_digest"].partition(":")[2][:12]

    rewrite(output, "verification-result.json", in_result)


def _canonical(output: Path, name: str) -> str:
    return bytes_digest(canonical_bytes(load(output, name)))


def rules(place: Path, *changes: tuple[str, str]) -> Path:
    """The shipped bundle with some of its text replaced."""
    text = SHIPPED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    place.mkdir()
    (place / "bundle.yaml").write_text(text)
    return place
