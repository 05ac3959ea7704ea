"""What the cases show of a bundle: masking MC/DC for each leaf of each validator, and more than two values.

An obligation is met by a case in which the leaf's value alone decides what the validator says. Overriding the leaf's
value everywhere in the recorded proof is what shows it (design: facts-and-policy, *Bundle tests*):

- T: the validator passed, and with the leaf false it fails.
- F: it failed, and with the leaf true it doesn't.
- U: it is unknown, and with the leaf false it fails.
- N: the leaf doesn't apply while the validator passed.
- An escalation is seen true, false and unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from idkmesh_rules.model.bundle import Bundle, Form, Leaf, Mark, OnEmpty
from idkmesh_rules.model.proof import Decision, ProofNode
from idkmesh_rules.model.truth import Truth, conjunction, disjunction

ESCALATION = "escalate"


class Obligation(NamedTuple):
    """What some case has to show: a leaf's value deciding a validator, or an escalation's value (`owner` is `escalate`)."""

    owner: str
    condition: str
    value: Truth
    mark: Mark


class Coverage(NamedTuple):
    """Every obligation of a bundle with the case that meets it first, or None."""

    shown: Mapping[Obligation, str | None]

    @property
    def missing(self) -> tuple[Obligation, ...]:
        """The obligations that no case meets, in the order of the bundle."""
        return tuple([obligation for obligation, case in self.shown.items() if case is None])

    def tally(self, values: Iterable[Truth]) -> tuple[int, int]:
        """How many obligations with these values are met, and how many there are."""
        wanted = frozenset(values)
        cases = [case for obligation, case in self.shown.items() if obligation.value in wanted]
        return sum(case is not None for case in cases), len(cases)


def coverage(bundle: Bundle, decided: Iterable[tuple[str, Decision]]) -> Coverage:
    """Hold the decisions of named cases against the bundle's obligations."""
    shown: dict[Obligation, str | None] = dict.fromkeys(obligations(bundle))
    for name, decision in decided:
        for obligation in met(bundle, decision):
            if shown[obligation] is None:
                shown[obligation] = name
    return Coverage(shown)


def obligations(bundle: Bundle) -> Iterator[Obligation]:
    """What the cases of a bundle have to show, validator by validator, leaf by leaf."""
    for validator in bundle.validators.values():
        for leaf in bundle.leaves(validator.children):
            yield from _of_leaf(validator.id, leaf)
    for name in bundle.escalate:
        mark = bundle.conditions[name].mark or bundle.mark
        for value in (Truth.TRUE, Truth.FALSE, Truth.UNKNOWN):
            yield Obligation(ESCALATION, name, value, mark)


def _of_leaf(owner: str, leaf: Leaf) -> Iterator[Obligation]:
    inapplicable = (Truth.NOT_APPLICABLE,) if leaf.on_empty is OnEmpty.NOT_APPLICABLE else ()
    for value in (Truth.TRUE, Truth.FALSE, Truth.UNKNOWN, *inapplicable):
        yield Obligation(owner, leaf.name, value, leaf.mark or Mark(1, 1))


def met(bundle: Bundle, decision: Decision) -> Iterator[Obligation]:
    """The obligations that one decision meets."""
    for outcome in decision.validators:
        for leaf in bundle.leaves(bundle.validators[outcome.id].children):
            for obligation in _of_leaf(outcome.id, leaf):
                if _shows(outcome.node, obligation):
                    yield obligation
    for node in decision.escalations:
        mark = bundle.conditions[node.condition].mark or bundle.mark
        if node.value is not Truth.NOT_APPLICABLE:
            yield Obligation(ESCALATION, node.condition, node.value, mark)


def _shows(root: ProofNode, obligation: Obligation) -> bool:
    name, value = obligation.condition, obligation.value
    if _recorded(root, name) is not value:
        return False
    match value:
        case Truth.TRUE:
            return root.value is Truth.TRUE and _masked(root, name, Truth.FALSE) is Truth.FALSE
        case Truth.FALSE:
            return root.value is Truth.FALSE and _masked(root, name, Truth.TRUE) is not Truth.FALSE
        case Truth.UNKNOWN:
            return root.value is Truth.UNKNOWN and _masked(root, name, Truth.FALSE) is Truth.FALSE
    return root.value is Truth.TRUE


def _recorded(root: ProofNode, name: str) -> Truth | None:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.condition == name and node.form is not Form.VALIDATOR:
            return node.value
        pending.extend(node.children)
    return None


def _masked(node: ProofNode, name: str, value: Truth) -> Truth:
    """What a node would be if the leaf `name` had `value` wherever it stands; depth is bounded when a bundle is loaded."""
    if node.condition == name and node.form is not Form.VALIDATOR:
        return value
    if not node.children:
        return node.value
    combine = disjunction if node.form is Form.ANY else conjunction
    return combine([_masked(child, name, value) for child in node.children])
