from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.structs import replace

from tests.pair import (
    EVERYTHING,
    ScriptedClient,
    error,
    initialize,
    modern_meta,
    notification,
    only,
    request,
    result,
    server_description,
)
from wigwag.errors import LocalProtocolError, RequestFailed
from wigwag.jsonrpc.codes import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from wigwag.protocol.events import (
    AnswerInvalid,
    ErrorReceived,
    MessageIgnored,
    NotificationReceived,
    RequestReceived,
    ResponseReceived,
)
from wigwag.protocol.server import ServerDescription
from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LEGACY_REVISIONS,
    LOG_LEVEL_KEY,
    METHODS,
    MODERN_REVISIONS,
    PROTOCOL_VERSION_KEY,
    REVISIONS,
    SERVER_INFO_KEY,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    AudioContent,
    CallToolResult,
    ClientCapabilities,
    CompleteResult,
    Completion,
    CreateMessageRequestParams,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    Implementation,
    InputRequiredResult,
    ListToolsResult,
    RootsCapability,
    ServerCapabilities,
    TextContent,
    Tool,
    ToolsCapability,
)

IDENTITY = {SERVER_INFO_KEY: {"name": "server", "version": "1.0"}}
DONE = CallToolResult(content=[TextContent(text="done")])
FORM = ElicitRequestFormParams(message="m", requested_schema={"type": "object", "properties": {}})


def modern(**more: Any) -> dict[str, Any]:
    return {"_meta": modern_meta(), **more}


def code_of(answers: list[Any], id_: Any) -> int:
    (answer,) = answers
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)
    code: int = answer["error"]["code"]
    return code


# --- the description


def test_a_server_serves_every_revision_unless_it_is_narrowed() -> None:
    assert server_description().legacy == LEGACY_REVISIONS
    assert server_description().modern == MODERN_REVISIONS
    narrowed = server_description(revisions=[V2026_07_28, V2025_03_26])
    assert narrowed.legacy == (V2025_03_26,)
    assert narrowed.modern == (V2026_07_28,)


@pytest.mark.parametrize("revisions", [[], ["2025-11-26"], [V2026_07_28, "latest"]])
def test_a_server_cannot_serve_revisions_that_do_not_exist(revisions: list[str]) -> None:
    with pytest.raises(ValueError, match="revisions must be some of 2024-11-05, "):
        server_description(revisions=revisions)


def test_capabilities_are_asked_for_anew_only_after_a_change() -> None:
    declared = [ServerCapabilities(), ServerCapabilities(tools=ToolsCapability())]
    description = ServerDescription(
        Implementation(name="s", version="1"), capabilities=lambda: declared.pop(0)
    )
    client = ScriptedClient(description)
    client.begin_session()
    for id_ in (1, 2):
        assert code_of(client.say(request(id_, "tools/list")), id_) == METHOD_NOT_FOUND
        assert description.capabilities.tools is UNSET
    description.changed()
    assert client.ask(3, "tools/list").revision == V2025_11_25
    assert client.ask(4, "tools/list", modern()).revision == V2026_07_28
    assert declared == []


# --- the handshake


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
def test_the_handshake_says_who_the_server_is_and_what_it_can(version: str) -> None:
    client = ScriptedClient()
    value = client.begin_session(version)
    assert value["protocolVersion"] == version
    assert value["serverInfo"] == {"name": "server", "version": "1.0"}
    assert value["instructions"] == "Be brief."
    assert value["capabilities"]["tools"] == {"listChanged": True}
    assert ("completions" in value["capabilities"]) is (version != V2024_11_05)
    assert client.server.session is not None
    assert client.server.session.revision == version
    assert client.server.session.is_initialized


def test_a_session_remembers_who_the_client_is_and_what_it_can() -> None:
    client = ScriptedClient()
    client.begin_session(capabilities={"roots": {"listChanged": True}, "zzz": {}})
    session = client.server.session
    assert session is not None
    assert session.client_info == Implementation(name="client", version="2.0")
    assert session.client_capabilities == ClientCapabilities(
        roots=RootsCapability(list_changed=True)
    )
    got = client.ask(5, "tools/call", {"name": "a"})
    assert got.client_info is session.client_info
    assert got.client_capabilities is session.client_capabilities
    assert (got.revision, got.is_modern) == (V2025_11_25, False)


