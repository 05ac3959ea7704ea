"""Conjuncts that say nothing which their neighbours don't say (design: facts-and-policy, *Rule bundle language v1*).

Invariants: a conjunct is reported only if it passes wherever its neighbours do, unknown fields and all; what mentions a
parameter is never called superfluous and is no reason, because a plan may set it; of a crowd of conditions over the same
fields nothing is said, so that the time stays bounded.
"""

from collections.abc import Mapping

from idkmesh_rules.model.bundle import Bundle, Combination, Condition, Form, Leaf, Mark, OnEmpty, ParameterRef
from idkmesh_rules.policy.abstract import Unknowns, linked_fields
from idkmesh_rules.policy.cases import Case, cases
from idkmesh_rules.policy.entail import claim, implied
from idkmesh_rules.policy.problems import Problems

CROWD = 16


def check_neighbours(bundle: Bundle, problems: Problems) -> None:
    """Report the superfluous conjuncts of every validator and every `all`."""
    claims = _Claims(bundle.conditions)
    for name, condition in bundle.conditions.items():
        if isinstance(condition, Combination) and condition.form is Form.ALL:
            _check(name, condition.children, claims, problems)
    for validator in bundle.validators.values():
        _check(validator.id, validator.children, claims, problems)


def _check(owner: str, names: tuple[str, ...], claims: "_Claims", problems: Problems) -> None:
    """Later conjuncts are reported first; what was reported is no reason any more."""
    kept = dict.fromkeys(names)
    for name in reversed(names):
        subject = claims.subjects[name]
        others = [other for other in kept if other != name and not subject.isdisjoint(claims.subjects[other])]
        if 0 < len(others) <= CROWD and claims.follows(name, others):
            del kept[name]
            alone = next((other for other in others if claims.follows(name, [other])), "its neighbours")
            message = f"in {owner}, {name} follows from {alone}"
            problems.add(claims.mark(name), message, f"remove {name} from {owner}, or change what it demands")


class _Claims:
    """What named conditions claim, and what they speak of: kinds and fields, with those that invariants tie to them."""

    def __init__(self, conditions: Mapping[str, Condition]) -> None:
        self._conditions = conditions
        leaves = [leaf for leaf in conditions.values() if isinstance(leaf, Leaf)]
        self._claims = {leaf.name: claim(leaf, {}) for leaf in leaves if not _mentions_parameter(leaf)}
        subjects = {leaf.name: _subject(leaf) for leaf in leaves}
        self.subjects = {
            name: frozenset().union(*(subjects[leaf.name] for case in cases((name,), conditions) for leaf in case))
            for name in conditions
        }

    def mark(self, name: str) -> Mark:
        """Where a condition stands."""
        return self._conditions[name].mark or Mark(1, 1)

    def follows(self, name: str, others: list[str]) -> bool:
        """Whether a condition passes in each case in which the others do, at least one of which is then true."""
        wanted = cases((name,), self._conditions)
        if not all(leaf.name in self._claims for case in wanted for leaf in case):
            return False
        return all(self._in_case(wanted, given) for given in cases(others, self._conditions))

    def _in_case(self, wanted: tuple[Case, ...], given: Case) -> bool:
        if all(leaf.on_empty is OnEmpty.NOT_APPLICABLE for leaf in given):
            return False  # the others may all be not applicable, and then this one makes the conjunction true
        known = [self._claims[leaf.name] for leaf in given if leaf.name in self._claims]
        return any(
            all(implied(self._claims[leaf.name], known, Unknowns.ANY) is None for leaf in case) for case in wanted
        )


def _subject(leaf: Leaf) -> frozenset[tuple[str, str]]:
    named = linked_fields(leaf.kind, [demand.field.name for demand in leaf.demands], ())
    return frozenset((leaf.kind.name, name) for name in (named or leaf.kind.index))


def _mentions_parameter(leaf: Leaf) -> bool:
    operands = (leaf.at_least, leaf.at_most, *(operand for demand in leaf.demands for operand in demand.operands))
    return any(isinstance(operand, ParameterRef) for operand in operands)
