"""What holds for both ends: shown on whichever makes it plainer."""

from collections.abc import Callable
from math import inf
from typing import Any

import pytest
from msgspec import UNSET, Raw

from tests.pair import (
    Pair,
    ScriptedClient,
    ScriptedServer,
    client_description,
    error,
    modern_meta,
    notification,
    only,
    request,
    result,
)
from wigwag.jsonrpc.codec import encode_id, encode_notification, overlong_message
from wigwag.jsonrpc.codes import INVALID_REQUEST, PARSE_ERROR
from wigwag.protocol.events import (
    AnswerInvalid,
    ErrorReceived,
    MessageIgnored,
    NotificationReceived,
    ProgressReceived,
    RequestCancelled,
    RequestExpired,
    RequestReceived,
    ResponseReceived,
)
from wigwag.protocol.peer import decode_error_data
from wigwag.schema import (
    V2025_03_26,
    V2025_11_25,
    V2026_07_28,
    CallToolRequestParams,
    ClientCapabilities,
    ListRootsResult,
    RootsCapability,
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


# --- cancellation


@ERAS
def test_nothing_is_said_about_a_request_after_its_cancellation(skip_probe: bool) -> None:  # noqa: FBT001
    pair = connected(skip_probe=skip_probe)
    asked = pair.client.send_request("tools/call", CALL, now=0.0)
    got = received(pair)
    pair.client.forget(asked, "not needed any more")
    pair.pump()
    cancelled = only(RequestCancelled, pair.server_events)
    assert cancelled.request is got
    assert cancelled.reason == "not needed any more"
    before = len(pair.wire)
    pair.server.send_progress(got, 1)
    pair.server.send_log(got, "emergency", "x")
    pair.server.send_result(got, DONE)
    pair.server.send_error(got, -1, "no")
    pair.pump()
    assert len(pair.wire) == before
    assert pair.server.requests_in_flight() == []
    assert pair.unanswered == []


@ERAS
def test_an_answer_that_crosses_a_cancellation_is_ignored(skip_probe: bool) -> None:  # noqa: FBT001
    pair = connected(skip_probe=skip_probe)
    asked = pair.client.send_request("tools/call", CALL, now=0.0)
    got = received(pair)
    pair.server.send_result(got, DONE)
    pair.client.forget(asked, "too late")
    pair.pump()
    only(MessageIgnored, pair.client_events)
    only(MessageIgnored, pair.server_events)


@ERAS
def test_a_request_is_forgotten_once(skip_probe: bool) -> None:  # noqa: FBT001
    pair = connected(skip_probe=skip_probe)
    asked = pair.client.send_request("tools/call", CALL, now=0.0)
    pair.pump()
    pair.client.forget(asked, "a")
    pair.client.forget(asked, "b")
    pair.pump()
    assert pair.methods_sent().count("notifications/cancelled") == 1


@pytest.mark.parametrize("id_", [0, "", "a", -1])
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_request_can_be_cancelled_whatever_its_id(id_: int | str, era: str) -> None:
    client = ScriptedClient()
    params: dict[str, Any] = {"name": "a"}
    if era == "legacy":
        client.begin_session()
    else:
        params["_meta"] = modern_meta()
    got = client.ask(id_, "tools/call", params)
    assert client.say(notification("notifications/cancelled", {"requestId": id_})) == []
    assert only(RequestCancelled, client.events).request is got
    assert not client.server.is_in_flight(got)


@pytest.mark.parametrize(
    "params",
    [
        {"requestId": 99},
        {"requestId": "5"},
        {"requestId": None},
        {"requestId": 5.0},
        {"requestId": True},
        {"requestId": {}},
        {},
        None,
        [5],
        5,
    ],
)
def test_a_cancellation_of_nothing_is_ignored(params: Any) -> None:
    client = ScriptedClient()
    client.begin_session()
    got = client.ask(5, "tools/call", {"name": "a"})
    data = notification("notifications/cancelled", params)
    tell: Callable[[Any], list[Any]] = client.say_wrongly
    if params in ({"requestId": 99}, {"requestId": "5"}, {"requestId": 5.0}, {}):
        tell = client.say
    assert tell(data) == []
    only(MessageIgnored, client.events)
    assert client.server.is_in_flight(got)


def test_a_finished_request_cannot_be_cancelled_any_more() -> None:
    client = ScriptedClient()
    client.begin_session()
    got = client.ask(5, "tools/call", {"name": "a"})
    client.server.send_result(got, DONE)
    assert len(client.heard()) == 1
    assert client.say(notification("notifications/cancelled", {"requestId": 5})) == []
    only(MessageIgnored, client.events)
    assert client.say(request(6, "ping")) == [result(6, {})]


def test_a_cancellation_concerns_requests_of_its_sender_only() -> None:
    client = ScriptedClient()
    client.begin_session(capabilities={"roots": {}})
    asked = client.server.send_request("roots/list", now=0.0)
    client.heard()
    assert client.say(notification("notifications/cancelled", {"requestId": asked.id})) == []
    only(MessageIgnored, client.events)
    client.say(result(asked.id, {"roots": []}))
    assert only(ResponseReceived, client.events).request is asked


# --- progress


@ERAS
def test_progress_reaches_whoever_asked(skip_probe: bool) -> None:  # noqa: FBT001
    pair = connected(skip_probe=skip_probe)
    asked = pair.client.send_request("tools/call", CALL, now=0.0)
    got = received(pair)
    pair.server.send_progress(got, 1, 2.5, "half")
    pair.pump()
    event = only(ProgressReceived, pair.client_events)
    assert event.request is asked
    assert (event.params.progress, event.params.total, event.params.message) == (1, 2.5, "half")


@ERAS
def test_progress_that_has_not_grown_is_not_sent(skip_probe: bool) -> None:  # noqa: FBT001
    pair = connected(skip_probe=skip_probe)
    pair.client.send_request("tools/call", CALL, now=0.0)
    got = received(pair)
    for value in (0, 0, -1, 0.5, 0.5, 0.25, 3, 2, float("nan"), 4):
        pair.server.send_progress(got, value)
    pair.pump()
    sent = [e.params.progress for e in pair.client_events if isinstance(e, ProgressReceived)]
    assert sent == [0, 0.5, 3, 4]


@pytest.mark.parametrize("value", [inf, -inf, float("nan")])
def test_a_value_that_json_does_not_have_is_no_progress(value: float) -> None:
    pair = connected(skip_probe=False)
    pair.client.send_request("tools/call", CALL, now=0.0)
    got = received(pair)
    pair.server.send_progress(got, value)
    pair.pump()
    assert pair.client_events == []
    pair.server.send_progress(got, 1, value)
    pair.pump()
    assert only(ProgressReceived, pair.client_events).params.total is UNSET


@pytest.mark.parametrize("token", ["", 0, "x", -1, 2**70])
def test_a_progress_token_is_sent_back_as_it_came(token: int | str) -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", {"name": "a", "_meta": modern_meta(progressToken=token)})
    client.server.send_progress(got, 1)
    (message,) = client.heard()
    assert message["params"] == {"progressToken": token, "progress": 1.0}
    assert type(message["params"]["progressToken"]) is type(token)


def test_who_does_not_ask_for_progress_gets_none() -> None:
    client = ScriptedClient()
    client.begin_session()
    for id_, params in ((1, {"name": "a"}), (2, {"name": "a", "_meta": {}})):
        got = client.ask(id_, "tools/call", params)
        client.server.send_progress(got, 1)
        assert client.heard() == []


@pytest.mark.parametrize("token", [99, "1", ""])
def test_progress_of_nothing_is_ignored(token: int | str) -> None:
    server = ScriptedServer()
    server.connect_modern()
    server.client.send_request("tools/list", now=0.0)
    server.heard()
    params = {"progressToken": token, "progress": 1}
    assert server.say_wrongly(notification("notifications/progress", params)) == []
    only(MessageIgnored, server.events)


def test_progress_after_the_answer_is_ignored() -> None:
    pair = connected(skip_probe=True)
    asked = pair.client.send_request("tools/call", CALL, now=0.0)
    got = received(pair)
    pair.server.send_result(got, DONE)
    pair.pump()
    pair.client_events.clear()
    params = b'{"progressToken":%b,"progress":1}' % encode_id(asked.id)
    late = encode_notification("notifications/progress", params)
    only(MessageIgnored, pair.client.receive_message(late, now=0.0))


# --- time


@ERAS
def test_a_request_that_is_not_answered_in_time_expires_and_the_peer_is_told(
    skip_probe: bool,  # noqa: FBT001
) -> None:
    pair = connected(skip_probe=skip_probe)
    asked = pair.client.send_request("tools/call", CALL, now=0.0, idle_timeout=10.0)
    received(pair)
    assert pair.client.next_deadline() == 10.0
    pair.pass_time(9.9)
    assert pair.client_events == []
    pair.pass_time(0.1)
    expired = only(RequestExpired, pair.client_events)
    assert expired.request is asked
    assert expired.waited == pytest.approx(10.0)
    assert expired.limit == "10 s without a sign of life"
    assert only(RequestCancelled, pair.server_events).reason == "timed out"
    assert pair.client.next_deadline() is None


def test_progress_keeps_a_request_alive_up_to_the_ceiling() -> None:
    pair = connected(skip_probe=False)
    pair.client.send_request("tools/call", CALL, now=0.0, idle_timeout=1.0, ceiling=5.0)
    got = received(pair)
    for step in range(1, 10):
        pair.server.send_progress(got, step)
        pair.pump()
        pair.client_events.clear()
        pair.pass_time(0.5)
        assert pair.client_events == []
    assert pair.client.next_deadline() == 5.0
    pair.server.send_progress(got, 100)
    pair.pump()
    pair.client_events.clear()
    pair.pass_time(0.5)
    expired = only(RequestExpired, pair.client_events)
    assert expired.limit == "the ceiling of 5 s was reached"
    assert pair.server.requests_in_flight() == []


def test_an_answer_after_the_time_is_ignored() -> None:
    pair = connected(skip_probe=False)
    pair.client.send_request("tools/call", CALL, now=0.0, idle_timeout=1.0)
    got = received(pair)
    pair.server.send_result(got, DONE)
    pair.now = 2.0
    only(RequestExpired, pair.client.handle_timeout(pair.now))
    pair.pump()
    only(MessageIgnored, pair.client_events)


def test_without_limits_there_is_no_deadline() -> None:
    pair = connected(skip_probe=False)
    pair.client.send_request("tools/call", CALL, now=0.0)
    assert pair.client.next_deadline() is None
    assert pair.client.handle_timeout(1e9) == []


def test_a_servers_question_expires_too() -> None:
    client = ScriptedClient()
    client.begin_session(capabilities={"roots": {}})
    asked = client.server.send_request("roots/list", now=client.now, idle_timeout=3.0)
    client.heard()
    (told,) = client.pass_time(3.0)
    assert only(RequestExpired, client.events).request is asked
    assert told == notification(
        "notifications/cancelled", {"requestId": asked.id, "reason": "timed out"}
    )


# --- the end


def test_all_requests_can_be_taken_out_when_no_answer_can_come() -> None:
    pair = connected(skip_probe=False)
    asked = [pair.client.send_request("tools/list", now=0.0) for _ in range(3)]
    assert pair.client.fail_all() == asked
    assert pair.client.fail_all() == []
    assert pair.client.next_deadline() is None
    pair.pump()
    assert all(isinstance(event, MessageIgnored) for event in pair.client_events)


# --- batches


def batch_session() -> ScriptedClient:
    client = ScriptedClient()
    client.begin_session(V2025_03_26)
    return client


def test_a_batch_is_answered_by_one_array() -> None:
    client = batch_session()
    answers = client.say(
        [
            request(1, "ping"),
            notification("notifications/cancelled", {"requestId": 99}),
            request("2", "ping"),
        ]
    )
    assert answers == [[result(1, {}), result("2", {})]]


def test_a_batch_waits_for_the_slowest_of_its_requests() -> None:
    client = batch_session()
    heard = client.say(
        [
            request(1, "tools/call", {"name": "a"}),
            request(2, "logging/setLevel", {"level": "error"}),
            request(3, "tools/call", {"name": "b"}),
            request(4, "ping"),
        ]
    )
    assert heard == []
    slow, quick = (e for e in client.events if isinstance(e, RequestReceived))
    client.server.send_result(quick, DONE)
    assert client.heard() == []
    client.server.send_error(slow, -1, "no")
    ((*answers,),) = client.heard()
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3, 4]


