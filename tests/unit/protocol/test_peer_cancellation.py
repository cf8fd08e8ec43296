"""Cancellation, progress and time, at both ends."""

from collections.abc import Callable
from math import inf
from typing import Any

import pytest
from msgspec import UNSET

from tests.pair import (
    Pair,
    ScriptedClient,
    ScriptedServer,
    modern_meta,
    notification,
    only,
    request,
    result,
)
from wigwag.jsonrpc.codec import encode_id, encode_notification
from wigwag.protocol.events import (
    MessageIgnored,
    ProgressReceived,
    RequestCancelled,
    RequestExpired,
    RequestReceived,
    ResponseReceived,
)
from wigwag.schema import (
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
    pair.now = 100.0
    asked = pair.client.send_request("tools/call", CALL, now=100.0, idle_timeout=10.0)
    received(pair)
    assert pair.client.next_deadline() == 110.0
    pair.pass_time(9.5)
    assert pair.client_events == []
    pair.pass_time(0.5)
    expired = only(RequestExpired, pair.client_events)
    assert expired.request is asked
    assert expired.waited == pytest.approx(10.0)
    assert expired.limit == "10 s without a sign of life"
    assert only(RequestCancelled, pair.server_events).reason == "timed out"
    assert pair.client.next_deadline() is None


def test_progress_keeps_a_request_alive_up_to_the_ceiling() -> None:
    pair = connected(skip_probe=False)
    pair.now = 100.0
    pair.client.send_request("tools/call", CALL, now=100.0, idle_timeout=1.0, ceiling=5.0)
    got = received(pair)
    for step in range(1, 10):
        pair.server.send_progress(got, step)
        pair.pump()
        pair.client_events.clear()
        pair.pass_time(0.5)
        assert pair.client_events == []
    assert pair.client.next_deadline() == 105.0
    pair.server.send_progress(got, 100)
    pair.pump()
    pair.client_events.clear()
    pair.pass_time(0.5)
    expired = only(RequestExpired, pair.client_events)
    assert expired.limit == "the ceiling of 5 s was reached; signs of life may be 1 s apart"
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
