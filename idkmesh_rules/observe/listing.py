"""Which entries stand in a directory and in some of its subdirectories: bounded, without following a link.

Invariant: a subdirectory is opened by descriptor without following links, so that a swap leads nowhere else; nothing but
directories is opened.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_TOP = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_BELOW = _TOP | os.O_NOFOLLOW


def entries(root: Path, known: tuple[str, ...], most: int) -> tuple[str, ...]:
    """The entries of `root`, sorted; in place of each directory in `known`, what stands in that, as `name/entry`.

    Any other directory ends in `/` and isn't looked into. `root` may be named through a link. At most `most` entries of
    each directory are told. Raises OSError for a directory that can't be listed, ValueError for a name that is no path.
    """
    top = os.open(root, _TOP)
    try:
        found = []
        for name, is_directory in _listed(top, most):
            if not is_directory:
                found.append(name)
            elif name not in known:
                found.append(f"{name}/")
            else:
                below = os.open(name, _BELOW, dir_fd=top)
                try:
                    found += [f"{name}/{entry}{'/' * nested}" for entry, nested in _listed(below, most)]
                finally:
                    os.close(below)
        return tuple(sorted(found))
    finally:
        os.close(top)


def _listed(directory: int, most: int) -> Iterator[tuple[str, bool]]:
    with os.scandir(directory) as listing:
        for entry in islice(listing, most):
            yield entry.name, entry.is_dir(follow_symlinks=False)
