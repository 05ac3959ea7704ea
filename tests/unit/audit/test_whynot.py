"""What would have had to be different, form by form: a table of small rules, facts, and the sets that come out."""

from typing import Any

import pytest

from idkmesh_rules.audit.changes import Change, Group, applied
from idkmesh_rules.audit.clauses import leaf_reason
from idkmesh_rules.audit.whynot import WhyNot, why_not
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
from idkmesh_rules.model.facts import FactKind, FactStore
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.result.assembly import Basis
from tests.property.policy_strategies import GONE, ITEM, LID, facts, item, lid, store

MARK = Mark(1, 1)


def demand(kind: FactKind, name: str, value: Any) -> Demand:
    operator, operands = value if isinstance(value, tuple) else (Operator.IN, [value])
    return Demand(kind.fields[kind.index[name]], operator, tuple(operands), MARK)


def leaf(
    form: Form, *, name: str = "rule", kind: FactKind = ITEM, where: Any = None, must: Any = None, **more: Any
) -> Leaf:
    parts = [tuple(demand(kind, key, value) for key, value in (part or {}).items()) for part in (where, must)]
    return Leaf(name, form, kind, *parts, finding=kind.finding, mark=MARK, **more)


NOTHING = leaf(Form.COUNT, name="free", at_least=0)
NOT_BLUE = (Operator.NOT, ["blue"])


def bundle(*conditions: Condition, escalate: tuple[str, ...] = (), children: tuple[str, ...] | None = None) -> Bundle:
    named = {each.name: each for each in (NOTHING, *conditions)}
    demanded = (
        children if children is not None else tuple(each.name for each in conditions if each.name not in escalate)
    )
    validators = {"first": Validator("first", ("free", *demanded), MARK)}
    return Bundle(
        "demo",
        "1.0.0",
        "me",
        "unified_diff",
        "sha256:" + "0" * 64,
        {},
        named,
        validators,
        escalate,
        "bundle.yaml",
        MARK,
    )


def ask(
    rules: Bundle, seen: FactStore, floor: Leaf = NOTHING, required: tuple[str, ...] = ("first",)
) -> tuple[WhyNot, Basis]:
    subject: Any = None
    basis = Basis(subject, rules, b"", {}, required, Floor("unified_diff", (floor,)), (), seen)
    return why_not(basis), basis


def spelled(groups: tuple[Group, ...]) -> list[str]:
    """`condition: what becomes of which fact`, one line a group."""
    return [
        f"{group.leaf.name}: {', '.join([*map(_change, group.changes), *(['complete'] if group.completes else [])])}"
        for group in groups
    ]


def _change(change: Change) -> str:
    key = "/".join(map(str, change.key))
    if change.after is None:
        return f"drop {key}"
    if change.before is None:
        return f"add {key}"
    fields = [f"{change.kind.fields[n].name}={change.after[n]}" for n in change.changed]
    return f"{key or 'it'} {' '.join(fields)}"


