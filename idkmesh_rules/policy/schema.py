"""Typed readers over marked YAML: each takes a node and says what was expected, where, and what stands there.

Invariants: a reader returns None exactly if it reported a mistake (or met a place that was already reported), so that
its caller can stay silent; bool is not int, a text in quotes is neither, and an empty value is nothing at all.
"""

import re
from collections.abc import Iterable
from collections.abc import Mapping as Table

from idkmesh_rules.model.bundle import Mark
from idkmesh_rules.policy.problems import Problems, closest, shown, suggest
from idkmesh_rules.policy.yaml_reader import Broken, Mapping, Node, Scalar, Sequence

_INTEGER = re.compile(r"-?[1-9][0-9]{0,15}|0")
_LARGEST = 1 << 53


def found(node: Node) -> str:
    """What stands at a node, as the end of a sentence."""
    if isinstance(node, Scalar):
        if node.plain:
            return f"found {shown(node.text)}" if node.text else "found nothing"
        return f"found the text {shown(node.text)}"
    return "found a list" if isinstance(node, Sequence) else "found a mapping"


def _refuse(node: Node, problems: Problems, expected: str, hint: str | None = None) -> None:
    if not isinstance(node, Broken):
        problems.add(node.mark, f"expected {expected}, {found(node)}", hint)


def mapping(node: Node, problems: Problems, what: str) -> Mapping | None:
    """A mapping with at least one entry; `what` is it for a person."""
    if not isinstance(node, Mapping):
        _refuse(node, problems, what)
        return None
    if not node.entries:
        problems.add(node.mark, f"expected {what}, found an empty mapping")
        return None
    return node


def sequence(node: Node, problems: Problems, what: str, *, may_be_empty: bool = False) -> Sequence | None:
    """A list, with at least one item unless it may be empty."""
    if not isinstance(node, Sequence):
        _refuse(node, problems, what, "write it as [...]" if isinstance(node, Scalar) else None)
        return None
    if not node.items and not may_be_empty:
        problems.add(node.mark, f"expected {what}, found an empty list")
        return None
    return node


def text(node: Node, problems: Problems, what: str) -> str | None:
    """A text, quoted or not, that isn't empty."""
    if not isinstance(node, Scalar) or not node.text:
        _refuse(node, problems, what)
        return None
    return node.text


def word(node: Node, problems: Problems, what: str, options: Iterable[str]) -> str | None:
    """One of a fixed set of texts."""
    known = tuple(options)
    if not isinstance(node, Scalar):
        _refuse(node, problems, what, f"expected one of: {', '.join(known)}")
        return None
    if node.text not in known:
        _refuse(node, problems, what, suggest(node.text, known) or f"expected one of: {', '.join(known)}")
        return None
    return node.text


def integer(node: Node, problems: Problems, what: str) -> int | None:
    """A decimal integer without quotes, sign tricks, leading zeros or underscores, within ±2^53."""
    if not isinstance(node, Scalar) or not node.plain or _INTEGER.fullmatch(node.text) is None:
        quoted = isinstance(node, Scalar) and _INTEGER.fullmatch(node.text)
        hint = "write it without quotes" if quoted else "write a whole number in decimal digits"
        _refuse(node, problems, what, hint)
        return None
    value = int(node.text)
    if abs(value) > _LARGEST:
        problems.add(node.mark, f"{value} is beyond 2^53")
        return None
    return value


def boolean(node: Node, problems: Problems, what: str) -> bool | None:
    """`true` or `false` without quotes; `yes`, `on`, `1` are neither."""
    if not isinstance(node, Scalar) or not node.plain or node.text not in ("true", "false"):
        quoted = isinstance(node, Scalar) and node.text in ("true", "false")
        hint = "write it without quotes" if quoted else "write true or false"
        _refuse(node, problems, what, hint)
        return None
    return node.text == "true"


class Entries:
    """The entries of a mapping with a closed set of keys; unknown and missing keys were reported when it was made.

    `misplaced` has a sentence for keys that belong elsewhere, `missing` one with a hint for keys that have to be there.
    """

    def __init__(
        self,
        node: Mapping,
        problems: Problems,
        what: str,
        *,
        required: Iterable[str] = (),
        optional: Iterable[str] = (),
        at: Mark | None = None,
        misplaced: Table[str, str] | None = None,
        missing: Table[str, tuple[str, str]] | None = None,
    ) -> None:
        needed = tuple(required)
        known = (*needed, *optional)
        self.marks = {key.text: key.mark for key, _value in node.entries}
        self.nodes = {key.text: value for key, value in node.entries}
        absent = [key for key in known if key not in self.nodes]
        for key, _value in node.entries:
            if key.text in known:
                continue
            if misplaced is not None and key.text in misplaced:
                problems.add(key.mark, misplaced[key.text])
                continue
            problems.add(key.mark, f"{what} has no key {shown(key.text)}", suggest(key.text, absent or known))
            meant = closest(key.text, absent)
            if meant is not None:
                # The key that was mistyped is there; that it is missing would be the same mistake told twice.
                absent.remove(meant)
        for name in needed:
            if name in absent:
                message, hint = (missing or {}).get(name, (f"{what} needs the key {name}", f"add {name}: …"))
                problems.add(at or node.mark, message, hint)

    def get(self, key: str) -> Node | None:
        """The value of a key, or None if it is missing."""
        return self.nodes.get(key)
