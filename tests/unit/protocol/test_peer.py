"""What holds for both ends: shown on whichever makes it plainer."""

from typing import Any

import pytest
from msgspec import UNSET, Raw

from tests.pair import (
    Pair,
    ScriptedClient,
    ScriptedServer,
    error,
    notification,
    only,
    request,
    result,
)
from wigwag.jsonrpc.codec import encode_id, overlong_message
from wigwag.jsonrpc.codes import PARSE_ERROR
from wigwag.protocol.events import (
    AnswerInvalid,
    ErrorReceived,
    MessageIgnored,
    NotificationReceived,
    RequestReceived,
    ResponseReceived,
)
from wigwag.protocol.peer import decode_error_data
from wigwag.schema import (
    V2026_07_28,
    CallToolRequestParams,
    TextContent,
)
from wigwag.schema.tools import CallToolResult

CALL = CallToolRequestParams(name="a")
DONE = CallToolResult(content=[TextContent(text="done")])
ERAS = pytest.mark.parametrize("skip_probe", [False, True], ids=["modern", "legacy"])


def connected(*, skip_probe: bool) -> Pair:
    pair = Pair()
    pair.connect(skip_probe=skip_probe)
    return pair


def received(pair: Pair) -> RequestReceived:
    """Return the request that has just reached the server."""
    pair.pump()
    event = pair.server_events.pop()
    assert isinstance(event, RequestReceived)
    return event


# --- one answer to each request


@ERAS
def test_a_request_is_answered_once(skip_probe: bool) -> None:  # noqa: FBT001
    pair = connected(skip_probe=skip_probe)
    asked = pair.client.send_request("tools/call", CALL, now=0.0)
    got = received(pair)
    assert pair.server.is_in_flight(got)
    assert pair.server.requests_in_flight() == [got]
    pair.server.send_result(got, DONE)
    pair.server.send_result(got, DONE)
    pair.server.send_error(got, -1, "no")
    pair.server.send_progress(got, 1)
    pair.pump()
    answer = only(ResponseReceived, pair.client_events)
    assert answer.request is asked
    assert not pair.server.is_in_flight(got)
    assert pair.server.requests_in_flight() == []
    assert pair.unanswered == []


@ERAS
def test_an_error_is_an_answer(skip_probe: bool) -> None:  # noqa: FBT001
    pair = connected(skip_probe=skip_probe)
    asked = pair.client.send_request("tools/call", CALL, now=0.0)
    got = received(pair)
    pair.server.send_error(got, -32602, "Unknown tool", {"near": "b"})
    pair.server.send_result(got, DONE)
    pair.pump()
    answer = only(ErrorReceived, pair.client_events)
    assert answer.request is asked
    assert (answer.error.code, answer.error.message) == (-32602, "Unknown tool")
    assert decode_error_data(answer.error.data) == {"near": "b"}


@ERAS
def test_answers_are_matched_by_id_and_not_by_order(skip_probe: bool) -> None:  # noqa: FBT001
    pair = connected(skip_probe=skip_probe)
    asked = [pair.client.send_request("tools/call", CALL, now=0.0) for _ in range(3)]
    pair.pump()
    got, pair.server_events = pair.server_events, []
    for event in reversed(got):
        assert isinstance(event, RequestReceived)
        pair.server.send_result(event, DONE)
    pair.pump()
    answered = [e.request for e in pair.client_events if isinstance(e, ResponseReceived)]
    assert answered == asked[::-1]


def test_a_request_that_came_from_elsewhere_is_not_answered_here() -> None:
    one, other = connected(skip_probe=False), connected(skip_probe=False)
    for pair in (one, other):
        pair.client.send_request("tools/call", CALL, now=0.0)
    first, second = received(one), received(other)
    assert first.id == second.id
    other.server.send_result(first, DONE)
    assert other.server.messages_to_send() == []
    assert other.server.is_in_flight(second)


def test_an_answer_to_nothing_is_ignored() -> None:
    server = ScriptedServer()
    server.connect_legacy()
    for message in (result(99, {}), result("1", {}), error(99, -1)):
        assert server.say_wrongly(message) == []
        only(MessageIgnored, server.events)
    assert server.say(error_without_id()) == []
    only(MessageIgnored, server.events)


def error_without_id() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error": {"code": PARSE_ERROR, "message": "what?"}}


def test_a_second_answer_is_ignored() -> None:
    server = ScriptedServer()
    server.connect_modern()
    asked = server.client.send_request("tools/list", now=0.0)
    server.heard()
    value = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}
    server.say(result(asked.id, value))
    answer = only(ResponseReceived, server.events)
    assert (answer.request, answer.revision) == (asked, V2026_07_28)
    assert isinstance(answer.result, Raw)
    server.say_wrongly(result(asked.id, value))
    only(MessageIgnored, server.events)


