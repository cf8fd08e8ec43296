"""What a client makes of the answers of a URL: which era is there, or that none can be told."""

from typing import Any

import pytest

from tests.interaction.connecting import TIMEOUTS
from tests.interaction.http_server import Handle, HttpRequest, HttpServer, McpUrl
from tests.pair import discovered, error, initialized, result
from wigwag import Client, RequestFailed, Timeouts
from wigwag.errors import ConnectionClosed, HttpStatusError, NotMcp, RemoteProtocolError
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS

pytestmark = pytest.mark.anyio

MODERN = LATEST_MODERN
NAME = "http://127.0.0.1"


def client_of(server: HttpServer, **options: Any) -> Client:
    return Client(server.url, **{"timeouts": TIMEOUTS, "era_cache": {}, **options})


def text(status: int, body: bytes = b"", kind: str = "text/plain") -> Handle:
    async def reply(request: HttpRequest) -> None:
        await request.answer(status, body, kind=kind)

    return reply


def refusal(status: int, code: int, message: str = "no", data: Any = None) -> Handle:
    async def reply(request: HttpRequest) -> None:
        await request.refuse(status, code, message, data)

    return reply


def answers(value: Any) -> Handle:
    async def reply(request: HttpRequest) -> None:
        await request.json(result(request.message["id"], value))

    return reply


async def cut(request: HttpRequest) -> None:
    request.cut()


async def old_error(request: HttpRequest) -> None:
    # What official SDKs of the legacy era answer, under an id of their own.
    await request.json(error("server-error", -32600, "Bad Request: Missing session ID"), 400)


# --- legacy


LEGACY_ANSWERS: dict[str, Handle] = {
    "400 empty": text(400),
    "400 text": text(400, b"Bad Request"),
    "400 not initialized": old_error,
    "400 unknown version": refusal(400, -32000, "Bad Request: Unsupported protocol version"),
    "400 invalid request": refusal(400, -32600),
    "400 invalid params": refusal(400, -32602, "Invalid request parameters"),
    "404 text": text(404, b"Not Found"),
    "404 session": refusal(404, -32001, "Session not found"),
    "405": text(405),
    "406": text(406),
    "415": text(415),
    "422 framework": text(422, b'{"detail":[]}', "application/json"),
    "200 method not found": refusal(200, -32601),
    "200 invalid params": refusal(200, -32602),
    "200 server error": refusal(200, -32000),
    "200 empty result": answers({}),
    "200 web page": text(200, b"<!doctype html><html>hi</html>", "text/html"),
    "200 nothing": text(200),
    "202": text(202),
}


@pytest.mark.parametrize("reply", LEGACY_ANSWERS.values(), ids=LEGACY_ANSWERS)
@pytest.mark.broken_messages("server", sometimes=True)
async def test_an_answer_that_no_modern_server_gives_means_legacy(reply: Handle) -> None:
    async with McpUrl(LATEST_LEGACY) as server:
        server.replies["server/discover"] = reply
        async with client_of(server) as client:
            assert client.protocol_version == LATEST_LEGACY
        assert [request.asks for request in server.requests[:3]] == [
            "server/discover",
            "initialize",
            "notifications/initialized",
        ]


async def test_silence_means_legacy_and_is_waited_for_once() -> None:
    async with McpUrl(LATEST_LEGACY) as server:
        server.replies["server/discover"] = HttpRequest.wait_gone
        cache: dict[str, str] = {}
        timeouts = Timeouts(probe=0.05, connect=10.0)
        for _ in range(2):
            async with client_of(server, era_cache=cache, timeouts=timeouts) as client:
                assert client.protocol_version == LATEST_LEGACY
        assert len(server.asked("server/discover")) == 1


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
async def test_every_legacy_revision_is_followed_exactly(revision: str) -> None:
    async with McpUrl(revision, session="s") as server:
        async with client_of(server) as client:
            assert client.protocol_version == revision
            await client.call_tool("tool", {"a": 1})
            await server.wait_asked("GET")
        probe, greeting, *rest = server.requests
        assert probe.headers["mcp-protocol-version"] == MODERN
        assert "mcp-protocol-version" not in greeting.headers
        assert "mcp-session-id" not in greeting.headers
        named = None if revision < "2025-06-18" else revision
        for request in rest:
            assert request.headers.get("mcp-protocol-version") == named, request.asks
            assert request.headers["mcp-session-id"] == "s-1", request.asks
            assert "mcp-method" not in request.headers
        assert {request.asks for request in rest} == {
            "notifications/initialized",
            "GET",
            "tools/call",
            "DELETE",
        }


# --- modern


