"""`idkrules digest`: what documents are bound and bundles pinned by."""

from pathlib import Path
from typing import Annotated

import typer


def digest(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", readable=False, help="JSON documents; bundle.yaml files, directories or shipped ids."
        ),
    ],
    raw: Annotated[bool, typer.Option("--raw", help="Digest the bytes as they are.")] = False,
) -> int:
    """Print digests: canonical for JSON documents, of the raw bytes for a rule bundle."""
    from idkmesh_rules.cli.exits import CLEAN, PROBLEM, UNREADABLE
    from idkmesh_rules.cli.output import complain, emit
    from idkmesh_rules.contracts.digest import bytes_digest
    from idkmesh_rules.contracts.strict_json import read_document
    from idkmesh_rules.errors import ContractError, Refusal
    from idkmesh_rules.model.limits import Limits
    from idkmesh_rules.model.text import printable
    from idkmesh_rules.observe.control import read_control_file
    from idkmesh_rules.resources import shipped_bundle

    most, worst, lines = Limits().plan_bytes, CLEAN, []
    for path in files:
        bundle = path if path.is_dir() else None if path.exists() else shipped_bundle(str(path))
        file = bundle / "bundle.yaml" if bundle else path
        try:
            data = read_control_file(file, "file", most).data
            plain = raw or file.suffix in (".yaml", ".yml")
            found = bytes_digest(data) if plain else read_document(data, "document", str(file), max_bytes=most).digest
            lines.append(f"{found}  {printable(str(path), 4096)}")
        except (ContractError, Refusal) as error:
            worst = max(worst, UNREADABLE if isinstance(error, Refusal) else PROBLEM)
            for problem in error.problems:
                complain(printable(f"idkrules digest: {problem}", 4096))
    return emit("\n".join(lines), worst) if lines else worst
