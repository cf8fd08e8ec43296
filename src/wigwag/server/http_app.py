"""A server as an ASGI application: which path is what, who may ask, when it begins and ends.

Spec: basic/transports/streamable-http
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypedDict

import msgspec

from wigwag.bindings.http_headers import RequestHeaders
from wigwag.bindings.http_hosts import HostRefusal, HostRules
from wigwag.jsonrpc.codec import encode_error
from wigwag.jsonrpc.codes import INTERNAL_ERROR, INVALID_REQUEST
from wigwag.protocol.server import ServerDescription
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.dispatch import Handler, Hear
from wigwag.runtime.http_endpoint import HttpEndpoint, HttpLimits
from wigwag.runtime.permits import Permit
from wigwag.runtime.sse_endpoints import SseEndpoints, SseServed
from wigwag.schema import Implementation
from wigwag.stores.contract import Stores
from wigwag.transports.asgi import Answer, Headers, Receive, Scope, Send
from wigwag.transports.contract import Connection

if TYPE_CHECKING:
    from wigwag.server.guard import Guard
    from wigwag.server.protection import Protection
    from wigwag.server.web_routes import WebRoutes

_logger = logging.getLogger("wigwag.http")

DEFAULT_PATH: Final = "/mcp"

_EXPOSED: Final = b"mcp-session-id, mcp-protocol-version, www-authenticate, dpop-nonce"
_METHODS: Final = b"GET, POST, DELETE, OPTIONS"
_PREFLIGHT_AGE: Final = b"86400"
# What a page may send when it does not say what it wants to.
_REQUEST_HEADERS: Final = (
    b"accept, authorization, content-type, dpop, last-event-id, mcp-method, mcp-name, "
    b"mcp-protocol-version, mcp-session-id"
)


ForwardedReader: TypeAlias = "Callable[[Scope, Receive, Send], Awaitable[None]]"


class HttpKeywords(TypedDict, total=False):
    """What `Server.run` hands on to `Server.http_app`."""

    allowed_hosts: Sequence[str] | None
    allowed_origins: Sequence[str] | None
    cors: bool
    sessions: bool
    streams: bool
    sse: bool | str
    health: bool | str
    grace: float
    stores: Stores | None


class HttpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is to be served over HTTP; see `Server.http_app`."""

    path: str = DEFAULT_PATH
    host: str | None = None
    allowed_hosts: Sequence[str] | None = None
    allowed_origins: Sequence[str] | None = None
    cors: bool = False
    sessions: bool = True
    streams: bool = False
    sse: bool | str = False
    health: bool | str = False
    grace: float = 5.0


