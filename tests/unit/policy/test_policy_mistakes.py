"""Every mistake that a rule bundle can have: what is said, where, and nothing besides.

In the texts, ▸ stands before each place where a mistake is expected; it is taken out before loading.
"""

import pytest

from idkmesh_rules.errors import PolicyError
from idkmesh_rules.policy import load_bundle
from tests.property.policy_strategies import KINDS

BASE = """\
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
    on_empty: pass
  few: {count: box.item, at_most: {parameter: most}}
validators:
  check: {all: [lid-shut, reds-open, few]}
escalate: []
"""


def load(text: str):
    return load_bundle(text.encode(), "bundle.yaml", lambda _: KINDS)


def expected_places(marked: str) -> tuple[str, list[tuple[int, int]]]:
    places = []
    while "▸" in marked:
        offset = marked.index("▸")
        marked = marked[:offset] + marked[offset + 1 :]
        places.append((marked.count("\n", 0, offset) + 1, offset - marked.rfind("\n", 0, offset)))
    return marked, places


def mistakes(marked: str) -> list[str]:
    """Load a text, hold the places of the mistakes to those marked in it, and return what was said."""
    text, places = expected_places(marked)
    with pytest.raises(PolicyError) as caught:
        load(text)
    problems = caught.value.problems
    said = [f"{problem.message} | {problem.hint}" for problem in problems]
    assert [(problem.line, problem.column) for problem in problems] == places, said
    for problem in problems:
        assert problem.document == "bundle.yaml"
        assert problem.source_line == text.split("\n")[problem.line - 1]
    return said


def edit(*changes: tuple[str, str], base: str = BASE) -> str:
    for old, new in changes:
        assert base.count(old) == 1, old
        base = base.replace(old, new)
    return base


def leaf(text: str) -> str:
    """The base with the one-line condition `few` replaced."""
    return edit(
        ("few: {count: box.item, at_most: {parameter: most}}", text),
        ("parameters:\n  most: {type: integer, default: 3}\n", ""),
    )


def test_the_base_is_a_bundle():
    bundle = load(BASE)
    assert tuple(bundle.conditions) == ("lid-shut", "reds-open", "few")
    assert bundle.validators["check"].children == ("lid-shut", "reds-open", "few")
    assert bundle.reads("check") == ("box.lid", "box.item")
    assert bundle.reads("nobody") == ()
    assert (bundle.id, bundle.version, bundle.owner, bundle.backend) == ("demo", "1.0.0", "me", "unified_diff")


