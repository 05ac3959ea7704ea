"""What cases show of a bundle and what they would miss: coverage, mutants, equivalence, and the search for more cases."""

import pytest

from idkmesh_rules.model.bundle import Demand, Floor, Form, Leaf, OnEmpty, Operator
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy import load_bundle
from idkmesh_rules.policy.testing.coverage import coverage
from idkmesh_rules.policy.testing.equivalence import equivalent
from idkmesh_rules.policy.testing.generate import propose
from idkmesh_rules.policy.testing.mutants import mutants
from idkmesh_rules.policy.testing.read import read_suite
from idkmesh_rules.policy.testing.run import run_bare, run_case, staged
from idkmesh_rules.policy.testing.study import study
from idkmesh_rules.policy.testing.write import case_yaml
from tests.property.policy_strategies import KINDS

HEAD = """\
schema_version: "1.0"
bundle: {id: demo, version: 1.0.0, owner: me, backend: unified_diff}
"""
TESTS = """\
schema_version: "1.0"
bundle: demo
base:
  box.lid:
    - {shut: true, screws: 4}
  box.item:
    - {name: a, color: red, open: false, whole: true, sound: true, weight: 1}
cases:
"""
_ITEM = KINDS["box.item"]
_BOMB = Demand(_ITEM.fields[_ITEM.index["label"]], Operator.IN, ("bomb",))
FLOOR = Floor("unified_diff", (Leaf("no-bomb", Form.NONE, _ITEM, (_BOMB,), on_empty=OnEmpty.PASS),))
ACCEPT = "  fine: {outcome: accept_candidate}\n"


def load(text: str):
    return load_bundle((HEAD + text).encode(), "bundle.yaml", lambda _backend: KINDS)


def suite_of(bundle, cases: str):
    return read_suite((TESTS + cases).encode(), "tests.yaml", bundle, KINDS, FLOOR)


def ready(bundle, cases: str):
    return staged(suite_of(bundle, cases), KINDS)


def shown(bundle, cases: str) -> dict[str, str | None]:
    found = coverage(bundle, [(each.case.name, run_bare(bundle, each)) for each in ready(bundle, cases)]).shown
    return {f"{each.owner}/{each.condition} {each.value.letter}": case for each, case in found.items()}


SHUT = "conditions:\n  shut: {one: box.lid, must: {shut: true}}\nvalidators:\n  check: {all: [shut]}\n"
EITHER = """\
conditions:
  shut: {one: box.lid, must: {shut: true}}
  screwed: {one: box.lid, must: {screws: {at_least: 4}}}
  held: {any: [shut, screwed]}
validators:
  check: {all: [held]}
"""


def test_each_value_needs_a_case_in_which_it_decides() -> None:
    bundle = load(SHUT)
    open_lid = "  open: {outcome: reject_candidate, causes: [check/shut], edits: [{set: box.lid, to: {shut: false}}]}\n"
    unseen = "  unseen: {outcome: insufficient_evidence, causes: [check/shut], edits: [{unknown: box.lid}]}\n"
    assert shown(bundle, ACCEPT) == {"check/shut T": "fine", "check/shut F": None, "check/shut U": None}
    assert shown(bundle, ACCEPT + open_lid + unseen) == {
        "check/shut T": "fine",
        "check/shut F": "open",
        "check/shut U": "unseen",
    }


def test_under_any_a_true_neighbour_masks() -> None:
    """Both true: neither decides. Each has to be shown true while the other is false."""
    bundle = load(EITHER)
    assert not any(shown(bundle, ACCEPT).values())
    only_shut = "  only-shut: {outcome: accept_candidate, edits: [{set: box.lid, to: {screws: 0}}]}\n"
    neither = "  neither: {outcome: reject_candidate, edits: [{set: box.lid, to: {shut: false, screws: 0}}]}\n"
    found = shown(bundle, ACCEPT + only_shut + neither)
    assert found["check/shut T"] == "only-shut"
    assert found["check/screwed T"] is None
    assert (found["check/shut F"], found["check/screwed F"]) == ("neither", "neither")


