"""Rules that mean nothing, by name: what is said of them and where; and their neighbours that do mean something."""

import pytest

from idkmesh_rules.checks import backend_kinds
from idkmesh_rules.model.bundle import Leaf
from idkmesh_rules.policy import load_bundle
from idkmesh_rules.policy.spelling import leaf_text
from tests.unit.policy.test_policy_mistakes import edit, leaf, load, mistakes

# the condition that takes the place of `few`, and what is said
EMPTY = {
    "an enum listed whole": (
        "few: {some: box.item, where: {▸color: {in: [red, green, blue]}}}",
        "every box.item meets this demand of color",
    ),
    "an enum excluded whole": (
        "few: {some: box.item, where: {▸color: {not: [red, green, blue]}}}",
        "no box.item can meet this demand of color",
    ),
    "both bools": (
        "few: {every: box.item, must: {▸open: {in: [true, false]}}, on_empty: fail}",
        "every box.item meets this demand of open",
    ),
    "must against where": (
        "▸few: {every: box.item, where: {color: red}, must: {color: blue}, on_empty: fail}",
        "few can't be true: no box.item can meet where and must together",
    ),
    "must inside where": (
        "▸few: {every: box.item, where: {color: red}, must: {color: {in: [red, blue]}}, on_empty: pass}",
        "few can't be false: every box.item in scope meets must",
    ),
    "where against an invariant, failing": (
        "▸few: {every: box.item, where: {sound: true, open: true}, must: {weight: 1}, on_empty: fail}",
        "few can't be true: no box.item can meet where",
    ),
    "where against an invariant, passing": (
        "▸few: {every: box.item, where: {sound: true, open: true}, must: {weight: 1}, on_empty: pass}",
        "few can't be false: no box.item can meet where",
    ),
    "where against an invariant, not applicable": (
        "▸few: {every: box.item, where: {sound: true, open: true}, must: {weight: 1}, on_empty: not_applicable}",
        "few can't be true: no box.item can meet where",
    ),
    "some against an invariant": (
        "▸few: {some: box.item, where: {sound: true, whole: false}}",
        "few can't be true: no box.item can meet where",
    ),
    "none against an invariant": (
        "▸few: {none: box.item, where: {sound: true, whole: false}, on_empty: pass}",
        "few can't be false: no box.item can meet where",
    ),
    "none of anything, and something": (
        "▸few: {none: box.item, on_empty: fail}",
        "few can't be true: every box.item meets where",
    ),
    "one against an invariant": (
        "▸few: {one: box.item, where: {open: true}, must: {sound: true}}",
        "few can't be true: no box.item can meet where and must together",
    ),
    "a count below zero": (
        "▸few: {count: box.item, at_most: -1}",
        "few can't be true: no number is at least 0 and at most -1",
    ),
    "a count between crossed bounds": (
        "▸few: {count: box.item, at_least: 3, at_most: 2}",
        "no number is at least 3 and at most 2",
    ),
    "a count of at least zero": (
        "▸few: {count: box.item, at_least: 0}",
        "few can't be false: every number is at least 0",
    ),
    "a count of the impossible": (
        "▸few: {count: box.item, where: {sound: true, open: true}, at_most: 3}",
        "few can't be false: no box.item can meet where",
    ),
    "a count that needs the impossible": (
        "▸few: {count: box.item, where: {sound: true, open: true}, at_least: 1}",
        "few can't be true: no box.item can meet where",
    ),
    "a demand that follows from where": (
        "few: {every: box.item, where: {name: {in: [a, b]}}, must: {▸name: {not: c}, weight: 1}, on_empty: fail}",
        "this demand of name follows from the others",
    ),
}
MEANT = {
    "a count of at least one": "few: {count: box.item, at_least: 1}",
    "a text may be anything": "few: {every: box.item, must: {label: {contains: x}}, on_empty: pass}",
    "a glob may match or not": "few: {every: box.item, where: {name: {glob: ['**']}}, must: {weight: 1}, on_empty: pass}",
    "an absent field": "few: {some: box.item, where: {label: {not: x}}}",
    "both sides of an invariant, which may be unknown one by one": (
        "few: {every: box.item, must: {sound: true, open: false}, on_empty: fail}"
    ),
    "a failing empty scope under an empty must": (
        "few: {every: box.item, where: {name: {in: [a, b]}}, must: {name: {not: c}}, on_empty: fail}"
    ),
}


