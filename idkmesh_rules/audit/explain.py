"""The proof tree of a recorded decision, told: each condition with the facts that decided it and where they were seen.

Invariants: what is told is the decision that follows from the recorded facts, never the recorded tree, which may be forged;
that the two differ is told first; a hidden plan's expectations are masked here, before any renderer sees them (design:
facts-and-policy, *For the auditor*).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from idkmesh_rules.audit.clauses import combination_reason, leaf_reason
from idkmesh_rules.audit.record import Record
from idkmesh_rules.audit.veil import Veil
from idkmesh_rules.checks import AnyCheck
from idkmesh_rules.model.bundle import Demand, Form, Leaf
from idkmesh_rules.model.facts import FactStore, KindFacts, Origin, Row, Unknown, Value
from idkmesh_rules.model.proof import Decision, LeafProof, ProofNode, RowProof, Status, causes
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.predicate import compiled
from idkmesh_rules.policy.spelling import asked_text, leaf_text, value_text
from idkmesh_rules.result.findings import Telling, bundle_leaves, shape_of, summary_of


class ToldField(NamedTuple):
    """One field of a fact: its value, or why it is unknown; what was demanded of it, if anything was, and whether that holds."""

    name: str
    value: str
    demanded: str | None = None
    holds: Truth | None = None


class ToldFact(NamedTuple):
    """A fact that decided: its key, the fields that matter, a sentence, and each place where a check saw it.

    `demanded` are the fields that the condition speaks of, `beside` those that the kind's laws tie to them.
    """

    key: tuple[ToldField, ...]
    demanded: tuple[ToldField, ...]
    beside: tuple[ToldField, ...]
    summary: str | None
    places: tuple["Place", ...]


class Place(NamedTuple):
    """Where a fact was seen: `changes.patch:10` or `inputs/work-unit.json#/validators/0`, by which check, recorded where."""

    where: str
    check: str
    evidence: str


class Told(NamedTuple):
    """One node of the tree: its value and why; for a leaf also its rule, its counts and the facts that decided it.

    `blamed` says that it is among the causes of its root's value. `why` is one clause.
    """

    name: str
    form: Form
    value: Truth
    why: str
    blamed: bool = False
    line: int | None = None
    column: int | None = None
    rule: str | None = None
    kind: str | None = None
    proof: LeafProof | None = None
    evidence: tuple[str, ...] = ()
    facts: tuple[ToldFact, ...] = ()
    children: tuple["Told", ...] = ()


class Root(NamedTuple):
    """A tree that the decision rests on: a validator, the floor, or an escalating condition.

    `kept` says whether it is among what kept the decision from being an acceptance.
    """

    role: str
    name: str
    status: str
    required: bool
    kept: bool
    node: Told


class Explanation(NamedTuple):
    """A decision, explained. `recorded` is the recommendation of decision.json, `forged` whether it doesn't follow."""

    name: str
    subject: str
    recommendation: str
    status: Status
    recorded: str
    forged: bool
    bundle: str
    decision_digest: str
    roots: tuple[Root, ...]


def explain(record: Record, *, revealed: bool) -> Explanation:
    """Explain what follows from a record; the decision is derived again, and compared with the recorded one."""
    decision, derived = record.derived()
    bundle = record.basis.bundle
    teller = _Teller(record, record.veil(revealed=revealed))
    return Explanation(
        record.files.name,
        record.subject,
        decision.recommendation.value,
        decision.status,
        record.decision.value["recommendation"],
        record.forged,
        f"{bundle.id} {bundle.version}",
        derived,
        tuple(teller.roots(decision)),
    )


