"""The only module that knows where schemas and rule bundles lie: inside an installed wheel, or at the top of a checkout."""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def _data(kind: str) -> Path:
    installed = _PACKAGE / "_data" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind


def schema_bytes(name: str) -> bytes:
    """The bytes of the shipped JSON Schema `name`, such as `work-unit-0.2`; raises OSError when there is none."""
    return (_data("schemas") / f"{name}.schema.json").read_bytes()


def schema_names() -> tuple[str, ...]:
    """The names of all shipped JSON Schemas, sorted."""
    return tuple(sorted(path.name.removesuffix(".schema.json") for path in _data("schemas").glob("*.schema.json")))


def shipped_bundle(bundle_id: str) -> Path | None:
    """The directory of the shipped rule bundle with this id, or None. The id is compared, never joined to a path."""
    return next((path for path in _data("policies").iterdir() if path.name == bundle_id and path.is_dir()), None)


def shipped_bundle_ids() -> tuple[str, ...]:
    """The ids of all shipped rule bundles, sorted."""
    return tuple(sorted(path.name for path in _data("policies").iterdir() if path.is_dir()))


def self_test_cases() -> tuple[Path, ...]:
    """The directories of the self-test's cases, sorted; they lie inside the package in a wheel and in a checkout alike."""
    return tuple(sorted(path.parent for path in (_PACKAGE / "selftest").glob("*/*/expected.json")))
