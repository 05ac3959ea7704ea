"""The laws of the auditor's verbs, on any facts and any rules."""

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idkmesh_rules.audit.changes import Group, applied
from idkmesh_rules.audit.differences import differing
from idkmesh_rules.audit.stored import read_store
from idkmesh_rules.audit.whynot import MOST_SETS, why_not
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.model.bundle import Bundle, Floor
from idkmesh_rules.model.facts import FactStore, KindFacts, Unknown
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.result.assembly import Basis
from idkmesh_rules.result.documents import facts_document, file_bytes
from tests.property.policy_strategies import KINDS, bundles, leaves, stores

floors = st.builds(lambda leaf: Floor("unified_diff", (leaf,)), leaves("floor-leaf"))
required = st.sampled_from((("first", "second"), ("first",)))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text("xy", max_size=1), below, max_size=3),
    max_leaves=12,
)


def basis(bundle: Bundle, store: FactStore, floor: Floor, asked: tuple[str, ...]) -> Basis:
    subject: Any = None  # a decision doesn't depend on the documents
    return Basis(subject, bundle, b"", {}, asked, floor, (), store)


def accepts(given_basis: Basis, groups: tuple[Group, ...]) -> bool:
    changed = given_basis._replace(store=applied(given_basis.store, groups))
    return changed.decide().recommendation is Recommendation.ACCEPT


@settings(max_examples=300)
@given(stores())
def test_facts_are_read_back_as_they_were_written(store: FactStore) -> None:
    """Round trip: the store that is read from facts.json is the one that was written, and gives the same bytes again."""
    written = file_bytes(facts_document(store, "unified_diff", ()))
    read = read_store(read_document(written, "facts", "facts.json", max_bytes=2**20), KINDS)
    assert read == store
    assert file_bytes(facts_document(read, "unified_diff", ())) == written


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(bundles(), stores(), floors, required)
def test_why_not_tells_what_suffices_and_nothing_that_does_not_matter(
    bundle: Bundle, store: FactStore, floor: Floor, asked: tuple[str, ...]
) -> None:
    """Every set leads to an acceptance, and without any one of its groups it doesn't; none contains another."""
    given_basis = basis(bundle, store, floor, asked)
    told = why_not(given_basis)
    assert told.accepted == (given_basis.decide().recommendation is Recommendation.ACCEPT)
    assert len(told.sets) <= MOST_SETS
    assert not (told.accepted and told.sets)
    for groups in told.sets:
        assert accepts(given_basis, groups)
        for number in range(len(groups)):
            assert not accepts(given_basis, groups[:number] + groups[number + 1 :])
    atoms = [frozenset().union(*[group.atoms for group in groups]) for groups in told.sets]
    assert not any(one < other for one in atoms for other in atoms)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(bundles(), stores(), floors, required)
def test_why_not_imagines_only_facts_that_could_be(
    bundle: Bundle, store: FactStore, floor: Floor, asked: tuple[str, ...]
) -> None:
    """A changed or added fact keeps the declared laws of its kind, its key stays what it was, and no key stands twice."""
    for groups in why_not(basis(bundle, store, floor, asked)).sets:
        after = applied(store, groups)
        for facts in after:
            keys = [tuple(row[position] for position in facts.kind.key_positions) for row in facts.rows]
            assert len(set(keys)) == len(keys)
            for row in set(facts.rows) - set(store[facts.kind.name].rows):
                for law in facts.kind.invariants:
                    values = [row[facts.kind.index[name]] for name in law.fields]
                    assert any(isinstance(value, Unknown) for value in values) or law.holds(*values)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(bundles(), stores(), floors)
def test_why_not_finds_the_way_back(bundle: Bundle, store: FactStore, floor: Floor) -> None:
    """Where some facts are accepted (if need be, those that a set leads to), robbing them of one isn't beyond help."""
    given_basis = basis(bundle, store, floor, ("first", "second"))
    told = why_not(given_basis)
    if not told.accepted:
        if not told.sets:
            return
        store = applied(store, told.sets[0])
    for facts in store:
        for position in range(len(facts.rows)):
            worse = FactStore({**store.kinds, facts.kind.name: _without(facts, position)})
            told = why_not(given_basis._replace(store=worse))
            assert told.accepted or told.sets


def _without(facts: KindFacts, position: int) -> KindFacts:
    rows, origins = list(facts.rows), list(facts.origins)
    del rows[position], origins[position]
    return replace(facts, rows=tuple(rows), origins=tuple(origins), complete=False, reason="robbed")


@given(json_values, json_values)
def test_values_differ_exactly_where_differences_are_told(one: object, other: object) -> None:
    """No difference is told of a value and itself, and some is told of any two that are written differently."""
    assert not list(differing(one, one))
    assert bool(list(differing(one, other))) == (repr(_sorted(one)) != repr(_sorted(other)))
    assert [path for path, _one, _other in differing(one, other)] == [
        path for path, _one, _other in differing(other, one)
    ]


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
