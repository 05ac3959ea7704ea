"""Deciding by name: the rows of the truth tables, statuses, the floor, and what a decision records."""

from dataclasses import replace

import pytest

from idkmesh_rules.errors import PolicyError
from idkmesh_rules.model.bundle import Bundle, Floor, Form, Leaf
from idkmesh_rules.model.facts import FactStore
from idkmesh_rules.model.proof import LISTED, Decision, ProofNode, Recommendation, Status, causes
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy import (
    bind_parameters,
    decide,
    decide_unsafe_without_floor,
    decision_document,
    load_bundle,
    violations,
)
from idkmesh_rules.policy.look import NOT_QUIET, look_of
from tests.property import policy_naive as naive
from tests.property.policy_strategies import GONE, ITEM, KINDS, LID, facts, item, lid, store

HEAD = 'schema_version: "1.0"\nbundle: {id: demo, version: 1.0.0, owner: me, backend: unified_diff}\n'
LEAF = HEAD + "conditions:\n  it: %s\nvalidators:\n  check: {all: [it]}\n"
EVERY = "{every: box.item, where: {color: red}, must: {open: true}, on_empty: %s}"
ONE = "{one: box.item, where: {color: red}, must: {open: true}}"
SOME = "{some: box.item, where: {open: true}}"
NONE = "{none: box.item, where: {open: true, color: red}, on_empty: %s}"


def bundle(text: str) -> Bundle:
    return load_bundle(text.encode(), "bundle.yaml", lambda _: KINDS)


def leaf_node(rule: str, seen: FactStore, **parameters: object) -> ProofNode:
    loaded = bundle(LEAF % rule)
    bound = bind_parameters(loaded, parameters)
    first, *later = [
        decide_unsafe_without_floor(loaded, seen, parameters=bound, required=("check",)) for _time in range(3)
    ]
    assert later == [first, first], "the long way, the quick look, and what the quick look kept are one"
    return first.validators[0].node.children[0]


def boxed(*rows, complete: bool = True, crashed: bool = False) -> FactStore:
    return store(facts(ITEM, *rows, complete=complete, crashed=crashed), facts(LID, lid()))


RED_OPEN, RED_SHUT = item("a", "red", True), item("b", "red", False)
BLUE = item("c", "blue", False)
MAYBE_OPEN = item("d", "red", GONE)
MAYBE_RED_OPEN, MAYBE_RED_SHUT = item("e", GONE, True), item("f", GONE, False)

