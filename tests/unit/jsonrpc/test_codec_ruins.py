"""What is done with bytes that are no message."""

import math
from time import process_time
from typing import Any

import pytest

from wigwag.jsonrpc.codec import (
    decode_message,
    overlong_message,
)
from wigwag.jsonrpc.codes import INVALID_REQUEST, PARSE_ERROR
from wigwag.jsonrpc.messages import (
    InvalidMessage,
    Request,
)


def invalid(data: bytes) -> InvalidMessage:
    message = decode_message(data)
    assert isinstance(message, InvalidMessage), message
    return message


# --- bytes that are no JSON


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"{",
        b"Kitebase server starting...",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1,"method":"a"',
        b'{"jsonrpc":"2.0","id":1,"method":"a"}}',
        b"{'jsonrpc':'2.0'}",
        b'{"jsonrpc":"2.0","method":"a",}',
        '{"jsonrpc":"2.0","id":1,"method":"a"}'.encode("utf-16"),
        b'{"jsonrpc":"2.0","method":"\xff"}',
        b'{"jsonrpc":"2.0","method":"\xed\xa0\x80"}',
        b'{"jsonrpc":"2.0","method":"\\ud800"}',
        b'{"jsonrpc":"2.0","method":"\\udc00\\ud800"}',
        b'{"jsonrpc":"2.0","method":"a\nb"}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"a"}',
    ],
)
def test_bytes_that_are_no_json_are_a_parse_error(data: bytes) -> None:
    message = invalid(data)
    assert message.code == PARSE_ERROR
    assert message.reason.startswith("Parse error: ")


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity", b"01", b"1.", b"+1"])
def test_a_number_that_json_does_not_have_is_a_parse_error_under_the_id(constant: bytes) -> None:
    message = invalid(b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"n":%b}}' % constant)
    assert (message.code, message.id) == (PARSE_ERROR, 1)


@pytest.mark.parametrize("number", [b"1e400", b"-1e999999", b"1" * 5000, b"0." + b"3" * 5000])
def test_a_number_that_is_too_big_waits_for_whoever_reads_it(number: bytes) -> None:
    message = decode_message(b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"n":%b}}' % number)
    assert isinstance(message, Request)


def test_a_byte_order_mark_does_not_hide_the_id() -> None:
    assert invalid(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":"x","method":"a"}').id == "x"


def test_bad_utf8_in_the_params_is_found_by_whoever_reads_them() -> None:
    message = decode_message(b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"n":"\xff"}}')
    assert isinstance(message, Request)


# --- nesting


@pytest.mark.parametrize("depth", [50_000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_nesting_is_a_parse_error_under_the_id(
    depth: int, opening: bytes, closing: bytes
) -> None:
    deep = opening * depth + b"1" + closing * depth
    message = invalid(b'{"jsonrpc":"2.0","id":7,"method":"a","params":%b}' % deep)
    assert (message.code, message.id) == (PARSE_ERROR, 7)
    assert message.reason == "Parse error: nested too deeply"


@pytest.mark.parametrize("tail", [b"", b"]" * 100_000])
def test_deep_nesting_at_the_top_is_a_parse_error(tail: bytes) -> None:
    message = invalid(b"[" * 100_000 + tail)
    assert message.code == PARSE_ERROR
    assert message.id is None


def test_nesting_that_is_deep_and_never_closed_is_answered_under_the_id() -> None:
    message = invalid(b'{"jsonrpc":"2.0","id":7,"method":"a","params":' + b"[" * 100_000)
    assert (message.code, message.id) == (PARSE_ERROR, 7)


# --- the id in the ruins


@pytest.mark.parametrize(
    ("data", "id_", "answers"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":"', 7, False),
        (b'{"jsonrpc":"2.0","id":"a\\"b","method":"a","params":{"x":\xff}}', 'a"b', False),
        (b'{"method":"a","params":{"id":8},"id":7,}', 7, False),
        (b'{"method":"a","params":[{"id":8}],"id":7,}', 7, False),
        (b'{"method":"a","params":"\\"id\\":8","id":7,}', 7, False),
        (b'{"id":7,"result":{"x":"\xff\xff', 7, True),
        (b'{"id":7,"result":"\xff"', 7, True),
        (b'{"id":7,"error":{"code":1,', 7, True),
        (b'{"id":1.5,"method":"a"', None, False),
        (b'{"id":null,"method":"a"', None, False),
        (b'{"id":true,"method":"a"', None, False),
        (b'{"id":{},"method":"a"', None, False),
        (b'{"id":"\xff","method":"a"', None, False),
        (b'{"id":"unfinished', None, False),
        (b'{"id":7', None, False),
        (b'{"params":{"id":7,"method":"a"}', None, False),
        (b'[{"id":7,"method":"a"', None, False),
        (b'{"text":"\\', None, False),
        (b"id 7 method", None, False),
    ],
)
def test_the_id_of_a_message_in_ruins_is_found_where_it_can_be_trusted(
    data: bytes,
    id_: Any,
    answers: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    message = invalid(data)
    assert message.code == PARSE_ERROR
    assert message.id == id_
    assert type(message.id) is type(id_)
    assert message.answers is answers


@pytest.mark.parametrize(
    "hostile",
    [b'"', b"\\", b'"\\', b'"a', b"{", b"}{", b"x", b'"id":', b'{"id":"\\', b"\xff", b" ", b",:"],
)
def test_the_time_to_find_an_id_does_not_explode(hostile: bytes) -> None:
    def seconds(size: int) -> float:
        data = (b'{"method":' + hostile * (size // len(hostile)))[:size]
        best = math.inf
        for _ in range(2):
            start = process_time()
            invalid(data)
            best = min(best, process_time() - start)
        return best

    # Sixteen times as long: linear time is 16 times as much, quadratic 256 times.
    assert seconds(48_000) < 100 * max(seconds(3_000), 0.001)


def test_an_id_far_behind_the_front_is_not_searched_for() -> None:
    assert invalid(b'{"method":"%b","id":7,' % (b"x" * 60_000)).id == 7
    assert invalid(b'{"method":"%b","id":7,' % (b"x" * 70_000)).id is None


def test_a_message_over_the_limit_is_refused_under_its_id() -> None:
    message = overlong_message(b'{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":"aaa', 100)
    assert (message.code, message.id, message.answers) == (INVALID_REQUEST, 7, False)
    assert message.reason == "Invalid Request: the message is longer than 100 bytes"


def test_an_answer_over_the_limit_is_known_as_one() -> None:
    message = overlong_message(b'{"jsonrpc":"2.0","id":7,"result":{"x":"aaa', 100)
    assert (message.id, message.answers) == (7, True)