async def test_a_modern_server_is_only_asked_what_it_is() -> None:
    async with McpUrl(MODERN) as server:
        async with client_of(server) as client:
            assert client.protocol_version == MODERN
            result = await client.call_tool("tool")
            assert result.text == "done"
        assert [request.asks for request in server.requests] == ["server/discover", "tools/call"]


async def test_a_session_id_of_a_modern_server_is_ignored() -> None:
    async with McpUrl(MODERN) as server:

        async def discover(request: HttpRequest) -> None:
            found = result(request.message["id"], discovered([MODERN], {"tools": {}}))
            await request.json(found, headers=[("Mcp-Session-Id", "stray")])

        server.replies["server/discover"] = discover
        async with client_of(server) as client:
            await client.call_tool("tool")
        assert all("mcp-session-id" not in request.headers for request in server.requests)
        assert {request.method for request in server.requests} == {"POST"}


async def test_an_unsupported_version_is_asked_again_in_a_supported_one() -> None:
    async with McpUrl(MODERN) as server:
        data = {"supported": [MODERN], "requested": MODERN}
        refuse = refusal(400, -32022, "Unsupported protocol version", data)

        async def discover(request: HttpRequest) -> None:
            if len(server.requests) == 1:
                await refuse(request)
            else:
                await server._reply(request)

        server.replies["server/discover"] = discover
        async with client_of(server) as client:
            assert client.protocol_version == MODERN
        assert [request.asks for request in server.requests] == ["server/discover"] * 2
        assert server.requests[0].message["id"] != server.requests[1].message["id"]


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
async def test_a_modern_refusal_never_leads_to_a_handshake(code: int) -> None:
    data = {"supported": [MODERN], "requested": MODERN, "requiredCapabilities": {}}
    async with McpUrl(LATEST_LEGACY) as server:
        server.replies["server/discover"] = refusal(400, code, "no way", data)
        with pytest.raises(RequestFailed, match="no way") as caught:
            await client_of(server).connect()
        assert caught.value.code == code
        assert [request.asks for request in server.requests] == ["server/discover"] * 2


async def test_404_with_method_not_found_is_a_modern_server_without_discovery() -> None:
    async with McpUrl(MODERN) as server:
        server.replies["server/discover"] = refusal(404, -32601, "Method not found")
        async with client_of(server) as client:
            assert client.protocol_version == MODERN
            assert (await client.call_tool("tool")).text == "done"
            with pytest.raises(RequestFailed) as caught:
                await client.list_prompts()
            assert caught.value.code == -32601


async def test_a_refusal_that_knows_modern_meta_is_no_reason_for_a_handshake() -> None:
    async with McpUrl(LATEST_LEGACY) as server:
        message = "missing io.modelcontextprotocol/clientInfo"
        server.replies["server/discover"] = refusal(400, -32602, message)
        with pytest.raises(RequestFailed, match=message):
            await client_of(server).connect()


async def test_a_server_of_legacy_versions_that_knows_discovery_is_greeted() -> None:
    async with McpUrl(LATEST_LEGACY) as server:
        found = discovered([LATEST_LEGACY], {})
        server.replies["server/discover"] = answers(found)
        async with client_of(server) as client:
            assert client.protocol_version == LATEST_LEGACY


async def test_a_modern_server_that_was_slow_is_found_to_be_modern_after_all() -> None:
    async with McpUrl(MODERN) as server:
        data = {"supported": [MODERN], "requested": LATEST_LEGACY}

        async def discover(request: HttpRequest) -> None:
            if len(server.asked("server/discover")) == 1:
                await request.wait_gone()
            else:
                await server._reply(request)

        server.replies["server/discover"] = discover
        server.replies["initialize"] = refusal(400, -32022, "Unsupported protocol version", data)
        timeouts = Timeouts(probe=0.05, connect=10.0)
        async with client_of(server, timeouts=timeouts) as client:
            assert client.protocol_version == MODERN


# --- no evidence


@pytest.mark.parametrize("status", [401, 403, 407, 429, 500, 502, 503])
async def test_some_statuses_say_nothing_about_the_era(status: int) -> None:
    async with HttpServer(text(status, b"<h1>not now</h1>")) as server:
        with pytest.raises(HttpStatusError, match=rf"{NAME}:\d+/mcp answered {status} W.*not now"):
            await client_of(server).connect()
        assert [request.asks for request in server.requests] == ["server/discover"]


