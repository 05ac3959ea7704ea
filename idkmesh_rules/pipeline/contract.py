"""The verifier's side: WorkUnit, plan and rule bundle, read and held against each other.

Invariants: all violations of the verifier's documents are reported together; a pin is held against the raw bytes before
they are parsed; a bundle is parsed, checked and proven once a process for the same bytes.
"""

import os
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.checks import unified_diff_kinds
from idkmesh_rules.contracts.binding import check_plan_binding, check_validator_sets
from idkmesh_rules.contracts.digest import bytes_digest
from idkmesh_rules.contracts.readers import EXTENSION, read_evaluator_plan, read_work_unit
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError, PolicyError, Problem, Refusal
from idkmesh_rules.model.bundle import Bundle, Floor
from idkmesh_rules.model.documents import BundlePin, Document, EvaluatorPlan, WorkUnit
from idkmesh_rules.model.facts import FactKind, Value
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.control import ControlFile, read_control_file
from idkmesh_rules.policy import bind_parameters, floor_for, load_bundle
from idkmesh_rules.resources import proven_bundles, shipped_bundle, shipped_bundle_ids

_OWN_BUNDLE = {"unified_diff": "unified-diff"}
# What a hidden plan says here may be shown; anything else in it could be, or could have been meant as, an expectation.
_SHOWABLE = frozenset(
    {
        "schema_version",
        "id",
        "binding",
        "visibility",
        "execution_mode",
        "verifier",
        "policy",
        "required_validator_ids",
        "candidate_artifact_id",
        "source_revision",
    }
)
_PLAN_KEYS = frozenset(
    {
        "backend",
        "required_added_text",
        "required_added_substrings",
        "required_removed_substrings",
        "required_log_types",
        "max_candidate_bytes",
        "max_log_bytes",
        "type",
        "extensions",
        "org.idkmesh.rules",
        "required_json",
        "allowed_files",
        "baseline",
        "checks",
    }
)
_MASKED = "[hidden] something here breaks the plan's contract"


class Rules(NamedTuple):
    """A rule bundle ready to decide: checked, at or above its floor, with its parameters bound."""

    control: ControlFile
    bundle: Bundle
    parameters: Mapping[str, Value]


class Contract(NamedTuple):
    """The verifier's side of an evaluation: WorkUnit, plan and rules, each read and fitting the others."""

    unit: WorkUnit
    plan: EvaluatorPlan
    rules: Rules

    @property
    def notes(self) -> tuple[str, ...]:
        """What is no mistake and yet worth knowing before work is handed out: a missing pin, paths that nobody can change."""
        unit = self.unit
        told = (
            (self.plan.pin.digest is None, "The rule bundle is unpinned: the plan names no bundle digest."),
            (
                not unit.allowed_paths,
                "The WorkUnit's constraints.allowed_paths is empty, so no path can be authorized.",
            ),
            (
                not unit.filesystem_write,
                "The WorkUnit's permissions.filesystem_write is empty, so no path can be authorized.",
            ),
            ("**" in unit.forbidden_paths, "The WorkUnit's constraints.forbidden_paths forbids everything."),
        )
        return tuple(note for holds, note in told if holds)


class Asked(NamedTuple):
    """What a contract is read from: the verifier's files, the bundle that was asked for, and how strictly.

    `reveal` lets messages quote a plan that isn't public.
    """

    unit: ControlFile
    plan: ControlFile
    bundle: Path | str | None = None
    require_pin: bool = False
    reveal: bool = False


def validate(
    work_unit: str | os.PathLike[str],
    evaluator_plan: str | os.PathLike[str],
    *,
    bundle: Path | str | None = None,
    limits: Limits | None = None,
    require_pin: bool = False,
    reveal_hidden: bool = False,
) -> Contract:
    """Hold WorkUnit, plan and rule bundle against each other before any work is handed out; raises Refusal.

    `reveal_hidden` lets the refusal quote a plan that isn't public.
    """
    limits = limits or Limits()
    unit_file = read_control_file(Path(work_unit), "WorkUnit", limits.document_bytes)
    plan_file = read_control_file(Path(evaluator_plan), "evaluator plan", limits.plan_bytes)
    digests: dict[str, str] = {}
    try:
        return read_contract(Asked(unit_file, plan_file, bundle, require_pin, reveal_hidden), limits, digests)
    except Refusal as refusal:
        refusal.digests.update(digests)
        raise


