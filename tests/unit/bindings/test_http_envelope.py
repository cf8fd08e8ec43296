import json
from typing import Any

import pytest
from msgspec import UNSET

from wigwag.bindings.http_envelope import Envelope, read_envelope

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def envelope_of(message: Any) -> Envelope:
    return read_envelope(json.dumps(message).encode())


def test_a_modern_request_names_its_revision() -> None:
    message = {"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {"_meta": META}}
    assert envelope_of(message) == Envelope("a", "tools/list", "2026-07-28")


@pytest.mark.parametrize(
    ("method", "member"),
    [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri"),
     ("tasks/get", "taskId"), ("tasks/cancel", "taskId")],
)  # fmt: skip
def test_the_name_of_what_it_is_about_is_read(method: str, member: str) -> None:
    params = {"name": "", "uri": "", "taskId": "", member: "ünï"}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    assert envelope_of(message).name == "ünï"


def test_a_member_of_the_same_name_elsewhere_may_be_anything() -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "x/y", "params": {"name": 7, "uri": []}}
    assert envelope_of(message) == Envelope(1, "x/y")


def test_the_arguments_of_a_tool_call_are_read_undecoded() -> None:
    params = {"name": "t", "arguments": {"a": [1]}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    arguments = envelope_of(message).arguments
    assert arguments is not UNSET
    assert json.loads(bytes(arguments)) == {"a": [1]}
    prompt = {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": params}
    assert envelope_of(prompt).arguments is UNSET


def test_a_notification_has_no_id() -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert envelope_of(message) == Envelope(None, "notifications/initialized")


@pytest.mark.parametrize("message", [{"jsonrpc": "2.0", "id": 1, "result": {}}, [], [{"id": 1}]])
def test_answers_and_arrays_have_neither_id_nor_method(message: Any) -> None:
    assert envelope_of(message) == Envelope()
