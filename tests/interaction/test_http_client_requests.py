"""How a client makes its HTTP requests, with each library; and what it says when it cannot."""

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
import trustme

from tests.interaction.connecting import PATIENCE, TIMEOUTS
from tests.interaction.http_server import HttpRequest, HttpServer, McpUrl
from wigwag import Client
from wigwag.errors import (
    ConnectionRefused,
    HostNotFound,
    HttpStatusError,
    LocalProtocolError,
    McpError,
    RemoteProtocolError,
    ServerUnreachable,
    TLSFailed,
    TransportError,
)
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN

pytestmark = pytest.mark.anyio

Library = Callable[..., AbstractAsyncContextManager[dict[str, Any]]]


@asynccontextmanager
async def of_its_own(**_: Any) -> AsyncIterator[dict[str, Any]]:
    yield {}


@asynccontextmanager
async def aiohttp_session(**options: Any) -> AsyncIterator[dict[str, Any]]:
    connector = aiohttp.TCPConnector(ssl=options["ssl"]) if "ssl" in options else None
    async with aiohttp.ClientSession(connector=connector) as session:
        yield {"http_client": session}
        assert not session.closed


@asynccontextmanager
async def httpx2_client(**options: Any) -> AsyncIterator[dict[str, Any]]:
    async with httpx2.AsyncClient(verify=options.get("ssl", True)) as client:
        yield {"http_client": client}
        assert not client.is_closed


@pytest.fixture(params=[of_its_own, aiohttp_session, httpx2_client], ids=lambda f: f.__name__)
def library(request: pytest.FixtureRequest) -> Library:
    """What makes the requests."""
    chosen: Library = request.param
    return chosen


def client_of(url: str, **options: Any) -> Client:
    return Client(url, **{"timeouts": TIMEOUTS, "era_cache": {}, **options})


async def failure_of(url: str, **options: Any) -> McpError:
    """Connect in vain, and return why; it must be told long before a time limit."""
    begun = asyncio.get_running_loop().time()
    with pytest.raises(McpError) as caught:
        await client_of(url, **options).connect()
    assert asyncio.get_running_loop().time() - begun < PATIENCE / 2
    cause = caught.value.__cause__
    assert cause is None or type(cause).__module__ in ("builtins", "socket", "ssl")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