# rule, facts, complete, value, names of the facts that decided
TABLE = {
    "every: all in scope meet it": (EVERY % "fail", [RED_OPEN, BLUE], True, "T", ""),
    "every: one doesn't": (EVERY % "fail", [RED_OPEN, RED_SHUT], True, "F", "b"),
    "every: one doesn't, and the kind is incomplete": (EVERY % "fail", [RED_SHUT], False, "F", "b"),
    "every: all seen meet it, but there may be more": (EVERY % "fail", [RED_OPEN], False, "U", ""),
    "every: a demand is unknown": (EVERY % "fail", [RED_OPEN, MAYBE_OPEN], True, "U", "d"),
    "every: perhaps in scope, and then wrong": (EVERY % "fail", [RED_OPEN, MAYBE_RED_SHUT], True, "U", "f"),
    "every: perhaps in scope, but right anyway": (EVERY % "fail", [RED_OPEN, MAYBE_RED_OPEN], True, "T", ""),
    "every: only perhaps anything in scope": (EVERY % "fail", [MAYBE_RED_OPEN], True, "U", "e"),
    "every: only perhaps anything in scope, and nothing would do": (EVERY % "pass", [MAYBE_RED_OPEN], True, "T", ""),
    "every: empty scope fails": (EVERY % "fail", [BLUE], True, "F", ""),
    "every: empty scope passes": (EVERY % "pass", [BLUE], True, "T", ""),
    "every: empty scope says nothing": (EVERY % "inconclusive", [BLUE], True, "U", ""),
    "every: empty scope is out of the question": (EVERY % "not_applicable", [BLUE], True, "N", ""),
    "every: empty scope, but there may be more": (EVERY % "not_applicable", [BLUE], False, "U", ""),
    "none: nothing is like that": (NONE % "fail", [RED_SHUT, BLUE], True, "T", ""),
    "none: one is": (NONE % "fail", [RED_OPEN, RED_SHUT], True, "F", "a"),
    "none: one may be": (NONE % "fail", [RED_SHUT, MAYBE_OPEN], True, "U", "d"),
    "none: no facts at all": (NONE % "not_applicable", [], True, "N", ""),
    "none: facts, but none in question": (NONE % "not_applicable", [BLUE], True, "T", ""),
    "some: one is": (SOME, [BLUE, RED_OPEN], False, "T", "a"),
    "some: none is": (SOME, [BLUE], True, "F", ""),
    "some: none is, but there may be more": (SOME, [BLUE], False, "U", ""),
    "some: one may be": (SOME, [BLUE, MAYBE_OPEN], True, "U", "d"),
    "one: exactly one, and right": (ONE, [RED_OPEN, BLUE], True, "T", "a"),
    "one: none": (ONE, [BLUE], True, "F", ""),
    "one: two, both right": (ONE, [RED_OPEN, item("z", "red", True)], True, "F", "a z"),
    "one: two, one of them wrong": (ONE, [RED_OPEN, RED_SHUT], True, "F", "b"),
    "one: wrong, and there may be more": (ONE, [RED_SHUT], False, "F", "b"),
    "one: right, but there may be more": (ONE, [RED_OPEN], False, "U", ""),
    "one: right, but another may be in scope": (ONE, [RED_OPEN, MAYBE_RED_OPEN], True, "U", "e"),
    "one: its demand is unknown": (ONE, [MAYBE_OPEN], True, "U", "d"),
    "count: few enough": ("{count: box.item, at_most: 2}", [RED_OPEN, BLUE], True, "T", ""),
    "count: too many": ("{count: box.item, at_most: 1}", [RED_OPEN, BLUE], True, "F", "a c"),
    "count: too many, whatever else there is": ("{count: box.item, at_most: 1}", [RED_OPEN, BLUE], False, "F", "a c"),
    "count: few enough, but there may be more": ("{count: box.item, at_most: 2}", [BLUE], False, "U", ""),
    "count: enough, whatever else there is": ("{count: box.item, at_least: 1}", [BLUE], False, "T", ""),
    "count: not enough": ("{count: box.item, at_least: 2}", [BLUE], True, "F", ""),
    "count: perhaps enough": (
        "{count: box.item, where: {open: true}, at_least: 2}", [RED_OPEN, MAYBE_OPEN], True, "U", "d"),
    "count: inside both bounds": ("{count: box.item, at_least: 1, at_most: 2}", [BLUE], True, "T", ""),
    "an absent field fails a demand": ("{some: box.item, where: {label: x}}", [BLUE], True, "F", ""),
    "an absent field meets a not": ("{some: box.item, where: {label: {not: x}}}", [BLUE], True, "T", "c"),
    "an absent field fails contains": ("{some: box.item, where: {label: {contains: x}}}", [BLUE], True, "F", ""),
    "contains": ("{some: box.item, where: {label: {contains: el}}}", [item("a", label="hello")], True, "T", "a"),
    "glob stays in its component": (
        "{some: box.item, where: {name: {glob: ['src/*']}}}", [item("src/d/e")], True, "F", ""),
    "glob": ("{some: box.item, where: {name: {glob: ['*', 'src/**']}}}", [item("src/d/e")], True, "T", "src/d/e"),
    "in": ("{some: box.item, where: {weight: {in: [1, 2]}}}", [item("a", weight=2)], True, "T", "a"),
    "at_least on its bound": (
        "{some: box.item, where: {weight: {at_least: 2}}}", [item("a", weight=2)], True, "T", "a"),
    "at_most above its bound": (
        "{some: box.item, where: {weight: {at_most: 1}}}", [item("a", weight=2)], True, "F", ""),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "rows", "complete", "value", "deciding"), TABLE.values(), ids=TABLE)
def test_truth_table(rule: str, rows: list, complete: bool, value: str, deciding: str) -> None:
    node = leaf_node(rule, boxed(*rows, complete=complete))
    assert node.value.letter == value
    assert node.leaf is not None
    assert " ".join(str(row.key[0][1]) for row in node.leaf.rows) == deciding
    assert node.leaf.deciding == len(node.leaf.rows)
    assert (node.leaf.facts, node.leaf.complete) == (len(rows), complete)


def test_a_deciding_fact_names_the_fields_to_blame() -> None:
    rule = "{every: box.item, where: {color: red}, must: {open: true, weight: 3, whole: true}, on_empty: fail}"
    node = leaf_node(rule, boxed(item("a", "red", False, GONE, weight=3)))
    (row,) = node.leaf.rows
    assert (row.index, row.key, row.false, row.unknown) == (0, (("name", "a"),), ("open",), ("whole",))


