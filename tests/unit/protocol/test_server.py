from typing import Any

import pytest
from msgspec import UNSET

from tests.pair import (
    ScriptedClient,
    code_of,
    initialize,
    modern,
    modern_meta,
    notification,
    only,
    request,
    result,
    server_description,
)
from tests.unit.protocol.nesting import depths, nested
from wigwag.jsonrpc.codes import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from wigwag.protocol.events import (
    MessageIgnored,
    NotificationReceived,
    RequestReceived,
)
from wigwag.protocol.server import ServerDescription
from wigwag.schema import (
    LEGACY_REVISIONS,
    METHODS,
    MODERN_REVISIONS,
    REVISIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    CallToolResult,
    ClientCapabilities,
    Implementation,
    RootsCapability,
    ServerCapabilities,
    TextContent,
    ToolsCapability,
)

DONE = CallToolResult(content=[TextContent(text="done")])


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


@pytest.mark.parametrize(
    "method", [row.name for row in METHODS.values() if row.kind == "notification"]
)
@pytest.mark.parametrize("meta", [{}, modern_meta(), {"progressToken": 1}, {"x": 1}])
def test_a_notification_that_wants_an_answer_gets_one(method: str, meta: dict[str, Any]) -> None:
    for begun in (False, True):
        client = ScriptedClient()
        if begun:
            client.begin_session()
        code = code_of(client.say_wrongly(request(7, method, {"_meta": meta})), 7)
        assert code in (METHOD_NOT_FOUND, INVALID_PARAMS)
        assert client.events == []


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


def test_nesting_of_any_depth_is_answered() -> None:
    for depth in depths():
        deep = nested(depth)
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
