"""Delivering what an evaluation came to, whichever verb asked for it: printed, reported, and told by the exit code."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from idkmesh_rules.cli.options import Format
from idkmesh_rules.cli.reports import Reports

if TYPE_CHECKING:
    from idkmesh_rules.model.evaluation import Evaluation


def deliver(
    run: "Callable[[], Evaluation]",
    reports: Reports,
    output_format: Format,
    *,
    quiet: bool,
    more: Callable[[], Sequence[str]] = tuple,
) -> int:
    """Run an evaluation and print what it came to; the exit code is the recommendation's, or that of a refusal.

    `more` are lines for a person beside a result that isn't an acceptance.
    """
    import sys

    from idkmesh_rules.cli.exits import ACCEPT, REFUSED, REJECT
    from idkmesh_rules.cli.output import complain, emit, wants_colour
    from idkmesh_rules.errors import Refusal
    from idkmesh_rules.render import text

    try:
        evaluation = run()
    except Refusal as refusal:
        code = reports(refusal, REJECT if refusal.fault == "worker" else REFUSED)
        if output_format is Format.JSON and not quiet:
            return emit(text.refusal_json(refusal), code)
        complain(text.refusal_text(refusal, colour=wants_colour(sys.stderr)))
        return code
    for crash in evaluation.crashes:
        complain(text.crash_text(crash))
    code = reports(evaluation, evaluation.exit_code)
    if quiet:
        return code
    if output_format is Format.JSON:
        return emit(text.result_json(evaluation), code)
    lines = [text.evaluation_text(evaluation, colour=wants_colour(sys.stdout))]
    if evaluation.exit_code != ACCEPT:
        lines += more()
    return emit("\n".join(lines), code)
