"""An ASGI server made of function calls: requests to an application, and its answers as they come.

It is as strict as real ones: what is sent in the wrong order, or after the end, fails.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeAlias

from wigwag import Server
from wigwag.runtime.http_endpoint import HttpEndpoint
from wigwag.server.http_app import HttpApp
from wigwag.stores.contract import Stores
from wigwag.stores.memory import memory_stores

Message: TypeAlias = dict[str, Any]
App: TypeAlias = Callable[..., Awaitable[None]]

PATIENCE = 60.0
"""Seconds to wait for what happens at once."""

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1.0.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
BOTH = "application/json, text/event-stream"
JSON = {"content-type": "application/json", "accept": BOTH}


class Event(NamedTuple):
    """One event of a stream."""

    data: str
    event: str = "message"
    id: str | None = None
    retry: int | None = None

    @property
    def message(self) -> Message:
        """The message in it."""
        message = json.loads(self.data)
        assert isinstance(message, dict)
        return message


def modern(
    request_id: Any, method: str, params: Message | None = None, *, meta: Message | None = None
) -> tuple[Message, dict[str, str]]:
    """Return a request of 2026-07-28 and the headers that go with it."""
    body = {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": method,
        "params": {**(params or {}), "_meta": {**META, **(meta or {})}},
    }
    headers = {**JSON, "mcp-protocol-version": MODERN, "mcp-method": method}
    name = (params or {}).get("uri" if method == "resources/read" else "name")
    if name is not None and method in ("tools/call", "prompts/get", "resources/read"):
        headers["mcp-name"] = name
    return body, headers


def modern_call(
    request_id: Any, tool: str, arguments: Message | None = None, *, meta: Message | None = None
) -> tuple[Message, dict[str, str]]:
    """Return a call of a tool in 2026-07-28 and the headers that go with it."""
    return modern(request_id, "tools/call", {"name": tool, "arguments": arguments or {}}, meta=meta)


def legacy(request_id: Any, method: str, params: Message | None = None) -> Message:
    """Return a request of a session."""
    message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def legacy_call(
    request_id: Any, tool: str, arguments: Message | None = None, token: Any = None
) -> Message:
    """Return a call of a tool in a session."""
    params: Message = {"name": tool, "arguments": arguments or {}}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return legacy(request_id, "tools/call", params)


def notification(method: str, params: Message | None = None) -> Message:
    """Return a notification."""
    message: Message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def hello(revision: str = "2025-11-25", request_id: Any = "hello", **capabilities: Any) -> Message:
    """Return the request that begins a session."""
    params = {
        "protocolVersion": revision,
        "capabilities": capabilities,
        "clientInfo": {"name": "test-client", "version": "1.0.0"},
    }
    return legacy(request_id, "initialize", params)


class Call:
    """One HTTP request to an application, and what has come of it so far."""

    def __init__(
        self,
        app: App,
        method: str,
        path: str,
        headers: Iterable[tuple[bytes, bytes]],
        body: bytes | None,
        extra: Mapping[str, Any],
    ) -> None:
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": list(headers),
            "client": ("192.0.2.7", 4321),
            "server": ("127.0.0.1", 80),
            **extra,
        }
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = b""
        self.is_complete = False
        self.is_gone = False
        self.may_write = asyncio.Event()
        """Clear it, and the client reads nothing any more."""
        self.may_write.set()
        self.blocked = 0
        """How many writes wait for it."""
        self._pieces: list[Message] = []
        if body is not None:
            self._pieces.append({"type": "http.request", "body": body})
        self._changed = asyncio.Event()
        self._unread = b""
        self.comments = 0
        self.last_id: str | None = None
        """The id of the last event that has come."""
        self._events: list[Event] = []
        self.task = asyncio.get_running_loop().create_task(self._run(app, scope))

    async def _run(self, app: App, scope: Message) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            self._change()

    # --- what the application gets to see

    async def _receive(self) -> Message:
        while not self._pieces:
            if self.is_gone or self.is_complete:
                return {"type": "http.disconnect"}
            await self._wait_for_change()
        return self._pieces.pop(0)

    async def _send(self, message: Message) -> None:
        if not self.may_write.is_set() and not self.is_gone:
            self.blocked += 1
            await self.may_write.wait()
            self.blocked -= 1
        if self.is_gone:
            return
        assert not self.is_complete, f"sent after the end: {message}"
        if message["type"] == "http.response.start":
            assert self.status is None, "a second head"
            self.status = message["status"]
            for name, value in message["headers"]:
                assert name == name.lower()
                key, text = name.decode(), value.decode()
                if key in self.headers:
                    assert key == "www-authenticate", f"{key} twice"
                    text = f"{self.headers[key]}, {text}"
                self.headers[key] = text
        else:
            assert self.status is not None, "a body without a head"
            data = message.get("body", b"")
            self.body += data
            if self.is_stream:
                *blocks, self._unread = (self._unread + data).split(b"\n\n")
                self._events += [event for block in blocks if (event := self._read(block))]
            self.is_complete = not message.get("more_body", False)
        self._change()

    def _read(self, block: bytes) -> Event | None:
        if block.startswith(b":"):
            self.comments += 1
            return None
        fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
        retry = fields.get("retry")
        self.last_id = fields.get("id", self.last_id)
        return Event(
            fields.get("data", ""),
            fields.get("event", "message"),
            fields.get("id"),
            None if retry is None else int(retry),
        )

    def _change(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _wait_for_change(self) -> None:
        await self._changed.wait()

    # --- what the client does and sees

    def send_body(self, data: bytes, *, more: bool) -> None:
        """Send a part of the body."""
        self._pieces.append({"type": "http.request", "body": data, "more_body": more})
        self._change()

    def disconnect(self) -> None:
        """Close the connection."""
        self.is_gone = True
        self.may_write.set()
        self._change()

    async def wait(self, is_so: Callable[[], Any], what: str) -> None:
        """Wait until something is so; fails when it cannot be any more."""
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                if self.task.done():
                    self.task.result()
                    raise AssertionError(f"over before {what}: {self.status} {self.body!r}")
                await self._wait_for_change()

    async def begun(self) -> "Call":
        """Wait for the head of the answer."""
        await self.wait(lambda: self.status is not None, "the head")
        return self

    async def whole(self) -> "Call":
        """Wait until the answer is complete, and the application has returned."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.shield(self.task)
        assert self.is_complete or self.is_gone, f"incomplete: {self.status} {self.body!r}"
        return self

    async def over(self) -> None:
        """Wait until the application has returned."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.shield(self.task)

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of events."""
        return self.headers.get("content-type") == "text/event-stream"

    @property
    def json(self) -> Any:
        """The body, which is JSON."""
        assert self.headers["content-type"] == "application/json"
        assert int(self.headers["content-length"]) == len(self.body)
        return json.loads(self.body)

    async def event(self) -> Event:
        """Wait for the next event."""
        await self.wait(lambda: self._events, "an event")
        return self._events.pop(0)

    async def message(self) -> Message:
        """Wait for the next event that is a message."""
        while True:
            event = await self.event()
            if event.data:
                return event.message

    async def rest(self) -> list[Message]:
        """Wait for the end and return the messages that have not been looked at."""
        await self.whole()
        events, self._events = self._events, []
        return [event.message for event in events if event.data]

    @property
    def events(self) -> list[Event]:
        """The events that have not been looked at."""
        return list(self._events)