TOP = {
    "unknown key": (
        edit(("escalate: []", "▸escalade: []")),
        ['a rule bundle has no key "escalade" | did you mean "escalate"?'],
    ),
    "no schema version": (
        edit(('schema_version: "1.0"\n', "")).replace("bundle:", "▸bundle:", 1),
        ["a rule bundle needs the key schema_version"],
    ),
    "another schema version": (
        edit(('"1.0"', '▸"2.0"')),
        ['this engine reads rule bundles of schema_version 1.0, not "2.0"'],
    ),
    "header not a mapping": (
        edit(("{id: demo, version: 1.0.0, owner: me, backend: unified_diff}", "▸demo")),
        ['expected id, version, owner and backend of the bundle, found "demo"'],
    ),
    "no owner": (
        edit(("bundle: {id: demo, version: 1.0.0, owner: me,", "▸bundle: {id: demo, version: 1.0.0,")),
        ["bundle needs the key owner"],
    ),
    "mistyped owner is told once": (
        edit(("owner: me", "▸ovner: me")),
        ['bundle has no key "ovner" | did you mean "owner"?'],
    ),
    "id in capitals": (edit(("id: demo", "id: ▸Demo")), ['expected a bundle id of a–z, 0–9 and -, found "Demo"']),
    "version of two numbers": (
        edit(("version: 1.0.0", "version: ▸1.0")),
        ['expected a version such as 1.0.0, found "1.0"'],
    ),
    "unknown backend": (
        edit(("unified_diff", "▸unified-diff")),
        ['expected a backend, found "unified-diff" | did you mean "unified_diff"?'],
    ),
    "owner empty": (edit(("owner: me", "owner: ▸")), ["expected who answers for the bundle, found nothing"]),
    "conditions a list": (
        edit(("conditions:\n", "conditions: ▸[]\nrest:\n")).replace("rest:", "▸rest:"),
        ["expected named conditions, found a list", 'a rule bundle has no key "rest"'],
    ),
    "top level a list": ("▸- a\n", ["expected a rule bundle, beginning with schema_version, found a list"]),
    "validators a list": (
        edit(("validators:\n  check: {all: [lid-shut, reds-open, few]}", "validators: ▸[lid-shut]")),
        ["expected validators and the conditions that they demand, found a list"],
    ),
    "a validator with any": (
        edit(("{all: [lid-shut, reds-open, few]}", "{▸any: [lid-shut, reds-open, few]}")).replace("check", "▸check"),
        ["a validator needs the key all", "a validator is a conjunction"],
    ),
    "a validator without conditions": (
        edit(("[lid-shut, reds-open, few]", "▸[]")),
        ["expected the conditions of check, found an empty list"],
    ),
    "a validator that is a list": (
        edit(("{all: [lid-shut, reds-open, few]}", "▸[lid-shut, reds-open, few]")),
        ["expected a validator, as {all: [conditions]}, found a list"],
    ),
    "a validator id with a space": (
        edit(("  check:", '  ▸"ch eck":')),
        ["expected a validator id as a WorkUnit spells it"],
    ),
    "escalate a text": (
        edit(("escalate: []", "escalate: ▸few")),
        ['expected escalate, found "few" | write it as [...]'],
    ),
}
PARAMETERS = {
    "unknown type": (edit(("type: integer", "type: ▸int")), ['expected a parameter type, found "int" | did you mean']),
    "no default": (
        edit(("most: {type: integer, default: 3}", "▸most: {type: integer}")),
        ["a parameter needs the key default"],
    ),
    "default of another type": (
        edit(("default: 3", 'default: ▸"3"')),
        ['expected an integer as the default of most, found the text "3" | write it without quotes'],
    ),
    "default a bool for an integer": (
        edit(("default: 3", "default: ▸true")),
        ["expected an integer as the default of most"],
    ),
    "leading zero": (edit(("default: 3", "default: ▸03")), ['found "03"']),
    "underscore": (edit(("default: 3", "default: ▸1_000")), ['found "1_000"']),
    "plus sign": (edit(("default: 3", "default: ▸+3")), ['found "+3"']),
    "sexagesimal": (edit(("default: 3", "default: ▸12:30")), ['found "12:30"']),
    "beyond 2^53": (edit(("default: 3", "default: ▸9007199254740993")), ["9007199254740993 is beyond 2^53"]),
    "unused": (
        edit(("{parameter: most}", "3")).replace("most:", "▸most:", 1),
        ["the parameter most is used by no condition"],
    ),
    "unknown": (
        edit(("{parameter: most}", "{parameter: ▸mots}")),
        ['there is no parameter "mots" | did you mean "most"?'],
    ),
    "name with a dash": (
        edit(("  most:", "  ▸mo-st:"), ("parameter: most", "parameter: mo-st")),
        ["expected a parameter name"],
    ),
    "not a mapping": (
        edit(("{type: integer, default: 3}", "▸3")),
        ['expected type and default of a parameter, found "3"'],
    ),
    "of the wrong type for its field": (
        edit(("must: {open: true}", "must: {open: {parameter: ▸most}}")),
        ["the parameter most is of type integer, but open takes true or false"],
    ),
    "default that is no value of the enum": (
        edit(
            ("{type: integer, default: 3}", "{type: string, default: rde}"),
            ("color: red", "color: {parameter: ▸most}"),
            ("at_most: {parameter: most}", "at_most: 3"),
        ),
        ['the default of the parameter most can\'t stand here: "rde" is no value of color | did you mean "red"?'],
    ),
    "operand with another key": (
        edit(("{parameter: most}", "{parameter: most, ▸plus: 1}")),
        ['an operand has no key "plus"'],
    ),
}
NAMES = {
    "unknown condition is told once": (
        edit(("[lid-shut, reds-open, few]", "[lid-shut, ▸red-open, few]")),
        ['there is no condition "red-open" | did you mean "reds-open"?'],
    ),
    "a validator among conditions": (
        edit(("escalate: []", "escalate: [▸check]")),
        ['there is no condition "check" | a validator is no condition'],
    ),
    "unused condition": (
        edit((", few]", "]")).replace("  few:", "  ▸few:"),
        ["the condition few is used by no validator and no escalation"],
    ),
    "a name twice": (edit((", few]", ", few, ▸few]")), ["few stands twice in the conditions of check"]),
    "duplicate condition": (
        leaf("▸few: {every: box.item, on_empty: pass, must: {open: true}, where: {color: red}}"),
        ["few says the same as reds-open on line 5"],
    ),
    "circle": (leaf("few: {all: [few-more]}\n  few-more: {any: [▸few, lid-shut]}"), ["goes round in a circle"]),
    "itself": (leaf("few: {all: [▸few]}"), ["few → few goes round in a circle"]),
    "not applicable under any": (
        leaf(
            "few: {any: [▸nested, lid-shut]}\n  nested: {all: [blue]}\n"
            "  blue: {every: box.item, where: {color: blue}, must: {open: true}, on_empty: not_applicable}"
        ),
        ["blue (in nested) can be not applicable, and so may not stand under any"],
    ),
    "a condition name with a capital": (
        edit(("  few:", "  ▸Few:"), (", few]", ", Few]")),
        ["expected a condition name"],
    ),
    "a condition name that is a mapping": (
        edit((", few]", ", ▸{few: 1}]")),
        ["expected the name of a condition, found a mapping"],
    ),
    "a combination with where": (
        leaf("few: {all: [lid-shut, reds-open], ▸where: {color: red}}"),
        ["all combines conditions"],
    ),
}
LEAVES = {
    "a kind that is a list": (leaf("few: {some: ▸[box.item]}"), ["expected the name of a fact kind, found a list"]),
    "on_empty a list": (
        leaf("few: {none: box.item, where: {open: true}, on_empty: ▸[pass]}"),
        ["what an empty scope means, found a list"],
    ),
    "all of a text": (leaf("few: {all: ▸lid-shut}"), ["expected the conditions of all, found"]),
    "no form": (leaf("▸few: {where: {color: red}}"), ["the condition few has no form"]),
    "mistyped form": (
        leaf("few: {▸evry: box.item, must: {open: true}, on_empty: pass}"),
        ['there is no form "evry" | did you mean "every"?'],
    ),
    "two forms": (
        leaf("few: {one: box.lid, ▸some: box.item}"),
        ["a condition has one form, this one has one and some"],
    ),
    "no mapping": (leaf("few: ▸box.item"), ["expected a condition, such as"]),
    "unknown kind": (leaf("few: {some: ▸box.itme}"), ['there is no fact kind "box.itme" | did you mean "box.item"?']),
    "unknown field": (
        leaf("few: {some: box.item, where: {▸colour: red}}"),
        ['box.item has no field "colour" | did you mean "color"?'],
    ),
    "unknown key": (
        leaf("few: {some: box.item, ▸wher: {color: red}}"),
        ['some has no key "wher" | did you mean "where"?'],
    ),
    "every without on_empty": (
        leaf("▸few: {every: box.item, must: {open: true}}"),
        ["every has to say what holds when there is no fact in its scope | add on_empty: fail, pass"],
    ),
    "none without on_empty": (leaf("▸few: {none: box.item, where: {open: true}}"), ["none has to say what holds"]),
    "on_empty mistyped": (
        leaf("few: {none: box.item, where: {open: true}, on_empty: ▸succeed}"),
        ["expected what an empty scope means"],
    ),
    "on_empty where it has no place": (
        leaf("few: {some: box.item, ▸on_empty: pass}"),
        ["on_empty speaks of every and none"],
    ),
    "must where it has no place": (
        leaf("few: {none: box.item, ▸must: {open: true}, on_empty: pass}"),
        ["must belongs to one and every"],
    ),
    "a bound where it has no place": (leaf("few: {some: box.item, ▸at_least: 1}"), ["a bound belongs to count"]),
    "must missing": (leaf("▸few: {every: box.item, on_empty: pass}"), ["every needs the key must"]),
    "must empty": (leaf("few: {every: box.item, must: ▸{}, on_empty: pass}"), ["found an empty mapping"]),
    "a singleton with every": (
        leaf("few: {▸every: box.lid, must: {screws: 4}, on_empty: fail}"),
        ["there is at most one box.lid, so every says nothing about it | write one: box.lid"],
    ),
    "count without a bound": (leaf("▸few: {count: box.item}"), ["count has no bound"]),
    "count with a text as bound": (
        leaf("few: {count: box.item, at_most: ▸many}"),
        ["expected an integer for count, found"],
    ),
    "yes is no bool": (
        leaf("few: {some: box.item, where: {open: ▸yes}}"),
        ['expected true or false for open, found "yes"'],
    ),
    "a quoted bool": (leaf('few: {some: box.item, where: {open: ▸"true"}}'), ["write it without quotes"]),
    "one is no bool": (leaf("few: {some: box.item, where: {open: ▸1}}"), ["expected true or false for open"]),
    "octal": (leaf("few: {some: box.item, where: {weight: ▸017}}"), ['expected an integer for weight, found "017"']),
    "minus zero": (leaf("few: {some: box.item, where: {weight: ▸-0}}"), ["expected an integer for weight"]),
    "no value of the enum": (
        leaf("few: {some: box.item, where: {color: ▸gren}}"),
        ['"gren" is no value of color | did you mean "green"?'],
    ),
    "no digest": (leaf("few: {some: box.item, where: {digest: ▸sha256:12}}"), ['"sha256:12" is no digest']),
    "a list as demand": (
        leaf("few: {some: box.item, where: {color: ▸[red, blue]}}"),
        ["a list is no demand of color | write {in: [...]}"],
    ),
    "two demands": (
        leaf("few: {some: box.item, where: {weight: ▸{at_least: 1, at_most: 2}}}"),
        ["expected one demand of weight, found 2"],
    ),
    "unknown demand": (
        leaf("few: {some: box.item, where: {weight: {▸at_lest: 1}}}"),
        ['there is no demand "at_lest" | did you mean'],
    ),
    "a bound on a text": (
        leaf("few: {some: box.item, where: {label: {▸at_least: 1}}}"),
        ["at_least is for fields of type int; label is of type string"],
    ),
    "a glob on an enum": (
        leaf("few: {some: box.item, where: {color: {▸glob: [r*]}}}"),
        ["glob is for fields of type string"],
    ),
    "a glob that is no list": (
        leaf("few: {some: box.item, where: {label: {glob: ▸src/**}}}"),
        ["expected a list of values for glob"],
    ),
    "a glob that climbs": (leaf("few: {some: box.item, where: {label: {glob: [▸../x]}}}"), ['"../x" is no pattern']),
    "contains nothing": (leaf('few: {some: box.item, where: {label: {contains: ▸""}}}'), ["expected a text for label"]),
    "an empty list": (leaf("few: {some: box.item, where: {color: {in: ▸[]}}}"), ["found an empty list"]),
    "a value twice": (
        leaf("few: {some: box.item, where: {color: {in: [red, ▸red]}}}"),
        ["this value stands twice in the list"],
    ),
    "nothing as a value": (
        leaf("few: {some: box.item, where: {label: ▸}}"),
        ["expected a text for label, found nothing"],
    ),
    "two at once": (
        leaf("few: {every: box.item, must: {▸colour: red, open: ▸yes}, on_empty: pass}"),
        ['box.item has no field "colour"', "expected true or false for open"],
    ),
}
FINDINGS = {
    "a finding that is a text": (
        leaf("few: {some: box.item, finding: ▸bad}"),
        ["expected severity, category and summary of a finding"],
    ),
    "a summary that is a list": (
        leaf("few: {some: box.item, finding: {severity: high, category: scope, summary: ▸[s]}}"),
        ["expected a summary, found a list"],
    ),
    "a line without such a field": (
        leaf('few: {some: box.item, finding: {severity: high, category: scope, summary: s, line: ▸"{wieght}"}}'),
        ['box.item has no field "wieght" | did you mean "weight"?'],
    ),
    "unknown severity": (
        leaf("few: {some: box.item, finding: {severity: ▸hihg, category: scope, summary: s}}"),
        ['expected a severity, found "hihg" | did you mean "high"?'],
    ),
    "unknown category": (
        leaf("few: {some: box.item, finding: {severity: high, category: ▸scopes, summary: s}}"),
        ["expected a category"],
    ),
    "no summary": (
        leaf("few: {some: box.item, finding: ▸{severity: high, category: scope}}"),
        ["finding needs the key summary"],
    ),
    "a placeholder that is no field": (
        leaf('few: {some: box.item, finding: {severity: high, category: scope, summary: ▸"{nam} is bad"}}'),
        ['box.item has no field "nam" | did you mean "name"?'],
    ),
    "a stray brace": (
        leaf('few: {some: box.item, finding: {severity: high, category: scope, summary: ▸"{name"}}'),
        ['"{" is no placeholder'],
    ),
    "an attribute": (
        leaf('few: {some: box.item, finding: {severity: high, category: scope, summary: ▸"{name.x}"}}'),
        ["is no placeholder"],
    ),
    "a line that is no integer": (
        leaf('few: {some: box.item, finding: {severity: high, category: scope, summary: s, line: ▸"{name}"}}'),
        ['expected one integer field of box.item as {field}, found "{name}" | write {weight}'],
    ),
}
YAML = {
    "a key twice": (
        edit(("  few:", "  lid-shut: {}\n  few:")).replace("  lid-shut: {}", "  ▸lid-shut: {}"),
        ['the key "lid-shut" stands twice in one mapping | it stood first on line 6'],
    ),
    "anchor and alias": (
        edit(("{color: red}", "{color: ▸&x red}"), ("{open: true}", "{label: ▸*x}")),
        ["the anchor &x may not stand", "the alias *x may not stand"],
    ),
    "an alias as a key": (
        edit(("{color: red}", "{▸&x color: red}"), ("{open: true}", "{▸*x : red, open: true}")),
        ["the anchor &x may not stand", "the alias *x may not stand"],
    ),
    "a tag": (edit(("color: red", "color: ▸!!str red")), ['the tag "tag:yaml.org,2002:str" may not stand']),
    "a merge key": (
        edit(("must: {open: true}", "must: {▸<<: {open: true}, whole: true}")),
        ["merge keys may not stand"],
    ),
    "a directive": ("%YAML 1.1\n---\n" + BASE, None),
    "two documents": (BASE + "▸---\na: b\n", ["a second document begins here"]),
    "a key that is a list": (
        edit(("color: red", "▸[color]: red, color: red")),
        ["a key has to be a text, not a collection"],
    ),
    "a key that is missing": (edit(("escalate: []", "escalate: []\n?▸\n: few")), ["a key is missing here"]),
    "a tab for indentation": (edit(("    where:", "\t▸where:")).replace("\t▸", "▸\t"), ["this is not YAML"]),
    "an unclosed bracket": (
        edit(("reds-open, few]}", "reds-open, few}▸")).replace("few}▸", "few▸}"),
        ["this is not YAML"],
    ),
    "nothing": ("▸", ["the file is empty"]),
    "only a comment": ("▸# hello\n", ["the file is empty"]),
    "CRLF": (edit(('"1.0"\n', '"1.0"▸\r\n')), ["a carriage return may not stand in a rule bundle"]),
    "NEL": (edit(("owner: me", "owner: m▸\x85e")), ["a next-line character"]),
    "line separator": (edit(("owner: me", "owner: m▸\u2028e")), ["a line separator (U+2028)"]),
    "paragraph separator": (edit(("owner: me", "owner: m▸\u2029e")), ["a paragraph separator (U+2029)"]),
    "BOM": ("▸\ufeff" + BASE, ["a byte order mark"]),
    "NUL": (edit(("owner: me", "owner: m▸\0e")), ["the control character U+0000"]),
    "after text that is not ASCII": (
        edit(("owner: me, backend: unified_diff", "owner: é😀ü, backend: ▸x")),
        ["expected a backend"],
    ),
}


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        pytest.param(*case, id=f"{table}: {name}")
        for table, cases in (
            ("top", TOP),
            ("parameters", PARAMETERS),
            ("names", NAMES),
            ("leaves", LEAVES),
            ("findings", FINDINGS),
            ("yaml", YAML),
        )
        for name, case in cases.items()
        if case[1] is not None
    ],
)
def test_mistake(marked: str, expected: list[str]):
    said = mistakes(marked)
    for sentence, part in zip(said, expected, strict=True):
        assert part in sentence


