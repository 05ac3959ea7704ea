"""Every mistake that a tests.yaml can have: what is said, where, and nothing besides.

In the texts, ▸ stands before each place where a mistake is expected; it is taken out before reading.
"""

import pytest

from idkmesh_rules.errors import PolicyError
from idkmesh_rules.model.bundle import Floor
from idkmesh_rules.policy import load_bundle
from idkmesh_rules.policy.testing.read import read_suite
from idkmesh_rules.policy.testing.run import staged
from tests.property.policy_strategies import KINDS
from tests.unit.policy.test_policy_mistakes import expected_places

BUNDLE = """\
schema_version: "1.0"
bundle: {id: demo, version: 1.0.0, owner: me, backend: unified_diff}
parameters:
  most: {type: integer, default: 3}
conditions:
  lid-shut: {one: box.lid, must: {shut: true}}
  reds-open:
    every: box.item
    where: {color: red}
    must: {open: true}
    on_empty: not_applicable
  few: {count: box.item, at_most: {parameter: most}}
  heavy: {some: box.item, where: {weight: {at_least: 3}}}
validators:
  check: {all: [lid-shut, reds-open, few]}
escalate: [heavy]
"""
HEAD = 'schema_version: "1.0"\nbundle: demo\n'
BASE = """\
base:
  box.lid:
    - {shut: true, screws: 4}
  box.item:
    - {name: a, color: red, open: true, whole: true, sound: false, weight: 1}
    - {name: b, color: blue, open: false, whole: true, sound: true}
"""
ITEM = "{name: c, color: blue, open: false, whole: true, sound: true}"


def bundle():
    return load_bundle(BUNDLE.encode(), "bundle.yaml", lambda _backend: KINDS)


def read(text: str):
    return read_suite(text.encode(), "tests.yaml", bundle(), KINDS, Floor("unified_diff", ()))


def mistakes(marked: str) -> list[str]:
    """Read a text, hold the places of the mistakes to those marked in it, and return what was said."""
    text, places = expected_places(marked)
    with pytest.raises(PolicyError) as caught:
        staged(read(text), KINDS)
    problems = caught.value.problems
    assert [(problem.line, problem.column) for problem in problems] == places, [str(problem) for problem in problems]
    assert all(problem.document == "tests.yaml" for problem in problems)
    return [problem.message + (f" | {problem.hint}" if problem.hint else "") for problem in problems]


