"""Take the baseline of a pristine tree: every file with its digest, and nothing that isn't a plain file.

Invariants: a baseline is complete or isn't made; the same tree gives the same bytes, whatever order the disk lists it in;
memory grows with the number of files, never with what they hold.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.model.observation import Tree, stored_path
from idkmesh_rules.observe.sovereignty import CandidateRoot
from idkmesh_rules.observe.tree import Progress, TreeLimits
from idkmesh_rules.paths.patterns import compile_allow
from idkmesh_rules.result.directory import check_absent
from idkmesh_rules.result.file import publish_file


class Snapshot(NamedTuple):
    """What a snapshot came to: how many files, and how many bytes they hold together."""

    files: int
    content_bytes: int


def snapshot(
    root: Path,
    output: Path,
    *,
    ignore: tuple[str, ...] = (),
    modes: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """Write the baseline of `root` to `output`, which must not exist and must lie outside of `root`.

    `ignore` are paths in the allow dialect that are left out; with `modes` each file's mode is recorded. `progress` is told
    how many files and bytes were read so far. Raises PatternError for an ambiguous `ignore`, and Refusal: for a root that
    can't be looked at, an output that can't be made, a tree with something else than plain files in it
    (`tree-not-plain`), and one that could not be seen whole (`tree-unseen`).
    """
    limits = limits or Limits()
    ignored = compile_allow(ignore)
    place = CandidateRoot.of(root)
    check_absent(output)
    if place.contains(output):
        raise Refusal(
            "output-inside-candidate",
            "the baseline would lie inside the tree that it describes",
            problems=(Problem("a baseline belongs where no worker can write", str(output)),),
        )
    with place.reader(0) as reader:
        tree = reader.tree(
            TreeLimits(limits.tree_entries, limits.tree_path_bytes, limits.tree_bytes),
            skip=(lambda path: ignored.match(path) is not None) if ignore else None,
            prune=ignored.covers if ignore else None,
            progress=progress,
        )
    _check_whole(tree, root, limits.problems)
    _check_plain(tree, root, limits.problems)
    quoted = json.encoder.encode_basestring
    lines = (
        f'{{"path": {quoted(file.path)}, "digest": "{file.digest}"' + (f', "mode": "{file.mode}"}}' if modes else "}")
        for file in tree.files
    )
    publish_file(output, _in_blocks(_baseline(lines, list(ignore))))
    return Snapshot(len(tree.files), sum(file.size for file in tree.files))


def baseline_text(baseline: Mapping[str, Any]) -> Iterator[str]:
    """A baseline as JSON text, one line a file, in pieces."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    yield from _baseline(map(encode, baseline["files"]), baseline["ignore_paths"])


def _baseline(files: Iterable[str], ignore_paths: list[str]) -> Iterator[str]:
    yield '{"algorithm": "sha256", "complete": true, "files": ['
    between = "\n"
    for file in files:
        yield between + file
        between = ",\n"
    yield f'\n], "ignore_paths": {json.dumps(ignore_paths, ensure_ascii=False)}}}\n'


def _in_blocks(pieces: Iterator[str]) -> Iterator[bytes]:
    """Some thousand pieces at a time as UTF-8, so that neither all nor each of them has to be written by itself."""
    while block := "".join(islice(pieces, 4096)):
        yield block.encode()


def _check_whole(tree: Tree, root: Path, most: int) -> None:
    unseen = [(gap.path, gap.reason) for gap in tree.gaps]
    unseen += [(file.path, file.unreadable) for file in tree.files if file.unreadable is not None]
    if unseen:
        raise Refusal(
            "tree-unseen",
            "not everything in the tree could be seen, so that its baseline would not be complete",
            problems=tuple(Problem(why, _place(root, path)) for path, why in unseen[:most]),
        )


def _check_plain(tree: Tree, root: Path, most: int) -> None:
    problems = [
        Problem(
            f"it is no plain file but a {entry.type.value}, and a baseline can't tell what becomes of it",
            _place(root, entry.path),
            hint="take it out of the tree, or leave it out with --ignore",
        )
        for entry in tree.others
    ]
    problems += [
        Problem("its name isn't UTF-8, so that no document can hold it", _place(root, file.path))
        for file in tree.files
        if not _is_utf8(file.path)
    ]
    if problems:
        raise Refusal(
            "tree-not-plain", "the tree holds something else than plain files", problems=tuple(problems[:most])
        )


def _is_utf8(path: str) -> bool:
    return path.isascii() or stored_path(path) == path


def _place(root: Path, path: str) -> str:
    return f"{root}/{stored_path(path)}" if path else str(root)
