"""An explained decision: as a tree for a person, and as nested objects for a program."""

from collections.abc import Iterator
from typing import Any

from idkmesh_rules.audit.explain import Explanation, Root, Told, ToldFact, ToldField
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.model.documents import Document
from idkmesh_rules.model.proof import Recommendation, Status
from idkmesh_rules.model.text import printable
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.render.layout import WIDTH, wrapped
from idkmesh_rules.render.lines import as_json, drawn
from idkmesh_rules.render.text import refusal_text

_MARKS = {Truth.TRUE: "✓", Truth.FALSE: "✗", Truth.UNKNOWN: "?", Truth.NOT_APPLICABLE: "−"}
_SHOWN = 10
_BUNDLE = "inputs/bundle.yaml"
_STATUSES = {
    Truth.TRUE: Status.PASSED,
    Truth.FALSE: Status.FAILED,
    Truth.UNKNOWN: Status.INCONCLUSIVE,
    Truth.NOT_APPLICABLE: Status.INCONCLUSIVE,
}
_OUTCOMES = {Recommendation.ACCEPT.value: Status.PASSED, Recommendation.REJECT.value: Status.FAILED}


def explanation_text(told: Explanation, *, only: str | None, failed: bool, colour: bool) -> str:
    """The recommendation and the tree below each root; `only` names one root, `failed` leaves out what passed."""
    outcome = drawn(told.recommendation, _OUTCOMES.get(told.recommendation, Status.INCONCLUSIVE), colour)
    lines = [f"{outcome}  {printable(told.subject)}"]
    lines += [f"  rules     {printable(told.bundle)}, {_BUNDLE}", f"  decision  {told.decision_digest}"]
    if told.forged:
        lines += wrapped(
            f"! Tampered: the recorded decision ({told.recorded}) does not follow from the facts, rules and inputs. What is "
            "explained here does. See `idkrules replay`.",
            0,
        )
    roots = [root for root in told.roots if only in (None, root.name)]
    shown = [root for root in roots if not failed or root.kept]
    for root in shown:
        lines += ["", *_root(root, failed, colour)]
    if not shown:
        lines += ["", "Nothing kept it from passing."]
    return "\n".join(lines)


def explanation_json(told: Explanation, *, only: str | None, failed: bool) -> str:
    """The same as one JSON object."""
    return as_json(
        {
            "directory": told.name,
            "recommendation": told.recommendation,
            "recorded": told.recorded,
            "follows": not told.forged,
            "bundle": told.bundle,
            "decision_digest": told.decision_digest,
            "roots": [
                {
                    "role": root.role,
                    "name": root.name,
                    "status": root.status,
                    "required": root.required,
                    "kept_from_acceptance": root.kept,
                    "proof": _node_json(root.node, failed),
                }
                for root in told.roots
                if only in (None, root.name) and (not failed or root.kept)
            ],
        }
    )


def refusal_explained_text(document: Document, name: str, *, colour: bool) -> str:
    """A recorded refusal, as it was told when it happened."""
    value = document.value
    problems = tuple(Problem(**problem) for problem in value["problems"])
    refusal = Refusal(value["reason"], value["message"], fault=value["fault"], problems=problems)
    lines = [
        refusal_text(refusal, colour=colour),
        *(f"  {name:16}  {digest}" for name, digest in value["digests"].items()),
    ]
    return "\n".join([*lines, f"  recorded in {printable(name, 4096)}; there is no decision in it"])


def refusal_explained_json(document: Document) -> str:
    """A recorded refusal as it was written."""
    return as_json({"refused": True, **document.value})


def _root(root: Root, failed: bool, colour: bool) -> Iterator[str]:
    node = root.node
    title = {"validator": root.name, "floor": "floor", "escalation": f"escalation {root.name}"}[root.role]
    said = [root.status] if root.required else [root.status, "not required"]
    if root.role == "floor":
        said.append("it decides" if root.kept else "it does not decide")
    status = Status.INCONCLUSIVE if root.role == "escalation" and root.kept else _STATUSES[node.value]
    mark = drawn(_MARKS[node.value], status, colour)
    if node.proof is not None:
        yield f"{mark} {printable(title)}: {', '.join(said)}{_at(node)}"
        yield from _leaf(node, 2, colour, expanded=node.blamed)
        return
    yield from _headed(mark, f"{printable(title)}: {', '.join(said)}; {printable(node.why)}", _at(node), 0)
    yield from _children(node, 2, failed, colour, expanded=root.role != "floor" or root.kept)