def test_an_undecided_fact_names_an_unknown_scope() -> None:
    (row,) = leaf_node(EVERY % "fail", boxed(RED_OPEN, MAYBE_RED_SHUT)).leaf.rows
    assert (row.false, row.unknown) == (("open",), ("color",))


def test_under_none_the_fields_are_those_of_the_description() -> None:
    (row,) = leaf_node(NONE % "fail", boxed(RED_OPEN)).leaf.rows
    assert row.false == ("open", "color")


def test_a_node_lists_a_bounded_number_of_facts_and_counts_all() -> None:
    seen = boxed(*[item(f"n{number:04}", "red", False) for number in range(250)])
    node = leaf_node(EVERY % "fail", seen)
    assert (node.leaf.deciding, len(node.leaf.rows), node.leaf.in_scope) == (250, LISTED, 250)
    assert [found.position for found in violations(node, seen)] == list(range(LISTED))


def test_violations_carry_row_and_origin_of_false_leaves_only() -> None:
    seen = boxed(RED_OPEN, RED_SHUT)
    (found,) = violations(leaf_node(EVERY % "fail", seen), seen)
    assert (found.row, found.origins[0].line) == (RED_SHUT, 2)
    undecided = boxed(MAYBE_OPEN)
    assert violations(leaf_node(EVERY % "fail", undecided), undecided) == ()
    holds = boxed(RED_OPEN)
    assert violations(leaf_node(SOME, holds), holds) == ()
    crowded = boxed(RED_OPEN, BLUE)
    assert violations(leaf_node("{count: box.item, at_most: 1}", crowded), crowded) == ()


def test_nodes_carry_the_mark_of_their_condition() -> None:
    node = leaf_node(SOME, boxed())
    assert (node.mark.line, node.mark.column) == (4, 3)


def test_a_kept_node_is_not_confused_with_another_fact() -> None:
    loaded = bundle(LEAF % ONE)
    for name in ("a", "b", "a", "a"):
        decision = decide_unsafe_without_floor(
            loaded, boxed(item(name, "red", True)), parameters={}, required=("check",)
        )
        assert decision.validators[0].node.children[0].leaf.rows[0].key == (("name", name),)


@pytest.mark.parametrize("rule", [ONE, "{count: box.item, at_most: 1}", SOME, EVERY % "fail"])
def test_a_kept_node_never_stands_for_other_deciding_facts(rule: str) -> None:
    """Stores that look alike by their numbers, one after the other: each is told by its own facts."""
    loaded = bundle(LEAF % rule)
    shut = "every" in rule
    for names in (("a", "z"), ("a", "z"), ("b", "z"), ("b", "z"), ("b", "c")):
        seen = boxed(*[item(name, "red", not shut) for name in names])
        decision = decide_unsafe_without_floor(loaded, seen, parameters={}, required=("check",))
        listed = decision.validators[0].node.children[0].leaf.rows
        assert tuple(row.key[0][1] for row in listed) == names


# a demand, a value that meets it for certain, and values on either side of it
SIDES = {
    "weight: 2": (2, (1, 3, None)),
    "weight: {in: [1, 2]}": (2, (0, 1, 3, None)),
    "weight: {not: 2}": (1, (2, 3, None)),
    "weight: {not: [1, 2]}": (3, (0, 1, 2, None)),
    "weight: {at_least: 2}": (5, (1, 2, 3, None)),
    "weight: {at_most: 2}": (0, (1, 2, 3, None)),
    "label: {contains: xy}": ("axyz", ("x", "xy", "yx", None)),
    "label: {glob: ['src/**']}": ("src/a", ("src/b/c", "src", "x", None)),
    "label: {not: x}": ("y", ("x", "xx", None)),
}


@pytest.mark.parametrize(("asked", "met", "others"), [(asked, *rest) for asked, rest in SIDES.items()], ids=SIDES)
def test_the_quick_look_is_certain_on_both_sides_of_a_demand(asked: str, met: object, others: tuple) -> None:
    """It counts a fact that meets the demand, passes over one that doesn't, and isn't quiet where that is unknown."""
    field = asked.split(":")[0]
    leaf = bundle(LEAF % f"{{count: box.item, where: {{{asked}}}, at_least: 1}}").conditions["it"]
    none = bundle(LEAF % f"{{none: box.item, where: {{{asked}}}, on_empty: fail}}").conditions["it"]
    look, sure = look_of((leaf, none), {}), item("sure", **{field: met})

    def figures(*rows: tuple) -> list[int]:
        seen = look.scan({ITEM.name: facts(ITEM, *rows)})
        return [seen[slot.figure] for slot in look.slots]

    for value in (*others, met, GONE):
        row = item("a", **{field: value})
        said = naive.demand(leaf.where[0], row, facts(ITEM, row))
        assert figures(row, sure)[0] == {"T": 2, "F": 1, "U": NOT_QUIET}[said], value
        assert figures(row)[1] == {"T": NOT_QUIET, "F": 1, "U": NOT_QUIET}[said], value


