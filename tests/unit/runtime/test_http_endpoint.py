"""What an endpoint serves and what it refuses: eras, sessions, statuses and codes."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.asgi import (
    JSON,
    MODERN,
    Call,
    Message,
    Site,
    hello,
    legacy,
    legacy_call,
    modern,
    modern_call,
    notification,
    serving,
    until,
)
from wigwag import Context, Limits, Server
from wigwag.schema import ClientCapabilities, SamplingCapability

pytestmark = pytest.mark.anyio

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MISMATCH, CAPABILITY, UNSUPPORTED = -32020, -32021, -32022


def make_server(**options: Any) -> Server:
    server = Server("site", version="1.0.0", **options)

    @server.tool(title="Echo")
    def echo(text: str) -> str:
        return text

    @server.tool
    async def needs_sampling(context: Context, after: str = "") -> str:
        if after:
            context.report_progress(1, message=after)
        context.require_capability(ClientCapabilities(sampling=SamplingCapability()))
        return "sampled"

    schema = {
        "type": "object",
        "properties": {
            "region": {"type": ["string", "null"]},
            "n": {"type": "integer", "x-mcp-header": "N"},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
        },
    }
    schema["properties"]["region"] = {"type": "string", "x-mcp-header": "Region"}  # type: ignore[index]

    @server.tool(input_schema=schema)
    def t(**arguments: Any) -> str:
        return repr(sorted(arguments.items()))

    @server.resource("memo://one")
    def memo() -> str:
        return "one"

    return server


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(make_server()) as site:
        yield site


def error_of(call: Call, status: int, code: int) -> Message:
    """Return the error of an answer, which has to have this status and code."""
    answer = call.json
    assert (call.status, answer.get("error", answer).get("code")) == (status, code), answer
    assert answer.keys() <= {"jsonrpc", "id", "error"}
    error: Message = answer["error"]
    return error


IDS = [7, 0, "7", "", "a-b", -3, 2**53]


# --- the order of validation of modern requests


@pytest.mark.broken_messages("client")
@pytest.mark.parametrize("request_id", IDS)
async def test_every_answer_has_the_id_of_its_request(site: Site, request_id: Any) -> None:
    served = await site.ask(*modern_call(request_id, "echo", {"text": "hello"}))
    assert (served.status, served.json["result"]["content"][0]["text"]) == (200, "hello")
    unknown = await site.ask(*modern(request_id, "no/such"))
    error_of(unknown, 404, -32601)
    body, headers = modern(request_id, "tools/list")
    mismatch = await site.ask(body, headers, mcp_method="prompts/list")
    error_of(mismatch, 400, MISMATCH)
    version = await site.ask(body, headers, mcp_protocol_version=None)
    error_of(version, 400, MISMATCH)
    for call in (served, unknown, mismatch, version):
        assert call.json["id"] == request_id
        assert type(call.json["id"]) is type(request_id)


@pytest.mark.broken_messages("client", "server", sometimes=True)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b"nonsense", -32700),
        (b"\xff\xfe", -32700),
        (b"7", -32600),
        (b"[]", -32600),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":7}', -32600),
    ],
)
async def test_what_is_no_message_is_refused_before_anything_else(
    site: Site, body: bytes, code: int
) -> None:
    for headers in ({}, {"mcp-protocol-version": MODERN}):
        call = await site.ask(body, {**JSON, **headers})
        error_of(call, 400, code)
        assert call.json.get("id") in (None, 7)


@pytest.mark.broken_messages("client", sometimes=True)
@pytest.mark.parametrize(
    ("meta", "status", "code"),
    [
        (None, 400, -32602),
        ({}, 400, -32602),
        ({VERSION: MODERN}, 400, -32602),
        ({VERSION: MODERN, CAPABILITIES: []}, 400, -32602),
        ({VERSION: MODERN, CAPABILITIES: None}, 400, -32602),
        ({CAPABILITIES: {}}, 400, -32602),
        ({VERSION: 20260728, CAPABILITIES: {}}, 400, -32602),
        ({VERSION: "v999.0.0", CAPABILITIES: {}}, 400, MISMATCH),
        ({VERSION: MODERN, CAPABILITIES: {"zzz": 1, "roots": {"listChanged": True}}}, 200, None),
    ],
)
async def test_the_meta_of_a_modern_request_is_checked(
    site: Site, meta: Message | None, status: int, code: int | None
) -> None:
    body, headers = modern(7, "server/discover")
    body["params"] = {} if meta is None else {"_meta": meta}
    call = await site.ask(body, headers)
    assert call.status == status
    assert call.json["id"] == 7
    assert call.json.get("error", {}).get("code") == code


@pytest.mark.broken_messages("client", sometimes=True)
async def test_a_version_that_is_not_served_is_told_which_are(site: Site) -> None:
    body, headers = modern(7, "tools/list", meta={VERSION: "v999.0.0"})
    call = await site.ask(body, headers, mcp_protocol_version="v999.0.0")
    error = error_of(call, 400, UNSUPPORTED)
    assert error["data"] == {"supported": [MODERN], "requested": "v999.0.0"}
    legacy_version, headers = modern(8, "tools/list", meta={VERSION: "2025-11-25"})
    call = await site.ask(legacy_version, headers, mcp_protocol_version="2025-11-25")
    assert error_of(call, 400, UNSUPPORTED)["data"]["requested"] == "2025-11-25"


@pytest.mark.parametrize("method", [
    "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
    "tasks/list", "prompts/list", "completion/complete", "no/such", "",
])  # fmt: skip
@pytest.mark.broken_messages("client", sometimes=True)
async def test_a_method_that_is_not_served_is_not_found(site: Site, method: str) -> None:
    call = await site.ask(*modern("x", method))
    error_of(call, 404, -32601)
    assert call.json["id"] == "x"
    assert call.headers.get("mcp-session-id") is None


@pytest.mark.broken_messages("client")
async def test_params_that_do_not_fit_are_an_ordinary_error(site: Site) -> None:
    body, headers = modern(7, "resources/read")
    error_of(await site.ask(body, headers, mcp_name="memo://one"), 200, -32602)
    body, headers = modern(8, "tools/list", {"cursor": 5})
    error_of(await site.ask(body, headers), 200, -32602)
    error_of(await site.ask(*modern(9, "tools/call", {"name": "nope"})), 200, -32602)


async def test_a_capability_that_a_handler_misses_is_a_status_while_that_can_be_said(
    site: Site,
) -> None:
    call = await site.ask(*modern_call(7, "needs_sampling"))
    error = error_of(call, 400, CAPABILITY)
    assert error["data"]["requiredCapabilities"] == {"sampling": {}}
    body, headers = modern_call(
        8, "needs_sampling", {"after": "a while"}, meta={"progressToken": "p"}
    )
    call = await site.ask(body, headers)
    assert call.status == 200
    progress, answer = await call.rest()
    assert progress["method"] == "notifications/progress"
    assert (answer["id"], answer["error"]["code"]) == (8, CAPABILITY)


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.broken_messages("client", sometimes=True)
async def test_a_refusal_has_its_status_whatever_the_client_takes(site: Site, accept: str) -> None:
    body, headers = modern(7, "tools/list")
    error_of(await site.ask(body, headers, accept=accept, mcp_method="x"), 400, MISMATCH)
    error_of(await site.ask(*modern(7, "no/such"), accept=accept), 404, -32601)
    error_of(await site.ask(*modern_call(7, "needs_sampling"), accept=accept), 400, CAPABILITY)
    error_of(await site.ask(legacy(7, "tools/list"), accept=accept), 400, -32602)


@pytest.mark.broken_messages("client")
async def test_a_server_that_always_streams_refuses_with_a_status_all_the_same() -> None:
    async with serving(make_server(), streams=True) as site:
        error_of(await site.ask(*modern(7, "no/such")), 404, -32601)
        error_of(await site.ask(*modern_call(7, "needs_sampling")), 400, CAPABILITY)
        call = await site.ask(*modern_call(7, "echo", {"text": "x"}))
        assert (call.status, call.is_stream) == (200, True)
        assert [answer["id"] for answer in await call.rest()] == [7]


# --- headers against bodies

HELLO = {"region": "Hello"}
VECTORS: list[tuple[str, dict[str, str | None], Message, bool]] = [
    ("S5", {"mcp-name": None}, HELLO, False),
    ("S6", {"mcp-name": "wrong"}, HELLO, False),
    ("S7", {"mcp-name": "  t  "}, HELLO, True),
    ("S8", {"mcp-name": "=?base64?dA==?="}, HELLO, True),
    ("S9", {"mcp-name": "T"}, HELLO, False),
    ("S10", {"mcp-protocol-version": None}, HELLO, False),
    ("S11", {"mcp-protocol-version": "2025-11-25"}, HELLO, False),
    ("S13", {"mcp-param-region": "=?base64?SGVsbG8=?="}, HELLO, True),
    ("S14", {}, HELLO, True),
    ("S15", {"mcp-param-region": "=?base64?SGVsbG8?="}, HELLO, False),
    ("S16", {"mcp-param-region": "=?base64?SGVs!!!bG8=?="}, HELLO, False),
    ("S17", {"mcp-param-region": "SGVsbG8="}, {"region": "SGVsbG8="}, True),
    ("S18", {"mcp-param-region": "=?base64?SGVsbG8="}, {"region": "=?base64?SGVsbG8="}, True),
    ("S19", {"mcp-param-region": "=?BASE64?SGVsbG8=?="}, {"region": "=?BASE64?SGVsbG8=?="}, True),
    ("S20", {"mcp-param-region": "=?BASE64?SGVsbG8=?="}, HELLO, False),
    ("S21", {"mcp-param-region": None}, {"region": "test-value"}, False),
    ("S22", {"mcp-param-region": None}, {}, True),
    ("S23", {"mcp-param-region": "x"}, {}, False),
    ("S24", {"mcp-param-region": ""}, {"region": ""}, True),
    ("S25", {"mcp-param-region": ""}, {}, False),
    ("S26", {"mcp-param-n": "42.0"}, {**HELLO, "n": 42}, True),
    ("S26e", {"mcp-param-n": "4.2e1"}, {**HELLO, "n": 42}, True),
    ("S27", {"mcp-param-n": "043"}, {**HELLO, "n": 43}, True),
    ("S28", {"mcp-param-n": "4_2"}, {**HELLO, "n": 42}, False),
    ("S28x", {"mcp-param-n": "0x2A"}, {**HELLO, "n": 42}, False),
    ("S29", {"mcp-param-flag": "True"}, {**HELLO, "flag": True}, False),
    ("S30", {"mcp-param-flag": "false"}, {**HELLO, "flag": False}, True),
    ("S31", {"mcp-param-region": "=?base64?/w==?="}, HELLO, False),
    ("S32", {"mcp-param-region": "\xe9"}, {"region": "é"}, False),
    ("S33", {"mcp-param-unknown": "x"}, HELLO, True),
]


@pytest.mark.parametrize(
    ("name", "changes", "arguments", "fits"), VECTORS, ids=lambda v: str(v)[:6]
)
async def test_headers_must_repeat_what_the_body_says(
    site: Site, name: str, changes: dict[str, str | None], arguments: Message, *, fits: bool
) -> None:
    body, headers = modern_call(7, "t", arguments)
    lines = {**headers, "mcp-param-region": "Hello", **changes}
    raw = [(n.encode(), v.encode("latin-1")) for n, v in lines.items() if v is not None]
    call = await site.open("POST", headers=raw, body=_encode(body)).whole()
    if fits:
        assert (call.status, call.json["result"].get("isError")) == (200, None), call.json
    else:
        assert "header" in error_of(call, 400, MISMATCH)["data"]
    assert call.json["id"] == 7


async def test_a_header_that_comes_twice_is_refused(site: Site) -> None:
    body, headers = modern_call(7, "t", HELLO)
    for twice in ("mcp-param-region", "mcp-name", "mcp-method", "mcp-protocol-version"):
        lines = {**headers, "mcp-param-region": "Hello"}
        raw = [(n.encode(), v.encode()) for n, v in [*lines.items(), (twice, lines[twice])]]
        call = await site.open("POST", headers=raw, body=_encode(body)).whole()
        error_of(call, 400, MISMATCH)


async def test_unknown_tools_are_said_to_be_unknown_not_mismatched(site: Site) -> None:
    call = await site.ask(*modern_call(7, "nope"), mcp_param_region="x")
    error_of(call, 200, -32602)


def _encode(message: Any) -> bytes:
    return json.dumps(message).encode()


# --- eras


async def test_meta_makes_a_request_modern_whatever_its_headers_say(site: Site) -> None:
    body, headers = modern(7, "tools/list")
    error_of(await site.ask(body, headers, mcp_protocol_version=None), 400, MISMATCH)
    error_of(await site.ask(body, headers, mcp_protocol_version="2025-11-25"), 400, MISMATCH)
    stray = await site.ask(body, headers, session="x")
    assert (stray.status, stray.headers.get("mcp-session-id")) == (200, None)


@pytest.mark.parametrize("version", [None, "2025-11-25", MODERN])
async def test_the_id_of_a_session_does_not_make_a_modern_request_legacy(
    site: Site, version: str | None
) -> None:
    session = await site.begin()
    body, headers = modern("hello", "tools/list")
    call = await site.ask(body, headers, session=session, mcp_protocol_version=version)
    assert call.json["id"] == "hello"
    if version == MODERN:
        assert call.status == 200
    else:
        error_of(call, 400, MISMATCH)


@pytest.mark.parametrize("version", [None, "2025-11-25", "2099-01-01", MODERN, "\xe9"])
async def test_initialize_is_never_judged_by_the_version_header(
    site: Site, version: str | None
) -> None:
    raw = [(n.encode(), v.encode()) for n, v in JSON.items()]
    if version is not None:
        raw.append((b"mcp-protocol-version", version.encode("latin-1")))
    call = await site.open("POST", headers=raw, body=_encode(hello())).whole()
    assert (call.status, call.json["result"]["protocolVersion"]) == (200, "2025-11-25")


@pytest.mark.parametrize("wanted", [MODERN, "1999-01-01", "zzz"])
@pytest.mark.broken_messages("client", sometimes=True)
async def test_initialize_never_settles_on_a_modern_revision(site: Site, wanted: str) -> None:
    call = await site.ask(hello(wanted))
    assert call.json["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.broken_messages("client", sometimes=True)
async def test_a_modern_version_header_without_meta_is_a_broken_modern_request(site: Site) -> None:
    for version in (MODERN, "2099-01-01"):
        call = await site.ask(legacy(7, "tools/list"), mcp_protocol_version=version)
        error = error_of(call, 400, -32602)
        assert error["data"]["supported"] == [MODERN]


async def test_a_request_that_needs_a_session_and_has_none_is_refused(site: Site) -> None:
    for version in (None, "2025-03-26", "2025-11-25"):
        call = await site.ask(legacy(7, "tools/list"), mcp_protocol_version=version)
        assert (call.status, call.json["id"]) == (400, 7)
        assert "initialize" in call.json["error"]["message"]


@pytest.mark.broken_messages("client", sometimes=True)
async def test_notifications_are_accepted_and_not_answered(site: Site) -> None:
    cancelled = notification("notifications/cancelled", {"requestId": 7})
    for message in (cancelled, notification("notifications/zzz")):
        call = await site.ask(message, mcp_protocol_version=MODERN)
        assert (call.status, call.body) == (202, b"")
        for version in (None, "2025-11-25"):  # there it is one of a session
            call = await site.ask(message, mcp_protocol_version=version)
            error_of(call, 400, -32600)


@pytest.mark.broken_messages("client", sometimes=True)
async def test_a_notification_needs_no_method_in_its_headers_but_no_wrong_one_either(
    site: Site,
) -> None:
    message = notification("notifications/cancelled", {"requestId": 7})
    right = await site.ask(message, mcp_protocol_version=MODERN, mcp_method=message["method"])
    assert (right.status, right.body) == (202, b"")
    wrong = await site.ask(message, mcp_protocol_version=MODERN, mcp_method="tools/call")
    error_of(wrong, 400, MISMATCH)


@pytest.mark.broken_messages("client", sometimes=True)
@pytest.mark.parametrize("version", [None, MODERN, "2025-11-25"])
async def test_responses_and_arrays_have_no_place_without_a_session(
    site: Site, version: str | None
) -> None:
    result = {"jsonrpc": "2.0", "id": 1, "result": {}}
    call = await site.ask(result, mcp_protocol_version=version)
    assert call.status == 400
    array = [modern(1, "tools/list")[0], legacy(2, "ping")]
    call = await site.ask(array, mcp_protocol_version=version)
    error_of(call, 400, -32600)
    assert "id" not in call.json


async def test_both_eras_are_served_side_by_side(site: Site) -> None:
    session = await site.begin()
    for number in range(3):
        old = await site.ask(legacy_call(number, "echo", {"text": "old"}), session=session)
        new = await site.ask(*modern_call(number, "echo", {"text": "new"}))
        assert old.json["result"]["content"][0]["text"] == "old"
        assert new.json["result"]["content"][0]["text"] == "new"
        assert "resultType" not in old.json["result"]
        assert new.json["result"]["resultType"] == "complete"


async def test_a_server_of_modern_revisions_only_says_so() -> None:
    async with serving(make_server(revisions=[MODERN])) as site:
        call = await site.ask(hello())
        assert call.status == 400
        assert MODERN in call.json["error"]["message"]
        assert call.json["error"]["data"]["supported"] == [MODERN]
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            refused = await site.open(method, headers={"accept": "text/event-stream"}).whole()
            assert (refused.status, refused.headers["allow"]) == (405, "POST")
        served = await site.ask(*modern_call(7, "echo", {"text": "x"}), session="x")
        assert (served.status, served.headers.get("mcp-session-id")) == (200, None)


@pytest.mark.broken_messages("client", sometimes=True)
async def test_a_server_of_legacy_revisions_only_does_not_sound_modern() -> None:
    async with serving(make_server(revisions=["2025-06-18"])) as site:
        call = await site.ask(*modern(7, "server/discover"))
        assert call.status == 400
        assert call.json["error"]["code"] == -32600
        assert (await site.ask(hello("2025-06-18"))).status == 200


# --- bodies and heads


@pytest.mark.parametrize("accept", [
    "application/json, text/event-stream", "*/*", "application/json", None,
    "application/*, text/event-stream", "application/json;q=0.9, text/event-stream;q=1",
])  # fmt: skip
async def test_an_answer_is_json_for_who_takes_json(site: Site, accept: str | None) -> None:
    call = await site.ask(hello(), accept=accept)
    assert (call.status, call.headers["content-type"]) == (200, "application/json")
    assert call.json["result"]["protocolVersion"] == "2025-11-25"


async def test_an_answer_is_a_stream_for_who_takes_nothing_else(site: Site) -> None:
    call = await site.ask(*modern_call(7, "echo", {"text": "x"}), accept="text/event-stream")
    assert (call.status, call.is_stream) == (200, True)
    assert [message["id"] for message in await call.rest()] == [7]
    begun = await site.ask(hello(), accept="text/event-stream")
    assert begun.headers["mcp-session-id"]
    assert [message["id"] for message in await begun.rest()] == ["hello"]


async def test_who_takes_neither_is_told_what_there_is(site: Site) -> None:
    call = await site.ask(hello(), accept="text/html")
    assert call.status == 406
    assert "text/event-stream" in call.json["error"]["message"]
    session = await site.begin()
    call = await site.open(
        "GET", headers={"accept": "application/json", "mcp-session-id": session}
    ).whole()
    assert call.status == 406


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON;charset=UTF-8", 200),
        (None, 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
    ],
)
async def test_a_body_has_to_be_json(site: Site, content_type: str | None, status: int) -> None:
    call = await site.ask(hello(), content_type=content_type)
    assert call.status == status


async def test_a_body_that_is_too_long_is_refused() -> None:
    async with serving(make_server(limits=Limits(max_message_bytes=1000))) as site:
        text = "x" * 1000
        body, headers = modern_call(7, "echo", {"text": text})
        stated = await site.ask(body, headers, content_length=str(len(_encode(body))))
        error = error_of(stated, 413, -32600)
        assert "1000" in error["message"]
        chunked = site.open("POST", headers=headers, body=None)
        for _ in range(3):
            chunked.send_body(b" " * 600, more=True)
        error_of(await chunked.whole(), 413, -32600)
        fits, headers = modern_call(8, "echo", {"text": "x"})
        assert (await site.ask(fits, headers)).status == 200


async def test_a_body_may_come_in_pieces(site: Site) -> None:
    body, headers = modern_call(7, "echo", {"text": "x" * 50})
    call = site.open("POST", headers=headers, body=None)
    data = _encode(body)
    for start in range(0, len(data), 7):
        call.send_body(data[start : start + 7], more=True)
    call.send_body(b"", more=False)
    assert (await call.whole()).json["id"] == 7


async def test_a_client_may_go_away_before_its_message_is_there(site: Site) -> None:
    for parts in ([], [b'{"jsonrpc"']):
        call = site.open("POST", headers=JSON, body=None)
        for part in parts:
            call.send_body(part, more=True)
        call.disconnect()
        await call.over()
        assert call.status is None
    assert site.endpoint.calls == 0


# --- sessions


async def test_the_ids_of_sessions_cannot_be_guessed(site: Site) -> None:
    ids = {await site.begin() for _ in range(20)}
    assert len(ids) == 20
    assert all(len(each) >= 32 and each.isascii() and each.isalnum() for each in ids)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_session_speaks_the_revision_it_began_with(site: Site, revision: str) -> None:
    session = await site.begin(revision)
    for number, version in enumerate((None, revision, "2025-06-18")):
        call = await site.ask(
            legacy(number, "tools/list"), session=session, mcp_protocol_version=version
        )
        assert call.status == 200
        (tool, *_) = call.json["result"]["tools"]
        assert ("title" in tool) == (revision >= "2025-06-18")


@pytest.mark.parametrize("version", ["bogus", "2099-01-01", "\xe9", ""])
async def test_a_version_nobody_serves_is_refused_in_a_session(site: Site, version: str) -> None:
    session = await site.begin()
    for method in ("POST", "GET", "DELETE"):
        raw = [(n.encode(), v.encode()) for n, v in JSON.items()]
        raw += [(b"mcp-session-id", session.encode())]
        raw += [(b"mcp-protocol-version", version.encode("latin-1"))]
        body = _encode(legacy(7, "tools/list"))
        call = await site.open(method, headers=raw, body=body).whole()
        error = error_of(call, 400, -32600)
        assert "2025-11-25" in error["message"]
    assert (await site.ask(legacy(8, "tools/list"), session=session)).status == 200


async def test_a_session_that_is_not_there_is_not_found(site: Site) -> None:
    call = await site.ask(legacy(7, "tools/list"), session="nope")
    error_of(call, 404, -32600)
    assert call.json["id"] == 7
    note = await site.ask(notification("notifications/initialized"), session="nope")
    assert note.status == 404
    assert (await site.get("nope").whole()).status == 404
    assert (await site.delete("nope")).status == 404
    assert (await site.ask(*modern_call(7, "echo", {"text": "x"}), session="nope")).status == 200


async def test_get_and_delete_need_the_id_of_a_session(site: Site) -> None:
    for method in ("GET", "DELETE"):
        call = await site.open(method, headers={"accept": "text/event-stream"}).whole()
        error_of(call, 400, -32600)


async def test_a_session_ends_when_its_client_wants(site: Site) -> None:
    session = await site.begin()
    assert (await site.delete(session)).status == 200
    assert (await site.ask(legacy(7, "tools/list"), session=session)).status == 404
    assert (await site.get(session).whole()).status == 404
    assert (await site.delete(session)).status == 404
    assert site.endpoint.sessions == 0


async def test_initialize_with_a_dead_id_begins_a_new_session(site: Site) -> None:
    session = await site.begin()
    await site.delete(session)
    for dead in (session, "never-was"):
        call = await site.ask(hello(), session=dead)
        assert call.status == 200
        assert call.headers["mcp-session-id"] not in (session, dead)


async def test_a_session_cannot_be_begun_twice(site: Site) -> None:
    session = await site.begin()
    call = await site.ask(hello(request_id="again"), session=session)
    error_of(call, 400, -32600)
    assert site.endpoint.sessions == 1


@pytest.mark.broken_messages("client", sometimes=True)
async def test_a_refused_initialize_begins_nothing(site: Site) -> None:
    broken = hello()
    del broken["params"]["protocolVersion"]
    calls = [
        await site.ask(broken),
        await site.ask({**hello(), "id": None}),
        await site.ask([hello()]),
        await site.ask(hello(), content_type="text/plain"),
        await site.ask(hello(), accept="text/html"),
        await site.ask(hello(), origin="http://evil.example"),
        await site.ask(*modern(1, "initialize", hello()["params"])),
    ]
    assert [call.status for call in calls] == [400, 400, 400, 415, 406, 403, 404]
    assert all("mcp-session-id" not in call.headers for call in calls)
    assert site.endpoint.sessions == 0
    assert site.stores is not None
    assert len(site.stores.sessions) == 0  # type: ignore[arg-type]


async def test_there_are_no_more_sessions_than_allowed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(make_server(limits=Limits(sessions=2))) as site:
        first = await site.begin()
        await site.begin()
        call = await site.ask(hello())
        assert call.status == 503
        assert call.json["id"] == "hello"
        assert "2 sessions" in call.json["error"]["message"]
        assert "mcp-session-id" not in call.headers
        assert "Limits.sessions" in caplog.text
        assert (await site.ask(*modern_call(7, "echo", {"text": "x"}))).status == 200
        await site.delete(first)
        await site.begin()


@pytest.mark.broken_messages("client")
async def test_a_session_answers_unknown_methods_in_the_way_of_its_era(site: Site) -> None:
    session = await site.begin()
    error_of(await site.ask(legacy(7, "no/such"), session=session), 200, -32601)


# --- without sessions


async def test_without_sessions_every_request_stands_for_itself() -> None:
    async with serving(make_server(), sessions=False) as site:
        begun = await site.ask(hello())
        assert (begun.status, begun.headers.get("mcp-session-id")) == (200, None)
        note = await site.ask(notification("notifications/initialized"))
        assert note.status == 202
        for session in (None, "stray"):
            call = await site.ask(legacy_call(7, "echo", {"text": "x"}), session=session)
            assert call.json["result"]["content"][0]["text"] == "x"
        for method in ("GET", "DELETE"):
            refused = await site.open(method, headers={"accept": "text/event-stream"}).whole()
            assert (refused.status, refused.headers["allow"]) == (405, "POST")
        modern_one = await site.ask(*modern_call(7, "echo", {"text": "x"}))
        assert modern_one.json["result"]["resultType"] == "complete"
        assert site.endpoint.sessions == 0


@pytest.mark.parametrize(
    ("version", "has_title"),
    [(None, False), ("2025-03-26", False), ("2025-06-18", True), ("2025-11-25", True)],
)
async def test_without_sessions_the_header_tells_the_revision(
    version: str | None, *, has_title: bool
) -> None:
    async with serving(make_server(), sessions=False) as site:
        call = await site.ask(legacy(7, "tools/list"), mcp_protocol_version=version)
        assert ("title" in call.json["result"]["tools"][0]) is has_title


async def test_without_sessions_a_version_that_is_not_served_is_refused() -> None:
    async with serving(make_server(revisions=["2025-11-25", MODERN]), sessions=False) as site:
        call = await site.ask(legacy(7, "tools/list"), mcp_protocol_version="2025-06-18")
        error_of(call, 400, -32600)
        call = await site.ask(legacy(7, "tools/list"), mcp_protocol_version="bogus")
        assert call.status == 400


@pytest.mark.broken_messages("client", "server")  # the watch sees no handshake
async def test_without_sessions_arrays_of_2025_03_26_are_served() -> None:
    async with serving(make_server(), sessions=False) as site:
        array = [legacy(1, "ping"), legacy_call(2, "echo", {"text": "x"})]
        call = await site.ask(array)
        assert (call.status, sorted(each["id"] for each in call.json)) == (200, [1, 2])
        error_of(await site.ask(array, mcp_protocol_version="2025-11-25"), 400, -32600)


# --- arrays


@pytest.mark.broken_messages("client", sometimes=True)
async def test_arrays_are_served_in_2025_03_26(site: Site) -> None:
    session = await site.begin("2025-03-26")
    array = [
        legacy(1, "ping"),
        notification("notifications/zzz"),
        legacy_call(2, "echo", {"text": "x"}),
    ]
    call = await site.ask(array, session=session)
    assert (call.status, sorted(each["id"] for each in call.json)) == (200, [1, 2])
    quiet = await site.ask([notification("notifications/zzz")], session=session)
    assert (quiet.status, quiet.body) == (202, b"")
    error_of(await site.ask([], session=session), 400, -32600)


@pytest.mark.broken_messages("client", "server")
async def test_what_is_wrong_with_one_message_of_an_array_is_told_in_its_place(
    site: Site,
) -> None:
    session = await site.begin("2025-03-26")
    array = [
        legacy(1, "ping"),
        {**hello(), "id": 2},
        {"jsonrpc": "2.0", "id": 3},
        legacy(4, "no/such"),
    ]
    call = await site.ask(array, session=session)
    assert call.status == 200
    codes = {each["id"]: each.get("error", {}).get("code") for each in call.json}
    assert codes == {1: None, 2: -32600, 3: -32600, 4: -32601}


@pytest.mark.broken_messages("client", sometimes=True)
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_arrays_are_refused_in_other_sessions(site: Site, revision: str) -> None:
    session = await site.begin(revision)
    call = await site.ask([legacy(1, "ping"), legacy(2, "ping")], session=session)
    error_of(call, 400, -32600)


# --- load


async def test_there_are_no_more_calls_and_streams_than_allowed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = make_server(limits=Limits(calls=2, streams=2))
    gate = asyncio.Event()
    waited: list[int] = []

    @server.tool
    async def wait(number: int) -> str:
        await gate.wait()
        waited.append(number)
        return "waited"

    async with serving(server) as site:
        session = await site.begin()
        calls = [site.post(*modern_call(n, "wait", {"number": n})) for n in range(2)]
        await until(lambda: site.endpoint.calls == 2, "both calls run")
        refused = await site.ask(*modern_call(5, "wait", {"number": 5}))
        assert (refused.status, refused.json["id"]) == (503, 5)
        assert "2 requests" in refused.json["error"]["message"]
        assert "Limits.calls" in caplog.text
        quick = await site.ask(*modern(6, "tools/list"))
        assert quick.status == 200
        listen, headers = modern(
            "l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        streams = [site.post(listen, headers), site.get(session)]
        for stream in streams:
            await stream.begun()
            assert stream.status == 200
        too_many = await site.ask(listen, headers)
        assert too_many.status == 503
        assert "2 streams" in too_many.json["error"]["message"]
        assert (await site.get(await site.begin()).whole()).status == 503
        streams[0].disconnect()
        await streams[0].over()
        again = await site.post(listen, headers).begun()
        assert again.status == 200
        gate.set()
        for call in calls:
            assert (await call.whole()).status == 200
    assert waited == [0, 1]


async def test_an_answer_can_be_fetched_though_all_streams_are_taken() -> None:
    server = make_server(limits=Limits(streams=1))
    gate = asyncio.Event()

    @server.tool
    async def long(context: Context) -> str:
        await context.close_stream()
        await gate.wait()
        return "long"

    async with serving(server) as site:
        session = await site.begin()
        let_go = await site.post(legacy_call(1, "long"), session=session).whole()
        (event,) = let_go.events
        taken = await site.get(session).begun()
        assert taken.status == 200
        gate.set()
        back = await site.get(session, event.id).whole()
        assert back.status == 200
        assert back.events[-1].message["result"]["content"][0]["text"] == "long"


async def test_streams_that_clients_left_do_not_count() -> None:
    async with serving(make_server(limits=Limits(streams=2))) as site:
        for _ in range(3):
            stream = await site.get(await site.begin()).begun()
            assert stream.status == 200
            stream.disconnect()
            await stream.over()
