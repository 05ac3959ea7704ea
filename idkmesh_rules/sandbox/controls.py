"""The bounds that a sandbox may enforce, by the names under which plans require them and results report them.

Invariant: a name means the same whatever backend enforces it.
"""

from collections.abc import Mapping

CONTROLS: Mapping[str, str] = {
    "network-none": "no network: an empty network namespace, and no system call that makes a socket",
    "filesystem-read-only": "everything but the scratch directory is read-only, and nothing of the host but the runtime is there",
    "evaluator-apart": "a job sees its own files only: not the other job's, no expected value, no path of the host",
    "environment-clean": "no variable of the host's environment",
    "descriptors-exact": "stdin is empty, stdout and stderr are pipes, 3 is the export, and nothing else is open",
    "unprivileged": "an unprivileged uid in a user namespace, no capability, and no way to gain one by executing a file",
    "namespaces-closed": "no further namespace can be made",
    "system-calls": "a filter refuses what a job has no need of, and ends a process that calls through another ABI",
    "proc-none": "no /proc and no /sys",
    "session-new": "a session of its own, without a terminal",
    "tree-ends": "every process of the job ends with it, and with the host",
    "wall-clock": "the whole job is killed after its wall time",
    "output-bytes": "the job is killed when it prints more than it may",
    "export-sealed": "one export of fixed size, without a path; more than it may hold is no export",
    "scratch-bytes": "the scratch directory has a fixed size",
    "scratch-inodes": "what empty files and directories cost counts as memory",
    "processes-total": "all processes and threads of the job together stay below their ceiling",
    "memory-each": "no process takes more memory than the ceiling",
    "memory-total": "all processes of the job, its scratch files and its kernel memory together stay below the ceiling",
    "cpu-each": "no process takes more processor time than the ceiling",
    "cpu-total": "the job is killed when all its processes together took more processor time than the ceiling",
}
"""Every control with its meaning, the most general first."""

BY_CONSTRUCTION = frozenset(CONTROLS) - {"scratch-inodes", "memory-total", "cpu-total"}
"""What bubblewrap and process limits enforce anywhere; the others need control groups."""
