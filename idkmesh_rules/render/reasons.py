"""The reason registry as text and JSON."""

import json
import textwrap
from collections.abc import Iterable
from difflib import get_close_matches

from idkmesh_rules.diff import REASONS
from idkmesh_rules.model.reasons import REFUSALS


def unknown_codes(codes: Iterable[str]) -> tuple[tuple[str, str | None], ...]:
    """The codes that aren't registered, each with the nearest one that is."""
    known = {*REFUSALS, *REASONS}
    return tuple((code, next(iter(get_close_matches(code, known, 1)), None)) for code in codes if code not in known)


def as_json(codes: Iterable[str]) -> str:
    """The registry, or the named part of it, as a JSON array."""
    return json.dumps(
        [dict(zip(("code", "of", "meaning", "remedy"), row, strict=True)) for row in _rows(codes)], indent=2
    )


def as_text(codes: Iterable[str]) -> str:
    """The registry, or the named part of it, in 80 columns."""
    lines: list[str] = []
    group = None
    for code, of, meaning, remedy in _rows(codes):
        if of != group:
            group = of
            lines += ["", f"Reasons of a {of}:"] if lines else [f"Reasons of a {of}:"]
        lines.append(f"  {code}")
        for sentence in (meaning, f"→ {remedy}"):
            lines += textwrap.wrap(sentence, 79, initial_indent="      ", subsequent_indent="      ")
    return "\n".join(lines)


def _rows(codes: Iterable[str]) -> list[tuple[str, str, str, str]]:
    wanted = set(codes)
    rows = [(reason.code, "refusal", reason.meaning, reason.remedy) for reason in REFUSALS.values()]
    rows += [(code, "rejected patch", meaning, remedy) for code, (meaning, remedy) in REASONS.items()]
    return [row for row in rows if not wanted or row[0] in wanted]
