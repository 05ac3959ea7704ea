"""Binary sections: the frame that git writes around compressed content, which is never unpacked here.

Invariants:

* A block is ``literal SIZE`` or ``delta SIZE``, full lines of 52 bytes, at most one shorter line, and an empty line.
* A section has one block, or a second one that takes the first back.
"""

import re
from typing import Final

from idkmesh_rules.diff.refusal import Refusal, quote

_DIGITS: Final = rb"[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]"
_HEAD: Final = re.compile(rb"(?:literal|delta) (?:0|[1-9][0-9]{0,9})\n")
_FULL: Final = re.compile(rb"(?:z%b{65}\n)*+" % _DIGITS)
_SHORTER: Final = re.compile(rb"([A-Za-z])((?:%b{5})+)\n" % _DIGITS)


def read_binary(data: bytes, pos: int) -> int:
    """Read the blocks behind a ``GIT binary patch`` line; return where they end. Raises `Refusal`."""
    for required in (True, False):
        found = _HEAD.match(data, pos)
        if not found:
            if required:
                raise Refusal("malformed", pos, f"{quote(data, pos)} is neither `literal SIZE` nor `delta SIZE`")
            break
        pos = _read_block(data, found.end())
    if data.startswith((b"literal ", b"delta "), pos):
        raise Refusal("malformed", pos, "a binary section has more than two blocks, or one without a size")
    return pos


def _read_block(data: bytes, start: int) -> int:
    found = _FULL.match(data, start)
    pos = found.end() if found else start
    shorter = _SHORTER.match(data, pos, pos + 68)
    if shorter:
        # The letter tells how many bytes the line holds: A to Z are 1 to 26, a to z are 27 to 52.
        letter = shorter[1][0]
        held = letter - 64 if letter < 97 else letter - 70
        if len(shorter[2]) != -(-held // 4) * 5:
            raise Refusal("malformed", pos, "a line of binary content is not as long as its first letter says")
        pos = shorter.end()
    if pos == start or not data.startswith(b"\n", pos):
        raise Refusal("malformed", pos, f"{quote(data, pos)} is neither binary content nor the empty line behind it")
    return pos + 1
