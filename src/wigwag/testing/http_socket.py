"""Serves a server over HTTP on a socket of this machine, in the event loop of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from wigwag.server.http_process import make_http_server
from wigwag.server.server import Server
from wigwag.transports.sockets import bind_tcp

HOST: Final = "127.0.0.1"
BACKLOG: Final = 128
# A test that is over waits for nothing.
GRACE: Final = 0.1


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[str]:
    """Serve on a free port until the end of the context; yields the URL.

    Raises:
        TransportError: What HTTP needs is not installed.
    """
    app = server.http_app(host=HOST, grace=GRACE)
    http_server = make_http_server(app)
    (listener,) = bind_tcp(HOST, 0, backlog=BACKLOG)
    try:
        await app.start()
        running = asyncio.get_running_loop().create_task(http_server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}{app.path}"
        finally:
            http_server.should_exit = True
            await asyncio.wait([running])
            await app.aclose()
    finally:
        listener.close()
