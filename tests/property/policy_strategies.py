"""Small fact kinds, fact stores and rule bundles for the tests of the policy layer; strategies that draw them."""

from dataclasses import replace

from hypothesis import strategies as st

from idkmesh_rules.model.bundle import (
    Bundle,
    Combination,
    Condition,
    Demand,
    Form,
    Leaf,
    Mark,
    OnEmpty,
    Operator,
    Validator,
)
from idkmesh_rules.model.facts import (
    Category,
    FactKind,
    FactStore,
    Field,
    FieldType,
    FindingTemplate,
    Invariant,
    KindFacts,
    Origin,
    Row,
    Severity,
    Unknown,
)

COLORS = ("red", "green", "blue")

ITEM = FactKind(
    "box.item",
    "A thing in the box.",
    (
        Field("name", FieldType.STRING, key=True),
        Field("color", FieldType.ENUM, values=COLORS),
        Field("open", FieldType.BOOL),
        Field("whole", FieldType.BOOL),
        Field("sound", FieldType.BOOL),
        Field("weight", FieldType.INT, optional=True),
        Field("label", FieldType.STRING, optional=True),
        Field("digest", FieldType.DIGEST, optional=True),
    ),
    FindingTemplate(Severity.HIGH, Category.OTHER, "{name} is wrong"),
    (
        Invariant(
            "sound = whole ∧ ¬open",
            ("sound", "whole", "open"),
            lambda sound, whole, open_: sound == (whole and not open_),
        ),
    ),
)
LID = FactKind(
    "box.lid",
    "The lid of the box.",
    (
        Field("shut", FieldType.BOOL),
        Field("screws", FieldType.INT),
        Field("note", FieldType.STRING, optional=True),
    ),
    FindingTemplate(Severity.LOW, Category.OTHER, "the lid is off"),
)
KINDS = {ITEM.name: ITEM, LID.name: LID}

NAMES = ("a", "b", "c", "src/d")
GONE = Unknown("not seen")


def facts(kind: FactKind, *rows: Row, complete: bool = True, crashed: bool = False) -> KindFacts:
    """Facts of one kind in the order of their keys, each seen on its own line."""
    ordered = sorted(rows, key=lambda row: str([row[position] for position in kind.key_positions]))
    origins = tuple((Origin("test", "box", line=line),) for line in range(1, len(rows) + 1))
    return KindFacts(kind, tuple(ordered), origins, complete, None if complete else "not looked", crashed)


def store(*kinds: KindFacts) -> FactStore:
    """A store of the given facts; kinds that aren't given are empty and complete."""
    given = {each.kind.name: each for each in kinds}
    return FactStore({name: given.get(name) or facts(kind) for name, kind in sorted(KINDS.items())})


def item(
    name: str = "a",
    color: object = "red",
    open: object = False,
    whole: object = True,
    sound: object = None,
    weight: object = 1,
    label: object = None,
    digest: object = None,
) -> Row:
    """A row of box.item; `sound` follows from the others unless it is given."""
    if sound is None:
        sound = GONE if GONE in (open, whole) else bool(whole and not open)
    return (name, color, open, whole, sound, weight, label, digest)  # type: ignore[return-value]


def lid(shut: object = True, screws: object = 4, note: object = None) -> Row:
    """A row of box.lid."""
    return (shut, screws, note)  # type: ignore[return-value]


