"""The least an MCP server can do as an ASGI application, by hand: the others' measure over HTTP.

    handwritten_asgi.py --http PORT [--events]

It checks nothing, keeps of a session that it was opened, and runs on what Wigwag runs on: uvicorn
with httptools and uvloop. `echo_progress` is answered by two events; `--events` answers everything
by an event.
"""

import argparse
import secrets
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

# A program finds modules beside itself, and these are named from the checkout on.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.handwritten_server import Params, Request, answer, decode, encode

JSON = (b"content-type", b"application/json")
EVENTS = (b"content-type", b"text/event-stream")

Message = dict[str, Any]


def progress(request: Request) -> bytes:
    """Tell how far a call has come."""
    assert request.params is not None
    params = {"progressToken": request.params.meta["progressToken"], "progress": 1, "total": 2}
    return encode({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def acknowledgement(request: Request) -> bytes:
    """Acknowledge a subscription."""
    params = {
        "_meta": {"io.modelcontextprotocol/subscriptionId": request.id},
        "notifications": {"toolsListChanged": True},
    }
    method = "notifications/subscriptions/acknowledged"
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


class App:
    """The application."""

    def __init__(self, *, events: bool) -> None:
        self.events = events
        self.sessions: dict[str, Params | None] = {}

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer a request."""
        message = await receive()
        body: bytes = message["body"]
        if message.get("more_body"):
            pieces = [body]
            while message.get("more_body"):
                message = await receive()
                pieces.append(message["body"])
            body = b"".join(pieces)
        request = decode(body)
        reply = answer(request)
        if reply is None:
            await send({"type": "http.response.start", "status": 202, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        headers = []
        if request.method == "initialize":
            session = secrets.token_hex(16)
            self.sessions[session] = request.params
            headers.append((b"mcp-session-id", session.encode()))
        if request.method == "subscriptions/listen":
            await self._start(send, [EVENTS])
            await self._event(send, acknowledgement(request))
            await receive()
            return
        in_progress = request.params is not None and request.params.name == "echo_progress"
        if self.events or in_progress:
            await self._start(send, [*headers, EVENTS])
            if in_progress:
                await self._event(send, progress(request))
            await self._event(send, reply)
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._start(send, [*headers, JSON, (b"content-length", b"%d" % len(reply))])
            await send({"type": "http.response.body", "body": reply})

    async def _start(
        self, send: Callable[[Message], Awaitable[None]], headers: list[tuple[bytes, bytes]]
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _event(self, send: Callable[[Message], Awaitable[None]], message: bytes) -> None:
        body = b"event: message\ndata: " + message + b"\n\n"
        await send({"type": "http.response.body", "body": body, "more_body": True})


def main() -> None:
    """Serve until told to stop."""
    import uvicorn  # noqa: PLC0415 - the tests use the application without

    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int, required=True)
    parser.add_argument("--events", action="store_true")
    options = parser.parse_args()
    uvicorn.run(
        App(events=options.events),
        host="127.0.0.1",
        port=options.http,
        loop="auto",
        http="httptools",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        backlog=2048,
    )


if __name__ == "__main__":
    main()
