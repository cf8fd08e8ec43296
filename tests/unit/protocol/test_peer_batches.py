"""Arrays of messages, which revision 2025-03-26 has, at both ends."""

import pytest

from tests.pair import (
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
from wigwag.jsonrpc.codes import INVALID_REQUEST
from wigwag.protocol.events import (
    AnswerInvalid,
    ErrorReceived,
    NotificationReceived,
    RequestReceived,
    ResponseReceived,
)
from wigwag.schema import (
    V2025_03_26,
    V2025_11_25,
    ClientCapabilities,
    ListRootsResult,
    RootsCapability,
    TextContent,
)
from wigwag.schema.tools import CallToolResult

DONE = CallToolResult(content=[TextContent(text="done")])


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


def test_an_acknowledgement_never_stands_in_the_array_of_answers() -> None:
    client = batch_session()
    params = {"_meta": modern_meta(), "notifications": {"toolsListChanged": True}}
    listen = request(1, "subscriptions/listen", params)
    acknowledged, answers = client.say([request(2, "ping"), listen])
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert answers == [result(2, {})]


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


def test_a_client_takes_refusals_and_notifications_in_an_array() -> None:
    server = ScriptedServer()
    server.connect_legacy(V2025_03_26)
    asked = server.client.send_request("tools/list", now=0.0)
    server.heard()
    server.say([error(asked.id, -1), notification("notifications/tools/list_changed")])
    refused, told = server.events
    assert isinstance(refused, ErrorReceived)
    assert refused.request is asked
    assert isinstance(told, NotificationReceived)


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
