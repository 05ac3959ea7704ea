"""Finding templates: how a violating fact is told, with `{field}` placeholders of its kind.

Invariant: every placeholder names a field of the kind, so that telling a finding can't fail.
"""

import re

from idkmesh_rules.model.facts import Category, FactKind, FieldType, FindingTemplate, Severity
from idkmesh_rules.policy import schema
from idkmesh_rules.policy.problems import Problems, shown, suggest
from idkmesh_rules.policy.yaml_reader import Node

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_PARTS = re.compile(r"\{[^{}]*\}|[{}]")


def finding(node: Node, kind: FactKind, problems: Problems) -> FindingTemplate | None:
    """Read `finding: {severity, category, summary, path, line}`; None if a mistake was reported."""
    before = len(problems)
    entries = schema.mapping(node, problems, "severity, category and summary of a finding")
    if entries is None:
        return None
    read = schema.Entries(
        entries, problems, "finding", required=("severity", "category", "summary"), optional=("path", "line")
    )
    severity = (
        schema.word(node_, problems, "a severity", [s.value for s in Severity])
        if (node_ := read.get("severity"))
        else None
    )
    category = (
        schema.word(node_, problems, "a category", [c.value for c in Category])
        if (node_ := read.get("category"))
        else None
    )
    summary = _template(node_, kind, problems, "a summary") if (node_ := read.get("summary")) else None
    path = _template(node_, kind, problems, "a path") if (node_ := read.get("path")) else None
    line = _line(node_, kind, problems) if (node_ := read.get("line")) else None
    if len(problems) > before or severity is None or category is None or summary is None:
        return None
    return FindingTemplate(Severity(severity), Category(category), summary, path, line)


def _template(node: Node, kind: FactKind, problems: Problems, what: str) -> str | None:
    template = schema.text(node, problems, what)
    if template is None:
        return None
    for part in _PARTS.findall(template):
        match = _PLACEHOLDER.fullmatch(part)
        if match is None:
            problems.add(node.mark, f"{shown(part)} is no placeholder", "write {field}; braces have no other use here")
            return None
        if match[1] not in kind.index:
            problems.add(node.mark, f"{kind.name} has no field {shown(match[1])}", suggest(match[1], kind.index))
            return None
    return template


def _line(node: Node, kind: FactKind, problems: Problems) -> str | None:
    template = _template(node, kind, problems, "the field that holds a line number, as {field}")
    if template is None:
        return None
    numbers = [declared.name for declared in kind.fields if declared.type is FieldType.INT]
    match = _PLACEHOLDER.fullmatch(template)
    if match is None or match[1] not in numbers:
        hint = f"write {{{numbers[0]}}}" if len(numbers) == 1 else suggest(template.strip("{}"), numbers)
        problems.add(
            node.mark, f"expected one integer field of {kind.name} as {{field}}, found {shown(template)}", hint
        )
        return None
    return match[1]
