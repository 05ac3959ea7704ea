"""A second evaluator, written from the truth tables and from nothing else: slow, without short cuts, and only for
tests.

It shares the values of `model/` with the product and not one line of `policy/`.
"""

from fnmatch import fnmatchcase

from idkmesh_rules.model.bundle import Bundle, Combination, Demand, Floor, Form, Leaf, OnEmpty, Operator
from idkmesh_rules.model.facts import FactStore, KindFacts, Row, Unknown

T, F, U, N = "T", "F", "U", "N"


def demand(asked: Demand, row: Row, facts: KindFacts) -> str:
    value = row[facts.kind.index[asked.field.name]]
    if isinstance(value, Unknown):
        return U
    if value is None:
        return T if asked.operator is Operator.NOT else F
    if asked.operator is Operator.IN:
        holds = any(value == operand for operand in asked.operands)
    elif asked.operator is Operator.NOT:
        holds = all(value != operand for operand in asked.operands)
    elif asked.operator is Operator.AT_LEAST:
        holds = value >= asked.operands[0]
    elif asked.operator is Operator.AT_MOST:
        holds = value <= asked.operands[0]
    elif asked.operator is Operator.CONTAINS:
        holds = asked.operands[0] in value
    else:
        # Enough for the patterns that the strategies draw: a literal, * within one component, and everything below a
        # folder.
        holds = any(
            value.startswith(pattern[:-2])
            if pattern.endswith("/**")
            else "/" not in value and fnmatchcase(value, pattern)
            for pattern in asked.operands
        )
    return T if holds else F


def both(values: list[str]) -> str:
    """Kleene's conjunction of values without N; true if there are none."""
    return F if F in values else U if U in values else T


def not_(value: str) -> str:
    return {T: F, F: T, U: U}[value]


def judged_facts(rule: Leaf, store: FactStore) -> list[tuple[str, str]]:
    """What `where` and `must` say of each fact; under `none` all facts are in scope, and `where` is what must not hold."""
    facts = store[rule.kind.name]
    judged = []
    for row in facts.rows:
        where = both([demand(asked, row, facts) for asked in rule.where])
        must = both([demand(asked, row, facts) for asked in rule.must])
        judged.append((T, not_(where)) if rule.form is Form.NONE else (where, must))
    return judged


def scope(rule: Leaf, store: FactStore) -> tuple[int, int]:
    """How many facts are in scope, and how many perhaps."""
    judged = [where for where, _must in judged_facts(rule, store)]
    return judged.count(T), judged.count(U)


def leaf(rule: Leaf, store: FactStore) -> str:
    facts = store[rule.kind.name]
    judged = judged_facts(rule, store)
    complete = facts.complete
    in_scope = [must for where, must in judged if where == T]
    perhaps = [must for where, must in judged if where == U]
    if rule.form in (Form.EVERY, Form.NONE):
        if F in in_scope:
            return F
        if not complete or any(must == U for must in in_scope + perhaps) or F in perhaps:
            return U
        if in_scope:
            return T
        if perhaps:
            return T if rule.on_empty is OnEmpty.PASS else U
        return {OnEmpty.PASS: T, OnEmpty.FAIL: F, OnEmpty.INCONCLUSIVE: U, OnEmpty.NOT_APPLICABLE: N}[rule.on_empty]
    if rule.form is Form.SOME:
        return T if in_scope else U if not complete or perhaps else F
    if rule.form is Form.ONE:
        if F in in_scope or len(in_scope) > 1:
            return F
        if not complete or perhaps or U in in_scope:
            return U
        return T if in_scope else F
    lowest = len(in_scope)
    highest = len(in_scope) + len(perhaps) if complete else 10**9
    least = rule.at_least if rule.at_least is not None else -(10**9)
    most = rule.at_most if rule.at_most is not None else 10**9 + 1
    if least <= lowest and highest <= most:
        return T
    return F if highest < least or lowest > most else U


def condition(bundle: Bundle, name: str, store: FactStore) -> str:
    rule = bundle.conditions[name]
    if isinstance(rule, Combination):
        values = [condition(bundle, child, store) for child in rule.children]
        order = (F, U, T) if rule.form is Form.ALL else (T, U, F)
        return next((value for value in order if value in values), N)
    return leaf(rule, store)


def conjunction(values: list[str]) -> str:
    return next((value for value in (F, U, T) if value in values), N)


def recommendation(bundle: Bundle, store: FactStore, required: tuple[str, ...], floor: Floor | None) -> str:
    values = []
    for name in required:
        validator = bundle.validators.get(name)
        children = validator.children if validator is not None else ()
        values.append(conjunction([condition(bundle, child, store) for child in children]))
    if not values:
        return "insufficient_evidence"
    if floor is not None:
        values.append(conjunction([leaf(each, store) for each in floor.leaves]))
    if F in values:
        return "reject_candidate"
    if set(values) != {T}:
        return "insufficient_evidence"
    escalated = any(condition(bundle, name, store) in (T, U) for name in bundle.escalate)
    return "escalate" if escalated else "accept_candidate"
