"""Decide recorded runs under two rule bundles. Invariant: results are read one by one, so that any number of them will do."""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from idkmesh_rules.audit.impact import Flip, Impact, Undecidable, ordered, reconsider
from idkmesh_rules.audit.record import ResultFiles
from idkmesh_rules.errors import Problem, Refusal
from idkmesh_rules.model.bundle import Bundle
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.pipeline.record import holds_result, read_files, read_record
from idkmesh_rules.pipeline.rules import named_bundle
from idkmesh_rules.pipeline.run import AnyPath


def impact(old: Path | str, new: Path | str, directories: Iterable[AnyPath], *, limits: Limits | None = None) -> Impact:
    """Decide the recorded facts of result directories under the bundles `old` and `new`, and tell what changes.

    A bundle is the id of a shipped one or a directory with a bundle.yaml; it need not be above its floor. A directory that
    is no result but holds some stands for those. Raises Refusal when a bundle can't be used; a result that can't be read is
    told in what is returned.
    """
    limits = limits or Limits()
    (before, holes_before), (after, holes_after) = named_bundle(old, limits), named_bundle(new, limits)
    if before.backend != after.backend:
        why = Problem(f"{before.name} is for {before.backend}, {after.name} for {after.backend}")
        raise Refusal("bundle-backend", "the two rule bundles are for different backends", problems=(why,))
    flips: list[Flip] = []
    unread: list[Undecidable] = []
    undeclared: dict[tuple[str, str], None] = {}
    unchanged = refusals = 0
    for directory in _results(map(Path, directories), limits):
        try:
            files = read_files(directory, limits)
            if files.refused:
                refusals += 1
                continue
            seen = _reconsidered(files, before, after, limits)
        except Refusal as refusal:
            unread.append(Undecidable(str(directory), "; ".join(map(str, refusal.problems)) or refusal.message))
            continue
        if isinstance(seen, Undecidable):
            unread.append(seen)
            continue
        flip, unknown = seen
        undeclared.update(dict.fromkeys(unknown))
        if flip is None:
            unchanged += 1
        else:
            flips.append(flip)
    warnings = [*_below(before, holes_before), *_below(after, holes_after), *_validators(before, after)]
    warnings += [f"{name} declares no parameter {parameter}, which a plan sets" for name, parameter in undeclared]
    return Impact(before, after, ordered(flips), unchanged, refusals, tuple(unread), tuple(warnings))


def _reconsidered(
    files: ResultFiles, old: Bundle, new: Bundle, limits: Limits
) -> tuple[Flip | None, tuple[tuple[str, str], ...]] | Undecidable:
    record = read_record(files, limits, reveal=False)
    if record.forged:
        return Undecidable(files.name, "its decision does not follow from its facts and rules; see `idkrules replay`")
    seen = reconsider(record, old, new)
    return seen if isinstance(seen, Undecidable) else (seen.flip, seen.undeclared)


def _results(directories: Iterable[Path], limits: Limits) -> Iterator[Path]:
    """The directories, and in place of one that is no result those below it that are."""
    for directory in directories:
        below = [] if holds_result(directory) else list(_below_directory(directory, limits))
        yield from below or [directory]


def _below_directory(directory: Path, limits: Limits) -> Iterator[Path]:
    try:
        with os.scandir(directory) as listing:
            names = sorted(
                entry.name for entry in islice(listing, limits.record_entries) if entry.is_dir(follow_symlinks=False)
            )
    except (OSError, ValueError):
        return
    yield from (directory / name for name in names if holds_result(directory / name))


def _below(bundle: Bundle, holes: tuple[Problem, ...]) -> Iterator[str]:
    if holes:
        yield f"{bundle.name} is below its backend's floor, so that an evaluation would refuse it"


def _validators(old: Bundle, new: Bundle) -> Iterator[str]:
    for name in old.validators.keys() - new.validators.keys():
        yield f"{new.name} does not implement the validator {name}"
    for name in new.validators.keys() - old.validators.keys():
        yield f"{old.name} does not implement the validator {name}"
