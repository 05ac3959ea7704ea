"""Text that came from a candidate, made fit for a terminal, a log or a report.

Invariants:

* What `escaped` returns has no control character, no line or paragraph separator, no lone surrogate, and nothing that is
  invisible or turns the direction of the text: all of Unicode's Cf, Bidi_Control and Default_Ignorable_Code_Point
  (Unicode 16, DerivedCoreProperties.txt), listed here so that every Python escapes the same.
* Nor has it `##[`, which some CI systems take for a command to themselves wherever it stands in a log.
"""

import re

_UNSAFE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160\\u17b4\\u17b5"
    "\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ud800-\\udfff\\ufe00-\\ufe0f\\ufeff\\uffa0"
    "\\ufff0-\\ufffb\\U000110bd\\U000110cd\\U00013430-\\U0001343f\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a"
    "\\U000e0000-\\U000e0fff]"
)


def escaped(text: str) -> str:
    """`text` with control, bidi and invisible characters escaped, and no command to a CI system in it."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text).replace("##[", "#\\x23[")


def printable(text: str, most: int = 300) -> str:
    """`text` as `escaped` returns it, cut to `most` characters before that, with an ellipsis."""
    return escaped(text if len(text) <= most else text[: most - 1] + "…")