def test_a_leaf_that_stands_in_two_places_is_masked_in_both() -> None:
    bundle = load(
        EITHER.replace("{all: [held]}", "{all: [held, other]}").replace(
            "  held:", "  other: {any: [shut, red]}\n  red: {some: box.item, where: {color: blue}}\n  held:"
        )
    )
    only_shut = "  only-shut: {outcome: accept_candidate, edits: [{set: box.lid, to: {screws: 0}}]}\n"
    assert shown(bundle, only_shut)["check/shut T"] == "only-shut"


def test_an_inapplicable_leaf_is_shown_while_its_validator_passes() -> None:
    bundle = load(
        "conditions:\n  shut: {one: box.lid, must: {shut: true}}\n"
        "  blue-open: {every: box.item, where: {color: blue}, must: {open: true}, on_empty: not_applicable}\n"
        "validators:\n  check: {all: [shut, blue-open]}\n"
    )
    assert shown(bundle, ACCEPT)["check/blue-open N"] == "fine"
    open_lid = "  open: {outcome: reject_candidate, edits: [{set: box.lid, to: {shut: false}}]}\n"
    assert shown(bundle, open_lid)["check/blue-open N"] is None


def test_an_escalation_has_to_be_seen_with_each_value() -> None:
    bundle = load(
        SHUT.replace("validators", "  heavy: {some: box.item, where: {weight: {at_least: 3}}}\nvalidators")
        + "escalate: [heavy]\n"
    )
    heavy = "  heavy: {outcome: escalate, causes: [escalate/heavy], edits: [{set: box.item, to: {weight: 3}}]}\n"
    unseen = "  unseen: {outcome: escalate, causes: [escalate/heavy], edits: [{unknown: box.item}]}\n"
    names = ("escalate/heavy T", "escalate/heavy F", "escalate/heavy U")
    assert [shown(bundle, ACCEPT)[name] for name in names] == [None, "fine", None]
    assert [shown(bundle, ACCEPT + heavy + unseen)[name] for name in names] == ["heavy", "fine", "unseen"]


def test_cases_hold_exact_causes_and_what_does_not_apply() -> None:
    bundle = load(
        "conditions:\n  shut: {one: box.lid, must: {shut: true}}\n"
        "  blue-open: {every: box.item, where: {color: blue}, must: {open: true}, on_empty: not_applicable}\n"
        "validators:\n  check: {all: [shut, blue-open]}\n"
    )
    (each,) = ready(bundle, "  a: {outcome: accept_candidate, causes: [check/shut]}\n")
    assert list(run_case(bundle, each, FLOOR).differences()) == [
        "expected as cause, but isn't: check/shut",
        "not applicable, but not expected: blue-open",
    ]
    (each,) = ready(bundle, "  a: {outcome: reject_candidate, not_applicable: [blue-open]}\n")
    assert list(run_case(bundle, each, FLOOR).differences()) == ["expected reject_candidate, came to accept_candidate"]
    (each,) = ready(bundle, "  a: {outcome: accept_candidate, not_applicable: [blue-open]}\n")
    assert run_case(bundle, each, FLOOR).passed


def test_the_floor_is_a_cause_where_it_decides() -> None:
    bundle = load(SHUT)
    cases = (
        "  bomb: {outcome: reject_candidate, causes: [floor/no-bomb], edits: [{set: box.item, to: {label: bomb}}]}\n"
    )
    (each,) = ready(bundle, cases)
    assert run_case(bundle, each, FLOOR).passed
    assert run_bare(bundle, each).recommendation.value == "accept_candidate", (
        "the study of a bundle leaves the floor out"
    )


def test_a_crash_is_an_error_and_a_case_sees_its_cause() -> None:
    bundle = load(SHUT)
    (each,) = ready(bundle, "  a: {outcome: insufficient_evidence, causes: [check/shut], edits: [{crash: box.lid}]}\n")
    result = run_case(bundle, each, FLOOR)
    assert result.passed
    assert result.decision.status.value == "error"