class Servable(Protocol):
    """What an application needs of its server."""

    info: Implementation
    web_routes: WebRoutes | None

    @property
    def protection(self) -> Protection | None:
        """What is asked of requests, if anything is."""
        ...

    def scopes_of(self, method: str, about: object, /) -> Sequence[str]:
        """Return what a request needs."""
        ...

    def may_hear(self, permit: Permit | None, change: Change, /) -> bool:
        """Tell whether somebody may hear of a change."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Keep the server's lifespan open."""
        ...

    def start(self, connection: Connection, kind: type[SseServed], /) -> SseServed:
        """Begin to serve a connection."""
        ...

    def tell(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Have each change of the server handed over; returns what ends that."""
        ...


class HttpApp:
    """The ASGI application of a server; `Server.http_app` makes it.

    It needs nobody who runs its lifespan: without, it begins with the first request. It may be
    mounted several times, run again after it has ended, and run in another event loop.
    """

    def __init__(
        self,
        server: Servable,
        description: ServerDescription,
        handlers: Mapping[str, Handler],
        stores: Stores,
        limits: HttpLimits,
        options: HttpOptions,
        hear: Hear | None = None,
    ) -> None:
        if not options.path.startswith("/"):
            raise ValueError(f"the path begins with a slash, as in /mcp, not {options.path!r}")
        self._server = server
        self._description = description
        self._handlers = handlers
        self._hear = hear
        self._stores = stores
        self._limits = limits
        self._options = options
        self.path = options.path.rstrip("/")
        """The path of the endpoint, below the prefix that the application is mounted at."""
        sse = "/sse" if options.sse is True else options.sse
        self._sse_path = sse.rstrip("/") if isinstance(sse, str) else None
        self._messages_path = None if self._sse_path is None else _beside(self._sse_path)
        health = "/health" if options.health is True else options.health
        self._health_path = health if isinstance(health, str) else None
        self.rules = HostRules(
            host=options.host,
            allowed_hosts=options.allowed_hosts,
            allowed_origins=options.allowed_origins,
        )
        self._endpoints = frozenset({self.path, self._sse_path, self._messages_path})
        self._guard = None
        if server.protection is not None:
            self._guard = self._make_guard(server.protection)
        self.read_forwarded: ForwardedReader | None = None
        """Where the ASGI server leaves that to us: shows in a scope the client of a proxy."""
        self._has_warned = False
        self._life: _Life | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of an ASGI server."""
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        life = self._life
        if life is None or life.loop is not asyncio._get_running_loop():
            life = self._begin()
        endpoint = life.endpoint or await self._begun(life, send)
        if endpoint is None:
            return
        headers = RequestHeaders(scope["headers"])
        values = headers.values
        if self.read_forwarded is not None and (
            b"x-forwarded-for" in values or b"x-forwarded-proto" in values
        ):
            await self.read_forwarded(scope, receive, send)
        path: str = scope["path"]
        if path != self.path:
            path = self._below_prefix(path, scope.get("root_path", ""))
            if await self._serve_beside(path, scope, headers, receive, send):
                return
        origin = values.get(b"origin")
        refusal = self.rules.refusal(values.get(b"host"), origin)
        if refusal is not None:
            await _forbid(Answer(send), refusal)
            return
        own = _cors_headers(origin) if origin is not None and self._options.cors else ()
        answer = Answer(send, own)
        if self._guard is not None and not await self._admit(path, scope, headers, receive, answer):
            return
        if path == self.path and scope["method"] == "POST":
            await endpoint.post(scope, headers, receive, answer)
        else:
            await self._route(life, path, scope, headers, receive, answer)

    async def _serve_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    # --- its life

    async def start(self) -> None:
        """Begin to serve, in this event loop; does nothing when it does so already.

        Raises:
            Exception: The server's lifespan failed, with this.
        """
        life = self._life
        if life is None or life.loop is not asyncio.get_running_loop():
            life = self._begin()
        await life.has_begun()

    async def aclose(self) -> None:
        """End open streams at once, and requests after a grace; may be called twice."""
        life = self._life
        if life is not None and life.loop is asyncio.get_running_loop():
            try:
                await life.aclose()
            finally:
                if self._life is life:
                    self._life = None

    def _begin(self) -> _Life:
        self._life = _Life(self)
        return self._life

    async def _begun(self, life: _Life, send: Send) -> HttpEndpoint | None:
        """Return the endpoint once it serves; `None` if it does not, which has been answered."""
        try:
            if not life.stop.is_set():
                await life.has_begun()
        except Exception:
            if self._life is life:
                self._life = None  # the next request tries again
                _logger.exception("%s cannot serve: its lifespan failed", self._server.info.name)
            reason = "Internal error: the server could not start; its log says why"
            await Answer(send).whole(500, encode_error(None, INTERNAL_ERROR, reason))
            return None
        if life.endpoint is None:
            reason = "Service Unavailable: the server is about to end"
            await Answer(send).whole(503, encode_error(None, INTERNAL_ERROR, reason))
        return life.endpoint

    async def _live(self, receive: Receive, send: Send) -> None:
        """Begin and end as the ASGI server wants."""
        await receive()
        try:
            await self.start()
        except Exception as error:
            self._life = None
            _logger.exception("%s cannot serve: its lifespan failed", self._server.info.name)
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    # --- requests

    async def _route(
        self,
        life: _Life,
        path: str,
        scope: Scope,
        headers: RequestHeaders,
        receive: Receive,
        answer: Answer,
    ) -> None:
        """Serve what is not a message to the endpoint."""
        method = scope["method"]
        if method == "OPTIONS" and self._options.cors:
            await answer.whole(204, headers=_preflight_headers(headers))
        elif path in (self._sse_path, self._messages_path):
            await self._serve_sse(life, path, scope, receive, answer)
        elif path != self.path:
            where = f"{scope.get('root_path', '')}{self.path}"
            reason = f"Not Found: the MCP endpoint of this server is {where or '/'}"
            await answer.whole(404, encode_error(None, INVALID_REQUEST, reason))
        elif method == "GET":
            assert life.endpoint is not None
            await life.endpoint.get(scope, headers, receive, answer)
        elif method == "DELETE":
            assert life.endpoint is not None
            await life.endpoint.delete(scope, headers, answer)
        else:
            has_sessions = self._options.sessions and self._description.legacy
            allowed = b"GET, POST, DELETE" if has_sessions else b"POST"
            await answer.whole(405, headers=((b"allow", allowed),))

    async def _serve_sse(
        self, life: _Life, path: str, scope: Scope, receive: Receive, answer: Answer
    ) -> None:
        assert life.sse is not None
        wanted = "GET" if path == self._sse_path else "POST"
        if scope["method"] != wanted:
            await answer.whole(405, headers=((b"allow", wanted.encode()),))
        elif wanted == "GET":
            await life.sse.get(scope, receive, answer)
        else:
            await life.sse.post(scope, receive, answer)

    def _below_prefix(self, path: str, prefix: str) -> str:
        """Return a path without the prefix that the application is mounted at, and without a slash.

        The prefix itself is the endpoint as well: who mounts an application at /mcp wants it there.
        """
        if prefix and path.startswith(prefix):
            path = path[len(prefix) :]
            if path in ("", "/"):
                return self.path
        return path.rstrip("/")

    # --- who may ask

    def _make_guard(self, protection: Protection) -> Guard:
        """Make what guards it.

        Raises:
            ValueError: Nobody could tell which tokens are meant for it.
        """
        from wigwag.server.guard import Guard  # noqa: PLC0415 - few servers are protected

        listed = self._options.allowed_hosts or ()
        if protection.resource is None and (self.rules.any_host or "*" in "".join(listed)):
            raise ValueError(
                "a protected server must know its URL, which tokens are meant for: give it, as in "
                "auth=Protection(…, resource='https://mcp.example.com/mcp'), or the names that it "
                "has, as in allowed_hosts=['mcp.example.com']"
            )
        ports = [int(port) for host in listed if (port := host.rpartition(":")[2]).isdigit()]
        return Guard(
            protection,
            self._server.info.name,
            self.path,
            ports,
            self._server.scopes_of,
            self._stores.replays,
        )

    async def _admit(
        self,
        path: str,
        scope: Scope,
        headers: RequestHeaders,
        receive: Receive,
        answer: Answer,
    ) -> bool:
        """Tell whether a request may be served; one that may not has been answered."""
        if scope["method"] == "OPTIONS" or path not in self._endpoints:
            return True  # there is nothing behind it
        assert self._guard is not None
        # Messages are posted where the stream says that they are to be.
        endpoint = self._sse_path if path == self._messages_path else path
        return await self._guard.admit(scope, headers, endpoint or self.path, receive, answer)

    async def _serve_beside(
        self, path: str, scope: Scope, headers: RequestHeaders, receive: Receive, send: Send
    ) -> bool:
        """Answer a request that is for no endpoint; tell whether it was for what there is."""
        if path == self._health_path:
            await Answer(send).whole(200, b'{"status":"ok"}')
            return True
        if self._guard is not None and self._guard.is_about_resource(path):
            await self._tell_resource(self._guard, path, scope, send)
            return True
        pages = self._server.web_routes
        page = None if pages is None or path == self.path else pages.find(scope)
        if page is None:
            return False
        if not page.is_protected or await self._admit_to_page(scope, headers, receive, send):
            await page.serve(scope, receive, send)
        return True

    async def _admit_to_page(
        self, scope: Scope, headers: RequestHeaders, receive: Receive, send: Send
    ) -> bool:
        """Tell whether a page may be served that is protected; otherwise it has been answered."""
        assert self._guard is not None
        answer = Answer(send)
        refusal = self.rules.refusal(headers.values.get(b"host"), headers.values.get(b"origin"))
        if refusal is not None:
            await _forbid(answer, refusal)
            return False
        return await self._guard.admit(scope, headers, self.path, receive, answer)

    async def resource_metadata(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell where tokens come from, at the root of the origin: an ASGI application of its own.

        Where this application is mounted, clients of a protected server find the document below
        the mount, for they are told where it is. To serve those too that look for it by themselves,
        and always where it is a route, mount this at `/.well-known/oauth-protected-resource`.
        Spec: basic/authorization/authorization-server-discovery
        """
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
        elif self._guard is None:
            await Answer(send).whole(404)
        else:
            self._guard.is_told_elsewhere = True
            await self._tell_resource(self._guard, scope["path"], scope, send)

    async def _tell_resource(self, guard: Guard, path: str, scope: Scope, send: Send) -> None:
        """Answer who looks for the document about a protected server."""
        refusal = self.rules.refusal(RequestHeaders(scope["headers"]).values.get(b"host"), None)
        if refusal is not None:
            await _forbid(Answer(send), refusal)
            return
        endpoints = [self.path] if self._sse_path is None else [self.path, self._sse_path]
        await guard.answer_metadata(scope, path, endpoints, Answer(send))

    # --- for its life

    async def own(self, life: _Life) -> None:
        """Keep the server running from the beginning of a life to its end."""
        async with self._server.running():
            may_hear = None if self._guard is None else self._server.may_hear
            endpoint = HttpEndpoint(
                self._description,
                self._handlers,
                self._stores,
                self._limits,
                has_sessions=self._options.sessions,
                streams_always=self._options.streams,
                hear=self._hear,
                may_hear=may_hear,
            )
            if self._messages_path is not None:
                life.sse = SseEndpoints(
                    self._server.start,
                    max_message_bytes=self._limits.max_message_bytes,
                    max_streams=self._limits.streams,
                    messages_path=self._messages_path.rpartition("/")[2],
                    may_hear=may_hear,
                )
                endpoint.also_keep_alive(life.sse.keep_alive)
            stop_telling = self._server.tell(endpoint.publish)
            if self.rules.any_host and not self._has_warned:
                self._has_warned = True
                _logger.warning("%s %s", self._server.info.name, self.rules.describe())
            life.begun(endpoint)
            try:
                await life.stop.wait()
            finally:
                stop_telling()
                grace = self._options.grace
                await asyncio.gather(
                    endpoint.aclose(grace=grace),
                    *([] if life.sse is None else [life.sse.aclose()]),
                )
                if self._guard is not None:
                    await self._guard.aclose()


class _Life:
    """The time in which an application serves, in one event loop.

    A task of its own enters and leaves the server's lifespan: whoever asks first may be long gone
    when it ends.
    """

    def __init__(self, app: HttpApp) -> None:
        self.loop = asyncio.get_running_loop()
        self.stop = asyncio.Event()
        self.endpoint: HttpEndpoint | None = None
        self.sse: SseEndpoints | None = None
        self._begun: asyncio.Future[None] = self.loop.create_future()
        self._owner = self.loop.create_task(app.own(self))
        self._owner.add_done_callback(self._ended)

    def begun(self, endpoint: HttpEndpoint) -> None:
        """The lifespan has been entered."""
        if not self.stop.is_set():
            self.endpoint = endpoint
        if not self._begun.done():
            self._begun.set_result(None)

    async def has_begun(self) -> None:
        """Wait until it can serve.

        Raises:
            Exception: The lifespan failed, with this.
        """
        await asyncio.shield(self._begun)

    async def aclose(self) -> None:
        """End it, and wait for that; requests that still come are refused."""
        self.stop.set()
        self.endpoint = None
        await asyncio.wait([self._owner])
        if not self._owner.cancelled():
            self._owner.result()

    def _ended(self, owner: asyncio.Task[None]) -> None:
        error = None if owner.cancelled() else owner.exception()
        if not self._begun.done():
            self._begun.set_exception(error or RuntimeError("the server was stopped"))
            self._begun.exception()  # nobody may be waiting for it


def _beside(path: str) -> str:
    """Return the path of the messages of HTTP+SSE, beside that of its stream."""
    return f"{path.rpartition('/')[0]}/messages"


async def _forbid(answer: Answer, refusal: HostRefusal) -> None:
    _logger.warning("%s", refusal.reason)
    reason = f"Forbidden: {refusal.header} is not allowed; the server's log says more"
    await answer.whole(403, encode_error(None, INVALID_REQUEST, reason))


def _cors_headers(origin: bytes) -> Headers:
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"origin"),
    )


def _preflight_headers(headers: RequestHeaders) -> Headers:
    wanted = headers.get(b"access-control-request-headers") or _REQUEST_HEADERS
    return (
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", wanted),
        (b"access-control-max-age", _PREFLIGHT_AGE),
    )