@pytest.mark.parametrize(("condition", "said"), EMPTY.values(), ids=EMPTY)
def test_a_condition_that_means_nothing(condition: str, said: str) -> None:
    (sentence,) = mistakes(leaf(condition))
    assert said in sentence


@pytest.mark.parametrize("condition", MEANT.values(), ids=MEANT)
def test_a_condition_that_means_something(condition: str) -> None:
    load(leaf(condition))


def conjunction(*conditions: str, listed: str | None = None) -> str:
    names = listed or ", ".join(text.split(":", 1)[0].strip("▸") for text in conditions)
    body = "\n".join(f"  {text}" for text in conditions)
    return edit(
        ("  lid-shut: {one: box.lid, must: {shut: true}}\n", ""),
        (
            "  reds-open:\n    every: box.item\n    where: {color: red}\n    must: {open: true}\n    on_empty: pass\n",
            "",
        ),
        ("  few: {count: box.item, at_most: {parameter: most}}", body),
        ("parameters:\n  most: {type: integer, default: 3}\n", ""),
        ("[lid-shut, reds-open, few]", f"[{names}]"),
    )


FOLLOWS = {
    "a weaker bound": (
        ["a: {count: box.item, at_most: 2}", "▸b: {count: box.item, at_most: 3}"],
        ["in check, b follows from a"],
    ),
    "whatever the order": (
        ["▸a: {count: box.item, at_most: 3}", "b: {count: box.item, at_most: 2}"],
        ["in check, a follows from b"],
    ),
    "a narrower scope": (
        [
            "a: {every: box.item, must: {open: true}, on_empty: fail}",
            "▸b: {every: box.item, where: {color: red}, must: {open: true}, on_empty: pass}",
        ],
        ["in check, b follows from a"],
    ),
    "the same with none": (
        [
            "a: {every: box.item, must: {open: true}, on_empty: fail}",
            "▸b: {none: box.item, where: {open: false}, on_empty: pass}",
        ],
        ["in check, b follows from a"],
    ),
    "two together": (
        [
            "a: {every: box.item, where: {color: red}, must: {weight: 1}, on_empty: pass}",
            "b: {every: box.item, where: {color: {not: red}}, must: {weight: 1}, on_empty: fail}",
            "▸c: {every: box.item, must: {weight: {at_most: 1}}, on_empty: pass}",
        ],
        ["in check, c follows from its neighbours"],
    ),
    "existence": (
        ["a: {one: box.item, where: {color: red}, must: {open: true}}", "▸b: {some: box.item}"],
        ["in check, b follows from a"],
    ),
    "one that need not apply": (
        [
            "▸a: {every: box.item, where: {color: red}, must: {open: true}, on_empty: not_applicable}",
            "b: {every: box.item, where: {color: red}, must: {open: true, weight: 1}, on_empty: fail}",
        ],
        ["in check, a follows from b"],
    ),
    "a singleton": (
        ["a: {one: box.lid, must: {screws: 4}}", "▸b: {one: box.lid, must: {screws: {at_least: 1}}}"],
        ["in check, b follows from a"],
    ),
    "any of what is there": (
        [
            "a: {one: box.lid, must: {screws: 4}}",
            "b: {one: box.lid, must: {shut: true}}",
            "▸c: {any: [a, d]}",
            "d: {some: box.item}",
        ],
        ["in check, c follows from a"],
    ),
}


@pytest.mark.parametrize(("conditions", "said"), FOLLOWS.values(), ids=FOLLOWS)
def test_a_conjunct_that_follows(conditions: list[str], said: list[str]) -> None:
    listed = "a, b, c" if any(text.startswith("d:") for text in conditions) else None
    sentences = mistakes(conjunction(*conditions, listed=listed))
    assert [part in sentence for part, sentence in zip(said, sentences, strict=True)] == [True] * len(said)


STANDS = {
    "a bound on another scope": [
        "a: {count: box.item, at_most: 2}",
        "b: {count: box.item, where: {open: true}, at_most: 1}",
    ],
    "none of anything": ["a: {none: box.item, on_empty: pass}", "b: {one: box.lid, must: {shut: true}}"],
    "neighbours that may both not apply": [
        "a: {every: box.item, where: {color: red}, must: {weight: 1}, on_empty: not_applicable}",
        "b: {every: box.item, where: {color: red}, must: {weight: {at_most: 1}}, on_empty: pass}",
    ],
    "along an invariant, which may be unknown": [
        "a: {every: box.item, must: {sound: true}, on_empty: fail}",
        "b: {every: box.item, must: {open: false}, on_empty: pass}",
    ],
    "some in one branch of any": ["a: {any: [c, d]}", "b: {some: box.item, where: {color: red}}"],
}


