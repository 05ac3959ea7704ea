"""Whether two leaves have the same value on every fact set, decided by trying small ones.

Facts of a kind fall into sorts by what `where` and `must` of both leaves say of them; a fact set is, as far as the two
leaves can tell, a number of facts of each sort. Their tables look only at whether a sort is there, whether it is there
twice, and, for `count`, how often; so sets with up to three facts, and with as many of one or two sorts as a bound
speaks of, tell two leaves apart if any set does.

A parameter may have any value. A demand that mentions one, is the same in both leaves and is the only one about its field
splits facts in the same way whatever the value is, so its default stands for all; in any other place a parameter leaves open
what a leaf says.

Invariant: equivalence is claimed only if it holds for all those sets; where rows can't be listed, or a parameter leaves
open what a leaf says, it isn't claimed (design: facts-and-policy, *Bundle tests*).
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, combinations_with_replacement, product
from typing import NamedTuple

from idkmesh_rules.model.bundle import Form, Leaf, Operator, ParameterRef
from idkmesh_rules.model.facts import FactKind, FieldType, Value
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.policy.abstract import AbstractRow, Conjunction, TooManyRows, Unknowns, atoms, rows
from idkmesh_rules.policy.predicate import filled
from idkmesh_rules.policy.scan import Scan, negated
from idkmesh_rules.policy.tables import Table, counted, table_for

_MOST_AT_ONCE = 3


class _Judge(NamedTuple):
    """A leaf, ready to be asked about rows and numbers of them."""

    leaf: Leaf
    where: Conjunction
    must: Conjunction
    table: Table

    @classmethod
    def of(cls, leaf: Leaf) -> "_Judge":
        table = table_for(leaf.form, leaf.on_empty, *_bounds(leaf))
        return cls(leaf, atoms(leaf.where, {}), atoms(leaf.must, {}), table)

    def says(self, row: AbstractRow) -> tuple[Truth, Truth]:
        """What scope and demand are on a row."""
        if self.leaf.form is Form.NONE:
            return Truth.TRUE, negated(row.conjunction(self.where))
        return row.conjunction(self.where), row.conjunction(self.must)


class _Sort(NamedTuple):
    """Facts that neither leaf can tell apart: what each says of them, and their key, where the leaves pin all of it."""

    said: tuple[tuple[Truth, Truth], tuple[Truth, Truth]]
    key: tuple[object, ...] | None


_Set = tuple[tuple[_Sort, int], ...]


def equivalent(first: Leaf, second: Leaf, defaults: Mapping[str, Value]) -> bool:
    """Whether the leaves, over one kind, have one value on every fact set of it, whatever the parameters are."""
    if not _same_for_all_parameters(first, second):
        return False
    first, second = (_filled(leaf, defaults) for leaf in (first, second))
    judges = (_Judge.of(first), _Judge.of(second))
    wanted = [atom for judge in judges for atom in (*judge.where, *judge.must)]
    try:
        known = rows(first.kind, wanted, unknowns=Unknowns.ANY)
    except TooManyRows:
        return False
    sorts = tuple(
        dict.fromkeys([_Sort((judges[0].says(row), judges[1].says(row)), _pinned(first.kind, row)) for row in known])
    )
    numbers = sorted({bound + step for leaf in (first, second) for bound in _numbers(leaf) for step in (-1, 0, 1)})
    most = 1 if first.kind.singleton else _MOST_AT_ONCE
    return all(
        _value(judges[0], 0, facts, complete) is _value(judges[1], 1, facts, complete)
        for facts in _sets(sorts, numbers, most)
        if _possible(facts)
        for complete in (True, False)
    )


def _same_for_all_parameters(first: Leaf, second: Leaf) -> bool:
    if any(isinstance(bound, ParameterRef) for leaf in (first, second) for bound in (leaf.at_least, leaf.at_most)):
        return False
    demands = [*first.demands, *second.demands]
    for demand in demands:
        if any(isinstance(operand, ParameterRef) for operand in demand.operands):
            beside = [each for each in demands if each.field.name == demand.field.name]
            if demand.field.type in _TIED or any(each[:3] != demand[:3] for each in beside):
                return False
    return True


_TIED = (FieldType.BOOL, FieldType.ENUM)
"""Fields that an invariant may tie to others: there the default doesn't stand for all values."""


def _filled(leaf: Leaf, defaults: Mapping[str, Value]) -> Leaf:
    where, must = (
        tuple(
            [each._replace(operands=tuple([filled(operand, defaults) for operand in each.operands])) for each in part]
        )
        for part in (leaf.where, leaf.must)
    )
    return leaf._replace(where=where, must=must)


def _pinned(kind: FactKind, row: AbstractRow) -> tuple[object, ...] | None:
    """The key of a fact, if a demand for one literal is true of each field of it: there is at most one such fact."""
    exact = {
        atom.field: atom.operands[0]
        for atom, truth in row.truths.items()
        if truth is Truth.TRUE and atom.operator is Operator.IN and len(atom.operands) == 1
    }
    names = [kind.fields[position].name for position in kind.key_positions]
    return tuple([exact[name] for name in names]) if all(name in exact for name in names) else None


def _possible(facts: _Set) -> bool:
    """Whether no two facts of a set would share a key."""
    keys = [sort.key for sort, number in facts for _ in range(min(number, 2)) if sort.key is not None]
    return len(set(keys)) == len(keys)


def _sets(sorts: tuple[_Sort, ...], numbers: list[int], most: int) -> Iterator[_Set]:
    for size in range(most + 1):
        for chosen in combinations_with_replacement(sorts, size):
            yield tuple([(each, 1) for each in chosen])
    if most > 1:
        many = [number for number in numbers if number > 0]
        for one in sorts:
            for number in many:
                yield ((one, number),)
        for (one, other), (here, there) in product(combinations(sorts, 2), product([1, *many], repeat=2)):
            yield ((one, here), (other, there))


def _value(judge: _Judge, position: int, facts: _Set, complete: bool) -> Truth:
    if judge.leaf.form is Form.COUNT:
        # Only numbers matter here, and a bound may be too large to list as many facts.
        sure = sum(number for each, number in facts if each.said[position][0] is Truth.TRUE)
        perhaps = sum(number for each, number in facts if each.said[position][0] is Truth.UNKNOWN)
        return counted(sure, sure + perhaps, complete, *_bounds(judge.leaf))
    seen = Scan()
    index = 0
    for each, number in facts:
        for _ in range(min(number, _MOST_AT_ONCE)):
            seen.note(index, *each.said[position])
            index += 1
    return judge.table(seen, complete)[0]


def _bounds(leaf: Leaf) -> tuple[int | None, int | None]:
    least, most = leaf.at_least, leaf.at_most
    return least if isinstance(least, int) else None, most if isinstance(most, int) else None


def _numbers(leaf: Leaf) -> Iterator[int]:
    least, most = _bounds(leaf)
    yield from [bound for bound in (least, most) if bound is not None]
    if least is not None and most is not None:
        yield most - least
