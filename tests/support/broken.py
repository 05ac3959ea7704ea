"""The shipped bundle broken in twelve ways: what is replaced, where the mistake stands then, what is said, how to mend it.

Run as a program (`make broken-bundles`), it prints what lint says of each.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PATHS = """\
  paths-authorized:
    every: patch.path
    must: {authorized: true}
    on_empty: fail
"""
BROKEN = {
    "a typo in a condition": (
        "paths-authorized, no-symlinks",
        "paths-authorised, no-symlinks",
        "paths-authorised",
        'there is no condition "paths-authorised"',
        'did you mean "paths-authorized"?',
    ),
    "a typo in a kind": (
        "every: patch.path",
        "every: patch.paths",
        "patch.paths",
        'there is no fact kind "patch.paths"',
        'did you mean "patch.path"?',
    ),
    "a typo in a field": (
        "{authorized: true}",
        "{authorised: true}",
        "authorised",
        'patch.path has no field "authorised"',
        'did you mean "authorized"?',
    ),
    "a typo in a parameter": (
        "{parameter: max_prose_lines}",
        "{parameter: max_prose_line}",
        "max_prose_line}",
        'there is no parameter "max_prose_line"',
        'did you mean "max_prose_lines"?',
    ),
    "a wrong type": (
        "{authorized: true}",
        "{authorized: yes}",
        "yes",
        'expected true or false for authorized, found "yes"',
        "write true or false",
    ),
    "a duplicate key": (
        "    on_empty: fail\n    finding: {severity: high, category: scope",
        "    on_empty: fail\n    on_empty: pass\n    finding: {severity: high, category: scope",
        "on_empty: pass",
        'the key "on_empty" stands twice in one mapping',
        "keep one of them",
    ),
    "an alias": (
        "must: {authorized: true}",
        "must: *demands",
        "*demands",
        "the alias *demands may not stand in a rule bundle",
        "write the value out",
    ),
    "every without on_empty": (
        PATHS,
        PATHS.replace("    on_empty: fail\n", ""),
        "paths-authorized:",
        "every has to say what holds when there is no fact in its scope",
        "add on_empty: fail, pass, inconclusive, not_applicable",
    ),
    "a contradiction": (
        "{authorized: true}",
        "{authorized: true, forbidden: true}",
        "paths-authorized:",
        "paths-authorized can't be true: no patch.path can meet where and must together",
        "change its demands, or remove it",
    ),
    "an unused condition": (
        "few-files, second-opinion",
        "second-opinion",
        "few-files:",
        "the condition few-files is used by no validator and no escalation",
        "name it in validators or escalate, or remove it",
    ),
    "a conjunct removed, so that the floor breaks": (
        "where: {role: candidate}\n    must: {state: regular, within_limit: true, digest_matches: true}",
        "where: {role: candidate}\n    must: {state: regular, within_limit: true}",
        "patch-intact:",
        "below the floor of unified_diff, which demands patch-intact: a candidate.file fact with",
        "demand {every: candidate.file, where: {role: candidate}",
    ),
    "an escalation to an unknown name": (
        "escalate: []",
        "escalate: [touches-build]",
        "touches-build]",
        'there is no condition "touches-build"',
        "declare it under conditions, or name one that is there",
    ),
}


def main() -> None:
    """Break a copy of the shipped bundle in each way, and print what lint says of it."""
    source = (Path(__file__).resolve().parents[2] / "policies" / "unified-diff" / "bundle.yaml").read_text()
    for number, (name, (before, after, *_)) in enumerate(BROKEN.items(), 1):
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "bundle.yaml").write_text(source.replace(before, after, 1))
            run = subprocess.run(
                [sys.executable, "-m", "idkmesh_rules", "lint", "bundle.yaml"],
                cwd=place,
                capture_output=True,
                text=True,
            )
        print(f"{number}. {name} (exit code {run.returncode})", run.stdout + run.stderr, sep="\n")


if __name__ == "__main__":
    main()
