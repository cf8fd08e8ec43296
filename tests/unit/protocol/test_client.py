import json
from math import inf
from typing import Any

import pytest
from msgspec import UNSET

from tests.pair import (
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
)
from tests.unit.protocol.nesting import depths, nested
from wigwag.errors import (
    ConnectionClosed,
    HttpStatusError,
    InvalidResult,
    LocalProtocolError,
    NotMcp,
    RemoteProtocolError,
    RequestFailed,
)
from wigwag.protocol.client import ClientDescription, ClientProtocol, is_of_another_era
from wigwag.protocol.events import (
    Connected,
    ConnectFailed,
    MessageIgnored,
    NotificationReceived,
    ResponseReceived,
)
from wigwag.schema import (
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    PROTOCOL_VERSION_KEY,
    SERVER_INFO_KEY,
    V2024_11_05,
    V2025_03_26,
    V2025_11_25,
    V2026_07_28,
    CallToolRequestParams,
    ClientCapabilities,
    DiscoverResult,
    ElicitationCapability,
    Implementation,
    PaginatedRequestParams,
    RootsCapability,
    SamplingCapability,
    ServerCapabilities,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    ToolsCapability,
)

ASKABLE = ClientCapabilities(
    roots=RootsCapability(list_changed=True),
    sampling=SamplingCapability(),
    elicitation=ElicitationCapability(),
)


def failure(server: ScriptedServer) -> Exception:
    return only(ConnectFailed, server.events).error


# --- the first message


def test_a_client_asks_first_what_the_server_is() -> None:
    server = ScriptedServer()
    probe = server.greeted()
    assert probe == request(probe["id"], "server/discover", {"_meta": modern_meta()})
    assert server.client.is_probing
    assert not server.client.is_modern


def test_a_legacy_client_begins_with_the_handshake() -> None:
    server = ScriptedServer(client_description(revisions=LEGACY_REVISIONS))
    greeting = server.greeted()
    assert greeting == request(
        greeting["id"],
        "initialize",
        {
            "protocolVersion": V2025_11_25,
            "capabilities": {},
            "clientInfo": {"name": "client", "version": "2.0"},
        },
    )
    assert not server.client.is_probing


def test_the_probe_can_be_skipped() -> None:
    assert ScriptedServer().greeted(skip_probe=True)["method"] == "initialize"


def test_a_modern_client_cannot_skip_the_probe() -> None:
    server = ScriptedServer(client_description(revisions=MODERN_REVISIONS))
    assert server.greeted(skip_probe=True)["method"] == "server/discover"
    assert not server.client.is_probing


@pytest.mark.parametrize("first", LEGACY_REVISIONS)
def test_a_client_offers_the_newest_revision_that_it_speaks(first: str) -> None:
    older = LEGACY_REVISIONS[: LEGACY_REVISIONS.index(first) + 1]
    server = ScriptedServer(
        client_description(revisions=older[::-1], capabilities=ASKABLE), probe_timeout=1.0
    )
    params = server.greeted()["params"]
    assert params["protocolVersion"] == first
    assert ("elicitation" in params["capabilities"]) is (first not in (V2024_11_05, V2025_03_26))


def test_a_client_connects_once() -> None:
    server = ScriptedServer()
    server.greeted()
    with pytest.raises(LocalProtocolError):
        server.client.connect(now=0.0)


@pytest.mark.parametrize("revisions", [(), ("2025-11-26",)])
def test_a_client_cannot_speak_revisions_that_do_not_exist(revisions: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="revisions must be some of"):
        ClientProtocol(
            ClientDescription(info=Implementation(name="c", version="1"), revisions=revisions)
        )


# --- what it learns


def test_a_client_learns_from_a_modern_server() -> None:
    server = ScriptedServer()
    connected = server.connect_modern({"tools": {}, "zzz": {}})
    assert connected.revision == V2026_07_28
    assert connected.server_info == Implementation(name="server", version="1.0")
    assert connected.capabilities.tools is not UNSET
    assert connected.instructions is UNSET
    assert server.client.connected is connected
    assert server.client.is_modern
    assert not server.client.is_probing


@pytest.mark.parametrize("info", [None, 7, {"name": "only"}, "me"])
def test_a_server_whose_name_is_not_well_formed_has_none(info: Any) -> None:
    server = ScriptedServer()
    value = discovered()
    value["_meta"] = {"io.modelcontextprotocol/serverInfo": info}
    server.say_wrongly(result(server.greeted()["id"], value))
    assert only(Connected, server.events).server_info is UNSET