def test_one_request_alone_in_an_array_is_answered_by_an_array() -> None:
    client = batch_session()
    assert client.say([request(1, "ping")]) == [[result(1, {})]]
    assert client.say([request(2, "logging/setLevel", {"level": "error"})]) == [[result(2, {})]]


def test_a_batch_without_requests_is_not_answered() -> None:
    client = batch_session()
    assert client.say([notification("notifications/cancelled", {"requestId": 9})]) == []


def test_the_broken_members_of_a_batch_are_answered_among_the_others() -> None:
    client = batch_session()
    ((*answers,),) = client.say_wrongly([request(1, "ping"), 7, {"id": 2, "method": "ping"}, []])
    assert [(answer.get("id"), answer.get("error", {}).get("code")) for answer in answers] == [
        (1, None),
        (None, INVALID_REQUEST),
        (2, INVALID_REQUEST),
        (None, INVALID_REQUEST),
    ]


def test_what_is_cancelled_leaves_its_batch() -> None:
    client = batch_session()
    calls = [request(id_, "tools/call", {"name": "a"}) for id_ in (1, 2, 3)]
    client.say(calls)
    first, _, third = (e for e in client.events if isinstance(e, RequestReceived))
    client.say(notification("notifications/cancelled", {"requestId": 2}))
    client.server.send_result(first, DONE)
    assert client.heard() == []
    client.server.send_result(third, DONE)
    ((*answers,),) = client.heard()
    assert [answer["id"] for answer in answers] == [1, 3]


