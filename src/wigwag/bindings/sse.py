r"""Server-sent events: the stream of text in which an HTTP response carries several messages.

Reading follows the algorithm of the WHATWG on bytes: a line ends with CR, LF or both; a blank line
ends an event; characters that other line splitters stop at, such as U+2028, are ordinary text.
Spec: basic/transports/streamable-http, https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES, LINE_FEED, RETURN, LineTooLong

__all__ = ["EVENT_STREAM", "SseDecoder", "SseEvent", "encode_event", "encode_events"]

EVENT_STREAM: Final = "text/event-stream"

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

# How much of an event over the limit is kept, so that it can be told whose answer it was.
_HEAD_BYTES: Final = 4096

# Field names and ids come from the peer as well; nobody needs long ones.
_MAX_FIELD_BYTES: Final = 64 * 1024


class SseEvent(Struct, frozen=True, gc=False):
    """One event of a stream.

    Attributes:
        data: What it carries, the lines of it joined with line feeds; a `LineTooLong` where that
            was more than the limit.
        type: What kind of event it is; `message` unless the stream says otherwise.
    """

    data: bytes | LineTooLong
    type: str = "message"


class SseDecoder:
    r"""Reads the events from a stream of bytes, however the bytes were chunked.

    Feed it whatever the response delivers; it returns the events completed so far and keeps the
    rest:

    >>> decoder = SseDecoder()
    >>> decoder.feed(b'id: 7\ndata: {"a":\nda')
    []
    >>> decoder.feed(b'ta: 1}\n\n')
    [SseEvent(data=b'{"a":\n1}', type='message')]
    >>> decoder.last_event_id
    '7'

    An event without any `data` is none, but its id counts. An event cut off by the end of the
    stream is dropped, with its id. Work is linear in the bytes fed.

    Args:
        max_event_bytes: Longest data accepted of one event.

    Attributes:
        last_event_id: The id to continue from after a cut; `""` when the stream gave none.
        retry: Seconds to wait before connecting anew, if the stream said so.
    """

    def __init__(self, *, max_event_bytes: int = DEFAULT_MAX_LINE_BYTES) -> None:
        self.last_event_id = ""
        self.retry: float | None = None
        self._max_event_bytes = max_event_bytes
        self._line = bytearray()  # the line begun but not yet ended
        self._is_skipping = False  # the rest of that line is thrown away
        self._is_first_line = True
        self._had_return = False  # the last chunk ended in CR, of which LF may be the other half
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._head: bytes | None = None  # set while the rest of an overlong event is thrown away
        self._type = ""
        self._id: str | None = None

    def restart(self) -> None:
        """Begin a new stream that continues the one before: its id and its `retry` stay."""
        last_event_id, retry = self.last_event_id, self.retry
        self.__init__(max_event_bytes=self._max_event_bytes)  # type: ignore[misc]
        self.last_event_id, self.retry = last_event_id, retry

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Add received bytes and return the events they complete, oldest first."""
        if self._had_return and chunk:
            self._had_return = False
            chunk = chunk.removeprefix(b"\n")
        if RETURN in chunk:
            self._had_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        rest = lines.pop()
        events: list[SseEvent] = []
        for line in lines:
            if self._line or self._is_skipping or self._is_first_line:
                line = self._finish(line)
            if not line:
                self._dispatch(events)
            else:
                self._read(line)
        if rest:
            self._keep(rest)
        return events

    def _finish(self, end: bytes) -> bytes:
        """Return the whole of a line of which an earlier chunk had the beginning."""
        self._keep(end)
        line = bytes(self._line)
        self._line = bytearray()
        if self._is_skipping:
            self._is_skipping = False
            return b":"  # what is left of it is a comment
        if self._is_first_line:
            self._is_first_line = False
            return line.removeprefix(_BYTE_ORDER_MARK)
        return line

    def _keep(self, piece: bytes) -> None:
        if self._is_skipping:
            return
        self._line += piece
        length = len(self._line)
        if length <= _MAX_FIELD_BYTES:
            return
        if not self._line.startswith((b"data:", _BYTE_ORDER_MARK + b"data:")):
            self._skip_line()
        elif self._data_bytes + length > self._max_event_bytes + len("data: "):
            value = bytes(self._line[: _HEAD_BYTES + len("data: ")]).partition(b":")[2]
            self._overflow(value.removeprefix(b" "))
            self._skip_line()

    def _skip_line(self) -> None:
        self._line = bytearray()
        self._is_skipping = True
        self._is_first_line = False

    def _read(self, line: bytes) -> None:
        """Take one field of an event."""
        if line.startswith(b"data: "):
            self._add_data(line[6:])
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add_data(value)
        elif name == b"event":
            self._type = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 12:
            self.retry = int(value) / 1000

    def _add_data(self, value: bytes) -> None:
        if self._head is not None:
            return
        if self._data_bytes + len(value) > self._max_event_bytes:
            self._overflow(value)
            return
        self._data.append(value)
        # Each line takes its line feed, so that many empty ones are bounded as well.
        self._data_bytes += len(value) + 1

    def _overflow(self, value: bytes) -> None:
        if self._head is None:
            self._head = b"\n".join([*self._data, value])[:_HEAD_BYTES]
            self._data = []

    def _dispatch(self, events: list[SseEvent]) -> None:
        """End the event at a blank line."""
        if self._id is not None:
            self.last_event_id = self._id
        kind = self._type or "message"
        if self._head is not None:
            events.append(SseEvent(LineTooLong(self._max_event_bytes, self._head), kind))
        elif self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            events.append(SseEvent(data, kind))
        self._data = []
        self._data_bytes = 0
        self._head = None
        self._type = ""


def encode_event(
    data: bytes, *, event: str | None = None, id: str | None = None, retry: int | None = None
) -> bytes:
    r"""Encode one event of a stream.

    >>> encode_event(b'{"a":1}', id="7", retry=500)
    b'id: 7\nretry: 500\ndata: {"a":1}\n\n'

    Line ends between the tokens of a JSON text become blanks, so that it stays on one line: some
    readers look at single lines.

    Args:
        data: The message, or the URI of an `endpoint` event. An empty one only gives the id.
        event: What kind of event it is; `message` when not given.
        id: What to continue from after a cut, as `Last-Event-ID`.
        retry: Milliseconds that the reader should wait before it connects anew.

    Raises:
        ValueError: `event` or `id` cannot be written: it has a line end or a NUL in it.
    """
    data = _on_one_line(data)
    if event is None and id is None and retry is None:
        return b"data: %b\n\n" % data
    if event is None and retry is None and id is not None and id.isascii() and id.isprintable():
        return b"id: %b\ndata: %b\n\n" % (id.encode(), data)  # the way of most
    head = ""
    for name, value in (("event", event), ("id", id)):
        if value is None:
            continue
        if "\n" in value or "\r" in value or "\0" in value:
            raise ValueError(f"the {name} of an event cannot be {value!r}: it is one line of text")
        head += f"{name}: {value}\n"
    if retry is not None:
        head += f"retry: {retry:d}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


def encode_events(messages: Iterable[bytes]) -> bytes:
    """Encode messages as events that have nothing but their data."""
    return b"".join([b"data: %b\n\n" % _on_one_line(message) for message in messages])


def _on_one_line(data: bytes) -> bytes:
    if LINE_FEED in data or RETURN in data:
        return data.replace(b"\r", b" ").replace(b"\n", b" ")
    return data
