"""What a handler knows of the request that it serves, what it can tell the client, and ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, cast, get_args

import msgspec
from msgspec import UNSET, Raw

from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codec import encode_value
from wigwag.protocol.events import RequestReceived
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import METHODS, NOTIFICATIONS_ELICITATION_COMPLETE, LoggingLevel
from wigwag.server.access import Caller
from wigwag.server.asking.input_required import InputRequired
from wigwag.server.asking.inquiry import Inquiry

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers have it, and it need not be installed

    from wigwag.schema import ClientCapabilities, Implementation, ReadResourceResult
    from wigwag.server.asking.inquiry import Remembers
    from wigwag.server.principal import Principal
    from wigwag.server.session_names import SessionNames
    from wigwag.server.trace_context import TraceContext
    from wigwag.transports.asgi import HttpRequest

    L = TypeVar("L", default=Any)

    # For type checkers alone: making a protocol at run time takes longer than another class.
    class Services(Remembers, Protocol):
        """What a context needs of its server."""

        lifespan_value: Any
        dependency_overrides: dict[Callable[..., Any], Callable[..., Any]]

        async def read_resource(
            self, uri: str, context: Context[Any]
        ) -> ReadResourceResult | InputRequired:
            """Read a resource of the server on behalf of a request."""
            ...

        def resource_updated(self, uri: str) -> None:
            """Tell clients that subscribed to a resource that it has changed."""
            ...

        def tools_changed(self) -> None:
            """Tell clients that the list of tools has changed."""
            ...

        def resources_changed(self) -> None:
            """Tell clients that the list of resources or of templates has changed."""
            ...

        def prompts_changed(self) -> None:
            """Tell clients that the list of prompts has changed."""
            ...

else:
    from typing import TypeVar

    L = TypeVar("L")

_LEVELS: Final[tuple[LoggingLevel, ...]] = get_args(LoggingLevel)
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class _Done:
    """Has happened already, and may be awaited all the same."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


_DONE = _Done()


