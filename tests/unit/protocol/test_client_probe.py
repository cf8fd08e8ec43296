"""How a client finds out what it talks to.

What a server answers tells its era, and servers answer what they do not know in every possible way.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.pair import (
    SERVER_INFO,
    Pair,
    ScriptedServer,
    client_description,
    discovered,
    error,
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
)
from wigwag.schema import (
    MODERN_REVISIONS,
    REVISIONS,
    V2024_11_05,
    V2025_11_25,
    V2026_07_28,
)

MODERN, DUAL = MODERN_REVISIONS, REVISIONS

NOT_MODERN_CODES = [-32601, -32602, -32600, -32700, -32603, -32000, -32001, -32002, 0, 1, 404]


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


def refused_version(id_: Any, supported: Any) -> Any:
    data = {"supported": supported, "requested": V2026_07_28}
    return error(id_, -32022, "Unsupported protocol version", data)


# --- signs of the modern era


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
