"""From facts to what is handed over: the decision, its findings, the result, and the evidence on disk.

Invariant: everything that is written is made before the first byte is, and published at once.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from idkmesh_rules.checks import AnyCheck
from idkmesh_rules.model.evaluation import Evaluation
from idkmesh_rules.pipeline.candidate import Seen
from idkmesh_rules.pipeline.contract import Contract
from idkmesh_rules.pipeline.rules import backend_floor
from idkmesh_rules.result.assembly import RESULT_FILE, Basis, assemble
from idkmesh_rules.result.directory import publish
from idkmesh_rules.result.documents import file_bytes
from idkmesh_rules.result.verification import Measured, Subject


def basis_of(contract: Contract, seen: Seen, checks: tuple[AnyCheck, ...]) -> Basis:
    """What a decision over what was seen follows from."""
    rules = contract.rules
    return Basis(
        Subject(contract.unit, seen.manifest, contract.plan),
        rules.bundle,
        rules.control.data,
        rules.parameters,
        contract.required,
        backend_floor(contract.plan.backend),
        checks,
        seen.store,
        seen.crashes,
    )


def conclude(
    contract: Contract,
    seen: Seen,
    checks: tuple[AnyCheck, ...],
    measured: Callable[[], Measured],
    *,
    output: Path | None,
    durable: bool,
    reveal_hidden: bool,
    most_findings: int,
    attestations: Mapping[str, bytes] = {},
) -> Evaluation:
    """Decide, tell, and publish what was seen; raises Refusal when the output can't be written.

    `measured` is asked once, when everything but the writing is done; `most_findings` bounds the findings of a condition;
    `attestations` are handed on with the evidence.
    """
    rules = contract.rules
    basis = basis_of(contract, seen, checks)._replace(attestations=attestations)
    made = assemble(
        basis,
        measured,
        _environment(),
        revealed=reveal_hidden,
        most_findings=most_findings,
        with_evidence=output is not None,
    )
    if output is not None:
        publish(output, {RESULT_FILE: file_bytes(made.result), **made.files}, durable=durable)
    return Evaluation(
        made.decision.recommendation,
        made.decision.status,
        made.decision,
        rules.bundle,
        seen.store,
        made.findings,
        made.notes,
        made.result,
        made.facts_digest,
        made.decision_digest,
        seen.crashes,
        output,
        contract.labels,
    )


@cache
def _environment() -> Mapping[str, str]:
    system = os.uname()
    return {
        "platform": f"{system.sysname}-{system.release}-{system.machine}",
        "python": ".".join(map(str, sys.version_info[:3])),
    }
