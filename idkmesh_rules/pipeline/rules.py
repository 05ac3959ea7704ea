"""Which rule bundle an evaluation uses: found, held against its pin, checked, proven, with its parameters bound.

Invariants: a pin is held against the raw bytes before they are parsed; a bundle is parsed, checked and proven once a
process for the same bytes; one that could fall below its backend's floor is refused.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.checks import backend_kinds
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.contracts.readers import EXTENSION
from idkmesh_rules.errors import PolicyError, Problem, Refusal
from idkmesh_rules.model.bundle import Bundle, Floor
from idkmesh_rules.model.documents import AnyPlan, BundlePin
from idkmesh_rules.model.facts import Value
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.control import ControlFile, read_control_file
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.policy import bind_parameters, floor_for, load_bundle
from idkmesh_rules.resources import proven_bundles, shipped_bundle, shipped_bundle_ids


class Rules(NamedTuple):
    """A rule bundle ready to decide: checked, at or above its floor, with its parameters bound."""

    control: ControlFile
    bundle: Bundle
    parameters: Mapping[str, Value]


def read_rules(
    plan: AnyPlan,
    asked: Path | str | ControlFile | None,
    limits: Limits,
    digests: dict[str, str],
    *,
    require_pin: bool,
) -> Rules:
    """Find, read and check the bundle that a plan is decided by; raises Refusal. `digests` gets the bundle's digest.

    `asked` is the id of a shipped bundle, a directory, or the file as it was read before; without it, the bundle that the
    plan pins or its backend's own.
    """
    control = (
        asked
        if isinstance(asked, ControlFile)
        else read_control_file(_bundle_file(plan, asked), "rule bundle", limits.bundle_bytes)
    )
    digests["rule-bundle"] = bytes_digest(control.data)
    _check_pin(plan.pin, digests["rule-bundle"], control, plan, require_pin=require_pin)
    try:
        bundle = loaded(control.data, str(control.path))
    except PolicyError as error:
        raise Refusal("bundle-invalid", "the rule bundle is wrong", problems=error.problems) from None
    try:
        parameters = bind_parameters(bundle, plan.pin.parameters)
    except PolicyError as error:
        place = f"/extensions/{EXTENSION}/parameters"
        problems = tuple(
            problem._replace(document=plan.document.source, pointer=place + (problem.pointer or ""))
            for problem in error.problems
        )
        raise Refusal(
            "parameters-invalid", "the plan gives the rule bundle a wrong parameter", problems=problems
        ) from None
    if plan.pin.id is not None and plan.pin.id != bundle.id:
        raise Refusal(
            "bundle-pin-mismatch",
            "the rule bundle isn't the one that the plan pins",
            problems=(
                Problem(
                    f"the plan pins the bundle {plan.pin.id}, this one is {bundle.id}",
                    str(control.path),
                    line=1,
                    column=1,
                ),
            ),
        )
    if bundle.backend != plan.backend:
        raise Refusal(
            "bundle-backend",
            "the rule bundle is written for another backend",
            problems=(
                Problem(
                    f"the bundle is for {bundle.backend}, the plan asks for {plan.backend}",
                    str(control.path),
                    line=1,
                    column=1,
                ),
            ),
        )
    holes = _holes(bundle, tuple(sorted(parameters.items())))
    if holes:
        raise Refusal(
            "bundle-below-floor", "the rule bundle could accept what its backend's floor forbids", problems=holes
        )
    return Rules(control, bundle, parameters)


def named_bundle(asked: Path | str, limits: Limits) -> tuple[Bundle, tuple[Problem, ...]]:
    """A shipped bundle by its id, or the one in a directory, checked; and where it is below its floor, which isn't refused.

    Raises Refusal when there is none, or it is wrong.
    """
    control = read_control_file(
        _known(str(asked), bundle_directory(asked)) / "bundle.yaml", "rule bundle", limits.bundle_bytes
    )
    try:
        bundle = loaded(control.data, str(control.path))
    except PolicyError as error:
        raise Refusal("bundle-invalid", "the rule bundle is wrong", problems=error.problems) from None
    defaults = bind_parameters(bundle, {})
    return bundle, _holes(bundle, tuple(sorted(defaults.items())))


def _bundle_file(plan: AnyPlan, asked: Path | str | None) -> Path:
    if asked is not None:
        return _known(str(asked), bundle_directory(asked)) / "bundle.yaml"
    # What a plan pins by id is a shipped bundle, and never a directory that happens to be called so.
    name = plan.pin.id or BACKENDS[plan.backend].bundle
    return _known(name, shipped_bundle(name)) / "bundle.yaml"


def _known(name: str, directory: Path | None) -> Path:
    if directory is None:
        raise Refusal(
            "bundle-unknown",
            f"there is no rule bundle {name}",
            problems=(
                Problem(
                    f"shipped bundles are: {', '.join(shipped_bundle_ids())}",
                    name,
                    hint="or name a directory that holds a bundle.yaml with --bundle",
                ),
            ),
        )
    return directory


def bundle_directory(asked: Path | str) -> Path | None:
    """The directory of a bundle that is asked for by the id of a shipped one or by path; None if there is none."""
    directory = (shipped_bundle(asked) if isinstance(asked, str) else None) or Path(asked)
    return directory if directory.is_dir() else None


def _check_pin(pin: BundlePin, digest: str, control: ControlFile, plan: AnyPlan, *, require_pin: bool) -> None:
    if pin.digest is None and require_pin:
        raise Refusal(
            "bundle-unpinned",
            "the plan pins no rule bundle, and a pin was demanded",
            problems=(Problem(f"the digest of the bundle in use is {digest}", plan.document.source, "/extensions"),),
        )
    if pin.digest is not None and pin.digest != digest:
        raise Refusal(
            "bundle-pin-mismatch",
            "the rule bundle isn't the one that the plan pins",
            problems=(
                Problem(
                    f"the plan pins {pin.digest}, the bundle's bytes are {digest}", str(control.path), line=1, column=1
                ),
            ),
        )


@cache
def shipped_parameter(bundle_id: str, name: str) -> Value:
    """The default of a parameter of a shipped bundle; raises KeyError when there is no such bundle or parameter."""
    directory = shipped_bundle(bundle_id)
    if directory is None:
        raise KeyError(bundle_id)
    path = directory / "bundle.yaml"
    return loaded(path.read_bytes(), str(path)).parameters[name].default


@cache
def backend_floor(backend: str) -> Floor:
    """The floor of a backend, compiled once."""
    return floor_for(backend, backend_kinds(backend))


@lru_cache(maxsize=16)
def loaded(data: bytes, name: str) -> Bundle:
    """The bundle in `data`, read once a process for the same bytes; raises PolicyError with every mistake."""
    return load_bundle(data, name, backend_kinds, tree=proven_bundles().get(bytes_digest(data)))


@lru_cache(maxsize=64)
def _holes(bundle: Bundle, parameters: tuple[tuple[str, Value], ...]) -> tuple[Problem, ...]:
    defaults = {name: declared.default for name, declared in bundle.parameters.items()}
    if bundle.digest in proven_bundles() and dict(parameters) == defaults:
        return ()
    from idkmesh_rules.policy.prove import prove_floor

    return prove_floor(bundle, backend_floor(bundle.backend), dict(parameters))
