"""The prover against every small fact set: a kind of two fields, all leaves over it, all stores of up to three facts.

Of two leaves both directions are decided: what is granted holds of every store, what is refused has a store that shows it.
"""

from functools import cache
from itertools import combinations, combinations_with_replacement

import pytest

from idkmesh_rules.model.bundle import Demand, Form, Leaf, Mark, OnEmpty, Operator
from idkmesh_rules.model.facts import (
    Category,
    FactKind,
    FactStore,
    Field,
    FieldType,
    FindingTemplate,
    KindFacts,
    Severity,
    Unknown,
)
from idkmesh_rules.policy.abstract import Unknowns
from idkmesh_rules.policy.entail import _narrowed, _Proof, claim, implied
from tests.property import policy_naive as naive

GONE = Unknown("not seen")
TOLD = FindingTemplate(Severity.LOW, Category.OTHER, "it")
FIELDS = (Field("a", FieldType.BOOL), Field("b", FieldType.INT, optional=True))
MANY = FactKind("pair", "A pair.", (Field("n", FieldType.INT, key=True), *FIELDS), TOLD)
LONE = FactKind("pair", "The only pair.", FIELDS, TOLD)

VALUES = [(a, b) for a in (True, False, GONE) for b in (0, 1, None, GONE)]


def stores(kind: FactKind) -> list[FactStore]:
    """Every store of up to three facts (one of a singleton), complete and incomplete."""
    most = 1 if kind.singleton else 3
    found = []
    for size in range(most + 1):
        for chosen in combinations_with_replacement(VALUES, size):
            rows = tuple(chosen) if kind.singleton else tuple((number, *values) for number, values in enumerate(chosen))
            found += [FactStore({"pair": KindFacts(kind, rows, complete=complete)}) for complete in (True, False)]
    return found


def conditions(kind: FactKind) -> list[Leaf]:
    """Every leaf with at most one demand in `where` and one in `must`, over a few demands."""
    a, b = kind.fields[-2:]
    asked = [Demand(a, Operator.IN, (True,)), Demand(a, Operator.NOT, (True,)), Demand(b, Operator.AT_LEAST, (1,))]
    asked.append(Demand(b, Operator.NOT, (0,)))
    mark, number = Mark(1, 1), iter(range(10_000))

    def leaf(form: Form, where: tuple[Demand, ...], must: tuple[Demand, ...] = (), **more: object) -> Leaf:
        return Leaf(f"c{next(number)}", form, kind, where, must, mark=mark, **more)  # type: ignore[arg-type]

    scopes = [(), *((each,) for each in asked)]
    found = [leaf(Form.ONE, where, (must,)) for where in scopes[:3] for must in asked]
    if kind.singleton:
        return found + [leaf(Form.ONE, (), pair) for pair in combinations(asked, 2)]
    for on_empty in OnEmpty:
        found += [leaf(Form.EVERY, where, (must,), on_empty=on_empty) for where in scopes for must in asked]
        found += [leaf(Form.NONE, where, on_empty=on_empty) for where in scopes]
    found += [leaf(Form.SOME, where) for where in scopes]
    bounds = [(1, None), (2, None), (None, 0), (None, 1), (1, 2), (0, 0)]
    found += [leaf(Form.COUNT, where, at_least=least, at_most=most) for where in scopes for least, most in bounds]
    return found


@cache
def passes(kind: FactKind) -> dict[str, frozenset[int]]:
    """The stores in which each leaf passes, by the naive evaluator."""
    every = stores(kind)
    return {
        leaf.name: frozenset(n for n, each in enumerate(every) if naive.leaf(leaf, each) in "TN")
        for leaf in conditions(kind)
    }


@pytest.mark.parametrize("kind", [MANY, LONE], ids=["many", "singleton"])
def test_one_leaf_implies_another_exactly_where_every_store_says_so(kind: FactKind) -> None:
    leaves, held = conditions(kind), passes(kind)
    granted = 0
    for given in leaves:
        if not held[given.name]:
            continue  # a leaf that can't pass implies everything; the loader refuses it
        for goal in leaves:
            gap = implied(claim(goal, {}), [claim(given, {})], Unknowns.UNDETERMINED)
            assert (gap is None) == (held[given.name] <= held[goal.name]), (given, goal, gap)
            granted += gap is None
    assert granted > len(leaves)


def test_weaker_claims_grant_nothing_that_a_store_contradicts() -> None:
    """What is tried where all claims at once are too many for a proof."""
    leaves, held = conditions(MANY), passes(MANY)
    both = Demand(MANY.fields[1], Operator.IN, (True,)), Demand(MANY.fields[2], Operator.AT_LEAST, (1,))
    wide = [
        Leaf(f"w{form.value}", form, MANY, (), both, OnEmpty.FAIL, mark=Mark(1, 1)) for form in (Form.ONE, Form.EVERY)
    ]
    seen = stores(MANY)
    granted = 0
    for given in (*wide, *leaves):
        passing = held.get(given.name) or frozenset(n for n, each in enumerate(seen) if naive.leaf(given, each) in "TN")
        for goal in leaves:
            wanted, known = claim(goal, {}), [claim(given, {})]
            if (
                wanted.complete <= known[0].complete
                and _Proof(MANY, _narrowed(wanted, known), Unknowns.ANY).gap(wanted) is None
            ):
                assert passing <= held[goal.name], (given, goal)
                granted += 1
    assert granted > len(leaves)


def test_two_leaves_together_imply_only_what_every_store_says() -> None:
    leaves, held = conditions(MANY), passes(MANY)
    claims = {leaf.name: claim(leaf, {}) for leaf in leaves}
    checked = 0
    for one, other in list(combinations(leaves, 2))[::7]:
        both = held[one.name] & held[other.name]
        for goal in leaves[checked % 5 :: 5]:
            if implied(claims[goal.name], [claims[one.name], claims[other.name]], Unknowns.UNDETERMINED) is None:
                assert both <= held[goal.name], (one, other, goal)
        checked += 1
    assert checked > 1000