def test_a_second_handshake_is_refused_and_changes_nothing() -> None:
    client = ScriptedClient()
    client.begin_session(V2025_06_18)
    (answer,) = client.say(initialize(V2025_03_26, id_=2))
    assert answer["error"]["code"] == INVALID_REQUEST
    assert "answered already" in answer["error"]["message"]
    assert client.server.session is not None
    assert client.server.session.revision == V2025_06_18


@pytest.mark.parametrize("member", ["protocolVersion", "capabilities", "clientInfo"])
def test_a_handshake_that_lacks_something_is_refused_and_may_be_tried_again(member: str) -> None:
    client = ScriptedClient()
    broken = initialize(id_=1)
    del broken["params"][member]
    (answer,) = client.say_wrongly(broken)
    assert code_of([answer], 1) == INVALID_PARAMS
    assert member in answer["error"]["message"]
    (answer,) = client.say(initialize(id_=2))
    assert answer["result"]["protocolVersion"] == V2025_11_25


def test_a_session_is_initialized_when_the_client_says_so() -> None:
    client = ScriptedClient()
    client.say(initialize())
    assert client.server.session is not None
    assert not client.server.session.is_initialized
    assert client.say(notification("notifications/initialized")) == []
    assert only(NotificationReceived, client.events).method == "notifications/initialized"
    assert client.server.session.is_initialized


def test_initialized_before_initialize_is_ignored() -> None:
    client = ScriptedClient()
    assert client.say(notification("notifications/initialized")) == []
    only(MessageIgnored, client.events)
    assert client.server.session is None


@pytest.mark.parametrize("id_", [0, "", -1, "x", 2**63])
def test_a_handshake_is_answered_under_its_id(id_: int | str) -> None:
    (answer,) = ScriptedClient().say(initialize(id_=id_))
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)


# --- before the handshake


@pytest.mark.parametrize("method", ["tools/list", "server/discover", "no/such", "resources/read"])
def test_a_request_before_the_handshake_is_told_both_ways_to_go_on(method: str) -> None:
    client = ScriptedClient()
    tell = client.say if method == "tools/list" else client.say_wrongly
    (answer,) = tell(request("x", method))
    assert code_of([answer], "x") == INVALID_PARAMS
    assert "`initialize`" in answer["error"]["message"]
    assert "`_meta`" in answer["error"]["message"]
    assert answer["error"]["data"] == {"supported": [V2026_07_28]}


def test_a_legacy_server_wants_the_handshake_first() -> None:
    client = ScriptedClient(server_description(revisions=LEGACY_REVISIONS))
    (answer,) = client.say(request(1, "tools/list"))
    assert code_of([answer], 1) == INVALID_REQUEST
    assert "not initialized" in answer["error"]["message"]


def test_a_modern_request_to_a_legacy_server_gets_no_modern_error() -> None:
    client = ScriptedClient(server_description(revisions=LEGACY_REVISIONS))
    code = code_of(client.say(request(1, "server/discover", modern())), 1)
    assert code not in (-32020, -32021, -32022)


@pytest.mark.parametrize("revisions", [REVISIONS, LEGACY_REVISIONS, [V2025_03_26]])
def test_a_ping_is_answered_before_the_handshake(revisions: list[str]) -> None:
    client = ScriptedClient(server_description(revisions=revisions))
    assert client.say(request(7, "ping")) == [result(7, {})]


