"""The laws of bundle tests: equivalence is never claimed wrongly, what is written is read back, repaired facts can exist."""

from hypothesis import given, settings
from hypothesis import strategies as st

from idkmesh_rules.checks import kinds_of_all
from idkmesh_rules.model.bundle import Bundle, Demand, Floor, Form, Leaf, Mark, Operator, Validator
from idkmesh_rules.model.facts import FactKind, FactStore, FieldType, Unknown
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.policy import decide_unsafe_without_floor, load_bundle
from idkmesh_rules.policy.testing.coverage import coverage, met, obligations
from idkmesh_rules.policy.testing.equivalence import equivalent
from idkmesh_rules.policy.testing.fields import broken_invariant
from idkmesh_rules.policy.testing.mutants import mutants
from idkmesh_rules.policy.testing.read import read_suite
from idkmesh_rules.policy.testing.repair import consistent
from idkmesh_rules.policy.testing.run import staged
from idkmesh_rules.policy.testing.suite import Action, Edit, Expectation
from idkmesh_rules.policy.testing.write import base_yaml, case_yaml
from tests.property import policy_naive as naive
from tests.property.policy_strategies import ITEM, KINDS, LID, bundles, leaves, stores

MARK = Mark(1, 1)


def single(leaf: Leaf) -> Bundle:
    validators = {"first": Validator("first", (leaf.name,), MARK)}
    return Bundle(
        "demo", "1.0.0", "me", "unified_diff", "sha256:" + "3" * 64, {}, {leaf.name: leaf}, validators, (), "b", MARK
    )


@settings(max_examples=60, deadline=None)
@given(leaves("leaf"), st.lists(stores(), min_size=6, max_size=12))
def test_leaves_that_are_called_equivalent_never_differ(leaf: Leaf, many: list[FactStore]) -> None:
    """On any fact set, with unknown fields and incomplete kinds, and by the naive reading of the tables."""
    for mutant in mutants(single(leaf)):
        other = mutant.bundle.conditions[leaf.name]
        assert isinstance(other, Leaf)
        if equivalent(leaf, other, {}):
            for each in many:
                assert naive.leaf(leaf, each) == naive.leaf(other, each), (leaf, other)


@settings(max_examples=150, deadline=None)
@given(leaves("leaf"), leaves("leaf"), st.lists(stores(), min_size=6, max_size=12))
def test_any_two_leaves(one: Leaf, other: Leaf, many: list[FactStore]) -> None:
    """Equivalence is symmetric and reflexive, and two leaves that differ on some fact set are never called equivalent."""
    assert equivalent(one, one, {})
    if one.kind is other.kind:
        said = equivalent(one, other, {})
        assert said == equivalent(other, one, {})
        if any(naive.leaf(one, each) != naive.leaf(other, each) for each in many):
            assert not said


BUNDLE = load_bundle(
    b"""\
schema_version: "1.0"
bundle: {id: demo, version: 1.0.0, owner: me, backend: unified_diff}
conditions:
  shut: {one: box.lid, must: {shut: true}}
  reds-open: {every: box.item, where: {color: red}, must: {open: true}, on_empty: not_applicable}
validators:
  check: {all: [shut, reds-open]}
""",
    "bundle.yaml",
    lambda _backend: KINDS,
)
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30).filter(
    lambda text: "{n}" not in text
)
values = {
    FieldType.BOOL: st.booleans(),
    FieldType.INT: st.integers(-(1 << 53), 1 << 53),
    FieldType.STRING: texts,
    FieldType.DIGEST: st.integers(0, 2**256 - 1).map(lambda number: f"sha256:{number:064x}"),
}


def field_values(kind: FactKind, position: int) -> st.SearchStrategy[object]:
    declared = kind.fields[position]
    known = st.sampled_from(declared.values) if declared.type is FieldType.ENUM else values[declared.type]
    options = [known]
    if declared.optional:
        options.append(st.none())
    if not declared.key:
        options.append(texts.map(Unknown))
    return st.one_of(options)


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    kind = draw(st.sampled_from((ITEM, LID)))
    action = draw(st.sampled_from(tuple(Action)))
    if action is Action.CRASH:
        return Edit(action, kind, MARK)
    where = (Demand(ITEM.fields[0], Operator.IN, (draw(texts),), MARK),) if kind is ITEM and draw(st.booleans()) else ()
    if action is Action.SET:
        chosen = draw(st.lists(st.sampled_from(range(len(kind.fields))), min_size=1, unique=True))
        return Edit(action, kind, MARK, where, tuple([(at, draw(field_values(kind, at))) for at in chosen]))
    if action is Action.ADD:
        row = tuple([draw(field_values(kind, at)) for at in range(len(kind.fields))])
        if broken_invariant(kind, row) is not None:
            return Edit(Action.DROP, kind, MARK, where)
        return Edit(action, kind, MARK, (), tuple(enumerate(row)), draw(st.integers(1, 5)))
    if action is Action.UNKNOWN and draw(st.booleans()):
        return Edit(action, kind, MARK, where, ((1, None),))
    return Edit(action, kind, MARK, where if action is Action.DROP else ())


