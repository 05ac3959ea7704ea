"""Reading a bounded number of bytes from a descriptor, in pieces no larger than what is there to expect."""

import os

_PIECE = 2**20


def read_bounded(descriptor: int, expected: int, most: int) -> bytes:
    """Read until the end or until `most` bytes are there; `expected` is the size that the file had, to read it in one go.

    A buffer is never larger than what is expected and a mebibyte, however high `most` is. Raises OSError.
    """
    pieces: list[bytes] = []
    left = most
    size = min(expected + 1, left)
    while left and (piece := os.read(descriptor, min(size, left))):
        pieces.append(piece)
        left -= len(piece)
        size = _PIECE
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