def test_a_ping_with_broken_params_is_refused() -> None:
    client = ScriptedClient()
    assert code_of(client.say_wrongly(request(7, "ping", [1])), 7) == INVALID_PARAMS
    client.begin_session()
    assert code_of(client.say_wrongly(request(8, "ping", [1])), 8) == INVALID_PARAMS


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list"])
def test_a_modern_server_names_what_it_speaks_to_a_legacy_client(method: str) -> None:
    client = ScriptedClient(server_description(revisions=MODERN_REVISIONS))
    message = initialize() if method == "initialize" else request(1, method)
    (answer,) = client.say(message)
    assert code_of([answer], 1) == INVALID_PARAMS
    assert V2026_07_28 in answer["error"]["message"]
    assert answer["error"]["data"] == {"supported": [V2026_07_28]}
    assert client.server.session is None


# --- in a session


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
def test_a_ping_is_answered_with_nothing_at_all(version: str) -> None:
    client = ScriptedClient()
    client.begin_session(version)
    assert client.say(request("p", "ping")) == [result("p", {})]
    assert client.say(request("q", "ping", {"_meta": {"progressToken": 1}})) == [result("q", {})]
    assert client.events == []


def test_a_ping_is_answered_while_other_requests_wait() -> None:
    client = ScriptedClient()
    client.begin_session()
    client.ask(1, "tools/call", {"name": "a"})
    assert client.say(request(2, "ping")) == [result(2, {})]


@pytest.mark.parametrize("id_", [0, "", -1, "1", 2**63, 2**64, -(2**70), "é\n"])
def test_the_answer_has_the_id_of_its_request_with_its_type(id_: int | str) -> None:
    client = ScriptedClient()
    client.begin_session()
    (answer,) = client.say(request(id_, "ping"))
    assert answer == result(id_, {})
    assert type(answer["id"]) is type(id_)
    assert code_of(client.say_wrongly(request(f"{id_}x", "no/such")), f"{id_}x") == METHOD_NOT_FOUND
    got = client.ask(f"{id_}y", "tools/call", {"name": "a"})
    client.server.send_error(got, INVALID_PARAMS, "no")
    assert code_of(client.heard(), f"{id_}y") == INVALID_PARAMS


@pytest.mark.parametrize("id_", [None, 1.5, True, False, {}, [], [1]])
def test_a_request_whose_id_is_none_is_refused_without_an_id(id_: Any) -> None:
    client = ScriptedClient()
    client.begin_session()
    (answer,) = client.say_wrongly(request(id_, "ping"))
    assert answer["error"]["code"] == INVALID_REQUEST
    assert "id" not in answer


def test_an_id_that_is_in_flight_cannot_be_used() -> None:
    client = ScriptedClient()
    client.begin_session()
    got = client.ask(5, "tools/call", {"name": "a"})
    (answer,) = client.say_wrongly(request(5, "tools/call", {"name": "b"}))
    assert code_of([answer], 5) == INVALID_REQUEST
    assert "in flight" in answer["error"]["message"]
    assert client.server.is_in_flight(got)
    assert client.ask("5", "tools/call", {"name": "c"}).id == "5"


def test_an_id_is_free_again_once_its_request_is_answered() -> None:
    client = ScriptedClient()
    for _ in range(2):
        got = client.ask(5, "tools/call", modern(name="a"))
        client.server.send_result(got, DONE)
        assert len(client.heard()) == 1


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
@pytest.mark.parametrize(
    "method",
    ["no/such", "", "server/discover", "subscriptions/listen", "sampling/createMessage"],
)
def test_a_method_that_the_session_does_not_have_is_not_found(version: str, method: str) -> None:
    client = ScriptedClient()
    client.begin_session(version)
    (answer,) = client.say_wrongly(request(77, method))
    assert code_of([answer], 77) == METHOD_NOT_FOUND
    assert method in answer["error"]["message"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {}),
        ("tools/call", {"name": "a"}),
        ("prompts/get", {"name": "a"}),
        ("resources/read", {"uri": "a:1"}),
        ("resources/subscribe", {"uri": "a:1"}),
        ("logging/setLevel", {"level": "info"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "b", "value": ""}},
        ),
    ],
)
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_what_the_server_does_not_declare_is_not_found(
    method: str, params: dict[str, Any], era: str
) -> None:
    client = ScriptedClient(server_description(capabilities=ServerCapabilities()))
    params = dict(params)
    if era == "legacy":
        client.begin_session()
    else:
        params["_meta"] = modern_meta()
    tell = client.say
    if era == "modern" and not METHODS[method].exists_in(V2026_07_28):
        tell = client.say_wrongly
    assert code_of(tell(request(1, method, params)), 1) == METHOD_NOT_FOUND


