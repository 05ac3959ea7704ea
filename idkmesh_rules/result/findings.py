"""Findings: each violating fact of a blamed leaf, told to a person.

Invariants: candidate text is escaped before it stands in a sentence; under a hidden plan the verifier's expectations are
masked here, before any renderer sees them; at most a bounded number a condition, plus one that counts the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import count

from idkmesh_rules.model.bundle import Bundle, Floor, Form, Leaf
from idkmesh_rules.model.documents import AnyPlan
from idkmesh_rules.model.evaluation import Finding, Label
from idkmesh_rules.model.facts import Category, FactKind, FactStore, Field, KindFacts, Row, Severity, Unknown, Value
from idkmesh_rules.model.proof import Decision, ProofNode, causes
from idkmesh_rules.model.text import printable
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy import violations

Mask = Callable[[str], str]
HIDDEN = "[hidden]"


def hidden_mask(secrets: tuple[str, ...]) -> Mask:
    """A mask that turns the n-th of a hidden plan's expectations into `[hidden n]`.

    `secrets` are those that the plan spells. Any other gets the next number each time it is told: which of them are alike
    is a secret, too.
    """
    numbers = {text: f"[hidden {position}]" for position, text in enumerate(dict.fromkeys(secrets), 1)}
    further = count(len(numbers) + 1)
    return lambda text: numbers.get(text) or f"[hidden {next(further)}]"


def reveal(text: str) -> str:
    """The mask that masks nothing."""
    return text


def concealed(field: Field, text: str, mask: Mask) -> str:
    """The text of a secret field as `mask` lets it be shown; the worker's own words get no number."""
    return HIDDEN if field.supplied and mask is not reveal else mask(text)


def mask_for(plan: AnyPlan, *, revealed: bool) -> Mask:
    """The mask for a plan's expectations in whatever is made to be shown: none if the plan isn't hidden, or on demand."""
    return hidden_mask(plan.demands.secrets) if plan.hidden and not revealed else reveal


def all_findings(
    decision: Decision,
    bundle: Bundle,
    floor: Floor,
    labels: tuple[Label, ...],
    store: FactStore,
    mask: Mask,
    most: int,
) -> tuple[Finding, ...]:
    """The findings of a whole decision: the validators that are reported, escalations, and the floor where it decides."""
    leaves, reported = bundle_leaves(bundle), {label.validator for label in labels}
    found = [
        finding
        for outcome in decision.validators
        if outcome.id in reported
        for finding in findings_of(outcome.id, outcome.node, leaves, store, mask, most)
    ]
    found += [gap_of(label) for label in labels if not label.covered]
    for node in decision.escalations:
        found.extend(escalations_of(node, leaves, store, mask, most))
    if decision.floor is not None and decision.floor.decides:
        below = {leaf.name: leaf for leaf in floor.leaves}
        found.extend(findings_of("floor", decision.floor.node, below, store, mask, most))
    return tuple(found)


def findings_of(
    name: str, node: ProofNode, leaves: Mapping[str, Leaf], store: FactStore, mask: Mask, most: int
) -> Iterator[Finding]:
    """The findings of a validator's (or the floor's) proof, condition by condition, in the order of the proof."""
    if node.value is Truth.TRUE:
        return
    for blamed in causes(node):
        leaf = leaves[blamed.condition]
        if blamed.value is Truth.FALSE:
            yield from _violations(name, blamed, leaf, store, mask, most)
        else:
            yield _undecided(name, blamed, leaf, store)


def escalations_of(
    node: ProofNode, leaves: Mapping[str, Leaf], store: FactStore, mask: Mask, most: int
) -> Iterator[Finding]:
    """What an escalating condition found, as findings of `escalate`; none for a condition that asks for nobody."""
    if node.value is Truth.TRUE:
        for holds in causes(node):
            leaf, rows = leaves[holds.condition], holds.leaf.rows if holds.leaf else ()
            if leaf.finding is not None and leaf.finding != leaf.kind.finding:
                yield from _facts_told("escalate", leaf, store, mask, [row.index for row in rows[:most]])
            else:
                # A kind's own words tell a violation, and what a person is asked about is none.
                yield from _facts_named(leaf, store, mask, [row.index for row in rows[:most]])
            if not rows:
                yield Finding(
                    "escalate", leaf.name, *_weight(leaf), f"{leaf.name} holds, and the rules ask for a person then"
                )
    elif node.value is Truth.UNKNOWN:
        for undecided in causes(node):
            yield _undecided("escalate", undecided, leaves[undecided.condition], store)


def gap_of(label: Label) -> Finding:
    """That a validator which the WorkUnit requires is covered by no check of the plan."""
    told = f"the WorkUnit requires {printable(label.id)}, and no required check of the plan covers it"
    return Finding(label.validator, "covered-by-plan", Severity.MEDIUM, Category.POLICY, told)


def bundle_leaves(bundle: Bundle) -> Mapping[str, Leaf]:
    """A bundle's leaves by name."""
    return {name: condition for name, condition in bundle.conditions.items() if isinstance(condition, Leaf)}


def summary_of(leaf: Leaf, telling: "Telling") -> str:
    """One fact told by the leaf's own template or its kind's."""
    return printable((leaf.finding or leaf.kind.finding).summary.format_map(telling))


