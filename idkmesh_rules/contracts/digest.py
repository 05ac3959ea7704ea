"""Digests: of bytes, and of JSON values in the canonical form that the public documents are bound by.

The canonical form is CPython's `json.dumps` with sorted keys, no spaces and no escapes, in UTF-8. It isn't RFC 8785: keys
are sorted by code point (not by UTF-16 unit) and floats have CPython's spelling (design: contracts, *Canonical digest*).
"""

import json
from hashlib import sha256
from typing import Any

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def bytes_digest(data: bytes) -> str:
    """`sha256:` and the hex digest of `data`."""
    return "sha256:" + sha256(data).hexdigest()


def canonical_bytes(value: Any) -> bytes:
    """The canonical UTF-8 form of a JSON value; raises UnicodeEncodeError for a lone surrogate, ValueError for NaN."""
    return _encode(value).encode()


def canonical_digest(value: Any) -> str:
    """The digest of a JSON value's canonical form; raises as `canonical_bytes` does."""
    return bytes_digest(canonical_bytes(value))