@pytest.mark.parametrize("params", [[1], 1, "x", None, {}, {"name": 1}, {"name": None}])
def test_params_that_the_method_does_not_take_are_refused_under_the_id(params: Any) -> None:
    client = ScriptedClient()
    client.begin_session()
    message = request(77, "tools/call") | {"params": params}
    assert code_of(client.say_wrongly(message), 77) == INVALID_PARAMS


def test_params_that_are_no_json_are_a_parse_error_under_the_id() -> None:
    client = ScriptedClient()
    client.begin_session()
    broken = b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"\xff"}}'
    client.server.receive_message(broken, now=0.0)
    (answer,) = client.server.messages_to_send()
    assert b'"id":77' in answer
    assert b"%d" % PARSE_ERROR in answer


@pytest.mark.parametrize(
    ("data", "code", "id_"),
    [
        (b'{"id":77,"method":"ping"}', INVALID_REQUEST, 77),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', INVALID_REQUEST, "a"),
        (b'{"jsonrpc":"2.0","id":77}', INVALID_REQUEST, 77),
        (b'{"jsonrpc":"2.0","id":77,"method":7}', INVALID_REQUEST, 77),
        (b'{"jsonrpc":"2.0","id":77,"method":"ping","result":{}}', INVALID_REQUEST, 77),
        (b'{"jsonrpc":"2.0","id":77,"method":"ping"', PARSE_ERROR, 77),
        (b'{"jsonrpc":"2.0","id":77,"method":"ping","params":{"a":NaN}}', PARSE_ERROR, 77),
        (b'{"jsonrpc":"2.0","id":77,"method":"p\xff"}', PARSE_ERROR, 77),
        (b"hello", PARSE_ERROR, None),
        (b"\xff\xfe", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b"1", INVALID_REQUEST, None),
        (b"null", INVALID_REQUEST, None),
        (b"[]", INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
    ],
)
def test_what_is_no_message_is_answered_and_the_conversation_goes_on(
    data: bytes, code: int, id_: Any
) -> None:
    for begun in (False, True):
        client = ScriptedClient()
        if begun:
            client.begin_session()
        client.server.receive_message(data, now=0.0)
        (answer,) = client.server.messages_to_send()
        assert b"%d" % code in answer
        assert (b'"id":' in answer) is (id_ is not None)
        assert client.say(request(999, "ping")) == [result(999, {})]


@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","id":77,"result":[]}',
        b'{"jsonrpc":"2.0","id":77,"error":7}',
        b'{"jsonrpc":"2.0","id":77,"result":{"a":\xff',
    ],
)
def test_an_answer_is_never_answered_however_broken(data: bytes) -> None:
    client = ScriptedClient()
    client.begin_session()
    client.server.receive_message(data, now=0.0)
    assert client.server.messages_to_send() == []


# --- the modern era


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


# --- results


def listing(**more: Any) -> ListToolsResult:
    tool = Tool(name="a", title="A", input_schema={"type": "object"})
    return ListToolsResult(tools=[tool], **more)


def test_a_modern_result_says_that_it_is_complete_and_who_made_it() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a"))
    client.server.send_result(got, DONE)
    (answer,) = client.heard()
    assert answer["result"] == {
        "resultType": "complete",
        "_meta": IDENTITY,
        "content": [{"type": "text", "text": "done"}],
    }


def test_a_result_that_may_be_kept_says_that_it_should_not() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/list", modern())
    client.server.send_result(got, listing())
    (answer,) = client.heard()
    assert (answer["result"]["ttlMs"], answer["result"]["cacheScope"]) == (0, "private")


