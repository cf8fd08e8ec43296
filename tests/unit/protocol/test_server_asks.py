from typing import Any

import pytest

from tests.pair import (
    ScriptedClient,
    error,
    initialize,
    modern,
    notification,
    only,
    result,
)
from wigwag.errors import LocalProtocolError
from wigwag.protocol.events import (
    AnswerInvalid,
    ErrorReceived,
    ResponseReceived,
)
from wigwag.schema import (
    V2024_11_05,
    V2025_03_26,
    V2025_11_25,
    CreateMessageRequestParams,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
)

FORM = ElicitRequestFormParams(message="m", requested_schema={"type": "object", "properties": {}})


# --- what a server may ask in a session


def test_a_server_asks_a_client_that_can_answer() -> None:
    client = ScriptedClient()
    client.begin_session(capabilities={"roots": {}, "sampling": {}, "elicitation": {}})
    questions = [
        client.server.send_request("roots/list", now=0.0),
        client.server.send_request(
            "sampling/createMessage",
            CreateMessageRequestParams(messages=[], max_tokens=5),
            now=0.0,
        ),
        client.server.send_request("elicitation/create", FORM, now=0.0),
        client.server.send_request("ping", now=0.0),
    ]
    sent = client.heard()
    assert [message["method"] for message in sent] == [q.method for q in questions]
    assert len({message["id"] for message in sent}) == 4
    client.say(result(questions[0].id, {"roots": []}))
    answer = only(ResponseReceived, client.events)
    assert (answer.request, answer.revision) == (questions[0], V2025_11_25)
    client.say(error(questions[1].id, -1, "User rejected sampling request"))
    assert only(ErrorReceived, client.events).request is questions[1]
    client.say_wrongly({"jsonrpc": "2.0", "id": questions[2].id, "error": 1})
    assert only(AnswerInvalid, client.events).request is questions[2]


@pytest.mark.parametrize(
    ("method", "params", "capabilities"),
    [
        ("roots/list", None, {"sampling": {}}),
        ("sampling/createMessage", CreateMessageRequestParams(messages=[], max_tokens=1), {}),
        (
            "sampling/createMessage",
            CreateMessageRequestParams(messages=[], max_tokens=1, tools=[]),
            {"sampling": {}},
        ),
        ("elicitation/create", FORM, {"roots": {}}),
        ("elicitation/create", FORM, {"elicitation": {"url": {}}}),
        (
            "elicitation/create",
            ElicitRequestURLParams(mode="url", message="m", url="https://a.example"),
            {"elicitation": {}},
        ),
        ("tasks/list", None, {"roots": {}}),
        ("tasks/list", None, {"tasks": {"cancel": {}}}),
    ],
)
def test_a_server_does_not_ask_for_what_the_client_did_not_declare(
    method: str, params: Any, capabilities: dict[str, Any]
) -> None:
    client = ScriptedClient()
    client.begin_session(capabilities=capabilities)
    with pytest.raises(LocalProtocolError, match="did not declare"):
        client.server.send_request(method, params, now=0.0)
    assert client.heard() == []
    assert client.server.fail_all() == []


@pytest.mark.parametrize("method", ["tools/list", "no/such", "notifications/progress"])
def test_a_server_sends_no_requests_that_it_may_not(method: str) -> None:
    client = ScriptedClient()
    client.begin_session()
    with pytest.raises(LocalProtocolError):
        client.server.send_request(method, now=0.0)


@pytest.mark.parametrize("version", [V2024_11_05, V2025_03_26])
def test_an_old_session_has_no_elicitation(version: str) -> None:
    client = ScriptedClient()
    client.begin_session(version)
    with pytest.raises(LocalProtocolError, match="has no request elicitation/create"):
        client.server.send_request("elicitation/create", FORM, now=0.0)


def test_without_a_session_a_server_asks_and_tells_nothing() -> None:
    client = ScriptedClient()
    client.ask(1, "tools/call", modern(name="a"))
    with pytest.raises(LocalProtocolError, match="session"):
        client.server.send_request("ping", now=0.0)
    with pytest.raises(LocalProtocolError, match="session"):
        client.server.send_notification("notifications/tools/list_changed")
    assert client.heard() == []


def test_until_the_client_is_initialized_a_server_may_only_ping() -> None:
    client = ScriptedClient()
    client.say(initialize(capabilities={"roots": {}}))
    with pytest.raises(LocalProtocolError, match="initialized"):
        client.server.send_request("roots/list", now=0.0)
    client.server.send_request("ping", now=0.0)
    assert [message["method"] for message in client.heard()] == ["ping"]
    client.say(notification("notifications/initialized"))
    client.server.send_request("roots/list", now=0.0)
    assert [message["method"] for message in client.heard()] == ["roots/list"]


# --- what a server may tell in a session


def test_a_server_tells_its_session_what_has_changed() -> None:
    client = ScriptedClient()
    client.begin_session()
    client.server.send_notification("notifications/tools/list_changed")
    assert client.heard() == [notification("notifications/tools/list_changed")]


@pytest.mark.parametrize(
    "method",
    ["notifications/initialized", "notifications/roots/list_changed", "ping", "no/such"],
)
def test_a_server_sends_no_notifications_that_it_may_not(method: str) -> None:
    client = ScriptedClient()
    client.begin_session()
    with pytest.raises(LocalProtocolError):
        client.server.send_notification(method)
    assert client.heard() == []
