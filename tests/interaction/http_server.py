"""Hand-written HTTP servers: an MCP URL that answers, or misbehaves, as a test wants it.

`HttpServer` speaks just enough of HTTP/1.1 over real sockets. `McpUrl` is one that answers the
handshake of a revision and leaves the rest to the test.
"""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Self, TypeAlias

from tests.interaction.connecting import PATIENCE
from tests.interaction.peers import CACHEABLE
from tests.pair import discovered, error, initialized, result
from wigwag.schema import MODERN_REVISIONS

Json: TypeAlias = Any


class HttpRequest:
    """A request that has arrived, and the means to answer it."""

    def __init__(
        self, method: str, path: str, headers: list[tuple[str, str]], body: bytes, writer: Any
    ) -> None:
        self.method = method
        self.path = path
        self.all_headers = headers
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body
        self.is_keep_alive = True
        self._writer: asyncio.StreamWriter = writer

    @property
    def message(self) -> Json:
        """The message in the body."""
        return json.loads(self.body)

    @property
    def asks(self) -> str | None:
        """The method of the message, or that of the HTTP request when it has none."""
        if self.method != "POST":
            return self.method
        found: str | None = self.message.get("method")
        return found

    async def raw(self, data: bytes) -> None:
        """Write bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def answer(
        self,
        status: int,
        body: bytes = b"",
        *,
        kind: str = "application/json",
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Answer with a whole body."""
        head = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"]
        if body:
            head.append(f"Content-Type: {kind}")
        head += [f"{name}: {value}" for name, value in headers]
        await self.raw("\r\n".join([*head, "", ""]).encode() + body)

    async def json(
        self, message: Json, status: int = 200, *, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Answer with a message."""
        await self.answer(status, json.dumps(message).encode(), headers=headers)

    async def result(self, **members: Json) -> None:
        """Answer the request in the body with a result."""
        await self.json(result(self.message["id"], members))

    async def refuse(self, status: int, code: int, message: str = "no", data: Json = None) -> None:
        """Answer the request in the body with an error."""
        id_ = self.message.get("id") if self.body else None
        body = error(id_, code, message, data)
        if id_ is None:
            del body["id"]
        await self.json(body, status)

    async def stream(self, text: bytes = b"", *, headers: Sequence[tuple[str, str]] = ()) -> None:
        """Begin a stream of events; it ends when the handler returns."""
        self.is_keep_alive = False
        head = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Connection: close"]
        head += [f"{name}: {value}" for name, value in headers]
        await self.raw("\r\n".join([*head, "", ""]).encode() + text)

    async def event(self, message: Json, *, id: str | None = None) -> None:
        """Write an event with a message."""
        head = "" if id is None else f"id: {id}\n"
        await self.raw(f"{head}data: {json.dumps(message)}\n\n".encode())

    def cut(self) -> None:
        """Cut the connection."""
        self.is_keep_alive = False
        self._writer.transport.abort()

    async def wait_gone(self) -> None:
        """Wait until the client has closed the connection."""
        async with asyncio.timeout(PATIENCE):
            while not self._reader.at_eof():
                await self._reader.read(1)

    _reader: asyncio.StreamReader


Handle = Callable[[HttpRequest], Awaitable[None]]


class HttpServer:
    """Serves HTTP on a port of its own: use it as `async with`.

    Args:
        handle: Answers a request; without an answer the connection is cut.
        tls: The context of a server with a certificate.
    """

    def __init__(self, handle: Handle | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        self._handle = handle
        self._tls = tls
        self.requests: list[HttpRequest] = []
        self.times: list[float] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._news = asyncio.Event()

    async def handle(self, request: HttpRequest) -> None:
        """Answer a request."""
        assert self._handle is not None
        await self._handle(request)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.origin = f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}"
        self.url = f"{self.origin}/mcp"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def stop_listening(self) -> None:
        self._server.close()

    def asked(self, what: str) -> list[HttpRequest]:
        """Return the requests of a method, of MCP or else of HTTP."""
        return [request for request in self.requests if request.asks == what]

    async def wait_asked(self, what: str, count: int = 1) -> HttpRequest:
        """Wait for the so manieth request of a method, and return it."""
        async with asyncio.timeout(PATIENCE):
            while len(self.asked(what)) < count:
                self._news.clear()
                await self._news.wait()
        return self.asked(what)[count - 1]

    async def wait_asked_response(self) -> HttpRequest:
        """Wait for a response of the client's, and return the request that brings it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for request in self.requests:
                    if request.method == "POST" and request.asks is None:
                        return request
                self._news.clear()
                await self._news.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Cancelled when the test ends: asyncio would complain of that.
            with suppress(
                ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError
            ):
                while request := await self._read(reader, writer):
                    self.requests.append(request)
                    self.times.append(asyncio.get_running_loop().time())
                    self._news.set()
                    await self.handle(request)
                    if not request.is_keep_alive:
                        break
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(Exception):
                await writer.wait_closed()

    async def _read(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> HttpRequest | None:
        first = (await reader.readline()).decode("latin-1").split()
        if len(first) != 3:
            return None
        headers: list[tuple[str, str]] = []
        while line := (await reader.readline()).decode("latin-1").rstrip("\r\n"):
            name, _, value = line.partition(":")
            headers.append((name, value.strip()))
        length = int({name.lower(): value for name, value in headers}.get("content-length", 0))
        body = await reader.readexactly(length)
        request = HttpRequest(first[0], first[1], headers, body, writer)
        request._reader = reader
        return request


class McpUrl(HttpServer):
    """A server of one revision that answers the handshake, and the rest by `replies`.

    Args:
        revision: The revision that it speaks.
        session: The id that sessions get: this and a number.
        capabilities: What it declares.
        replies: What answers the other requests, by method.
    """

    def __init__(
        self,
        revision: str,
        *,
        session: str | None = None,
        capabilities: Json = None,
        tls: ssl.SSLContext | None = None,
        **replies: Handle,
    ) -> None:
        super().__init__(tls=tls)
        self.revision = revision
        self.is_modern = revision in MODERN_REVISIONS
        self.sessions: list[str] = []
        """The sessions that the server knows."""
        self.paths: dict[str, Handle] = {}
        """What answers whatever is asked at a path."""
        self._session = session
        self._opened = 0
        self._capabilities = {"tools": {}} if capabilities is None else capabilities
        self.replies: dict[str, Handle] = {
            name.replace("__", "/"): reply for name, reply in replies.items()
        }

    async def handle(self, request: HttpRequest) -> None:
        if self._session is not None and request.asks != "initialize" and not self.is_modern:
            known = request.headers.get("mcp-session-id") in self.sessions
            if not known and "io.modelcontextprotocol/" not in request.body.decode():
                await request.refuse(404, -32600, "Session not found")
                return
        reply = self.paths.get(request.path) or self.replies.get(request.asks or "response")
        if reply is not None:
            await reply(request)
        else:
            await self._reply(request)

    async def _reply(self, request: HttpRequest) -> None:
        match request.asks:
            case "server/discover" if self.is_modern:
                await request.result(**discovered([self.revision], self._capabilities))
            case "server/discover":
                await request.refuse(400, -32600, "Bad Request: Missing session ID")
            case "initialize" if not self.is_modern:
                await self._greet(request)
            case "tools/call":
                await self.give(request, content=[{"type": "text", "text": "done"}])
            case "GET":
                await request.answer(405)
            case "DELETE":
                self.sessions.remove(request.headers["mcp-session-id"])
                await request.answer(200)
            case None | "notifications/initialized":
                await request.answer(202)
            case _:
                status = 404 if self.is_modern else 200
                await request.refuse(status, -32601)

    async def _greet(self, request: HttpRequest) -> None:
        headers = []
        if self._session is not None:
            self._opened += 1
            self.sessions.append(f"{self._session}-{self._opened}")
            headers.append(("Mcp-Session-Id", self.sessions[-1]))
        found = initialized(self.revision, self._capabilities)
        await request.json(result(request.message["id"], found), headers=headers)

    async def give(self, request: HttpRequest, **members: Json) -> None:
        """Answer with a result, as the revision wants it."""
        await request.result(**self.complete(request, members))

    def complete(self, request: HttpRequest, members: Json) -> Json:
        """Return the members of a result with those that the revision wants in it."""
        if self.is_modern:
            members = {"resultType": "complete", **members}
            if request.message["method"] in CACHEABLE:
                members = {"ttlMs": 0, "cacheScope": "private", **members}
        return members
