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
        yield from _met_by(bundle, outcome.id, outcome.node)
    for node in decision.escalations:
        mark = bundle.conditions[node.condition].mark or bundle.mark
        if node.value is not Truth.NOT_APPLICABLE:
            yield Obligation(ESCALATION, node.condition, node.value, mark)


def _met_by(bundle: Bundle, validator: str, root: ProofNode) -> Iterator[Obligation]:
    nested = {
        leaf.name
        for name in bundle.validators[validator].children
        if not isinstance(bundle.conditions[name], Leaf)
        for leaf in bundle.leaves((name,))
    }
    recorded = dict(_leaf_values(root))
    failed = [child.value for child in root.children].count(Truth.FALSE)
    for leaf in bundle.leaves(bundle.validators[validator].children):
        value = recorded[leaf.name]
        if value not in _WANTED[root.value]:
            continue
        # In a plain conjunction it is known what replacing one value does; only what lies deeper has to be tried.
        decides = _decides(root, leaf.name, value) if leaf.name in nested else value is not Truth.FALSE or failed == 1
        if decides:
            yield from [each for each in _of_leaf(validator, leaf) if each.value is value]


_WANTED = {
    Truth.TRUE: (Truth.TRUE, Truth.NOT_APPLICABLE),
    Truth.FALSE: (Truth.FALSE,),
    Truth.UNKNOWN: (Truth.UNKNOWN,),
    Truth.NOT_APPLICABLE: (),
}
"""Which values of a leaf can be shown to decide a validator of each value."""


def _leaf_values(root: ProofNode) -> Iterator[tuple[str, Truth]]:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.leaf is not None:
            yield node.condition, node.value
        pending.extend(node.children)


def _decides(root: ProofNode, name: str, value: Truth) -> bool:
    """Whether the validator would say otherwise, were the leaf's value another one wherever it stands."""
    match value:
        case Truth.TRUE | Truth.UNKNOWN:
            return _masked(root, name, Truth.FALSE) is Truth.FALSE
        case Truth.FALSE:
            return _masked(root, name, Truth.TRUE) is not Truth.FALSE
    return True


def _masked(node: ProofNode, name: str, value: Truth) -> Truth:
    """What a node would be if the leaf `name` had `value` wherever it stands; depth is bounded when a bundle is loaded."""
    if node.condition == name and node.form is not Form.VALIDATOR:
        return value
    if not node.children:
        return node.value
    combine = disjunction if node.form is Form.ANY else conjunction
    return combine([_masked(child, name, value) for child in node.children])
