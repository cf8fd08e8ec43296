import json
import sys

import pytest
from msgspec import UNSET, Raw, UnsetType

from wigwag.jsonrpc.codec import (
    MAX_BATCH_MESSAGES,
    decode_message,
    decode_request,
    decode_response,
    encode_id,
)
from wigwag.jsonrpc.codes import INVALID_REQUEST, PARSE_ERROR
from wigwag.jsonrpc.messages import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Notification,
    Request,
    Response,
)

GOOD_IDS = [
    b"0", b"-1", b"7", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616",
    b"-9223372036854775809", b"1" * 400, b'""', b'"7"', b'"\\u00e9"', '"中 🎉"'.encode(),
    b'"\\ud83d\\ude00"', b'"a\\nb\\u2028"',
]  # fmt: skip
BAD_IDS = [b"null", b"1.5", b"1.0", b"1e2", b"true", b"false", b"{}", b"[]", b"[1]", b'{"id":1}']


def text(value: Raw | UnsetType) -> bytes:
    assert isinstance(value, Raw)
    return bytes(value)


def invalid(data: bytes) -> InvalidMessage:
    message = decode_message(data)
    assert isinstance(message, InvalidMessage), message
    return message


# --- the shapes


def test_a_request_keeps_its_params_undecoded() -> None:
    message = decode_message(b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"b" : 1}}')
    assert isinstance(message, Request)
    assert (message.id, message.method, text(message.params)) == (1, "a", b'{"b" : 1}')


def test_a_message_with_a_method_and_no_id_is_a_notification() -> None:
    assert decode_message(b'{"jsonrpc":"2.0","method":"a"}') == Notification("a", UNSET)


def test_a_response_keeps_its_result_undecoded() -> None:
    message = decode_message(b'{"jsonrpc":"2.0","id":"x","result":{"a":[1]}}')
    assert isinstance(message, Response)
    assert (message.id, bytes(message.result)) == ("x", b'{"a":[1]}')


def test_an_error_response_keeps_its_data_undecoded() -> None:
    message = decode_message(
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[1]}}'
    )
    assert isinstance(message, ErrorResponse)
    assert (message.id, message.error.code, message.error.message) == (1, -1, "no")
    assert text(message.error.data) == b"[1]"


@pytest.mark.parametrize("id_member", [b'"id":null,', b""])
def test_an_error_about_an_unreadable_request_has_no_id(id_member: bytes) -> None:
    message = decode_message(
        b'{"jsonrpc":"2.0",%b"error":{"code":-32700,"message":"no","data":{"a":1}}}' % id_member
    )
    assert isinstance(message, ErrorResponse)
    assert message.id is None
    assert message.error.code == PARSE_ERROR
    assert json.loads(text(message.error.data)) == {"a": 1}


def test_members_that_nobody_knows_are_ignored() -> None:
    message = decode_message(b'{"zzz":{"id":9},"jsonrpc":"2.0","id":1,"method":"a","id2":2}')
    assert message == Request(1, "a", UNSET)


def test_of_two_members_of_one_name_the_last_counts() -> None:
    message = decode_message(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}')
    assert message == Request(2, "b", UNSET)


def test_space_around_a_message_is_nothing() -> None:
    assert decode_message(b' \t\r{"jsonrpc":"2.0","method":"a"} \r') == Notification("a", UNSET)


# --- ids


@pytest.mark.parametrize("id_", GOOD_IDS)
def test_an_id_comes_back_as_the_same_value_of_the_same_type(id_: bytes) -> None:
    message = decode_message(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % id_)
    assert isinstance(message, Request)
    assert type(message.id) is type(json.loads(id_))
    assert json.loads(encode_id(message.id)) == json.loads(id_)


@pytest.mark.parametrize("id_", GOOD_IDS)
def test_the_id_of_a_bad_request_is_found(id_: bytes) -> None:
    message = invalid(b'{"id":%b,"method":"ping"}' % id_)
    assert message.id == json.loads(id_)
    assert type(message.id) is type(json.loads(id_))
    assert not message.answers


@pytest.mark.parametrize("id_", BAD_IDS)
@pytest.mark.parametrize("rest", [b'"method":"ping"', b'"result":{}'])
def test_what_is_no_id_is_an_invalid_request_and_no_notification(id_: bytes, rest: bytes) -> None:
    message = invalid(b'{"jsonrpc":"2.0","id":%b,%b}' % (id_, rest))
    assert message.code == INVALID_REQUEST
    assert message.id is None
    assert message.reason == "Invalid Request: `id` must be a string or an integer"


def test_an_id_of_more_digits_than_python_reads_is_no_crash() -> None:
    digits = sys.get_int_max_str_digits()
    longest = decode_message(b'{"jsonrpc":"2.0","id":%b,"method":"a"}' % (b"9" * digits))
    if isinstance(longest, Request):
        assert encode_id(longest.id) == b"9" * digits
    too_long = invalid(b'{"jsonrpc":"2.0","id":%b,"method":"a"}' % (b"9" * (digits + 1)))
    assert too_long.id is None


