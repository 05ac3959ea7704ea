"""The equality protocol: every malformation by name, what is equal to what, and what a pass needs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idkmesh_rules.grading.protocol import (
    MAX_BYTES,
    MAX_CHECKS,
    PROTOCOL,
    CheckResult,
    ProtocolError,
    compare,
    declared_checks,
    exported_values,
    grader_statuses,
    scan,
)
from tests.support.grading import declared, statuses, values

MALFORMED = {
    "nothing": (b"", "it is not JSON"),
    "one byte too many": (b'"' + b"a" * (MAX_BYTES - 1) + b'"', "more than 1048576 bytes"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "byte order mark"),
    "not UTF-8": (b'"\xff"', "not UTF-8"),
    "an overlong encoding": (b'"\xc0\xaf"', "not UTF-8"),
    "an encoded surrogate": (b'"\xed\xa0\x80"', "not UTF-8"),
    "a lone surrogate escape": (b'"\\ud800"', "lone surrogate"),
    "a lone low surrogate": (b'["a", "\\udc00"]', "lone surrogate"),
    "a surrogate in a key": (b'{"\\ud800": 1}', "lone surrogate"),
    "33 levels": (b"[" * 33 + b"]" * 33, "nested more than 32 deep"),
    "33 levels of objects": (b'{"a":' * 33 + b"1" + b"}" * 33, "nested more than 32 deep"),
    "a mebibyte of brackets": (b"[" * MAX_BYTES, "nested more than 32 deep"),
    "an unterminated text": (b'"' + b"a" * (MAX_BYTES - 1), "it is not JSON"),
    "an unterminated text of backslashes": (b'"' + b"\\" * (MAX_BYTES - 1), "it is not JSON"),
    "escaped quotes in an unterminated text": (b'"' + b'\\"' * (MAX_BYTES // 2 - 1), "it is not JSON"),
    "escaped quotes before a lone backslash": (b'"' + b'\\"' * (MAX_BYTES // 2 - 1) + b"\\", "it is not JSON"),
    "brackets in an unterminated text": (b'"' + b"[" * 100, "it is not JSON"),
    "a key twice": (b'{"a": 1, "a": 1}', "a key stands twice"),
    "a key twice below": (b'[{"b": {"a": 1, "a": 2}}]', "a key stands twice"),
    "a key twice by an escape": (b'{"a": 1, "\\u0061": 1}', "a key stands twice"),
    "NaN": (b"[NaN]", "NaN or Infinity"),
    "Infinity": (b"Infinity", "NaN or Infinity"),
    "-Infinity": (b"-Infinity", "NaN or Infinity"),
    "a comment": (b"{} // x", "it is not JSON"),
    "two values": (b"{} {}", "it is not JSON"),
    "a trailing comma": (b"[1,]", "it is not JSON"),
    "a leading zero": (b"[01]", "it is not JSON"),
    "a plus sign": (b"[+1]", "it is not JSON"),
    "a bare point": (b"[1.]", "it is not JSON"),
    "a control character in a text": (b'"\x01"', "it is not JSON"),
    "single quotes": (b"{'a': 1}", "it is not JSON"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_text_is_refused_by_name_and_never_quoted(name: str) -> None:
    data, said = MALFORMED[name]
    with pytest.raises(ProtocolError, match=said):
        scan(data)


FINE = {
    "32 levels": b"[" * 32 + b"]" * 32,
    "exactly a mebibyte": b'"' + b"a" * (MAX_BYTES - 2) + b'"',
    "a pair of surrogate escapes": b'"\\ud83d\\ude00"',
    "brackets in a text": b'"' + b"[" * 100 + b'"',
    "an escaped quote before brackets": b'["\\"[[[[", "\\\\"]' + b" " * 40,
    "a number beyond any float": b"1e400",
    "a number of many digits": b"1" * 5000,
    "a million keys in small": json.dumps({str(n): None for n in range(60_000)}).encode(),
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_well_formed_is_read(name: str) -> None:
    scan(FINE[name])


APART = [
    *[(b"1", b"1.0"), (b"1", b"1e0"), (b"1.0", b"1e0"), (b"0", b"-0"), (b"1", b"true"), (b"0", b"false")],
    *[(b"1", b'"1"'), (b"null", b"false"), (b"null", b"0"), (b'""', b"null"), (b"[]", b"{}"), (b"[1, 2]", b"[2, 1]")],
    *[(b'{"a": 1}', b'{"a": 1, "b": null}'), (b'"e\\u0301"', b'"\\u00e9"'), (b"100", b"1e2"), (b"[1]", b"1")],
]
SAME = [
    *[(b'{"a": 1, "b": 2}', b'{"b": 2, "a": 1}'), (b'"\\u0061"', b'"a"'), (b" [ 1 ,2 ] ", b"[1,2]")],
    *[(b'"\\ud83d\\ude00"', '"😀"'.encode()), (b'"\\/"', b'"/"'), (b"1e400", b"1e400")],
]


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_is_spelled_otherwise_is_another_value(one: bytes, other: bytes) -> None:
    assert scan(one) != scan(other)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_only_looks_otherwise_is_the_same_value(one: bytes, other: bytes) -> None:
    assert scan(one) == scan(other)


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
json_values = st.recursive(
    scalars,
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(texts, below, max_size=4)),
    max_leaves=12,
)


@given(json_values, json_values)
def test_equality_is_that_of_the_spelled_text(one: object, other: object) -> None:
    """Two values are equal exactly if their text with sorted keys is, which spells numbers as they were written."""
    texts = [json.dumps(each, sort_keys=True) for each in (one, other)]
    assert (scan(texts[0].encode()) == scan(texts[1].encode())) == (texts[0] == texts[1])


@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_value_or_a_protocol_error(data: bytes) -> None:
    try:
        scan(data)
    except ProtocolError as error:
        assert str(error)


ENVELOPES = {
    "no object": (b"[]", "no object"),
    "no protocol": (b'{"checks": ["a"]}', "not of the protocol"),
    "another protocol": (b'{"protocol": "cortex.json-equality.v2", "checks": ["a"]}', "not of the protocol"),
    "one field too many": (b'{"protocol": "%s", "checks": ["a"], "x": 1}' % PROTOCOL.encode(), "not exactly protocol and checks"),
    "no checks": (declared(), "no list of names"),
    "checks as an object": (statuses(a="passed"), "no list of names"),
    "a name that is a number": (b'{"protocol": "%s", "checks": [1]}' % PROTOCOL.encode(), "a check's name"),
    "an empty name": (declared(""), "a check's name"),
    "a name with a line end": (declared("a\n"), "a check's name"),
    "a name twice": (declared("a", "b", "a"), "declared twice"),
    "too many": (declared(*(f"c{n}" for n in range(MAX_CHECKS + 1))), "more than 1000"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_declaration_that_is_none(name: str) -> None:
    data, said = ENVELOPES[name]
    with pytest.raises(ProtocolError, match=said):
        declared_checks(data)


EXPORTS = {
    "a check missing": (values('{"a": 1}'), "exactly the declared checks"),
    "a check too many": (values('{"a": 1, "b": 2, "c": 3}'), "exactly the declared checks"),
    "values as a list": (values("[1, 2]"), "no object"),
    "the grader's shape": (statuses(a="passed", b="passed"), "not exactly protocol and values"),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_that_is_none(name: str) -> None:
    data, said = EXPORTS[name]
    with pytest.raises(ProtocolError, match=said):
        exported_values(data, ("a", "b"))


STATUSES = {
    "a status that is none": statuses(a="passed", b="PASSED"),
    "a status as a flag": b'{"protocol": "%s", "checks": {"a": true, "b": "passed"}}' % PROTOCOL.encode(),
    "a status as a list": b'{"protocol": "%s", "checks": {"a": ["passed"], "b": "passed"}}' % PROTOCOL.encode(),
}


@pytest.mark.parametrize("name", STATUSES)
def test_a_status_that_is_none(name: str) -> None:
    with pytest.raises(ProtocolError, match="neither passed nor failed"):
        grader_statuses(STATUSES[name], ("a", "b"))


@pytest.mark.parametrize(
    ("equal", "status", "result"),
    [
        (True, "passed", CheckResult.PASSED),
        (False, "failed", CheckResult.FAILED),
        (True, "failed", CheckResult.DISAGREEMENT),
        (False, "passed", CheckResult.DISAGREEMENT),
    ],
)
def test_a_pass_needs_both(equal: bool, status: str, result: CheckResult) -> None:
    expected, exported = {"a": b"1"}, {"a": b"1" if equal else b"1.0"}
    (compared,) = compare(("a",), expected, exported, {"a": status})
    assert (compared.result, compared.equal, compared.grader_status) == (result, equal, status)