@pytest.mark.parametrize(
    "broken",
    [
        {"error": {"code": "x", "message": "m"}},
        {"error": 1},
        {"error": {"message": "m"}},
        {"result": {}, "error": {"code": 1, "message": "m"}},
    ],
)
def test_a_broken_answer_fails_whoever_waits(broken: dict[str, Any]) -> None:
    server = ScriptedServer()
    server.connect_modern()
    asked = server.client.send_request("tools/list", now=0.0)
    server.heard()
    server.say_wrongly({"jsonrpc": "2.0", "id": asked.id, **broken})
    failed = only(AnswerInvalid, server.events)
    assert failed.request is asked
    assert failed.reason.startswith("Invalid Request: ")
    assert server.client.fail_all() == []


@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","id":99,"error":7}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"2.0","id":99,"result":{"a":\xff',
    ],
)
def test_a_broken_answer_to_nothing_is_ignored(data: bytes) -> None:
    for end in (connected(skip_probe=True).client, connected(skip_probe=True).server):
        only(MessageIgnored, end.receive_message(data, now=0.0))
        assert end.messages_to_send() == []


def test_an_answer_that_is_no_json_fails_whoever_waits() -> None:
    server = ScriptedServer()
    server.connect_modern()
    asked = server.client.send_request("tools/list", now=0.0)
    server.heard()
    server.say_wrongly(b'{"jsonrpc":"2.0","id":%b,"result":{"tools":[\xff]' % encode_id(asked.id))
    assert only(AnswerInvalid, server.events).request is asked


def test_an_overlong_answer_fails_whoever_waits() -> None:
    server = ScriptedServer()
    server.connect_modern()
    asked = server.client.send_request("tools/list", now=0.0)
    server.heard()
    head = b'{"jsonrpc":"2.0","id":%b,"result":{"tools":[' % encode_id(asked.id)
    (event,) = server.client.receive_invalid(overlong_message(head, 50))
    assert isinstance(event, AnswerInvalid)
    assert event.request is asked
    assert "longer than 50 bytes" in event.reason


def test_an_overlong_request_is_answered_under_its_id() -> None:
    client = ScriptedClient()
    head = b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{'
    client.server.receive_invalid(overlong_message(head, 50))
    (answer,) = client.server.messages_to_send()
    assert b'"id":"x"' in answer
    assert b"longer than 50 bytes" in answer


@pytest.mark.parametrize("blank", [b" ", b"  \t ", b"\r", b" \r\r"])
def test_a_blank_line_is_nothing(blank: bytes) -> None:
    client, server = ScriptedClient(), ScriptedServer()
    server.connect_legacy()
    for end in (client.server, server.client):
        assert end.receive_message(blank, now=0.0) == ()
        assert end.messages_to_send() == []


# --- notifications


def test_a_notification_is_reported_with_its_params() -> None:
    server = ScriptedServer()
    server.connect_legacy(capabilities={"resources": {"subscribe": True}})
    assert server.say(notification("notifications/resources/updated", {"uri": "a:1"})) == []
    event = only(NotificationReceived, server.events)
    assert (event.method, event.params.uri) == ("notifications/resources/updated", "a:1")


@pytest.mark.parametrize("method", ["notifications/foo", "no/such", "tools/list"])
@pytest.mark.parametrize("params", [None, {}, {"a": 1}, [1]])
def test_a_notification_that_nobody_knows_is_never_answered(method: str, params: Any) -> None:
    client = ScriptedClient()
    client.begin_session()
    assert client.say_wrongly(notification(method, params)) == []
    assert client.say(request(5, "ping")) == [result(5, {})]


def test_a_broken_notification_is_ignored() -> None:
    client = ScriptedClient()
    client.begin_session()
    for params in ({}, {"progressToken": 1}, {"progressToken": 1.5, "progress": 1}, [1]):
        assert client.say_wrongly(notification("notifications/progress", params)) == []
        only(MessageIgnored, client.events)


# --- the end


def test_all_requests_can_be_taken_out_when_no_answer_can_come() -> None:
    pair = connected(skip_probe=False)
    asked = [pair.client.send_request("tools/list", now=0.0) for _ in range(3)]
    assert pair.client.fail_all() == asked
    assert pair.client.fail_all() == []
    assert pair.client.next_deadline() is None
    pair.pump()
    assert all(isinstance(event, MessageIgnored) for event in pair.client_events)


# --- the data of errors


def test_the_data_of_an_error_are_plain_values() -> None:
    assert decode_error_data(Raw(b'{"a":[1,null]}')) == {"a": [1, None]}


def test_data_that_are_absent_or_unreadable_are_none() -> None:
    assert decode_error_data(UNSET) is None
    assert decode_error_data(Raw(b'"\xff"')) is None
    assert decode_error_data(Raw(b"[" * 100_000)) is None
