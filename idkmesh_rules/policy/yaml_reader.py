"""Read YAML as marked text: mappings, sequences and scalars, with nothing resolved (design: *Rule bundle language v1*).

Invariants:
- A scalar is its text and whether it stood without quotes; what it means is the schema's business, so that `no`, `on`,
  `017` and `12:30` stay what they are.
- One document of plain YAML: duplicate keys, anchors, aliases, tags, merge keys, directives, further documents and keys
  that are no scalars are refused.
- Line and column count characters from 1. What would make libyaml count lines otherwise than editors do (CR, NEL,
  U+2028, U+2029, a BOM), or is no text at all, is refused before parsing.
- Size and depth are bounded; the tree is built without recursion.
"""

import re
from functools import cache
from typing import Any, NamedTuple

from idkmesh_rules.model.bundle import Mark
from idkmesh_rules.policy.problems import Problems, shown

MAX_BYTES = 1 << 20
MAX_DEPTH = 32

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Looked for one by one: a class that spans the basic plane costs more to compile than the whole package to import.
_OTHERS = "\u2028\u2029\ufeff\ufffe\uffff"
_NAMES = {
    "\r": "a carriage return",
    "\x85": "a next-line character (U+0085)",
    "\u2028": "a line separator (U+2028)",
    "\u2029": "a paragraph separator (U+2029)",
    "\ufeff": "a byte order mark",
}


class Scalar(NamedTuple):
    """A text; `plain` if it stood without quotes and not as a block."""

    text: str
    plain: bool
    mark: Mark


class Sequence(NamedTuple):
    """Nodes in the order of the file."""

    items: tuple["Node", ...]
    mark: Mark


class Mapping(NamedTuple):
    """Keys and values in the order of the file; no two keys have the same text."""

    entries: tuple[tuple[Scalar, "Node"], ...]
    mark: Mark


class Broken(NamedTuple):
    """A place where a node was refused: it was reported, and nothing more is said about it."""

    mark: Mark


Node = Scalar | Sequence | Mapping | Broken


def read_yaml(data: bytes, name: str, what: str = "a rule bundle") -> tuple[Node, Problems]:
    """Read one YAML document; `what` is it for a person. Returns its root and the mistakes that don't stop the reading.

    Raises `PolicyError` when there is nothing to go on with: too big, not UTF-8, no YAML, empty.
    """
    text, problems = _text(data, name, what)
    root = _build(text, problems)
    if root is None:
        problems.fail()
    return root, problems


def _text(data: bytes, name: str, kind: str) -> tuple[str, Problems]:
    if len(data) > MAX_BYTES:
        problems = Problems(name, (), kind)
        problems.add(Mark(1, 1), f"the file has {len(data)} bytes, more than the {MAX_BYTES} that {kind} may have")
        problems.fail()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        problems = Problems(name, tuple(data.decode("utf-8", "replace").split("\n")), kind)
        problems.add(
            _position(good, len(good)), f"byte 0x{data[error.start]:02x} is not UTF-8", "save the file as UTF-8"
        )
        problems.fail()
    problems = Problems(name, tuple(text.split("\n")), kind)
    found = {match.group(): match.start() for match in reversed(list(_CONTROL.finditer(text)))}
    found |= {character: text.index(character) for character in _OTHERS if character in text}
    for character, offset in found.items():
        what = _NAMES.get(character, f"the control character U+{ord(character):04X}")
        problems.add(
            _position(text, offset),
            f"{what} may not stand in {problems.what}",
            "end lines with LF and save without a BOM" if character in _NAMES else "remove it",
        )
    problems.finish()
    return text, problems


def _position(text: str, offset: int) -> Mark:
    return Mark(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


@cache
def _loader() -> Any:
    import yaml  # costs more than the rest of the start-up, so only who reads a bundle pays

    return getattr(yaml, "CLoader", yaml.Loader)


def _build(text: str, problems: Problems) -> Node | None:
    import yaml

    builder = _Builder(problems)
    try:
        for event in yaml.parse(text, Loader=_loader()):
            if not builder.take(event):
                break
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        mark = _mark(place) if place is not None else Mark(1, 1)
        context = f" {error.context}" if error.context else ""
        problems.add(mark, f"this is not YAML:{context}{',' if context else ''} {error.problem}")
        return None
    if builder.root is None and not problems:
        problems.add(Mark(1, 1), "the file is empty", 'begin with schema_version: "1.0"')
    return builder.root


def _mark(mark: Any) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)


