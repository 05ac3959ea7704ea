"""An evaluation, a refusal, a contract: as a few lines for a person, or as one JSON document.

Invariants: at most 80 columns where words allow it; everything that came from a candidate was made printable before.
"""

import json
import re
from typing import TYPE_CHECKING

from idkmesh_rules.contracts.digest import canonical_bytes
from idkmesh_rules.errors import Refusal
from idkmesh_rules.model.evaluation import CheckCrash, Evaluation, Finding
from idkmesh_rules.model.proof import Recommendation, Status
from idkmesh_rules.model.reasons import REFUSALS
from idkmesh_rules.model.text import printable
from idkmesh_rules.render.layout import GREEN, MAGENTA, RED, YELLOW, painted, problem_lines, wrapped
from idkmesh_rules.result.refusal import refusal_document

if TYPE_CHECKING:
    from idkmesh_rules.pipeline.contract import Contract

_UNPRINTABLE = re.compile("(?<=##)\\[|[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_SHOWN = 10
_MARKS = {Status.PASSED: "✓", Status.FAILED: "✗", Status.INCONCLUSIVE: "?", Status.ERROR: "!"}
_COLOURS = {Status.PASSED: GREEN, Status.FAILED: RED, Status.INCONCLUSIVE: YELLOW, Status.ERROR: MAGENTA}
_OUTCOME = {
    Recommendation.ACCEPT: Status.PASSED,
    Recommendation.REJECT: Status.FAILED,
    Recommendation.ESCALATE: Status.INCONCLUSIVE,
    Recommendation.INSUFFICIENT_EVIDENCE: Status.INCONCLUSIVE,
}


def evaluation_text(evaluation: Evaluation, *, colour: bool) -> str:
    """The recommendation, each validator, each failed condition with reason and place, and where the evidence is."""
    result = evaluation.result
    outcome = evaluation.recommendation.value
    subject = printable(f"{result['work_unit_id']} version {result['work_unit_version']}, attempt {result['attempt']}")
    lines = [f"{painted(outcome, _COLOURS[_OUTCOME[evaluation.recommendation]], colour)}  {subject}"]
    validators = {label.id: label.validator for label in evaluation.labels}
    for check in result["checks"]:
        name, status = check["id"], Status(check["status"])
        optional = "" if check["required"] else " (not required)"
        mark = painted(_MARKS[status], _COLOURS[status], colour)
        lines.append(f"  {mark} {printable(name)}: {status.value}{optional}")
        mine = [finding for finding in evaluation.findings if finding.validator == validators.get(name, name)]
        for finding in mine[:_SHOWN]:
            lines += wrapped(f"{finding.condition}: {finding.summary}{_place(finding)}", 6)
        if len(mine) > _SHOWN:
            lines += wrapped(f"… and {len(mine) - _SHOWN} more findings", 6)
    for finding in [finding for finding in evaluation.findings if finding.validator == "escalate"][:_SHOWN]:
        lines += wrapped(f"! {finding.condition}: {finding.summary}{_place(finding)}", 2)
    bundle = evaluation.bundle
    lines += [
        f"  rules     {bundle.id} {bundle.version}",
        f"  facts     {evaluation.facts_digest}",
        f"  decision  {evaluation.decision_digest}",
    ]
    if evaluation.output_dir is not None:
        lines.append(f"  evidence  {printable(str(evaluation.output_dir), 4096)}")
    for note in evaluation.notes:
        lines += wrapped(note, 2)
    return "\n".join(lines)


def result_json(evaluation: Evaluation) -> str:
    """The VerificationResult as one line of JSON: verification-result.json, with unprintable characters escaped."""
    return _escaped(canonical_bytes(evaluation.result).decode())


def refusal_text(refusal: Refusal, *, colour: bool) -> str:
    """Why there is no verdict, where, whose fault that is, and what to do."""
    status = Status.FAILED if refusal.fault == "worker" else Status.ERROR
    lines = [
        f"{painted('refused', _COLOURS[status], colour)}  {refusal.reason} (fault: {refusal.fault}): {printable(refusal.message)}"
    ]
    for problem in refusal.problems:
        lines += problem_lines(problem, 2)
    known = REFUSALS.get(refusal.reason)
    if known is not None:
        lines += wrapped(f"→ {known.remedy}", 2)
    return "\n".join(lines)


def refusal_json(refusal: Refusal) -> str:
    """The refusal as one line of JSON: refusal.json, with unprintable characters escaped."""
    return _escaped(canonical_bytes(refusal_document(refusal)).decode())


def crash_text(crash: CheckCrash) -> str:
    """A crashed check, called what it is."""
    return (
        f"idkrules: the check {crash.check} crashed: {printable(crash.error)}\n"
        f"This is a bug in idkrules; the candidate wasn't accepted because of it. Please report it:\n{crash.trace}"
    )


def contract_text(contract: "Contract") -> str:
    """That the verifier's documents fit each other, and the digests that bind them."""
    bundle = contract.rules.bundle
    lines = [
        "The WorkUnit, the plan and the rule bundle fit each other.",
        f"  WorkUnit  {contract.unit.document.digest}  {contract.unit.id}",
        f"  plan      {contract.plan.document.digest}  {printable(contract.plan.id)}",
        f"  bundle    {bundle.digest}  {bundle.id} {bundle.version}",
    ]
    return "\n".join([*lines, *(line for note in contract.notes for line in wrapped(note, 2))])


def contract_json(contract: "Contract") -> str:
    """The same as one JSON object."""
    bundle = contract.rules.bundle
    return json.dumps(
        {
            "work_unit": {
                "id": contract.unit.id,
                "version": contract.unit.version,
                "digest": contract.unit.document.digest,
            },
            "evaluator_plan": {"id": contract.plan.id, "digest": contract.plan.document.digest},
            "bundle": {
                "id": bundle.id,
                "version": bundle.version,
                "digest": bundle.digest,
                "pinned": contract.plan.pin.digest is not None,
            },
            "validators": sorted(bundle.validators),
            "notes": list(contract.notes),
        }
    )


def _escaped(text: str) -> str:
    """JSON text that can drive no terminal and no CI system: the value is the same, the spelling is an escape."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _place(finding: Finding) -> str:
    origin = finding.origin
    if origin is None:
        return ""
    where = origin.locator
    if origin.line is not None:
        where += f":{origin.line}"
    elif origin.pointer is not None:
        where += f"#{origin.pointer}"
    return f" [{printable(where)}]" if where else ""