# --- what is wrong, in words


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"jsonrpc":"1.0","id":1,"method":"a"}', '`jsonrpc` must be "2.0"'),
        (b'{"jsonrpc":2.0,"id":1,"method":"a"}', '`jsonrpc` must be "2.0"'),
        (b'{"id":1,"method":"a"}', '`jsonrpc` must be "2.0"'),
        (b'{"jsonrpc":"2.0","id":1}', "it has none of `method`, `result` and `error`"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', "`method` must be a string"),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', "`method` must be a string"),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","result":{}}', "it has both `method` and `result`"),
        (
            b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}',
            "it has both `result` and `error`",
        ),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', "`result` must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', "`result` must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"result":"x"}', "`result` must be an object"),
        (b'{"jsonrpc":"2.0","result":{}}', "a result needs an `id`"),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}',
            "`error` must have an integer `code` and a string `message`",
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}',
            "`error` must have an integer `code` and a string `message`",
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"error":"no"}',
            "`error` must have an integer `code` and a string `message`",
        ),
        (b"1", "the message is not an object"),
        (b'"text"', "the message is not an object"),
        (b"null", "the message is not an object"),
        (b"[]", "an empty array"),
    ],
)
def test_what_is_json_and_no_message_is_an_invalid_request(data: bytes, reason: str) -> None:
    message = invalid(data)
    assert message.code == INVALID_REQUEST
    assert message.reason == f"Invalid Request: {reason}"
    assert message.data == data


@pytest.mark.parametrize(
    ("data", "answers"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', True),
        (b'{"jsonrpc":"2.0","id":1,"error":7}', True),
        (b'{"id":1,"result":{}}', True),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","result":{}}', False),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', False),
        (b'{"jsonrpc":"2.0","id":1}', False),
    ],
)
def test_a_broken_answer_is_told_from_a_broken_request(
    data: bytes,
    answers: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    message = invalid(data)
    assert message.answers is answers
    assert message.id == 1


def test_params_may_be_of_any_type_here_because_their_method_decides() -> None:
    for params in (b"[1]", b"1", b"null", b'"x"'):
        message = decode_message(b'{"jsonrpc":"2.0","id":1,"method":"a","params":%b}' % params)
        assert isinstance(message, Request)
        assert text(message.params) == params


# --- batches


def test_an_array_is_a_batch_whose_members_stand_for_themselves() -> None:
    batch = decode_message(
        b' [{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},'
        b'{"jsonrpc":"2.0","id":1,"result":{}},7,[],{"id":9,"method":"c"}]'
    )
    assert isinstance(batch, Batch)
    request, note, response, number, array, broken = batch.messages
    assert request == Request(1, "a", UNSET)
    assert note == Notification("b", UNSET)
    assert isinstance(response, Response)
    assert isinstance(number, InvalidMessage)
    assert isinstance(array, InvalidMessage)
    assert array.reason == "Invalid Request: the message is an array"
    assert isinstance(broken, InvalidMessage)
    assert broken.id == 9


def test_a_batch_is_bounded() -> None:
    one = b'{"jsonrpc":"2.0","method":"a"}'
    assert isinstance(decode_message(b"[%b]" % b",".join([one] * MAX_BATCH_MESSAGES)), Batch)
    message = invalid(b"[%b]" % b",".join([one] * (MAX_BATCH_MESSAGES + 1)))
    assert message.code == INVALID_REQUEST


def test_an_array_with_a_broken_member_is_a_parse_error_as_a_whole() -> None:
    message = invalid(b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"x]')
    assert (message.code, message.id) == (PARSE_ERROR, None)


GOOD_REQUEST = b'{"jsonrpc":"2.0","id":"x","method":"a","params":{"b":[1]},"zzz":1}'
GOOD_RESPONSE = b'{"jsonrpc":"2.0","id":"x","result":{"b":[1]},"zzz":1}'
NEITHER = [
    b'{"jsonrpc":"2.0","method":"a"}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"a","result":{}}',
    b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"a","error":{"code":1,"message":"m"}}',
    b'{"jsonrpc":"1.0","id":1,"method":"a"}',
    b'{"id":1,"method":"a"}',
    b'{"jsonrpc":"2.0","id":null,"method":"a"}',
    b'{"jsonrpc":"2.0","id":1.0,"result":{}}',
    b'{"jsonrpc":"2.0","id":true,"result":{}}',
    b'{"jsonrpc":"2.0","result":{}}',
    b'{"jsonrpc":"2.0","id":1}',
    b'[{"jsonrpc":"2.0","id":1,"method":"a"}]',
    b"{",
    b"",
    b"[" * 100_000,
    b'{"jsonrpc":"2.0","id":1,"method":"a","params":' + b"[" * 100_000,
]


# --- the short ways for what is most likely


def test_the_short_way_reads_a_request_as_the_long_one_does() -> None:
    short, long = decode_request(GOOD_REQUEST), decode_message(GOOD_REQUEST)
    assert short is not None
    assert isinstance(long, Request)
    assert (short.id, short.method, text(short.params)) == (long.id, long.method, text(long.params))
    assert decode_response(GOOD_REQUEST) is None


def test_the_short_way_reads_a_result_as_the_long_one_does() -> None:
    short, long = decode_response(GOOD_RESPONSE), decode_message(GOOD_RESPONSE)
    assert short is not None
    assert isinstance(long, Response)
    assert (short.id, text(short.result)) == (long.id, text(long.result))
    assert decode_request(GOOD_RESPONSE) is None


@pytest.mark.parametrize("data", NEITHER)
def test_what_is_neither_plainly_is_left_to_the_long_way(data: bytes) -> None:
    assert decode_request(data) is None
    assert decode_response(data) is None
