"""Makes records of what an HTTP relay has passed on: whose message it was, on which request."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES, LineTooLong
from wigwag.bindings.sse import EVENT_STREAM, SseDecoder
from wigwag.tracing.http_framing import Head
from wigwag.tracing.noting import note_message, text_of
from wigwag.tracing.records import (
    EndRecord,
    HttpPart,
    HttpRecord,
    JunkRecord,
    MessageRecord,
    Record,
    Sender,
)
from wigwag.tracing.redaction import Redaction

__all__ = ["HttpObservation", "HttpPiece"]

_SESSION_HEADER: Final = "mcp-session-id"
_SESSION_PARAMETERS: Final = ("sessionid", "session_id", "session")

# What types of texts end in that are not called so.
_TEXTS: Final = ("json", "xml", "x-www-form-urlencoded")

# How much is kept of a body that is no message.
_EXCERPT_CHARACTERS: Final = 2000


class HttpPiece(Struct, frozen=True, gc=False):
    """What passed at once.

    Attributes:
        connection: On which request, counted from 1.
        at: Seconds since the start.
        sender: Who has sent it.
        kind: What it is; `cut` is an end before the end, and a `note` is nothing that was sent.
        head: The head, if it is one; of a note, that of an answer in place of the server.
        data: A piece of the body, or the words of a note.
    """

    connection: int
    at: float
    sender: Sender
    kind: Literal["head", "body", "end", "cut", "note", "over"]
    head: Head | None = None
    data: bytes = b""


class _Side:
    """A request, or the response to it."""

    def __init__(self, head: Head, part: HttpPart) -> None:
        self.part = part
        headers = head.headers()
        self.content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        self.encoding = headers.get("content-encoding", "").strip().lower()
        self.is_stream = self.content_type == EVENT_STREAM
        self.events = SseDecoder()
        self._decompress = _decompressor(self.encoding)
        self._body = bytearray()
        self._size = 0

    @property
    def is_readable(self) -> bool:
        """Whether what it says can be made out."""
        return self._decompress is not None

    @property
    def is_text(self) -> bool:
        """Whether its content may be read by people, or say so little that it may be a message."""
        kind, _, name = self.content_type.partition("/")
        return kind in ("", "text") or name.endswith(_TEXTS)

    def add(self, data: bytes) -> bytes:
        """Add a piece of the body, and return it as it is without compression."""
        if self._decompress is None:
            self._size += len(data)
            return b""
        try:
            piece: bytes = self._decompress(data)
        except zlib.error:
            self._decompress = None
            return b""
        if not self.is_stream and self._size <= DEFAULT_MAX_LINE_BYTES:
            self._body += piece
        self._size += len(piece)
        return piece

    def body(self) -> bytes | LineTooLong:
        """Return the whole body."""
        if self._size > DEFAULT_MAX_LINE_BYTES:
            return LineTooLong(DEFAULT_MAX_LINE_BYTES, bytes(self._body[:4096]))
        return bytes(self._body)

    @property
    def size(self) -> int:
        """How many bytes the body has, as far as is known."""
        return self._size


class _Exchange:
    """A request with its response."""

    def __init__(self) -> None:
        self.sides: dict[Sender, _Side] = {}
        self.asks = False  # whether it carries a request of JSON-RPC
        self.session = 0


class HttpObservation:
    """Follows the exchanges of a relay.

    Args:
        redaction: Takes out what is secret.
    """

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._exchanges: dict[int, _Exchange] = {}
        self._sessions: dict[str, int] = {}

    def read(self, piece: HttpPiece) -> Iterator[Record]:
        """Return the records of a piece."""
        if piece.kind == "over":
            yield EndRecord(at=piece.at, reason=text_of(piece.data))
            return
        exchange = self._exchanges.setdefault(piece.connection, _Exchange())
        if piece.kind == "note":
            part = None if piece.head is None else HttpPart(status=piece.head.status)
            yield self._http(piece, part, text_of(piece.data))
        elif piece.kind == "cut":
            who = "the client went away" if piece.sender == "client" else "the answer was cut off"
            yield self._http(piece, text=who)
        elif piece.head is not None:
            yield from self._begin(exchange, piece, piece.head)
        elif piece.sender in exchange.sides:
            yield from self._go_on(exchange, piece, exchange.sides[piece.sender])
        if piece.kind == "cut" or (piece.kind in ("end", "note") and piece.sender == "server"):
            self._exchanges.pop(piece.connection, None)

    # --- heads

    def _begin(self, exchange: _Exchange, piece: HttpPiece, head: Head) -> Iterator[Record]:
        if piece.sender == "client":
            part = self._request_part(exchange, head)
        else:
            part = self._response_part(exchange, head)
            if head.status < 200:
                return
        side = exchange.sides[piece.sender] = _Side(head, part)
        if side.is_stream and piece.sender == "server":
            yield self._http(piece, part)

    def _request_part(self, exchange: _Exchange, head: Head) -> HttpPart:
        headers = head.headers()
        session = headers.get(_SESSION_HEADER) or _session_of(head.path)
        exchange.session = self._session(session)
        return HttpPart(
            method=head.method,
            path=self._redaction.url(head.path),
            session=exchange.session,
            headers=self._shown(headers),
        )

    def _response_part(self, exchange: _Exchange, head: Head) -> HttpPart:
        headers = head.headers()
        exchange.session = self._session(headers.get(_SESSION_HEADER, "")) or exchange.session
        return HttpPart(status=head.status, session=exchange.session, headers=self._shown(headers))

    def _session(self, session_id: str) -> int:
        """Return the number of a session, 0 for none."""
        if not session_id:
            return 0
        self._redaction.learn(session_id)
        return self._sessions.setdefault(session_id, len(self._sessions) + 1)

    def _shown(self, headers: dict[str, str]) -> dict[str, str]:
        return {name: self._redaction.header(name, value) for name, value in headers.items()}

    # --- bodies

    def _go_on(self, exchange: _Exchange, piece: HttpPiece, side: _Side) -> Iterator[Record]:
        if piece.kind == "body":
            data = side.add(piece.data)
            if side.is_stream and data:
                yield from self._events(exchange, piece, side, data)
        elif side.is_stream and piece.sender == "server":
            yield self._http(piece, text="the stream ended")
        else:
            yield from self._whole(exchange, piece, side)

    def _events(
        self, exchange: _Exchange, piece: HttpPiece, side: _Side, data: bytes
    ) -> Iterator[Record]:
        events = side.events.feed(data)
        for number, event in enumerate(events, 1):
            if event.type == "endpoint":
                yield self._endpoint(exchange, piece, event.data)
            elif event.type != "message":
                yield self._http(piece, text=f"an event of type {event.type}")
            elif event.data == b"":
                yield self._http(piece, text="an event without data")
            else:
                is_last = number == len(events)
                http = HttpPart(
                    status=side.part.status,
                    session=exchange.session,
                    event_id=side.events.last_event_id if is_last else "",
                )
                yield self._message(piece, event.data, http)

    def _endpoint(self, exchange: _Exchange, piece: HttpPiece, data: bytes | LineTooLong) -> Record:
        where = text_of(data) if isinstance(data, bytes) else text_of(data.head)
        exchange.session = self._session(_session_of(where)) or exchange.session
        text = f"messages go to {self._redaction.url(where)}"
        if "://" in where:
            text += ", which leads past the relay"
        return self._http(piece, HttpPart(status=200, session=exchange.session), text)

    def _whole(self, exchange: _Exchange, piece: HttpPiece, side: _Side) -> Iterator[Record]:
        """Return the record of a body that is complete."""
        body = side.body()
        if not side.is_readable:
            text = f"{side.size} bytes, compressed as {side.encoding}"
            yield self._http(piece, side.part, text)
        elif body == b"":
            yield self._http(piece, side.part)
        elif not side.is_text:
            yield self._http(piece, side.part, f"{side.size} bytes of {side.content_type}")
        else:
            record = self._message(piece, body, side.part)
            if isinstance(record, MessageRecord) and _is_refusal(record, side.part):
                text = bytes(record.message).decode()[:_EXCERPT_CHARACTERS]
                yield self._http(piece, side.part, text)
            elif isinstance(record, MessageRecord):
                exchange.asks = exchange.asks or _has_request(record)
                yield record
            elif self._should_be_message(exchange, piece, side):
                yield record
            else:
                yield self._http(piece, side.part, record.text[:_EXCERPT_CHARACTERS])

    def _should_be_message(self, exchange: _Exchange, piece: HttpPiece, side: _Side) -> bool:
        if piece.sender == "server":
            return exchange.asks and side.part.status == 200
        return side.part.method == "POST" and side.content_type == "application/json"

    def _message(
        self, piece: HttpPiece, data: bytes | LineTooLong, http: HttpPart
    ) -> MessageRecord | JunkRecord:
        return note_message(
            data,
            piece.at,
            piece.sender,
            self._redaction,
            http=http,
            connection=piece.connection,
        )

    def _http(self, piece: HttpPiece, http: HttpPart | None = None, text: str = "") -> HttpRecord:
        return HttpRecord(
            at=piece.at,
            sender=piece.sender,
            connection=piece.connection,
            http=http,
            text=self._redaction.text(text),
        )


def _is_refusal(record: MessageRecord, part: HttpPart) -> bool:
    """Tell whether an `error` is that of OAuth or of a web service, and none of JSON-RPC."""
    return part.status >= 400 and bool(record.problem) and b'"jsonrpc"' not in bytes(record.message)


def _has_request(record: MessageRecord) -> bool:
    message = record.decode()
    messages = message if isinstance(message, list) else [message]
    return any(isinstance(each, dict) and "method" in each and "id" in each for each in messages)


def _session_of(url: str) -> str:
    """Return the session that the query of a URL of HTTP+SSE names."""
    try:
        query = urlsplit(url).query
    except ValueError:
        return ""
    return next(
        (value for name, value in parse_qsl(query) if name.lower() in _SESSION_PARAMETERS), ""
    )


def _decompressor(encoding: str) -> Any:
    """Return what takes the compression from pieces of a body; `None` if it is not known."""
    if encoding in ("", "identity"):
        return bytes
    if encoding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress
    return None
