"""JSON pointers (RFC 6901)."""

from typing import Any


def json_pointer(path: Any) -> str:
    """The JSON pointer (RFC 6901) of a path of keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