def _maybe(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(values, st.just(GONE))


@st.composite
def items(draw: st.DrawFn, name: str) -> Row:
    whole, open_ = draw(st.booleans()), draw(st.booleans())
    hidden = draw(st.frozensets(st.sampled_from(("color", "open", "whole", "sound", "weight", "label")), max_size=3))
    known = {
        "color": draw(st.sampled_from(COLORS)),
        "open": open_,
        "whole": whole,
        "sound": whole and not open_,
        "weight": draw(st.sampled_from((None, 0, 1, 2, 3))),
        "label": draw(st.sampled_from((None, "x", "xy"))),
    }
    return item(name, *[GONE if field in hidden else value for field, value in known.items()])


@st.composite
def stores(draw: st.DrawFn) -> FactStore:
    """Any fact store over the kinds, with unknown fields and incomplete kinds."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    rows = [draw(items(name)) for name in names]
    top = draw(
        st.one_of(
            st.none(),
            st.builds(lid, _maybe(st.booleans()), _maybe(st.integers(0, 2)), _maybe(st.sampled_from((None, "x")))),
        )
    )
    crashed = draw(st.booleans())
    return store(
        facts(ITEM, *rows, complete=draw(st.integers(0, 3)) > 0, crashed=crashed),
        facts(LID, *([top] if top is not None else []), complete=draw(st.integers(0, 3)) > 0),
    )


_DEMANDS = {
    FieldType.BOOL: st.one_of(
        st.tuples(st.just(Operator.IN), st.booleans().map(lambda value: (value,))),
        st.tuples(st.just(Operator.NOT), st.booleans().map(lambda value: (value,))),
    ),
    FieldType.INT: st.one_of(
        st.tuples(
            st.sampled_from((Operator.AT_LEAST, Operator.AT_MOST)), st.integers(0, 3).map(lambda value: (value,))
        ),
        st.tuples(
            st.sampled_from((Operator.IN, Operator.NOT)),
            st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True).map(tuple),
        ),
    ),
    FieldType.ENUM: st.tuples(
        st.sampled_from((Operator.IN, Operator.NOT)),
        st.lists(st.sampled_from(COLORS), min_size=1, max_size=2, unique=True).map(tuple),
    ),
    FieldType.STRING: st.one_of(
        st.tuples(
            st.sampled_from((Operator.IN, Operator.NOT)),
            st.lists(st.sampled_from(("a", "x", "xy")), min_size=1, max_size=2, unique=True).map(tuple),
        ),
        st.tuples(st.just(Operator.CONTAINS), st.just(("y",))),
        st.tuples(st.just(Operator.GLOB), st.sampled_from((("src/**",), ("*",), ("a", "x")))),
    ),
}


@st.composite
def demands(draw: st.DrawFn, kind: FactKind, least: int) -> tuple[Demand, ...]:
    usable = [declared for declared in kind.fields if declared.type in _DEMANDS]
    chosen = draw(st.lists(st.sampled_from(usable), min_size=least, max_size=3, unique=True))
    return tuple(Demand(declared, *draw(_DEMANDS[declared.type]), Mark(1, 1)) for declared in chosen)


@st.composite
def leaves(draw: st.DrawFn, name: str) -> Leaf:
    """Any leaf over the kinds, whether or not a loader would find it meaningful."""
    kind = draw(st.sampled_from((ITEM, ITEM, LID)))
    form = Form.ONE if kind is LID else draw(st.sampled_from((Form.ONE, Form.EVERY, Form.SOME, Form.NONE, Form.COUNT)))
    must = draw(demands(kind, 1)) if form in (Form.ONE, Form.EVERY) else ()
    on_empty = draw(st.sampled_from(tuple(OnEmpty))) if form in (Form.EVERY, Form.NONE) else None
    at_least = draw(st.one_of(st.none(), st.integers(0, 3))) if form is Form.COUNT else None
    at_most = draw(st.integers(0, 3)) if form is Form.COUNT and at_least is None else None
    return Leaf(name, form, kind, draw(demands(kind, 0)), must, on_empty, at_least, at_most, kind.finding, Mark(1, 1))


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    """A bundle of a few leaves and combinations under two validators and perhaps an escalation."""
    conditions: dict[str, Condition] = {f"c{n}": draw(leaves(f"c{n}")) for n in range(draw(st.integers(1, 5)))}
    for number in range(draw(st.integers(0, 2))):
        names = draw(st.lists(st.sampled_from(sorted(conditions)), min_size=1, max_size=3, unique=True))
        form = draw(st.sampled_from((Form.ALL, Form.ANY)))
        conditions[f"g{number}"] = Combination(f"g{number}", form, tuple(names), Mark(2, 1))
    chosen = st.lists(st.sampled_from(sorted(conditions)), min_size=1, max_size=4, unique=True).map(tuple)
    validators = {name: Validator(name, draw(chosen), Mark(3, 1)) for name in ("first", "second")}
    escalate = draw(st.lists(st.sampled_from(sorted(conditions)), max_size=1).map(tuple))
    return Bundle(
        "demo",
        "1.0.0",
        "me",
        "unified_diff",
        "sha256:" + "0" * 64,
        {},
        conditions,
        validators,
        escalate,
        "bundle.yaml",
        Mark(1, 1),
    )


@st.composite
def refinements(draw: st.DrawFn, before: FactStore) -> FactStore:
    """A store in which some of what was unknown became known, and some incomplete kinds grew or were completed."""
    kinds = []
    for each in before:
        rows = [
            tuple(_known(draw, each.kind, position, value) for position, value in enumerate(row)) for row in each.rows
        ]
        complete = each.complete
        if not complete:
            if each.kind is ITEM:
                taken = {row[0] for row in rows}
                fresh = draw(
                    st.lists(
                        st.sampled_from([name for name in NAMES if name not in taken] or ["z"]), unique=True, max_size=2
                    )
                )
                rows += [draw(items(name)) for name in fresh if name not in taken]
            elif not rows and draw(st.booleans()):
                rows = [lid(draw(st.booleans()), draw(st.integers(0, 2)))]
            complete = draw(st.booleans())
        kinds.append(replace(facts(each.kind, *rows, complete=complete), crashed=each.crashed and not complete))
    return store(*kinds)


def _known(draw: st.DrawFn, kind: FactKind, position: int, value: object) -> object:
    if value is not GONE or draw(st.booleans()):
        return value
    declared = kind.fields[position]
    known = {
        FieldType.BOOL: st.booleans(),
        FieldType.INT: st.integers(0, 3),
        FieldType.ENUM: st.sampled_from(COLORS),
        FieldType.STRING: st.sampled_from((None, "x", "xy")),
    }
    return draw(known[declared.type])