WHOLE = {
    "no cases": (HEAD + BASE + "cases: ▸{}\n", "found an empty mapping"),
    "cases left out": ("▸" + HEAD + BASE, "a test file needs the key cases | add cases: …"),
    "another version": (
        'schema_version: ▸"2.0"\nbundle: demo\n' + BASE + "cases: {a: {outcome: escalate}}\n",
        'this engine reads tests of schema_version 1.0, not "2.0"',
    ),
    "another bundle": (
        'schema_version: "1.0"\nbundle: ▸other\n' + BASE + "cases: {a: {outcome: escalate}}\n",
        'these tests stand beside the bundle demo, not "other"',
    ),
    "an alias": (HEAD + "base: ▸*b\ncases: {a: {outcome: escalate}}\n", "may not stand in a test file"),
    "empty file": ("▸", "the file is empty"),
    "a list": ("▸[]", "expected tests of a rule bundle, beginning with schema_version, found a list"),
    "a parameter of another type": (
        HEAD + BASE + "cases: {a: {outcome: escalate, parameters: {most: ▸many}}}\n",
        'expected an integer as most, found "many"',
    ),
    "a cause that is no text": (
        HEAD + BASE + "cases: {a: {outcome: reject_candidate, causes: [▸[lid-shut]]}}\n",
        "expected a cause, found a list",
    ),
    "an unknown key": (HEAD + BASE + "▸case: {}\ncases: {a: {outcome: escalate}}\n", 'a test file has no key "case"'),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_file(name: str) -> None:
    text, said = WHOLE[name]
    assert any(said in each for each in mistakes(text)), mistakes(text)


FACTS = {
    "a kind that isn't there": ("  ▸box.itme: []\n", 'there is no fact kind "box.itme" | did you mean "box.item"?'),
    "a field that isn't there": (
        "  box.lid: [{shut: true, screws: 1, ▸not: x}]\n",
        'box.lid has no field "not" | did you mean "note"?',
    ),
    "a field that has to be there": ("  box.lid: [▸{shut: true}]\n", "this box.lid lacks screws"),
    "a text for a flag": ("  box.lid: [{shut: ▸yes, screws: 1}]\n", 'expected true or false for shut, found "yes"'),
    "a text for a number": ('  box.lid: [{shut: true, screws: ▸"1"}]\n', "expected an integer for screws"),
    "an enum's other value": (f"  box.item: [{ITEM.replace('blue', '▸pink')}]\n", '"pink" is no value of color'),
    "a digest that is none": (f"  box.item: [{ITEM[:-1]}, digest: ▸abc}}]\n", '"abc" is no digest'),
    "a key that is unknown": (
        f"  box.item: [{ITEM.replace('name: c', 'name: ▸{unknown: why}')}]\n",
        "name is part of the key and never unknown",
    ),
    "an absent field that can't be": ("  box.lid: [{shut: ▸{absent: true}, screws: 1}]\n", "shut is never absent"),
    "absent: false": (
        "  box.lid: [{shut: true, screws: 1, note: ▸{absent: false}}]\n",
        "write {absent: true}, or leave it out",
    ),
    "a value of two sorts": (
        "  box.lid: [{shut: true, screws: 1, note: ▸{absent: true, unknown: x}}]\n",
        "expected a value, {unknown: why} or {absent: true}",
    ),
    "a value of no sort": (
        "  box.lid: [{shut: true, screws: 1, note: {▸absence: true}}]\n",
        'a value has no key "absence" | did you mean "absent"?',
    ),
    "a placeholder in the base": ('  box.lid: [{shut: true, screws: ▸"{n}"}]\n', "expected an integer for screws"),
    "a fact that can't exist": (
        "  box.item: [▸{name: c, color: red, open: true, whole: true, sound: true}]\n",
        "no such box.item can exist: sound = whole ∧ ¬open",
    ),
    "a key that stands twice": (
        f"  box.item: [{ITEM}, ▸{ITEM}]\n",
        "a box.item with this key stands on line 4 already",
    ),
    "two of a singleton": (
        "  box.lid: [{shut: true, screws: 1}, ▸{shut: true, screws: 1}]\n",
        "a box.lid with this key stands on line 4 already",
    ),
    "a fact as text": ("  box.lid: [▸shut]\n", 'expected the fields of a box.lid, found "shut"'),
    "facts as a mapping": ("  box.lid: ▸{shut: true}\n", "expected a list of box.lid facts, found a mapping"),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts(name: str) -> None:
    text, said = FACTS[name]
    found = mistakes(HEAD + "base:\n" + text + "cases: {a: {outcome: escalate}}\n")
    assert len(found) == 1, found
    assert said in found[0], found


CASES = {
    "no outcome": ("  ▸a: {causes: []}\n", "a case needs the key outcome"),
    "an outcome that isn't one": ("  a: {outcome: ▸accept}\n", 'did you mean "accept_candidate"?'),
    "a name in capitals": ("  ▸Accepts: {outcome: escalate}\n", "expected a case name of a–z, 0–9 and -"),
    "a cause that isn't there": (
        "  a: {outcome: reject_candidate, causes: [▸check/lid-shot]}\n",
        'there is no cause "check/lid-shot" | did you mean "check/lid-shut"?',
    ),
    "a cause without validator": ("  a: {outcome: reject_candidate, causes: [▸zzz]}\n", "there is no cause"),
    "a cause of an escalation as a validator's": (
        "  a: {outcome: escalate, causes: [▸check/heavy]}\n",
        'there is no cause "check/heavy"',
    ),
    "a cause twice": (
        "  a: {outcome: reject_candidate, causes: [check/few, ▸check/few]}\n",
        "check/few stands twice here",
    ),
    "an unknown condition": ("  a: {outcome: escalate, not_applicable: [▸reds]}\n", 'there is no condition "reds"'),
    "an unknown parameter": (
        "  a: {outcome: escalate, parameters: {▸moist: 1}}\n",
        'the bundle has no parameter "moist" | did you mean "most"?',
    ),
    "a parameter of another type": (
        '  a: {outcome: escalate, parameters: {most: ▸"1"}}\n',
        "expected an integer as most",
    ),
    "edits that are none": ("  a: {outcome: escalate, edits: ▸[]}\n", "expected a list of edits, found an empty list"),
    "an edit that is none": (
        "  a: {outcome: escalate, edits: [▸{sett: box.lid}]}\n",
        "an edit does one thing: one of set, drop, add, unknown, crash",
    ),
    "an edit that is two": (
        "  a: {outcome: escalate, edits: [▸{drop: box.lid, crash: box.lid}]}\n",
        "an edit does one thing",
    ),
    "an edit of no kind": ("  a: {outcome: escalate, edits: [{drop: ▸box}]}\n", 'there is no fact kind "box"'),
    "set without to": ("  a: {outcome: escalate, edits: [▸{set: box.lid}]}\n", "set needs the key to"),
    "drop with to": ("  a: {outcome: escalate, edits: [{drop: box.lid, ▸to: {shut: true}}]}\n", 'drop has no key "to"'),
    "where over no field": (
        "  a: {outcome: escalate, edits: [{drop: box.item, where: {▸nam: a}}]}\n",
        'box.item has no field "nam"',
    ),
    "where with a parameter": (
        "  a: {outcome: escalate, edits: [{drop: box.item, where: {weight: {parameter: ▸most}}}]}\n",
        'there is no parameter "most"',
    ),
    "a repeat of nothing": (
        f"  a: {{outcome: escalate, edits: [{{add: box.item, fact: {ITEM}, repeat: ▸0}}]}}\n",
        "expected a number from 1 to 100000",
    ),
    "an added fact that can't exist": (
        f"  a: {{outcome: escalate, edits: [{{add: box.item, fact: ▸{ITEM.replace('sound: true', 'sound: false')}}}]}}\n",
        "no such box.item can exist",
    ),
    "a placeholder in an enum": (
        f"  a: {{outcome: escalate, edits: [{{add: box.item, fact: {ITEM.replace('blue', '▸x{n}')}}}]}}\n".replace(
            "▸x{n}", '▸"x{n}"'
        ),
        "color can't hold",
    ),
    "unknown with where and no fields": (
        "  a: {outcome: escalate, edits: [{unknown: box.item, ▸where: {name: a}}]}\n",
        "without fields, the whole kind is incomplete",
    ),
    "a key made unknown": (
        "  a: {outcome: escalate, edits: [{unknown: box.item, fields: [▸name]}]}\n",
        '"name" is part of the key and never unknown',
    ),
    "a field made unknown that isn't there": (
        "  a: {outcome: escalate, edits: [{unknown: box.item, fields: [▸weigh]}]}\n",
        '"weigh" is no field of box.item | did you mean "weight"?',
    ),
    "an edit that touches nothing": (
        "  a: {outcome: escalate, edits: [▸{drop: box.item, where: {name: z}}]}\n",
        "in a: no box.item is there to drop",
    ),
    "a set that touches nothing": (
        "  a: {outcome: escalate, edits: [▸{set: box.item, where: {name: z}, to: {weight: 9}}]}\n",
        "in a: no box.item is there to change",
    ),
    "a set that changes nothing": (
        "  a: {outcome: escalate, edits: [▸{set: box.lid, to: {shut: true}}]}\n",
        "in a: this changes nothing: box.lid is so already",
    ),
    "a set that breaks an invariant": (
        "  a: {outcome: escalate, edits: [▸{set: box.item, where: {name: a}, to: {sound: true}}]}\n",
        "in a: no such box.item can exist",
    ),
    "a second of a singleton": (
        "  a: {outcome: escalate, edits: [▸{add: box.lid, fact: {shut: true, screws: 1}}]}\n",
        "in a: there is at most one box.lid",
    ),
    "an added key that is there": (
        f"  a: {{outcome: escalate, edits: [▸{{add: box.item, fact: {ITEM.replace('name: c', 'name: a')}}}]}}\n",
        "in a: a box.item with this key (name) is there already",
    ),
    "a repeat without a placeholder": (
        f"  a: {{outcome: escalate, edits: [▸{{add: box.item, fact: {ITEM}, repeat: 2}}]}}\n",
        "in a: a box.item with this key (name) is there already",
    ),
    "an edit after one that took its fact away": (
        "  a: {outcome: escalate, edits: [{drop: box.lid}, ▸{set: box.lid, to: {shut: false}}]}\n",
        "in a: no box.lid is there to change",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    text, said = CASES[name]
    found = mistakes(HEAD + BASE + "cases:\n" + text)
    assert len(found) == 1, found
    assert said in found[0], found


def test_all_mistakes_are_told_at_once() -> None:
    text = "  a: {outcome: ▸x}\n  b: {outcome: escalate, edits: [{drop: ▸box}]}\n  ▸c: {}\n"
    text = text.replace("▸c: {}", "c: ▸{}")
    assert len(mistakes(HEAD + BASE + "cases:\n" + text)) == 3


def test_a_long_file_is_refused_unread() -> None:
    with pytest.raises(PolicyError, match="more than the 1048576 that a test file may have"):
        read("#" * (1 << 20) + "\n" + HEAD)
