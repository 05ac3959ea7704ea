"""Random search beside the floor's prover and the lint of superfluous rules: a proof written by eye is wrong."""

from itertools import product

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from idkmesh_rules.model.bundle import (
    Bundle,
    Combination,
    Condition,
    Demand,
    Floor,
    Form,
    Leaf,
    Mark,
    OnEmpty,
    Operator,
    Validator,
)
from idkmesh_rules.model.facts import FactStore, FieldType, Row
from idkmesh_rules.policy.problems import Problems
from idkmesh_rules.policy.prove import prove_floor
from idkmesh_rules.policy.vacuity import check_meaning
from tests.property import policy_naive as naive
from tests.property.policy_strategies import COLORS, GONE, ITEM, LID, demands, facts, item, leaves, lid, store

MARK = Mark(1, 1)


def determined(row: Row) -> Row:
    """A row with those unknown fields filled in of which the invariant of box.item leaves one value."""
    names = ("whole", "open", "sound")
    at = [ITEM.index[name] for name in names]
    given_values = [row[position] for position in at]
    choices = [(True, False) if value is GONE else (value,) for value in given_values]
    fitting = [each for each in product(*choices) if each[2] == (each[0] and not each[1])]
    filled = list(row)
    for position, values in zip(at, zip(*fitting, strict=True), strict=True):
        if len(set(values)) == 1:
            filled[position] = values[0]
    return tuple(filled)


@st.composite
def rows(draw: st.DrawFn, name: str) -> Row:
    """A fact on the literals and bounds that rules draw, with a few unknown fields."""
    whole, open_ = draw(st.booleans()), draw(st.booleans())
    known = [
        draw(st.sampled_from(COLORS)),
        open_,
        whole,
        whole and not open_,
        draw(st.sampled_from((None, 0, 1, 2, 3))),
        draw(st.sampled_from((None, "x", "xy", "q"))),
    ]
    hidden = draw(st.sets(st.integers(0, 5), max_size=2))
    return determined(item(name, *[GONE if position in hidden else value for position, value in enumerate(known)]))


@st.composite
def small_stores(draw: st.DrawFn) -> FactStore:
    names = draw(st.lists(st.sampled_from(("a", "x", "src/d")), unique=True, max_size=2))
    tops = st.builds(
        lid,
        st.sampled_from((True, False, GONE)),
        st.sampled_from((0, 1, 2, 3, GONE)),
        st.sampled_from((None, "x", "xy", GONE)),
    )
    top = draw(st.one_of(st.none(), tops, tops))
    return store(
        facts(ITEM, *[draw(rows(name)) for name in names], complete=draw(st.integers(0, 9)) > 0),
        facts(LID, *([top] if top is not None else []), complete=draw(st.integers(0, 9)) > 0),
    )


def bundle_of(conditions: dict[str, Condition], demanded: tuple[str, ...]) -> Bundle:
    validator = Validator("check", demanded, MARK)
    return Bundle(
        "demo",
        "1.0.0",
        "me",
        "unified_diff",
        "sha256:" + "2" * 64,
        {},
        conditions,
        {"check": validator},
        (),
        "bundle.yaml",
        MARK,
    )


@st.composite
def spelled_otherwise(draw: st.DrawFn, goal: Leaf) -> list[Leaf]:
    """Leaves that say much of what `goal` says: split, tightened, negated, widened, or slightly wrong."""
    variants: list[Leaf] = []
    for number, demand in enumerate(goal.must):
        others = tuple(each for each in goal.must if each is not demand)
        variants.append(goal._replace(name=f"part{number}", must=(demand,)))
        if others:
            variants.append(goal._replace(name=f"rest{number}", must=others))
        if goal.kind is ITEM and len(goal.must) == 1 and demand.field.type in (FieldType.BOOL, FieldType.ENUM):
            flipped = {Operator.IN: Operator.NOT, Operator.NOT: Operator.IN}[demand.operator]
            negated = demand._replace(operator=flipped)
            on_empty = draw(st.sampled_from(tuple(OnEmpty)))
            variants.append(
                Leaf(f"none{number}", Form.NONE, goal.kind, (*goal.where, negated), (), on_empty, mark=MARK)
            )
            variants.append(Leaf(f"zero{number}", Form.COUNT, goal.kind, (*goal.where, negated), at_most=0, mark=MARK))
    if goal.form is Form.EVERY:
        variants.append(goal._replace(name="other", on_empty=draw(st.sampled_from(tuple(OnEmpty)))))
        variants.append(Leaf("exists", Form.SOME, goal.kind, goal.where, mark=MARK))
        variants.append(Leaf("counted", Form.COUNT, goal.kind, goal.where, at_least=draw(st.integers(0, 2)), mark=MARK))
        variants.append(goal._replace(name="wide", where=goal.where[1:]))
        variants.append(goal._replace(name="alone", form=Form.ONE, on_empty=None))
    if goal.form in (Form.ONE, Form.EVERY):
        extra = [each for each in draw(demands(goal.kind, 1)) if each.field not in [own.field for own in goal.must]]
        variants.append(goal._replace(name="tight", must=(*goal.must, *extra)))
        if goal.form is Form.EVERY:
            variants.append(
                goal._replace(
                    name="narrow",
                    where=(*goal.where, *[e for e in extra if e.field not in [o.field for o in goal.where]]),
                )
            )
    if goal.form is Form.COUNT:
        variants.append(
            goal._replace(
                name="bound",
                at_least=draw(st.sampled_from((None, 0, 1, 2, 3))),
                at_most=draw(st.one_of(st.none(), st.integers(0, 3))),
            )
        )
    return draw(st.lists(st.sampled_from(variants or [goal]), min_size=1, max_size=4, unique_by=lambda leaf: leaf.name))