@pytest.mark.parametrize("status", [401, 403])
async def test_who_is_not_let_in_learns_what_is_wanted(status: int) -> None:
    async def handle(request: HttpRequest) -> None:
        headers = [("WWW-Authenticate", 'Bearer resource_metadata="x"')]
        body = error(1, -32001, "who are you?")
        await request.json(body, status, headers=headers)

    async with HttpServer(handle) as server:
        with pytest.raises(HttpStatusError, match="who are you") as caught:
            await client_of(server).connect()
        assert caught.value.status == status
        assert caught.value.headers["www-authenticate"] == 'Bearer resource_metadata="x"'
        assert '"code": -32001' in caught.value.body
        assert [request.asks for request in server.requests] == ["server/discover"]


async def test_a_server_that_hangs_up_says_nothing_about_the_era() -> None:
    async with HttpServer(cut) as server:
        with pytest.raises(ConnectionClosed, match="closed the connection before it answered"):
            await client_of(server).connect()
        assert [request.asks for request in server.requests] == ["server/discover"]


# --- insisting


async def test_a_modern_mode_never_greets() -> None:
    async with McpUrl(LATEST_LEGACY) as server:
        why = rf"does not speak {MODERN}, as was demanded: {NAME}:\d+/mcp answered 404 .*nobody"
        server.replies["server/discover"] = text(404, b"nobody here")
        with pytest.raises(RemoteProtocolError, match=why):
            await client_of(server, mode="modern").connect()
        assert len(server.requests) == 1


async def test_a_legacy_mode_never_asks_for_the_era() -> None:
    async with McpUrl("2025-06-18") as server:
        async with client_of(server, mode="2025-06-18") as client:
            assert client.protocol_version == "2025-06-18"
        assert server.requests[0].asks == "initialize"


async def test_a_legacy_mode_hears_what_a_modern_server_says() -> None:
    async with McpUrl(MODERN) as server:
        data = {"supported": [MODERN], "requested": LATEST_LEGACY}
        server.replies["initialize"] = refusal(400, -32020, f"this server speaks {MODERN}", data)
        with pytest.raises(RemoteProtocolError, match=f"the server offers {MODERN}"):
            await client_of(server, mode="legacy").connect()
        assert len(server.requests) == 1


# --- what is remembered


async def test_the_era_is_kept_for_the_next_client() -> None:
    cache: dict[str, str] = {}
    async with McpUrl(LATEST_LEGACY) as server:
        for _ in range(2):
            async with Client(f"{server.url}?key=secret", era_cache=cache):
                pass
        assert len(server.asked("server/discover")) == 1
        assert cache == {server.url: "legacy"}


async def test_without_a_cache_of_its_own_a_client_uses_that_of_the_process() -> None:
    async with McpUrl(LATEST_LEGACY) as server:
        for _ in range(2):
            async with Client(server.url):
                pass
        assert len(server.asked("server/discover")) == 1


@pytest.mark.parametrize("wrong", ["legacy", "http+sse", "junk"])
async def test_a_cached_era_that_proves_wrong_is_found_out_anew(wrong: str) -> None:
    async with McpUrl(MODERN) as server:
        data = {"supported": [MODERN], "requested": LATEST_LEGACY}
        server.replies["initialize"] = refusal(400, -32020, "no", data)
        cache = {server.url: wrong}
        async with client_of(server, era_cache=cache) as client:
            assert client.protocol_version == MODERN
        assert cache == {server.url: "modern"}


async def test_a_server_that_was_modern_may_be_legacy_by_now() -> None:
    async with McpUrl(LATEST_LEGACY) as server:
        cache = {server.url: "modern"}
        async with client_of(server, era_cache=cache) as client:
            assert client.protocol_version == LATEST_LEGACY
        assert cache == {server.url: "legacy"}


async def test_what_a_mode_insisted_on_is_not_kept_for_others() -> None:
    cache: dict[str, str] = {}
    async with McpUrl(LATEST_LEGACY) as server:
        async with client_of(server, mode="legacy", era_cache=cache):
            pass
        assert cache == {}


# --- what is no MCP


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_web_page_is_no_mcp_server(mode: str) -> None:
    async with HttpServer(text(200, b"<!doctype html>\n<title>Hi</title>", "text/html")) as server:
        why = r"answered initialize with something that is no JSON: <!doctype html> <title>Hi"
        with pytest.raises(NotMcp, match=why):
            await client_of(server, mode=mode).connect()


@pytest.mark.parametrize("version", [MODERN, "2099-01-01"])
@pytest.mark.broken_messages("server", sometimes=True)
async def test_a_handshake_that_agrees_on_no_legacy_revision_fails(version: str) -> None:
    async with McpUrl(LATEST_LEGACY) as server:
        server.replies["initialize"] = answers(initialized(version, {}))
        with pytest.raises(RemoteProtocolError, match="no common protocol version"):
            await client_of(server).connect()
