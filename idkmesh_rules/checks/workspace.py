"""What a workspace changed: the difference between the verifier's baseline and what a walk found, path by path.

Invariants:
- The change set is derived from the two snapshots, whatever the manifest declares; paths that the plan ignores are in
  neither of them.
- Authority comes from the WorkUnit alone, by the same function as a patch's.
- What could not be looked at is unknown: it may keep a workspace from being accepted, and never gets it rejected.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from idkmesh_rules.checks.authority import AUTHORITY_FIELDS, AUTHORITY_LAWS, authority_row
from idkmesh_rules.checks.check import Asked, Case, Check, Emission, Key, Unjudged
from idkmesh_rules.model.facts import (
    Category,
    FactKind,
    Field,
    FieldType,
    FindingTemplate,
    Invariant,
    Origin,
    Row,
    Severity,
    Unknown,
)
from idkmesh_rules.model.observation import Tree, stored_path
from idkmesh_rules.paths.authority import Judgement, PathAuthority
from idkmesh_rules.paths.patterns import compile_allow

_CHECK = "workspace-scope"

WORKSPACE_CHANGE = FactKind(
    "workspace.change",
    "A path at which the workspace isn't what the baseline says, and whether the WorkUnit lets it be changed.",
    (
        Field("path", FieldType.STRING, "path below the workspace", key=True, secret=True),
        Field(
            "change",
            FieldType.ENUM,
            "what became of it; `mode` where only that is another one",
            values=("added", "modified", "deleted", "mode"),
        ),
        *AUTHORITY_FIELDS,
    ),
    FindingTemplate(Severity.HIGH, Category.SCOPE, "{path} may not be touched ({change}): {reason}", path="{path}"),
    AUTHORITY_LAWS,
    # What was deleted only the baseline shows; where it isn't known whether something changed, the path is there.
    shown_when=("change", ("added", "modified", "mode")),
)

WORKSPACE_ENTRY = FactKind(
    "workspace.entry",
    "An entry of the workspace that is neither a directory nor a plain file of one name, or that could not be read.",
    (
        Field("path", FieldType.STRING, "path below the workspace", key=True),
        Field("type", FieldType.ENUM, "what it is", values=("file", "symlink", "fifo", "socket", "device")),
        Field("links", FieldType.INT, "names that a plain file has", optional=True),
    ),
    FindingTemplate(Severity.HIGH, Category.SECURITY, "{path} is no plain file but a {type}", path="{path}"),
    (
        Invariant(
            "only a plain file has its names counted",
            ("type", "links"),
            lambda kind, links: (kind == "file") == (links is not None),
        ),
    ),
)

WORKSPACE_COLLISION = FactKind(
    "workspace.collision",
    "A new path that is the same as another one on disks that ignore case or Unicode form.",
    (
        Field("path", FieldType.STRING, "the path that the baseline doesn't have", key=True),
        Field("other", FieldType.STRING, "the path that it would be taken for"),
        Field("how", FieldType.ENUM, "what such a disk ignores", values=("case", "unicode")),
    ),
    FindingTemplate(Severity.HIGH, Category.SCOPE, "{path} is {other} on a disk that ignores {how}", path="{path}"),
)


@dataclass(frozen=True)
class WorkspaceCase(Case):
    """What the checks of a workspace evaluation may look at besides: the tree, without what the plan ignores."""

    tree: Tree

    @cached_property
    def changes(self) -> dict[str, str | Unknown]:
        """Path → what became of it, for every path that isn't as the baseline says, or may not be."""
        baseline, tree = self.plan.demands.baseline, self.tree
        found: dict[str, str | Unknown] = {}
        for path, digest, mode, _, _, unreadable in tree.files:
            before = baseline.get(path)
            if before is None:
                found[path] = "added"
            elif unreadable is not None:
                found[path] = Unknown(unreadable)
            elif digest != before.digest:
                found[path] = "modified"
            elif before.mode is not None and mode != before.mode:
                found[path] = "mode"
        for entry in tree.others:
            found[entry.path] = "modified" if entry.path in baseline else "added"
        ignored = compile_allow(self.plan.demands.ignore_paths)
        there = {file.path for file in tree.files}
        gaps = frozenset(gap.path for gap in tree.gaps)
        for path in baseline.keys() - there:
            # What lies where the walk couldn't see isn't gone; that not all is known there makes the kind incomplete.
            if path not in found and not ignored.match(path) and not _lies_in(path, gaps):
                found[path] = "deleted"
        return found


def _lies_in(path: str, directories: frozenset[str]) -> bool:
    """Whether the path, or one above it, is one of `directories`; the root, the empty path, is above all."""
    while path and path not in directories:
        path = path.rpartition("/")[0]
    return path in directories