@pytest.mark.parametrize(("ttl", "sent"), [(60_000, 60_000), (-5, 0), (1.9, 1), (0, 0)])
def test_a_handler_says_how_long_its_result_may_be_kept(ttl: float, sent: int) -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/list", modern())
    client.server.send_result(got, listing(ttl_ms=ttl, cache_scope="public"))
    (answer,) = client.heard()
    assert (answer["result"]["ttlMs"], answer["result"]["cacheScope"]) == (sent, "public")
    assert type(answer["result"]["ttlMs"]) is int


def test_the_meta_of_a_result_is_kept_beside_the_name_of_the_server() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a"))
    client.server.send_result(
        got, CallToolResult(content=[], meta={"example.com/trace": [1]}, structured_content=None)
    )
    (answer,) = client.heard()
    assert answer["result"]["_meta"] == {**IDENTITY, "example.com/trace": [1]}
    assert answer["result"]["structuredContent"] is None
    assert answer["result"]["resultType"] == "complete"


def test_a_result_that_asks_for_input_keeps_its_type_and_may_not_be_kept() -> None:
    client = ScriptedClient()
    got = client.ask(1, "resources/read", modern(uri="a:1"))
    client.server.send_result(
        got, InputRequiredResult(result_type="input_required", request_state="s")
    )
    (answer,) = client.heard()
    assert answer["result"] == {
        "resultType": "input_required",
        "requestState": "s",
        "_meta": IDENTITY,
    }


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
def test_a_result_is_made_to_fit_the_revision_of_its_request(version: str) -> None:
    client = ScriptedClient()
    client.begin_session(version)
    got = client.ask(1, "tools/list")
    client.server.send_result(got, listing(ttl_ms=1, cache_scope="public"))
    (answer,) = client.heard()
    (tool,) = answer["result"]["tools"]
    assert ("title" in tool) is (version in (V2025_06_18, V2025_11_25))
    assert set(answer["result"]) == {"tools"}
    got = client.ask(2, "tools/call", {"name": "a"})
    audio = AudioContent(data="AA==", mime_type="audio/wav")
    client.server.send_result(
        got, CallToolResult(content=[audio], structured_content={"a": 1}, meta=dict(IDENTITY))
    )
    (answer,) = client.heard()
    (block,) = answer["result"]["content"]
    assert block["type"] == ("text" if version == V2024_11_05 else "audio")
    assert ("structuredContent" in answer["result"]) is (version in (V2025_06_18, V2025_11_25))
    assert "_meta" not in answer["result"]
    assert "resultType" not in answer["result"]


def test_a_result_that_json_cannot_hold_is_the_handlers_mistake_and_still_to_be_answered() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a"))
    with pytest.raises(LocalProtocolError):
        client.server.send_result(got, CallToolResult(content=[TextContent(text="\ud800")]))
    assert client.heard() == []
    assert client.server.is_in_flight(got)
    client.server.send_error(got, INTERNAL_ERROR, "Internal error")
    assert code_of(client.heard(), 1) == INTERNAL_ERROR


def test_in_the_oldest_revision_completions_need_no_capability() -> None:
    client = ScriptedClient()
    value = client.begin_session(V2024_11_05)
    assert "completions" not in value["capabilities"]
    ref = {"type": "ref/prompt", "name": "a"}
    got = client.ask(1, "completion/complete", {"ref": ref, "argument": {"name": "b", "value": ""}})
    client.server.send_result(got, CompleteResult(completion=Completion(values=["x"])))
    assert client.heard() == [result(1, {"completion": {"values": ["x"]}})]


# --- errors of the legacy era


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_an_unknown_resource_has_the_code_of_its_era(era: str) -> None:
    client = ScriptedClient()
    if era == "legacy":
        client.begin_session()
    got = client.ask(1, "resources/read", {"uri": "a:1"} | (modern() if era == "modern" else {}))
    client.server.send_error(got, -32002, "Resource not found: a:1", {"uri": "a:1"})
    (answer,) = client.heard()
    code = INVALID_PARAMS if era == "modern" else -32002
    assert answer == error(1, code, "Resource not found: a:1", {"uri": "a:1"})


