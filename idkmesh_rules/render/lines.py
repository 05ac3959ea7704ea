"""What the renderers of an audit share: how truth values and statuses are drawn, and JSON that can drive nothing."""

import json
import re
from typing import Any

from idkmesh_rules.model.proof import Status
from idkmesh_rules.render.layout import GREEN, MAGENTA, RED, YELLOW, painted

_COLOURS = {Status.PASSED: GREEN, Status.FAILED: RED, Status.INCONCLUSIVE: YELLOW, Status.ERROR: MAGENTA}
_COMMAND = re.compile(r"(?<=##)\[")


def drawn(text: str, status: Status, colour: bool) -> str:
    """`text` in the colour of a status, if colours are wanted."""
    return painted(text, _COLOURS[status], colour)


def as_json(value: Any) -> str:
    """A JSON value in indented lines, of ASCII alone and without what a CI system takes for a command."""
    return _COMMAND.sub("\\\\u005b", json.dumps(value, indent=2, ensure_ascii=True))
