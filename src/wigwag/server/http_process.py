"""A process that is a web service: uvicorn around the ASGI application of a server.

uvicorn waits for open responses before it ends, and streams never end by themselves; so the
application is told to end its streams first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from wigwag.errors import TransportError
from wigwag.server.departure import Departure
from wigwag.server.process import first, run_until_told
from wigwag.transports.sockets import bind_tcp

if TYPE_CHECKING:
    from wigwag.server.http_app import ForwardedReader
    from wigwag.transports.asgi import Receive, Scope, Send

# Longer than the 60 s for which most proxies keep an idle connection, so that they close it first.
IDLE_CONNECTION_TIMEOUT: Final = 75
# What is left to do once the application has ended its answers.
CLOSE_TIMEOUT: Final = 2
BACKLOG: Final = 2048


class RunnableApp(Protocol):
    """What a process needs of its application."""

    path: str
    read_forwarded: ForwardedReader | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of an ASGI server."""
        ...

    async def start(self) -> None:
        """Begin to serve."""
        ...

    async def aclose(self) -> None:
        """End open streams at once, and requests after a grace."""
        ...


def run_http(
    app: RunnableApp,
    name: str,
    host: str,
    port: int,
    *,
    certfile: str | None = None,
    keyfile: str | None = None,
) -> None:
    """Serve an application until the process is told to stop.

    Raises:
        TransportError: The address cannot be had, the certificate cannot be used, or what is
            needed for HTTP is not installed.
    """
    serving = make_http_server(app, certfile=certfile, keyfile=keyfile)
    sockets = bind_tcp(host, port, backlog=BACKLOG)
    where = address_of(sockets[0], app.path, "https" if certfile else "http")
    serve_sockets(app, serving, sockets, lambda: announce(name, where))


def serve_sockets(
    app: RunnableApp, serving: Any, sockets: list[socket.socket], on_ready: Callable[[], None]
) -> None:
    """Serve on sockets that listen already, until the process is told to stop.

    Args:
        app: The application.
        serving: What `make_http_server` has returned.
        sockets: Where; they are closed in the end.
        on_ready: Called once it serves.
    """

    async def serve(started: asyncio.Event, stop: asyncio.Event) -> None:
        await app.start()
        started.set()
        running = asyncio.get_running_loop().create_task(serving.serve(sockets=sockets))
        on_ready()
        await first(asyncio.shield(running), stop.wait())
        serving.should_exit = True
        await running
        await app.aclose()

    departure = Departure()
    try:
        run_until_told(serve, departure, loop_factory=_loop_factory())
    finally:
        departure.call_off()
        for each in sockets:
            each.close()


def make_http_server(
    app: RunnableApp, *, certfile: str | None = None, keyfile: str | None = None
) -> Any:
    """Return a uvicorn server of an application, which leaves signals to whoever runs it.

    Raises:
        TransportError: The certificate cannot be used, or what is needed for HTTP is not installed.
    """
    uvicorn: Any = _import_uvicorn()
    config = uvicorn.Config(
        app,
        proxy_headers=False,  # it would look for them in every request; see below
        loop="none",
        http=_protocol(),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_CONNECTION_TIMEOUT,
        timeout_graceful_shutdown=CLOSE_TIMEOUT,
        ssl_certfile=certfile,
        ssl_keyfile=keyfile,
    )
    app.read_forwarded = _forwarded_reader(config.forwarded_allow_ips)
    try:
        config.load()
    except OSError as error:  # ssl's errors are among them
        raise TransportError(f"the certificate {certfile} cannot be used: {error}") from error

    class DrainingServer(uvicorn.Server):  # type: ignore[misc]
        """Ends the application's answers before it waits for them to end."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            for listener in self.servers:
                listener.close()
            await app.aclose()
            await super().shutdown(sockets)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # they are taken care of

    return DrainingServer(config)


def _forwarded_reader(trusted: Any) -> ForwardedReader:
    """Return what shows in a scope the client of the proxy that its request came by.

    Args:
        trusted: The addresses of proxies that are believed.
    """
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware  # noqa: PLC0415

    async def nothing_more(scope: Any, receive: Any, send: Any) -> None:
        pass

    return cast("ForwardedReader", ProxyHeadersMiddleware(nothing_more, trusted))


def _import_uvicorn() -> Any:
    try:
        import uvicorn  # noqa: PLC0415
    except ImportError:
        raise TransportError(
            "HTTP needs uvicorn, which is not installed: pip install 'wigwag[http]'"
        ) from None
    return uvicorn


def _protocol() -> str:
    try:
        import httptools  # noqa: F401, PLC0415
    except ImportError:
        return "auto"  # slower
    return "httptools"


def _loop_factory() -> Any:
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:  # there is none for Windows
        return None
    return uvloop.new_event_loop


def address_of(listener: socket.socket, path: str, scheme: str) -> str:
    """Return the URL of what listens on a socket."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}{path or '/'}"


def announce(name: str, where: str) -> None:
    """Say where to connect to."""
    print(f"{name} listens on {where}", file=sys.stderr, flush=True)  # noqa: T201 - to a person