class Site:
    """An application, and what can be asked of it."""

    def __init__(
        self, app: HttpApp, stores: Stores | None = None, target: App | None = None
    ) -> None:
        self.app = app
        self.target: App = target or app
        self.path = app.path or "/"
        """The path that is asked, if no other is named."""
        self.stores = stores
        self.calls: list[Call] = []

    @property
    def endpoint(self) -> HttpEndpoint:
        """What answers at the path of the endpoint; there once something was asked."""
        life = self.app._life
        assert life is not None
        assert life.endpoint is not None
        return life.endpoint

    def open(
        self,
        method: str,
        path: str | None = None,
        *,
        headers: Mapping[str, str] | Iterable[tuple[bytes, bytes]] = (),
        body: bytes | None = b"",
        **extra: Any,
    ) -> Call:
        """Send a request."""
        if isinstance(headers, Mapping):
            headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        call = Call(self.target, method, path or self.path, headers, body, extra)
        self.calls.append(call)
        return call

    def post(
        self,
        message: Any,
        headers: Mapping[str, str] | None = None,
        *,
        session: str | None = None,
        **more: str | None,
    ) -> Call:
        """Post a message.

        Args:
            message: The message, or the bytes of one.
            headers: What goes with it.
            session: The session it belongs to.
            **more: Other headers, or `None` for those that are to be left out.
        """
        lines = {**(JSON if headers is None else headers)}
        if session is not None:
            lines["mcp-session-id"] = session
        for name, value in more.items():
            lines.pop(name.replace("_", "-"), None)
            if value is not None:
                lines[name.replace("_", "-")] = value
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.open("POST", headers=lines, body=body)

    async def ask(self, message: Any, headers: Any = None, **more: Any) -> Call:
        """Post a message and wait for the answer."""
        return await self.post(message, headers, **more).whole()

    async def begin(self, revision: str = "2025-11-25", **capabilities: Any) -> str:
        """Begin a session and return its id."""
        begun = await self.ask(hello(revision, **capabilities))
        assert begun.status == 200, begun.body
        session = begun.headers["mcp-session-id"]
        done = await self.ask(notification("notifications/initialized"), session=session)
        assert (done.status, done.body) == (202, b"")
        return session

    def get(self, session: str, last: str | None = None) -> Call:
        """Open the stream of a session, or go on with one."""
        headers = {"accept": "text/event-stream", "mcp-session-id": session}
        if last is not None:
            headers["last-event-id"] = last
        return self.open("GET", headers=headers)

    async def delete(self, session: str) -> Call:
        """End a session."""
        return await self.open("DELETE", headers={"mcp-session-id": session}).whole()


@asynccontextmanager
async def serving(
    server: Server, *, target: App | None = None, **options: Any
) -> AsyncIterator[Site]:
    """Serve a server; in the end nothing may be left of what was asked."""
    limits = server.limits
    stores = options.pop("stores", None) or memory_stores(
        max_sessions=limits.sessions,
        max_events=limits.events,
        max_event_bytes=limits.event_bytes,
    )
    site = Site(server.http_app(stores=stores, **options), stores, target)
    try:
        yield site
    finally:
        async with asyncio.timeout(PATIENCE):
            await site.app.aclose()
    for call in site.calls:
        await call.over()


async def until(is_so: Callable[[], Any], what: str) -> None:
    """Wait for something that happens in a few turns of the event loop, or in a few moments."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        await asyncio.sleep(0.002)  # nobody tells
