"""Options that several verbs share, spelled once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How a verb prints its result."""

    TEXT = "text"
    JSON = "json"


WorkUnitFile = Annotated[
    Path, typer.Option("--work-unit", metavar="FILE", readable=False, help="The trusted WorkUnit.")
]
PlanFile = Annotated[
    Path,
    typer.Option(
        "--evaluator-plan", metavar="FILE", readable=False, help="The verifier's plan, bound to the WorkUnit."
    ),
]
BundleName = Annotated[
    str | None,
    typer.Option(
        "--bundle",
        metavar="DIR|ID",
        help="Rule bundle: a shipped id, or a directory with bundle.yaml.  [default: what the plan pins]",
    ),
]
RequirePin = Annotated[bool, typer.Option("--require-pin", help="Refuse a plan that pins no bundle digest.")]
Reveal = Annotated[bool, typer.Option("--reveal", help="Show a hidden plan's expectations.")]
ResultDirectory = Annotated[
    Path, typer.Argument(metavar="OUT", readable=False, help="A directory that `evaluate` or `grade` has written.")
]
OutputFormat = Annotated[Format, typer.Option("--format", help="How to print the result.")]
ManifestFile = Annotated[
    Path, typer.Option("--result-manifest", metavar="FILE", readable=False, help="The worker's claim.")
]
CandidateDirectory = Annotated[
    Path,
    typer.Option("--candidate-root", metavar="DIR", readable=False, help="The directory that holds the candidate."),
]
OutputDirectory = Annotated[
    Path,
    typer.Option("--output-dir", metavar="DIR", readable=False, help="Where to write the evidence; must not exist."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but refusals, on stderr.")]
Reports = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        metavar="junit=PATH|github",
        help="Write a JUnit report besides; or GitHub annotations on stderr, and the step summary.",
    ),
]
