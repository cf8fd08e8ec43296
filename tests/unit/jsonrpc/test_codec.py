import json
import math
import sys
from time import process_time
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw, UnsetType

from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codec import (
    MAX_BATCH_MESSAGES,
    decode_message,
    decode_request,
    decode_response,
    encode_batch,
    encode_error,
    encode_id,
    encode_notification,
    encode_request,
    encode_value,
    overlong_message,
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
        for _ in range(3):
            start = process_time()
            invalid(data)
            best = min(best, process_time() - start)
        return best

    # Sixteen times as long: linear time is 16 times as much, quadratic 256 times.
    assert seconds(64_000) < 100 * max(seconds(4_000), 0.001)
    assert seconds(4_000_000) < 100 * max(seconds(250_000), 0.001)


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


# --- writing


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


# --- the short ways for what is most likely

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