def test_a_server_need_not_say_its_name() -> None:
    server = ScriptedServer()
    value = discovered()
    del value["_meta"]
    server.say(result(server.greeted()["id"], value))
    assert only(Connected, server.events).server_info is UNSET


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
def test_a_client_learns_from_a_legacy_server(version: str) -> None:
    server = ScriptedServer()
    connected = server.connect_legacy(version)
    assert connected.revision == version
    assert connected.server_info == Implementation(name="server", version="1.0")
    assert not server.client.is_modern


def test_nothing_can_be_sent_before_the_client_is_connected() -> None:
    server = ScriptedServer()
    for _ in range(2):
        with pytest.raises(LocalProtocolError, match="not connected"):
            server.client.send_request("tools/list", now=0.0)
        with pytest.raises(LocalProtocolError, match="not connected"):
            server.client.send_notification("notifications/roots/list_changed")
        with pytest.raises(LocalProtocolError, match="not connected"):
            server.client.check_request("tools/list")
        if server.client.next_deadline() is None:
            server.greeted()


# --- failing to connect


@pytest.mark.parametrize("value", [{}, {"protocolVersion": V2025_11_25}, {"tools": []}])
def test_a_handshake_without_a_proper_answer_fails(value: Any) -> None:
    server = ScriptedServer()
    greeting = server.greeted(skip_probe=True)
    server.say_wrongly(result(greeting["id"], value))
    assert isinstance(failure(server), InvalidResult)
    assert server.client.connected is None


@pytest.mark.parametrize("kind", ["zzz", "input_required"])
def test_a_handshake_that_is_answered_by_a_result_of_another_kind_fails(kind: str) -> None:
    server = ScriptedServer()
    greeting = server.greeted(skip_probe=True)
    server.say_wrongly(result(greeting["id"], {"resultType": kind}))
    assert isinstance(failure(server), RemoteProtocolError)


def test_a_handshake_that_is_refused_fails_with_the_servers_words() -> None:
    server = ScriptedServer()
    greeting = server.greeted(skip_probe=True)
    data = {"supported": [V2024_11_05]}
    server.say(error(greeting["id"], -32000, "go away", data))
    refused = failure(server)
    assert isinstance(refused, RequestFailed)
    assert (refused.code, refused.message, refused.data) == (-32000, "go away", data)


@pytest.mark.parametrize("greeting", [False, True])
def test_a_broken_answer_while_connecting_fails(greeting: bool) -> None:  # noqa: FBT001
    server = ScriptedServer()
    first = server.greeted(skip_probe=greeting)
    server.say_wrongly({"jsonrpc": "2.0", "id": first["id"], "result": {}, "error": {}})
    assert isinstance(failure(server), InvalidResult)


@pytest.mark.parametrize(
    "members",
    [
        {"error": {"message": "what is that?"}},
        {"error": "what is that?"},
        {"error": {"code": -32601, "message": "what is that?"}, "result": None},
    ],
)
def test_a_refusal_of_the_probe_may_be_broken(members: Any) -> None:
    server = ScriptedServer()
    probe = server.greeted()
    (greeting,) = server.say_wrongly({"jsonrpc": "2.0", "id": probe["id"], **members})
    assert greeting["method"] == "initialize"
    assert server.say(result(greeting["id"], initialized()))
    assert only(Connected, server.events).revision == V2025_11_25
    assert server.client.next_deadline() is None


def test_who_was_silent_and_does_not_know_the_handshake_is_modern() -> None:
    server = ScriptedServer(probe_timeout=5.0)
    probe = server.greeted()
    (greeting,) = server.pass_time(5.0)
    assert greeting["method"] == "initialize"
    assert server.say(result(probe["id"], discovered())) == []  # late, and so ignored
    (again,) = server.say(error(greeting["id"], -32601, "Method not found: initialize"))
    assert again["method"] == "server/discover"
    assert server.say(result(again["id"], discovered())) == []
    assert only(Connected, server.events).revision == V2026_07_28


def test_who_has_said_nothing_yet_may_still_die_of_the_probe() -> None:
    server = ScriptedServer(probe_timeout=5.0)
    assert server.client.connecting_by is None
    server.greeted()
    assert server.client.is_probing
    assert server.client.connecting_by == "server/discover"
    (greeting,) = server.pass_time(5.0)
    assert not server.client.is_probing
    assert server.client.may_die_of_probe
    assert server.client.connecting_by == "initialize"
    server.say(result(greeting["id"], initialized()))
    assert not server.client.may_die_of_probe
    assert server.client.connecting_by is None


