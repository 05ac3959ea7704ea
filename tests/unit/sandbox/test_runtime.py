"""What a job sees of the host: built-in runtimes, root file systems of a host's own, and what must not lie in either."""

import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from idkmesh_rules.grading.values import GradingError, JobOutcome
from idkmesh_rules.sandbox.bubblewrap import installed, sandbox_uid
from idkmesh_rules.sandbox.interface import SandboxUnavailable
from idkmesh_rules.sandbox.local import LocalSandbox
from idkmesh_rules.sandbox.runtime import builtin_runtimes, directory_runtime, known_runtimes, reachable
from tests.support.graded import job, needs


def test_the_machine_has_a_system_and_a_python() -> None:
    found = builtin_runtimes()
    assert "system" in found
    if Path("/usr/bin/python3").exists():
        version = os.path.realpath("/usr/bin/python3").rpartition("python")[2]
        assert {"python3", f"python-{version}"} <= found.keys()


@pytest.mark.parametrize(
    ("program", "there"),
    [
        ("true", True),
        ("/bin/true", True),
        ("/usr/bin/true", True),
        ("/bin/../etc/passwd", False),
        ("/etc/passwd", False),
        ("no-such-program", False),
        ("/usr/bin", False),
    ],
)
def test_a_program_is_looked_for_where_the_job_would(program: str, there: bool) -> None:
    assert builtin_runtimes()["system"].has_program(program, "/usr/bin:/bin") is there


def test_a_python_shows_its_library_and_not_what_is_installed_beside() -> None:
    needs()
    python = builtin_runtimes()["python3"]
    shown = [target for _source, target in python.mounts]
    assert not any("dist-packages" in target or target == "/usr" for target in shown)
    assert python.has_program("python3", "/usr/bin")
    assert not python.has_program("sh", "/usr/bin:/bin")


def test_what_lies_in_a_mount_is_shown(tmp_path: Path) -> None:
    system = builtin_runtimes()["system"]
    assert system.shows(Path("/usr/share/anything"))
    assert system.shows(Path("/usr"))
    assert not system.shows(tmp_path)
    (tmp_path / "link").symlink_to("/usr/share")
    assert system.shows(tmp_path / "link")


def _root(place: Path) -> Path:
    """The smallest root file system with a program in it: `cat`, and what its loader loads."""
    (place / "bin").mkdir(parents=True)
    program = Path(os.path.realpath(shutil.which("cat") or "/bin/cat"))
    shutil.copy(program, place / "bin" / "cat")
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for path in [Path(word) for word in told.split() if word.startswith("/")]:
        target = place / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(path), target)
    (place / "tools").symlink_to("bin")
    (place / "proc").mkdir()
    for each in (place, *place.rglob("*")):
        if not each.is_symlink():
            each.chmod(0o755)
    return place


def test_a_job_runs_in_a_root_file_system_of_the_host(tmp_path: Path) -> None:
    needs()
    for each in (tmp_path, *tmp_path.parents[:-2]):
        each.chmod(each.stat().st_mode | 0o055)
    sandbox = LocalSandbox({"tiny": _root(tmp_path / "tiny")}, name="tiny")
    sandbox.open()
    try:
        finished = sandbox.run(job("/tools/cat", "/inputs/a", runtime="tiny"), {"/inputs/a": b"read"})
        assert (finished.outcome, finished.stdout.data) == (JobOutcome.EXITED, b"read"), finished.stderr
        with pytest.raises(GradingError):
            sandbox.check(job("python3", runtime="tiny"))
        assert sandbox.shows("tiny", tmp_path / "tiny" / "bin")
        assert not sandbox.shows("tiny", tmp_path)
    finally:
        sandbox.close()


@pytest.mark.parametrize("name", ["", "Tiny", "a b", "../x", "x" * 65])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(GradingError, match="a runtime's name"):
        directory_runtime(name, tmp_path)


def test_a_directory_that_jobs_could_not_reach_is_refused(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    for each in (tmp_path / "closed", tmp_path / "absent"):
        with pytest.raises(GradingError, match="unprivileged user"):
            known_runtimes({"mine": each})
    assert not reachable(tmp_path / "closed")
    with pytest.raises(GradingError, match="can't be looked at"):
        directory_runtime("mine", Path("/" + "x" * 5000))


def test_a_container_that_maps_no_unprivileged_uid_is_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    opened = open

    def mapped(text: str | None) -> None:
        def reading(path: str, *more: object, **options: object) -> object:
            if path != "/proc/self/uid_map":
                return opened(path, *more, **options)  # type: ignore[call-overload]
            if text is None:
                raise OSError(2, "No such file or directory")
            return io.StringIO(text)

        monkeypatch.setattr("builtins.open", reading)

    mapped("         0     100000          1\n")
    with pytest.raises(SandboxUnavailable, match="no unprivileged uid"):
        sandbox_uid()
    mapped("         0     100000      65536\n")
    assert 61184 <= sandbox_uid() < 65520
    mapped(None)
    with pytest.raises(SandboxUnavailable, match="/proc can't be read"):
        sandbox_uid()


def test_a_bubblewrap_that_fails_is_none(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match="can't be run"):
        installed(str(broken))
