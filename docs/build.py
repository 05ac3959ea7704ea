"""Build what is generated: the fact catalogue, the reasons, the facts schema, and the README's output of `make demo`.

`make docs` runs this.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from idkmesh_rules._version import __version__
from idkmesh_rules.checks import backend_kinds, kinds_of_all
from idkmesh_rules.checks.catalog import catalogue, catalogue_page, facts_schema
from idkmesh_rules.diff import REASONS
from idkmesh_rules.model.bundle import BACKENDS
from idkmesh_rules.model.reasons import REFUSALS
from idkmesh_rules.policy import bind_parameters, floor_for, load_bundle
from idkmesh_rules.policy.parsed import to_json
from idkmesh_rules.policy.prove import prove_floor
from idkmesh_rules.policy.yaml_reader import read_yaml

ROOT = Path(__file__).resolve().parent.parent


def generated() -> dict[str, str]:
    """Path below the repository root → content of every generated file."""
    kinds = tuple(kinds_of_all().values())
    return {
        "docs/facts.md": catalogue_page(catalogue()),
        "docs/reasons.md": _reasons(),
        "policies/proven.json": json.dumps({"engine_version": __version__, "bundles": dict(_proven())}) + "\n",
        "schemas/facts-1.schema.json": json.dumps(facts_schema(kinds, BACKENDS), indent=2, ensure_ascii=False) + "\n",
    }


def _proven() -> Iterator[tuple[str, list[Any]]]:
    """Digest and YAML tree of each shipped bundle, linted and proven first: PolicyError or AssertionError if one fails."""
    for path in sorted((ROOT / "policies").glob("*/bundle.yaml")):
        bundle = load_bundle(path.read_bytes(), str(path), backend_kinds)
        assert not prove_floor(
            bundle, floor_for(bundle.backend, backend_kinds(bundle.backend)), bind_parameters(bundle, {})
        )
        yield bundle.digest, to_json(read_yaml(path.read_bytes(), str(path))[0])


def _reasons() -> str:
    lines = [
        "# Reasons",
        "",
        "Made from the registry (`make docs`); do not edit by hand. Codes are stable once released.",
        "",
        "## Refusals",
        "",
        "| code | meaning | what to do |",
        "|---|---|---|",
    ]
    lines += [f"| `{reason.code}` | {reason.meaning} | {reason.remedy} |" for reason in REFUSALS.values()]
    lines += ["", "## Rejected patches", "", "| code | meaning | what to do |", "|---|---|---|"]
    lines += [f"| `{code}` | {meaning} | {remedy} |" for code, (meaning, remedy) in REASONS.items()]
    return "\n".join(lines).replace("||", "\\|\\|") + "\n"


def _readme() -> str:
    """The README with what the demo prints today."""
    demo = subprocess.run(
        [sys.executable, "fixtures/demo.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    block = f"```text\n{demo.strip(chr(10))}\n```"
    return re.sub(r"```text\n.*?\n```", lambda _: block, (ROOT / "README.md").read_text(), count=1, flags=re.DOTALL)


def _write(files: dict[str, str]) -> None:
    for name, content in files.items():
        (ROOT / name).write_text(content)
        print(name)


if __name__ == "__main__":
    _write(generated())
    _write({"README.md": _readme()})