def test_a_directive_is_refused():
    with pytest.raises(PolicyError, match="YAML directives may not stand"):
        load("%YAML 1.1\n---\n" + BASE)


def test_bytes_that_are_not_utf_8_are_placed_in_characters():
    with pytest.raises(PolicyError) as caught:
        load_bundle('a: "é"\nü: '.encode() + b"\xff\n", "bundle.yaml", lambda _: KINDS)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (2, 4)
    assert "byte 0xff is not UTF-8" in problem.message


def test_a_file_over_its_limit_is_not_parsed():
    with pytest.raises(PolicyError, match="more than the 1048576"):
        load_bundle(b"#" * ((1 << 20) + 1), "bundle.yaml", lambda _: KINDS)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "a: " + "{b: " * 40_000, "- " * 200 + "x", "? " * 3_000],
    ids=["flow", "maps", "block", "keys"],
)
def test_depth_is_bounded_without_recursion(text: str):
    with pytest.raises(PolicyError, match=r"nested more than 32 deep|exceeded maximum nesting depth"):
        load(text)


def test_a_ladder_of_pairs_is_refused_before_it_doubles():
    rungs = "".join(
        f"  r{n}: {{all: [r{n + 1}, s{n + 1}]}}\n  s{n}: {{any: [r{n + 1}, s{n + 1}]}}\n" for n in range(14)
    )
    ends = "  r14: {some: box.item, where: {color: red}}\n  s14: {some: box.item, where: {color: blue}}\n"
    text = edit(("  few:", rungs + ends + "  few:"), (", few]", ", few, r0, s0]"))
    with pytest.raises(PolicyError, match="would have more than 10000 nodes"):
        load(text)


