"""Make a rule bundle to start from: the shipped one of a backend, under a name and an owner of its own, with its tests.

Invariants: what is made is clean and passes its tests as it is; nothing that exists is touched.
"""

import os
import re
import shutil
from pathlib import Path

from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.bundles import BUNDLE_FILE, TESTS_FILE
from idkmesh_rules.policy.load import BUNDLE_ID
from idkmesh_rules.policy.testing.write import scalar
from idkmesh_rules.resources import schema_path, shipped_bundle

_HEADER = re.compile(r"^bundle: \{id: [^,]+, version: [^,]+, owner: [^,]+, backend: (\w+)\}$", re.MULTILINE)
_TESTED = re.compile(r"^bundle: [a-z0-9-]+$", re.MULTILINE)
_SCHEMA = re.compile(r"^# yaml-language-server: \$schema=\S+/([a-z0-9-]+)\.schema\.json$", re.MULTILINE)


def draft_bundle(directory: Path, *, bundle_id: str | None, owner: str, backend: str) -> tuple[Path, ...]:
    """Make `directory` with a bundle.yaml and a tests.yaml of its own and return their paths.

    The id is that of the directory unless one is given. Raises Refusal `output-exists`, `output-unwritable`, or
    `bundle-invalid` when the id can't be one.
    """
    name = bundle_id or directory.resolve().name
    if BUNDLE_ID.fullmatch(name) is None:
        problem = Problem(
            f'"{name}" can\'t be the id of a bundle', str(directory), hint="--id gives one of a–z, 0–9 and -"
        )
        raise Refusal("bundle-invalid", "a bundle's id has up to 64 of a–z, 0–9 and -", problems=(problem,))
    files = _files(directory, name, owner, backend)
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        problem = Problem("nothing is overwritten", str(directory), hint="name a directory that doesn't exist")
        raise Refusal("output-exists", "the directory exists already", problems=(problem,)) from None
    except (OSError, ValueError) as error:
        raise _unwritable(directory, error) from None
    try:
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise _unwritable(directory, error) from None
    return tuple(files)


def _files(directory: Path, name: str, owner: str, backend: str) -> dict[Path, str]:
    source = shipped_bundle(BACKENDS[backend].bundle)
    assert source is not None, "a backend's own bundle is shipped"
    header = f"bundle: {{id: {scalar(name)}, version: 0.1.0, owner: {scalar(owner)}, backend: {backend}}}"
    rules = _HEADER.sub(lambda _: header, (source / BUNDLE_FILE).read_text(encoding="utf-8"), count=1)
    tests = _TESTED.sub(lambda _: f"bundle: {scalar(name)}", (source / TESTS_FILE).read_text(encoding="utf-8"), count=1)

    def schema(found: re.Match[str]) -> str:
        return f"# yaml-language-server: $schema={os.path.relpath(schema_path(found[1]), directory)}"

    return {directory / BUNDLE_FILE: _SCHEMA.sub(schema, rules), directory / TESTS_FILE: _SCHEMA.sub(schema, tests)}


def _unwritable(directory: Path, error: OSError | ValueError) -> Refusal:
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return Refusal("output-unwritable", "the directory can't be made", problems=(Problem(why, str(directory)),))