def test_the_modern_era_has_no_error_that_asks_for_a_visit() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a"))
    client.server.send_error(got, -32042, "Visit", {"elicitations": []})
    assert client.heard() == [error(1, INTERNAL_ERROR, "Visit")]


# --- log messages


def levels_sent(client: ScriptedClient, got: RequestReceived) -> list[str]:
    for level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"):
        client.server.send_log(got, level, {"a": 1}, "main")
    return [message["params"]["level"] for message in client.heard()]


def test_who_does_not_ask_for_log_messages_in_the_modern_era_gets_none() -> None:
    client = ScriptedClient()
    assert levels_sent(client, client.ask(1, "tools/call", modern(name="a"))) == []


def test_a_modern_request_gets_log_messages_from_its_level_up() -> None:
    client = ScriptedClient()
    meta = modern_meta(**{LOG_LEVEL_KEY: "critical"})
    got = client.ask(1, "tools/call", {"name": "a", "_meta": meta})
    assert levels_sent(client, got) == ["critical", "alert", "emergency"]
    assert levels_sent(client, client.ask(2, "tools/call", modern(name="a"))) == []
    client.server.send_result(got, DONE)
    client.heard()
    assert levels_sent(client, got) == []


def test_a_session_has_a_level_that_its_client_sets() -> None:
    client = ScriptedClient()
    client.begin_session()
    assert "debug" in levels_sent(client, client.ask(1, "tools/call", {"name": "a"}))
    assert client.say(request(2, "logging/setLevel", {"level": "alert"})) == [result(2, {})]
    got = client.ask(3, "tools/call", {"name": "a"})
    assert levels_sent(client, got) == ["alert", "emergency"]
    assert levels_sent(client, client.ask(4, "tools/call", modern(name="a"))) == []


@pytest.mark.parametrize("level", ["loud", "", None, 3])
def test_a_level_that_does_not_exist_is_refused(level: Any) -> None:
    client = ScriptedClient()
    meta = modern_meta(**{LOG_LEVEL_KEY: level})
    assert code_of(client.say_wrongly(request(1, "tools/list", {"_meta": meta})), 1) == (
        INVALID_PARAMS
    )
    client.begin_session()
    answers = client.say_wrongly(request(2, "logging/setLevel", {"level": level}))
    assert code_of(answers, 2) == INVALID_PARAMS
    assert client.server.session is not None
    assert client.server.session.log_level == "debug"


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_server_without_the_logging_capability_sends_no_log_messages(era: str) -> None:
    capabilities = replace(EVERYTHING, logging=UNSET)
    client = ScriptedClient(server_description(capabilities=capabilities))
    params: dict[str, Any] = {"name": "a"}
    if era == "legacy":
        client.begin_session()
    else:
        params["_meta"] = modern_meta(**{LOG_LEVEL_KEY: "debug"})
    assert levels_sent(client, client.ask(1, "tools/call", params)) == []


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


def test_nesting_of_any_depth_is_answered() -> None:
    for depth in (*range(900, 1000, 2), 100_000):
        deep = b'{"a":' * depth + b"1" + b"}" * depth
        meta = b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","x":%b,' % deep
        meta += b'"io.modelcontextprotocol/clientCapabilities":{}}'
        for method in (b"tools/call", b"sampling/createMessage", b"no/such"):
            for params in (b'{"name":"a","arguments":%b}' % deep, b'{"name":"a",%b}' % meta, deep):
                client = ScriptedClient()
                data = b'{"jsonrpc":"2.0","id":7,"method":"%b","params":%b}' % (method, params)
                events = client.server.receive_message(data, now=0.0)
                sent = client.server.messages_to_send()
                if any(isinstance(event, RequestReceived) for event in events):
                    assert sent == []
                else:
                    assert [b'"id":7' in message for message in sent] == [True]
