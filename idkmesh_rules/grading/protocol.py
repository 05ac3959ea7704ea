"""The protocol `cortex.json-equality.v1`: named values that a candidate exports, held against protected ones.

Invariants:
- Any bytes end in a document or in a ProtocolError; time and memory are linear in at most 1 MiB.
- Numbers keep their spelling: `1`, `1.0` and `1e0` are three values. The order of an object's keys doesn't matter, that
  of an array does.
- A check passes only if the values are equal *and* the grader says that it passed; where the two differ, they disagree,
  and that is no pass (design: grading, *Protocol*).
"""

import json
import re
from array import array
from collections.abc import Callable, Mapping
from enum import Enum
from hashlib import sha256
from itertools import accumulate
from typing import Any, NamedTuple, Never

PROTOCOL = "cortex.json-equality.v1"
MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_CHECKS = 1000
IDENTITY = f"{PROTOCOL}; idkmesh-rules; numbers by spelling, objects without order, equal and passed"
"""What an implementation of the protocol is called; a registration pins its digest."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_MAYBE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_STATUSES = ("passed", "failed")


class ProtocolError(Exception):
    """A document isn't one of the protocol's. The message says which rule it breaks and quotes nothing of it."""


Json = dict[str, Any] | list[Any] | str | bytes | bool | None
"""A value of which equality is the protocol's: a number is its spelling as bytes, which no text equals."""


class CheckResult(Enum):
    """What became of one named check; the zero value is the one that nobody can take for a pass."""

    INVALID = "invalid"
    PASSED = "passed"
    FAILED = "failed"
    DISAGREEMENT = "disagreement"
    MISSING = "missing"


class Compared(NamedTuple):
    """One check: whether the values are equal and what the grader says (None where either can't be known)."""

    name: str
    result: CheckResult
    equal: bool | None = None
    grader_status: str | None = None


def supervisor_revision() -> str:
    """The digest of the protocol implementation's identity, which registrations pin."""
    return "sha256:" + sha256(IDENTITY.encode()).hexdigest()


def scan(data: bytes) -> Json:
    """The value of strict JSON text with numbers by their spelling; raises ProtocolError."""
    if len(data) > MAX_BYTES:
        raise ProtocolError(f"it has more than {MAX_BYTES} bytes")
    if data.startswith(b"\xef\xbb\xbf"):
        raise ProtocolError("it begins with a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ProtocolError("it is not UTF-8") from None
    if _nesting(data) > MAX_DEPTH:
        # Known before anything is parsed, so that no parser's recursion decides it.
        raise ProtocolError(f"it is nested more than {MAX_DEPTH} deep")
    try:
        value: Json = json.loads(
            text, object_pairs_hook=_unique, parse_int=str.encode, parse_float=str.encode, parse_constant=_no_number
        )
    except json.JSONDecodeError as error:
        raise ProtocolError(f"it is not JSON: {error.msg[:1].lower()}{error.msg[1:]}") from None
    if _MAYBE_SURROGATE.search(text) is not None:
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
        except UnicodeEncodeError:
            raise ProtocolError("a text in it has a lone surrogate") from None
    return value


# An unterminated string matches up to the end. If it didn't match, each quote in it would be tried as a beginning.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_STEPS = bytes(1 if character in b"[{" else 255 if character in b"]}" else 0 for character in range(256))
_NO_BRACKETS = bytes(character for character in range(256) if character not in b"[]{}")


def _nesting(data: bytes) -> int:
    """How deep brackets are nested outside of strings; an unterminated string ends the text."""
    bare = _STRING.sub(b"", data)
    return max(accumulate(array("b", bare.translate(_STEPS, _NO_BRACKETS))), default=0)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProtocolError("a key stands twice in one object")
    return found


def _no_number(_text: str) -> Never:
    raise ProtocolError("it holds NaN or Infinity, which are no JSON")


def declared_checks(data: bytes) -> tuple[str, ...]:
    """The ordered check names of a test bundle or a result schema; raises ProtocolError."""
    names = _envelope(data, "checks")
    if not isinstance(names, list) or not names:
        raise ProtocolError("checks is no list of names")
    if len(names) > MAX_CHECKS:
        raise ProtocolError(f"more than {MAX_CHECKS} checks are declared")
    for name in names:
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise ProtocolError("a check's name has to be 1 to 128 of A–Z, a–z, 0–9, dot, slash, dash and underscore")
    if len(set(names)) != len(names):
        raise ProtocolError("a check is declared twice")
    return tuple(names)


def exported_values(data: bytes, checks: tuple[str, ...]) -> Mapping[str, Json]:
    """The values of a protected fixture or a candidate's export, one for each of `checks`; raises ProtocolError."""
    return _by_name(_envelope(data, "values"), checks, "values", lambda _value: True)


def grader_statuses(data: bytes, checks: tuple[str, ...]) -> Mapping[str, str]:
    """What the grader says of each of `checks`, `passed` or `failed`; raises ProtocolError."""
    return _by_name(_envelope(data, "checks"), checks, "checks", lambda value: value in _STATUSES)


def _envelope(data: bytes, key: str) -> Json:
    value = scan(data)
    if not isinstance(value, dict):
        raise ProtocolError("it is no object")
    if value.get("protocol") != PROTOCOL:
        raise ProtocolError(f"it is not of the protocol {PROTOCOL}")
    if value.keys() != {"protocol", key}:
        raise ProtocolError(f"its fields are not exactly protocol and {key}")
    inner: Json = value[key]
    return inner


def _by_name(value: Json, checks: tuple[str, ...], key: str, fits: Callable[[Any], bool]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProtocolError(f"{key} is no object")
    if value.keys() != set(checks):
        raise ProtocolError(f"{key} doesn't have exactly the declared checks")
    if not all(isinstance(each, str) or key == "values" for each in value.values()) or not all(
        fits(each) for each in value.values()
    ):
        raise ProtocolError("a check's status is neither passed nor failed")
    return {name: value[name] for name in checks}


def compare(
    checks: tuple[str, ...], expected: Mapping[str, Json], exported: Mapping[str, Json], statuses: Mapping[str, str]
) -> tuple[Compared, ...]:
    """Hold every check's exported value against the protected one, and both against what the grader says."""
    return tuple([_compared(name, expected[name] == exported[name], statuses[name]) for name in checks])


def _compared(name: str, equal: bool, status: str) -> Compared:
    if equal and status == "passed":
        result = CheckResult.PASSED
    elif not equal and status == "failed":
        result = CheckResult.FAILED
    else:
        result = CheckResult.DISAGREEMENT
    return Compared(name, result, equal, status)