def test_who_answered_the_probe_wrongly_and_does_not_know_the_handshake_is_not_asked_again() -> (
    None
):
    server = ScriptedServer()
    probe = server.greeted()
    (greeting,) = server.say(error(probe["id"], -32603))
    assert server.say(error(greeting["id"], -32601, "Method not found: initialize")) == []
    assert isinstance(failure(server), RequestFailed)


def test_a_handshake_that_is_not_answered_fails_and_is_not_cancelled() -> None:
    server = ScriptedServer(connect_timeout=30.0)
    server.greeted(skip_probe=True)
    assert server.client.next_deadline() == 30.0
    assert server.pass_time(29.0) == []
    assert server.events == []
    assert server.pass_time(1.0) == []
    assert "no answer to initialize in 30.0 s" in str(failure(server))


def test_a_server_that_sends_back_what_it_is_sent_is_no_server() -> None:
    for skip_probe in (False, True):
        server = ScriptedServer()
        first = server.greeted(skip_probe=skip_probe)
        server.say_wrongly(first)
        assert isinstance(failure(server), RemoteProtocolError)


def test_what_the_server_prints_before_it_speaks_does_no_harm() -> None:
    server = ScriptedServer()
    probe = server.greeted()
    asks = b'{"id":5,"method":"roots/list"}'
    for junk in (b"Server starting...", b"\xff\xfe", b"{}", b"[]", b'"ready"', b"7", asks):
        (event,) = server.client.receive_message(junk, now=0.0)
        assert isinstance(event, MessageIgnored)
        assert event.invalid is not None
        assert event.invalid.data == junk
        assert server.heard() == []
    server.say(result(probe["id"], discovered()))
    only(Connected, server.events)


# --- requests


def test_every_modern_request_describes_the_client() -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    server.connect_modern({"tools": {}})
    call = server.client.send_request(
        "tools/call",
        CallToolRequestParams(name="a"),
        now=0.0,
        meta={"example.com/trace": "t"},
        token="mine",
    )
    listed = server.client.send_request("tools/list", now=0.0)
    told = server.heard()
    # Of `roots` the modern era has no `listChanged`.
    meta = modern_meta(capabilities={"roots": {}, "sampling": {}, "elicitation": {}})
    assert told == [
        request(
            call.id,
            "tools/call",
            {
                "_meta": meta | {"progressToken": call.id, "example.com/trace": "t"},
                "name": "a",
            },
        ),
        request(listed.id, "tools/list", {"_meta": meta | {"progressToken": listed.id}}),
    ]
    assert call.token == "mine"


def test_a_legacy_request_has_nothing_of_the_modern_era_in_it() -> None:
    server = ScriptedServer()
    server.connect_legacy(V2025_11_25, {"tools": {}})
    asked = server.client.send_request("tools/list", PaginatedRequestParams(cursor=""), now=0.0)
    assert server.heard() == [
        request(asked.id, "tools/list", {"_meta": {"progressToken": asked.id}, "cursor": ""})
    ]


def test_ids_are_never_used_twice() -> None:
    pair = Pair()
    pair.connect()
    ids = {pair.client.send_request("tools/list", now=0.0).id for _ in range(50)}
    assert len(ids) == 50
    pair.pump()
    sent = [message["id"] for message in pair.sent_by("client")]
    assert len(sent) == len(set(sent)) == 51


def test_whoever_asks_for_what_is_not_declared_is_told_what_that_would_be() -> None:
    server = ScriptedServer()
    server.connect_modern({"tools": {}})
    for method, missing in (("prompts/list", "`prompts`"), ("subscriptions/listen", "`changes to")):
        with pytest.raises(LocalProtocolError, match=f"did not declare {missing}"):
            server.client.check_request(method)


@pytest.mark.parametrize("version", [V2025_11_25, V2026_07_28])
@pytest.mark.parametrize(
    "method", ["prompts/list", "resources/read", "completion/complete", "logging/setLevel"]
)
def test_a_client_does_not_ask_for_what_the_server_did_not_declare(
    version: str, method: str
) -> None:
    server = ScriptedServer()
    if version == V2026_07_28:
        server.connect_modern({"tools": {}})
    else:
        server.connect_legacy(version, {"tools": {}})
    with pytest.raises(LocalProtocolError):
        server.client.send_request(method, now=0.0)
    with pytest.raises(LocalProtocolError):
        server.client.check_request(method)
    assert server.heard() == []
    assert server.client.fail_all() == []