@pytest.fixture
def closed_port() -> int:
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def certified(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


# --- with each library


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_every_library_can_make_the_requests(library: Library, revision: str) -> None:
    async with McpUrl(revision, session="s") as server, library() as options:
        async with client_of(server.url, **options) as client:
            assert client.protocol_version == revision
            assert (await client.call_tool("tool")).text == "done"
        accepts = {m.headers["accept"] for m in server.requests if m.method == "POST"}
        assert accepts == {"application/json, text/event-stream"}
        kinds = {m.headers["content-type"] for m in server.requests if m.method == "POST"}
        assert kinds == {"application/json"}


async def test_streams_are_read_with_every_library(library: Library) -> None:
    async with McpUrl(LATEST_MODERN) as server, library() as options:

        async def call(message: HttpRequest) -> None:
            await message.stream(b": hi\n\n")
            members = {"content": [{"type": "text", "text": "x" * 300_000}]}
            found = server.complete(message, members)
            await message.event({"jsonrpc": "2.0", "id": message.message["id"], "result": found})

        server.replies["tools/call"] = call
        async with client_of(server.url, **options) as client:
            assert len((await client.call_tool("tool")).text) == 300_000


@pytest.mark.parametrize("begins", [True, False])
async def test_leaving_a_request_closes_its_connection(
    library: Library,
    begins: bool,  # noqa: FBT001
) -> None:
    async with McpUrl(LATEST_MODERN) as server, library() as options:
        left = asyncio.Event()

        async def call(message: HttpRequest) -> None:
            if begins:
                await message.stream(b": begun\n\n")
            await message.wait_gone()
            left.set()

        server.replies["tools/call"] = call
        async with client_of(server.url, **options) as client:
            task = asyncio.create_task(client.call_tool("tool"))
            await server.wait_asked("tools/call")
            task.cancel()
            await asyncio.wait([task])
            await asyncio.wait_for(left.wait(), 30)


# --- what goes wrong, one error for each cause


async def test_nobody_listens(library: Library, closed_port: int) -> None:
    async with library() as options:
        error = await failure_of(f"http://127.0.0.1:{closed_port}/mcp?key=secret", **options)
    assert type(error) is ConnectionRefused
    url = f"http://127.0.0.1:{closed_port}/mcp"
    assert str(error) == f"cannot connect to {url}: nobody listens there"


async def test_a_host_that_does_not_exist(library: Library) -> None:
    async with library() as options:
        error = await failure_of("http://nobody.invalid/mcp", **options)
    assert type(error) is HostNotFound
    assert str(error).startswith("cannot find the host of http://nobody.invalid/mcp: ")


async def test_a_certificate_that_is_not_trusted(
    library: Library, certified: ssl.SSLContext
) -> None:
    async with McpUrl(LATEST_MODERN, tls=certified) as server, library() as options:
        error = await failure_of(server.url, **options)
    assert type(error) is TLSFailed
    assert "certificate" in str(error)
    assert server.origin in str(error)


async def test_https_where_only_http_is_spoken(library: Library) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, library() as options:
        port = server.sockets[0].getsockname()[1]
        error = await failure_of(f"https://127.0.0.1:{port}/mcp", **options)
    assert type(error) is TLSFailed
    assert f"no secure connection to https://127.0.0.1:{port}/mcp" in str(error)


async def test_what_does_not_speak_http(library: Library) -> None:
    async def handle(message: HttpRequest) -> None:
        await message.raw(b"220 mail.example.com ESMTP\r\n\r\n")
        message.is_keep_alive = False

    async with HttpServer(handle) as server, library() as options:
        error = await failure_of(server.url, **options)
    assert type(error) is RemoteProtocolError
    assert "does not speak HTTP" in str(error)


async def test_a_status_with_the_beginning_of_its_body(library: Library) -> None:
    async def handle(message: HttpRequest) -> None:
        headers = [("Retry-After", "7")]
        await message.answer(
            503, b"<html>\n  down\n" + b"x" * 999, kind="text/html", headers=headers
        )

    async with HttpServer(handle) as server, library() as options:
        error = await failure_of(f"{server.url}?key=secret", **options)
    assert isinstance(error, HttpStatusError)
    assert (error.status, error.headers["retry-after"]) == (503, "7")
    assert error.body.startswith("<html>\n  down\n")
    assert str(error).startswith(f"{server.url} answered 503 Whatever: <html> down xxx")
    assert len(str(error)) < 450


async def test_a_header_that_cannot_be_sent(library: Library) -> None:
    async with McpUrl(LATEST_MODERN) as server, library() as options:
        error = await failure_of(server.url, headers={"X-Bad": "a\r\nb"}, **options)
    assert type(error) is LocalProtocolError
    assert "secret" not in str(error)
    assert server.requests == []


async def test_the_calls_fail_when_the_server_has_gone(library: Library) -> None:
    async with (
        McpUrl(LATEST_MODERN) as server,
        library() as options,
        client_of(server.url, heal=False, **options) as client,
    ):
        await server.__aexit__()
        with pytest.raises(TransportError):
            await client.call_tool("tool")
        with pytest.raises(ConnectionRefused):
            await client.call_tool("tool")


async def test_without_aiohttp_it_says_what_to_install() -> None:
    program = (
        "import sys, asyncio\n"
        "sys.modules['aiohttp'] = None\n"
        "from wigwag import Client\n"
        "try:\n"
        "    asyncio.run(Client('http://127.0.0.1:1/mcp').connect())\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "TransportError HTTP needs aiohttp, which is not installed: pip install 'wigwag[http]'\n"
    )
    assert done.stderr == ""


# --- trust


async def test_an_authority_of_ones_own_is_trusted(
    library: Library, authority: trustme.CA, certified: ssl.SSLContext
) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    async with McpUrl(LATEST_MODERN, tls=certified) as server, library(ssl=context) as options:
        more = {} if options else {"ssl": context}
        async with client_of(server.url, **options, **more) as client:
            assert (await client.call_tool("tool")).text == "done"


async def test_an_authority_may_be_a_file(
    authority: trustme.CA, certified: ssl.SSLContext, tmp_path: Path
) -> None:
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    async with McpUrl(LATEST_MODERN, tls=certified) as server:
        for given in (file, str(file)):
            async with client_of(server.url, ssl=given) as client:
                assert (await client.call_tool("tool")).text == "done"


@pytest.mark.parametrize("content", [None, "no certificates"])
async def test_a_file_without_certificates_is_told(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "authority.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(TransportError, match=rf"cannot read certificates from {file}"):
        await client_of("https://127.0.0.1:1/mcp", ssl=file).connect()


async def test_a_client_may_have_a_certificate(authority: trustme.CA) -> None:
    there, here = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(there)
    authority.configure_trust(there)
    authority.configure_trust(here)
    there.verify_mode = ssl.CERT_REQUIRED
    async with McpUrl(LATEST_MODERN, tls=there) as server:
        error = await failure_of(server.url, ssl=here)
        assert isinstance(error, TransportError)
        authority.issue_cert("kim@example.com").configure_cert(here)
        async with client_of(server.url, ssl=here) as client:
            assert (await client.call_tool("tool")).text == "done"


# --- headers of the user


async def test_headers_go_with_every_request(library: Library) -> None:
    async with McpUrl(LATEST_LEGACY, session="s") as server, library() as options:
        headers = {"Authorization": "Bearer x", "X-Team": "kite"}
        async with client_of(server.url, headers=headers, **options) as client:
            await client.call_tool("tool")
            await server.wait_asked("GET")
        assert {message.asks for message in server.requests} >= {"initialize", "GET", "DELETE"}
        for message in server.requests:
            assert message.headers["authorization"] == "Bearer x"
            assert message.headers["x-team"] == "kite"
            assert message.headers["user-agent"].startswith("wigwag/")


async def test_headers_of_the_protocol_are_not_the_users_to_set() -> None:
    theirs = {"MCP-Protocol-Version": "2025-11-25", "Mcp-Name": "x", "Last-Event-ID": "7"}
    async with McpUrl(LATEST_LEGACY) as server:
        async with client_of(server.url, headers={**theirs, "accept": "text/plain"}) as client:
            await client.call_tool("tool")
        hello = next(message for message in server.requests if message.asks == "initialize")
        assert not {"mcp-protocol-version", "mcp-name", "last-event-id"} & set(hello.headers)
        assert hello.headers["accept"] == "application/json, text/event-stream"


@pytest.mark.parametrize("is_async", [True, False])
async def test_headers_may_be_asked_for_with_each_request(
    is_async: bool,  # noqa: FBT001
) -> None:
    numbers = iter(range(100))

    def headers() -> dict[str, str]:
        return {"Authorization": f"Bearer {next(numbers)}"}

    async def headers_later() -> dict[str, str]:
        return headers()

    async with McpUrl(LATEST_MODERN) as server:
        given = headers_later if is_async else headers
        async with client_of(server.url, headers=given) as client:
            await client.call_tool("tool")
            await client.call_tool("tool")
        sent = [message.headers["authorization"] for message in server.requests]
        assert sent == ["Bearer 0", "Bearer 1", "Bearer 2"]


async def test_what_the_function_for_headers_raises_is_raised() -> None:
    def headers() -> dict[str, str]:
        raise KeyError("no token")

    with pytest.raises(KeyError, match="no token"):
        await client_of("http://127.0.0.1:1/mcp", headers=headers).connect()


async def test_headers_of_the_protocol_cannot_be_changed() -> None:
    async with McpUrl(LATEST_MODERN) as server:
        headers = {"accept": "x", "mcp-method": "x", "User-Agent": "mine", "content-type": "x"}
        async with client_of(server.url, headers=headers) as client:
            await client.call_tool("tool")
        for message in server.requests:
            names = [name.lower() for name, _ in message.all_headers]
            assert len(names) == len(set(names))
            assert message.headers["accept"] == "application/json, text/event-stream"
            assert message.headers["mcp-method"] == message.asks
            assert message.headers["user-agent"] == "mine"


async def test_no_cookie_is_kept() -> None:
    async with McpUrl(LATEST_MODERN) as server:

        async def call(message: HttpRequest) -> None:
            members = server.complete(message, {"content": []})
            body = {"jsonrpc": "2.0", "id": message.message["id"], "result": members}
            await message.json(body, headers=[("Set-Cookie", "a=1; Path=/")])

        server.replies["tools/call"] = call
        async with client_of(server.url) as client:
            await client.call_tool("tool")
            await client.call_tool("tool")
        assert all("cookie" not in message.headers for message in server.requests)


# --- redirects


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("location", ["/mcp/", "{origin}/mcp/"])
async def test_a_redirect_within_the_origin_is_followed(
    library: Library, status: int, location: str
) -> None:
    async with McpUrl(LATEST_MODERN) as server, library() as options:

        async def redirect(message: HttpRequest) -> None:
            where = location.format(origin=server.origin)
            await message.answer(status, headers=[("Location", where)])

        server.paths["/mcp"] = redirect
        headers = {"Authorization": "Bearer x"}
        async with client_of(server.url, headers=headers, **options) as client:
            assert (await client.call_tool("tool")).text == "done"
        assert {message.headers["authorization"] for message in server.requests} == {"Bearer x"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_origin_is_not_followed(library: Library, status: int) -> None:
    async def handle(message: HttpRequest) -> None:
        await message.answer(status, headers=[("Location", f"{other.url}?key=1")])

    async with HttpServer() as other, HttpServer(handle) as server, library() as options:
        error = await failure_of(server.url, headers={"Authorization": "Bearer x"}, **options)
        assert other.requests == []
    assert isinstance(error, HttpStatusError)
    assert error.status == status
    assert f"a redirect to {other.url}" in str(error)


async def test_a_redirect_down_to_http_is_not_followed(
    authority: trustme.CA, certified: ssl.SSLContext
) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)

    async def handle(message: HttpRequest) -> None:
        where = server.url.replace("https:", "http:")
        await message.answer(307, headers=[("Location", where)])

    async with HttpServer(handle, tls=certified) as server:
        error = await failure_of(server.url, ssl=context)
    assert isinstance(error, HttpStatusError)
    assert "a redirect to http://" in str(error)


async def test_redirects_in_a_circle_end() -> None:
    async def handle(message: HttpRequest) -> None:
        await message.answer(307, headers=[("Location", "/mcp")])

    async with HttpServer(handle) as server:
        error = await failure_of(server.url)
        assert len(server.requests) == 4
    assert isinstance(error, HttpStatusError)


# --- proxies


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with McpUrl(LATEST_MODERN) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        monkeypatch.setenv("http_proxy", proxy.origin)
        async with client_of("http://mcp.invalid/mcp") as client:
            assert (await client.call_tool("tool")).text == "done"
        assert {message.path for message in proxy.requests} == {"http://mcp.invalid/mcp"}


async def test_a_host_that_wants_no_proxy_gets_none(
    monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    async with McpUrl(LATEST_MODERN) as server:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port}")
        error = await failure_of(server.url)
        assert type(error) is ServerUnreachable
        assert "the proxy does not connect" in str(error)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "127.0.0.1")
        async with client_of(server.url) as client:
            assert (await client.call_tool("tool")).text == "done"
