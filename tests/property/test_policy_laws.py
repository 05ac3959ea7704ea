"""The laws of deciding (design: facts-and-policy, *Truth tables*), on any bundle and any fact store."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from idkmesh_rules.model.bundle import Bundle, Combination, Floor, Form, Leaf, Validator
from idkmesh_rules.model.facts import FactStore
from idkmesh_rules.model.proof import Decision, ProofNode, Recommendation, causes
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy import decide, decide_unsafe_without_floor, decision_document
from idkmesh_rules.policy.compile import leaf_evaluator, quiet_node
from idkmesh_rules.policy.look import NONE_IN_SCOPE, NOT_QUIET, look_of
from tests.property import policy_naive as naive
from tests.property.policy_strategies import ITEM, LID, bundles, facts, leaves, refinements, store, stores

BOTH = ("first", "second")
floors = st.builds(lambda leaf: Floor("unified_diff", (leaf,)), leaves("floor-leaf"))


def values_of(decision: Decision) -> dict[str, Truth]:
    """Every node's value by name."""
    found: dict[str, Truth] = {}

    def walk(node: ProofNode) -> None:
        found[node.condition] = node.value
        for child in node.children:
            walk(child)

    for outcome in decision.validators:
        walk(outcome.node)
    for node in decision.escalations:
        walk(node)
    return found


@settings(max_examples=400)
@given(bundles(), stores(), floors, st.sampled_from((BOTH, ("first",), (), ("first", "nobody"))))
def test_agreement(bundle: Bundle, facts_seen: FactStore, floor: Floor, required: tuple[str, ...]) -> None:
    """The product and a naive reading of the tables agree on every condition and on the recommendation."""
    decision = decide(bundle, facts_seen, parameters={}, required=required, floor=floor)
    again = decide(bundle, facts_seen, parameters={}, required=required, floor=floor)
    assert again == decision, "the quick look, which isn't taken the first time, sees something else"
    for name, value in values_of(decision).items():
        if name in bundle.conditions:
            assert value.letter == naive.condition(bundle, name, facts_seen), bundle.conditions[name]
    assert decision.recommendation.value == naive.recommendation(bundle, facts_seen, required, floor)
    bare = decide_unsafe_without_floor(bundle, facts_seen, parameters={}, required=required)
    assert bare.recommendation.value == naive.recommendation(bundle, facts_seen, required, None)
    assert decision.floor is not None
    assert decision.floor.decides == (decision.recommendation is not bare.recommendation)


@settings(max_examples=300)
@given(leaves("leaf"), st.lists(stores(), min_size=3, max_size=6))
def test_leaf_agreement(leaf: Leaf, many: list[FactStore]) -> None:
    """The same for a leaf alone, so that no combination hides a difference, over several fact sets in a row."""
    bundle = single(leaf)
    for facts_seen in (*many, *many):  # the long way once, then the quick look and what it kept
        decision = decide_unsafe_without_floor(bundle, facts_seen, parameters={}, required=("first",))
        node = decision.validators[0].node.children[0]
        assert node.value.letter == naive.leaf(leaf, facts_seen)
        assert node.leaf is not None
        assert (node.leaf.in_scope, node.leaf.perhaps_in_scope) == naive.scope(leaf, facts_seen)


@settings(max_examples=400)
@given(st.lists(leaves("leaf"), min_size=1, max_size=5), st.lists(stores(), min_size=2, max_size=4))
def test_a_quiet_leaf_has_the_proof_of_the_long_way(several: list[Leaf], many: list[FactStore]) -> None:
    """Where the quick look calls a leaf quiet, its node is the one that the tables come to; where all is certain, it does."""
    look = look_of(several, {})
    for each in (*many, *many):
        seen = look.scan(each.kinds)
        for leaf, slot in zip(several, look.slots, strict=True):
            figure = seen[slot.figure]
            key = None if slot.key is None else seen[slot.key]
            node = quiet_node(leaf, {})(seen[slot.facts], figure, key)
            if node is not None:
                assert node == leaf_evaluator(leaf, {})(each.kinds)
                certain, perhaps = naive.scope(leaf, each)
                assert perhaps == 0
                assert figure == NONE_IN_SCOPE if leaf.form is Form.ONE and not certain else figure >= 0
            elif (
                naive.leaf(leaf, each) == "T"
                and each[leaf.kind.name].complete
                and not each[leaf.kind.name].has_unknowns
            ):
                assert leaf.form is Form.SOME or (figure == NOT_QUIET and leaf.form is Form.ONE), (
                    "a pass in plain sight"
                )


def single(*conditions: Leaf) -> Bundle:
    """A bundle of one validator that demands some leaves."""
    validator = Validator("first", tuple(leaf.name for leaf in conditions), conditions[0].mark)
    return Bundle(
        "demo",
        "1.0.0",
        "me",
        "unified_diff",
        "sha256:" + "1" * 64,
        {},
        {leaf.name: leaf for leaf in conditions},
        {"first": validator},
        (),
        "bundle.yaml",
        conditions[0].mark,
    )