COMBINED = (
    HEAD
    + """\
conditions:
  shut: {one: box.lid, must: {shut: true}}
  tight: {one: box.lid, must: {screws: {at_least: 4}}}
  reds: {every: box.item, where: {color: red}, must: {open: true}, on_empty: not_applicable}
  either: {any: [shut, tight]}
  blues: {some: box.item, where: {color: blue}}
validators:
  lid: {all: [either]}
  items: {all: [reds, either]}
escalate: [blues]
"""
)
FLOOR = Floor("unified_diff", (Leaf("floor-shut", Form.ONE, LID, must=bundle(COMBINED).conditions["shut"].must),))


def run(seen: FactStore, required: tuple[str, ...] = ("lid", "items"), floor: Floor = FLOOR) -> Decision:
    return decide(bundle(COMBINED), seen, parameters={}, required=required, floor=floor)


def lidded(top: tuple | None, *rows, complete: bool = True, crashed: bool = False) -> FactStore:
    return store(facts(ITEM, *rows), facts(LID, *([top] if top else []), complete=complete, crashed=crashed))


DECISIONS = {
    "all pass": (lidded(lid()), ("lid", "items"), Recommendation.ACCEPT, Status.PASSED),
    "nothing required": (lidded(lid()), (), Recommendation.INSUFFICIENT_EVIDENCE, Status.INCONCLUSIVE),
    "nothing required, and below the floor": (
        lidded(lid(False, 1)), (), Recommendation.INSUFFICIENT_EVIDENCE, Status.INCONCLUSIVE),
    "one fails": (lidded(lid(), RED_SHUT), ("lid", "items"), Recommendation.REJECT, Status.FAILED),
    "one fails that isn't required": (lidded(lid(), RED_SHUT), ("lid",), Recommendation.ACCEPT, Status.PASSED),
    "unknown": (lidded(lid(GONE, GONE)), ("lid",), Recommendation.INSUFFICIENT_EVIDENCE, Status.INCONCLUSIVE),
    "crashed": (
        lidded(None, complete=False, crashed=True), ("lid",), Recommendation.INSUFFICIENT_EVIDENCE, Status.ERROR),
    "false beats crashed": (
        lidded(None, RED_SHUT, complete=False, crashed=True), ("lid", "items"), Recommendation.REJECT, Status.FAILED),
    "an uncovered validator": (
        lidded(lid()), ("lid", "nobody"), Recommendation.INSUFFICIENT_EVIDENCE, Status.INCONCLUSIVE),
    "escalated": (lidded(lid(), BLUE), ("lid",), Recommendation.ESCALATE, Status.PASSED),
    "perhaps escalated": (lidded(lid(), MAYBE_RED_OPEN), ("lid",), Recommendation.ESCALATE, Status.PASSED),
    "a rejection isn't escalated": (lidded(lid(False, 1), BLUE), ("lid",), Recommendation.REJECT, Status.FAILED),
    "below the floor": (lidded(lid(False, 4)), ("lid",), Recommendation.REJECT, Status.FAILED),
    "the floor is unknown": (lidded(lid(GONE, 4)), ("lid",), Recommendation.INSUFFICIENT_EVIDENCE, Status.INCONCLUSIVE),
    "the floor beats an escalation": (lidded(lid(False, 4), BLUE), ("lid",), Recommendation.REJECT, Status.FAILED),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "required", "recommendation", "status"), DECISIONS.values(), ids=DECISIONS)
def test_decision(seen: FactStore, required: tuple[str, ...], recommendation: Recommendation, status: Status) -> None:
    decision = run(seen, required)
    assert (decision.recommendation, decision.status) == (recommendation, status)
    assert [outcome.id for outcome in decision.validators if outcome.required] == list(required)


