"""One condition: a leaf over a kind, or a combination of named conditions.

Invariants: a leaf's form decides which keys it may have; singleton kinds take `one` only; `every` and `none` say what
an empty scope means, and nobody else does (design: facts-and-policy, *Rule bundle language v1*).
"""

from collections.abc import Callable
from collections.abc import Mapping as Table

from idkmesh_rules.model.bundle import BACKENDS, Combination, Condition, Demand, Form, Leaf, OnEmpty, Operand, Operator
from idkmesh_rules.model.facts import FactKind, Field, FieldType
from idkmesh_rules.policy import schema
from idkmesh_rules.policy.demands import DemandReader
from idkmesh_rules.policy.operands import OperandReader
from idkmesh_rules.policy.problems import Problems, shown, suggest
from idkmesh_rules.policy.templates import finding
from idkmesh_rules.policy.yaml_reader import Mapping, Node, Scalar

_FORMS = {form.value: form for form in Form if form is not Form.VALIDATOR}
_REQUIRED = {Form.ONE: ("must",), Form.EVERY: ("must", "on_empty"), Form.NONE: ("on_empty",)}
_OPTIONAL = {
    Form.ONE: ("where", "finding"),
    Form.EVERY: ("where", "finding"),
    Form.NONE: ("where", "finding"),
    Form.SOME: ("where", "finding"),
    Form.COUNT: ("where", "at_least", "at_most", "finding"),
}
_COUNTED = Field("count", FieldType.INT)


class BackendKinds:
    """The fact kinds that the conditions of one bundle may speak of: those of its backend."""

    def __init__(self, backend: str, kinds: Callable[[str], Table[str, FactKind]]) -> None:
        # Where the header names no backend, that was said; what a kind of any backend means is still known.
        self._backends = (backend,) if backend in BACKENDS else BACKENDS
        self._kinds = kinds

    def get(self, name: str) -> FactKind | None:
        """The kind of this name, or None."""
        return next((found for each in self._backends if (found := self._kinds(each).get(name))), None)

    def hint(self, name: str) -> str:
        """What to do about a name that no kind of the backend has."""
        others = [each for each in BACKENDS if each not in self._backends and name in self._kinds(each)]
        if others:
            return f"it is a kind of the backend {' and '.join(others)}; this bundle is for {self._backends[0]}"
        known = [known for each in self._backends for known in self._kinds(each)]
        return suggest(name, known) or "idkrules facts --catalog lists them"


