"""Sections that can't all hold: a path changed twice, or a path below another one that is a file.

Invariants:

* Old sides are files of one tree, new sides files of another, and every section moves one to the other.
* A copy reads its source and neither takes nor puts it.
* Paths are compared with their neighbours in sorted order only, so no number or depth of paths makes this slow.
"""

from collections.abc import Container, Mapping, Sequence

from idkmesh_rules.diff.refusal import Refusal, quote
from idkmesh_rules.diff.values import PatchFile

_SYMLINK = "120000"


def check_repetition(files: Sequence[PatchFile]) -> None:
    """Check that the sections are one change of one tree; raises `Refusal` at the first section that is not."""
    if len(files) == 1 and files[0].operation not in ("rename", "copy"):
        return
    taken: dict[str, PatchFile] = {}
    put: dict[str, PatchFile] = {}
    sources: dict[str, PatchFile] = {}
    for file in files:
        old, new = file.old_path, file.new_path
        if old is not None and file.operation == "copy":
            sources.setdefault(old, file)
        elif old is not None and taken.setdefault(old, file) is not file:
            raise _refusal(file, f"{_show(old)} is changed by the section at line {taken[old].line} already")
        if new is not None and put.setdefault(new, file) is not file:
            raise _refusal(file, f"{_show(new)} is written by the section at line {put[new].line} already")
    for path, putter in put.items():
        taker = taken.get(path)
        if taker is None and path in sources:
            raise _refusal(max(sources[path], putter, key=_place), f"{_show(path)} is copied from, and created")
        if taker is not None and taker is not putter:
            _check_exchange(path, taker, putter)
    _check_nesting({**sources, **taken})
    _check_nesting({**{path: file for path, file in sources.items() if path not in taken}, **put})
    links = {
        path: file
        for file in files
        if file.symlink
        for path, mode in ((file.old_path, file.old_mode), (file.new_path, file.new_mode))
        if path is not None and mode == _SYMLINK
    }
    if links:
        _check_nesting({**sources, **taken, **put, **links}, links)


def _check_exchange(path: str, taker: PatchFile, putter: PatchFile) -> None:
    """Check that one section may put what another takes: a type change, or renames."""
    type_change = taker.operation == "delete" and putter.operation == "add" and putter.index == taker.index + 1
    renames = taker.operation == "rename" and putter.operation in ("rename", "copy")
    if not type_change and not renames:
        first, later = sorted((taker, putter), key=_place)
        raise _refusal(later, f"{_show(path)} is changed by the section at line {first.line} already")


def _check_nesting(files: Mapping[str, PatchFile], above: Container[str] | None = None) -> None:
    """Check that no path lies below another one; with ``above``, only below one of those."""
    # With its slashes as the lowest character, what lies below a path follows it directly.
    paths = sorted(path.replace("/", "\0") for path in files)
    below = map(str.startswith, paths[1:], [path + "\0" for path in paths])
    clashes = [
        (paths[at].replace("\0", "/"), paths[at + 1].replace("\0", "/"))
        for at, is_below in enumerate(below)
        if is_below
    ]
    found = [
        (max(files[upper], files[lower], key=_place), upper, lower)
        for upper, lower in clashes
        if above is None or upper in above
    ]
    if found:
        file, upper, lower = min(found, key=lambda clash: _place(clash[0]))
        raise _refusal(file, f"{_show(lower)} lies below {_show(upper)}, which is a file or a link in this patch")


def _show(path: str) -> str:
    return quote(path.encode())


def _place(file: PatchFile) -> int:
    return file.index


def _refusal(file: PatchFile, message: str) -> Refusal:
    return Refusal("repeated", file.offset, message)
