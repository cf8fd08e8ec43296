"""Reads requests from an ASGI server and writes answers to it.

The server may be uvicorn, granian, hypercorn or any other, and a framework may stand in between.
A client that has gone is no error: what is written to it is dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from wigwag.errors import TransportError

__all__ = ["Answer", "BodyTooLarge", "Headers", "HttpRequest", "read_body", "wait_until_gone"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]

_JSON = (b"content-type", b"application/json")
# Nobody sees it but the logs of proxies and frameworks, which know it by this number.
_CLIENT_CLOSED_REQUEST = 499
# No proxy may keep the events back, or change them.
_EVENTS: Headers = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class BodyTooLarge(TransportError):
    """The body of a request has more bytes than are allowed."""


class ClientGone(TransportError):
    """The client went away before its request had arrived."""


async def read_body(receive: Receive, limit: int) -> bytes:
    """Read the body of a request.

    Args:
        receive: The server's.
        limit: How many bytes are allowed.

    Raises:
        BodyTooLarge: There are more. The rest of them is not read.
        ClientGone: The client went away.
    """
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGone("the client went away before its request had arrived")
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        parts, size = [body], len(body)
        while message.get("more_body", False) and size <= limit:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientGone("the client went away before its request had arrived")
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
        body = b"".join(parts)
    if len(body) > limit:
        raise BodyTooLarge(f"the body has more than {limit} bytes, which is the limit")
    return body


async def wait_until_gone(receive: Receive) -> None:
    """Wait until the client goes away, or its request has been answered."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Answer:
    """The answer to one HTTP request.

    Args:
        send: The server's.
        headers: What every answer to this request has in its head.
    """

    __slots__ = ("_headers", "_send", "is_begun", "is_gone")

    def __init__(self, send: Send, headers: Headers = ()) -> None:
        self._send = send
        self._headers = headers
        self.is_begun = False
        self.is_gone = False
        """Whether the client is known to have gone; nothing is written to it any more."""

    def add_header(self, name: bytes, value: bytes) -> None:
        """Add a line to the head, which must not have been sent yet."""
        self._headers = (*self._headers, (name, value))

    def whole(self, status: int, body: bytes = b"", headers: Headers = ()) -> Awaitable[None]:
        """Answer with JSON, or with nothing."""
        head = [(b"content-length", b"%d" % len(body))]
        if body:
            head.append(_JSON)
        if self._headers or headers:
            head += (*self._headers, *headers)
        return self._write_whole(status, head, body)

    def whole_events(self, data: bytes) -> Awaitable[None]:
        """Answer with a stream of events that is complete: its length is known, as that of JSON."""
        head = [*self._headers, *_EVENTS, (b"content-length", b"%d" % len(data))]
        return self._write_whole(200, head, data)

    async def begin_events(self) -> None:
        """Answer with a stream of events."""
        self.is_begun = True
        head = [*self._headers, *_EVENTS]
        await self._write({"type": "http.response.start", "status": 200, "headers": head})

    async def more(self, data: bytes) -> None:
        """Write a part of the stream."""
        await self._write({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """End the stream."""
        await self._write({"type": "http.response.body", "body": b""})

    async def nobody(self) -> None:
        """Answer though the client has gone: some frameworks take it for a crash not to."""
        if not self.is_begun:
            self.is_gone = False
            await self.whole(_CLIENT_CLOSED_REQUEST)
            self.is_gone = True

    async def _write_whole(self, status: int, head: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.is_begun = True
        if self.is_gone:
            return
        try:
            await self._send({"type": "http.response.start", "status": status, "headers": head})
            await self._send({"type": "http.response.body", "body": body})
        except OSError:  # see below
            self.is_gone = True

    async def _write(self, message: Message) -> None:
        if self.is_gone:
            return
        try:
            await self._send(message)
        except OSError:  # as ASGI servers may say that nobody is there any more
            self.is_gone = True


class HeaderValues(Mapping[str, str]):
    """The headers of a request by their names, in whatever case; repeated ones joined by commas."""

    def __init__(self, raw: Headers) -> None:
        self._values: dict[str, str] = {}
        for name, value in raw:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            before = self._values.get(key)
            self._values[key] = text if before is None else f"{before}, {text}"

    def __getitem__(self, name: str) -> str:
        """The value of a header.

        Raises:
            KeyError: There is none.
        """
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        """The names, in lower case."""
        return iter(self._values)

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._values)


class HttpRequest:
    """The HTTP request by which a message came, as far as a handler may want to know it."""

    __slots__ = ("_scope", "_values")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._values: HeaderValues | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers; names in any case. Credentials are among them: do not log them."""
        if self._values is None:
            self._values = HeaderValues(self._scope["headers"])
        return self._values

    @property
    def client(self) -> tuple[str, int] | None:
        """Address and port it came from, as the ASGI server tells.

        Behind a proxy that the server trusts these are what the proxy says of its client. With
        `Server.run` that is one on this machine, or those in `FORWARDED_ALLOW_IPS`.
        """
        client = self._scope.get("client")
        return None if client is None else (client[0], client[1])

    @property
    def path(self) -> str:
        """The path it was sent to."""
        path: str = self._scope["path"]
        return path

    @property
    def query(self) -> str:
        """What follows the question mark in its URL, still encoded."""
        query: bytes = self._scope.get("query_string", b"")
        return query.decode("latin-1")

    @property
    def scope(self) -> Mapping[str, Any]:
        """The ASGI scope, for what middleware has put there."""
        return self._scope
