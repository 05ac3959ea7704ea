"""The floor's prover by name: what it has to grant, what it has to refuse, and what it says then."""

import pytest

from idkmesh_rules.checks import backend_kinds
from idkmesh_rules.errors import PolicyError
from idkmesh_rules.model.bundle import Bundle, Combination, Demand, Floor, Form, Leaf, OnEmpty, Operator
from idkmesh_rules.model.facts import FactKind
from idkmesh_rules.policy import bind_parameters, floor_for, load_bundle
from idkmesh_rules.policy.prove import prove_floor
from idkmesh_rules.resources import shipped_bundle
from tests.property.policy_strategies import ITEM, KINDS, LID

HEAD = 'schema_version: "1.0"\nbundle: {id: demo, version: 1.0.0, owner: me, backend: unified_diff}\n'


def demand(kind: FactKind, name: str, *operands: object, operator: Operator = Operator.IN) -> Demand:
    return Demand(kind.fields[kind.index[name]], operator, operands)  # type: ignore[arg-type]


SOUND = Leaf("all-sound", Form.EVERY, ITEM, (), (demand(ITEM, "sound", True),), OnEmpty.FAIL)
REDS_HEAVY = Leaf(
    "reds-heavy", Form.EVERY, ITEM, (demand(ITEM, "color", "red"),),
    (demand(ITEM, "weight", 2, operator=Operator.AT_LEAST),), OnEmpty.PASS)  # fmt: skip
SHUT = Leaf("shut", Form.ONE, LID, (), (demand(LID, "shut", True),))
NO_NOTE = Leaf("no-note", Form.EVERY, ITEM, (), (demand(ITEM, "label", "x", operator=Operator.NOT),), OnEmpty.PASS)


def bundle(*conditions: str, parameters: str = "") -> Bundle:
    names = [text.split(":", 1)[0] for text in conditions if not text.startswith("+")]
    body = "".join(f"  {text.removeprefix('+')}\n" for text in conditions)
    text = f"{HEAD}{parameters}conditions:\n{body}validators:\n  check: {{all: [{', '.join(names)}]}}\n"
    return load_bundle(text.encode(), "bundle.yaml", lambda _: KINDS)