class _Teller:
    def __init__(self, record: Record, veil: Veil) -> None:
        basis = record.basis
        self._store: FactStore = basis.store
        self._parameters: Mapping[str, Value] = basis.parameters
        self._leaves = bundle_leaves(basis.bundle)
        self._floor = {leaf.name: leaf for leaf in basis.floor.leaves}
        self._checks: tuple[AnyCheck, ...] = basis.checks
        self._veil = veil
        subject = basis.subject
        self._documents = {each.document.name for each in (subject.unit, subject.manifest, subject.plan)}

    def roots(self, decision: Decision) -> Iterator[Root]:
        for outcome in decision.validators:
            node = self._root(outcome.node, self._leaves)
            kept = outcome.required and outcome.status is not Status.PASSED
            yield Root("validator", outcome.id, outcome.status.value, outcome.required, kept, node)
        floor = decision.floor
        if floor is not None:
            node = self._root(floor.node, self._floor)
            yield Root("floor", "floor", floor.status.value, True, floor.decides, node)
        for escalation in decision.escalations:
            asks = escalation.value in (Truth.TRUE, Truth.UNKNOWN)
            said = "asks for a person" if asks else "asks for nobody"
            told = self._root(escalation, self._leaves, wanted=Truth.FALSE)
            yield Root("escalation", escalation.condition, said, True, asks, told)

    def _root(self, node: ProofNode, leaves: Mapping[str, Leaf], *, wanted: Truth = Truth.TRUE) -> Told:
        good = (wanted, Truth.NOT_APPLICABLE) if wanted is Truth.FALSE else (wanted,)
        blamed = frozenset() if node.value in good else frozenset(leaf.condition for leaf in causes(node))
        return self._node(node, leaves, blamed)

    def _node(self, node: ProofNode, leaves: Mapping[str, Leaf], blamed: frozenset[str]) -> Told:
        line, column = node.mark if node.mark is not None else (None, None)
        if node.leaf is None:
            below = tuple([self._node(child, leaves, blamed) for child in node.children])
            why = combination_reason(node)
            return Told(
                node.condition,
                node.form,
                node.value,
                why,
                any(each.blamed for each in below),
                line,
                column,
                children=below,
            )
        leaf, facts = leaves[node.condition], self._store[node.leaf.kind]
        seen = node.leaf._replace(reason=None if node.leaf.reason is None else self._veil.text(node.leaf.reason))
        return Told(
            node.condition,
            node.form,
            node.value,
            leaf_reason(leaf, node.value, seen),
            node.condition in blamed,
            line,
            column,
            leaf_text(leaf, self._parameters),
            leaf.kind.name,
            seen,
            tuple(f"evidence/{check.id}.json" for check in self._checks if leaf.kind in check.kinds),
            tuple([self._fact(leaf, facts, proof) for proof in self._ordered(facts, node.leaf.rows)]),
        )

    def _ordered(self, facts: KindFacts, proofs: tuple[RowProof, ...]) -> Iterable[RowProof]:
        if not self._veil.hidden:
            return proofs
        # In the order of secret keys, the worker's own ones would tell where an expectation stands among them.
        return sorted(proofs, key=lambda proof: shape_of(facts.kind, facts.rows[proof.index]))

    def _fact(self, leaf: Leaf, facts: KindFacts, proof: RowProof) -> ToldFact:
        kind, row = leaf.kind, facts.rows[proof.index]
        telling = Telling(facts, row, self._veil.mask)
        keys = [declared.name for declared in kind.fields if declared.key]
        demanded = tuple([self._demanded(demand, facts, row, telling) for demand in leaf.demands])
        wrong = {each.name for each in demanded if each.holds is not Truth.TRUE or leaf.form is Form.NONE}
        tied = {name for law in kind.invariants if wrong.intersection(law.fields) for name in law.fields}
        shown = {*keys, *(each.name for each in demanded)}
        beside = [
            declared.name
            for declared, value in zip(kind.fields, row, strict=True)
            if declared.name in tied and declared.name not in shown and type(value) is not Unknown
        ]
        told = summary_of(leaf, telling) if proof.false and leaf.form is not Form.COUNT else None
        return ToldFact(
            tuple([self._field(name, facts, row, telling) for name in keys]),
            demanded,
            tuple([self._field(name, facts, row, telling) for name in beside]),
            told,
            tuple([self._place(origin) for origin in facts.origins[proof.index]]),
        )

    def _demanded(self, demand: Demand, facts: KindFacts, row: Row, telling: Telling) -> ToldField:
        field = self._field(demand.field.name, facts, row, telling)
        holds = compiled(demand, self._parameters)(row[facts.kind.index[demand.field.name]])
        return field._replace(demanded=asked_text(demand, self._parameters), holds=holds)

    def _field(self, name: str, facts: KindFacts, row: Row, telling: Telling) -> ToldField:
        value = row[facts.kind.index[name]]
        if isinstance(value, Unknown):
            return ToldField(name, f"unknown: {self._veil.text(value.reason)}")
        return ToldField(name, telling.shown(name, value_text(value)))

    def _place(self, origin: Origin) -> Place:
        where = f"inputs/{origin.locator}.json" if origin.locator in self._documents else origin.locator
        if origin.line is not None:
            where += f":{origin.line}"
        elif origin.pointer is not None:
            where += f"#{origin.pointer}"
        return Place(where, origin.check, f"evidence/{origin.check}.json")