def plain(edit: Edit) -> tuple[object, ...]:
    """An edit without its marks, which depend on the page."""
    asked = tuple([(each.field.name, each.operator, each.operands) for each in edit.where])
    return edit.action, edit.kind.name, asked, edit.values, edit.repeat


HEAD = 'schema_version: "1.0"\nbundle: demo\n'


@settings(max_examples=300, deadline=None)
@given(st.lists(edits(), max_size=3), st.sampled_from(tuple(Recommendation)))
def test_a_case_is_read_as_it_was_written(changes: list[Edit], outcome: Recommendation) -> None:
    expected = Expectation(outcome, frozenset({"check/shut"}), frozenset({"reds-open"}))
    page = HEAD + "base:\n  box.lid: [{shut: true, screws: 1}]\ncases:\n" + case_yaml("it", changes, expected, ("why",))
    suite = read_suite(page.encode(), "tests.yaml", BUNDLE, KINDS, Floor("unified_diff", ()))
    assert suite.cases[0].expected == expected
    assert [plain(edit) for edit in suite.cases[0].edits] == [plain(edit) for edit in changes]


@settings(max_examples=200, deadline=None)
@given(stores())
def test_a_base_is_read_as_it_was_written(seen: FactStore) -> None:
    """Up to completeness, which a base always has."""
    page = HEAD + base_yaml(seen) + "cases: {it: {outcome: escalate}}\n"
    if not any(facts.rows for facts in seen):
        return
    suite = read_suite(page.encode(), "tests.yaml", BUNDLE, KINDS, Floor("unified_diff", ()))
    store = staged(suite, KINDS)[0].store
    assert {facts.kind.name: facts.rows for facts in store} == {facts.kind.name: facts.rows for facts in seen}


REAL = kinds_of_all()


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(sorted(REAL)))
def test_a_repaired_fact_can_exist_and_keeps_what_was_wanted(data: st.DataObject, name: str) -> None:
    kind = REAL[name]
    wanted = {}
    for position in data.draw(st.lists(st.sampled_from(range(len(kind.fields))), max_size=2, unique=True)):
        wanted[position] = data.draw(field_values(kind, position).filter(lambda value: not isinstance(value, Unknown)))
    row = consistent(kind, None, wanted)
    if row is not None:
        assert broken_invariant(kind, row) is None
        assert all(row[position] == value for position, value in wanted.items())


@settings(max_examples=200, deadline=None)
@given(bundles(), st.lists(stores(), min_size=1, max_size=4))
def test_coverage_meets_only_obligations_that_there_are(bundle: Bundle, many: list[FactStore]) -> None:
    """What decisions show is among what a bundle has to show, and more cases never show less."""
    decided = [
        (str(number), decide_unsafe_without_floor(bundle, each, parameters={}, required=("first", "second")))
        for number, each in enumerate(many)
    ]
    whole = coverage(bundle, decided).shown
    assert list(whole) == list(dict.fromkeys(obligations(bundle)))
    fewer = coverage(bundle, decided[:1]).shown
    assert all(whole[each] is not None for each, case in fewer.items() if case is not None)


def masked(bundle: Bundle, validator: str, values: dict[str, str]) -> str:
    """A validator's value, naively, if the leaves had `values`."""

    def of(name: str) -> str:
        rule = bundle.conditions[name]
        if isinstance(rule, Leaf):
            return values[name]
        below = [of(child) for child in rule.children]
        return naive.conjunction(below) if rule.form is Form.ALL else next((v for v in "TUF" if v in below), "N")

    return naive.conjunction([of(child) for child in bundle.validators[validator].children])


@settings(max_examples=300, deadline=None)
@given(bundles(), stores())
def test_coverage_is_masking_by_its_definition(bundle: Bundle, seen: FactStore) -> None:
    """T, F, U and N are shown exactly where the design says so, by replacing recorded values in a naive evaluation."""
    decision = decide_unsafe_without_floor(bundle, seen, parameters={}, required=("first", "second"))
    shown = {
        (each.owner, each.condition, each.value.letter) for each in met(bundle, decision) if each.owner != "escalate"
    }
    expected = set()
    for validator in bundle.validators.values():
        names = [leaf.name for leaf in bundle.leaves(validator.children)]
        values = {name: naive.condition(bundle, name, seen) for name in names}
        root = masked(bundle, validator.id, values)
        for name, value in values.items():
            with_false, with_true = (masked(bundle, validator.id, {**values, name: other}) for other in "FT")
            decides = {
                "T": root == "T" and with_false == "F",
                "F": root == "F" and with_true != "F",
                "U": root == "U" and with_false == "F",
                "N": root == "T",
            }
            if decides[value]:
                expected.add((validator.id, name, value))
    assert shown == expected
