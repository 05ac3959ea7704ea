"""What the conditions' names refer to: unknown, unused, duplicate, circular, or not applicable where it may not be.

Invariants: one mistake is told once (a mistyped name is unknown, and what it meant isn't unused besides); after this
the conditions are an acyclic graph in which every one is reached from a validator or an escalation.
"""

from collections.abc import Iterator
from collections.abc import Mapping as Table
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from idkmesh_rules.model.bundle import Combination, Condition, Demand, Form, Leaf, Mark, OnEmpty
from idkmesh_rules.policy.problems import Problems, closest, shown, suggest
from idkmesh_rules.policy.yaml_reader import Scalar

MAX_NODES = 10_000
MAX_DEPTH = 32
_MOST_CYCLES = 20


class Named(NamedTuple):
    """What a bundle names: conditions (None where one is wrong), where they stand, and who mentions them.

    `all_read` is false if some list of names couldn't be read, so that nothing can be said to be unused.
    """

    conditions: Table[str, Condition | None]
    marks: Table[str, Mark]
    mentions: Table[str, tuple[Scalar, ...]]
    roots: tuple[Scalar, ...]
    validators: tuple[str, ...]
    all_read: bool


def check_names(named: Named, problems: Problems) -> None:
    """Report everything that is wrong with names; nothing if no condition could be read, for that was said."""
    if not named.conditions:
        return
    _unknown(named, problems)
    if named.all_read:
        _unused(named, problems)
    check_duplicates({name: each for name, each in named.conditions.items() if each is not None}, problems)
    if _cycles(named, problems):
        return
    _not_applicable_under_any(named, problems)
    _size(named, problems)


def _unknown(named: Named, problems: Problems) -> None:
    for name in (*named.roots, *(name for names in named.mentions.values() for name in names)):
        if name.text not in named.conditions:
            hint = (
                "a validator is no condition; name its conditions"
                if name.text in named.validators
                else suggest(name.text, named.conditions) or "declare it under conditions, or name one that is there"
            )
            problems.add(name.mark, f"there is no condition {shown(name.text)}", hint)


def _unused(named: Named, problems: Problems) -> None:
    used: set[str] = set()
    pending = [name.text for name in named.roots]
    while pending:
        text = pending.pop()
        name = text if text in named.conditions else closest(text, named.conditions)
        if name is not None and name not in used:
            used.add(name)
            pending.extend(mentioned.text for mentioned in named.mentions.get(name, ()))
    for name, mark in named.marks.items():
        if name not in used:
            problems.add(
                mark,
                f"the condition {name} is used by no validator and no escalation",
                "name it in validators or escalate, or remove it",
            )


def check_duplicates(conditions: Table[str, Condition], problems: Problems) -> None:
    """Report each condition that says the same as an earlier one."""
    first: dict[object, Condition] = {}
    for name, condition in conditions.items():
        twin = first.setdefault(_meaning(condition), condition)
        if twin is not condition and condition.mark is not None and twin.mark is not None:
            message = f"{name} says the same as {twin.name} on line {twin.mark.line}"
            problems.add(condition.mark, message, "keep one of them")


def _meaning(condition: Condition) -> object:
    """What a condition says, apart from its name, its finding and the order of its parts."""
    if isinstance(condition, Combination):
        return condition.form, frozenset(condition.children)
    return (
        condition.form,
        condition.kind.name,
        _conjunction(condition.where),
        _conjunction(condition.must),
        condition.on_empty,
        condition.at_least,
        condition.at_most,
    )


def _conjunction(demands: tuple[Demand, ...]) -> frozenset[object]:
    return frozenset((demand.field.name, demand.operator, frozenset(demand.operands)) for demand in demands)


def _cycles(named: Named, problems: Problems) -> bool:
    """Report each circle once, at the mention that closes it; whether there is any."""
    edges = {owner: {name.text: name.mark for name in names} for owner, names in named.mentions.items()}
    for _attempt in range(_MOST_CYCLES):
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as error:
            circle = error.args[1]  # each name is mentioned by the next one
            owner, mentioned = circle[1], circle[0]
            problems.add(
                edges[owner].pop(mentioned),
                f"{' → '.join(reversed(circle))} goes round in a circle",
                "a condition can't rest on itself",
            )
        else:
            return _attempt > 0
    return True


def _not_applicable_under_any(named: Named, problems: Problems) -> None:
    for owner, names in named.mentions.items():
        condition = named.conditions.get(owner)
        if isinstance(condition, Combination) and condition.form is Form.ANY:
            for name in names:
                for leaf in _leaves(named, name.text):
                    if leaf.on_empty is OnEmpty.NOT_APPLICABLE:
                        through = "" if leaf.name == name.text else f" (in {name.text})"
                        problems.add(
                            name.mark,
                            f"{leaf.name}{through} can be not applicable, and so may not stand under any",
                            "give it another on_empty, or take it out of any",
                        )


def _leaves(named: Named, name: str) -> Iterator[Leaf]:
    seen: set[str] = set()
    pending = [name]
    while pending:
        current = pending.pop()
        condition = named.conditions.get(current)
        if current in seen:
            continue
        seen.add(current)
        if isinstance(condition, Leaf):
            yield condition
        pending.extend(mentioned.text for mentioned in named.mentions.get(current, ()))


def _size(named: Named, problems: Problems) -> None:
    # A condition that two others mention is proved in both places, so a ladder of pairs would double at every rung.
    sizes: dict[str, int] = {}
    depths: dict[str, int] = {}
    edges = {owner: [name.text for name in names] for owner, names in named.mentions.items()}
    for name in TopologicalSorter(edges).static_order():
        children = edges.get(name, ())
        sizes[name] = min(1 + sum(sizes[child] for child in children), MAX_NODES + 1)
        depths[name] = 1 + max((depths[child] for child in children), default=0)
    for root in named.roots:
        if sizes.get(root.text, 1) > MAX_NODES:
            message = f"the proof of {root.text} would have more than {MAX_NODES} nodes"
            problems.add(root.mark, message, "mention conditions in fewer places")
        elif depths.get(root.text, 1) > MAX_DEPTH:
            problems.add(
                root.mark, f"{root.text} combines conditions more than {MAX_DEPTH} deep", "combine them directly"
            )
