"""How messages are written."""

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codec import (
    decode_message,
    encode_batch,
    encode_error,
    encode_notification,
    encode_request,
    encode_value,
)
from wigwag.jsonrpc.codes import PARSE_ERROR
from wigwag.jsonrpc.messages import (
    InvalidMessage,
)


def invalid(data: bytes) -> InvalidMessage:
    message = decode_message(data)
    assert isinstance(message, InvalidMessage), message
    return message


def test_a_request_and_a_notification_are_written_with_their_params_as_they_are() -> None:
    assert encode_request(1, "a", b'{"b":1}') == (
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":1}}'
    )
    assert encode_request("x", "a", None) == b'{"jsonrpc":"2.0","id":"x","method":"a"}'
    assert encode_notification("a", b"{}") == b'{"jsonrpc":"2.0","method":"a","params":{}}'
    assert encode_notification("a", None) == b'{"jsonrpc":"2.0","method":"a"}'


def test_an_error_without_a_readable_id_has_none_rather_than_null() -> None:
    assert encode_error(None, PARSE_ERROR, "no") == (
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}'
    )


def test_an_error_has_data_only_when_there_are_some() -> None:
    assert json.loads(encode_error(1, -1, "no", {"a": None})) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -1, "message": "no", "data": {"a": None}},
    }
    assert json.loads(encode_error(1, -1, "no", None))["error"]["data"] is None


def test_the_text_of_an_error_is_sent_even_with_lone_surrogates_in_it() -> None:
    assert json.loads(encode_error(1, -1, "a\ud800b\n"))["error"]["message"] == "a?b\n"


def test_a_batch_is_written_as_one_array() -> None:
    assert encode_batch([b'{"a":1}', b'{"b":2}']) == b'[{"a":1},{"b":2}]'


def test_line_feeds_inside_a_value_are_escaped() -> None:
    assert b"\n" not in encode_value({"a\n": "b\nc\r"})


def recursive() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value", ["a\ud800b", {"\udfff": 1}, recursive(), object(), {object(): 1}, {"a": {1j}}]
)
def test_what_json_cannot_hold_is_refused_before_anything_is_sent(value: Any) -> None:
    with pytest.raises(LocalProtocolError):
        encode_value(value)


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**70), 10**400])
def test_numbers_of_any_size_can_be_sent(value: int) -> None:
    assert json.loads(encode_value(value)) == value


def test_bytes_that_arrived_are_sent_on_as_they_are() -> None:
    assert encode_value({"a": Raw(b'{ "b" : 1e400 }')}) == b'{"a":{ "b" : 1e400 }}'


def test_every_reason_is_text_that_can_be_sent() -> None:
    broken = [b"\xff" * 50, b'{"\xff":', b'{"id":"\\ud800"}', b'{"jsonrpc":"\xf0\x9f"}']
    for data in broken:
        msgspec.json.decode(encode_error(None, 1, invalid(data).reason))