GRANTED = {
    "the same": (SOUND, ["a: {every: box.item, must: {sound: true}, on_empty: fail}"]),
    "stricter": (SOUND, ["a: {every: box.item, must: {sound: true, weight: 3}, on_empty: fail}"]),
    "an inconclusive empty scope": (SOUND, ["a: {every: box.item, must: {sound: true}, on_empty: inconclusive}"]),
    "split along an invariant": (
        SOUND, ["a: {every: box.item, must: {whole: true}, on_empty: fail}",
                "b: {every: box.item, must: {open: false}, on_empty: pass}"]),
    "written with none": (
        SOUND, ["a: {none: box.item, where: {open: true}, on_empty: fail}",
                "b: {none: box.item, where: {whole: {not: true}}, on_empty: pass}"]),
    "the negated field with none": (SOUND, ["a: {none: box.item, where: {sound: false}, on_empty: fail}"]),
    "split by scope": (
        SOUND, ["a: {every: box.item, where: {color: red}, must: {sound: true}, on_empty: fail}",
                "b: {every: box.item, where: {color: {not: red}}, must: {sound: true}, on_empty: pass}"]),
    "existence by some": (
        SOUND, ["a: {every: box.item, must: {sound: true}, on_empty: pass}", "b: {some: box.item, where: {color: red}}"]),
    "existence by count": (
        SOUND, ["a: {every: box.item, must: {sound: true}, on_empty: pass}", "b: {count: box.item, at_least: 2}"]),
    "a count of none": (SOUND, ["a: {count: box.item, where: {sound: false}, at_most: 0}", "b: {some: box.item}"]),
    "one": (SOUND, ["a: {one: box.item, must: {sound: true}}"]),
    "a tighter bound": (REDS_HEAVY, ["a: {every: box.item, must: {weight: {at_least: 3}}, on_empty: pass}"]),
    "a wider scope": (REDS_HEAVY, ["a: {every: box.item, where: {color: {in: [red, blue]}}, must: {weight: 2}, on_empty: pass}"]),
    "bounds by listing": (
        REDS_HEAVY, ["a: {every: box.item, where: {color: red}, must: {weight: {in: [2, 7]}}, on_empty: not_applicable}"]),
    "nothing of the kind": (REDS_HEAVY, ["a: {none: box.item, where: {color: red}, on_empty: pass}"]),
    "no fact at all": (REDS_HEAVY, ["a: {none: box.item, on_empty: pass}"]),
    "another literal": (NO_NOTE, ["a: {every: box.item, must: {label: y}, on_empty: pass}"]),
    "a list of literals": (NO_NOTE, ["a: {none: box.item, where: {label: {in: [x, y]}}, on_empty: pass}"]),
    "a singleton": (SHUT, ["a: {one: box.lid, must: {shut: true, screws: {at_least: 4}}}"]),
    "a singleton, the other way round": (SHUT, ["a: {one: box.lid, must: {shut: {not: false}}}"]),
    "inside all": (SHUT, ["a: {all: [b, c]}", "+b: {one: box.lid, must: {shut: true}}", "+c: {some: box.item}"]),
    "in every branch of any": (
        SOUND, ["a: {any: [b, c]}", "+b: {every: box.item, must: {sound: true, weight: 1}, on_empty: fail}",
                "+c: {every: box.item, must: {sound: true, weight: 2}, on_empty: fail}"]),
}  # fmt: skip
# floor, conditions, line of the blame (the first condition stands on line 4), part of what is said
REFUSED = {
    "nothing over the kind": (SHUT, ["a: {some: box.item}"], 2, "nothing demands that all box.lid facts were seen"),
    "another field": (SHUT, ["a: {one: box.lid, must: {screws: 4}}"], 4, "a box.lid fact with shut false would be accepted"),
    "half of an invariant": (
        SOUND, ["a: {every: box.item, must: {whole: true}, on_empty: fail}"], 4, "whole true, sound false would be accepted"),
    "an empty scope that passes": (
        SOUND, ["a: {every: box.item, must: {sound: true}, on_empty: pass}"], 4, "nothing demands a fact"),
    "an empty scope that doesn't apply": (
        SOUND, ["a: {every: box.item, must: {sound: true}, on_empty: not_applicable}"], 4, "nothing demands a fact"),
    "a narrower scope": (
        SOUND, ["a: {every: box.item, where: {color: red}, must: {sound: true}, on_empty: fail}"], 4,
        "color green, sound false would be accepted"),
    "split by scope with a hole": (
        SOUND, ["a: {every: box.item, where: {color: red}, must: {sound: true}, on_empty: fail}",
                "b: {every: box.item, where: {color: blue}, must: {sound: true}, on_empty: pass}"], 4,
        "color green, sound false"),
    "only some": (SOUND, ["a: {some: box.item, where: {sound: true}}"], 4, "nothing demands that all box.item facts were seen"),
    "a looser bound": (
        REDS_HEAVY, ["a: {every: box.item, where: {color: red}, must: {weight: {at_least: 1}}, on_empty: pass}"], 4,
        "color red, weight 1 would be accepted"),
    "a bound on another side": (
        REDS_HEAVY, ["a: {every: box.item, where: {color: red}, must: {weight: {at_most: 2}}, on_empty: pass}"], 4, "weight 1"),
    "a scope that a glob cuts": (
        SOUND, ["a: {every: box.item, where: {name: {glob: ['src/**']}}, must: {sound: true}, on_empty: fail}"], 4,
        "name some other text, sound false"),
    "contains is not equality": (
        NO_NOTE, ["a: {none: box.item, where: {label: {contains: xx}}, on_empty: pass}"], 4, "label x would be accepted"),
    "one branch of any": (
        SHUT, ["a: {any: [b, c]}", "+b: {one: box.lid, must: {shut: true}}", "+c: {one: box.lid, must: {screws: 4}}"], 6,
        "a box.lid fact with shut false would"),
    "existence of another thing": (
        Leaf("some-red", Form.SOME, ITEM, (demand(ITEM, "color", "red"),)), ["a: {some: box.item, where: {color: blue}}"], 4,
        "nothing demands a fact of the kind that it speaks of"),
    "a bound on too many": (
        Leaf("few", Form.COUNT, ITEM, at_most=3), ["a: {count: box.item, at_most: 4}"], 4,
        "keeps the facts that it speaks of to 3"),
    "a bound on too few": (
        Leaf("many", Form.COUNT, ITEM, at_least=3), ["a: {count: box.item, at_least: 2}"], 4, "nothing demands 3 facts"),
}  # fmt: skip