def what(bundle) -> set[str]:
    return {mutant.what for mutant in mutants(bundle)}


LEAVES = {
    "a flag": (
        "{one: box.lid, must: {shut: true}}",
        {"it: must: shut: true → shut: {not: true}"},
    ),
    "a bound": (
        "{one: box.lid, must: {screws: {at_least: 4}}}",
        {
            "it: must: screws: {at_least: 4} → screws: {at_most: 4}",
            "it: must: screws: {at_least: 4} → screws: {at_least: 3}",
            "it: must: screws: {at_least: 4} → screws: {at_least: 5}",
        },
    ),
    "every with a scope": (
        "{every: box.item, where: {color: red}, must: {open: true}, on_empty: pass}",
        {
            "it: every → one",
            "it: every → some",
            "it: every → none",
            "it: on_empty pass → fail",
            "it: on_empty pass → inconclusive",
            "it: on_empty pass → not_applicable",
            "it: where: color: red dropped",
            "it: where: color: red → color: {not: red}",
            "it: where: color: red → color: green",
            "it: where: color: red → color: blue",
            "it: must: open: true → open: {not: true}",
        },
    ),
    "two demands": (
        "{every: box.item, must: {open: true, whole: false}, on_empty: fail}",
        {
            "it: every → one",
            "it: every → some",
            "it: every → none",
            "it: on_empty fail → pass",
            "it: on_empty fail → inconclusive",
            "it: on_empty fail → not_applicable",
            "it: must: open: true dropped",
            "it: must: open: true → open: {not: true}",
            "it: must: whole: false dropped",
            "it: must: whole: false → whole: {not: false}",
        },
    ),
    "a count": (
        "{count: box.item, where: {label: {in: [x, y]}}, at_most: 2}",
        {
            "it: count → some",
            "it: count → one",
            "it: count → every",
            "it: count → none",
            "it: at_most 2 → 1",
            "it: at_most 2 → 3",
            "it: at_least ↔ at_most",
            "it: where: label: {in: [x, y]} dropped",
            "it: where: label: {in: [x, y]} → label: {not: [x, y]}",
            "it: where: label: {in: [x, y]} → label: y",
            "it: where: label: {in: [x, y]} → label: {in: [no-such-text, y]}".replace("no-such", "x-no-such"),
            "it: where: label: {in: [x, y]} → label: x",
            "it: where: label: {in: [x, y]} → label: {in: [x, y-no-such-text]}",
        },
    ),
    "texts": (
        "{some: box.item, where: {name: {glob: [src/**]}, label: {contains: x}}}",
        {
            "it: some → one",
            "it: some → every",
            "it: some → none",
            "it: where: name: {glob: [src/**]} dropped",
            "it: where: name: {glob: [src/**]} → name: {glob: [no-such-folder/no-such-file]}",
            "it: where: label: {contains: x} dropped",
            "it: where: label: {contains: x} → label: {contains: x-no-such-text}",
        },
    ),
}


@pytest.mark.parametrize("name", LEAVES)
def test_the_mutants_of_a_leaf(name: str) -> None:
    spelled, expected = LEAVES[name]
    bundle = load(f"conditions:\n  it: {spelled}\nvalidators:\n  check: {{all: [it]}}\n")
    assert what(bundle) == expected


def test_the_mutants_of_everything_else() -> None:
    bundle = load(
        "parameters:\n  most: {type: integer, default: 3}\n  word: {type: string, default: x}\n"
        "  flag: {type: boolean, default: true}\n"
        "conditions:\n  a: {count: box.item, at_most: {parameter: most}}\n"
        "  b: {some: box.item, where: {label: {parameter: word}}}\n"
        "  c: {one: box.lid, must: {shut: {parameter: flag}}}\n"
        "  both: {any: [a, b]}\nvalidators:\n  check: {all: [both, c]}\nescalate: [a]\n"
    )
    assert {each for each in what(bundle) if not each.startswith(("a: ", "b: ", "c: "))} == {
        "most: default 3 → 2",
        "most: default 3 → 4",
        "word: default x → x-no-such-text",
        "flag: default true → false",
        "both: any → all",
        "both: a dropped",
        "both: b dropped",
        "check: both dropped",
        "check: c dropped",
        "escalate: a dropped",
    }
    dropped = next(each for each in mutants(bundle) if each.what == "check: both dropped")
    assert set(dropped.bundle.conditions) == {"a", "c"}, "what nobody mentions any more is gone"
    assert len({each.bundle.digest for each in mutants(bundle)}) == len(what(bundle)), "no mutant passes for another"


