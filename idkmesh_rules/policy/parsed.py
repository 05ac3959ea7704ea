"""The YAML tree of a bundle as a JSON value and back, so that bytes which were read before needn't be read again.

Invariants: the tree that comes back equals the one that went in, marks included; nothing is resolved on the way.
"""

from typing import Any

from idkmesh_rules.model.bundle import Mark
from idkmesh_rules.policy.yaml_reader import Mapping, Node, Scalar, Sequence


def to_json(node: Node) -> list[Any]:
    """`[line, column, text, plain]` for a scalar, `[line, column, [node, …]]` and `[line, column, {…}]` for the others.

    Raises TypeError for a broken node: only a tree without mistakes is worth keeping.
    """
    if isinstance(node, Scalar):
        return [*node.mark, node.text, node.plain]
    if isinstance(node, Sequence):
        return [*node.mark, [to_json(item) for item in node.items]]
    if isinstance(node, Mapping):
        return [*node.mark, {key.text: [*key.mark, key.plain, to_json(value)] for key, value in node.entries}]
    raise TypeError("a tree with mistakes can't be kept")


def from_json(value: list[Any]) -> Node:
    """The node that `to_json` made `value` of."""
    mark, content = Mark(value[0], value[1]), value[2]
    if isinstance(content, str):
        return Scalar(content, value[3], mark)
    if isinstance(content, list):
        return Sequence(tuple([from_json(item) for item in content]), mark)
    entries = [
        (Scalar(key, plain, Mark(line, column)), from_json(below))
        for key, (line, column, plain, below) in content.items()
    ]
    return Mapping(tuple(entries), mark)