def read_contract(asked: Asked, limits: Limits, digests: dict[str, str]) -> Contract:
    """Read and bind the verifier's documents; raises Refusal with every problem. `digests` is filled with what was read."""
    problems: list[Problem] = []
    unit = plan = rules = None
    try:
        unit = read_work_unit(_document(asked.unit, "work-unit", limits.document_bytes, limits, digests))
    except ContractError as error:
        problems.extend(error.problems)
    try:
        document = _document(asked.plan, "evaluator-plan", limits.plan_bytes, limits, digests, quote=asked.reveal)
        plan = _plan(document, reveal=asked.reveal)
    except ContractError as error:
        problems.extend(error.problems)
    if plan is not None:
        try:
            rules = _rules(plan, asked, limits, digests)
        except Refusal as refusal:
            if not problems:
                raise
            problems.extend(refusal.problems)
    if unit is None or plan is None or rules is None:
        raise Refusal(
            "document-invalid", "the verifier's own documents break their contracts", problems=tuple(problems)
        )
    check_plan_binding(unit, plan)
    check_validator_sets(unit, plan, frozenset(rules.bundle.validators), rules.bundle.id)
    return Contract(unit, plan, rules)


def _document(
    control: ControlFile, name: str, most: int, limits: Limits, digests: dict[str, str], *, quote: bool = True
) -> Document:
    # Whether a plan is hidden can't be known before it is read, so no message about its syntax quotes it.
    source, depth = str(control.path), limits.json_depth
    document = read_document(control.data, name, source, max_bytes=most, max_depth=depth, quote=quote)
    digests[name] = document.digest
    return document


def _plan(document: Document, *, reveal: bool) -> EvaluatorPlan:
    try:
        plan = read_evaluator_plan(document)
    except ContractError as error:
        if reveal or document.value.get("visibility") == "public":
            raise
        raise ContractError(tuple(map(_masked, error.problems))) from None
    if plan is None:
        raise Refusal(
            "backend-unsupported",
            "the plan asks for a backend that this version doesn't evaluate",
            problems=(
                Problem("only unified-diff plans (0.2, 0.3, 0.4) are evaluated", document.source, "/schema_version"),
            ),
        )
    return plan


def _masked(problem: Problem) -> Problem:
    """A problem of a plan that isn't public, without the plan's words: its place, as far as that tells nothing either."""
    parts = (problem.pointer or "").split("/")[1:]
    if (parts and parts[0] in _SHOWABLE) or problem.message.endswith(" is missing"):
        return problem
    known = takewhile(lambda part: part in _PLAN_KEYS or part.isdigit(), parts)
    return problem._replace(message=_MASKED, pointer="".join(f"/{part}" for part in known), hint="--reveal shows it")


def _rules(plan: EvaluatorPlan, asked: Asked, limits: Limits, digests: dict[str, str]) -> Rules:
    control = read_control_file(_bundle_file(plan, asked.bundle), "rule bundle", limits.bundle_bytes)
    digests["rule-bundle"] = bytes_digest(control.data)
    _check_pin(plan.pin, digests["rule-bundle"], control, plan, require_pin=asked.require_pin)
    try:
        bundle = _load(control.data, str(control.path))
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


def _bundle_file(plan: EvaluatorPlan, asked: Path | str | None) -> Path:
    if asked is None:
        name = plan.pin.id or _OWN_BUNDLE[plan.backend]
        directory = shipped_bundle(name)
    else:
        directory = (shipped_bundle(asked) if isinstance(asked, str) else None) or Path(asked)
        name = str(asked)
        directory = directory if directory.is_dir() else None
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
    return directory / "bundle.yaml"


def _check_pin(pin: BundlePin, digest: str, control: ControlFile, plan: EvaluatorPlan, *, require_pin: bool) -> None:
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
    return _load(path.read_bytes(), str(path)).parameters[name].default


@cache
def backend_kinds() -> Mapping[str, FactKind]:
    """The fact kinds of the unified-diff backend, collected once."""
    return unified_diff_kinds()


@cache
def backend_floor(backend: str) -> Floor:
    """The floor of a backend, compiled once."""
    return floor_for(backend, backend_kinds())


@lru_cache(maxsize=16)
def _load(data: bytes, name: str) -> Bundle:
    return load_bundle(data, name, backend_kinds(), tree=proven_bundles().get(bytes_digest(data)))


@lru_cache(maxsize=64)
def _holes(bundle: Bundle, parameters: tuple[tuple[str, Value], ...]) -> tuple[Problem, ...]:
    defaults = {name: declared.default for name, declared in bundle.parameters.items()}
    if bundle.digest in proven_bundles() and dict(parameters) == defaults:
        return ()
    from idkmesh_rules.policy.prove import prove_floor

    return prove_floor(bundle, backend_floor(bundle.backend), dict(parameters))