@pytest.mark.parametrize("conditions", STANDS.values(), ids=STANDS)
def test_a_conjunct_that_stands(conditions: list[str]) -> None:
    more = (
        ["c: {one: box.lid, must: {shut: true}}", "d: {count: box.item, at_most: 7}"] if "any" in conditions[0] else []
    )
    load(conjunction(*conditions, *more, listed="a, b"))


def test_a_parameter_is_never_called_superfluous() -> None:
    load(edit((", few]", ", few, fewer]"), ("  few:", "  fewer: {count: box.item, at_most: 2}\n  few:")))


def test_a_default_can_make_a_condition_impossible() -> None:
    (sentence,) = mistakes(edit(("default: 3", "default: -1")).replace("  few:", "  ▸few:"))
    assert "few can't be true: no number is at least 0 and at most -1" in sentence


def test_a_combination_is_examined_like_a_validator() -> None:
    more = [
        "both: {all: [few-more, few-less]}",
        "▸few-more: {count: box.item, at_most: 9}",
        "few-less: {count: box.item, at_most: 5}",
    ]
    (sentence,) = mistakes(conjunction(*more, listed="both"))
    assert "in both, few-more follows from few-less" in sentence


def test_meaning_is_examined_only_when_everything_else_is_right() -> None:
    (sentence,) = mistakes(
        edit(
            ("at_most: {parameter: most}", "at_most: -1, ▸upto: 2"),
            ("parameters:\n  most: {type: integer, default: 3}\n", ""),
        )
    )
    assert 'count has no key "upto"' in sentence


DIFF_HEAD = (
    'schema_version: "1.0"\nbundle: {id: demo, version: 1.0.0, owner: me, backend: unified_diff}\nconditions:\n  it: '
)


def load_over_patches(condition: str) -> Leaf:
    text = DIFF_HEAD + condition + "\nvalidators:\n  check: {all: [it]}\n"
    loaded = load_bundle(text.encode(), "bundle.yaml", backend_kinds).conditions["it"]
    assert isinstance(loaded, Leaf)
    return loaded


def test_an_absent_field_fails_even_a_demand_that_lists_all_values() -> None:
    loaded = load_over_patches("{some: candidate.file, where: {within_limit: {in: [true, false]}}}")
    assert loaded.where[0].operands == (True, False)


def test_what_tells_too_many_facts_apart_is_let_pass() -> None:
    """Nothing is certain of it, and a lint that guesses is worse than none."""
    numbers = ("files", "hunks", "added_lines", "removed_lines", "prose_lines", "line", "first_prose_line")
    where = ", ".join(f"{name}: {{at_least: 1}}" for name in numbers)
    must = ", ".join(f"{name}: {{at_most: 9}}" for name in numbers)
    loaded = load_over_patches(
        f"{{one: patch.structure, where: {{{where}, reason: {{not: x}}}}, must: {{{must}, reason: {{not: y}}}}}}"
    )
    assert len(loaded.demands) == 16


def test_a_condition_is_spelled_as_it_was_written() -> None:
    written = "{count: box.item, where: {weight: {at_most: {parameter: most}}, open: false}, at_most: 3}"
    text = edit(("{count: box.item, at_most: {parameter: most}}", written))
    loaded = load(text).conditions["few"]
    assert leaf_text(loaded) == written


@pytest.mark.parametrize(("crowd", "told"), [(16, True), (17, False)])
def test_of_a_crowd_over_the_same_fields_nothing_is_said(crowd: int, told: bool) -> None:
    many = [
        f"c{n}: {{every: box.item, where: {{name: n{n}}}, must: {{weight: {n}}}, on_empty: pass}}"
        for n in range(crowd - 1)
    ]
    last = "z: {every: box.item, where: {name: n0}, must: {weight: {at_most: 0}}, on_empty: pass}"
    text = conjunction(*many, "y: {some: box.item, where: {weight: 7}}", last)
    if told:
        (sentence,) = mistakes(text.replace("  z: {", "  ▸z: {"))
        assert "in check, z follows from c0" in sentence
    else:
        load(text)
