"""Who can talk to whom, and in which revision: client and server together.

The matrix is that of the specification's page on versioning; how a client finds out what it talks
to is told apart by what the server answers, because servers answer what they do not know in every
possible way.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.pair import (
    SERVER_INFO,
    Pair,
    ScriptedClient,
    ScriptedServer,
    client_description,
    discovered,
    error,
    initialize,
    initialized,
    modern_meta,
    notification,
    only,
    request,
    result,
    server_description,
)
from wigwag.errors import McpError, RemoteProtocolError, RequestFailed
from wigwag.protocol.events import (
    AnswerInvalid,
    Connected,
    ConnectFailed,
    MessageIgnored,
    RequestReceived,
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
NOT_MODERN_CODES = [-32601, -32602, -32600, -32700, -32603, -32000, -32001, -32002, 0, 1, 404]


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


# --- what a client makes of the answer to its probe


@pytest.mark.parametrize("code", NOT_MODERN_CODES)
@pytest.mark.parametrize("data", [None, {}, {"supported": [V2026_07_28]}, "x"])
def test_any_error_that_only_a_legacy_server_gives_leads_to_the_handshake(
    code: int, data: Any
) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    (greeting,) = server.say(error(probe["id"], code, "what?", data))
    expect_handshake(server, greeting)


def expect_handshake(server: ScriptedServer, greeting: Any) -> None:
    assert greeting["method"] == "initialize"
    assert greeting["params"]["protocolVersion"] == V2025_11_25
    assert not server.client.is_probing
    (done,) = server.say(result(greeting["id"], initialized()))
    assert done == notification("notifications/initialized")
    assert only(Connected, server.events).revision == V2025_11_25


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}},
    ],
)
def test_an_error_without_an_id_is_an_answer_to_the_probe(answer: Any) -> None:
    server = ScriptedServer()
    server.greeted()
    tell = server.say_wrongly if "id" in answer else server.say
    (greeting,) = tell(answer)
    expect_handshake(server, greeting)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"tools": []},
        initialized(),
        {"supportedVersions": V2026_07_28, "capabilities": {}},
        {"supportedVersions": [V2026_07_28]},
        {"resultType": "zzz"},
        {"resultType": "input_required", "requestState": "s"},
    ],
)
def test_a_success_that_is_no_discovery_leads_to_the_handshake(value: Any) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    (greeting,) = server.say_wrongly(result(probe["id"], value))
    expect_handshake(server, greeting)


def test_a_result_that_is_no_object_leads_to_the_handshake_or_fails() -> None:
    server = ScriptedServer()
    probe = server.greeted()
    heard = server.say_wrongly({"jsonrpc": "2.0", "id": probe["id"], "result": None})
    if heard:
        expect_handshake(server, heard[0])
    else:
        only(ConnectFailed, server.events)


def test_silence_leads_to_the_handshake_after_a_short_while() -> None:
    server = ScriptedServer(probe_timeout=2.5)
    server.greeted()
    assert server.client.next_deadline() == 2.5
    assert server.pass_time(2.4) == []
    (greeting,) = server.pass_time(0.1)
    expect_handshake(server, greeting)


def test_a_discovery_that_comes_too_late_is_ignored() -> None:
    server = ScriptedServer(probe_timeout=1.0)
    probe = server.greeted()
    (greeting,) = server.pass_time(1.0)
    assert server.say(result(probe["id"], discovered())) == []
    only(MessageIgnored, server.events)
    expect_handshake(server, greeting)


@pytest.mark.parametrize("with_id", [True, False])
def test_a_refusal_of_the_probe_that_comes_too_late_is_ignored(with_id: bool) -> None:  # noqa: FBT001
    server = ScriptedServer(probe_timeout=1.0)
    probe = server.greeted()
    (greeting,) = server.pass_time(1.0)
    late = error(probe["id"], -32601, "what?")
    if not with_id:
        del late["id"]
    assert server.say(late) == []
    only(MessageIgnored, server.events)
    expect_handshake(server, greeting)


def test_an_error_without_an_id_is_an_answer_to_the_handshake_too() -> None:
    server = ScriptedServer()
    server.greeted(skip_probe=True)
    server.say({"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}})
    assert isinstance(only(ConnectFailed, server.events).error, RequestFailed)


def test_the_whole_of_connecting_has_a_limit() -> None:
    server = ScriptedServer(probe_timeout=5.0, connect_timeout=8.0)
    server.greeted()
    (greeting,) = server.pass_time(5.0)
    assert greeting["method"] == "initialize"
    assert server.client.next_deadline() == 8.0
    assert server.pass_time(3.0) == []
    assert "no answer to initialize" in str(only(ConnectFailed, server.events).error)


def test_the_limit_of_connecting_may_come_before_that_of_the_probe() -> None:
    server = ScriptedServer(probe_timeout=5.0, connect_timeout=2.0)
    server.greeted()
    assert server.pass_time(2.0) == []
    only(ConnectFailed, server.events)


def test_a_client_that_speaks_nothing_else_waits_longer_for_a_modern_server() -> None:
    server = ScriptedServer(client_description(revisions=MODERN), probe_timeout=1.0)
    probe = server.greeted()
    assert server.pass_time(20.0) == []
    assert server.events == []
    server.say(result(probe["id"], discovered()))
    only(Connected, server.events)


@pytest.mark.parametrize("code", NOT_MODERN_CODES)
def test_a_modern_client_that_is_refused_says_why(code: int) -> None:
    server = ScriptedServer(client_description(revisions=MODERN))
    probe = server.greeted()
    assert server.say(error(probe["id"], code, "Method not found")) == []
    failed = only(ConnectFailed, server.events).error
    assert V2026_07_28 in str(failed)
    assert "Method not found" in str(failed)


# --- signs of the modern era


def refused_version(id_: Any, supported: Any) -> Any:
    data = {"supported": supported, "requested": V2026_07_28}
    return error(id_, -32022, "Unsupported protocol version", data)


@pytest.mark.parametrize("supported", [[V2026_07_28], ["2099-01-01", V2026_07_28, "x"]])
def test_a_refused_version_is_tried_again_with_one_that_is_supported(supported: list[str]) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    (again,) = server.say(refused_version(probe["id"], supported))
    assert again == request(again["id"], "server/discover", {"_meta": modern_meta()})
    assert again["id"] != probe["id"]
    server.say(result(again["id"], discovered()))
    assert only(Connected, server.events).revision == V2026_07_28


@pytest.mark.parametrize("code", [-32020, -32021])
def test_other_modern_errors_are_a_sign_of_the_modern_era_too(code: int) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    data: Any = {"requiredCapabilities": {}} if code == -32021 else None
    (again,) = server.say(error(probe["id"], code, "no", data))
    assert again["method"] == "server/discover"
    server.say(result(again["id"], discovered()))
    only(Connected, server.events)


def test_a_version_that_is_refused_twice_is_given_up() -> None:
    server = ScriptedServer()
    probe = server.greeted()
    (again,) = server.say(refused_version(probe["id"], [V2026_07_28]))
    assert server.say(refused_version(again["id"], [V2026_07_28])) == []
    failed = only(ConnectFailed, server.events).error
    assert isinstance(failed, RequestFailed)
    assert failed.code == -32022


@pytest.mark.parametrize(
    "second",
    [
        lambda server, id_: server.say(error(id_, -32601, "no")),
        lambda server, id_: server.say_wrongly(result(id_, {})),
        lambda server, _: server.pass_time(29.0) + server.pass_time(1.0),
    ],
    ids=["an error", "an empty result", "silence"],
)
def test_a_server_that_has_shown_to_be_modern_is_never_greeted_as_a_legacy_one(
    second: Callable[[ScriptedServer, Any], list[Any]],
) -> None:
    server = ScriptedServer(probe_timeout=5.0, connect_timeout=30.0)
    probe = server.greeted()
    (again,) = server.say(refused_version(probe["id"], [V2026_07_28]))
    assert not server.client.is_probing
    assert second(server, again["id"]) == []
    assert isinstance(only(ConnectFailed, server.events).error, McpError)


@pytest.mark.parametrize("supported", [["2099-01-01"], [], "2026-07-28", None, [7]])
def test_a_refused_version_without_a_common_one_names_both_sides(supported: Any) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    good = isinstance(supported, list) and 7 not in supported
    tell = server.say if good else server.say_wrongly
    assert tell(refused_version(probe["id"], supported)) == []
    failed = only(ConnectFailed, server.events).error
    assert isinstance(failed, RemoteProtocolError)
    assert V2026_07_28 in str(failed)
    assert ("2099-01-01" in str(failed)) is (supported == ["2099-01-01"])


@pytest.mark.parametrize("supported", [[V2025_11_25], ["2099-01-01", V2024_11_05]])
def test_a_refused_version_with_legacy_ones_on_offer_leads_to_the_handshake(
    supported: list[str],
) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    (greeting,) = server.say(refused_version(probe["id"], supported))
    expect_handshake(server, greeting)


@pytest.mark.parametrize("versions", [[V2025_11_25], [V2024_11_05, "2099-01-01"]])
def test_a_discovery_of_legacy_versions_only_leads_to_the_handshake(versions: list[str]) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    (greeting,) = server.say(result(probe["id"], discovered(versions)))
    expect_handshake(server, greeting)


@pytest.mark.parametrize("versions", [[V2025_11_25, V2026_07_28], ["2099-01-01", V2026_07_28]])
def test_of_the_versions_discovered_a_modern_one_is_preferred(versions: list[str]) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    assert server.say(result(probe["id"], discovered(versions))) == []
    assert only(Connected, server.events).revision == V2026_07_28


@pytest.mark.parametrize("versions", [["2099-01-01"], []])
@pytest.mark.parametrize("client", [DUAL, MODERN])
def test_a_discovery_without_a_common_version_names_both_sides(
    versions: list[str], client: tuple[str, ...]
) -> None:
    server = ScriptedServer(client_description(revisions=client))
    probe = server.greeted()
    assert server.say(result(probe["id"], discovered(versions))) == []
    failed = only(ConnectFailed, server.events).error
    assert V2026_07_28 in str(failed)
    assert (versions[0] if versions else "none") in str(failed)


def test_a_name_in_the_body_of_a_discovery_is_tolerated() -> None:
    server = ScriptedServer()
    probe = server.greeted()
    value = discovered() | {"serverInfo": {"name": "body", "version": "1"}}
    server.say(result(probe["id"], value))
    assert only(Connected, server.events).server_info == SERVER_INFO


# --- a handshake that shows a modern server


@pytest.mark.parametrize("code", [-32022, -32602, -32601])
def test_a_handshake_refused_with_modern_versions_leads_back_to_the_modern_era(code: int) -> None:
    server = ScriptedServer(probe_timeout=1.0)
    server.greeted()
    (greeting,) = server.pass_time(1.0)
    data = {"supported": [V2026_07_28], "requested": V2025_11_25}
    (again,) = server.say(error(greeting["id"], code, "no", data))
    assert again["method"] == "server/discover"
    server.say(result(again["id"], discovered()))
    assert only(Connected, server.events).revision == V2026_07_28


def test_the_way_back_to_the_modern_era_is_taken_once() -> None:
    server = ScriptedServer(probe_timeout=1.0, connect_timeout=10.0)
    server.greeted()
    (greeting,) = server.pass_time(1.0)
    (again,) = server.say(refused_version(greeting["id"], [V2026_07_28]))
    assert again["method"] == "server/discover"
    assert server.pass_time(5.0) == []
    assert server.events == []
    assert server.pass_time(4.0) == []
    only(ConnectFailed, server.events)


def test_a_remembered_legacy_server_that_has_become_modern_is_found_out() -> None:
    pair = Pair(server=server_description(revisions=MODERN))
    assert pair.connect(skip_probe=True).revision == V2026_07_28
    assert pair.methods_sent() == ["initialize", "server/discover"]


def test_a_slow_server_of_ours_is_spoken_to_in_the_modern_era_in_the_end() -> None:
    pair = Pair(server=server_description(revisions=MODERN), probe_timeout=1.0)
    pair.client.connect(now=0.0)
    probe = pair.lose("client")  # the server is not up yet
    assert len(probe) == 1
    pair.pass_time(1.0)
    assert only(Connected, pair.client_events).revision == V2026_07_28
    assert pair.methods_sent() == ["initialize", "server/discover"]


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


def test_whoever_has_failed_to_connect_takes_no_further_part() -> None:
    server = ScriptedServer()
    greeting = server.greeted(skip_probe=True)
    server.say(error(greeting["id"], -32000, "go away"))
    only(ConnectFailed, server.events)
    assert server.say(request(1, "roots/list")) == []
    assert not any(
        isinstance(event, RequestReceived | AnswerInvalid | Connected) for event in server.events
    )
    assert server.client.next_deadline() is None
