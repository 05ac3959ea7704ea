"""Explain a finished run from its result directory alone.

Invariant: nothing is decided over what isn't a whole and well-typed record; what is told follows from it.
"""

from pathlib import Path

from idkmesh_rules.audit.explain import Explanation
from idkmesh_rules.audit.explain import explain as explain_record
from idkmesh_rules.audit.wanted import Wanted, wanted
from idkmesh_rules.model.documents import Document
from idkmesh_rules.model.limits import Limits
from idkmesh_rules.pipeline.record import read_files, read_record, read_refusal
from idkmesh_rules.pipeline.run import AnyPath


def explain(directory: AnyPath, *, reveal_hidden: bool = False, limits: Limits | None = None) -> Explanation | Document:
    """Explain the decision that follows from a result directory's facts, rules and inputs, or return its refusal.json.

    A recorded decision that doesn't follow is flagged, and never explained as if it did. `reveal_hidden` shows a hidden
    plan's expectations. Raises Refusal (`result-unreadable`, `result-tampered`) when there is nothing to explain.
    """
    limits = limits or Limits()
    files = read_files(Path(directory), limits)
    if files.refused:
        return read_refusal(files, limits)
    record = read_record(files, limits, reveal=reveal_hidden)
    return explain_record(record, revealed=reveal_hidden)


def why_not(directory: AnyPath, *, reveal_hidden: bool = False, limits: Limits | None = None) -> Wanted:
    """Find the sets of fact changes after which the decision of a result directory would be an acceptance.

    `reveal_hidden` shows a hidden plan's expectations. Raises Refusal (`result-unreadable`, `result-undecided`,
    `result-tampered`) when there is no decision.
    """
    limits = limits or Limits()
    record = read_record(read_files(Path(directory), limits), limits, reveal=reveal_hidden)
    return wanted(record, revealed=reveal_hidden)