@pytest.mark.parametrize(
    "method",
    ["ping", "initialize", "resources/subscribe", "roots/list", "notifications/cancelled"],
)
def test_a_client_does_not_send_requests_that_the_revision_does_not_have(method: str) -> None:
    server = ScriptedServer()
    server.connect_modern({"tools": {}, "resources": {"subscribe": True}, "logging": {}})
    with pytest.raises(LocalProtocolError, match="clients cannot send"):
        server.client.send_request(method, now=0.0)
    assert server.heard() == []


def test_a_method_of_an_extension_is_sent_for_the_server_to_judge() -> None:
    server = ScriptedServer()
    server.connect_modern()
    server.client.send_request("example.com/do", now=0.0)
    (message,) = map(json.loads, server.client.messages_to_send())
    assert message["method"] == "example.com/do"
    assert message["params"]["_meta"][PROTOCOL_VERSION_KEY] == V2026_07_28


def test_params_that_json_cannot_hold_are_the_callers_mistake_and_nothing_is_sent() -> None:
    server = ScriptedServer()
    server.connect_modern()
    with pytest.raises(LocalProtocolError):
        server.client.send_request("tools/call", CallToolRequestParams(name="\ud800"), now=0.0)
    with pytest.raises(LocalProtocolError):
        server.client.send_request("tools/list", now=0.0, meta={"example.com/x": object()})
    assert server.heard() == []
    assert server.client.fail_all() == []


def test_a_result_is_handed_over_undecoded_with_its_revision() -> None:
    for version in (*LEGACY_REVISIONS, V2026_07_28):
        server = ScriptedServer()
        value: dict[str, Any] = {"tools": []}
        if version == V2026_07_28:
            server.connect_modern()
            value |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        else:
            server.connect_legacy(version)
        asked = server.client.send_request("tools/list", now=0.0)
        server.heard()
        server.say(result(asked.id, value))
        answer = only(ResponseReceived, server.events)
        assert (answer.request, answer.revision) == (asked, version)
        assert json.loads(bytes(answer.result)) == value


# --- notifications


def test_a_client_tells_what_its_revision_lets_it_tell() -> None:
    server = ScriptedServer(client_description(capabilities=ASKABLE))
    server.connect_legacy()
    server.client.send_notification("notifications/roots/list_changed")
    assert server.heard() == [notification("notifications/roots/list_changed")]
    with pytest.raises(LocalProtocolError):
        server.client.send_notification("notifications/tools/list_changed")
    modern = ScriptedServer()
    modern.connect_modern()
    for method in ("notifications/roots/list_changed", "notifications/initialized"):
        with pytest.raises(LocalProtocolError):
            modern.client.send_notification(method)
    assert modern.heard() == []


def test_a_client_is_told_what_has_changed() -> None:
    server = ScriptedServer()
    server.connect_legacy(capabilities={"tools": {"listChanged": True}})
    server.say(notification("notifications/tools/list_changed"))
    assert only(NotificationReceived, server.events).method == "notifications/tools/list_changed"


# --- cancelling


def test_neither_probe_nor_handshake_is_ever_cancelled() -> None:
    for skip_probe in (False, True):
        server = ScriptedServer(connect_timeout=1.0)
        server.greeted(skip_probe=skip_probe)
        (asked,) = server.client.fail_all()
        server.client._outgoing.add(asked)
        server.client.forget(asked, "x")
        assert server.heard() == []


# --- hostile answers


def test_nesting_of_any_depth_in_an_answer_ends_in_an_event() -> None:
    head = '{"jsonrpc":"2.0","id":1,'
    for depth in depths():
        deep = nested(depth).decode()
        for value in (
            head + '"result":' + json.dumps(discovered())[:-1] + f', "x":{deep}}}}}',
            head + '"result":' + json.dumps(initialized())[:-1] + f', "x":{deep}}}}}',
            head + f'"result":{deep}}}',
            head + f'"result":{{"resultType":"zzz","x":{deep}}}}}',
            head + f'"error":{{"code":-32022,"message":"m","data":{deep}}}}}',
            f'{{"jsonrpc":"2.0","id":null,"error":{{"code":1,"message":"m","data":{deep}}}}}',
        ):
            for skip_probe in (False, True):
                server = ScriptedServer()
                server.greeted(skip_probe=skip_probe)
                events = server.client.receive_message(value.encode(), now=0.0)
                assert events or server.client.messages_to_send()


