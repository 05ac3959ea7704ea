"""What became of a replay, for a person and for a program."""

from idkmesh_rules.audit.differences import Difference
from idkmesh_rules.audit.replay import Replay
from idkmesh_rules.model.proof import Status
from idkmesh_rules.model.text import printable
from idkmesh_rules.render.layout import wrapped
from idkmesh_rules.render.lines import as_json, drawn

_MOST = 40
_UNSIGNED = (
    "Consistent, not authenticated: whoever can write the directory can write facts, a decision and a result that fit "
    "each other."
)
_ELSEWHERE = "Compare the decision digest with one that was kept elsewhere: --expect-decision sha256:…"
_UNSEEN = "The candidate was not looked at; --candidate-root DIR evaluates it again."


def replay_text(replay: Replay, *, colour: bool) -> str:
    """The verdict, what differs with both values, and what replay can't know."""
    lines = [f"{drawn(_verdict(replay), _status(replay), colour)}  {printable(replay.name, 4096)}"]
    if replay.recorded is not None:
        lines += wrapped(_decided(replay), 2)
        lines.append(f"  decision  {replay.decision_digest}")
    for difference in replay.differences[:_MOST]:
        lines += _difference(difference)
    if len(replay.differences) > _MOST:
        lines.append(f"  … and {len(replay.differences) - _MOST} more differences")
    for difference in replay.reworded[:_MOST]:
        lines += _difference(difference, "~")
    if replay.unlooked is not None:
        lines += wrapped(f"The candidate could not be evaluated again: {printable(replay.unlooked, 1000)}", 2)
    if replay.candidate and not replay.differences:
        lines += wrapped("The candidate was evaluated again and led to the same facts, decision and result.", 2)
    lines += [line for note in replay.notes for line in wrapped(printable(note, 4096), 2)]
    if not replay.differences:
        lines += [line for sentence in _caveats(replay) for line in wrapped(sentence, 2)]
    return "\n".join(lines)


def replay_json(replay: Replay) -> str:
    """The same as one JSON object."""
    return as_json(
        {
            "directory": replay.name,
            "verdict": _verdict(replay),
            "authenticated": False,
            "recorded": replay.recorded,
            "derived": replay.derived and replay.derived.value,
            "decision_digest": replay.decision_digest,
            "decision_expected": replay.pinned,
            "candidate_evaluated": replay.candidate,
            "could_not_look": replay.unlooked,
            "differences": [each._asdict() for each in replay.differences],
            "reworded": [each._asdict() for each in replay.reworded],
            "notes": list(replay.notes),
        }
    )


def _verdict(replay: Replay) -> str:
    if replay.differences:
        return "differs"
    return "consistent" if replay.unlooked is None else "undecided"


def _status(replay: Replay) -> Status:
    if replay.differences:
        return Status.FAILED
    return Status.PASSED if replay.consistent else Status.INCONCLUSIVE


def _decided(replay: Replay) -> str:
    derived = replay.derived.value if replay.derived is not None else "nothing"
    if derived == replay.recorded:
        return f"{derived}: recorded, and what follows from facts, rules and inputs"
    return f"recorded is {replay.recorded}, but {derived} follows from facts, rules and inputs"


def _difference(found: Difference, mark: str = "✗") -> list[str]:
    lines = wrapped(f"{mark} {printable(found.place, 1000)}: {printable(found.message, 1000)}", 2)
    if found.recorded is not None:
        width = max(len("recorded"), len(found.source))
        for name, value in (("recorded", found.recorded), (found.source, found.expected or "")):
            lines.append(f"      {name:{width}}  {printable(value)}")
    return lines


def _caveats(replay: Replay) -> list[str]:
    told = [] if replay.candidate or replay.unlooked is not None else [_UNSEEN]
    told.append("The decision digest is the expected one." if replay.pinned else _UNSIGNED)
    return told if replay.pinned else [*told, _ELSEWHERE]
