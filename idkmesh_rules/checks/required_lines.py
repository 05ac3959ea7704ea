"""The lines that the verifier demands, looked up among the lines that the patch's hunks add or remove.

Invariants: prose, headers and context never count; the comparison is of bytes and case-sensitive; a patch that can't be
read leaves each demand unknown, never absent (design: patch-grammar, *What comes out*).
"""

from collections.abc import Iterator

from idkmesh_rules.checks.check import Asked, Check, Emission, Unjudged
from idkmesh_rules.checks.patch import PatchCase
from idkmesh_rules.diff import find_line
from idkmesh_rules.model.facts import (
    Category,
    FactKind,
    Field,
    FieldType,
    FindingTemplate,
    Invariant,
    Origin,
    Severity,
    Unknown,
)

REQUIREMENT_LINE = FactKind(
    "requirement.line",
    "A line that the plan demands among the added or removed lines, and where it was found.",
    (
        Field("side", FieldType.ENUM, "among the added or the removed lines", key=True, values=("added", "removed")),
        Field("match", FieldType.ENUM, "equal to a whole line, or inside one", key=True, values=("whole", "substring")),
        Field("text", FieldType.STRING, "the demanded text", key=True, secret=True),
        Field("present", FieldType.BOOL, "some line satisfies it"),
        Field("path", FieldType.STRING, "file of the first such line", optional=True),
        Field("line", FieldType.INT, "line of the patch, from 1", optional=True),
        Field("moved", FieldType.BOOL, "that line is both removed and added in its file"),
    ),
    FindingTemplate(
        Severity.HIGH, Category.CORRECTNESS, "no {side} line satisfies the required text ({match}): {text}"
    ),
    (
        Invariant(
            "a place is known exactly if it is present",
            ("present", "path", "line"),
            lambda present, path, line: (path is not None) == present and (line is not None) == present,
        ),
        Invariant(
            "only a present line can be moved", ("present", "moved"), lambda present, moved: present or not moved
        ),
    ),
)


def _lines(case: PatchCase) -> Iterator[Emission]:
    patch, check = case.patch, "required-lines"
    for demand in case.plan.demands.required_lines:
        key = (demand.side, demand.match, demand.text)
        if isinstance(patch, Unjudged) or patch.problem is not None:
            gone = Unknown(patch.reason if isinstance(patch, Unjudged) else "not parsed: the patch is refused")
            yield Emission(REQUIREMENT_LINE, (*key, gone, gone, gone, gone), Origin(check, case.candidate.locator))
            continue
        hit = find_line(patch, demand.text.encode(), side=demand.side, match=demand.match)
        if hit is None:
            yield Emission(REQUIREMENT_LINE, (*key, False, None, None, False), Origin(check, case.candidate.locator))
        else:
            yield Emission(
                REQUIREMENT_LINE,
                (*key, True, hit.path, hit.patch_line, hit.moved),
                Origin(check, case.candidate.locator, line=hit.patch_line),
            )


def _lines_asked(case: PatchCase) -> Asked:
    backend = case.plan.document.value["backend"]
    demands = (
        ("added", "whole", "required_added_text"),
        ("added", "substring", "required_added_substrings"),
        ("removed", "substring", "required_removed_substrings"),
    )
    return {
        REQUIREMENT_LINE.name: frozenset(
            (side, match, text) for side, match, field in demands for text in backend.get(field, ())
        )
    }


LINES_CHECK = Check(
    "required-lines",
    "the lines that the plan demands among those that the patch adds and removes",
    "test_output",
    (REQUIREMENT_LINE,),
    _lines,
    _lines_asked,
)
