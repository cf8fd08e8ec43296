"""Who can talk to whom, and in which revision: client and server together.

The matrix is that of the specification's page on versioning.
"""

from typing import Any

import pytest

from tests.pair import (
    Pair,
    ScriptedClient,
    ScriptedServer,
    client_description,
    initialize,
    initialized,
    modern_meta,
    only,
    request,
    result,
    server_description,
)
from wigwag.errors import McpError, RemoteProtocolError
from wigwag.protocol.events import (
    ConnectFailed,
    ResponseReceived,
)
from wigwag.schema import (
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    REVISIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    CallToolRequestParams,
    CallToolResult,
)

MODERN, LEGACY, DUAL = MODERN_REVISIONS, LEGACY_REVISIONS, REVISIONS


def talk(client: tuple[str, ...], server: tuple[str, ...]) -> Pair:
    """Let two ends connect and call a tool."""
    pair = Pair(
        client_description(revisions=client),
        server_description(revisions=server),
        {"tools/call": lambda _: CallToolResult(content=[])},
    )
    pair.connect()
    pair.client.send_request("tools/call", CallToolRequestParams(name="a"), now=0.0)
    pair.pump()
    only(ResponseReceived, pair.client_events)
    return pair


# --- the matrix


@pytest.mark.parametrize("client", [MODERN, DUAL])
@pytest.mark.parametrize("server", [MODERN, DUAL])
def test_two_that_speak_the_modern_era_speak_it_without_a_handshake(
    client: tuple[str, ...], server: tuple[str, ...]
) -> None:
    pair = talk(client, server)
    assert pair.client.is_modern
    assert pair.server.session is None
    assert pair.methods_sent() == ["server/discover", "tools/call"]
    for message in pair.sent_by("client"):
        assert modern_meta().items() <= message["params"]["_meta"].items()


def test_a_dual_client_falls_back_to_the_handshake_with_a_legacy_server() -> None:
    pair = talk(DUAL, LEGACY)
    assert not pair.client.is_modern
    assert pair.methods_sent() == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]
    assert_legacy_only(pair.sent_by("client")[1:])


@pytest.mark.parametrize("server", [LEGACY, DUAL])
def test_a_legacy_client_shakes_hands_and_never_probes(server: tuple[str, ...]) -> None:
    pair = talk(LEGACY, server)
    assert pair.methods_sent() == ["initialize", "notifications/initialized", "tools/call"]
    assert pair.client.connected is not None
    assert pair.client.connected.revision == V2025_11_25
    assert_legacy_only(pair.sent_by("client"))


def assert_legacy_only(messages: list[Any]) -> None:
    for message in messages:
        meta = message.get("params", {}).get("_meta", {})
        assert not [key for key in meta if key.startswith("io.modelcontextprotocol/")]


def test_a_modern_client_fails_with_a_legacy_server_and_says_what_is_the_matter() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        talk(MODERN, LEGACY)
    assert V2026_07_28 in str(caught.value)
    assert "not initialized" in str(caught.value)


def test_a_legacy_client_fails_with_a_modern_server_and_says_what_is_the_matter() -> None:
    with pytest.raises(McpError) as caught:
        talk(LEGACY, MODERN)
    for version in (*LEGACY, V2026_07_28):
        assert version in str(caught.value)


# --- versions within the legacy era


@pytest.mark.parametrize("asked", LEGACY)
@pytest.mark.parametrize("server", [LEGACY, DUAL])
def test_a_revision_that_the_server_serves_is_agreed_upon(
    asked: str, server: tuple[str, ...]
) -> None:
    client = ScriptedClient(server_description(revisions=server))
    assert client.begin_session(asked)["protocolVersion"] == asked


@pytest.mark.parametrize("asked", LEGACY)
@pytest.mark.parametrize("served", LEGACY)
def test_a_server_that_serves_one_revision_proposes_it(asked: str, served: str) -> None:
    client = ScriptedClient(server_description(revisions=(served,)))
    (answer,) = client.say(initialize(asked))
    assert answer["result"]["protocolVersion"] == served


def test_a_server_proposes_the_newest_of_the_legacy_revisions_that_it_serves() -> None:
    narrowed = (V2026_07_28, V2025_03_26, V2024_11_05)
    client = ScriptedClient(server_description(revisions=narrowed))
    (answer,) = client.say(initialize(V2025_11_25))
    assert answer["result"]["protocolVersion"] == V2025_03_26


@pytest.mark.parametrize(
    "asked", [V2026_07_28, "1999-01-01", "2099-01-01", "", "latest", "2025-11-25 ", "DRAFT-2026"]
)
def test_a_handshake_for_a_version_unknown_to_it_is_answered_with_the_newest_legacy_one(
    asked: str,
) -> None:
    (answer,) = ScriptedClient().say(initialize(asked))
    assert answer["result"]["protocolVersion"] == V2025_11_25


@pytest.mark.parametrize("client", LEGACY)
@pytest.mark.parametrize("server", LEGACY)
def test_two_of_one_revision_each_agree_or_part(client: str, server: str) -> None:
    if client == server:
        pair = talk((client,), (server,))
        assert pair.client.connected is not None
        assert pair.client.connected.revision == client
        return
    with pytest.raises(RemoteProtocolError) as caught:
        talk((client,), (server,))
    assert client in str(caught.value)
    assert server in str(caught.value)


@pytest.mark.parametrize("version", LEGACY)
def test_a_client_takes_an_older_revision_that_the_server_proposes(version: str) -> None:
    server = ScriptedServer()
    assert server.connect_legacy(version).revision == version


@pytest.mark.parametrize("version", [V2026_07_28, "2099-01-01", "", "1.0"])
def test_a_client_parts_from_a_server_that_proposes_what_it_does_not_speak(version: str) -> None:
    server = ScriptedServer()
    greeting = server.greeted(skip_probe=True)
    assert server.say_wrongly(result(greeting["id"], initialized(version))) == []
    failed = only(ConnectFailed, server.events).error
    assert isinstance(failed, RemoteProtocolError)
    assert V2025_11_25 in str(failed)
    assert server.client.connected is None


def test_a_narrowed_client_does_not_take_what_it_was_told_not_to_speak() -> None:
    server = ScriptedServer(client_description(revisions=(V2025_06_18, V2025_11_25)))
    greeting = server.greeted()
    server.say(result(greeting["id"], initialized(V2025_03_26)))
    only(ConnectFailed, server.events)


# --- both eras on one connection


def test_a_session_and_modern_requests_do_not_disturb_each_other() -> None:
    client = ScriptedClient()
    modern = {"_meta": modern_meta(), "name": "a"}
    first = client.ask(1, "tools/call", modern)
    client.begin_session(V2025_03_26)
    second = client.ask(2, "tools/call", {"name": "a"})
    third = client.ask(3, "tools/call", modern)
    assert [got.revision for got in (first, second, third)] == [
        V2026_07_28,
        V2025_03_26,
        V2026_07_28,
    ]
    (answer,) = client.say(request(4, "server/discover", {"_meta": modern_meta()}))
    assert answer["result"]["supportedVersions"] == [V2026_07_28]


def test_the_era_of_a_request_hangs_on_its_meta_and_not_on_its_method() -> None:
    client = ScriptedClient()
    (legacy,) = client.say(initialize(id_=1))
    assert legacy["result"]["protocolVersion"] == V2025_11_25
    modern = initialize(id_=2)
    modern["params"]["_meta"] = modern_meta()
    (refused,) = client.say_wrongly(modern)
    assert refused["error"]["code"] == -32601