def test_the_floor_decides_only_where_it_changes_the_recommendation() -> None:
    lids = (lid(), lid(False, 4), lid(GONE, 4), lid(False, 1))
    assert [run(lidded(top), ("lid",)).floor.decides for top in lids] == [
        False, True, True, False]  # fmt: skip


def test_a_false_floor_rejects_where_validators_are_undecided() -> None:
    decision = run(lidded(lid(False, 4), MAYBE_OPEN), ("items",))
    assert (decision.recommendation, decision.floor.decides) == (Recommendation.REJECT, True)


def test_a_crash_in_the_floor_alone_is_an_error_of_the_floor() -> None:
    loaded = bundle(HEAD + "conditions:\n  it: {some: box.item}\nvalidators:\n  check: {all: [it]}\n")
    seen = store(facts(ITEM, RED_OPEN), facts(LID, complete=False, crashed=True))
    decision = decide(loaded, seen, parameters={}, required=("check",), floor=FLOOR)
    assert (decision.floor.status, decision.floor.decides, decision.status) == (Status.ERROR, True, Status.ERROR)


def test_a_floor_without_leaves_accepts_nothing() -> None:
    decision = run(lidded(lid()), floor=Floor("unified_diff", ()))
    assert (decision.recommendation, decision.floor.decides) == (Recommendation.INSUFFICIENT_EVIDENCE, True)


def test_causes_descend_through_children_of_the_same_value() -> None:
    decision = run(lidded(lid(False, 1), RED_SHUT))
    assert [leaf.condition for leaf in causes(decision.validators[1].node)] == ["reds", "shut", "tight"]
    decision = run(lidded(lid(False, 4), RED_SHUT))
    assert [leaf.condition for leaf in causes(decision.validators[1].node)] == ["reds"]
    assert causes(ProofNode("nobody", Form.VALIDATOR, Truth.NOT_APPLICABLE)) == ()


def test_a_validator_of_what_does_not_apply_is_inconclusive() -> None:
    loaded = bundle(HEAD + "conditions:\n"
                    "  reds: {every: box.item, where: {color: red}, must: {open: true}, on_empty: not_applicable}\n"
                    "validators:\n  check: {all: [reds]}\n")  # fmt: skip
    decision = decide_unsafe_without_floor(loaded, lidded(lid()), parameters={}, required=("check",))
    assert (decision.validators[0].node.value, decision.validators[0].status) == (
        Truth.NOT_APPLICABLE,
        Status.INCONCLUSIVE,
    )


def test_the_decision_document_is_what_an_auditor_reads() -> None:
    loaded = replace(bundle(COMBINED), digest="sha256:d")
    seen = lidded(lid(True, 1), RED_SHUT)
    decision = decide(loaded, seen, parameters={"most": 3}, required=("items",), floor=FLOOR)
    document = decision_document(decision, loaded, {"most": 3}, "sha256:f")
    names = "schema_version facts_digest bundle parameters validators floor escalations recommendation"
    assert list(document) == names.split()
    assert document["bundle"] == {"id": "demo", "version": "1.0.0", "digest": "sha256:d"}
    assert (document["facts_digest"], document["parameters"], document["recommendation"]) == (
        "sha256:f",
        {"most": 3},
        "reject_candidate",
    )
    items = document["validators"][1]
    assert (items["id"], items["required"], items["status"]) == ("items", True, "failed")
    reds, either = items["proof"]["children"]
    assert reds == {
        "condition": "reds", "form": "every", "value": "F", "line": 6, "column": 3, "kind": "box.item", "complete":
        True, "counts": {"facts": 1, "in_scope": 1, "perhaps_in_scope": 0, "deciding": 1},
        "facts": [{"key": {"name": "b"}, "false": ["open"], "unknown": []}]}  # fmt: skip
    assert (either["form"], either["value"], [child["value"] for child in either["children"]]) == (
        "any",
        "T",
        ["T", "F"],
    )
    assert document["floor"]["decides"] is False
    assert document["floor"]["proof"]["children"][0]["condition"] == "floor-shut"
    assert "line" not in document["floor"]["proof"]
    assert [node["condition"] for node in document["escalations"]] == ["blues"]


def test_the_document_says_why_a_kind_is_incomplete() -> None:
    seen = lidded(None, complete=False, crashed=True)
    document = decision_document(run(seen), bundle(COMBINED), {}, "sha256:f")
    shut = document["validators"][0]["proof"]["children"][0]["children"][0]
    assert (shut["complete"], shut["incomplete"], shut["crashed"], shut["facts"]) == (False, "not looked", True, [])