def _headed(mark: str, title: str, place: str, indent: int) -> Iterator[str]:
    """A node's line; its place stands on a line of its own where both don't fit."""
    start = " " * indent
    if indent + 2 + len(title) + len(place) <= WIDTH:
        yield f"{start}{mark} {title}{place}"
    else:
        yield f"{start}{mark} {title}"
        yield f"{start}  {place}"


def _children(node: Told, indent: int, failed: bool, colour: bool, *, expanded: bool) -> Iterator[str]:
    shown = [child for child in node.children if child.blamed or not failed]
    width = max((len(child.name) for child in shown), default=0)
    for child in shown:
        mark = drawn(_MARKS[child.value], _STATUSES[child.value], colour)
        if child.proof is None:
            yield from _headed(mark, f"{printable(child.name)}: {printable(child.why)}", _at(child), indent)
            yield from _children(child, indent + 2, failed, colour, expanded=expanded)
        elif not expanded or (not child.blamed and child.value in (Truth.TRUE, Truth.NOT_APPLICABLE)):
            line = f"{' ' * indent}{mark} {printable(child.name):{width}}  {printable(child.why)}"
            yield line if len(line) <= WIDTH else "\n".join(wrapped(line.strip(), indent))
        else:
            yield f"{' ' * indent}{mark} {printable(child.name)}{_at(child)}"
            yield from _leaf(child, indent + 4, colour, expanded=True)


def _leaf(node: Told, indent: int, colour: bool, *, expanded: bool) -> Iterator[str]:
    yield from wrapped(printable(node.why, 1000), indent)
    if not expanded:
        return
    if node.rule is not None:
        yield from wrapped(f"rule: {printable(node.rule, 1000)}", indent)
    for fact in node.facts[:_SHOWN]:
        yield from _fact(fact, indent)
    deciding = node.proof.deciding if node.proof is not None else 0
    if deciding > len(node.facts[:_SHOWN]):
        yield f"{' ' * indent}… and {deciding - len(node.facts[:_SHOWN])} more"
    if not node.facts:
        yield from wrapped(f"see {', '.join(node.evidence)}", indent)


def _fact(fact: ToldFact, indent: int) -> Iterator[str]:
    named = ", ".join(f"{field.name} {printable(field.value)}" for field in fact.key)
    yield from wrapped(f"• {named or 'the only one'}", indent)
    if fact.summary is not None:
        yield from wrapped(printable(fact.summary), indent + 2)
    for field in fact.demanded:
        if field not in fact.key:
            yield from wrapped(_field(field), indent + 2)
    if fact.beside:
        beside = ", ".join(f"{field.name} {printable(field.value)}" for field in fact.beside)
        yield from wrapped(f"with {beside}", indent + 2)
    for place in fact.places:
        yield from wrapped(f"at {printable(place.where, 1000)}, seen by {place.check} ({place.evidence})", indent + 2)


def _field(field: ToldField) -> str:
    mark = "" if field.holds is None else f"{_MARKS[field.holds]} "
    return f"{mark}{field.name} is {printable(field.value)}, demanded: {printable(field.demanded or '')}"


def _at(node: Told) -> str:
    return "" if node.line is None else f"  {_BUNDLE}:{node.line}:{node.column}"


def _node_json(node: Told, failed: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "condition": node.name,
        "form": node.form.value,
        "value": node.value.letter,
        "why": node.why,
        "blamed": node.blamed,
    }
    if node.line is not None:
        value["rule_at"] = {"file": _BUNDLE, "line": node.line, "column": node.column}
    if node.proof is None:
        below = [child for child in node.children if child.blamed or not failed]
        return value | {"children": [_node_json(child, failed) for child in below]}
    seen = node.proof
    return value | {
        "rule": node.rule,
        "kind": node.kind,
        "complete": seen.complete,
        "incomplete": seen.reason,
        "crashed": seen.crashed,
        "counts": {
            "facts": seen.facts,
            "in_scope": seen.in_scope,
            "perhaps_in_scope": seen.perhaps_in_scope,
            "deciding": seen.deciding,
        },
        "evidence": list(node.evidence),
        "facts": [_fact_json(fact) for fact in node.facts],
    }


def _fact_json(fact: ToldFact) -> dict[str, Any]:
    return {
        "key": {field.name: field.value for field in fact.key},
        "demanded": [
            {
                "field": field.name,
                "value": field.value,
                "demanded": field.demanded,
                "holds": field.holds.letter if field.holds is not None else None,
            }
            for field in fact.demanded
        ],
        "beside": {field.name: field.value for field in fact.beside},
        "summary": fact.summary,
        "places": [place._asdict() for place in fact.places],
    }
