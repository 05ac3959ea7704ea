"""The verifier's side: WorkUnit, plan and rule bundle, read and held against each other.

Invariants: all violations of the verifier's documents are reported together; what is wrong with a plan that isn't public
is told without its words.
"""

import os
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.contracts.binding import check_plan_binding
from idkmesh_rules.contracts.hidden import masked
from idkmesh_rules.contracts.labels import labels_of
from idkmesh_rules.contracts.readers import read_evaluator_plan, read_work_unit
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError, Problem, Refusal
from idkmesh_rules.model.documents import AnyPlan, Document, WorkUnit
from idkmesh_rules.model.evaluation import Label
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.observe.control import ControlFile, read_control_file
from idkmesh_rules.pipeline.backends import BACKENDS
from idkmesh_rules.pipeline.rules import Rules, read_rules


class Contract(NamedTuple):
    """The verifier's side of an evaluation: WorkUnit, plan and rules, each read and fitting the others."""

    unit: WorkUnit
    plan: AnyPlan
    rules: Rules

    @property
    def labels(self) -> tuple[Label, ...]:
        """Under which names a result reports the bundle's validators."""
        return labels_of(self.unit, self.plan)

    @property
    def required(self) -> tuple[str, ...]:
        """The ids of the validators that the decision rests on, in one order whoever asks."""
        return tuple(sorted({label.validator for label in self.labels if label.required}))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is no mistake and yet worth knowing before work is handed out: a missing pin, paths that nobody can change."""
        unit, paths = self.unit, BACKENDS[self.plan.backend].judges_paths
        told = (
            (self.plan.pin.digest is None, "The rule bundle is unpinned: the plan names no bundle digest."),
            (
                paths and not unit.allowed_paths,
                "The WorkUnit's constraints.allowed_paths is empty, so no path can be authorized.",
            ),
            (
                paths and not unit.filesystem_write,
                "The WorkUnit's permissions.filesystem_write is empty, so no path can be authorized.",
            ),
            (paths and "**" in unit.forbidden_paths, "The WorkUnit's constraints.forbidden_paths forbids everything."),
            *(
                (
                    True,
                    f"No required check of the plan covers {label.id}, which the WorkUnit requires: no candidate can pass.",
                )
                for label in self.labels
                if not label.covered
            ),
        )
        return tuple(note for holds, note in told if holds)


class Asked(NamedTuple):
    """What a contract is read from: the verifier's files, the bundle that was asked for, and how strictly.

    `reveal` lets messages quote a plan that isn't public.
    """

    unit: ControlFile
    plan: ControlFile
    bundle: Path | str | ControlFile | None = None
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
    """Hold WorkUnit, plan, rule bundle, and the files that a plan pins against each other; raises Refusal.

    For whoever is about to hand out work.

    `reveal_hidden` lets the refusal quote a plan that isn't public.
    """
    limits = limits or Limits()
    unit_file = read_control_file(Path(work_unit), "WorkUnit", limits.document_bytes)
    plan_file = read_control_file(Path(evaluator_plan), "evaluator plan", limits.plan_bytes)
    digests: dict[str, str] = {}
    try:
        contract = read_contract(Asked(unit_file, plan_file, bundle, require_pin, reveal_hidden), limits, digests)
        if BACKENDS[contract.plan.backend].executes:
            from idkmesh_rules.pipeline.protected import read_protected

            read_protected(contract.plan, limits, reveal=reveal_hidden)
    except Refusal as refusal:
        refusal.digests.update(digests)
        raise
    return contract


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
            rules = read_rules(plan, asked.bundle, limits, digests, require_pin=asked.require_pin)
        except Refusal as refusal:
            if plan.hidden and not asked.reveal:
                own = plan.document.source
                refusal.problems = tuple(masked(each) if each.document == own else each for each in refusal.problems)
            if not problems:
                raise
            problems.extend(refusal.problems)
    if unit is None or plan is None or rules is None:
        raise Refusal(
            "document-invalid", "the verifier's own documents break their contracts", problems=tuple(problems)
        )
    check_plan_binding(unit, plan)
    BACKENDS[plan.backend].check_validators(unit, plan, frozenset(rules.bundle.validators), rules.bundle.id)
    return Contract(unit, plan, rules)


def _document(
    control: ControlFile, name: str, most: int, limits: Limits, digests: dict[str, str], *, quote: bool = True
) -> Document:
    # Whether a plan is hidden can't be known before it is read, so no message about its syntax quotes it.
    source, depth = str(control.path), limits.json_depth
    document = read_document(control.data, name, source, max_bytes=most, max_depth=depth, quote=quote)
    digests[name] = document.digest
    return document


def _plan(document: Document, *, reveal: bool) -> AnyPlan:
    try:
        return read_evaluator_plan(document)
    except ContractError as error:
        if reveal or document.value.get("visibility") == "public":
            raise
        raise ContractError(tuple(dict.fromkeys(map(masked, error.problems)))) from None
