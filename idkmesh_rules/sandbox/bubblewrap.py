"""How bubblewrap is called: the arguments that bound a job, made of its spec and nothing of the host's surroundings.

Source: bwrap(1). Invariants: every namespace is the job's own and no further one can be made; nothing but the scratch
directory can be written; inputs and evaluator files are copies of bytes that were hashed, so that no path of the host and
no link is ever followed for them.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from idkmesh_rules.sandbox.interface import SandboxUnavailable
from idkmesh_rules.sandbox.launcher import BLOCK, STATUS
from idkmesh_rules.sandbox.runtime import Runtime

EXPORT, FILTER, FIRST_FILE = 3, 12, 16
"""The number under which a job finds its export; those under which bubblewrap finds filter and files."""
SCRATCH = "/tmp"
MOST_SCRATCH = 64 << 20
ENVIRONMENT: Mapping[str, str] = {
    "HOME": SCRATCH,
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TMPDIR": SCRATCH,
    "TZ": "UTC",
}
_INSTALL = "install it with: apt-get install bubblewrap libseccomp2"
_OLDEST = (0, 8, 0)
_DEVICES = ("full", "null", "random", "urandom", "zero")
_WALLS = (
    *(f"--unshare-{each}" for each in ("user", "ipc", "pid", "net", "uts", "cgroup")),
    "--disable-userns",
    *("--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"),
    *("--hostname", "sandbox", "--new-session", "--die-with-parent", "--as-pid-1"),
)


class Installed(NamedTuple):
    """The bubblewrap of this machine."""

    path: str
    version: str


def installed(path: str | None = None) -> Installed:
    """Find bubblewrap; raises SandboxUnavailable when it is missing or too old to bound a job as it has to be."""
    found = path or shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if found is None:
        raise SandboxUnavailable("bubblewrap isn't installed", _INSTALL)
    try:
        said = subprocess.run([found, "--version"], capture_output=True, timeout=10, env={}, check=True).stdout.decode()
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"{found} can't be run: {error}", _INSTALL) from None
    version = re.search(r"([0-9]+)\.([0-9]+)(?:\.([0-9]+))?", said)
    if version is None or tuple(int(part or 0) for part in version.groups()) < _OLDEST:
        raise SandboxUnavailable(f"{found} is {said.strip() or 'of no version'}, and 0.8.0 is needed", _INSTALL)
    return Installed(found, said.strip())


def walls(runtime: Runtime, scratch: int) -> list[str]:
    """What bounds every job of a runtime, with a scratch directory of `scratch` bytes."""
    arguments = [*_WALLS, "--json-status-fd", str(STATUS), "--block-fd", str(BLOCK), "--seccomp", str(FILTER)]
    arguments.append("--clearenv")
    for name, value in ENVIRONMENT.items():
        arguments += ["--setenv", name, value]
    for source, target in runtime.mounts:
        arguments += ["--ro-bind", source, target]
    for source, target in runtime.links:
        arguments += ["--symlink", source, target]
    arguments += ["--perms", "0755", "--dir", "/dev"]
    for device in _DEVICES:
        arguments += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    for directory in ("/inputs", "/evaluator"):
        arguments += ["--perms", "0755", "--dir", directory]
    return [*arguments, "--perms", "0700", "--size", str(scratch), "--tmpfs", SCRATCH]


def call(bwrap: str, bounds: Sequence[str], files: Sequence[str], command: Sequence[str]) -> list[str]:
    """The whole call; the n-th of `files`, absolute paths in the sandbox, comes through descriptor FIRST_FILE + n."""
    arguments = [bwrap, *bounds]
    for number, path in enumerate(files, FIRST_FILE):
        for parent in _parents(path):
            arguments += ["--perms", "0755", "--dir", parent]
        arguments += ["--perms", "0555", "--file", str(number), path]
    return [*arguments, "--remount-ro", "/", "--chdir", SCRATCH, "--", *command]


def _parents(path: str) -> list[str]:
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[:depth]) for depth in range(2, len(parts) + 1)]


def sandbox_uid() -> int:
    """The uid that jobs run under: our own, or for root one that nobody has.

    Each sandbox has another, so that what is counted by uid is counted apart. Sources: systemd, *Users, Groups, UIDs and
    GIDs*, for ranges that nobody is given; user_namespaces(7) for what a container maps. Raises SandboxUnavailable.
    """
    if os.geteuid() != 0:
        return os.geteuid()
    drawn = int.from_bytes(os.urandom(3))
    try:
        with open("/proc/self/uid_map", encoding="ascii") as stream:
            mapped = [tuple(map(int, line.split())) for line in stream]
    except OSError as error:
        raise SandboxUnavailable(f"/proc can't be read: {error.strerror}", "mount it") from None
    for uid in (0x70000000 + drawn, 61184 + drawn % 4336):
        if any(first <= uid < first + count for first, _outside, count in mapped):
            return uid
    raise SandboxUnavailable(
        "root of this container has no unprivileged uid to run jobs under", "map more uids, or run as another user"
    )