def _row(path: str, change: str | Unknown, judged: Judgement) -> Row:
    key = stored_path(path)
    if isinstance(change, Unknown) and not judged.authorized:
        # It may be unchanged, so that nothing can be held against it; where it is authorized, either would do.
        return (key, *[change] * 7)
    return (
        key,
        change,
        *authority_row(judged),
    )


def _scope(case: WorkspaceCase) -> Iterator[Emission]:
    most = case.limits.tree_facts
    yield from _changes(case, most)
    yield from islice(_entries(case), most)
    yield from islice(_collisions(case), most)


def _changes(case: WorkspaceCase, most: int) -> Iterator[Emission]:
    unit, unauthorized = case.work_unit, False
    authority = PathAuthority(unit.allowed_paths, unit.filesystem_write, unit.forbidden_paths)
    for number, (path, change) in enumerate(sorted(case.changes.items())):
        judged = authority.judge(path)
        # Behind the bound one more is told if it tells what the others don't: that something isn't authorized.
        if number >= most and (unauthorized or judged.authorized or isinstance(change, Unknown)):
            continue
        unauthorized = unauthorized or not (judged.authorized or isinstance(change, Unknown))
        # What the candidate doesn't show by itself is told by its place in the plan only.
        origin = Origin(_CHECK, stored_path(path))
        if change == "deleted":
            origin = Origin(_CHECK, "evaluator-plan", pointer="/baseline/files")
        yield Emission(WORKSPACE_CHANGE, _row(path, change, judged), origin)


def _entries(case: WorkspaceCase) -> Iterator[Emission]:
    for entry in case.tree.others:
        path = stored_path(entry.path)
        yield Emission(WORKSPACE_ENTRY, (path, entry.type.value, None), Origin(_CHECK, path))
    for file in case.tree.files:
        if file.unreadable is not None or file.links > 1:
            path = stored_path(file.path)
            gone = Unknown(file.unreadable) if file.unreadable is not None else None
            yield Emission(WORKSPACE_ENTRY, (path, gone or "file", gone or file.links), Origin(_CHECK, path))


def _collisions(case: WorkspaceCase) -> Iterator[Emission]:
    if not case.tree.alike:
        return
    known = _known(case)
    for group in case.tree.alike:
        for path in group:
            if path not in known:
                other = next(each for each in group if each != path)
                same = unicodedata.normalize("NFC", path) == unicodedata.normalize("NFC", other)
                row = (stored_path(path), stored_path(other), "unicode" if same else "case")
                yield Emission(WORKSPACE_COLLISION, row, Origin(_CHECK, stored_path(path)))


def _known(case: WorkspaceCase) -> set[str]:
    """The baseline's paths and every directory above them: names that were there before the work."""
    known: set[str] = set()
    for path in case.plan.demands.baseline:
        while path and path not in known:
            known.add(path)
            path = path.rpartition("/")[0]
    return known


def _scope_asked(case: WorkspaceCase) -> Asked:
    unseen = case.tree.unseen
    if unseen is not None:
        return dict.fromkeys((kind.name for kind in SCOPE_CHECK.kinds), Unjudged(unseen))
    others = {(stored_path(entry.path),) for entry in case.tree.others}
    files = {(stored_path(file.path),) for file in case.tree.files if file.unreadable is not None or file.links > 1}
    alike = {path for group in case.tree.alike for path in group}
    collisions = {(stored_path(path),) for path in alike - _known(case)} if alike else set()
    keys: dict[str, set[Key]] = {
        WORKSPACE_CHANGE.name: {(stored_path(path),) for path in _difference(case)},
        WORKSPACE_ENTRY.name: {*others, *files},
        WORKSPACE_COLLISION.name: {*collisions},
    }
    most = case.limits.tree_facts
    return {
        name: frozenset(asked)
        if len(asked) <= most
        else Unjudged(f"there are {len(asked)}, of which {most} are listed")
        for name, asked in keys.items()
    }


def _difference(case: WorkspaceCase) -> set[str]:
    """The symmetric difference of the two snapshots, as sets of what stands where."""
    ignored = compile_allow(case.plan.demands.ignore_paths)
    listed = case.plan.document.value["baseline"]["files"]
    before = {(each["path"], each["digest"], each.get("mode")) for each in listed if not ignored.match(each["path"])}
    with_mode = {each["path"] for each in listed if "mode" in each}
    after = {(file.path, file.digest, file.mode if file.path in with_mode else None) for file in case.tree.files}
    after |= {(entry.path, None, None) for entry in case.tree.others}
    return {path for path, _, _ in before ^ after}


SCOPE_CHECK = Check(
    _CHECK,
    "the workspace against the baseline: each change under the WorkUnit's authority, and what isn't a plain file",
    "static_analysis",
    (WORKSPACE_CHANGE, WORKSPACE_ENTRY, WORKSPACE_COLLISION),
    _scope,
    _scope_asked,
)