class _Open:
    """A collection whose end has not been seen; a mapping's pending key waits for its value."""

    __slots__ = ("entries", "first", "is_mapping", "items", "key", "mark", "value_is_next")

    def __init__(self, mark: Mark, is_mapping: bool) -> None:
        self.mark = mark
        self.is_mapping = is_mapping
        self.items: list[Node] = []
        self.entries: list[tuple[Scalar, Node]] = []
        self.first: dict[str, Mark] = {}
        self.key: Scalar | None = None
        self.value_is_next = False

    def close(self) -> Node:
        return Mapping(tuple(self.entries), self.mark) if self.is_mapping else Sequence(tuple(self.items), self.mark)


class _Builder:
    """Events to nodes, with an explicit stack."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.root: Node | None = None
        self._stack: list[_Open] = []
        self._documents = 0
        self._handlers = {
            "ScalarEvent": self._scalar,
            "MappingStartEvent": self._start,
            "SequenceStartEvent": self._start,
            "MappingEndEvent": self._end,
            "SequenceEndEvent": self._end,
            "AliasEvent": self._alias,
            "DocumentStartEvent": self._document,
        }

    def take(self, event: Any) -> bool:
        """Take one event; False when no further event is worth looking at."""
        handler = self._handlers.get(type(event).__name__)
        return handler(event) if handler is not None else True

    def _document(self, event: Any) -> bool:
        self._documents += 1
        mark = _mark(event.start_mark)
        if self._documents > 1:
            self.problems.add(
                mark, "a second document begins here", f"{self.problems.what} is one document; remove the ---"
            )
            return False
        if event.version is not None or event.tags:
            self.problems.add(
                mark, f"YAML directives may not stand in {self.problems.what}", "remove the lines that begin with %"
            )
        return True

    def _scalar(self, event: Any) -> bool:
        mark = _mark(event.start_mark)
        if event.anchor is not None or event.tag is not None:
            self._check_decoration(event, mark)
        self._place(Scalar(event.value, event.style in (None, ""), mark))
        return True

    def _start(self, event: Any) -> bool:
        mark = _mark(event.start_mark)
        if len(self._stack) >= MAX_DEPTH:
            self.problems.add(mark, f"nested more than {MAX_DEPTH} deep")
            self.root = None
            return False
        self._check_decoration(event, mark)
        self._stack.append(_Open(mark, type(event).__name__ == "MappingStartEvent"))
        return True

    def _end(self, event: Any) -> bool:
        self._place(self._stack.pop().close())
        return True

    def _alias(self, event: Any) -> bool:
        mark = _mark(event.start_mark)
        self.problems.add(
            mark, f"the alias *{event.anchor} may not stand in {self.problems.what}", "write the value out"
        )
        self._place(Broken(mark))
        return True

    def _check_decoration(self, event: Any, mark: Mark) -> None:
        if event.anchor is not None:
            self.problems.add(
                mark,
                f"the anchor &{event.anchor} may not stand in {self.problems.what}",
                "write the value out where it is used",
            )
        if event.tag is not None:
            self.problems.add(
                mark,
                f"the tag {shown(event.tag)} may not stand in {self.problems.what}",
                "the schema says what a value is",
            )

    def _place(self, node: Node) -> None:
        if not self._stack:
            self.root = node
            return
        parent = self._stack[-1]
        if not parent.is_mapping:
            parent.items.append(node)
        elif not parent.value_is_next:
            parent.key = self._key(parent, node)
            parent.value_is_next = True
        else:
            parent.value_is_next = False
            if parent.key is not None:
                parent.entries.append((parent.key, node))

    def _key(self, parent: _Open, node: Node) -> Scalar | None:
        """Return the key if its entry counts; else say why not."""
        if not isinstance(node, Scalar):
            if not isinstance(node, Broken):
                self.problems.add(node.mark, "a key has to be a text, not a collection")
            return None
        if node.plain and node.text == "<<":
            self.problems.add(node.mark, f"merge keys may not stand in {self.problems.what}", "write the entries out")
            return None
        if node.plain and not node.text:
            self.problems.add(node.mark, "a key is missing here")
            return None
        first = parent.first.setdefault(node.text, node.mark)
        if first is not node.mark:
            self.problems.add(
                node.mark,
                f"the key {shown(node.text)} stands twice in one mapping",
                f"it stood first on line {first.line}; keep one of them",
            )
            return None
        return node


def children(node: Mapping | Sequence) -> tuple[Node, ...]:
    """The nodes directly below `node`, keys aside."""
    return node.items if isinstance(node, Sequence) else tuple([value for _key, value in node.entries])