def _violations(name: str, node: ProofNode, leaf: Leaf, store: FactStore, mask: Mask, most: int) -> Iterator[Finding]:
    told = [violation.position for violation in violations(node, store)[:most]]
    yield from _facts_told(name, leaf, store, mask, told)
    severity, category = _weight(leaf)
    rest = (node.leaf.deciding if node.leaf else 0) - len(told)
    if told and rest > 0:
        yield Finding(name, leaf.name, severity, category, f"{leaf.name}: {rest} more violations of the same kind")
    if not told:
        yield Finding(name, leaf.name, severity, category, _shortfall(node, leaf))


def _facts_told(name: str, leaf: Leaf, store: FactStore, mask: Mask, positions: list[int]) -> Iterator[Finding]:
    """One finding a fact, by the leaf's own template or its kind's."""
    template, facts = leaf.finding or leaf.kind.finding, store[leaf.kind.name]
    if mask is not reveal:
        # In the order of secret keys, the worker's own ones would tell where an expectation stands among them.
        positions = sorted(positions, key=lambda position: shape_of(facts.kind, facts.rows[position]))
    for position in positions:
        fields, origin = Telling(facts, facts.rows[position], mask), facts.origins[position][0]
        path = printable(template.path.format_map(fields), 4096) if template.path else None
        line = fields.integer(template.line) if template.line else None
        if line is not None and path is None:
            path = printable(origin.locator, 4096)
        summary = summary_of(leaf, fields)
        yield Finding(name, leaf.name, template.severity, template.category, summary, path, line, origin)


def shape_of(kind: FactKind, row: Row) -> tuple[str, ...]:
    """What of a fact shows when its secrets are masked: the order to tell facts in, then."""
    open_ = kind.shows(row)
    told = zip(kind.fields, row, strict=True)
    return tuple([str(value) if open_ or not field.secret else "" for field, value in told])


def _facts_named(leaf: Leaf, store: FactStore, mask: Mask, positions: list[int]) -> Iterator[Finding]:
    """One finding a fact that an escalation speaks of, by its key."""
    facts = store[leaf.kind.name]
    for position in positions:
        fields, origin = Telling(facts, facts.rows[position], mask), facts.origins[position][0]
        key = ", ".join(
            f"{leaf.kind.fields[at].name} {fields[leaf.kind.fields[at].name]}" for at in leaf.kind.key_positions
        )
        summary = printable(f"{leaf.name} holds" + (f" for {leaf.kind.name} with {key}" if key else ""))
        path = printable(fields["path"], 4096) if "path" in leaf.kind.index else None
        yield Finding("escalate", leaf.name, Severity.INFO, leaf.kind.finding.category, summary, path, None, origin)


def _weight(leaf: Leaf) -> tuple[Severity, Category]:
    template = leaf.finding or leaf.kind.finding
    return template.severity, template.category


def _shortfall(node: ProofNode, leaf: Leaf) -> str:
    """What is said where no single fact is at fault: the owner's own words, if they need no fact, and the count."""
    counted = f"{leaf.kind.name} facts in its scope: {node.leaf.in_scope if node.leaf else 0}"
    if leaf.finding is not None and "{" not in leaf.finding.summary:
        return f"{leaf.finding.summary} ({counted})"
    outside = "their number is outside its bounds" if leaf.form is Form.COUNT else "none satisfies it"
    return f"{counted}; {outside}"


def _undecided(name: str, node: ProofNode, leaf: Leaf, store: FactStore) -> Finding:
    seen = node.leaf
    why = _first_gap(leaf, store[leaf.kind.name]) or "an observation that it needs is unknown"
    if node.value is Truth.NOT_APPLICABLE:
        why = "nothing of what it speaks of is there"
    elif seen is not None and not seen.complete:
        why = seen.reason or "its facts are incomplete"
    return Finding(
        name, leaf.name, Severity.INFO, Category.OTHER, printable(f"{leaf.name} could not be decided: {why}")
    )


def _first_gap(leaf: Leaf, facts: KindFacts) -> str | None:
    """Why a field that the leaf looks at could not be observed, of the first fact of which that is so.

    A secret field's reason isn't told: which fact has one would tell something of the plan.
    """
    fields = [demand.field for demand in (*leaf.where, *leaf.must) if not demand.field.secret]
    for row in facts.rows:
        for field in fields:
            value = row[facts.kind.index[field.name]]
            if isinstance(value, Unknown):
                return value.reason
    return None


class Telling:
    """A fact's fields as text for a template: the secret ones masked, each once, so that one is the same wherever it stands."""

    def __init__(self, facts: KindFacts, row: Row, mask: Mask) -> None:
        self._facts, self._row, self._mask = facts, row, mask
        self._told: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        return self.shown(name, _spell(self._row[self._facts.kind.index[name]]))

    def shown(self, name: str, text: str) -> str:
        """`text`, which spells the field `name`, or what stands in its place."""
        if name not in self._told:
            field = self._facts.kind.fields[self._facts.kind.index[name]]
            secret = field.secret and not self._facts.kind.shows(self._row)
            self._told[name] = concealed(field, text, self._mask) if secret else text
        return self._told[name]

    def integer(self, name: str) -> int | None:
        """The value of the field `name` if it is an integer."""
        value = self._row[self._facts.kind.index[name]]
        return value if type(value) is int else None


def _spell(value: Value | Unknown) -> str:
    if isinstance(value, Unknown):
        return f"unknown ({value.reason})"
    if value is None:
        return "absent"
    return str(value).lower() if isinstance(value, bool) else str(value)