class Context(Inquiry, Generic[L]):
    """The request being served. A handler gets it by having a parameter of this type.

    Its methods that tell the client something act at once and may be awaited or not, so that they
    serve in `async def` handlers and in plain ones, which run in threads. `Context[AppState]` says
    what the server's `lifespan` yields.
    """

    def __init__(self, services: Services, connection: Dispatch, request: RequestReceived) -> None:
        super().__init__(services, connection, request)
        self._services = services
        self._state: dict[str, Any] | None = None
        self._principal: Any = UNSET  # not looked for yet

    # --- the request

    @property
    def method(self) -> str:
        """The method of the request, such as `tools/call`."""
        return self._request.method

    @property
    def params(self) -> Any:
        """The params of the request, as the type that `wigwag.schema` has for those of its method.

        Arguments of a tool are there as they came: `msgspec.Raw`, which is JSON. A middleware may
        set others, of the same type, before it calls what comes next.
        """
        return self._request.params

    @params.setter
    def params(self, params: Any) -> None:
        self._request.params = params

    @property
    def request_id(self) -> str | int:
        """The id of the request, as the client chose it."""
        return self._request.id

    @property
    def protocol_version(self) -> str:
        """The revision in which the request is asked, for example `2026-07-28`."""
        return self._request.revision

    @property
    def client_info(self) -> Implementation | None:
        """What the client calls itself, if it says so. Nobody vouches for it: display only."""
        info = self._request.client_info
        return None if info is UNSET else info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client declared: with this request, or when its session began."""
        return self._request.client_capabilities

    @property
    def meta(self) -> dict[str, Any]:
        """All of the request's `_meta`, the keys that MCP does not define included."""
        params = msgspec.json.decode(self._request.source, type=_Message).params
        return {} if params is UNSET or params.meta is UNSET else params.meta

    @property
    def http_request(self) -> HttpRequest | None:
        """The HTTP request that this request came by: its headers, its client's address, its path.

        `None` over other transports. Credentials are among the headers: do not log them.
        """
        return self._connection.http_of(self._request)

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of that HTTP request, by names in any case; empty over other transports."""
        http = self.http_request
        return _NO_HEADERS if http is None else http.headers

    @property
    def principal(self) -> Principal | None:
        """Who asks, as the server's `auth` or `identify` has found out; `None` if that is unknown.

        So it is over stdio, sockets and in memory, where `auth` does nothing.
        """
        if self._principal is UNSET:
            permit = self._connection.permit_of(self._request)
            self._principal = None if permit is None else permit.principal
        principal: Principal | None = self._principal
        return principal

    @principal.setter
    def principal(self, principal: Principal | None) -> None:
        self._principal = principal

    @property
    def caller(self) -> Caller:
        """Who asks, and whether that must be made sure of."""
        return Caller(self.principal, is_remote=self._connection.is_remote)

    def require_scopes(self, *scopes: str) -> None:
        """See to it that whoever asks has scopes, where that depends on what they ask for.

        Over HTTP they get a 403 that names the scopes, if nothing has been sent yet, and clients
        that can do so ask their user for more. Name all that this request needs at once, and do it
        first. Over other transports it does nothing, like the scopes of features.
        Spec: basic/authorization#runtime-insufficient-scope-errors

        Raises:
            RequestFailed: They have not; let it pass.
        """
        self.caller.require(scopes)

    @property
    def trace(self) -> TraceContext:
        """The trace that the client says the request is part of."""
        from wigwag.server.trace_context import TraceContext  # noqa: PLC0415 - few ask for it

        return TraceContext.of(self.meta)

    @property
    def state(self) -> dict[str, Any]:
        """What is left for others who serve the same request, such as by middleware for handlers.

        When a client has answered a question, the call is a new request, with an empty one.
        """
        if self._state is None:
            self._state = {}
        return self._state

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for the answer any more: for plain functions, to stop themselves.

        An `async def` handler is cancelled by itself.
        """
        outer = self if self._outer is None else self._outer
        return outer._has_ended or not self._connection.protocol.is_in_flight(self._request)

    def check_cancelled(self) -> None:
        """Stop a plain function if nobody waits for its answer any more.

        Raises:
            CancelledError: Nobody does; let it pass.
        """
        if self.is_cancelled:
            raise asyncio.CancelledError

    @property
    def server(self) -> Any:
        """The server: the one that the handler belongs to."""
        return self._services

    @property
    def lifespan(self) -> L:
        """What the server's `lifespan` yielded; `None` without one."""
        return cast("L", self._services.lifespan_value)

    @property
    def lifespan_context(self) -> L:
        """The same as `lifespan`, by the name that the official SDK has for it."""
        return self.lifespan

    @property
    def request_context(self) -> Context[L]:
        """The context itself, where the official SDK has another object for some of this."""
        return self

    @property
    def session(self) -> SessionNames:
        """Some of what is here, by the names that the official SDK has for it."""
        from wigwag.server.session_names import SessionNames  # noqa: PLC0415 - for few programs

        return SessionNames(self)

    @property
    def dependency_overrides(self) -> Mapping[Callable[..., Any], Callable[..., Any]]:
        """The functions that stand in for those of dependencies."""
        return self._services.dependency_overrides

    def require_capability(self, needed: ClientCapabilities) -> None:
        """See to it that the client can do something.

        Raises:
            RequestFailed: It did not declare that; let it pass, it is the answer the protocol
                wants. Spec: basic#error-codes
        """
        self._connection.protocol.require_client_capability(self._request, needed)

    # --- telling the client

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> _Done:
        """Tell how far the request has come, if the client wants to know.

        Args:
            progress: Must grow from call to call; a value that has not grown is not sent.
            total: Its value when all is done, if known.
            message: What is going on, for a person to read.
        """
        return self._act(
            self._connection.send_progress,
            self._request,
            progress,
            UNSET if total is None else total,
            UNSET if message is None else message,
        )

    def log(self, level: LoggingLevel, data: Any, *, logger: str | None = None) -> _Done:
        """Send the client a log message, if it wants messages of this level.

        Args:
            level: From `debug` to `emergency`.
            data: Text or any JSON value. No secrets: the client may show it to anybody.
            logger: Name of the part of the server that it comes from.

        Raises:
            LocalProtocolError: `data` has no form in JSON, or there is no such level.
        """
        if level not in _LEVELS:
            raise LocalProtocolError(f"there is no level {level!r}: {', '.join(_LEVELS)}")
        if not self._is_on_the_loop:  # it is to fail here, not where nobody waits
            data = Raw(encode_value(data))
        name = UNSET if logger is None else logger
        return self._act(self._connection.send_log, self._request, level, data, name)

    def debug(self, data: Any, *, logger: str | None = None) -> _Done:
        """Send a log message of level `debug`; see `log`."""
        return self.log("debug", data, logger=logger)

    def info(self, data: Any, *, logger: str | None = None) -> _Done:
        """Send a log message of level `info`; see `log`."""
        return self.log("info", data, logger=logger)

    def warning(self, data: Any, *, logger: str | None = None) -> _Done:
        """Send a log message of level `warning`; see `log`."""
        return self.log("warning", data, logger=logger)

    def error(self, data: Any, *, logger: str | None = None) -> _Done:
        """Send a log message of level `error`; see `log`."""
        return self.log("error", data, logger=logger)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> _Done:
        """Send the client a notification of the server's own, as long as the request is served.

        Args:
            method: Such as `com.example/moved`.
            params: Its members: values that JSON has a form for.

        Raises:
            LocalProtocolError: JSON has no form for them, or the method is one of MCP.
        """
        if method in METHODS:
            raise LocalProtocolError(f"{method} is a method of MCP: the server sends it by itself")
        body = None if params is None else encode_value(dict(params))
        return self._act(self._connection.send_about, self._request, method, body)

    def elicitation_complete(self, elicitation_id: str) -> _Done:
        """Tell that the user is done with a page, in the one revision that has that: 2025-11-25.

        Args:
            elicitation_id: What was given to `elicit_url`.

        Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        method = METHODS[NOTIFICATIONS_ELICITATION_COMPLETE]
        if not method.exists_in(self.protocol_version):
            return _DONE
        body = encode_value({"elicitationId": elicitation_id})
        return self._act(self._connection.send_about, self._request, method.name, body)

    def close_stream(self, *, retry: float | None = None) -> _Done:
        """Let an HTTP client go meanwhile: it comes back for the result, which is kept.

        So a long call holds no connection open. Clients that could not come back, and those of
        transports other than legacy Streamable HTTP, are kept.
        Spec: 2025-11-25 basic/transports#sending-messages-to-the-server

        Args:
            retry: Seconds after which it should come back.
        """
        return self._act(self._connection.close_stream, retry)

    # --- the server's own features

    def resource_updated(self, uri: str) -> _Done:
        """Tell clients that subscribed to a resource that it reads otherwise than before."""
        self._services.resource_updated(uri)
        return _DONE

    def tools_changed(self) -> _Done:
        """Tell clients that the list of tools has changed; registering and removing does so too."""
        self._services.tools_changed()
        return _DONE

    def resources_changed(self) -> _Done:
        """Tell clients that the list of resources or templates has changed; see `tools_changed`."""
        self._services.resources_changed()
        return _DONE

    def prompts_changed(self) -> _Done:
        """Tell clients that the list of prompts has changed; see `tools_changed`."""
        self._services.prompts_changed()
        return _DONE

    # The names that the official SDK has for these.
    notify_resource_updated = resource_updated
    notify_tools_changed = tools_changed
    notify_resources_changed = resources_changed
    notify_prompts_changed = prompts_changed

    def within(self, services: Services) -> Context[Any]:
        """Return the context of the same request for a handler of another server."""
        from copy import copy  # noqa: PLC0415 - only features of mounted servers need one

        inner = copy(self)
        inner._services = services
        inner._state = self.state
        if self._is_serving:  # so it is this one that asks, and closes what is opened
            inner._outer = self._outer or self
        return inner

    async def read_resource(self, uri: str) -> ReadResourceResult:
        """Read a resource of this server, as its clients do.

        Raises:
            RequestFailed: There is no such resource.
            RuntimeError: It asks the client by hand, which only what was requested can do.
        """
        result = await self._services.read_resource(uri, self)
        if isinstance(result, InputRequired):
            raise RuntimeError(f"{uri} returned InputRequired: only what was requested can do that")
        return result

    def _act(self, function: Callable[..., object], *args: Any) -> _Done:
        if self._is_on_the_loop:
            function(*args)
        else:  # in a worker thread
            self._loop.call_soon_threadsafe(function, *args)
        return _DONE


class _Params(msgspec.Struct, frozen=True):
    meta: dict[str, Any] | msgspec.UnsetType = msgspec.field(name="_meta", default=UNSET)


class _Message(msgspec.Struct, frozen=True):
    params: _Params | msgspec.UnsetType = UNSET