def test_a_mutant_is_killed_by_another_cause_or_another_set_of_what_does_not_apply() -> None:
    bundle = load(
        "conditions:\n  shut: {one: box.lid, must: {shut: true}}\n"
        "  blue-open: {every: box.item, where: {color: blue}, must: {open: true}, on_empty: not_applicable}\n"
        "validators:\n  check: {all: [shut, blue-open]}\n"
    )
    found = study(bundle, ready(bundle, "  fine: {outcome: accept_candidate, not_applicable: [blue-open]}\n"))
    assert "check: shut dropped" in what(bundle)
    assert "blue-open: on_empty not_applicable → pass" in what(bundle)
    assert {mutant.what for mutant in found.survived} == {
        "blue-open: where: color: blue → color: green",
        "blue-open: must: open: true → open: {not: true}",
    }


def test_what_the_loader_would_refuse_is_counted_apart() -> None:
    """The second condition becomes the first one, which no case can notice and no loader takes."""
    bundle = load(
        "conditions:\n  no-blue: {every: box.item, must: {color: {not: blue}}, on_empty: pass}\n"
        "  no-green: {every: box.item, must: {color: {not: green}}, on_empty: pass}\n"
        "validators:\n  check: {all: [no-blue, no-green]}\n"
    )
    found = study(bundle, ready(bundle, ACCEPT))
    assert "no-green: must: color: {not: green} → color: {not: blue}" in {mutant.what for mutant in found.refused}
    assert found.total == found.killed + len(found.survived) + len(found.refused) + len(found.equivalent)
    assert found.total == len(what(bundle))


def test_a_mutant_that_says_the_same_is_called_equivalent() -> None:
    """A name is a key: of the facts with it there is at most one, and then `one` and `every` are the same."""
    bundle = load(
        "conditions:\n  first-open: {one: box.item, where: {name: a}, must: {open: false}}\n"
        "validators:\n  check: {all: [first-open]}\n"
    )
    found = study(bundle, ready(bundle, ACCEPT))
    assert {mutant.what for mutant in found.equivalent} == {"first-open: one → every"}


def test_equivalence_is_decided() -> None:
    pairs = [
        (
            "every: box.item, must: {open: true}, on_empty: pass",
            "none: box.item, where: {open: false}, on_empty: pass",
            True,
        ),
        (
            "every: box.item, must: {open: true}, on_empty: pass",
            "every: box.item, must: {open: true}, on_empty: fail",
            False,
        ),
        ("some: box.item, where: {color: red}", "count: box.item, where: {color: red}, at_least: 1", True),
        ("some: box.item, where: {color: red}", "count: box.item, where: {color: red}, at_least: 2", False),
        ("count: box.item, at_most: 900000000000", "count: box.item, at_most: 900000000001", False),
        ("one: box.item, must: {open: true}", "every: box.item, must: {open: true}, on_empty: fail", False),
        ("some: box.item, where: {sound: true}", "some: box.item, where: {sound: {not: false}}", True),
        ("some: box.item, where: {weight: 1}", "some: box.item, where: {weight: {in: [1, 2]}}", False),
        (
            "count: box.item, where: {color: red}, at_most: 1",
            "count: box.item, where: {color: red}, at_most: {parameter: p}",
            False,
        ),
    ]
    for first, second, expected in pairs:
        leaves = []
        for spelled in (first, second):
            head = "parameters:\n  p: {type: integer, default: 1}\n" if "parameter" in spelled else ""
            text = f"{head}conditions:\n  it: {{{spelled}}}\nvalidators:\n  check: {{all: [it]}}\n"
            leaves.append(load(text).conditions["it"])
        assert equivalent(*leaves, {"p": 1}) is expected, (first, second)
        assert equivalent(*reversed(leaves), {"p": 1}) is expected, (second, first)


