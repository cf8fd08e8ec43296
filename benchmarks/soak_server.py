"""A server that is killed while it is used: the other end of `soak.py`.

    soak_server.py [--port PORT | --descriptor FD]

Serves on its standard streams, on a port, or on a socket that listens already, which it was left by
whoever started it.
"""

import argparse
import asyncio
import os
import socket

from wigwag import Server
from wigwag.schema import ToolAnnotations

server = Server("soak")


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
async def echo(text: str, seconds: float) -> str:
    """Return the text after a while."""
    await asyncio.sleep(seconds)
    return text


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def process_id() -> str:
    """Return the id of this process."""
    return str(os.getpid())


async def serve_http(listener: socket.socket) -> None:
    """Serve at `/mcp` of a socket that listens."""
    import uvicorn  # noqa: PLC0415 - stdio does without

    config = uvicorn.Config(server.http_app(allowed_hosts=["127.0.0.1"]), log_level="warning")
    await uvicorn.Server(config).serve(sockets=[listener])


def listener_on(port: int) -> socket.socket:
    """Listen on a port that was this server's before."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(1024)
    return listener


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--descriptor", type=int)
    options = parser.parse_args()
    if options.descriptor is not None:
        asyncio.run(serve_http(socket.socket(fileno=options.descriptor)))
    elif options.port is not None:
        asyncio.run(serve_http(listener_on(options.port)))
    else:
        server.run()


if __name__ == "__main__":
    main()