TABLE: dict[str, tuple[Leaf, FactStore, list[list[str]]]] = {
    "every: a field, or the fact gone": (
        leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a", "blue"), item("b"))),
        [["rule: a color=red"], ["rule: drop a"]],
    ),
    "every: all the bad facts in one group": (
        leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a", "blue"), item("b", "green"), item("c"))),
        [["rule: a color=red, b color=red"], ["rule: drop a, drop b"]],
    ),
    "every: the other fields follow by the kind's law": (
        leaf(Form.EVERY, must={"sound": True}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a", open=True), item("b"))),
        [["rule: a open=False sound=True"], ["rule: drop a"]],
    ),
    "every: out of scope": (
        leaf(Form.EVERY, where={"weight": 1}, must={"color": "red"}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a", "blue"), item("b"))),
        [["rule: a color=red"], ["rule: a weight=2"], ["rule: drop a"]],
    ),
    "every: an unknown field becomes known": (
        leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.FAIL),
        store(facts(ITEM, item("a", GONE))),
        [["rule: a color=red"]],
    ),
    "every: nothing is there, and something must be": (
        leaf(Form.EVERY, must={"color": "blue"}, on_empty=OnEmpty.FAIL),
        store(),
        [["rule: add (some name)"]],
    ),
    "every: facts may be missing": (
        leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a"), complete=False)),
        [["rule: complete"]],
    ),
    "none: a field, or the fact gone": (
        leaf(Form.NONE, where={"color": "red"}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a"))),
        [["rule: a color=green"], ["rule: drop a"]],
    ),
    "some: another fact, or a new one": (
        leaf(Form.SOME, where={"color": "blue"}),
        store(facts(ITEM, item("a"))),
        [["rule: a color=blue"], ["rule: add (some name)"]],
    ),
    "some: an unknown one first": (
        leaf(Form.SOME, where={"color": "blue"}),
        store(facts(ITEM, item("a"), item("b", GONE))),
        [["rule: b color=blue"], ["rule: a color=blue"], ["rule: add (some name)"]],
    ),
    "one: the singleton's field": (
        leaf(Form.ONE, kind=LID, must={"screws": (Operator.AT_LEAST, [3])}),
        store(facts(LID, lid(screws=1))),
        [["rule: it screws=3"]],
    ),
    "one: the singleton is missing": (leaf(Form.ONE, kind=LID, must={"shut": True}), store(), [["rule: add "]]),
    "one: too many of them": (
        leaf(Form.ONE, where={"color": "red"}, must={"whole": True}),
        store(facts(ITEM, item("a"), item("b"))),
        [["rule: b color=green"], ["rule: a color=green"], ["rule: drop b"], ["rule: drop a"]],
    ),
    "count: too many": (
        leaf(Form.COUNT, where={"color": "red"}, at_most=1),
        store(facts(ITEM, item("a"), item("b"), item("c"))),
        [["rule: b color=green, c color=green"], ["rule: drop b, drop c"]],
    ),
    "count: too few": (
        leaf(Form.COUNT, where={"color": "red"}, at_least=3),
        store(facts(ITEM, item("a"), item("b", "blue"))),
        [["rule: b color=red, add (some name)"], ["rule: add (some name), add (some name 2)"]],
    ),
    "count: perhaps too many": (
        leaf(Form.COUNT, where={"color": "red"}, at_most=1),
        store(facts(ITEM, item("a"), item("b", GONE))),
        [["rule: b color=green"], ["rule: drop b"]],
    ),
    "a key can't be changed": (
        leaf(Form.EVERY, must={"name": "b"}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a"))),
        [["rule: drop a"]],
    ),
    "a text that holds another": (
        leaf(Form.EVERY, must={"label": (Operator.CONTAINS, ["y"])}, on_empty=OnEmpty.FAIL),
        store(facts(ITEM, item("a"))),
        [["rule: a label=y"]],
    ),
    "a text that fits a pattern": (
        leaf(Form.EVERY, must={"label": (Operator.GLOB, ["src/**"])}, on_empty=OnEmpty.FAIL),
        store(facts(ITEM, item("a"))),
        [["rule: a label=src/x"]],
    ),
}


@pytest.mark.parametrize("what", TABLE)
def test_each_form_is_mended_in_its_ways(what: str) -> None:
    rule, seen, expected = TABLE[what]
    told, basis = ask(bundle(rule), seen)
    assert [spelled(groups) for groups in told.sets] == expected
    for groups in told.sets:
        assert basis._replace(store=applied(seen, groups)).decide().recommendation is Recommendation.ACCEPT


def test_any_has_a_set_for_each_child() -> None:
    one, other = (
        leaf(Form.SOME, name="one", where={"color": "blue"}),
        leaf(Form.ONE, name="other", kind=LID, must={"shut": True}),
    )
    told, _ = ask(
        bundle(one, other, Combination("either", Form.ANY, ("one", "other"), MARK), children=("either",)), store()
    )
    assert [spelled(groups) for groups in told.sets] == [["one: add (some name)"], ["other: add "]]


def test_all_needs_each_child_and_one_change_may_serve_two() -> None:
    one = leaf(
        Form.EVERY, name="one", must={"color": ("x", "y")[:0] or (Operator.IN, ["red", "green"])}, on_empty=OnEmpty.FAIL
    )
    other = leaf(Form.EVERY, name="other", must={"color": (Operator.NOT, ["red"])}, on_empty=OnEmpty.FAIL)
    third = leaf(Form.ONE, name="third", kind=LID, must={"shut": True})
    told, _ = ask(bundle(one, other, third), store(facts(ITEM, item("a", "blue")), facts(LID, lid(False))))
    assert [spelled(groups) for groups in told.sets] == [["one: a color=green", "third: it shut=True"]]


def test_the_floor_is_mended_where_it_decides() -> None:
    floor = leaf(Form.EVERY, name="ground", must={"whole": True}, on_empty=OnEmpty.FAIL)
    told, _ = ask(bundle(), store(facts(ITEM, item("a", whole=False))), floor)
    assert [(groups[0].below_floor, *spelled(groups)) for groups in told.sets] == [
        (True, "ground: a whole=True sound=True")
    ]


ESCALATIONS: dict[str, tuple[Leaf, FactStore, list[list[str]]]] = {
    "some": (
        leaf(Form.SOME, where={"color": "red"}),
        store(facts(ITEM, item("a"), item("b", GONE))),
        [["rule: a color=green, b color=green"], ["rule: drop a, drop b"]],
    ),
    "every": (
        leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a"))),
        [["rule: a color=green"], ["rule: add (some name)"]],
    ),
    "none": (
        leaf(Form.NONE, where={"color": "red"}, on_empty=OnEmpty.PASS),
        store(facts(ITEM, item("a", "blue"))),
        [["rule: a color=red"], ["rule: add (some name)"]],
    ),
    "one": (
        leaf(Form.ONE, kind=LID, must={"shut": True}),
        store(facts(LID, lid())),
        [["rule: it shut=False"], ["rule: drop "]],
    ),
    "count, at most": (leaf(Form.COUNT, at_most=0), store(), [["rule: add (some name)"]]),
    "count, at least": (leaf(Form.COUNT, at_least=1), store(facts(ITEM, item("a"))), [["rule: drop a"]]),
}


@pytest.mark.parametrize("form", ESCALATIONS)
def test_after_the_changes_nobody_is_asked(form: str) -> None:
    rule, seen, expected = ESCALATIONS[form]
    told, basis = ask(bundle(rule, escalate=("rule",)), seen)
    assert told.recommendation is Recommendation.ESCALATE
    assert [spelled(groups) for groups in told.sets] == expected
    assert not any(group.wanted for groups in told.sets for group in groups)
    for groups in told.sets:
        assert basis._replace(store=applied(seen, groups)).decide().recommendation is Recommendation.ACCEPT


def test_what_facts_cannot_bring_about_is_told() -> None:
    told, _ = ask(bundle(), store(), required=("first", "nobody"))
    assert (told.sets, told.impossible) == ((), "no rule implements the required validator nobody")
    told, _ = ask(bundle(), store(), required=())
    assert (told.sets, told.impossible) == ((), "no validator is required")


def test_rules_that_contradict_each_other_have_no_way_out() -> None:
    red = leaf(Form.EVERY, name="red", must={"color": "red"}, on_empty=OnEmpty.FAIL)
    blue = leaf(Form.EVERY, name="blue", must={"color": "blue"}, on_empty=OnEmpty.FAIL)
    told, _ = ask(bundle(red, blue), store(facts(ITEM, item("a"))))
    assert (told.sets, told.impossible, told.accepted) == ((), None, False)


def test_nobody_is_asked_to_imagine_a_million_facts() -> None:
    told, _ = ask(bundle(leaf(Form.COUNT, at_least=1_000_000)), store())
    assert told.sets == ()


def test_a_bundle_of_many_literals_takes_a_moment() -> None:
    """Thousands of literals of tied fields, and facts of which nothing is known: bounded all the same."""
    many = [f"sha256:{number:064x}" for number in range(3000)]
    rule = leaf(
        Form.EVERY,
        must={"digest": (Operator.IN, many), "label": (Operator.IN, many), "weight": (Operator.IN, list(range(3000)))},
        on_empty=OnEmpty.FAIL,
    )
    told, _ = ask(bundle(rule), store(facts(ITEM, item("a", GONE, GONE, GONE, GONE, 5000, GONE, GONE))))
    assert told.sets


def test_reasons_say_what_decided() -> None:
    cases = [
        (
            leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.FAIL),
            store(facts(ITEM, item("a", "blue"))),
            "1 box.item fact; 1 breaks the rule",
        ),
        (
            leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.FAIL),
            store(),
            "0 box.item facts; nothing is in its scope, and on_empty says fail",
        ),
        (
            leaf(Form.NONE, where={"color": "red"}, on_empty=OnEmpty.PASS),
            store(facts(ITEM, item("a"), item("b"))),
            "2 box.item facts; 2 meet it",
        ),
        (
            leaf(Form.SOME, where={"color": "blue"}),
            store(facts(ITEM, item("a"))),
            "0 of 1 box.item fact; there must be one at least",
        ),
        (
            leaf(Form.ONE, kind=LID, must={"shut": True}),
            store(),
            "0 box.lid facts; there is none, and there must be one",
        ),
        (
            leaf(Form.ONE, kind=LID, must={"shut": True}),
            store(facts(LID, lid(False))),
            "1 box.lid fact; it breaks the rule",
        ),
        (
            leaf(Form.ONE, where={"color": "red"}, must={"whole": True}),
            store(facts(ITEM, item("a"), item("b"))),
            "2 of 2 box.item facts; there must be exactly one",
        ),
        (leaf(Form.COUNT, at_most=0), store(facts(ITEM, item("a"))), "1 box.item fact; their number is out of bounds"),
        (
            leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.PASS),
            store(facts(ITEM, complete=False)),
            "0 box.item facts; facts may be missing: not looked",
        ),
        (
            leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.PASS),
            store(facts(ITEM, item("a", GONE))),
            "1 box.item fact; 1 fact can't be judged",
        ),
        (
            leaf(Form.EVERY, must={"color": "red"}, on_empty=OnEmpty.INCONCLUSIVE),
            store(),
            "0 box.item facts; nothing is in its scope, and on_empty says inconclusive",
        ),
        (leaf(Form.SOME, where={"color": "red"}), store(facts(ITEM, item("a"))), "1 of 1 box.item fact"),
    ]
    for rule, seen, expected in cases:
        _, basis = ask(bundle(rule), seen)
        node = basis.decide().validators[0].node.children[1]
        assert node.leaf is not None
        assert leaf_reason(rule, node.value, node.leaf) == expected
