"""Compile conditions under given parameters into evaluators from a fact store to proof nodes.

Invariants: all children are evaluated, whatever the first ones say; an evaluator is a pure function, which may hand
out the same node again for the same input (passes are constant nodes, so that a large accepted patch costs no tree).
"""

from collections.abc import Callable, Mapping
from operator import is_

from idkmesh_rules.model.bundle import Form, Leaf, Mark
from idkmesh_rules.model.facts import FactStore, KindFacts, Value
from idkmesh_rules.model.proof import LISTED, LeafProof, ProofNode, RowProof
from idkmesh_rules.model.truth import Truth, conjunction, disjunction
from idkmesh_rules.policy.predicate import filled
from idkmesh_rules.policy.scan import Part, part, quick_scope, scanner
from idkmesh_rules.policy.tables import table_for

LeafEvaluator = Callable[[FactStore], ProofNode]
NodeBuilder = Callable[[tuple[ProofNode, ...]], ProofNode]


def leaf_evaluator(leaf: Leaf, parameters: Mapping[str, Value]) -> LeafEvaluator:
    """The evaluator of one leaf."""
    where, must = part(leaf, leaf.where, parameters), part(leaf, leaf.must, parameters)
    at_least, at_most = filled(leaf.at_least, parameters), filled(leaf.at_most, parameters)
    table = table_for(leaf.form, leaf.on_empty, at_least, at_most)  # type: ignore[arg-type]
    scan, quick = scanner(leaf.form, where, must), quick_scope(leaf, parameters)
    fewest, most = (1, 1) if leaf.form is Form.ONE else (1, float("inf"))
    name, kind_name, blamed = leaf.name, leaf.kind.name, _blame(leaf, where, must)
    passed = _passed_nodes(leaf, blamed)

    def evaluate(store: FactStore) -> ProofNode:
        facts = store.kinds[kind_name]
        if quick is not None and facts.complete:
            in_scope = quick(facts)
            if fewest <= in_scope <= most:
                return passed(facts, in_scope)
        seen = scan(facts)
        value, deciding = table(seen, facts.complete)
        rows = tuple([blamed(facts, index) for index in deciding[:LISTED]])
        return ProofNode(
            name,
            leaf.form,
            value,
            leaf.mark,
            (),
            LeafProof(
                kind_name,
                len(facts.rows),
                len(seen.in_scope),
                len(seen.perhaps),
                len(deciding),
                rows,
                facts.complete,
                facts.reason,
                facts.crashed,
            ),
        )

    return evaluate


def _passed_nodes(leaf: Leaf, blamed: Callable[[KindFacts, int], RowProof]) -> Callable[[KindFacts, int], ProofNode]:
    """Nodes of a leaf that holds of its whole scope, in a complete kind; the last one is kept."""
    last: tuple[object, ProofNode] | None = None
    positions = [leaf.kind.index[demand.field.name] for demand in leaf.where]

    def passed(facts: KindFacts, in_scope: int) -> ProofNode:
        nonlocal last
        rows: tuple[RowProof, ...] = ()
        if leaf.form is Form.ONE:
            chosen = [demand.operands[0] for demand in leaf.where]
            rows = (
                blamed(
                    facts,
                    next(
                        index
                        for index, row in enumerate(facts.rows)
                        if [row[position] for position in positions] == chosen
                    ),
                ),
            )
        signature = (len(facts.rows), in_scope, rows)
        kept = last
        if kept is None or kept[0] != signature:
            proof = LeafProof(leaf.kind.name, len(facts.rows), in_scope, 0, len(rows), rows, complete=True)
            kept = last = (signature, ProofNode(leaf.name, leaf.form, Truth.TRUE, leaf.mark, (), proof))
        return kept[1]

    return passed


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
