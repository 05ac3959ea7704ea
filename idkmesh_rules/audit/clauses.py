"""Why a condition has its value, in one clause. Invariant: made of counts and words of the rules, but for reasons of checks."""

from collections.abc import Iterable, Iterator

from idkmesh_rules.model.bundle import Form, Leaf, OnEmpty
from idkmesh_rules.model.proof import LeafProof, ProofNode
from idkmesh_rules.model.truth import Truth


def combination_reason(node: ProofNode) -> str:
    """Why a combination or a validator has its value, in one clause: how many of its conditions don't simply hold."""
    if not node.children:
        return "the rule bundle does not implement it"
    words = ((Truth.FALSE, "failed"), (Truth.UNKNOWN, "unknown"), (Truth.NOT_APPLICABLE, "not applicable"))
    counts = [(sum(child.value is value for child in node.children), word) for value, word in words]
    told = [f"{count} {word}" for count, word in counts if count]
    if node.form is Form.ANY:
        return f"any of {len(node.children)}" + (f": {', '.join(told)}" if told else "")
    number = f"{len(node.children)} condition{'s' * (len(node.children) != 1)}"
    return f"of {number} {', '.join(told)}" if told else number


def leaf_reason(leaf: Leaf, value: Truth, seen: LeafProof) -> str:
    """Why a leaf has its value, in one clause: how many facts it looked at, and what about them decided."""
    scope = f"{seen.facts} {leaf.kind.name} fact{'s' * (seen.facts != 1)}"
    if leaf.where and leaf.form is not Form.NONE:
        scope = f"{seen.in_scope} of {scope}"
    reasons: Iterable[str] = _unknown(leaf, seen) if value is Truth.UNKNOWN else _known(leaf, value, seen)
    return "; ".join([scope, *reasons])


def _known(leaf: Leaf, value: Truth, seen: LeafProof) -> Iterator[str]:
    false = value is Truth.FALSE
    match leaf.form:
        case Form.EVERY | Form.NONE if seen.deciding:
            yield (
                f"{seen.deciding} {'meet' if seen.deciding > 1 else 'meets'} it"
                if leaf.form is Form.NONE
                else (f"{seen.deciding} {'break' if seen.deciding > 1 else 'breaks'} the rule")
            )
        case Form.EVERY | Form.NONE if not seen.in_scope and not seen.perhaps_in_scope:
            yield f"nothing is in its scope, and on_empty says {(leaf.on_empty or OnEmpty.INCONCLUSIVE).value}"
        case Form.ONE if false and not seen.in_scope:
            yield "there is none, and there must be one"
        case Form.ONE if false and seen.in_scope > 1:
            yield "there must be exactly one"
        case Form.ONE if false:
            yield "it breaks the rule"
        case Form.SOME if false:
            yield "there must be one at least"
        case Form.COUNT if false:
            yield "their number is out of bounds"


def _unknown(leaf: Leaf, seen: LeafProof) -> Iterator[str]:
    if not seen.complete:
        yield f"facts may be missing: {seen.reason or 'the check did not say why'}"
    if seen.deciding:
        yield f"{_facts(seen.deciding)} can't be judged"
    if seen.complete and not seen.deciding:
        yield f"nothing is in its scope, and on_empty says {(leaf.on_empty or OnEmpty.INCONCLUSIVE).value}"


def _facts(count: int) -> str:
    return f"{count} fact" if count == 1 else f"{count} facts"
