"""tests.yaml → `Suite`: read, resolved and type-checked against a bundle (design: facts-and-policy, *Bundle tests*).

Invariants: either a suite comes out in which everything has a meaning, or one error with every mistake; a suite without
cases is a mistake, because a run of it would show nothing.
"""

import re
from collections.abc import Mapping as Table

from idkmesh_rules.errors import PolicyError
from idkmesh_rules.model.bundle import Bundle, Floor, Mark
from idkmesh_rules.model.facts import FactKind, Value
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.policy import schema
from idkmesh_rules.policy.demands import DemandReader
from idkmesh_rules.policy.operands import OperandReader, parameter_value
from idkmesh_rules.policy.parameters import bind_parameters
from idkmesh_rules.policy.problems import Problems, shown, suggest
from idkmesh_rules.policy.testing.fields import FieldReader, Wrong, broken_invariant
from idkmesh_rules.policy.testing.suite import Action, BaseFact, Case, Edit, Expectation, Numbered, Suite
from idkmesh_rules.policy.yaml_reader import Mapping, Node, Scalar, read_yaml

SCHEMA_VERSION = "1.0"
MAX_REPEAT = 100_000

_CASE = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_KEYS = {
    Action.SET: (("set", "to"), ("where",)),
    Action.DROP: (("drop",), ("where",)),
    Action.ADD: (("add", "fact"), ("repeat",)),
    Action.UNKNOWN: (("unknown",), ("where", "fields", "reason")),
    Action.CRASH: (("crash",), ()),
}


def read_suite(data: bytes, name: str, bundle: Bundle, kinds: Table[str, FactKind], floor: Floor) -> Suite:
    """Read the tests of `bundle`, whose backend has `kinds` and `floor`; `name` is how messages call the file.

    Raises `PolicyError` with every mistake: place, expectation, suggestion.
    """
    root, problems = read_yaml(data, name, "a test file")
    top = schema.mapping(root, problems, "tests of a rule bundle, beginning with schema_version")
    if top is None:
        problems.fail()
    suite = _Reader(problems, bundle, kinds, floor).suite(top)
    problems.finish()
    return suite


