"""Which checks each backend has, and so which fact kinds: one table, loaded backend by backend.

Invariants: a kind is declared by one family and means the same in every backend that has it; the checks of a backend are
imported only when it is asked for, so that no evaluation pays for another backend's.
"""

from collections.abc import Callable, Mapping
from functools import cache

from idkmesh_rules.checks.check import AnyCheck
from idkmesh_rules.model.facts import FactKind


def _unified_diff() -> tuple[AnyCheck, ...]:
    from idkmesh_rules.checks import files, manifest, patch, required_lines, worker_status

    return (
        manifest.SCHEMA_CHECK,
        manifest.BINDING_CHECK,
        manifest.COVERAGE_CHECK,
        files.ARTIFACT_CHECK,
        files.LOG_CHECK,
        patch.STRUCTURE_CHECK,
        patch.SCOPE_CHECK,
        required_lines.LINES_CHECK,
        worker_status.STATUS_CHECK,
    )


def _exact_json() -> tuple[AnyCheck, ...]:
    from idkmesh_rules.checks import answer, files, manifest, worker_status

    return (
        manifest.SCHEMA_CHECK,
        manifest.BINDING_CHECK,
        manifest.COVERAGE_CHECK,
        files.ARTIFACT_CHECK,
        answer.FILES_CHECK,
        answer.JSON_CHECK,
        worker_status.STATUS_CHECK,
    )


def _workspace() -> tuple[AnyCheck, ...]:
    from idkmesh_rules.checks import files, manifest, worker_status, workspace

    return (
        manifest.SCHEMA_CHECK,
        manifest.BINDING_CHECK,
        manifest.COVERAGE_CHECK,
        files.ARTIFACT_CHECK,
        workspace.SCOPE_CHECK,
        worker_status.STATUS_CHECK,
    )


def _sandboxed_equality() -> tuple[AnyCheck, ...]:
    from idkmesh_rules.checks import files, grading, manifest, worker_status

    return (
        manifest.SCHEMA_CHECK,
        manifest.BINDING_CHECK,
        manifest.COVERAGE_CHECK,
        files.ARTIFACT_CHECK,
        grading.CHECK,
        worker_status.STATUS_CHECK,
    )


_CHECKS: Mapping[str, Callable[[], tuple[AnyCheck, ...]]] = {
    "unified_diff": _unified_diff,
    "exact_json": _exact_json,
    "workspace": _workspace,
    "sandboxed_equality": _sandboxed_equality,
}


@cache
def checks_of(backend: str) -> tuple[AnyCheck, ...]:
    """The checks of a backend, in the order in which they run; none for a backend that this version doesn't evaluate."""
    return _CHECKS[backend]() if backend in _CHECKS else ()


@cache
def backend_kinds(backend: str) -> Mapping[str, FactKind]:
    """The fact kinds of a backend by name, as its checks declare them."""
    return {kind.name: kind for check in checks_of(backend) for kind in check.kinds}


def backend_names() -> tuple[str, ...]:
    """The backends that this version evaluates."""
    return tuple(_CHECKS)


def kinds_of_all() -> Mapping[str, FactKind]:
    """The fact kinds of all backends by name."""
    return {name: kind for backend in _CHECKS for name, kind in backend_kinds(backend).items()}
