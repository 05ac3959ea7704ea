"""Compile conditions under given parameters into evaluators from a fact store to proof nodes.

Invariants: all children are evaluated, whatever the first ones say; an evaluator is a pure function, which may hand
out the same node again for the same input (passes are constant nodes, so that a large accepted patch costs no tree).
"""

from collections.abc import Callable, Mapping
from operator import is_, itemgetter

from idkmesh_rules.model.bundle import Form, Leaf, Mark
from idkmesh_rules.model.facts import KindFacts, Row, Value
from idkmesh_rules.model.proof import LISTED, LeafProof, ProofNode, RowProof
from idkmesh_rules.model.truth import Truth, conjunction, disjunction
from idkmesh_rules.policy.generate import Quick, quick_look
from idkmesh_rules.policy.predicate import filled
from idkmesh_rules.policy.scan import Part, part, scanner
from idkmesh_rules.policy.tables import table_for

LeafEvaluator = Callable[[Mapping[str, KindFacts]], ProofNode]
NodeBuilder = Callable[[tuple[ProofNode, ...]], ProofNode]

_MANY = 64


def leaf_evaluator(leaf: Leaf, parameters: Mapping[str, Value]) -> LeafEvaluator:
    """The evaluator of one leaf, over the kinds of a store: a quick look, and the long way where that declines.

    The quick look is generated when it pays: for many facts, or when the same leaf is asked again. A command that
    decides once about a small candidate would spend more on generating it than on deciding.
    """
    long_way, kind_name, key_of = _long_way(leaf, parameters), leaf.kind.name, _key_getter(leaf)
    last: tuple[int, int, object, ProofNode] = (-1, -1, None, ProofNode(leaf.name, leaf.form))
    quick: Quick | None = None
    asked = False

    def evaluate(kinds: Mapping[str, KindFacts]) -> ProofNode:
        nonlocal asked, last, quick
        facts = kinds[kind_name]
        if quick is None:
            if not asked and len(facts.rows) < _MANY:
                asked = True
                return long_way(kinds)
            quick = quick_look(leaf, parameters) or _declines
        if facts.complete:
            rows = facts.rows
            said = quick(rows)
            if said >= 0:
                key = key_of(rows[said]) if key_of is not None else None
                count, before, known, node = last
                if count == len(rows) and before == said and known == key:
                    return node
                node = long_way(kinds)
                last = (len(rows), said, key, node)
                return node
        return long_way(kinds)

    return evaluate


def _declines(rows: tuple[Row, ...]) -> int:
    return -1


def _key_getter(leaf: Leaf) -> Callable[[Row], object] | None:
    """The key of the fact that `one` is about: it stands in the proof, and so tells nodes apart."""
    if leaf.form is not Form.ONE or leaf.kind.singleton:
        return None
    return itemgetter(*leaf.kind.key_positions)


def _long_way(leaf: Leaf, parameters: Mapping[str, Value]) -> LeafEvaluator:
    """Scan all facts, decide by the tables, and list what decided."""
    where, must = part(leaf, leaf.where, parameters), part(leaf, leaf.must, parameters)
    at_least, at_most = filled(leaf.at_least, parameters), filled(leaf.at_most, parameters)
    table = table_for(leaf.form, leaf.on_empty, at_least, at_most)  # type: ignore[arg-type]
    scan = scanner(leaf.form, where, must)
    name, form, mark, kind_name, blamed = leaf.name, leaf.form, leaf.mark, leaf.kind.name, _blame(leaf, where, must)

    def evaluate(kinds: Mapping[str, KindFacts]) -> ProofNode:
        facts = kinds[kind_name]
        seen = scan(facts)
        value, deciding = table(seen, facts.complete)
        rows = tuple([blamed(facts, index) for index in deciding[:LISTED]])
        proof = LeafProof(
            kind_name,
            len(facts.rows),
            len(seen.in_scope),
            len(seen.perhaps),
            len(deciding),
            rows,
            facts.complete,
            None if facts.complete else facts.reason,
            facts.crashed and not facts.complete,
        )
        return ProofNode(name, form, value, mark, (), proof)

    return evaluate


def _blame(leaf: Leaf, where: Part, must: Part) -> Callable[[KindFacts, int], RowProof]:
    """How a deciding fact is listed: its key, and which fields of it are false or unknown."""
    kind = leaf.kind
    key_fields = [(kind.fields[position].name, position) for position in kind.key_positions]
    wrong = (where, Truth.TRUE) if leaf.form is Form.NONE else (must, Truth.FALSE)

    def blamed(facts: KindFacts, index: int) -> RowProof:
        row = facts.rows[index]
        key = tuple([(name, row[position]) for name, position in key_fields])
        unknown = dict.fromkeys(where.fields(row, Truth.UNKNOWN) + must.fields(row, Truth.UNKNOWN))
        false = wrong[0].fields(row, wrong[1])
        return RowProof(index, key, false, tuple(unknown))  # type: ignore[arg-type]

    return blamed


def combination_builder(name: str, form: Form, mark: Mark | None) -> NodeBuilder:
    """How the nodes of children become the node of an `all`, an `any`, or a validator; the last node is kept."""
    combine = disjunction if form is Form.ANY else conjunction
    last: ProofNode | None = None

    def build(children: tuple[ProofNode, ...]) -> ProofNode:
        nonlocal last
        kept = last
        if kept is not None and all(map(is_, kept.children, children)):
            return kept
        last = kept = ProofNode(name, form, combine([child.value for child in children]), mark, children)
        return kept

    return build
