"""Which mutants of a bundle its cases notice (design: facts-and-policy, *Bundle tests*).

Invariants: a mutant is noticed if some case comes to another outcome, other causes, or another set of what doesn't apply,
the floor aside; one that nobody notices is a survivor unless the loader would refuse it, or its leaf has provably the same
value on every fact set.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from idkmesh_rules.model.bundle import Bundle, Combination, Form, Leaf, OnEmpty
from idkmesh_rules.model.proof import ProofNode
from idkmesh_rules.policy.compile import leaf_evaluator
from idkmesh_rules.policy.names import check_duplicates
from idkmesh_rules.policy.parameters import bind_parameters
from idkmesh_rules.policy.problems import Problems
from idkmesh_rules.policy.testing.equivalence import equivalent
from idkmesh_rules.policy.testing.mutants import Mutant, mutants
from idkmesh_rules.policy.testing.run import Staged, nodes_of, observed, run_bare
from idkmesh_rules.policy.testing.suite import Expectation
from idkmesh_rules.policy.vacuity import check_meaning


class Study(NamedTuple):
    """What became of every mutant; `killed` counts those that a case notices."""

    killed: int
    survived: tuple[Mutant, ...]
    refused: tuple[Mutant, ...]
    equivalent: tuple[Mutant, ...]

    @property
    def total(self) -> int:
        """How many mutants there are."""
        return self.killed + len(self.survived) + len(self.refused) + len(self.equivalent)


class _Known(NamedTuple):
    """What the unchanged bundle says of a case."""

    staged: Staged
    expectation: Expectation
    values: Mapping[str, ProofNode]


def study(bundle: Bundle, cases: Iterable[Staged]) -> Study:
    """Let every mutant of `bundle` decide every case until one notices it."""
    known = tuple([_known(bundle, each) for each in cases])
    killed = 0
    found: dict[str, list[Mutant]] = {"survived": [], "refused": [], "equivalent": []}
    for mutant in mutants(bundle):
        if any(_notices(each, mutant) for each in known):
            killed += 1
        else:
            found[_fate(bundle, mutant)].append(mutant)
    return Study(killed, *(tuple(each) for each in found.values()))


def noticed(bundle: Bundle, mutant: Mutant, case: Staged) -> bool:
    """Whether one case notices a mutant of `bundle`."""
    return _notices(_known(bundle, case), mutant)


def _known(bundle: Bundle, each: Staged) -> _Known:
    decision = run_bare(bundle, each)
    return _Known(each, observed(decision), {node.condition: node for node in nodes_of(decision)})


def _notices(known: _Known, mutant: Mutant) -> bool:
    if mutant.leaf is not None:
        leaf = mutant.bundle.conditions[mutant.leaf]
        if isinstance(leaf, Leaf):
            # A leaf that says what it said before changes nothing above it.
            parameters = bind_parameters(mutant.bundle, known.staged.case.parameters)
            now = leaf_evaluator(leaf, parameters)(known.staged.store.kinds)
            if now.value is known.values[leaf.name].value:
                return False
    return observed(run_bare(mutant.bundle, known.staged)) != known.expectation


def _fate(bundle: Bundle, mutant: Mutant) -> str:
    if mutant.leaf is not None:
        before, after = bundle.conditions[mutant.leaf], mutant.bundle.conditions[mutant.leaf]
        defaults = bind_parameters(bundle, {})
        if isinstance(before, Leaf) and isinstance(after, Leaf) and equivalent(before, after, defaults):
            return "equivalent"
    return "refused" if _refused(mutant.bundle) else "survived"


def _refused(bundle: Bundle) -> bool:
    """Whether the loader would refuse the bundle for what it means."""
    problems = Problems(bundle.name, ())
    check_duplicates(bundle.conditions, problems)
    check_meaning(bundle, problems)
    under_any = [
        leaf
        for each in bundle.conditions.values()
        if isinstance(each, Combination) and each.form is Form.ANY
        for leaf in bundle.leaves(each.children)
    ]
    no_demand = [
        each
        for each in bundle.conditions.values()
        if isinstance(each, Leaf) and each.form in (Form.ONE, Form.EVERY) and not each.must
    ]
    return bool(problems or no_demand) or any(leaf.on_empty is OnEmpty.NOT_APPLICABLE for leaf in under_any)
