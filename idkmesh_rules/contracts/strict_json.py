"""The strict JSON reader: one object, no duplicate keys, no surprises (design: contracts, *Strict JSON*).

Invariants:
- Honest input takes the C parser and one walk; only input that is refused is scanned again, to say where and why.
- Any bytes end in a value or in a ContractError with line and column; time and memory are linear in the bytes.
"""

import json
from typing import Any, Never

from idkmesh_rules.contracts.digest import canonical_digest
from idkmesh_rules.errors import ContractError, Problem
from idkmesh_rules.model.documents import Document

_INTEGER_DIGITS = 400


class _FaultFound(Exception):
    """The quick parse met something that the strict reader refuses; the scan will say what and where."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _FaultFound
    return found


def _refuse(text: str) -> Never:
    raise _FaultFound


def _integer(text: str) -> int:
    # int() of n digits takes quadratic time, and CPython's own guard can be switched off by the environment.
    if len(text) > _INTEGER_DIGITS:
        raise _FaultFound
    return int(text)


def read_document(
    data: bytes, name: str, source: str, *, max_bytes: int, max_depth: int = 64, quote: bool = True
) -> Document:
    """Read `data` as the document `name` (its role), found at `source` (for messages).

    Without `quote` no message holds any of the document's text.
    Raises ContractError with every fault, each with its line and column.
    """
    text = _decode(data, source, max_bytes)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_int=_integer)
        if isinstance(value, dict) and _sound(value, max_depth):
            return Document(name, source, data, value, canonical_digest(value))
    except (_FaultFound, RecursionError, UnicodeEncodeError):
        pass  # the scan below says what and where
    except json.JSONDecodeError as error:
        raise ContractError(
            (
                Problem(
                    f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}",
                    source,
                    line=error.lineno,
                    column=error.colno,
                    hint="the document must be exactly one JSON object",
                ),
            )
        ) from None
    from idkmesh_rules.contracts.json_faults import find_faults

    raise ContractError(find_faults(text, source, max_depth=max_depth, max_digits=_INTEGER_DIGITS, quote=quote))


def exact_value(data: bytes) -> Any:
    """The value of bytes that were read strictly before, with every number that isn't an integer as a decimal.

    For comparing: two spellings that differ beyond what a float holds are two values.
    """
    from decimal import Decimal  # no evaluation of a patch or a workspace needs it

    return json.loads(data.decode(), parse_float=Decimal)


def _decode(data: bytes, source: str, max_bytes: int) -> str:
    if len(data) > max_bytes:
        raise ContractError(
            (
                Problem(
                    f"the document is larger than {max_bytes} bytes",
                    source,
                    line=1,
                    column=1,
                    hint="make it smaller, or raise the limit",
                ),
            )
        )
    if data.startswith(b"\xef\xbb\xbf"):
        raise ContractError(
            (
                Problem(
                    "the document begins with a byte order mark",
                    source,
                    line=1,
                    column=1,
                    hint="save it as UTF-8 without BOM",
                ),
            )
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        from idkmesh_rules.contracts.json_faults import position

        line, column = position(data[: error.start].decode())
        raise ContractError(
            (
                Problem(
                    f"byte 0x{data[error.start]:02x} is not valid UTF-8",
                    source,
                    line=line,
                    column=column,
                    hint="save the document as UTF-8",
                ),
            )
        ) from None


def _sound(value: dict[str, Any], max_depth: int) -> bool:
    """Walk level by level, so that depth costs no stack: nesting within bounds and every float finite."""
    level: list[Any] = [value]
    for _ in range(max_depth):
        below: list[Any] = []
        for container in level:
            for item in container.values() if type(container) is dict else container:
                kind = type(item)
                if kind is dict or kind is list:
                    below.append(item)
                elif kind is float and item - item != 0.0:
                    return False
        if not below:
            return True
        level = below
    return False