def test_from_an_empty_page_to_everything_shown() -> None:
    """The search finds cases for all that is open, `any` included, and what it writes is read back as it was found."""
    bundle = load(
        "parameters:\n  most: {type: integer, default: 3}\n"
        "conditions:\n  shut: {one: box.lid, must: {shut: true}}\n"
        "  screwed: {one: box.lid, must: {screws: {at_least: 4}}}\n"
        "  held: {any: [shut, screwed]}\n"
        "  reds-sound: {every: box.item, where: {color: red}, must: {sound: true}, on_empty: not_applicable}\n"
        "  few: {count: box.item, at_most: {parameter: most}}\n"
        "  labelled: {some: box.item, where: {label: {contains: x}}}\n"
        "  sources: {none: box.item, where: {name: {glob: ['src/**/[ab]?.py']}}, on_empty: pass}\n"
        "validators:\n  check: {all: [held, reds-sound, few, sources]}\nescalate: [labelled]\n"
    )
    suite = suite_of(bundle, ACCEPT)
    cases = staged(suite, KINDS)
    open_points = coverage(bundle, [(each.case.name, run_bare(bundle, each)) for each in cases]).missing
    survivors = study(bundle, cases).survived
    assert open_points
    assert survivors
    found = propose(suite, KINDS, FLOOR, open_points, survivors)
    assert found.left == 0
    written = "".join(
        case_yaml(f"n-{n}", each.edits, each.observed, (), each.parameters) for n, each in enumerate(found.found)
    )
    again = ready(bundle, ACCEPT + written)
    results = [run_case(bundle, each, FLOOR) for each in again]
    assert {result.case.name: [*result.differences()] for result in results if not result.passed} == {}
    assert [
        (each.condition, each.value.letter)
        for each in coverage(bundle, [(each.case.name, run_bare(bundle, each)) for each in again]).missing
    ] == []
    assert [mutant.what for mutant in study(bundle, again).survived] == []


def test_nothing_is_proposed_where_nothing_is_open() -> None:
    bundle = load(SHUT)
    assert propose(suite_of(bundle, ACCEPT), KINDS, FLOOR, (), ()) == ((), 0)


def test_values_are_those_of_the_design() -> None:
    assert [value.letter for value in (Truth.TRUE, Truth.FALSE, Truth.UNKNOWN, Truth.NOT_APPLICABLE)] == list("TFUN")


def test_a_scope_with_a_parameter_and_texts_that_look_like_placeholders_are_written_so_that_they_read_back() -> None:
    bundle = load(
        "parameters:\n  least: {type: integer, default: 2}\n"
        "conditions:\n  shut: {one: box.lid, must: {shut: true}}\n"
        "  heavy: {some: box.item, where: {weight: {at_least: {parameter: least}}}}\n"
        '  odd: {some: box.item, where: {label: {contains: "{n}\\u2028\\u001b[31m"}}}\n'
        "validators:\n  check: {all: [shut]}\nescalate: [heavy, odd]\n"
    )
    suite = suite_of(bundle, ACCEPT)
    cases = staged(suite, KINDS)
    open_points = coverage(bundle, [(each.case.name, run_bare(bundle, each)) for each in cases]).missing
    found = propose(suite, KINDS, FLOOR, open_points, study(bundle, cases).survived)
    written = "".join(
        case_yaml(f"n-{n}", each.edits, each.observed, (), each.parameters) for n, each in enumerate(found.found)
    )
    results = [run_case(bundle, each, FLOOR) for each in ready(bundle, ACCEPT + written)]
    assert {result.case.name: [*result.differences()] for result in results if not result.passed} == {}
    assert any(each.parameters for each in found.found)
