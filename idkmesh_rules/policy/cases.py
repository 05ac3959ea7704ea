"""The ways in which conditions can pass together: `all` adds up, `any` splits into cases.

Invariant: if all the named conditions pass, then in at least one of the cases every leaf passes (nothing under `any`
can be not applicable, so an `any` that passes has a child that is true).
"""

from collections.abc import Iterable, Mapping
from itertools import product

from idkmesh_rules.model.bundle import Condition, Form, Leaf

MAX_CASES = 64

Case = tuple[Leaf, ...]


def cases(names: Iterable[str], conditions: Mapping[str, Condition]) -> tuple[Case, ...]:
    """The cases of a conjunction of named conditions.

    An `any` that would lead to more than `MAX_CASES` is left out, which only makes what the cases say weaker.
    """
    found: tuple[Case, ...] = ((),)
    for name in names:
        own = _cases_of(conditions[name], conditions)
        if len(found) * len(own) <= MAX_CASES:
            found = tuple([(*before, *more) for before, more in product(found, own)])
    return found


def _cases_of(condition: Condition, conditions: Mapping[str, Condition]) -> tuple[Case, ...]:
    if isinstance(condition, Leaf):
        return ((condition,),)
    if condition.form is Form.ALL:
        return cases(condition.children, conditions)
    return tuple([case for child in condition.children for case in _cases_of(conditions[child], conditions)])
