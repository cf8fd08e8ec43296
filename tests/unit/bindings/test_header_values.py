import base64
from typing import Any

import pytest

from wigwag.bindings.header_values import (
    decode_header_value,
    encode_header_value,
    encode_scalar,
    equals,
    is_scalar,
    quoted,
)
from wigwag.errors import LocalProtocolError

# --- texts as the values of headers

TEXTS = [
    ("us-west1", "us-west1"),
    ("", ""),
    ("us west 1", "us west 1"),
    ("a", "a"),
    ("~", "~"),
    (" ", "=?base64?IA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
    ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
    (" us-west1 ", "=?base64?IHVzLXdlc3QxIA==?="),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    ("日本語", "=?base64?5pel5pys6Kqe?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
    ("\tindented", "=?base64?CWluZGVudGVk?="),
    ("a\tb", "=?base64?YQli?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ("=?base64?abc", "=?base64?abc"),
    ("abc?=", "abc?="),
    ("=?BASE64?abc?=", "=?BASE64?abc?="),
    ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
    ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
    ("\u007f", "=?base64?fw==?="),
    ("\u0000", "=?base64?AA==?="),
    ("é", "=?base64?w6k=?="),
    ("😀", "=?base64?8J+YgA==?="),
    ("ünï", "=?base64?w7xuw68=?="),
    ("file:///a%20b.txt", "file:///a%20b.txt"),
    ("https://example.com/resource?id=123", "https://example.com/resource?id=123"),
]


@pytest.mark.parametrize(("text", "value"), TEXTS)
def test_a_text_is_written_as_it_is_or_as_marked_base64(text: str, value: str) -> None:
    assert encode_header_value(text) == value
    assert encode_scalar(text) == value


@pytest.mark.parametrize(("text", "value"), TEXTS)
def test_what_was_written_is_read_again(text: str, value: str) -> None:
    assert decode_header_value(value.encode()) == text


def test_half_a_character_cannot_be_written() -> None:
    with pytest.raises(LocalProtocolError, match="surrogate"):
        encode_header_value("a\ud800")


@pytest.mark.parametrize(
    "literal", [b"SGVsbG8=", b"=?base64?SGVsbG8=", b"=?BASE64?SGVsbG8=?=", b"=?base64?=", b"?="]
)
def test_what_is_not_marked_as_base64_is_taken_as_it_is(literal: bytes) -> None:
    assert decode_header_value(literal) == literal.decode()


def test_a_text_without_a_character_may_be_written_in_base64() -> None:
    assert decode_header_value(b"=?base64??=") == ""


@pytest.mark.parametrize(
    "raw",
    [
        b"=?base64?SGVsbG8?=", b"=?base64?SGVs!!!bG8=?=", b"=?base64?SGVs bG8=?=",
        b"=?base64?SGVsbG8==?=", b"=?base64?SGVsbG8=SGVs?=", b"=?base64?SGVsbG9=?=",
        b"=?base64?8J-YgA==?=", b"=?base64?=?=", b"=?base64?A?=", b"=?base64?====?=",
    ],
)  # fmt: skip
def test_base64_is_read_strictly(raw: bytes) -> None:
    with pytest.raises(ValueError, match="Base64"):
        decode_header_value(raw)


@pytest.mark.parametrize("data", [b"\xff", b"\xe9", b"\xed\xa0\x80", b"\xc0\x80"])
def test_what_is_in_base64_must_be_utf_8(data: bytes) -> None:
    raw = b"=?base64?" + base64.b64encode(data) + b"?="
    with pytest.raises(ValueError, match="UTF-8"):
        decode_header_value(raw)


@pytest.mark.parametrize(
    "raw", [b"\xe9", "é".encode(), b"a\tb", b"a\x00", b"\x7f", b"a\nb", b"a\n"]
)
def test_only_printable_ascii_may_stand_in_a_header(raw: bytes) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        decode_header_value(raw)


# --- other values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (42, "42"),
        (-7, "-7"),
        (0, "0"),
        (True, "true"),
        (False, "false"),
        (42.0, "42"),
        (-0.0, "0"),
        (2.5, "2.5"),
        (9007199254740991, "9007199254740991"),
        (-9007199254740991, "-9007199254740991"),
    ],
)
def test_numbers_and_truth_values_are_written_as_in_json(value: Any, text: str) -> None:
    assert encode_scalar(value) == text


@pytest.mark.parametrize("value", [9007199254740992, -9007199254740992, 10**400, 1e300])
def test_an_integer_that_not_every_program_can_keep_is_refused(value: float) -> None:
    with pytest.raises(LocalProtocolError, match="within"):
        encode_scalar(value)


# --- comparing


@pytest.mark.parametrize(
    ("text", "value"),
    [("a", "a"), ("", ""), ("true", True), ("false", False), ("1.0", 1), ("1", 1.0), ("2.5", 2.5)],
)
def test_the_same_value_is_the_same(text: str, value: Any) -> None:
    assert is_scalar(value)
    assert equals(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("A", "a"), ("1", True), ("0", False), ("true", 1), ("", 0), ("2.5", 2), ("1.0", "1")],
)
def test_another_value_is_not_the_same(text: str, value: Any) -> None:
    assert is_scalar(value)
    assert not equals(text, value)


@pytest.mark.parametrize("value", [None, [], {}, ["a"]])
def test_what_is_no_scalar_equals_nothing(value: Any) -> None:
    assert not is_scalar(value)
    assert not any(equals(text, value) for text in ("", "null", "None", "[]", "a"))


def test_a_text_is_quoted_on_one_line_and_cut() -> None:
    assert quoted("a\n'b") == '"a\\n\'b"'
    assert quoted("x" * 200) == f"'{'x' * 200}'"
    assert quoted("x" * 201) == f"'{'x' * 200}'…"