@settings(max_examples=400)
@given(bundles(), floors, st.data())
def test_refinement(bundle: Bundle, floor: Floor, data: st.DataObject) -> None:
    """Knowing more changes no condition that is true, false or not applicable, and no acceptance and no rejection.

    Left out: `any` over a leaf that can be not applicable, which no loaded bundle has.
    """
    if any(_not_applicable_under_any(bundle, each) for each in bundle.conditions.values()):
        return
    before = data.draw(stores())
    after = data.draw(refinements(before))
    first = decide(bundle, before, parameters={}, required=BOTH, floor=floor)
    second = decide(bundle, after, parameters={}, required=BOTH, floor=floor)
    later = values_of(second)
    for name, value in values_of(first).items():
        if value is not Truth.UNKNOWN:
            assert later[name] is value, (name, bundle.conditions.get(name))
    if first.recommendation in (Recommendation.ACCEPT, Recommendation.REJECT):
        assert second.recommendation is first.recommendation


def _not_applicable_under_any(bundle: Bundle, condition: object) -> bool:
    return (
        isinstance(condition, Combination)
        and condition.form is Form.ANY
        and any(
            leaf.on_empty is not None and leaf.on_empty.truth is Truth.NOT_APPLICABLE
            for leaf in bundle.leaves(condition.children)
        )
    )


@given(bundles(), stores(), floors, st.randoms(use_true_random=False))
def test_order_does_not_matter(bundle: Bundle, facts_seen: FactStore, floor: Floor, random) -> None:  # type: ignore[no-untyped-def]
    """The order of conditions, of demands and of what a combination names changes no value."""

    def shuffled(sequence):  # type: ignore[no-untyped-def]
        return tuple(random.sample(list(sequence), len(sequence)))

    def mixed(condition):  # type: ignore[no-untyped-def]
        if isinstance(condition, Combination):
            return condition._replace(children=shuffled(condition.children))
        return condition._replace(where=shuffled(condition.where), must=shuffled(condition.must))

    other = replace(
        bundle,
        conditions={name: mixed(bundle.conditions[name]) for name in shuffled(bundle.conditions)},
        validators={
            name: bundle.validators[name]._replace(children=shuffled(bundle.validators[name].children))
            for name in shuffled(BOTH)
        },
    )
    first = decide(bundle, facts_seen, parameters={}, required=BOTH, floor=floor)
    second = decide(other, facts_seen, parameters={}, required=shuffled(BOTH), floor=floor)
    assert values_of(first) == values_of(second)
    assert (first.recommendation, first.status) == (second.recommendation, second.status)


@settings(max_examples=300)
@given(bundles(), stores(), leaves("more"), floors, st.data())
def test_a_conjunct_never_turns_a_rejection_into_an_acceptance(bundle, facts_seen, more, floor, data) -> None:  # type: ignore[no-untyped-def]
    """Neither a further condition of a validator nor a further demand of a `must` does."""
    before = decide(bundle, facts_seen, parameters={}, required=BOTH, floor=floor)
    first = bundle.validators["first"]
    widened = replace(
        bundle,
        conditions={**bundle.conditions, "more": more},
        validators={**bundle.validators, "first": first._replace(children=(*first.children, "more"))},
    )
    name = data.draw(st.sampled_from(sorted(bundle.conditions)))
    leaf = bundle.conditions[name]
    tightened = bundle
    if isinstance(leaf, Leaf) and leaf.must and more.kind is leaf.kind:
        extra = [demand for demand in more.must + more.where if demand.field not in [own.field for own in leaf.must]]
        tightened = replace(
            bundle, conditions={**bundle.conditions, name: leaf._replace(must=leaf.must + tuple(extra))}
        )
    for changed in (widened, tightened):
        after = decide(changed, facts_seen, parameters={}, required=BOTH, floor=floor)
        if before.recommendation is Recommendation.REJECT:
            assert after.recommendation is Recommendation.REJECT


@given(bundles(), stores(), floors)
def test_the_tree_is_complete_and_blames_its_own_value(bundle: Bundle, facts_seen: FactStore, floor: Floor) -> None:
    """Every child is there, causes are leaves with the value of the root, and each value has a cause."""
    decision = decide(bundle, facts_seen, parameters={}, required=BOTH, floor=floor)

    def walk(node: ProofNode) -> None:
        rule = bundle.conditions.get(node.condition)
        if isinstance(rule, Combination):
            assert tuple(child.condition for child in node.children) == rule.children
        elif rule is None:
            assert tuple(child.condition for child in node.children) == bundle.validators[node.condition].children
        blamed = causes(node)
        assert blamed
        assert all(leaf.leaf is not None and leaf.value is node.value for leaf in blamed)
        for child in node.children:
            walk(child)

    for outcome in decision.validators:
        walk(outcome.node)


@given(bundles(), stores(), floors)
def test_deciding_is_repeatable(bundle: Bundle, facts_seen: FactStore, floor: Floor) -> None:
    """The same facts give the same document, whatever was decided in between: nodes that are kept don't show."""

    def document() -> dict[str, object]:
        return decision_document(
            decide(bundle, facts_seen, parameters={}, required=BOTH, floor=floor), bundle, {}, "sha256:x"
        )

    first = document()
    decide(bundle, store(facts(ITEM, complete=False), facts(LID)), parameters={}, required=BOTH, floor=floor)
    assert document() == first
