from typing import Any

import pytest
from msgspec import UNSET, Raw

from tests.pair import (
    ScriptedClient,
    code_of,
    initialize,
    modern,
    modern_meta,
    request,
    result,
)
from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codes import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
)
from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LEGACY_REVISIONS,
    PROTOCOL_VERSION_KEY,
    SERVER_INFO_KEY,
    V2025_03_26,
    V2026_07_28,
    CallToolResult,
    ClientCapabilities,
    Implementation,
    TextContent,
)

IDENTITY = {SERVER_INFO_KEY: {"name": "server", "version": "1.0"}}
DONE = CallToolResult(content=[TextContent(text="done")])


def test_a_modern_request_needs_no_handshake() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a", arguments={"b": 1}))
    assert got.is_modern
    assert got.revision == V2026_07_28
    assert got.client_info == Implementation(name="client", version="2.0")
    assert got.params.name == "a"
    assert isinstance(got.params.arguments, Raw)
    assert client.server.session is None


def test_a_server_can_be_asked_what_it_is() -> None:
    client = ScriptedClient()
    (answer,) = client.say(request("d", "server/discover", modern()))
    assert answer == result(
        "d",
        {
            "resultType": "complete",
            "_meta": IDENTITY,
            "ttlMs": 0,
            "cacheScope": "private",
            "supportedVersions": [V2026_07_28],
            "capabilities": {
                "logging": {},
                "completions": {},
                "prompts": {"listChanged": True},
                "resources": {"subscribe": True, "listChanged": True},
                "tools": {"listChanged": True},
            },
            "instructions": "Be brief.",
        },
    )
    assert client.events == []
    assert client.server.requests_in_flight() == []


@pytest.mark.parametrize("missing", [PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY])
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "no/such"])
def test_a_modern_request_without_a_required_key_is_refused(missing: str, method: str) -> None:
    client = ScriptedClient()
    meta = modern_meta()
    del meta[missing]
    (answer,) = client.say_wrongly(request(1, method, {"_meta": meta}))
    assert code_of([answer], 1) == INVALID_PARAMS
    assert f"`{missing}`" in answer["error"]["message"]


@pytest.mark.parametrize(
    "broken",
    [
        {PROTOCOL_VERSION_KEY: 20260728},
        {PROTOCOL_VERSION_KEY: None},
        {CLIENT_CAPABILITIES_KEY: []},
        {CLIENT_CAPABILITIES_KEY: None},
        {CLIENT_CAPABILITIES_KEY: {"roots": 1}},
    ],
)
def test_a_required_key_of_the_wrong_type_counts_as_missing(broken: dict[str, Any]) -> None:
    client = ScriptedClient()
    params = {"_meta": modern_meta() | broken}
    (answer,) = client.say_wrongly(request(1, "tools/list", params))
    assert code_of([answer], 1) == INVALID_PARAMS
    assert f"`{next(iter(broken))}`" in answer["error"]["message"]


def test_the_name_of_the_client_is_optional() -> None:
    client = ScriptedClient()
    meta = modern_meta()
    del meta[CLIENT_INFO_KEY]
    got = client.ask(1, "tools/call", {"name": "a", "_meta": meta})
    assert got.client_info is UNSET


@pytest.mark.parametrize("version", ["2099-01-01", "", "v999.0.0", *LEGACY_REVISIONS])
@pytest.mark.parametrize("method", ["server/discover", "tools/call", "no/such"])
def test_a_version_that_is_not_served_is_refused_with_those_that_are(
    version: str, method: str
) -> None:
    client = ScriptedClient()
    params = {"_meta": modern_meta(version), "name": "a"}
    tell = client.say_wrongly if method == "no/such" else client.say
    (answer,) = tell(request(1, method, params))
    assert code_of([answer], 1) == -32022
    assert answer["error"]["data"] == {"supported": [V2026_07_28], "requested": version}


def test_the_versions_in_a_refusal_are_those_that_discover_lists() -> None:
    client = ScriptedClient()
    (found,) = client.say(request(1, "server/discover", modern()))
    (refused,) = client.say(request(2, "server/discover", {"_meta": modern_meta("2099-01-01")}))
    assert refused["error"]["data"]["supported"] == found["result"]["supportedVersions"]


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "roots/list",
        "sampling/createMessage",
        "no/such",
    ],
)
def test_a_method_that_the_modern_era_does_not_have_is_not_found(method: str) -> None:
    client = ScriptedClient()
    assert code_of(client.say_wrongly(request(1, method, modern())), 1) == METHOD_NOT_FOUND
    assert client.server.session is None


def test_the_order_of_the_checks_is_meta_then_version_then_method_then_params() -> None:
    client = ScriptedClient()
    meta = modern_meta("2099-01-01")
    params: dict[str, Any] = {"_meta": dict(meta), "name": 7}
    del params["_meta"][CLIENT_CAPABILITIES_KEY]
    assert code_of(client.say_wrongly(request(1, "no/such", params)), 1) == INVALID_PARAMS
    params["_meta"] = meta
    assert code_of(client.say_wrongly(request(2, "no/such", params)), 2) == -32022
    params["_meta"] = modern_meta()
    assert code_of(client.say_wrongly(request(3, "no/such", params)), 3) == METHOD_NOT_FOUND
    assert code_of(client.say_wrongly(request(4, "tools/call", params)), 4) == INVALID_PARAMS


def test_nothing_is_remembered_from_one_modern_request_to_the_next() -> None:
    client = ScriptedClient()
    rich = {"_meta": modern_meta(capabilities={"sampling": {}}), "name": "a"}
    first = client.ask(1, "tools/call", rich)
    second = client.ask(2, "tools/call", modern(name="a"))
    needed = ClientCapabilities(sampling=first.client_capabilities.sampling)
    client.server.require_client_capability(first, needed)
    with pytest.raises(RequestFailed) as caught:
        client.server.require_client_capability(second, needed)
    assert caught.value.code == -32021
    client.server.send_error(second, -32021, caught.value.message, caught.value.data)
    (answer,) = client.heard()
    assert answer["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


def test_both_eras_can_be_spoken_on_one_connection_in_turns() -> None:
    client = ScriptedClient()
    client.begin_session(V2025_03_26, capabilities={"roots": {}})
    old = client.ask(1, "tools/call", {"name": "a"})
    new = client.ask(2, "tools/call", modern(name="a"))
    assert (old.revision, new.revision) == (V2025_03_26, V2026_07_28)
    assert new.client_capabilities == ClientCapabilities()
    client.server.send_result(new, DONE)
    client.server.send_result(old, DONE)
    modern_answer, legacy_answer = client.heard()
    assert modern_answer["result"]["resultType"] == "complete"
    assert legacy_answer["result"] == {"content": [{"type": "text", "text": "done"}]}
    assert code_of(client.say_wrongly(request(3, "ping", modern())), 3) == METHOD_NOT_FOUND
    assert client.say(request(4, "ping")) == [result(4, {})]


def test_a_modern_handshake_is_no_handshake() -> None:
    client = ScriptedClient()
    message = initialize()
    message["params"]["_meta"] = modern_meta()
    assert code_of(client.say_wrongly(message), 1) == METHOD_NOT_FOUND
    assert client.server.session is None
