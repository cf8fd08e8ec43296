"""The server's end: subscriptions and change notifications, in both eras."""

from __future__ import annotations

from typing import Any

from tests.pair import ScriptedClient, modern_meta, notification, request, server_description
from wigwag.protocol.subscriptions import Change
from wigwag.schema import (
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)

CAPABILITIES = ServerCapabilities(
    tools=ToolsCapability(list_changed=True),
    prompts=PromptsCapability(),
    resources=ResourcesCapability(subscribe=True, list_changed=True),
)
ID = "io.modelcontextprotocol/subscriptionId"
TOOLS = Change(NOTIFICATIONS_TOOLS_LIST_CHANGED)
TICKETS = Change(NOTIFICATIONS_RESOURCES_UPDATED, "kite://tickets/7")


def modern(**params: Any) -> dict[str, Any]:
    return {**params, "_meta": modern_meta()}


def client_of(capabilities: ServerCapabilities = CAPABILITIES) -> ScriptedClient:
    return ScriptedClient(server_description(capabilities=capabilities))


def listen(client: ScriptedClient, id_: Any, **wanted: Any) -> list[Any]:
    return client.say(request(id_, "subscriptions/listen", modern(notifications=wanted)))


def published(client: ScriptedClient, change: Change) -> list[Any]:
    client.server.publish(change)
    return client.heard()


def test_the_first_message_of_a_stream_says_what_is_honored() -> None:
    client = client_of()
    said = listen(client, "a", toolsListChanged=True, promptsListChanged=True)
    params = {"notifications": {"toolsListChanged": True}, "_meta": {ID: "a"}}
    assert said == [notification("notifications/subscriptions/acknowledged", params)]


def test_a_change_reaches_each_stream_that_asked_under_the_id_of_its_request() -> None:
    client = client_of()
    listen(client, 1, toolsListChanged=True)
    listen(client, "1", toolsListChanged=True, resourcesListChanged=True)
    listen(client, 2, resourceSubscriptions=["kite://tickets"])
    assert published(client, TOOLS) == [
        notification(TOOLS.method, {"_meta": {ID: 1}}),
        notification(TOOLS.method, {"_meta": {ID: "1"}}),
    ]
    assert published(client, TICKETS) == [
        notification(TICKETS.method, {"uri": TICKETS.uri, "_meta": {ID: 2}})
    ]


def test_a_cancelled_stream_hears_nothing_more() -> None:
    client = client_of()
    listen(client, 1, toolsListChanged=True)
    assert client.say(notification("notifications/cancelled", {"requestId": 1})) == []
    assert published(client, TOOLS) == []


def test_an_orderly_end_cancels_each_stream_and_then_answers_its_request() -> None:
    client = client_of()
    listen(client, 1, toolsListChanged=True)
    client.server.end_subscriptions()
    cancelled, answer = client.heard()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == 1
    assert answer["id"] == 1
    assert answer["result"]["resultType"] == "complete"
    assert answer["result"]["_meta"][ID] == 1
    assert published(client, TOOLS) == []


def test_a_server_that_reports_no_changes_does_not_offer_to_listen() -> None:
    client = client_of(ServerCapabilities(tools=ToolsCapability()))
    (answer,) = listen(client, 1, toolsListChanged=True)
    assert answer["error"]["code"] == -32601


def test_a_session_hears_of_the_lists_that_were_declared() -> None:
    client = client_of()
    client.begin_session()
    assert published(client, TOOLS) == [notification(TOOLS.method)]
    assert published(client, Change("notifications/prompts/list_changed")) == []


def test_a_session_hears_of_the_resources_that_it_subscribed_to() -> None:
    client = client_of()
    client.begin_session()
    assert published(client, TICKETS) == []
    client.server.require_session().subscriptions["kite://tickets"] = None
    assert published(client, TICKETS) == [notification(TICKETS.method, {"uri": TICKETS.uri})]


def test_nothing_is_reported_before_the_client_is_initialized() -> None:
    client = client_of()
    client.say(
        request(
            0,
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "c", "version": "1"},
            },
        )
    )
    assert published(client, TOOLS) == []


def test_nothing_is_reported_to_a_modern_client_that_does_not_listen() -> None:
    client = client_of()
    client.say(request(1, "server/discover", modern()))
    assert published(client, TOOLS) == []
