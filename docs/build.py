"""Build what is generated: the fact catalogue, the reasons, the facts schema, and the README's output of `make demo`.

`make docs` runs this.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from idkmesh_rules.checks import unified_diff_kinds
from idkmesh_rules.checks.catalog import catalogue_page, facts_schema
from idkmesh_rules.diff import REASONS
from idkmesh_rules.model.reasons import REFUSALS

ROOT = Path(__file__).resolve().parent.parent


def generated() -> dict[str, str]:
    """Path below the repository root → content of every generated file."""
    kinds = tuple(unified_diff_kinds().values())
    return {
        "docs/facts.md": catalogue_page(kinds),
        "docs/reasons.md": _reasons(),
        "schemas/facts-1.schema.json": json.dumps(facts_schema(kinds), indent=2, ensure_ascii=False) + "\n",
    }


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
    demo = subprocess.run([sys.executable, "fixtures/demo.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    block = f"```text\n{demo.strip(chr(10))}\n```"
    return re.sub(r"```text\n.*?\n```", lambda _: block, (ROOT / "README.md").read_text(), count=1, flags=re.DOTALL)


if __name__ == "__main__":
    for name, content in {**generated(), "README.md": _readme()}.items():
        (ROOT / name).write_text(content)
        print(name)
