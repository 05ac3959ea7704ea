"""Reading a bounded number of bytes from a descriptor, in pieces no larger than what is there to expect."""

import os
from hashlib import sha256

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


def hash_bounded(descriptor: int, expected: int, most: int, keep: int) -> tuple[bytes, str, int]:
    """Read as `read_bounded` does, keeping only the first `keep` bytes.

    Returns what was kept, `sha256:` and the hex digest of all that was read, and how many bytes that was. Raises OSError.
    """
    if most <= keep or expected < _PIECE:
        data = read_bounded(descriptor, expected, most)
        return data[:keep], "sha256:" + sha256(data).hexdigest(), len(data)
    digest, kept, length = sha256(), b"", 0
    while length < most and (piece := os.read(descriptor, min(_PIECE, most - length))):
        digest.update(piece)
        kept += piece[: max(0, keep - length)]
        length += len(piece)
    return kept, "sha256:" + digest.hexdigest(), length
