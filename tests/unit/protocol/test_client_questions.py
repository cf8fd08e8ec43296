import json
from typing import Any

import pytest

from tests.pair import (
    ScriptedServer,
    client_description,
    error,
    initialized,
    notification,
    only,
    request,
    result,
)
from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from wigwag.protocol.events import (
    Connected,
    MessageIgnored,
    RequestCancelled,
    RequestReceived,
)
from wigwag.schema import (
    LEGACY_REVISIONS,
    V2024_11_05,
    V2025_11_25,
    ClientCapabilities,
    ElicitationCapability,
    ElicitResult,
    ListRootsResult,
    RootsCapability,
    SamplingCapability,
)

ASKABLE = ClientCapabilities(
    roots=RootsCapability(list_changed=True),
    sampling=SamplingCapability(),
    elicitation=ElicitationCapability(),
)
FORM = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
SAMPLING = {"messages": [], "maxTokens": 1}


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
@pytest.mark.parametrize("id_", [0, "", -1, "x", 2**63])
def test_a_legacy_server_may_ping(version: str, id_: int | str) -> None:
    server = ScriptedServer()
    server.connect_legacy(version)
    assert server.say(request(id_, "ping")) == [result(id_, {})]
    assert server.events == []


def test_a_server_may_ping_before_it_answers_the_handshake() -> None:
    server = ScriptedServer()
    server.greeted(skip_probe=True)
    assert server.say(request(1, "ping")) == [result(1, {})]


@pytest.mark.parametrize("method", ["ping", "roots/list", "no/such"])
def test_a_client_never_answers_a_modern_server(method: str) -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    server.connect_modern()
    for broken in (request(1, method), {"id": 1, "method": method}, [request(1, method)], b"{"):
        assert server.say_wrongly(broken) == []
        only(MessageIgnored, server.events)
    assert server.client.requests_in_flight() == []


def test_a_client_answers_what_it_declared() -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    server.connect_legacy()
    assert server.say(request("r", "roots/list")) == []
    roots = only(RequestReceived, server.events)
    assert (roots.method, roots.revision, roots.is_modern) == ("roots/list", V2025_11_25, False)
    assert server.say(request("e", "elicitation/create", FORM)) == []
    form = only(RequestReceived, server.events)
    server.client.send_result(form, ElicitResult(action="accept", content={"a": 1}))
    server.client.send_result(form, ElicitResult(action="decline"))
    server.client.send_result(roots, ListRootsResult(roots=[]))
    assert server.heard() == [
        result("e", {"action": "accept", "content": {"a": 1}}),
        result("r", {"roots": []}),
    ]
    server.say(request("s", "sampling/createMessage", SAMPLING))
    sampling = only(RequestReceived, server.events)
    server.client.send_error(sampling, -1, "User rejected sampling request")
    assert server.heard() == [error("s", -1, "User rejected sampling request")]


