"""The public `Server`: functions become tools, resources, prompts and completions.

Spec: server
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from msgspec import UNSET

from wigwag.errors import TransportError
from wigwag.protocol.events import NotificationReceived
from wigwag.protocol.server import CacheHint, ServerProtocol
from wigwag.runtime.dispatch import Dispatch, Handler
from wigwag.runtime.server_connection import ServerConnection
from wigwag.runtime.tasks import start_task
from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import REVISIONS, Implementation
from wigwag.server.catalogue import OnDuplicate
from wigwag.server.limits import Limits
from wigwag.server.registration import Registry

if TYPE_CHECKING:  # what is not needed to import a server
    from wigwag.runtime.middleware import MiddlewareList
    from wigwag.schema import Icon
    from wigwag.server.asking.memory import Keeper
    from wigwag.server.http_app import HttpApp, HttpKeywords
    from wigwag.server.middleware import Middleware
    from wigwag.server.principal import Identify
    from wigwag.server.protection import Auth, Protection
    from wigwag.server.session_names import SessionManagerNames
    from wigwag.server.uris.resource_uris import ResourceSecurity
    from wigwag.server.web_routes import WebRoutes
    from wigwag.stores.contract import Stores
    from wigwag.transports.contract import Connection

R = TypeVar("R", bound=Callable[..., Any])
S = TypeVar("S", bound=ServerConnection)
Lifespan = Callable[["Server"], AbstractAsyncContextManager[Any]]


class Server(Registry):
    """An MCP server: register functions with its decorators, then `run` it.

    >>> server = Server("adder", version="1.0.0")
    >>> @server.tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b

    Type hints are the schema and the docstring is the description. Plain functions run in worker
    threads, `async def` ones on the event loop. One server may serve many clients at once, in every
    revision of the protocol.

    Args:
        name: Its name, for programs; or an `Implementation` that says more about it.
        version: Its version.
        title: Its name, for people.
        description: What it is for, for people.
        website_url: Where there is more about it.
        icons: Pictures to show beside its name.
        instructions: How to use it, for the model.
        lifespan: An async context manager around the time in which the server serves; what it
            yields is `Context.lifespan`.
        revisions: The protocol revisions it serves; all of them unless narrowed.
        limits: Bounds on what it takes and spends.
        state_keys: What seals the state that modern clients carry between the rounds of a call:
            secrets of at least 32 random bytes each. The first one seals, all of them open, so
            that keys can be changed. Servers that stand in for each other need the same ones;
            without any, one is made that ends with the process.
        page_size: How many features a page of a list holds; `None` for all of them.
        on_duplicate: What happens to a feature whose name is taken: it is an `error`; it takes the
            place of the other one, with a warning in the log (`warn`) or without (`replace`); or
            it is left out (`ignore`).
        strict_input: Have tools take nothing but values of the very types that they declare.
        cache_hints: How long clients may keep the results of a method, such as `tools/list`, and
            for whom; they are told not to keep what is not among them.
        middleware: What is put around every request and notification, outermost first.
        auth: Whose tokens a request over HTTP must bring: an issuer, as its URL; a
            `TokenVerifier`; a function that is called with a token; several of these; or a
            `Protection`, which says more. `Context.principal` is whose token it was. Over stdio,
            sockets and in memory it does nothing, and everything may be used: there the client is
            a program of whoever started the server.
        identify: Recognises who has sent a request, by its HTTP request (`None` elsewhere), and
            returns the `Principal`; it may be `async`. A `RequestFailed` that it raises refuses.
            It is in place of `auth`.
        resource_security: What the values of variables of resource templates may be; by default
            nothing that climbs out of a directory.
        extensions: The settings of the extensions that it supports, by their identifiers.

    Raises:
        TypeError: `auth` is nothing that could verify a token.
        ValueError: A key is too short, a revision is unknown, or `auth` cannot be used.
    """

    def __init__(  # noqa: PLR0913 - options, each of its own and given by name
        self,
        name: str | Implementation,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        description: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] | None = None,
        instructions: str | None = None,
        lifespan: Lifespan | None = None,
        revisions: Sequence[str] = REVISIONS,
        limits: Limits | None = None,
        state_keys: Sequence[bytes | str] = (),
        page_size: int | None = None,
        on_duplicate: OnDuplicate = "error",
        strict_input: bool = False,
        cache_hints: Mapping[str, CacheHint] | None = None,
        middleware: Sequence[Middleware] = (),
        auth: Auth | None = None,
        identify: Identify | None = None,
        resource_security: ResourceSecurity | None = None,
        extensions: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if not isinstance(version, str):
            raise TypeError(f"the version is text, as '1.0.0', not {version!r}")
        if isinstance(name, str):
            name = Implementation(
                name=name,
                version=version,
                title=title or UNSET,
                description=description or UNSET,
                website_url=website_url or UNSET,
                icons=list(icons) if icons else UNSET,
            )
        self.limits = limits or Limits()
        super().__init__(
            name,
            instructions=instructions,
            revisions=revisions,
            threads=WorkerThreads(self.limits.worker_threads),
            max_subscriptions=self.limits.subscriptions,
            page_size=page_size,
            on_duplicate=on_duplicate,
            strict_input=strict_input,
            cache_hints=cache_hints or {},
            extensions=extensions or {},
        )
        # Made here, as handlers in threads must not each make one.
        self._state_keys = tuple(state_keys) or (os.urandom(32),)
        self._has_state_keys = bool(state_keys)
        self._keeper: Keeper | None = None
        if state_keys:
            self.keeper  # noqa: B018 - a key that is no good is to be noticed here
        self._lifespan = lifespan
        self._serving = 0  # how many `running` blocks are open
        self._lifespan_turn = asyncio.Lock()
        self._entered: AsyncExitStack | None = None
        self._identify = identify
        self.protection: Protection | None = None
        """What is asked of requests over HTTP, if anything is."""
        if auth is not None:
            self.protection = self._protected_by(auth)
        self.resource_security = resource_security
        self._handlers: dict[str, Handler] = {}
        self._hearing: set[asyncio.Task[None]] = set()
        self._middleware: MiddlewareList[Middleware] | None = None
        self.web_routes: WebRoutes | None = None
        """The pages that `custom_route` has added."""
        for step in middleware:
            self.middleware.append(step)
        self._rewire()

    def __repr__(self) -> str:
        """The name and version."""
        return f"<Server {self.info.name} {self.info.version}>"

    @property
    def max_message_bytes(self) -> int:
        """Longest message accepted from a client."""
        return self.limits.max_message_bytes

    @property
    def instructions(self) -> str | None:
        """How to use the server, for the model."""
        text = self._description.instructions
        return None if text is UNSET else text

    @property
    def keeper(self) -> Keeper:
        """What keeps the memory of calls between their rounds."""
        if self._keeper is None:
            # Only a server that asks its clients needs this.
            from wigwag.server.asking.memory import Keeper  # noqa: PLC0415
            from wigwag.server.asking.sealing import Seal  # noqa: PLC0415

            limits, seal = self.limits, Seal(self._state_keys)
            self._keeper = Keeper(seal, self.info.name, limits.state_lifetime, limits.state_bytes)
        return self._keeper

    def share_state_key(self, key: bytes) -> None:
        """Seal with a key that other processes have too, unless it was given keys of its own.

        To be called before it serves.

        Args:
            key: At least 32 random bytes.
        """
        if not self._has_state_keys:
            self._state_keys = (key,)

    @property
    def middleware(self) -> MiddlewareList[Middleware]:
        """What is put around every request and notification: a list to append to, or a decorator.

        A middleware is an async function of the `Context` of what is served and of what comes next.
        It returns what `await call_next(context)` returns, the result, or another one; or raises.
        Requests that the protocol answers by itself, such as `ping`, pass through it as well.
        """
        if self._middleware is None:
            from wigwag.runtime.middleware import MiddlewareList  # noqa: PLC0415 - few have any

            self._middleware = MiddlewareList(self._rewire)
        return self._middleware

    def forward_logs(
        self,
        logger: str = "",
        level: int | str = logging.INFO,
        formatter: logging.Formatter | None = None,
    ) -> None:
        """Send what is logged while a request is served to the client of that request.

        A client gets the records of the level that it asked for and above, and none of Wigwag's
        own. Tracebacks stay here.

        Args:
            logger: The logger whose records are sent, with those below it; `""` for all.
            level: The lowest level that is sent.
            formatter: What makes the text; without one, records with `extra` are sent as objects.

        Raises:
            ValueError: There is no such level.

        Spec: server/utilities/logging
        """
        from wigwag.server.log_bridge import LogBridge  # noqa: PLC0415 - few servers want it

        self.middleware.append(LogBridge(logger, level, formatter))

    def _protected_by(self, auth: Auth) -> Protection:
        if self._identify is not None:
            raise ValueError(
                "both `auth` and `identify` would say who asks: leave `identify` out, and have a "
                "function in `auth` return the Principal of a token"
            )
        from wigwag.server.protection import Protection  # noqa: PLC0415 - few are protected

        return Protection.of(auth)

    def _check_unprotected(self) -> None:
        """Refuse to serve by HTTP what was meant to be protected.

        Raises:
            ValueError: Something was.
        """
        how = "say whose tokens are taken, as in Server(…, auth='https://login.example.com')"
        needing = self._needing_more()
        if needing is not None and self._identify is None:
            raise ValueError(
                f"{needing} needs scopes or roles, and nobody who asks by HTTP would have any: "
                f"{how}"
            )
        for each in self._all_mounted():
            if isinstance(each, Server) and each.protection is not None:
                raise ValueError(
                    f"{each.info.name} is protected and mounted at {self.info.name}, which is not: "
                    f"{how}"
                )

    def _rewire(self) -> None:
        steps = tuple(self._middleware or ())
        self.pipeline = None
        if steps or self._identify is not None:
            from wigwag.server.middleware import Pipeline  # noqa: PLC0415 - few have any

            self.pipeline = Pipeline(self, steps, self._identify)
        is_protected = self.protection is not None
        self._description.is_observed = is_protected or self.pipeline is not None
        # The same object, which connections that are open have.
        self._handlers.clear()
        self._handlers |= self._answers.table(self.pipeline, is_protected=is_protected)

    # --- serving

    def run(
        self,
        transport: Literal["stdio", "http", "streamable-http", "tcp", "unix"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8765,
        path: str | None = None,
        certfile: str | None = None,
        keyfile: str | None = None,
        **http: Unpack[HttpKeywords],
    ) -> None:
        """Serve until the host is gone or the process is told to stop; does not return before.

        Over stdio, standard output belongs to the protocol from here on: whatever is printed goes
        to standard error instead. When the host closes the input, the process ends within a second
        even if a tool is still running. SIGTERM and Ctrl+C end it cleanly, with open HTTP streams
        too.

        Args:
            transport: `stdio`; `http`, the Streamable HTTP of all revisions; or the framing of
                stdio over a socket: `tcp` or `unix`.
            host: Where to listen, for `http` and `tcp`.
            port: Where to listen, for `http` and `tcp`; 0 for a free one, which is then told.
            path: The path of the endpoint, for `http`, by default `/mcp`; or the socket, for
                `unix`.
            certfile: The certificate, for `http` with TLS.
            keyfile: Its key, if that is not in the same file.
            **http: What else `http_app` takes, for `http`.

        Raises:
            SystemExit: It cannot serve, as the streams are closed or the address is taken; the
                text says which.
            ValueError: There is no such transport, or its `path` is missing.
            RuntimeError: An event loop runs already, or the program is only loaded.
        """
        _check_may_run()
        is_http = transport in ("http", "streamable-http")
        if http and not is_http:
            raise TypeError(f"{', '.join(http)} is for HTTP, not for {transport}")
        # Only a program that serves needs this; one that is imported does not.
        from wigwag.server import process  # noqa: PLC0415

        try:
            if is_http:
                from wigwag.server.http_process import run_http  # noqa: PLC0415

                app = self.http_app(path or "/mcp", host=host, **http)
                run_http(app, self.info.name, host, port, certfile=certfile, keyfile=keyfile)
            elif transport == "stdio":
                process.run_stdio(self)
            else:
                process.run_sockets(self, transport, host, port, path)
        except TransportError as error:
            # For whoever has started the program: the last line of a traceback is all they need.
            raise SystemExit(f"{self.info.name} cannot serve: {error}") from None

    async def serve(self, connection: Connection) -> None:
        """Serve one connection until it ends.

        Args:
            connection: A connection that nobody has started yet.
        """
        async with self.running():
            served = self.start(connection)
            try:
                await served.wait_closed()
            finally:
                await served.aclose()

    @overload
    def start(self, connection: Connection) -> ServerConnection: ...
    @overload
    def start(self, connection: Connection, kind: type[S]) -> S: ...

    def start(
        self, connection: Connection, kind: type[ServerConnection] = ServerConnection
    ) -> ServerConnection:
        """Begin to serve a connection, within `running`, and return what serves it."""
        served = kind(
            connection,
            ServerProtocol(self._description),
            self._handlers,
            max_calls=self.limits.calls,
            hear=self.hear,
        )
        stop_telling = self.tell(served.publish)
        served.call_when_closed(lambda _: stop_telling())
        return served

    def http_app(  # noqa: PLR0913 - each is a keyword of its own, and most are never given
        self,
        path: str = "/mcp",
        *,
        host: str | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        cors: bool = False,
        sessions: bool = True,
        streams: bool = False,
        sse: bool | str = False,
        health: bool | str = False,
        grace: float = 5.0,
        stores: Stores | None = None,
    ) -> HttpApp:
        """Return the server as an ASGI application, for uvicorn, granian, hypercorn or a framework.

        Modern requests and sessions of all legacy revisions that have them are served at the same
        path, with and without a slash at its end. Mounted at a prefix, the endpoint is below it,
        and the prefix with a slash is the endpoint too. Nobody needs to run the lifespan of the
        application.

        Args:
            path: The path of the endpoint.
            host: The address that it will be bound to, if known. Bound to a loopback address, it
                answers requests to `localhost` only, unless `allowed_hosts` says more.
            allowed_hosts: Names it is reached by, such as `mcp.example.com`, `*.example.com` or
                `*`; by default any, when it is not bound to a loopback address.
            allowed_origins: Web pages that may use it besides its own, such as
                `https://app.example.com` or `*`.
            cors: Let those pages read the answers, too.
            sessions: Give legacy clients sessions. Without, no state is kept of them, and nothing
                can be asked of them while they wait; modern clients do not notice.
            streams: Answer by a stream of events even when there is nothing to send before the
                result.
            sse: Serve HTTP+SSE of 2024-11-05 as well: at `/sse`, or at this path.
            health: Answer `GET /health`, or this path, whoever asks.
            grace: Seconds that requests have to finish when the server ends.
            stores: Where sessions, events and news of changes are kept; by default in memory.

        Raises:
            ValueError: The path does not begin with a slash, or a host or origin cannot be read; it
                is not known which URL a protected server has; or something needs scopes or is
                protected, and the server is not.
        """
        if self.protection is None:
            self._check_unprotected()
        from wigwag.runtime.http_endpoint import HttpLimits  # noqa: PLC0415
        from wigwag.server.http_app import HttpApp, HttpOptions  # noqa: PLC0415
        from wigwag.stores.memory import memory_stores  # noqa: PLC0415

        limits = self.limits
        made = stores or memory_stores(
            max_sessions=limits.sessions,
            max_events=limits.events,
            max_event_bytes=limits.event_bytes,
        )
        return HttpApp(
            self,
            self._description,
            self._handlers,
            made,
            HttpLimits(
                max_message_bytes=limits.max_message_bytes,
                session_lifetime=limits.session_lifetime,
                streams=limits.streams,
                calls=limits.calls,
                keep_alive=limits.keep_alive,
                retry=limits.retry,
            ),
            HttpOptions(
                path=path,
                host=host,
                allowed_hosts=allowed_hosts,
                allowed_origins=allowed_origins,
                cors=cors,
                sessions=sessions,
                streams=streams,
                sse=sse,
                health=health,
                grace=grace,
            ),
            self.hear,
        )

    def streamable_http_app(
        self,
        *,
        streamable_http_path: str = "/mcp",
        host: str = "127.0.0.1",
        stateless_http: bool = False,
        json_response: bool = False,
        **http: Unpack[HttpKeywords],
    ) -> HttpApp:
        """Return what `http_app` returns, by the names that the official SDK has for it.

        Like there, it answers requests to `localhost` only, unless `host` or `allowed_hosts` says
        more.

        Args:
            streamable_http_path: The `path`.
            host: The `host`.
            stateless_http: The contrary of `sessions`.
            json_response: Makes no difference: answers are plain JSON, except where something has
                to be sent before the result.
            http: What else `http_app` takes.

        Raises:
            ValueError: The path does not begin with a slash, or a host or origin cannot be read.
        """
        if stateless_http:
            http.setdefault("sessions", False)
        return self.http_app(streamable_http_path, host=host, **http)

    @property
    def session_manager(self) -> SessionManagerNames:
        """What programs written for the official SDK run around an application that is mounted.

        Nothing needs to: an application begins with its first request.
        """
        from wigwag.server.session_names import SessionManagerNames  # noqa: PLC0415 - as few do

        return SessionManagerNames(self.running)

    def custom_route(
        self,
        path: str,
        methods: Sequence[str] = ("GET",),
        name: str | None = None,
        *,
        protected: bool = False,
    ) -> Callable[[R], R]:
        """Serve a page of the server's own beside its endpoint; used as a decorator.

        The function is async, takes a Starlette `Request` and returns a `Response`. Unless it is
        protected, nothing is checked before it is called: not the host, not the origin, not who
        asks.

        Args:
            path: Where it is, with variables as Starlette has them: `/pictures/{name}`.
            methods: What it answers.
            name: The name of the route.
            protected: Ask for the same token as the endpoint does, with the same scopes.

        Raises:
            RuntimeError: Starlette is not installed.
            ValueError: It is to be protected, and the server has no `auth`.
        """
        if protected and self.protection is None:
            raise ValueError(f"{path} cannot be protected: the server has no `auth`")
        if self.web_routes is None:
            from wigwag.server.web_routes import WebRoutes  # noqa: PLC0415 - few servers have any

            self.web_routes = WebRoutes()
        routes = self.web_routes

        def register(handler: R) -> R:
            routes.add(path, methods, name, handler, is_protected=protected)
            return handler

        return register

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the server's lifespan open; it is entered once, however many blocks are open."""
        async with self._lifespan_turn:
            if self._serving == 0 and (self._lifespan is not None or self._mounted):
                self._entered = await self._enter_lifespans()
            self._serving += 1
        try:
            yield
        finally:
            async with self._lifespan_turn:
                self._serving -= 1
                if self._serving == 0:
                    for task in self._hearing:
                        task.cancel()
                    entered, self._entered = self._entered, None
                    if entered is not None:
                        await entered.aclose()

    async def _enter_lifespans(self) -> AsyncExitStack:
        """Enter the lifespan of this server, and those of the servers that it offers as well."""
        async with AsyncExitStack() as stack:
            for server in self._mounted:
                if isinstance(server, Server):
                    await stack.enter_async_context(server.running())
            if self._lifespan is not None:
                self.lifespan_value = await stack.enter_async_context(self._lifespan(self))
            return stack.pop_all()

    # --- for connections

    def hear(self, notification: NotificationReceived, connection: Dispatch) -> None:
        """Take a notification that says more than the protocol itself understands."""
        if notification.method not in self._notifications and self.pipeline is None:
            return
        from wigwag.server.hearing import hear  # noqa: PLC0415 - few servers listen

        method = self._notifications.get(notification.method)
        task = start_task(
            hear(self, self.pipeline, method, notification, connection),
            asyncio.get_running_loop(),
        )
        self._hearing.add(task)
        task.add_done_callback(self._hearing.discard)


def _check_may_run() -> None:
    """Refuse to run a server where it cannot, or is not meant to.

    Raises:
        RuntimeError: An event loop runs already, or the program is only loaded.
    """
    from wigwag.server.process import is_being_loaded  # noqa: PLC0415 - only who serves needs it

    if is_being_loaded.get():
        raise RuntimeError(
            "this server runs itself while it is only loaded: put run() below "
            'if __name__ == "__main__":'
        )
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "run() makes an event loop of its own; within one, await serve(connection), or "
        "give http_app() to an ASGI server"
    )
