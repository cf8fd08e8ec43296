"""What a handler knows of the request that it serves, what it can tell the client, and ask it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, Protocol, get_args

import msgspec
from msgspec import UNSET, Raw

from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codec import encode_value
from wigwag.protocol.events import RequestReceived
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import (
    ClientCapabilities,
    Implementation,
    LoggingLevel,
    ReadResourceResult,
)
from wigwag.server.input_required import InputRequired
from wigwag.server.inquiry import Inquiry, Remembers

if TYPE_CHECKING:
    from wigwag.transports.asgi import HttpRequest

_LEVELS: Final[tuple[LoggingLevel, ...]] = get_args(LoggingLevel)


class Services(Remembers, Protocol):
    """What a context needs of its server."""

    lifespan_value: Any

    async def read_resource(self, uri: str, context: Context) -> ReadResourceResult | InputRequired:
        """Read a resource of the server on behalf of a request."""
        ...

    def resource_updated(self, uri: str) -> None:
        """Tell clients that subscribed to a resource that it has changed."""
        ...


class _Done:
    """Has happened already, and may be awaited all the same."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


_DONE = _Done()


class Context(Inquiry):
    """The request being served. A handler gets it by having a parameter of this type.

    Its methods that tell the client something act at once and may be awaited or not, so that they
    serve in `async def` handlers and in plain ones, which run in threads.
    """

    def __init__(self, services: Services, connection: Dispatch, request: RequestReceived) -> None:
        super().__init__(services, connection, request)
        self._services = services

    # --- the request

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
    def lifespan(self) -> Any:
        """What the server's `lifespan` yielded; `None` without one."""
        return self._services.lifespan_value

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