def test_plain_scalars_are_what_the_schema_says():
    bundle = load(
        leaf("few: {some: box.item, where: {label: {in: [no, on, 017, 12:30, null, 2001-01-01, '']}}}").replace(
            ", ''", ""
        )
    )
    assert bundle.conditions["few"].where[0].operands == ("no", "on", "017", "12:30", "null", "2001-01-01")


def test_the_pure_python_loader_reads_the_same(monkeypatch: pytest.MonkeyPatch):
    import yaml

    from idkmesh_rules.policy import yaml_reader

    with_c = load(BASE)
    monkeypatch.delattr(yaml, "CLoader")
    yaml_reader._loader.cache_clear()
    try:
        assert load(BASE) == with_c
    finally:
        monkeypatch.undo()
        yaml_reader._loader.cache_clear()


def test_many_circles_are_told_up_to_a_bound():
    rings = "".join(f"  r{n}: {{any: [r{n}, lid-shut]}}\n" for n in range(25))
    names = ", ".join(f"r{n}" for n in range(25))
    with pytest.raises(PolicyError) as caught:
        load(edit(("  few:", rings + "  few:"), (", few]", f", few, {names}]")))
    assert [problem.message.split(" goes")[0] for problem in caught.value.problems] == [
        f"r{n} → r{n}" for n in range(20)
    ]