@st.composite
def floors_and_bundles(draw: st.DrawFn) -> tuple[Leaf, Bundle]:
    goal = draw(leaves("goal"))
    chosen = draw(spelled_otherwise(goal))
    if draw(st.booleans()):
        chosen.append(draw(leaves("random")))
    conditions: dict[str, Condition] = {leaf.name: leaf for leaf in chosen}
    demanded = tuple(conditions)
    if len(chosen) > 1 and draw(st.booleans()):
        form = draw(st.sampled_from((Form.ANY, Form.ALL)))
        usable = [leaf for leaf in chosen if form is Form.ALL or leaf.on_empty is not OnEmpty.NOT_APPLICABLE]
        if len(usable) > 1:
            names = tuple(leaf.name for leaf in usable[:2])
            conditions["group"] = Combination("group", form, names, MARK)
            demanded = ("group", *[name for name in demanded if name not in names])
    return goal, bundle_of(conditions, demanded)


@settings(max_examples=250, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(floors_and_bundles(), st.lists(small_stores(), min_size=12, max_size=12))
def test_a_bundle_that_the_prover_grants_is_never_accepted_below_the_floor(
    pair: tuple[Leaf, Bundle], seen: list[FactStore]
) -> None:
    """For each fact set that the bundle alone accepts, the floor is true (or doesn't apply)."""
    goal, bundle = pair
    granted = prove_floor(bundle, Floor("unified_diff", (goal,)), {}) == ()
    event(f"granted: {granted}")
    assume(granted)
    for facts_seen in seen:
        if naive.recommendation(bundle, facts_seen, ("check",), None) == "accept_candidate":
            event("granted and accepted")
            assert naive.leaf(goal, facts_seen) in "TN", (goal, bundle.conditions, facts_seen)


@settings(max_examples=250)
@given(floors_and_bundles(), st.lists(small_stores(), min_size=12, max_size=12))
def test_what_the_lint_calls_superfluous_changes_nothing(pair: tuple[Leaf, Bundle], seen: list[FactStore]) -> None:
    """A condition that can't be true, or false, never is; a conjunct that follows is met wherever its neighbours are."""
    _goal, bundle = pair
    problems = Problems("bundle.yaml", ())
    check_meaning(bundle, problems)
    for problem in problems.in_order():
        for facts_seen in seen:
            if "can't be true" in problem.message or "can't be false" in problem.message:
                name, value = problem.message.split()[0], "T" if "can't be true" in problem.message else "F"
                assert naive.condition(bundle, name, facts_seen) != value, problem.message
            elif problem.message.startswith("in "):
                owner, name = problem.message.split(",")[0].removeprefix("in "), problem.message.split()[2]
                siblings = (
                    bundle.validators[owner].children
                    if owner in bundle.validators
                    else bundle.conditions[owner].children
                )
                kept = [each for each in siblings if f", {each} follows" not in str(problems.in_order())]
                values = [naive.condition(bundle, each, facts_seen) for each in kept]
                if naive.conjunction(values) == "T":
                    assert naive.condition(bundle, name, facts_seen) in "TN", problem.message
        event(problem.message.split()[0])


def test_the_random_search_can_fail() -> None:
    """A bundle below its floor, and the fact set that shows it: what the search would find if the prover granted it."""
    goal = Leaf(
        "goal", Form.EVERY, ITEM, (), (Demand(ITEM.fields[ITEM.index["sound"]], Operator.IN, (True,)),), OnEmpty.FAIL
    )
    bundle = bundle_of({"other": goal._replace(name="other", on_empty=OnEmpty.PASS, mark=MARK)}, ("other",))
    empty = store()
    assert naive.recommendation(bundle, empty, ("check",), None) == "accept_candidate"
    assert naive.leaf(goal, empty) == "F"
    assert len(prove_floor(bundle, Floor("unified_diff", (goal,)), {})) == 1
