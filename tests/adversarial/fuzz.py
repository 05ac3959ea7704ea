"""Apply accepted patches for real, and hold what changed on disk against the paths that were told.

    python -m tests.adversarial.fuzz --cases N --seed S [--mails] [--keep DIR]

For every accepted patch, and for each of `git apply -p1`, GNU `patch -p1` and (mails) `git am`: what changed is among the
told paths. What `git am` is content with comes out as `git apply` makes it. When `git apply` and GNU patch are both
content, they changed the same of them, and all of them if the patch is honest (sources of copies aside).
"""

import argparse
import collections
import sys
from dataclasses import dataclass, field
from pathlib import Path

from idkmesh_rules.diff import Patch, changed_lines, read_patch
from idkmesh_rules.paths import reserved
from tests.adversarial.appliers import GIT_APPLY, GNU_PATCH, run, run_am
from tests.adversarial.generate import is_honest, make, make_mail
from tests.adversarial.trees import Tree


@dataclass(slots=True)
class Outcome:
    """What a run came to: how many patches were made, accepted and applied, why others were refused, and findings."""

    made: int = 0
    accepted: int = 0
    applied: collections.Counter[str] = field(default_factory=collections.Counter)
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    findings: list[tuple[int, str, bytes]] = field(default_factory=list)


def told(patch: Patch) -> tuple[set[str], set[str]]:
    """All paths that a patch tells, and those that it must change.

    It need not change what it copies, submodules, empty files that it deletes (GNU patch leaves those alone if no index
    line stands), and files whose removed lines it adds again.
    """
    lines: dict[tuple[int, str], list[bytes]] = collections.defaultdict(list)
    for side in ("added", "removed"):
        for line in changed_lines(patch, side):
            lines[line.file.index, side].append(line.text)
    every = {path.path for path in patch.paths()}
    must = set()
    for file in patch.files:
        idle = file.operation == "modify" and lines[file.index, "added"] == lines[file.index, "removed"]
        if not file.submodule and not idle and (file.operation != "delete" or file.hunks):
            must |= {path for path in (file.new_path, file.old_path if file.operation != "copy" else None) if path}
    return every, must


def examine(tree: Tree, data: bytes, outcome: Outcome, number: int, *, mail: bool, honest: bool) -> None:
    """Read one patch; if it is accepted, apply it and note what does not agree."""
    outcome.made += 1
    patch = read_patch(data)
    if patch.problem is not None or not patch.files:
        outcome.refused[patch.problem.reason if patch.problem else "empty"] += 1
        return
    every, must = told(patch)
    held = [found for found in map(reserved, sorted(every)) if found and not found.lifted_by_exact_pattern]
    if held:
        outcome.refused[f"{held[0].reason} (scope)"] += 1
        return
    outcome.accepted += 1
    results = {"git apply": run(tree, GIT_APPLY, data), "patch": run(tree, GNU_PATCH, data)}
    if mail:
        results["git am"] = run_am(tree, data)
        results["git am FILE"] = run_am(tree, data, by_name=True)
    for name, (content, changed) in results.items():
        outcome.applied[name] += content
        if changed.keys() - every:
            outcome.findings.append(
                (number, f"{name} changed {sorted(changed.keys() - every)}, told were {sorted(every)}", data)
            )
        elif name.startswith("git am") and content and results["git apply"][0] and changed != results["git apply"][1]:
            outcome.findings.append((number, f"{name} and git apply made different content", data))
    (git_content, by_git), (gnu_content, by_gnu) = results["git apply"], results["patch"]
    if git_content and gnu_content:
        outcome.applied["both"] += 1
        if must & (by_git.keys() ^ by_gnu.keys()) or (honest and must - by_git.keys()):
            text = f"told were {sorted(must)}, git changed {sorted(by_git)}, patch {sorted(by_gnu)}"
            outcome.findings.append((number, text, data))


def fuzz(seed: int, cases: int, *, first: int = 0, mails: bool = False) -> Outcome:
    """Examine the cases from ``first``, only mails if so asked; each is a function of the seed and its number."""
    outcome = Outcome()
    with Tree() as tree:
        for number in range(first, first + cases):
            data = make_mail(seed, number) if mails else make(seed, number)
            looks_mail = mails or data.startswith((b"From ", b"From:"))
            examine(tree, data, outcome, number, mail=looks_mail, honest=not mails and is_honest(number))
    return outcome


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.adversarial.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--mails", action="store_true", help="make only mails, and what git am takes for mail")
    parser.add_argument("--keep", type=Path, help="write findings to this directory")
    options = parser.parse_args(arguments)
    outcome = fuzz(options.seed, options.cases, first=options.first, mails=options.mails)
    print(f"{outcome.made} patches made, {outcome.accepted} accepted; applied: {dict(outcome.applied)}")
    print("refused: " + ", ".join(f"{reason} {count}" for reason, count in outcome.refused.most_common()))
    for number, text, data in outcome.findings:
        print(f"FINDING seed {options.seed} case {number}: {text}")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{options.seed}-{number}.patch").write_bytes(data)
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main())