class _Reader:
    def __init__(self, problems: Problems, bundle: Bundle, kinds: Table[str, FactKind], floor: Floor) -> None:
        self._problems = problems
        self._bundle = bundle
        self._kinds = kinds
        self._fields = FieldReader(problems)
        self._demands = DemandReader(problems, OperandReader(problems, {}))
        self._causes = _possible_causes(bundle, floor)

    def suite(self, top: Mapping) -> Suite:
        required = ("schema_version", "bundle", "base", "cases")
        entries = schema.Entries(top, self._problems, "a test file", required=required)
        self._literal(entries.get("schema_version"), SCHEMA_VERSION, "this engine reads tests of schema_version")
        self._literal(entries.get("bundle"), self._bundle.id, "these tests stand beside the bundle")
        base, cases = entries.get("base"), entries.get("cases")
        return Suite(
            self._bundle,
            self._problems.name,
            self._base(base) if base is not None else {},
            self._cases(cases) if cases is not None else (),
        )

    def _literal(self, node: Node | None, expected: str, what: str) -> None:
        said = schema.text(node, self._problems, f'"{expected}"') if node is not None else None
        if node is not None and said is not None and said != expected:
            self._problems.add(node.mark, f"{what} {expected}, not {shown(said)}")

    def _base(self, node: Node) -> dict[str, tuple[BaseFact, ...]]:
        body = schema.mapping(node, self._problems, "fact kinds, each with a list of facts")
        found: dict[str, tuple[BaseFact, ...]] = {}
        for key, listed in body.entries if body is not None else ():
            kind = self._kind(key)
            facts = schema.sequence(listed, self._problems, f"a list of {key.text} facts", may_be_empty=True)
            if kind is not None and facts is not None:
                found[kind.name] = self._facts(kind, facts.items)
        return found

    def _facts(self, kind: FactKind, nodes: tuple[Node, ...]) -> tuple[BaseFact, ...]:
        first: dict[object, Mark] = {}
        found = []
        for node in nodes:
            try:
                values = tuple([_plain(value) for _position, value in self._fields.whole(node, kind)])
            except Wrong:
                continue
            law = broken_invariant(kind, values)
            if law is not None:
                self._problems.add(node.mark, f"no such {kind.name} can exist: {law}")
            key = tuple([values[position] for position in kind.key_positions])
            twin = first.setdefault(key, node.mark)
            if twin is not node.mark:
                self._problems.add(node.mark, f"a {kind.name} with this key stands on line {twin.line} already")
            found.append(BaseFact(values, node.mark))
        return tuple(found)

    def _cases(self, node: Node) -> tuple[Case, ...]:
        body = schema.mapping(node, self._problems, "named cases; without one, nothing is tested")
        cases = [self._case(key, value) for key, value in (body.entries if body is not None else ())]
        return tuple([case for case in cases if case is not None])

    def _case(self, key: Scalar, node: Node) -> Case | None:
        before = len(self._problems)
        if _CASE.fullmatch(key.text) is None:
            self._problems.add(key.mark, f"expected a case name of a–z, 0–9 and -, found {shown(key.text)}")
        body = schema.mapping(node, self._problems, "a case, with at least its outcome")
        if body is None:
            return None
        optional = ("edits", "parameters", "causes", "not_applicable")
        entries = schema.Entries(body, self._problems, "a case", required=("outcome",), optional=optional, at=key.mark)
        edits = self._edits(entries.get("edits"))
        parameters = self._parameters(entries.get("parameters"))
        outcome = entries.get("outcome")
        words = [each.value for each in Recommendation]
        said = schema.word(outcome, self._problems, "an outcome", words) if outcome is not None else None
        causes = self._names(entries.get("causes"), self._causes, "cause", "a cause is VALIDATOR/CONDITION")
        inapplicable = self._names(entries.get("not_applicable"), self._bundle.conditions, "condition", None)
        if said is None or len(self._problems) > before:
            return None
        return Case(key.text, key.mark, edits, parameters, Expectation(Recommendation(said), causes, inapplicable))

    def _names(self, node: Node | None, known: Table[str, object], what: str, hint: str | None) -> frozenset[str]:
        items = schema.sequence(node, self._problems, f"a list of {what}s", may_be_empty=True) if node else None
        found: set[str] = set()
        for item in items.items if items is not None else ():
            text = schema.text(item, self._problems, f"a {what}")
            if text is None:
                continue
            if text not in known:
                self._problems.add(item.mark, f"there is no {what} {shown(text)}", suggest(text, known) or hint)
            elif text in found:
                self._problems.add(item.mark, f"{text} stands twice here", "remove one of them")
            found.add(text)
        return frozenset(found)

    def _parameters(self, node: Node | None) -> Table[str, Value]:
        body = schema.mapping(node, self._problems, "parameters of the bundle") if node is not None else None
        given: dict[str, Value] = {}
        for key, value in body.entries if body is not None else ():
            declared = self._bundle.parameters.get(key.text)
            if declared is None:
                hint = suggest(key.text, self._bundle.parameters) or "it declares none"
                self._problems.add(key.mark, f"the bundle has no parameter {shown(key.text)}", hint)
                continue
            read = parameter_value(value, declared.type, self._problems, key.text)
            if read is not None:
                given[key.text] = read
                self._fits(value.mark, key.text, read)
        return given

    def _fits(self, mark: Mark, name: str, value: Value) -> None:
        try:
            bind_parameters(self._bundle, {name: value})
        except PolicyError as error:
            for problem in error.problems:
                self._problems.add(mark, problem.message, problem.hint)

    def _edits(self, node: Node | None) -> tuple[Edit, ...]:
        items = schema.sequence(node, self._problems, "a list of edits") if node is not None else None
        found = []
        for item in items.items if items is not None else ():
            try:
                found.append(self._edit(item))
            except Wrong:
                continue
        return tuple(found)

    def _edit(self, node: Node) -> Edit:
        words = ", ".join(action.value for action in Action)
        body = schema.mapping(node, self._problems, f"an edit: one of {words}, with a fact kind")
        if body is None:
            raise Wrong
        actions = [Action(key.text) for key, _value in body.entries if key.text in _ACTIONS]
        if len(actions) != 1:
            self._problems.add(node.mark, f"an edit does one thing: one of {words}")
            raise Wrong
        action = actions[0]
        required, optional = _KEYS[action]
        before = len(self._problems)
        entries = schema.Entries(body, self._problems, action.value, required=required, optional=optional)
        named = entries.nodes[action.value]
        kind = self._kind(named) if schema.text(named, self._problems, "the name of a fact kind") is not None else None
        if kind is None or len(self._problems) > before:
            raise Wrong
        edit = self._filled(Edit(action, kind, node.mark), entries)
        if len(self._problems) > before:
            raise Wrong
        return edit

    def _filled(self, edit: Edit, entries: schema.Entries) -> Edit:
        kind, where = edit.kind, entries.get("where")
        if where is not None:
            edit = edit._replace(where=self._demands.conjunction(where, kind, "where") or ())
        if edit.action is Action.SET:
            return edit._replace(values=self._fields.values(entries.nodes["to"], kind, f"fields of {kind.name}"))
        if edit.action is Action.ADD:
            return self._addition(edit, entries)
        if edit.action is Action.UNKNOWN:
            return self._unknown(edit, entries)
        return edit

    def _addition(self, edit: Edit, entries: schema.Entries) -> Edit:
        node = entries.get("repeat")
        repeat = schema.integer(node, self._problems, "how many facts to add") if node is not None else 1
        if node is not None and repeat is not None and not 1 <= repeat <= MAX_REPEAT:
            self._problems.add(node.mark, f"expected a number from 1 to {MAX_REPEAT}, found {repeat}")
        values = self._fields.whole(entries.nodes["fact"], edit.kind, numbered=True)
        law = broken_invariant(
            edit.kind, tuple([value.at(1) if isinstance(value, Numbered) else value for _, value in values])
        )
        if law is not None:
            self._problems.add(entries.nodes["fact"].mark, f"no such {edit.kind.name} can exist: {law}")
        return edit._replace(values=values, repeat=repeat or 1)

    def _unknown(self, edit: Edit, entries: schema.Entries) -> Edit:
        why, fields = entries.get("reason"), entries.get("fields")
        reason = schema.text(why, self._problems, "why it is unknown") if why is not None else edit.reason
        if fields is None:
            if edit.where:
                self._problems.add(
                    entries.marks["where"],
                    "without fields, the whole kind is incomplete",
                    "add fields: [...], or remove where",
                )
            return edit._replace(reason=reason or edit.reason)
        listed = schema.sequence(fields, self._problems, f"a list of fields of {edit.kind.name}")
        values = []
        for item in listed.items if listed is not None else ():
            text = schema.text(item, self._problems, "the name of a field")
            position = edit.kind.index.get(text) if text is not None else None
            if text is not None and (position is None or edit.kind.fields[position].key):
                said = (
                    "is part of the key and never unknown"
                    if position is not None
                    else f"is no field of {edit.kind.name}"
                )
                self._problems.add(item.mark, f"{shown(text)} {said}", suggest(text, edit.kind.index))
            elif position is not None:
                values.append((position, None))
        return edit._replace(values=tuple(values), reason=reason or edit.reason)

    def _kind(self, node: Node) -> FactKind | None:
        """The kind that a text names; a text is what a caller made sure of."""
        name = node.text if isinstance(node, Scalar) else ""
        kind = self._kinds.get(name)
        if kind is None:
            self._problems.add(node.mark, f"there is no fact kind {shown(name)}", suggest(name, self._kinds))
        return kind


_ACTIONS = frozenset(action.value for action in Action)


def _plain(value: object) -> Value:
    return value  # type: ignore[return-value]  # the base is read without numbered values


def _possible_causes(bundle: Bundle, floor: Floor) -> dict[str, None]:
    """Everything that a decision can be blamed on: a leaf of a validator, of an escalation, or of the floor."""
    found = {
        f"{validator.id}/{leaf.name}": None
        for validator in bundle.validators.values()
        for leaf in bundle.leaves(validator.children)
    }
    found |= {f"escalate/{leaf.name}": None for leaf in bundle.leaves(bundle.escalate)}
    return found | {f"floor/{leaf.name}": None for leaf in floor.leaves}
