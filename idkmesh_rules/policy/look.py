"""The quick look at a whole bundle: one generated function that scans every kind once, as long as nothing is in doubt.

Almost every leaf of almost every candidate holds without an unknown in sight, and that case shouldn't pay for
explanations. For each leaf the look says how many facts are in its scope, if none of them is unknown where it matters,
none violates it, and none has to be listed; else it says that the leaf isn't quiet, and the tables decide the long way.

Invariants: a leaf that is called quiet has the value that the tables give it for so many facts; generated code consists of
positions and of names that are bound to operands, so that no text of a bundle ever becomes code.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from idkmesh_rules.model.bundle import Demand, Form, Leaf, Operator
from idkmesh_rules.model.facts import FactKind, KindFacts, Unknown, Value
from idkmesh_rules.policy.predicate import filled, glob_matcher

NOT_QUIET = -1
NONE_IN_SCOPE = -2
"""What `one` says where no fact is in its scope, and all are certainly out of it."""

Seen = tuple[Any, ...]
Scan = Callable[[Mapping[str, KindFacts]], Seen]


class Slot(NamedTuple):
    """Where a look keeps what it says of a leaf: the number of facts of its kind, its own figure, and for `one` the key.

    The figure is the number of facts in scope (for `one` the index of the only one), or NOT_QUIET, or NONE_IN_SCOPE.
    """

    facts: int
    figure: int
    key: int | None


class Look(NamedTuple):
    """A generated scan over the kinds of a store, and the slot of each leaf, in the order in which they were given.

    Two stores with the same figures get the same proof from quiet leaves, so that the figures can stand for the store.
    """

    scan: Scan
    slots: tuple[Slot, ...]


def look_of(leaves: Iterable[Leaf], parameters: Mapping[str, Value]) -> Look:
    """Generate the look at `leaves` under `parameters`; leaves that ask the same are asked once."""
    writer = _Writer(parameters)
    asked = [writer.place(leaf) for leaf in leaves]
    source = writer.source()
    names = {"Unknown": Unknown, **writer.names}
    exec(_code(source), names)  # positions and bound names only, see the module's invariants
    return Look(names["scan"], tuple([writer.slot(*place) for place in asked]))


@lru_cache(maxsize=256)
def _code(source: str) -> Any:
    return compile(source, "<quick look>", "exec")


class _Question(NamedTuple):
    """What is asked of the rows of a kind: how many are in scope, or which is the one."""

    number: int
    out: str
    met: str
    finds_one: bool


class _Writer:
    """Writes the function, kind by kind."""

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        self._parameters = parameters
        self.names: dict[str, Any] = {}
        self._kinds: dict[str, tuple[FactKind, dict[object, _Question]]] = {}
        self._questions = 0

    def place(self, leaf: Leaf) -> tuple[str, object]:
        """Take in a leaf; returns the name of its kind and what it asks, which find its slot later."""
        kind, questions = self._kinds.setdefault(leaf.kind.name, (leaf.kind, {}))
        asked = (leaf.form is Form.ONE, leaf.form is Form.NONE, leaf.form is Form.SOME, leaf.where, leaf.must)
        meaning = (*asked[:3], *map(self._meaning, asked[3:]))
        if meaning not in questions:
            questions[meaning] = self._question(leaf, kind)
            self._questions += 1
        return leaf.kind.name, meaning

    def _meaning(self, demands: tuple[Demand, ...]) -> object:
        return frozenset((each.field.name, each.operator, self._operands(each)) for each in demands)

    def _operands(self, demand: Demand) -> tuple[Value, ...]:
        return tuple([filled(operand, self._parameters) for operand in demand.operands])

    def _question(self, leaf: Leaf, kind: FactKind) -> _Question:
        where = [self._terms(demand, kind) for demand in leaf.where]
        must = [self._terms(demand, kind) for demand in leaf.must]
        certainly_out = " or ".join(false for _true, false in where) or "False"
        if leaf.form is Form.NONE:
            # Every fact is in scope, and what must not hold is `where`.
            return _Question(self._questions, "False", certainly_out, False)
        if leaf.form is Form.SOME:
            # A witness is listed, and so is never quiet.
            return _Question(self._questions, certainly_out, "False", False)
        met = " and ".join(true for true, _false in (*where, *must)) or "True"
        return _Question(self._questions, certainly_out, met, leaf.form is Form.ONE)

    def slot(self, kind_name: str, meaning: object) -> Slot:
        """Where the figures of a leaf stand in what the function returns."""
        names = self._returned()
        kind, questions = self._kinds[kind_name]
        question = questions[meaning]
        key = names.index(f"key{question.number}") if question.finds_one and not kind.singleton else None
        return Slot(names.index(f"facts{self._number(kind_name)}"), names.index(f"q{question.number}"), key)

    def _number(self, kind_name: str) -> int:
        return list(self._kinds).index(kind_name)

    def _returned(self) -> list[str]:
        names: list[str] = []
        for number, (kind, questions) in enumerate(self._kinds.values()):
            names.append(f"facts{number}")
            for question in questions.values():
                names.append(f"q{question.number}")
                if question.finds_one and not kind.singleton:
                    names.append(f"key{question.number}")
        return names

    def source(self) -> str:
        """The text of the function."""
        lines = ["def scan(kinds):"]
        for number, (name, (kind, questions)) in enumerate(self._kinds.items()):
            self.names[f"kind{number}"] = name
            lines += [f"    {line}" for line in _kind_lines(number, kind, tuple(questions.values()))]
        return "\n".join([*lines, f"    return ({', '.join(self._returned())},)"]) + "\n"

    def _terms(self, demand: Demand, kind: FactKind) -> tuple[str, str]:
        """Expressions over a row `r`: that a demand is certainly true, and that it is certainly false."""
        operands = self._operands(demand)
        bound = f"k{len(self.names)}"
        value = f"r[{kind.index[demand.field.name]}]"
        # A key is never unknown, and asking would cost as much as comparing.
        known = "" if demand.field.key else f"{value}.__class__ is not Unknown and "
        match demand.operator:
            case Operator.IN if len(operands) == 1 and isinstance(operands[0], bool):
                # The two flags are the only values of their kind, and identity is the fastest question.
                true, fails = f"{value} is {operands[0]}", f"{value} is not {operands[0]}"
            case Operator.IN if len(operands) == 1:
                self.names[bound] = operands[0]
                true, fails = f"{value} == {bound}", f"{value} != {bound}"
            case Operator.IN:
                self.names[bound] = frozenset(operands)
                true, fails = f"{value} in {bound}", f"{value} not in {bound}"
            case Operator.NOT:
                self.names[bound] = frozenset(operands)
                true, fails = f"{known}{value} not in {bound}", f"{value} in {bound}"
            case Operator.AT_LEAST | Operator.AT_MOST:
                self.names[bound] = operands[0]
                holds = f"{value} {'>=' if demand.operator is Operator.AT_LEAST else '<='} {bound}"
                true, fails = f"{value}.__class__ is int and {holds}", f"({value} is None or not {holds})"
            case Operator.CONTAINS:
                self.names[bound] = operands[0]
                held = f"{bound} in {value}"
                true, fails = f"{value}.__class__ is str and {held}", f"({value} is None or not {held})"
            case _:
                self.names[bound] = glob_matcher(operands)
                held = f"{bound}({value})"
                true, fails = f"{value}.__class__ is str and {held}", f"({value} is None or not {held})"
        return f"({true})", f"({known}{fails})"


def _kind_lines(number: int, kind: FactKind, questions: tuple[_Question, ...]) -> Iterator[str]:
    """The scan of one kind: each row is looked at once, by all who ask about it."""
    yield f"facts = kinds[kind{number}]"
    yield "rows = facts.rows"
    yield f"facts{number} = len(rows)"
    keyed = [each for each in questions if each.finds_one and not kind.singleton]
    for question in keyed:
        yield f"key{question.number} = None"
    for question in questions:
        yield f"q{question.number} = {NONE_IN_SCOPE if question.finds_one else 0}"
    if kind.singleton:
        yield "if facts.complete and rows:"
        yield "    r = rows[0]"
    else:
        yield "if facts.complete:"
        yield "    for index, r in enumerate(rows):" if keyed else "    for r in rows:"
    margin = "    " if kind.singleton else "        "
    for question in questions:
        yield from [margin + line for line in _row_lines(question, kind)]
    for question in questions:
        if not question.finds_one:
            yield f"    if q{question.number} < 0: q{question.number} = {NOT_QUIET}"
    yield "elif not facts.complete:"
    yield "    " + " = ".join(f"q{question.number}" for question in questions) + f" = {NOT_QUIET}"


def _row_lines(question: _Question, kind: FactKind) -> Iterator[str]:
    """What one row does to a figure; once it isn't quiet, it stays so."""
    figure = f"q{question.number}"
    if question.finds_one:
        found = "0" if kind.singleton else "index"
        counted = [f"{figure} = {found} if {figure} == {NONE_IN_SCOPE} else {NOT_QUIET}"]
        if not kind.singleton:
            key = ", ".join(f"r[{position}]" for position in kind.key_positions)
            counted.append(f"key{question.number} = ({key},)")
        failed = f"{figure} = {NOT_QUIET}"
    else:
        counted, failed = [f"{figure} += 1"], f"{figure} = {-(1 << 62)}"
    if question.out == "False":
        yield f"if {question.met}:"
        yield from (f"    {line}" for line in counted)
        yield f"else: {failed}"
        return
    yield f"if not ({question.out}):"
    yield f"    if {question.met}:"
    yield from (f"        {line}" for line in counted)
    yield f"    else: {failed}"