def test_limits_may_be_left_out() -> None:
    server = ScriptedServer()
    server.connect_modern()
    asked = server.client.send_request("tools/list", now=5.0)
    assert (asked.deadline, asked.ceiling) == (inf, inf)
    assert server.client.next_deadline() is None


# --- listening


def listening() -> tuple[ScriptedServer, Any]:
    server = ScriptedServer()
    server.connect_modern({"tools": {"listChanged": True}})
    params = SubscriptionsListenRequestParams(
        notifications=SubscriptionFilter(tools_list_changed=True)
    )
    asked = server.client.send_request("subscriptions/listen", params, now=0.0)
    server.heard()
    return server, asked


def ended(id_: Any) -> Any:
    meta = {"io.modelcontextprotocol/subscriptionId": id_}
    return result(id_, {"resultType": "complete", "_meta": meta})


def test_a_subscription_ends_with_its_result() -> None:
    server, asked = listening()
    assert server.say(ended(asked.id)) == []
    assert only(ResponseReceived, server.events).request is asked


def test_a_subscription_that_the_server_cancels_has_ended_as_well() -> None:
    server, asked = listening()
    assert server.say(notification("notifications/cancelled", {"requestId": asked.id})) == []
    assert only(ResponseReceived, server.events).request is asked
    server.say(ended(asked.id))
    only(MessageIgnored, server.events)


def test_a_server_can_cancel_nothing_else_of_ours() -> None:
    server = ScriptedServer()
    server.connect_modern()
    asked = server.client.send_request("tools/list", now=0.0)
    server.heard()
    server.say(notification("notifications/cancelled", {"requestId": asked.id}))
    only(MessageIgnored, server.events)
    assert server.client.fail_all() == [asked]


# --- what a server said earlier


def test_a_server_that_is_known_already_is_asked_nothing() -> None:
    client = ClientProtocol(client_description())
    earlier = DiscoverResult(
        supported_versions=[V2026_07_28],
        capabilities=ServerCapabilities(tools=ToolsCapability()),
        meta={SERVER_INFO_KEY: {"name": "kites", "version": "3"}},
    )
    connected = only(Connected, client.adopt(earlier))
    assert connected.revision == V2026_07_28
    assert connected.server_info == Implementation(name="kites", version="3")
    assert connected.discovered is earlier
    assert client.messages_to_send() == []
    client.send_request("tools/list", PaginatedRequestParams(), now=0)
    (sent,) = client.messages_to_send()
    assert json.loads(sent)["params"]["_meta"][PROTOCOL_VERSION_KEY] == V2026_07_28


@pytest.mark.parametrize(
    ("ours", "theirs"), [(LEGACY_REVISIONS, [V2026_07_28]), (MODERN_REVISIONS, ["2031-01-01"])]
)
def test_what_a_server_said_earlier_is_of_no_use_without_a_common_revision(
    ours: Any, theirs: list[str]
) -> None:
    client = ClientProtocol(client_description(revisions=ours))
    earlier = DiscoverResult(supported_versions=theirs, capabilities=ServerCapabilities())
    assert client.adopt(earlier) == ()
    client.connect(now=0)
    assert len(client.messages_to_send()) == 1


@pytest.mark.parametrize(
    ("failure", "is_of_another"),
    [
        (RequestFailed(-32601, "Method not found"), True),
        (RequestFailed(-32602, "Received request before initialization"), True),
        (RequestFailed(-32022, "Unsupported protocol version"), True),
        (RequestFailed(-32603, "Internal error"), False),
        (RequestFailed(429, "Slow down"), False),
        (HttpStatusError("http://a/", 400, "Bad Request", "", {}), True),
        (HttpStatusError("http://a/", 404, "Not Found", "", {}), True),
        (HttpStatusError("http://a/", 401, "Unauthorized", "", {}), False),
        (HttpStatusError("http://a/", 503, "Service Unavailable", "", {}), False),
        (NotMcp("a page"), True),
        (ConnectionClosed("cut"), False),
    ],
    ids=str,
)
def test_only_a_refusal_shows_that_a_server_is_of_another_era(
    failure: Exception,
    *,
    is_of_another: bool,
) -> None:
    assert is_of_another_era(failure) is is_of_another
