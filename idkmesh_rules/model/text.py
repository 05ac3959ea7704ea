"""Text that came from a candidate, made fit for a terminal, a log or a report."""

import re

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def printable(text: str, most: int = 300) -> str:
    """`text` with control, bidi and invisible characters escaped, cut to `most` characters with an ellipsis."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), cut)