def test_a_long_chain_of_combinations_is_refused():
    chain = "".join(f"  r{n}: {{all: [r{n + 1}]}}\n" for n in range(5000)) + "  r5000: {some: box.item}\n"
    with pytest.raises(PolicyError, match="r0 combines conditions more than 32 deep"):
        load(edit(("  few:", chain + "  few:"), (", few]", ", few, r0]")))


OTHERS = {"sandboxed_equality": {}, "unified_diff": {}, "workspace": KINDS, "exact_json": {}}


def test_a_kind_of_another_backend_is_called_one() -> None:
    with pytest.raises(PolicyError) as caught:
        load_bundle(BASE.encode(), "bundle.yaml", OTHERS.__getitem__)
    told = [str(problem) for problem in caught.value.problems if "box.lid" in problem.message]
    hint = "it is a kind of the backend workspace; this bundle is for unified_diff"
    assert told == [f'bundle.yaml:6:19: there is no fact kind "box.lid" ({hint})']
    text = BASE.replace("backend: unified_diff", "backend: workspace")
    assert load_bundle(text.encode(), "bundle.yaml", OTHERS.__getitem__).backend == "workspace"


def test_a_wrong_backend_is_the_only_mistake_told() -> None:
    text = BASE.replace("backend: unified_diff", "backend: workspce")
    with pytest.raises(PolicyError) as caught:
        load_bundle(text.encode(), "bundle.yaml", OTHERS.__getitem__)
    assert [problem.line for problem in caught.value.problems] == [2]
