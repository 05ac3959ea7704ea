"""Lines for a terminal and JSON for programs: what all renderers share.

Invariants: at most 80 columns where words allow it; no character of a rendered text can drive a terminal but for the
colours that are put in here.
"""

import json
import re
import textwrap
from typing import Any

from idkmesh_rules.model.proof import Status

WIDTH = 80
MARKS = {Status.PASSED: "✓", Status.FAILED: "✗", Status.INCONCLUSIVE: "?", Status.ERROR: "!"}
"""How a status is drawn."""

_COLOURS = {Status.PASSED: "32", Status.FAILED: "31", Status.INCONCLUSIVE: "33", Status.ERROR: "35"}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def wrapped(text: str, indent: int, *, hanging: int = 2) -> list[str]:
    """`text` in lines of at most 80 columns, the first indented by `indent`, the others by `hanging` more."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )


def painted(text: str, status: Status, colour: bool) -> str:
    """`text` in the colour of a status, if colours are wanted."""
    return f"\033[{_COLOURS[status]}m{text}\033[0m" if colour else text


def escaped(text: str) -> str:
    """JSON text in which no character can drive a terminal: the value is the same, the spelling is an escape."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def as_json(value: Any) -> str:
    """A JSON value in indented lines, of ASCII alone."""
    return json.dumps(value, indent=2, ensure_ascii=True)
