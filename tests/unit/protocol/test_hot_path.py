import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from tests.pair import initialize, modern_meta, notification, request, server_description
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


def take(data: bytes) -> RequestReceived | None:
    """Let a server take a message in a single pass, if it can."""
    description = server_description()
    for revision in REVISIONS:
        assert description.offers("tools/call", revision)
    server = ServerProtocol(description)
    for message in (initialize(LATEST_LEGACY), notification("notifications/initialized")):
        server.receive_message(encoded(message), now=0.0)
    return server.receive_call(data)


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


def test_the_general_way_is_taken_where_the_method_stands_far_behind() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "params": {"name": "a" * 500}, "method": "tools/call"}
    assert take(encoded(call)) is None
    assert isinstance(decode_message(encoded(call)), Request)
