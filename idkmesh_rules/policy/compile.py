"""Compile conditions under given parameters into evaluators from a fact store to proof nodes.

Invariants: all children are evaluated, whatever the first ones say; an evaluator is a pure function, which may hand
out the same node again for the same input.
"""

from collections.abc import Callable, Mapping

from idkmesh_rules.model.bundle import Form, Leaf, Mark, OnEmpty
from idkmesh_rules.model.facts import KindFacts, Value
from idkmesh_rules.model.proof import LISTED, LeafProof, ProofNode, RowProof
from idkmesh_rules.model.truth import Truth, conjunction, disjunction
from idkmesh_rules.policy.look import NONE_IN_SCOPE, NOT_QUIET
from idkmesh_rules.policy.predicate import filled
from idkmesh_rules.policy.scan import Part, part, scanner
from idkmesh_rules.policy.tables import counted, table_for

LeafEvaluator = Callable[[Mapping[str, KindFacts]], ProofNode]
QuietNode = Callable[[int, int, tuple[Value, ...] | None], ProofNode | None]
NodeBuilder = Callable[[tuple[ProofNode, ...]], ProofNode]

_MOST_KEPT = 256


def leaf_evaluator(leaf: Leaf, parameters: Mapping[str, Value]) -> LeafEvaluator:
    """Scan all facts, decide by the tables, and list what decided."""
    where, must = part(leaf, leaf.where, parameters), part(leaf, leaf.must, parameters)
    table = table_for(leaf.form, leaf.on_empty, *_bounds(leaf, parameters))
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


def quiet_node(leaf: Leaf, parameters: Mapping[str, Value]) -> QuietNode:
    """The node of a leaf from the figures of a quick look, kept for the same figures; None where they aren't quiet.

    It is the node that the evaluator would come to: the kind is complete, and no fact is unknown, violating or listed but
    for the one that `one` is about.
    """
    kept: dict[tuple[int, int, tuple[Value, ...] | None], ProofNode] = {}
    least, most = _bounds(leaf, parameters)
    names = [leaf.kind.fields[position].name for position in leaf.kind.key_positions]

    def node(facts: int, figure: int, key: tuple[Value, ...] | None) -> ProofNode | None:
        found = kept.get((facts, figure, key))
        if found is not None or figure == NOT_QUIET:
            return found
        in_scope = figure
        rows: tuple[RowProof, ...] = ()
        if leaf.form is Form.COUNT:
            if most is not None and figure > most:
                return None  # the facts that are too many are listed
            value = counted(figure, figure, True, least, most)
        elif leaf.form is Form.ONE:
            value = Truth.FALSE if figure == NONE_IN_SCOPE else Truth.TRUE
            in_scope = 0 if figure == NONE_IN_SCOPE else 1
            if in_scope:
                rows = (RowProof(figure, tuple(zip(names, key or (), strict=True))),)
        elif leaf.form is Form.SOME:
            value = Truth.FALSE
        else:
            value = Truth.TRUE if figure else (leaf.on_empty or OnEmpty.INCONCLUSIVE).truth
        proof = LeafProof(leaf.kind.name, facts, in_scope, 0, len(rows), rows, True)
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        found = kept[facts, figure, key] = ProofNode(leaf.name, leaf.form, value, leaf.mark, (), proof)
        return found

    return node


def _bounds(leaf: Leaf, parameters: Mapping[str, Value]) -> tuple[int | None, int | None]:
    least, most = filled(leaf.at_least, parameters), filled(leaf.at_most, parameters)
    return least, most  # type: ignore[return-value]  # bounds are integers, the loader made sure


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
    """How the nodes of children become the node of an `all`, an `any`, or a validator."""
    combine = disjunction if form is Form.ANY else conjunction

    def build(children: tuple[ProofNode, ...]) -> ProofNode:
        values = [child.value for child in children]
        # Both tables say true where all children are, and that is almost always so.
        value = Truth.TRUE if values and values.count(Truth.TRUE) == len(values) else combine(values)
        return ProofNode(name, form, value, mark, children)

    return build