@pytest.mark.parametrize(
    ("method", "params", "capabilities", "code"),
    [
        ("roots/list", None, ClientCapabilities(), METHOD_NOT_FOUND),
        ("sampling/createMessage", SAMPLING, ClientCapabilities(), METHOD_NOT_FOUND),
        ("elicitation/create", FORM, ClientCapabilities(), METHOD_NOT_FOUND),
        (
            "sampling/createMessage",
            SAMPLING | {"tools": []},
            ClientCapabilities(sampling=SamplingCapability()),
            INVALID_PARAMS,
        ),
        (
            "elicitation/create",
            {"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "1"},
            ClientCapabilities(elicitation=ElicitationCapability()),
            INVALID_PARAMS,
        ),
        (
            "elicitation/create",
            FORM,
            ClientCapabilities(elicitation=ElicitationCapability(url={})),
            INVALID_PARAMS,
        ),
        ("tasks/list", None, ASKABLE, METHOD_NOT_FOUND),
        ("tasks/get", {"taskId": "1"}, ASKABLE, METHOD_NOT_FOUND),
        ("server/discover", None, ASKABLE, METHOD_NOT_FOUND),
        ("initialize", None, ASKABLE, METHOD_NOT_FOUND),
        ("tools/list", None, ASKABLE, METHOD_NOT_FOUND),
        ("notifications/message", {"level": "info", "data": 1}, ASKABLE, METHOD_NOT_FOUND),
        ("notifications/tools/list_changed", {"_meta": {}}, ASKABLE, METHOD_NOT_FOUND),
        ("no/such", [1], ASKABLE, METHOD_NOT_FOUND),
        ("elicitation/create", {"message": 1}, ASKABLE, INVALID_PARAMS),
        ("sampling/createMessage", None, ASKABLE, INVALID_PARAMS),
        ("roots/list", [], ASKABLE, INVALID_PARAMS),
    ],
)
def test_what_a_client_cannot_answer_is_refused_under_its_id(
    method: str, params: Any, capabilities: ClientCapabilities, code: int
) -> None:
    server = ScriptedServer(client_description(capabilities=capabilities))
    server.connect_legacy()
    server.client.receive_message(json.dumps(request(77, method, params)).encode(), now=0.0)
    (answer,) = map(json.loads, server.client.messages_to_send())
    assert answer["id"] == 77
    assert answer["error"]["code"] == code, answer
    assert server.client.requests_in_flight() == []


def test_a_client_knows_what_its_revision_does_not_have() -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    server.connect_legacy(V2024_11_05)
    (answer,) = server.say_wrongly(request(1, "elicitation/create", FORM))
    assert answer["error"]["code"] == METHOD_NOT_FOUND


def test_a_question_whose_id_is_in_flight_is_refused() -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    server.connect_legacy()
    server.say(request(1, "roots/list"))
    first = only(RequestReceived, server.events)
    (answer,) = server.say_wrongly(request(1, "sampling/createMessage", SAMPLING))
    assert answer["error"]["code"] == INVALID_REQUEST
    assert server.client.is_in_flight(first)


def test_a_broken_question_is_answered_under_its_id() -> None:
    server = ScriptedServer()
    server.connect_legacy()
    (answer,) = server.say_wrongly({"id": 77, "method": "ping"})
    assert (answer["id"], answer["error"]["code"]) == (77, INVALID_REQUEST)


def test_what_is_no_message_is_not_answered_by_a_client() -> None:
    server = ScriptedServer()
    server.connect_legacy()
    for junk in (b"Listening on port 8080", b"{", b"[]", b"null", b"\xff"):
        server.client.receive_message(junk, now=0.0)
        assert server.client.messages_to_send() == []


def test_a_server_may_take_its_question_back() -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    server.connect_legacy()
    server.say(request(1, "roots/list"))
    got = only(RequestReceived, server.events)
    server.say(notification("notifications/cancelled", {"requestId": 1, "reason": "late"}))
    cancelled = only(RequestCancelled, server.events)
    assert (cancelled.request, cancelled.reason) == (got, "late")
    server.client.send_result(got, ListRootsResult(roots=[]))
    server.client.send_error(got, -1, "no")
    assert server.heard() == []


def test_an_answer_that_json_cannot_hold_is_still_to_be_given() -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    server.connect_legacy()
    server.say(request(1, "elicitation/create", FORM))
    got = only(RequestReceived, server.events)
    with pytest.raises(LocalProtocolError):
        server.client.send_result(got, ElicitResult(action="accept", content={"a": "\ud800"}))
    assert server.client.is_in_flight(got)


def test_a_question_before_the_handshake_is_answered_by_an_error() -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    greeting = server.greeted(skip_probe=True)
    (answer,) = server.say(request(5, "roots/list"))
    assert (answer["id"], answer["error"]["code"]) == (5, INVALID_REQUEST)
    server.say(result(greeting["id"], initialized()))
    only(Connected, server.events)