def test_a_batch_that_is_cancelled_as_a_whole_is_never_answered() -> None:
    client = batch_session()
    cancel = notification("notifications/cancelled", {"requestId": 1})
    assert client.say([request(1, "tools/call", {"name": "a"}), cancel]) == []
    assert client.server.requests_in_flight() == []
    assert client.say([request(2, "ping")]) == [[result(2, {})]]


def test_a_cancellation_of_the_last_open_request_lets_the_others_go() -> None:
    client = batch_session()
    client.say([request(1, "ping"), request(2, "tools/call", {"name": "a"})])
    assert client.say(notification("notifications/cancelled", {"requestId": 2})) == [
        [result(1, {})]
    ]


def test_a_batch_that_is_completed_from_within_another_is_answered_by_itself() -> None:
    client = batch_session()
    client.say([request(1, "tools/call", {"name": "a"}), request(2, "ping")])
    cancel = notification("notifications/cancelled", {"requestId": 1})
    assert client.say([cancel, request(3, "ping")]) == [[result(2, {})], [result(3, {})]]


def test_a_handshake_cannot_be_part_of_a_batch() -> None:
    client = batch_session()
    init = {"protocolVersion": V2025_03_26, "capabilities": {}, "clientInfo": {}}
    init["clientInfo"] = {"name": "c", "version": "1"}
    (answers,) = client.say_wrongly([request(1, "initialize", init)])
    assert answers[0]["error"]["code"] == INVALID_REQUEST
    assert "array" in answers[0]["error"]["message"]


