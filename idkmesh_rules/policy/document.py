"""decision.json: the decision as plain JSON values, for an auditor who holds nothing but the result directory.

Invariants: facts are named by their key, not by their place in a store; the document depends on the decision, the
bundle and the parameters alone, without time, host or version (design: outputs, *decision.json*).
"""

from collections.abc import Mapping
from typing import Any

from idkmesh_rules.model.bundle import Bundle
from idkmesh_rules.model.facts import Value
from idkmesh_rules.model.proof import Decision, FloorOutcome, LeafProof, ProofNode, RowProof

SCHEMA_VERSION = "1.0"


def decision_document(
    decision: Decision, bundle: Bundle, parameters: Mapping[str, Value], facts_digest: str
) -> dict[str, Any]:
    """The object that decision.json holds; its digest identifies the decision."""
    return {
        "schema_version": SCHEMA_VERSION,
        "facts_digest": facts_digest,
        "bundle": {"id": bundle.id, "version": bundle.version, "digest": bundle.digest},
        "parameters": dict(parameters),
        "validators": [
            {
                "id": outcome.id,
                "required": outcome.required,
                "status": outcome.status.value,
                "proof": _node(outcome.node),
            }
            for outcome in decision.validators
        ],
        "floor": _floor(decision.floor) if decision.floor is not None else None,
        "escalations": [_node(node) for node in decision.escalations],
        "recommendation": decision.recommendation.value,
    }


def _floor(outcome: FloorOutcome) -> dict[str, Any]:
    return {"status": outcome.status.value, "decides": outcome.decides, "proof": _node(outcome.node)}


def _node(node: ProofNode) -> dict[str, Any]:
    """One node with all below it. A load-time bound on the size of a proof keeps the recursion and the copies small."""
    shown: dict[str, Any] = {"condition": node.condition, "form": node.form.value, "value": node.value.letter}
    if node.mark is not None:
        shown["line"], shown["column"] = node.mark.line, node.mark.column
    if node.leaf is not None:
        shown |= _leaf(node.leaf)
    else:
        shown["children"] = [_node(child) for child in node.children]
    return shown


def _leaf(leaf: LeafProof) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": leaf.kind,
        "complete": leaf.complete,
        "counts": {
            "facts": leaf.facts,
            "in_scope": leaf.in_scope,
            "perhaps_in_scope": leaf.perhaps_in_scope,
            "deciding": leaf.deciding,
        },
        "facts": [_row(row) for row in leaf.rows],
    }
    if leaf.reason is not None:
        shown["incomplete"] = leaf.reason
    if leaf.crashed:
        shown["crashed"] = True
    return shown


def _row(row: RowProof) -> dict[str, Any]:
    return {"key": dict(row.key), "false": list(row.false), "unknown": list(row.unknown)}
