"""The tree that patches are tried on, and what changed in it."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

FILES: dict[str, bytes] = {
    "docs/ok.md": b"".join(b"line%d\n" % i for i in range(1, 9)),
    "docs/guide.md": b"".join(b"guide %d\n" % i for i in range(1, 31)),
    "docs/with space.md": b"one\ntwo\nthree\nfour\n",
    "docs/caf\u00e9.md": b"un\ndeux\ntrois\nquatre\n",
    "docs/x b/docs/x": b"alpha\nbeta\ngamma\ndelta\n",
    "docs/nonl.md": b"line1\nline2\nline3\nend without line end",
    "docs/blank.md": b"line1\n\nline3\n\n\nline6\n",
    "docs/crlf.md": b"line1\r\nline2\r\nline3\r\n",
    "docs/ff.md": b"page\x0cbreak\nv\x0bt\n\xc2\x85nel\n\xe2\x80\xa8ls\nend\n",
    "src/app.py": b"".join(b"def f%d():\n    return %d\n\n" % (i, i) for i in range(12)),
    "src/q.sql": b"line1\n-- old comment\n++ b/setup.py\n-- a/docs/ok.md\nline5\n@@ -1 +1 @@\ndiff --git a/x b/x\n",
    "src/empty.txt": b"",
    "run.sh": b"#!/bin/sh\necho one\necho two\n",
    "setup.py": b"".join(b"line%d\n" % i for i in range(1, 9)),
    "ok.md": b"".join(b"line%d\n" % i for i in range(1, 9)),
    "b/docs/ok.md": b"".join(b"line%d\n" % i for i in range(1, 9)),
    "a/setup.py": b"".join(b"line%d\n" % i for i in range(1, 9)),
    ".github/workflows/ci.yml": b"line1\nline2\nline3\nline4\n",
}
EXECUTABLE = frozenset({"run.sh"})

State = dict[str, tuple[str, bytes]]
Changes = dict[str, tuple[str, bytes] | None]


def scratch() -> str | None:
    """A directory in memory if there is one, for trees that live for milliseconds."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Tree:
    """A directory that is put back into its first state before each use; what lies beside it is watched, too."""

    def __init__(self) -> None:
        self.outer = Path(tempfile.mkdtemp(prefix="idkrules-fuzz-", dir=scratch()))
        self.root = self.outer / "work"
        self._template = self.outer / "template"
        for name, content in FILES.items():
            path = self._template / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if name in EXECUTABLE else 0o644)
        shutil.copytree(self._template, self.root)
        self.first = self.state()

    def __enter__(self) -> "Tree":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.outer)

    def reset(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self._template, self.root)

    def state(self) -> State:
        """Map each file below the outer directory to its type, executable bit and content; the template aside."""
        found: State = {}
        for folder, directories, names in os.walk(self.outer):
            if folder == str(self.outer):
                directories[:] = [name for name in directories if name != "template"]
            place = Path(folder)
            for path in (place / name for name in (*names, *directories)):
                mode = path.lstat().st_mode
                if stat.S_ISLNK(mode):
                    found[os.path.relpath(path, self.root)] = ("link", os.fsencode(path.readlink()))
                elif stat.S_ISREG(mode):
                    found[os.path.relpath(path, self.root)] = ("exec" if mode & 0o100 else "file", path.read_bytes())
        return found

    def changed(self) -> Changes:
        """The paths, relative to the root, that are not as they were, and what is there now."""
        now = self.state()
        return {path: now.get(path) for path in now.keys() | self.first.keys() if now.get(path) != self.first.get(path)}
