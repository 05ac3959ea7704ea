"""The classes of reasons why a patch is not taken, each with what helps: the one place that lists them.

Invariants:

* Every reason that this package, a path judgement or a shipped patch condition gives is a key here.
* A remedy tells what to do, never what was found.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Reason(NamedTuple):
    """What a reason class means, and what to do about it."""

    meaning: str
    remedy: str


_PLAIN_DIFF: Final = "make the patch with `git diff` and hand over its output unedited"

REASONS: Final[Mapping[str, Reason]] = MappingProxyType(
    {
        "malformed": Reason(
            "the patch is not what `git diff` prints, so programs differ about what it does", _PLAIN_DIFF
        ),
        "truncated": Reason(
            "the last line has no line end, so the end of the patch is missing",
            "write the whole output of `git diff`, its last line end included",
        ),
        "prose": Reason(
            "text outside the sections, which some programs read as part of the patch",
            "hand over the output of `git diff` alone, without mail headers, comments or signatures",
        ),
        "traditional": Reason(
            "a diff without `diff --git` lines, whose paths programs guess",
            "make the patch with `git diff` (`git diff --no-index` outside a repository)",
        ),
        "repeated": Reason(
            "a path is changed by more than one section, or by sections that can't both hold",
            "make one patch of the whole change, with one section for each file, as `git diff BASE` does",
        ),
        "name": Reason("a file name is not UTF-8 or has control characters", "rename the file"),
        "cr-in-header": Reason(
            "a header line has a carriage return, which programs read in different ways",
            "write the patch in binary mode, without changing its line ends to CRLF",
        ),
        "git-dir": Reason(
            "a path lies in a git directory, or looks so to some file system",
            "leave git's own directory out of the patch",
        ),
        "git-meta": Reason(
            "a path is a file that steers git", "leave it out, or have a pattern name exactly this path"
        ),
        "path": Reason("a path may not be changed", "leave this file out, or have the WorkUnit allow it"),
        "symlink": Reason("a file is a symbolic link, or becomes one", "put a regular file in its place"),
        "gitlink": Reason("a file is a submodule, or becomes one", "leave the submodule out of the patch"),
        "exec-bit": Reason("a file becomes executable", "keep the mode 100644 (`git update-index --chmod=-x FILE`)"),
        "mode": Reason("a file mode is none of 100644, 100755, 120000 and 160000", _PLAIN_DIFF),
        "binary": Reason(
            "a file's content is binary, so nobody can read what changes", "leave binary files out of the patch"
        ),
        "combined": Reason(
            "a combined diff of a merge, which can't be applied", "compare with one parent: `git diff PARENT MERGE`"
        ),
        "empty": Reason("nothing is changed", "commit or stage the change, then make the patch with `git diff BASE`"),
        "prefix": Reason(
            "the paths don't begin with `a/` and `b/`, or another pair that git uses, throughout",
            "use `git diff --src-prefix=a/ --dst-prefix=b/`, without `--no-prefix`",
        ),
        "nul": Reason("a NUL byte", "use `git diff --binary` for binary files, or leave them out"),
        "limit": Reason("the patch is larger than what is read", "split the change, or have the limit raised"),
        "utf-16": Reason("the text is UTF-16, as PowerShell's `>` writes it", "use `git diff --output=FILE`"),
        "bom": Reason(
            "a byte order mark stands in front of the patch, so programs miss its first section",
            "write the file without a byte order mark (`git diff --output=FILE`)",
        ),
        "context": Reason("a context diff", "use `git diff` (unified, the default)"),
        "normal": Reason("a diff without context lines, as plain `diff` prints it", "use `git diff`"),
        "ed": Reason("an ed script, which can run commands", "use `git diff`"),
        "rcs": Reason("an RCS diff", "use `git diff`"),
        "begin-patch": Reason(
            "the `*** Begin Patch` format of a coding assistant", "apply it in a working tree, then use `git diff`"
        ),
        "ansi": Reason("colour codes", "use `git diff --no-color`"),
        "too-many-files": Reason("more files are changed than the rules allow", "split the change"),
        "second-opinion": Reason(
            "a second parser reads other added or removed lines",
            "report this as a bug, with the patch; meanwhile make the patch with fewer files",
        ),
    }
)
