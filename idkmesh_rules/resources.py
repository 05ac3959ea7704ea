"""The only module that knows where schemas and rule bundles lie: inside an installed wheel, or at the top of a checkout."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from idkmesh_rules._version import __version__

_PACKAGE = Path(__file__).resolve().parent


@cache
def _data(kind: str) -> Path:
    installed = _PACKAGE / "_data" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind


def schema_path(name: str) -> Path:
    """Where the shipped JSON Schema `name`, such as `rule-bundle-1`, lies."""
    return _data("schemas") / f"{name}.schema.json"


def schema_bytes(name: str) -> bytes:
    """The bytes of the shipped JSON Schema `name`, such as `work-unit-0.2`; raises OSError when there is none."""
    return schema_path(name).read_bytes()


def schema_names() -> tuple[str, ...]:
    """The names of all shipped JSON Schemas, sorted."""
    return tuple(sorted(path.name.removesuffix(".schema.json") for path in _data("schemas").glob("*.schema.json")))


def shipped_bundle(bundle_id: str) -> Path | None:
    """The directory of the shipped rule bundle with this id, or None. The id is compared, never joined to a path."""
    return next((path for path in _data("policies").iterdir() if path.name == bundle_id and path.is_dir()), None)


def shipped_bundle_ids() -> tuple[str, ...]:
    """The ids of all shipped rule bundles, sorted."""
    return tuple(sorted(path.name for path in _data("policies").iterdir() if path.is_dir()))


@cache
def proven_bundles() -> Mapping[str, list[Any]]:
    """Digest → YAML tree of the shipped bundles that passed lint and floor proof of this version with default parameters.

    `make docs` writes them and a test makes every entry anew. It saves time only: the floor is evaluated with every
    decision all the same (docs/adr: proven bundles).
    """
    path = _data("policies") / "proven.json"
    if not path.exists():
        return {}
    found = json.loads(path.read_bytes())
    bundles: Mapping[str, list[Any]] = found["bundles"] if found["engine_version"] == __version__ else {}
    return bundles


def self_test_cases() -> tuple[Path, ...]:
    """The directories of the self-test's cases, sorted; they lie inside the package in a wheel and in a checkout alike."""
    return tuple(sorted(path.parent for path in (_PACKAGE / "selftest").glob("*/*/expected.json")))