def test_an_id_twice_in_a_batch_is_refused_the_second_time() -> None:
    client = batch_session()
    call = request(1, "tools/call", {"name": "a"})
    client._conversation.expect_invalid("server")  # two answers to one id are the client's doing
    assert client.say_wrongly([call, call]) == []
    got = only(RequestReceived, client.events)
    client.server.send_result(got, DONE)
    client._conversation.problems.clear()
    ((*answers,),) = client.heard()
    assert [answer["id"] for answer in answers] == [1, 1]
    assert ["error" in answer for answer in answers] == [True, False]


@pytest.mark.parametrize("version", [V2025_11_25, "2024-11-05", "2025-06-18"])
def test_in_other_revisions_an_array_is_no_message(version: str) -> None:
    client = ScriptedClient()
    client.begin_session(version)
    (answer,) = client.say_wrongly([request(1, "ping"), request(2, "ping")])
    assert answer["error"]["code"] == INVALID_REQUEST
    assert "id" not in answer


def test_before_the_handshake_an_array_is_no_message() -> None:
    client = ScriptedClient()
    (answer,) = client.say_wrongly([request(1, "ping")])
    assert answer["error"]["code"] == INVALID_REQUEST


@pytest.mark.parametrize("version", [V2025_03_26, V2025_11_25])
def test_an_empty_array_is_an_invalid_request(version: str) -> None:
    client = ScriptedClient()
    client.begin_session(version)
    (answer,) = client.say_wrongly([])
    assert answer == {
        "jsonrpc": "2.0",
        "error": {"code": INVALID_REQUEST, "message": "Invalid Request: an empty array"},
    }


def test_a_client_takes_answers_in_an_array() -> None:
    server = ScriptedServer()
    server.connect_legacy(V2025_03_26)
    asked = [server.client.send_request("tools/list", now=0.0) for _ in range(2)]
    server.heard()
    server.say([result(asked[1].id, {"tools": []}), result(asked[0].id, {"tools": []})])
    assert [e.request for e in server.events if isinstance(e, ResponseReceived)] == asked[::-1]


def test_a_client_answers_an_array_by_an_array() -> None:
    roots = ClientCapabilities(roots=RootsCapability())
    server = ScriptedServer(client_description(capabilities=roots))
    server.connect_legacy(V2025_03_26)
    assert server.say([request("a", "roots/list"), request("b", "ping")]) == []
    got = only(RequestReceived, server.events)
    server.client.send_result(got, ListRootsResult(roots=[]))
    ((*answers,),) = server.heard()
    assert sorted(answer["id"] for answer in answers) == ["a", "b"]


def test_a_broken_answer_in_an_array_fails_whoever_waits() -> None:
    server = ScriptedServer()
    server.connect_legacy(V2025_03_26)
    asked = server.client.send_request("tools/list", now=0.0)
    server.heard()
    server.say_wrongly([{"jsonrpc": "2.0", "id": asked.id, "error": 7}])
    assert only(AnswerInvalid, server.events).request is asked


# --- the data of errors


def test_the_data_of_an_error_are_plain_values() -> None:
    assert decode_error_data(Raw(b'{"a":[1,null]}')) == {"a": [1, None]}


def test_data_that_are_absent_or_unreadable_are_none() -> None:
    assert decode_error_data(UNSET) is None
    assert decode_error_data(Raw(b'"\xff"')) is None
    assert decode_error_data(Raw(b"[" * 100_000)) is None
