"""What of the host a job sees, read-only: a runtime, by the name under which plans ask for it.

Invariants: a runtime is a list of mounts and links and nothing else; what an unprivileged uid can't reach on the host is
no runtime; what a host keeps secret must not lie in one, which `shows` tells.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.grading.values import GradingError

_LINKS = (("usr/lib", "/lib"), ("usr/lib64", "/lib64"), ("usr/bin", "/bin"), ("usr/sbin", "/sbin"))
_PYTHONS = (Path("/usr/bin/python3"), Path("/usr/local/bin/python3"))
_VERSIONED = re.compile(r"python(3\.[0-9]+)")
_RESERVED = ("/dev", "/evaluator", "/inputs", "/proc", "/sys", "/tmp")


class Runtime(NamedTuple):
    """Mounts as pairs of a path on the host and one in the sandbox, and symbolic links as pairs of a target and a path."""

    name: str
    mounts: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]

    def shows(self, path: Path) -> bool:
        """Whether a job with this runtime could read what lies at `path` on the host."""
        real = Path(os.path.realpath(path))
        return any(Path(os.path.realpath(source)) in (real, *real.parents) for source, _ in self.mounts)

    def has_program(self, program: str, search: str) -> bool:
        """Whether a program, by its absolute path or by name along `search`, is a file of this runtime."""
        if "/" in program:
            return os.path.isfile(self._on_host(program))
        return any(os.path.isfile(self._on_host(f"{directory}/{program}")) for directory in search.split(":"))

    def _on_host(self, path: str) -> str:
        """Where a path of the sandbox lies on the host; links of the runtime are followed, and those of the host."""
        for _ in range(8):
            for target, link in self.links:
                if path == link or path.startswith(f"{link}/"):
                    path = os.path.normpath(os.path.join(os.path.dirname(link), target)) + path[len(link) :]
                    break
            else:
                break
        for source, target in self.mounts:
            if path == target or path.startswith(f"{target}/"):
                return source + path[len(target) :]
        return ""


def builtin_runtimes() -> dict[str, Runtime]:
    """The runtimes of this machine: `system` (all of /usr), `python3` and, by its version, `python-3.x`."""
    found = {"system": Runtime("system", _existing((("/usr", "/usr"),)), _links())}
    for path in _PYTHONS:
        interpreter = Path(os.path.realpath(path))
        version = _VERSIONED.fullmatch(interpreter.name)
        if version is None or not reachable(interpreter):
            continue
        for name in ("python3", f"python-{version[1]}"):
            found[name] = _python(name, interpreter)
        break
    return found


def _python(name: str, interpreter: Path) -> Runtime:
    """An interpreter with its standard library and the machine's shared libraries, and none of what was installed beside."""
    prefix, versioned = interpreter.parent.parent, interpreter.name
    wanted = [
        (interpreter, Path("/usr/bin", versioned)),
        (prefix / "lib" / versioned, Path("/usr/lib", versioned)),
        *((each, Path("/usr/lib", each.name)) for each in sorted(Path("/usr/lib").glob("*-linux-*"))),
        (Path("/usr/lib64"), Path("/usr/lib64")),
        *((each, Path("/usr/lib", each.name)) for each in sorted((prefix / "lib").glob(f"lib{versioned}.so*"))),
    ]
    mounts = _existing((str(source), str(target)) for source, target in wanted)
    return Runtime(name, mounts, (*_links(), (versioned, "/usr/bin/python3")))


def directory_runtime(name: str, root: Path) -> Runtime:
    """A directory that holds a root file system, as a runtime; raises GradingError when it can't be one."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise GradingError("a runtime's name has 1 to 64 of a-z, 0-9, dot, underscore and dash")
    try:
        real = Path(os.path.realpath(root))
        entries = sorted(real.iterdir()) if real.is_dir() and reachable(real) else None
    except OSError as error:
        raise GradingError(f"{root} can't be looked at: {error.strerror}") from None
    if entries is None:
        raise GradingError(f"{root} is no directory that an unprivileged user can reach")
    mounts, links = [], []
    for entry in entries:
        target = f"/{entry.name}"
        if target in _RESERVED:
            continue
        if entry.is_symlink():
            links.append((os.readlink(entry), target))
        else:
            mounts.append((str(entry), target))
    return Runtime(name, tuple(mounts), tuple(links))


def known_runtimes(directories: Mapping[str, Path]) -> dict[str, Runtime]:
    """The machine's own runtimes and those of the host's directories, which may replace them; raises GradingError."""
    return builtin_runtimes() | {name: directory_runtime(name, root) for name, root in directories.items()}


def reachable(path: Path) -> bool:
    """Whether a user with no rights of its own can reach a path and read what it is."""
    if any(not os.stat(each).st_mode & stat.S_IXOTH for each in path.parents):
        return False
    mode = os.stat(path).st_mode
    return bool(mode & stat.S_IROTH and (mode & stat.S_IXOTH or not stat.S_ISDIR(mode)))


def _existing(wanted: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    found = dict.fromkeys((os.path.realpath(source), target) for source, target in wanted if os.path.exists(source))
    return tuple(found)


def _links() -> tuple[tuple[str, str], ...]:
    return tuple((target, link) for target, link in _LINKS if os.path.isdir(f"/{target}"))