def test_without_a_floor_the_document_says_so() -> None:
    decision = decide_unsafe_without_floor(bundle(COMBINED), lidded(lid()), parameters={}, required=("lid",))
    assert decision_document(decision, bundle(COMBINED), {}, "sha256:f")["floor"] is None


PARAMETERS = (
    HEAD
    + """\
parameters:
  most: {type: integer, default: 3}
  hue: {type: string, default: red}
  lidded: {type: boolean, default: true}
  under: {type: string, default: src/**}
conditions:
  few: {count: box.item, at_most: {parameter: most}}
  shut: {one: box.lid, must: {shut: {parameter: lidded}}}
  hued: {some: box.item, where: {color: {in: [blue, {parameter: hue}]}, name: {glob: [{parameter: under}]}}}
validators:
  check: {all: [few, shut, hued]}
"""
)


def test_parameters_have_their_defaults_in_the_order_of_the_bundle() -> None:
    assert list(bind_parameters(bundle(PARAMETERS), {"lidded": False}).items()) == [
        ("most", 3), ("hue", "red"), ("lidded", False), ("under", "src/**")]  # fmt: skip


def test_parameters_steer_the_decision() -> None:
    loaded, seen = (
        bundle(PARAMETERS),
        store(facts(ITEM, item("src/x", "green"), item("src/y", "green")), facts(LID, lid())),
    )

    def values(**given: object) -> str:
        decision = decide_unsafe_without_floor(
            loaded, seen, parameters=bind_parameters(loaded, given), required=("check",)
        )
        return "".join(child.value.letter for child in decision.validators[0].node.children)

    assert values() == "TTF"
    assert values(most=1, hue="green") == "FTT"
    assert values(hue="green", under="lib/**", lidded=False) == "TFF"


WRONG = {
    "unknown name": ({"mots": 1}, "/mots", 'has no parameter "mots"', 'did you mean "most"?'),
    "bool for integer": ({"most": True}, "/most", "takes an integer, found true", "line 4"),
    "integer for bool": ({"lidded": 1}, "/lidded", "takes true or false, found 1", "line 6"),
    "float for integer": ({"most": 3.0}, "/most", "takes an integer, found 3.0", "line 4"),
    "text for integer": ({"most": "3"}, "/most", 'takes an integer, found the text "3"', "line 4"),
    "null": ({"hue": None}, "/hue", "takes a text, found a value of type NoneType", "line 5"),
    "a list": ({"hue": ["red"]}, "/hue", "takes a text, found a value of type list", "line 5"),
    "empty text": ({"under": ""}, "/under", "takes a text", "line 7"),
    "beyond 2^53": ({"most": 10**5000}, "/most", "found an integer beyond 2^53", "line 4"),
    "no value of the enum": ({"hue": "rde"}, "/hue", 'in hued: "rde" is no value of color', 'did you mean "red"?'),
    "no pattern": ({"under": "../x"}, "/under", 'in hued: "../x" is no pattern', "allowed_paths"),
}


@pytest.mark.parametrize(("given", "pointer", "message", "hint"), WRONG.values(), ids=WRONG)
def test_a_wrong_parameter(given: dict, pointer: str, message: str, hint: str) -> None:
    with pytest.raises(PolicyError) as caught:
        bind_parameters(bundle(PARAMETERS), given)
    (problem,) = caught.value.problems
    assert problem.pointer == pointer
    assert message in problem.message
    assert hint in (problem.hint or "")


def test_all_wrong_parameters_are_told_at_once() -> None:
    with pytest.raises(PolicyError) as caught:
        bind_parameters(bundle(PARAMETERS), {"most": "x", "a/b~c": 1, "lidded": 0})
    assert sorted(problem.pointer for problem in caught.value.problems) == ["/a~1b~0c", "/lidded", "/most"]


def test_a_bundle_without_parameters_says_so() -> None:
    with pytest.raises(PolicyError, match="it declares none"):
        bind_parameters(bundle(COMBINED), {"most": 1})


def test_own_and_default_findings_stand_on_the_leaf() -> None:
    told = '{severity: low, category: scope, summary: "{name}!", path: "{name}", line: "{weight}"}'
    template = bundle(LEAF % ("{some: box.item, finding: " + told + "}")).conditions["it"].finding
    assert (template.summary, template.path, template.line, template.severity.value) == (
        "{name}!",
        "{name}",
        "weight",
        "low",
    )
    assert bundle(LEAF % SOME).conditions["it"].finding is ITEM.finding