@pytest.mark.parametrize(("goal", "conditions"), GRANTED.values(), ids=GRANTED)
def test_granted(goal: Leaf, conditions: list[str]) -> None:
    assert prove_floor(bundle(*conditions), Floor("unified_diff", (goal,)), {}) == ()


@pytest.mark.parametrize(("goal", "conditions", "line", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(goal: Leaf, conditions: list[str], line: int, said: str) -> None:
    (problem,) = prove_floor(bundle(*conditions), Floor("unified_diff", (goal,)), {})
    assert (problem.document, problem.line) == ("bundle.yaml", line)
    assert f"which demands {goal.name}: " in problem.message
    assert said in problem.message
    assert problem.hint is not None
    assert problem.hint.startswith("demand {")


def test_the_hint_can_be_pasted_into_a_bundle() -> None:
    (problem,) = prove_floor(bundle("a: {some: box.item}"), Floor("unified_diff", (SHUT,)), {})
    assert problem.hint == "demand {one: box.lid, must: {shut: true}} in a validator"
    (problem,) = prove_floor(bundle("a: {one: box.lid, must: {shut: true}}"), Floor("unified_diff", (REDS_HEAVY,)), {})
    asked = "{every: box.item, where: {color: red}, must: {weight: {at_least: 2}}, on_empty: pass}"
    assert problem.hint == f"demand {asked} in a validator"
    counted = Leaf("few", Form.COUNT, ITEM, (demand(ITEM, "label", "x", "y", operator=Operator.NOT),), at_most=3)
    (problem,) = prove_floor(bundle("a: {one: box.lid, must: {shut: true}}"), Floor("unified_diff", (counted,)), {})
    assert problem.hint == "demand {count: box.item, where: {label: {not: [x, y]}}, at_most: 3} in a validator"
    whole = Leaf("whole", Form.SOME, ITEM, (demand(ITEM, "whole", False, operator=Operator.NOT),))
    (problem,) = prove_floor(bundle("a: {one: box.lid, must: {shut: true}}"), Floor("unified_diff", (whole,)), {})
    assert problem.hint == "demand {some: box.item, where: {whole: {not: false}}} in a validator"


def test_a_counterexample_may_be_a_field_that_is_absent_or_unknown() -> None:
    labelled = Leaf("labelled", Form.EVERY, ITEM, (), (demand(ITEM, "label", "x"),), OnEmpty.PASS)
    (problem,) = prove_floor(
        bundle("a: {every: box.item, must: {label: {not: [y, some other text]}}, on_empty: pass}"),
        Floor("unified_diff", (labelled,)),
        {},
    )
    assert "label some other text1 would be accepted" in problem.message
    known = Leaf("known", Form.EVERY, ITEM, (), (demand(ITEM, "color", "red", "green", "blue"),), OnEmpty.PASS)
    loaded = bundle("a: {every: box.item, must: {weight: 1}, on_empty: pass}")
    (problem,) = prove_floor(loaded, Floor("unified_diff", (known,)), {})
    assert "a box.item fact with color unknown would be accepted" in problem.message


def test_parameters_count_with_their_values() -> None:
    loaded = bundle(
        "a: {every: box.item, must: {weight: {at_least: {parameter: least}}}, on_empty: pass}",
        parameters="parameters:\n  least: {type: integer, default: 2}\n",
    )
    floor = Floor("unified_diff", (REDS_HEAVY,))
    assert prove_floor(loaded, floor, bind_parameters(loaded, {})) == ()
    (problem,) = prove_floor(loaded, floor, bind_parameters(loaded, {"least": 1}))
    assert "color red, weight 1 would be accepted" in problem.message


def test_conditions_of_another_validator_count() -> None:
    text = HEAD + (
        "conditions:\n  a: {every: box.item, must: {sound: true}, on_empty: pass}\n  b: {some: box.item}\n"
        "validators:\n  first: {all: [a]}\n  second: {all: [b]}\n"
    )
    loaded = load_bundle(text.encode(), "bundle.yaml", lambda _: KINDS)
    assert prove_floor(loaded, Floor("unified_diff", (SOUND,)), {}) == ()


def test_an_escalation_proves_nothing() -> None:
    text = HEAD + (
        "conditions:\n  a: {one: box.lid, must: {shut: true}}\n  b: {some: box.item}\n"
        "validators:\n  first: {all: [b]}\nescalate: [a]\n"
    )
    loaded = load_bundle(text.encode(), "bundle.yaml", lambda _: KINDS)
    assert len(prove_floor(loaded, Floor("unified_diff", (SHUT,)), {})) == 1


WIDE = (
    "must: {well_formed: true, reason: {not: x}, error: {not: x}, line: {not: 3}, hunks: {at_least: 1}, files: {at_least: 1}, "
    "added_lines: {at_most: 9}, removed_lines: {at_most: 9}, first_prose_line: {not: 5}, second_opinion_reason: {not: x}}"
)


def test_a_wide_must_is_proved_demand_by_demand() -> None:
    """All demands at once would tell too many facts apart; those that bear on the floor suffice."""
    text = SHIPPED.decode()
    start, end = text.index("  # It changes something."), text.index("  # No text stands around")
    text = (text[:start] + text[end:]).replace("must: {well_formed: true}", WIDE).replace(", patch-not-empty", "")
    loaded = load_bundle(text.encode(), "bundle.yaml", lambda _: DIFF)
    assert prove_floor(loaded, FLOOR, bind_parameters(loaded, {})) == ()
    loaded = load_bundle(text.replace("files: {at_least: 1}, ", "").encode(), "bundle.yaml", lambda _: DIFF)
    (problem,) = prove_floor(loaded, FLOOR, bind_parameters(loaded, {}))
    assert "which demands patch-not-empty: " in problem.message


def test_a_condition_that_states_the_floor_is_found_in_a_crowd() -> None:
    """All conditions at once would tell too many facts apart; the one that matters suffices."""
    crowd = [
        f"c{n}: {{every: box.item, where: {{name: n{n}}}, must: {{weight: {n}}}, on_empty: pass}}" for n in range(300)
    ]
    stated = "a: {every: box.item, must: {sound: true}, on_empty: fail}"
    linking = "l: {every: box.item, where: {weight: {at_least: 1}}, must: {open: false}, on_empty: pass}"
    assert prove_floor(bundle(*crowd, stated, linking), Floor("unified_diff", (SOUND,)), {}) == ()
    (problem,) = prove_floor(bundle(*crowd, linking, "s: {some: box.item}"), Floor("unified_diff", (SOUND,)), {})
    assert "tell too many cases apart" in problem.message


def test_many_globs_are_too_many_cases() -> None:
    conditions = [
        f"c{n}: {{every: box.item, where: {{name: {{glob: [d{n}/**]}}}}, must: {{weight: {n}}}, on_empty: pass}}"
        for n in range(16)
    ]
    (problem,) = prove_floor(bundle(*conditions, "s: {some: box.item}"), Floor("unified_diff", (REDS_HEAVY,)), {})
    assert "tell too many cases apart for a proof" in problem.message


def test_more_ways_than_are_followed_prove_nothing() -> None:
    ways = [f"a{n}: {{any: [b{n}, c{n}]}}" for n in range(7)]
    leaves = [f"+{letter}{n}: {{count: box.item, where: {{weight: {n}}}, at_most: {size}}}"
              for n in range(7) for letter, size in (("b", 3), ("c", 4))]  # fmt: skip
    (problem,) = prove_floor(bundle(*ways, *leaves), Floor("unified_diff", (SHUT,)), {})
    assert "which demands shut: " in problem.message


DIFF = backend_kinds("unified_diff")
SHIPPED = (shipped_bundle("unified-diff") / "bundle.yaml").read_bytes()  # type: ignore[operator]
FLOOR = floor_for("unified_diff", DIFF)


def test_the_shipped_bundle_is_at_or_above_the_floor() -> None:
    loaded = load_bundle(SHIPPED, "bundle.yaml", lambda _: DIFF)
    assert prove_floor(loaded, FLOOR, bind_parameters(loaded, {})) == ()


# what is changed in the shipped bundle, and the part of the floor that it then falls below
WEAKENED = {
    "another binding": ("must: {matches: true}", "must: {field: work_unit_id}", "manifest-bound"),
    "validators unasked": ("must: {requested_by_worker: true}", "must: {covered_by_plan: true}", "validators-requested"),
    "any state of the patch": (
        "one: candidate.file\n    where: {role: candidate}\n    must: {state: regular, within_limit: true, digest_matches: true}",
        "one: candidate.file\n    where: {role: candidate}\n    must: {state: regular, within_limit: true}", "patch-intact"),
    "a size that may be unheard of": (
        "one: candidate.file\n    where: {role: candidate}\n    must: {state: regular, within_limit: true, digest_matches: true}",
        "one: candidate.file\n    where: {role: candidate}\n    must: {within_limit: {not: false}, digest_matches: true}",
        "patch-intact"),
    "logs that are regular, of whatever size": (
        "where: {role: log}\n    must: {state: regular, within_limit: true, digest_matches: true}",
        "where: {role: log}\n    must: {state: regular, digest_matches: true}", "logs-intact"),
    "required logs missing": ("must: {count: 1}", "must: {count: {at_most: 1}}", "required-logs-present"),
    "malformed": ("must: {well_formed: true}", "must: {hunks: {at_least: 1}}", "patch-well-formed"),
    "empty": ("must: {files: {at_least: 1}}", "must: {hunks: {at_least: 1}}", "patch-not-empty"),
    "reserved paths": ("must: {authorized: true}", "must: {allowed: true, writable: true, forbidden: false}", "paths-authorized"),
    "lines absent": ("must: {present: true}", "must: {moved: false}", "required-lines-present"),
    "worker failed": ("must: {status: succeeded}", "must: {status: {not: [error, timeout]}}", "worker-succeeded"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "part"), WEAKENED.values(), ids=WEAKENED)
def test_a_weakened_bundle_is_refused_at_its_condition(old: str, new: str, part: str) -> None:
    text = SHIPPED.decode()
    assert text.count(old) == 1
    loaded = load_bundle(text.replace(old, new).encode(), "bundle.yaml", lambda _: DIFF)
    problems = prove_floor(loaded, FLOOR, bind_parameters(loaded, {}))
    assert [f"which demands {part}: " in problem.message for problem in problems] == [True]
    assert loaded.conditions[part].mark.line == problems[0].line


def test_a_split_authority_is_as_good_as_the_whole() -> None:
    parts = "must: {allowed: true, writable: true, forbidden: false, reserved: false}"
    text = SHIPPED.decode().replace("must: {authorized: true}", parts)
    loaded = load_bundle(text.encode(), "bundle.yaml", lambda _: DIFF)
    assert prove_floor(loaded, FLOOR, bind_parameters(loaded, {})) == ()


def test_an_invariant_makes_up_for_an_absent_field() -> None:
    """A regular file has a size, so that it is within the limit if it isn't over it."""
    text = SHIPPED.decode().replace("within_limit: true", "within_limit: {not: false}")
    loaded = load_bundle(text.encode(), "bundle.yaml", lambda _: DIFF)
    assert prove_floor(loaded, FLOOR, bind_parameters(loaded, {})) == ()


def test_each_part_of_the_floor_is_needed() -> None:
    """Dropping any condition that states a part of the floor is found, so none is implied by accident."""
    loaded = load_bundle(SHIPPED, "bundle.yaml", lambda _: DIFF)
    for part in FLOOR.leaves:
        conditions = {name: rule for name, rule in loaded.conditions.items() if name != part.name}
        assert not any(isinstance(rule, Combination) for rule in conditions.values())
        validators = {
            name: type(each)(each.id, tuple(child for child in each.children if child != part.name), each.mark)
            for name, each in loaded.validators.items()
        }
        fewer = Bundle(
            loaded.id, loaded.version, loaded.owner, loaded.backend, loaded.digest, loaded.parameters, conditions, validators,
            (), loaded.name, loaded.mark)  # fmt: skip
        problems = prove_floor(fewer, FLOOR, bind_parameters(loaded, {}))
        assert [part.name in problem.message for problem in problems] == [True]


@pytest.mark.parametrize("backend", ["nonsense"])
def test_a_backend_without_a_floor_cannot_decide(backend: str) -> None:
    with pytest.raises(PolicyError, match="has no floor"):
        floor_for(backend, DIFF)
