"""The strict reader: what it takes, and every refusal by name with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idkmesh_rules.contracts.digest import canonical_bytes, canonical_digest
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError
from idkmesh_rules.model.documents import Document

DEEP = 64


def read(data: bytes, **options: int) -> Document:
    return read_document(data, "work-unit", "wu.json", **{"max_bytes": 2**22, **options})


def refused(data: bytes, **options: int) -> list[tuple[int | None, int | None, str]]:
    with pytest.raises(ContractError) as caught:
        read(data, **options)
    assert all(problem.document == "wu.json" for problem in caught.value.problems)
    return [(problem.line, problem.column, problem.message) for problem in caught.value.problems]


REFUSALS = {
    "a key twice": (b'{"a": 1,\n "b": 2, "a": 3}', 2, 10, 'the key "a" stands twice in one object'),
    "a key twice, deep": (b'{"x": [{"k": 1, "k": 1}]}', 1, 17, 'the key "k" stands twice in one object'),
    "a key twice, spelled with an escape": (
        b'{"a": 1, "\\u0061": 2}',
        1,
        10,
        'the key "\\u0061" stands twice in one object',
    ),
    "invalid UTF-8": (b'{"a":\n "\xff"}', 2, 3, "byte 0xff is not valid UTF-8"),
    "overlong UTF-8": (b'{"a": "\xc0\xaf"}', 1, 8, "byte 0xc0 is not valid UTF-8"),
    "a BOM": (b"\xef\xbb\xbf{}", 1, 1, "the document begins with a byte order mark"),
    "NaN": (b'{"a": NaN}', 1, 7, "NaN is not JSON"),
    "minus infinity": (b'{"a": [-Infinity]}', 1, 8, "-Infinity is not JSON"),
    "a float beyond all bounds": (b'{"a": 1e400}', 1, 7, "1e400 is too large for a number"),
    "an integer of 5,000 digits": (b'{"a": ' + b"7" * 5000 + b"}", 1, 7, "a number of 5000 digits"),
    "a lone high surrogate": (b'{"a": "\\ud83d"}', 1, 8, "\\ud83d is a lone surrogate, which no UTF-8 text can hold"),
    "a lone low surrogate in a key": (
        b'{"x\\uDC00": 1}',
        1,
        4,
        "\\uDC00 is a lone surrogate, which no UTF-8 text can hold",
    ),
    "trailing data": (b"{} {}", 1, 4, "not JSON: extra data"),
    "a missing comma": (b'{"a": 1 "b": 2}', 1, 9, "not JSON: expecting ',' delimiter"),
    "a truncated document": (b'{"a": [1, 2', 1, 12, "not JSON: expecting ',' delimiter"),
    "nothing": (b"", 1, 1, "not JSON: expecting value"),
    "an array on top": (b" [1]", 1, 2, "the top level is not an object"),
    "a string on top": (b'"a"', 1, 1, "the top level is not an object"),
    "a control character in a string": (b'{"a": "\x01"}', 1, 8, "not JSON: invalid control character at"),
    "UTF-16": ('{"a": 1}'.encode("utf-16-le"), 1, 2, "not JSON: expecting property name enclosed in double quotes"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_name_the_place(name: str) -> None:
    data, line, column, message = REFUSALS[name]
    assert (line, column, message) in refused(data)


def test_all_faults_are_told_at_once() -> None:
    assert [place[:2] for place in refused(b'{"a": NaN, "b": 1e999,\n "a": 0, "c": "\\ud800"}')] == [
        (1, 7),
        (1, 17),
        (2, 2),
        (2, 16),
    ]


@pytest.mark.parametrize("opening", [b'{"a":', b"["])
def test_nesting_is_bounded_and_the_bound_is_exact(opening: bytes) -> None:
    closing = b"}" if opening.startswith(b"{") else b"]"

    def nested(depth: int) -> bytes:
        return b'{"top":' + opening * (depth - 1) + b"1" + closing * (depth - 1) + b"}"

    assert read(nested(DEEP)).value
    assert refused(nested(DEEP + 1))[0][2] == "nesting is deeper than 64 levels"
    assert refused(nested(200_000))[0][2] == "nesting is deeper than 64 levels"


def test_size_is_bounded() -> None:
    assert read(b'{"a":1}', max_bytes=7).value == {"a": 1}
    assert refused(b'{"a":1} ', max_bytes=7)[0][2] == "the document is larger than 7 bytes"


@pytest.mark.parametrize(
    "accepted",
    [
        b'{"a": "\\ud83d\\ude00"}',
        b'{"a\\\\ud800": 1}',
        b'{"a": "\\\\\\\\ud800"}',
        b' {"a": -0, "b": 1.0, "c": 1e5}\n',
        '{"ü": "\u2028"}'.encode(),
    ],
)
def test_honest_oddities_are_read(accepted: bytes) -> None:
    assert read(accepted).value == json.loads(accepted)


@pytest.mark.parametrize(
    "bomb",
    [
        b'{"a":' * 300_000,
        b'"' + b"\\" * 1_000_000,
        b"[" * 1_000_000,
        b'{"a": "' + b"\\u0061" * 500_000,
        b"{" + b" " * 3_000_000 + b"]",
        b'{"a": ' + b"1" * 4_000_000 + b"}",
        b"1 " * 1_000_000,
        b'{"a":NaN,' + b'\\"' * 500_000,
        b'{"a":NaN,"' + b'\\"' * 500_000,
        b'{"a":NaN' + b',"' * 500_000,
    ],
)
def test_no_input_takes_more_than_a_moment(bomb: bytes) -> None:
    """A quadratic scan of these would take hours: the test would not end."""
    refused(bomb)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner, max_size=4)
    ),
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), values, max_size=5))
def test_law_what_is_written_canonically_is_read_back_with_the_same_digest(value: dict) -> None:
    """read(canonical(v)) = v, type for type, and the digest is that of the canonical bytes, however the text was laid out."""
    document = read(canonical_bytes(value))
    assert repr(document.value) == repr(dict(sorted(value.items()))) or document.value == value
    assert document.digest == canonical_digest(value) == read(json.dumps(value, indent=3).encode()).digest


@given(st.binary(max_size=200) | st.text('{}[]":,\\u0dD8 eE+-.\n1aNItrufls', max_size=120).map(str.encode))
def test_law_any_bytes_end_in_a_value_or_in_the_projects_own_error(data: bytes) -> None:
    """No other exception, and what is read agrees with the standard library."""
    try:
        document = read(data)
    except ContractError as error:
        assert error.problems
        assert all(problem.line is not None and problem.column is not None for problem in error.problems)
    else:
        assert document.value == json.loads(data)


@pytest.mark.parametrize(
    ("data", "places"),
    [
        (b'{"a": NaN, "b": 1..2}', [(1, 7), (1, 17)]),
        (b'{"a":{"x":1,"x":2}, "\\q": 1}', [(1, 13), (1, 21)]),
        (b'{"a":' + b"[" * 100_000 + b"1..e", [(1, 64 + 5), (1, 100_006)]),
        (b'{"a": NaN, nul}', [(1, 7), (1, 12)]),
        (b'{"a": 1, "a": "\x01"}', [(1, 16)]),
    ],
)
def test_what_is_no_json_behind_the_first_fault_ends_the_scan(data: bytes, places: list[tuple[int, int]]) -> None:
    """The quick parse gives up at the first fault, so anything may follow it."""
    assert [place[:2] for place in refused(data)] == places


def test_without_quotes_no_text_of_the_document_is_told() -> None:
    with pytest.raises(ContractError) as caught:
        read_document(b'{"secret": 1, "secret": 1e999}', "plan", "p.json", max_bytes=99, quote=False)
    assert [problem.line for problem in caught.value.problems] == [1, 1]
    assert "secret" not in str(caught.value)
    assert "1e999" not in str(caught.value)