class ConditionReader:
    """Reads the conditions of one bundle over the fact kinds of its backend."""

    def __init__(self, problems: Problems, kinds: BackendKinds, operands: OperandReader) -> None:
        self._problems = problems
        self._kinds = kinds
        self._operands = operands
        self._demands = DemandReader(problems, operands)
        self.references: dict[str, tuple[Scalar, ...]] = {}
        """The names that each combination mentions, with their marks."""

    def condition(self, key: Scalar, node: Node) -> Condition | None:
        """Read the condition that `key` names; None if a mistake was reported."""
        body = schema.mapping(
            node, self._problems, "a condition, such as {every: patch.path, must: {…}, on_empty: fail}"
        )
        if body is None:
            return None
        forms = [entry for entry, _value in body.entries if entry.text in _FORMS]
        if len(forms) != 1:
            self._wrong_form(key, body, forms)
            return None
        form = _FORMS[forms[0].text]
        if form in (Form.ALL, Form.ANY):
            return self._combination(key, body, form)
        before = len(self._problems)
        leaf = self._leaf(key, body, form)
        return leaf if len(self._problems) == before else None

    def _wrong_form(self, key: Scalar, body: Mapping, forms: list[Scalar]) -> None:
        if forms:
            names = " and ".join(form.text for form in forms)
            self._problems.add(
                forms[1].mark, f"a condition has one form, this one has {names}", "make two conditions of it"
            )
            return
        known = ", ".join(_FORMS)
        for entry, _value in body.entries:
            hint = suggest(entry.text, _FORMS)
            if hint is not None and hint.startswith("did"):
                self._problems.add(entry.mark, f"there is no form {shown(entry.text)}", hint)
                return
        self._problems.add(key.mark, f"the condition {key.text} has no form", f"expected one of: {known}")

    def _combination(self, key: Scalar, body: Mapping, form: Form) -> Combination | None:
        before = len(self._problems)
        misplaced = dict.fromkeys(
            ("where", "must", "on_empty", "at_least", "at_most", "finding"),
            f"{form.value} combines conditions; this key belongs to a condition over facts",
        )
        entries = schema.Entries(body, self._problems, form.value, required=(form.value,), misplaced=misplaced)
        names = condition_names(entries.nodes[form.value], self._problems, f"the conditions of {form.value}")
        if names is None:
            return None
        self.references[key.text] = names
        if len(self._problems) > before:
            return None
        return Combination(key.text, form, tuple(name.text for name in names), key.mark)

    def _leaf(self, key: Scalar, body: Mapping, form: Form) -> Leaf | None:
        problems = self._problems
        required, optional = _REQUIRED.get(form, ()), _OPTIONAL[form]
        entries = schema.Entries(
            body,
            problems,
            form.value,
            required=(form.value, *required),
            optional=optional,
            at=key.mark,
            misplaced=self._misplaced(form, (*required, *optional)),
            missing={
                "on_empty": (
                    f"{form.value} has to say what holds when there is no fact in its scope",
                    f"add on_empty: {', '.join(option.value for option in _ON_EMPTY)}",
                )
            },
        )
        on_empty = self._on_empty(entries.get("on_empty")) if "on_empty" in required else None
        kind = self._kind(entries.nodes[form.value])
        at_least = self._bound(entries.get("at_least"), Operator.AT_LEAST) if form is Form.COUNT else None
        at_most = self._bound(entries.get("at_most"), Operator.AT_MOST) if form is Form.COUNT else None
        if form is Form.COUNT and not {"at_least", "at_most"} & entries.nodes.keys():
            problems.add(key.mark, "count has no bound", "add at_least: n or at_most: n")
        if kind is None:
            return None
        if kind.singleton and form is not Form.ONE:
            problems.add(
                entries.marks[form.value],
                f"there is at most one {kind.name}, so {form.value} says nothing about it",
                f"write one: {kind.name}, must: {{…}}",
            )
        where = self._part(entries.get("where"), kind, "where")
        must = self._part(entries.get("must"), kind, "must") if "must" in required else ()
        told = entries.get("finding")
        template = finding(told, kind, problems) if told is not None else kind.finding
        if where is None or must is None:
            return None
        return Leaf(key.text, form, kind, where, must, on_empty, at_least, at_most, template, key.mark)

    def _misplaced(self, form: Form, allowed: tuple[str, ...]) -> dict[str, str]:
        reasons = {
            "on_empty": f"on_empty speaks of every and none; {form.value} decides an empty scope by itself",
            "must": f"must belongs to one and every; {form.value} chooses its facts with where",
            "at_least": "a bound belongs to count, or to a demand of a field",
            "at_most": "a bound belongs to count, or to a demand of a field",
        }
        return {key: reason for key, reason in reasons.items() if key not in allowed}

    def _on_empty(self, node: Node | None) -> OnEmpty | None:
        if node is None:
            return None
        chosen = schema.word(node, self._problems, "what an empty scope means", [option.value for option in _ON_EMPTY])
        return OnEmpty(chosen) if chosen is not None else None

    def _kind(self, node: Node) -> FactKind | None:
        name = schema.text(node, self._problems, "the name of a fact kind")
        if name is None:
            return None
        kind = self._kinds.get(name)
        if kind is None:
            self._problems.add(
                node.mark,
                f"there is no fact kind {shown(name)}",
                self._kinds.hint(name),
            )
        return kind

    def _bound(self, node: Node | None, operator: Operator) -> Operand:
        return self._operands.read(node, _COUNTED, operator) if node is not None else None

    def _part(self, node: Node | None, kind: FactKind, part: str) -> tuple[Demand, ...] | None:
        return self._demands.conjunction(node, kind, part) if node is not None else ()


_ON_EMPTY = (OnEmpty.FAIL, OnEmpty.PASS, OnEmpty.INCONCLUSIVE, OnEmpty.NOT_APPLICABLE)


def condition_names(
    node: Node, problems: Problems, what: str, *, may_be_empty: bool = False
) -> tuple[Scalar, ...] | None:
    """A list of condition names, none twice; None if a mistake was reported."""
    items = schema.sequence(node, problems, what, may_be_empty=may_be_empty)
    if items is None:
        return None
    names: dict[str, Scalar] = {}
    good = True
    for item in items.items:
        if schema.text(item, problems, "the name of a condition") is None or not isinstance(item, Scalar):
            good = False
        elif item.text in names:
            problems.add(item.mark, f"{item.text} stands twice in {what}", "remove one of them")
            good = False
        else:
            names[item.text] = item
    return tuple(names.values()) if good else None
