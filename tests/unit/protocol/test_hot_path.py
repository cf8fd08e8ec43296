import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from tests.pair import initialize, modern_meta, notification, request, result, server_description
from wigwag.jsonrpc.codec import decode_message
from wigwag.jsonrpc.messages import Request
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.params import decode_params
from wigwag.protocol.server import ServerProtocol
from wigwag.schema import LATEST_LEGACY, REVISIONS

PARAMS: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "a", "arguments": {"b": [1, {"c": None}]}},
    {"name": "", "_meta": modern_meta(), "zzz": 1},
    {"_meta": modern_meta(progressToken=""), "name": "é\n", "requestState": "s"},
    {"name": "a", "inputResponses": {"q": {"action": "accept"}}, "task": {"ttl": 5}},
]


def make_server() -> ServerProtocol:
    """Return a server in a session, that has looked up what it offers in each revision."""
    description = server_description()
    for revision in REVISIONS:
        assert description.offers("tools/call", revision)
    server = ServerProtocol(description)
    for message in (initialize(LATEST_LEGACY), notification("notifications/initialized")):
        server.receive_message(encoded(message), now=0.0)
    server.messages_to_send()
    return server


def take(data: bytes) -> RequestReceived | None:
    """Let a server take a message in a single pass, if it can."""
    return make_server().receive_call(data)


def encoded(message: Any) -> bytes:
    return json.dumps(message).encode()


@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("id_", [0, "", -1, "x", 2**63, 2**70])
def test_a_sound_call_is_read_as_it_would_be_in_two_passes(
    params: dict[str, Any], id_: int | str
) -> None:
    data = encoded(request(id_, "tools/call", params))
    call = take(data)
    message = decode_message(data)
    assert call is not None
    assert isinstance(message, Request)
    assert (call.id, type(call.id)) == (message.id, type(message.id))
    in_two_passes = decode_params("tools/call", message.params)
    for member in ("name", "meta", "request_state", "task"):
        assert getattr(call.params, member) == getattr(in_two_passes, member)
    arguments = call.params.arguments
    assert (arguments is UNSET) is ("arguments" not in params)
    if isinstance(arguments, Raw):
        assert json.loads(bytes(arguments)) == params["arguments"]


@pytest.mark.parametrize(
    "message",
    [
        request(1, "tools/list", {"name": "tools/call"}),
        request(1, "tools/list", {"x": "tools/call", "name": "a"}),
        request(1.5, "tools/call", {"name": "a"}),
        request(None, "tools/call", {"name": "a"}),
        request(id_=True, method="tools/call", params={"name": "a"}),
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "a"}},
        request(1, "tools/call"),
        request(1, "tools/call", {}),
        request(1, "tools/call", {"name": 1}),
        request(1, "tools/call", [1]),
        request(1, "tools/call", {"name": "a", "_meta": {"progressToken": 1.5}}),
        request(1, "tools/call", {"name": "a"}) | {"jsonrpc": "1.0"},
        request(1, "tools/call", {"name": "a"}) | {"result": {}},
        request(1, "tools/call", {"name": "a"}) | {"error": {}},
        [request(1, "tools/call", {"name": "a"})],
        "tools/call",
    ],
)
def test_anything_else_is_left_to_the_general_way(message: Any) -> None:
    assert take(encoded(message)) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 100_000,
        b'"tools/call"',
        b"",
    ],
)
def test_bytes_that_are_no_sound_call_are_no_crash(data: bytes) -> None:
    assert take(data) is None


def test_the_method_may_stand_far_behind() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "params": {"name": "a" * 500}, "method": "tools/call"}
    taken = take(encoded(call))
    assert taken is not None
    assert taken.params.name == "a" * 500


def test_a_call_is_in_flight_only_while_somebody_holds_it() -> None:
    server = make_server()
    call = server.receive_call(encoded(request(1, "tools/call", {"name": "a"})))
    assert call is not None
    assert server.requests_in_flight() == []
    server.hold(call)
    assert server.requests_in_flight() == [call]
    again = encoded(request(1, "tools/call", {"name": "b"}))
    assert server.receive_call(again) is None  # its id is in use
    server.send_result(call, (b'"content":[]',))
    assert server.requests_in_flight() == []
    (answer,) = map(json.loads, server.messages_to_send())
    assert answer == result(1, {"content": []})


@pytest.mark.parametrize("id_", ["x", 2**70])
@pytest.mark.parametrize("meta", [{}, {"_meta": modern_meta()}])
def test_a_call_that_is_answered_at_once_gets_what_others_get_later(
    id_: int | str, meta: dict[str, Any]
) -> None:
    server = make_server()
    data = encoded(request(id_, "tools/call", {"name": "a", **meta}))
    at_once = server.receive_call(data)
    assert at_once is not None
    server.answer_call(at_once, (b'"content":', b"[]"))
    (later,) = server.receive_message(data, now=0.0)
    assert isinstance(later, RequestReceived)
    server.send_result(later, (b'"content":[]',))
    first, second = server.messages_to_send()
    assert first == second
    assert json.loads(first)["id"] == id_
    assert server.requests_in_flight() == []
