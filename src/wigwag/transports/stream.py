"""Messages over a stream of bytes, one a line: the part that pipes and sockets share.

Spec: basic/transports/stdio, basic/transports#custom-transports
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES, LINE_FEED, LineDecoder, encode_lines
from wigwag.errors import ConnectionClosed
from wigwag.jsonrpc.codec import decode_message
from wigwag.jsonrpc.codes import PARSE_ERROR
from wigwag.jsonrpc.messages import InvalidMessage
from wigwag.transports.contract import Received, Receiver

__all__ = ["ByteReader", "ByteWriter", "ReadHalf", "StreamConnection"]

# Beyond this the peer is not reading: `drain` waits.
HIGH_WATER_BYTES = 1024 * 1024

# Copying a message of this size costs more than a second write.
_LARGE_BYTES = 128 * 1024

# A peer that does not read must not keep `aclose` waiting for ever.
CLOSE_TIMEOUT = 2.0


class ByteReader(Protocol):
    """What delivers bytes: the reading half of an asyncio transport, or a thread."""

    def pause_reading(self) -> None:
        """Deliver nothing until `resume_reading`."""
        ...

    def resume_reading(self) -> None:
        """Deliver again."""
        ...

    def close(self) -> None:
        """Deliver nothing more."""
        ...


class ByteWriter(Protocol):
    """What takes bytes: the writing half of an asyncio transport, or a plain descriptor."""

    def write(self, data: bytes, /) -> None:
        """Write all of it, in time."""
        ...

    def close(self) -> None:
        """Write what is left, then end."""
        ...

    def abort(self) -> None:
        """End at once."""
        ...


class StreamConnection(asyncio.Protocol):
    """A `Connection` over two halves of a byte stream.

    Args:
        max_line_bytes: Longest message accepted, in bytes.
        pause_with_writes: Stop reading while the peer does not read. One side of a pair may do
            so (the server does); if both did, two full pipes would wait for each other.
    """

    def __init__(
        self, *, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES, pause_with_writes: bool = False
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._decoder = LineDecoder(max_line_bytes=max_line_bytes)
        self._pause_with_writes = pause_with_writes
        self._receiver: Receiver | None = None
        self._reader: ByteReader | None = None
        self._writer: ByteWriter | None = None
        self._early: list[bytes] | None = []  # what arrived before it was delivered; then `None`
        self._early_loss: list[Exception | None] = []
        self._ended = False
        self._closing = False
        self._lost = self._loop.create_future()
        self._writable = asyncio.Event()
        self._writable.set()

    def attach(self, reader: ByteReader | None, writer: ByteWriter) -> None:
        """Give the halves to work with."""
        self._reader = reader
        self._writer = writer

    @property
    def is_ended(self) -> bool:
        """Whether the peer will send nothing more."""
        return self._ended

    # --- Connection

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver, starting with what arrived before."""
        self._receiver = receiver
        self._loop.call_soon(self._deliver_early)

    def send(self, messages: list[bytes]) -> None:
        """Write the messages, as one piece; a large one as it is, to save a copy of it."""
        if self._writer is None or self._closing:
            return
        if len(messages) == 1 and LINE_FEED not in messages[0]:
            message = messages[0]
            if len(message) < _LARGE_BYTES:
                self._writer.write(message + b"\n")
            else:
                self._writer.write(message)
                self._writer.write(b"\n")
        else:
            self._writer.write(encode_lines(messages))

    async def drain(self) -> None:
        """Wait until the peer has read enough of what was sent."""
        await self._writable.wait()

    def abort(self) -> None:
        """Drop both halves at once."""
        self._closing = True
        if self._writer is not None and not self._lost.done():
            self._writer.abort()
        if self._reader is not None:
            self._reader.close()
        self._lose(None)

    async def aclose(self) -> None:
        """Write what is left, then close both halves."""
        self._closing = True
        if self._writer is not None:
            self._writer.close()
        if self._reader is not None:
            self._reader.close()
        if not self._lost.done():
            await asyncio.wait({self._lost}, timeout=CLOSE_TIMEOUT)
        if not self._lost.done():
            self.abort()

    def describe_loss(self, exc: Exception | None) -> ConnectionClosed:
        """Say why the connection was lost, for those who wait on it."""
        what = f": {exc}" if exc is not None else ""
        return ConnectionClosed(f"the peer closed the connection{what}")

    # --- asyncio.Protocol

    def data_received(self, data: bytes) -> None:
        """Split a chunk and pass the messages in it on."""
        if self._early is not None:
            self._early.append(data)
            return
        lines = self._decoder.feed(data)
        if lines:
            self._receiver.messages_received(lines)  # type: ignore[union-attr]  # it has started

    def eof_received(self) -> bool:
        """Pass the end of the input on; the writing half stays open."""
        if self._ended or self._lost.done():
            return True
        self._ended = True
        if self._early is None:
            self._deliver_end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the channel is gone, whichever half said so first."""
        self._lose(exc)

    def pause_writing(self) -> None:
        """The peer does not read: let `drain` wait."""
        self._writable.clear()
        if self._pause_with_writes and self._reader is not None:
            self._reader.pause_reading()

    def resume_writing(self) -> None:
        """The peer reads again."""
        self._writable.set()
        if self._pause_with_writes and self._reader is not None and not self._closing:
            self._reader.resume_reading()

    def half_lost(self, exc: Exception | None) -> None:
        """Note that nothing more can be read; what is sent may still arrive."""
        if self._closing:
            return
        if exc is None:
            self.eof_received()
        else:
            self._lose(exc)

    def _lose(self, exc: Exception | None) -> None:
        if self._lost.done():
            return
        self._lost.set_result(None)
        self._writable.set()
        reason = None if self._closing else self.describe_loss(exc)
        self._closing = True
        if self._early is None:
            self._deliver_loss(reason)
        else:
            self._early_loss.append(reason)

    # --- what arrived before anybody listened

    def _deliver_early(self) -> None:
        """Deliver it in its order; whatever arrives meanwhile has its place behind it."""
        early, self._early = self._early or [], None
        is_dropped = None in self._early_loss  # this side was closed before
        if early and not is_dropped:
            self.data_received(b"".join(early))
        if self._ended and not is_dropped:
            self._deliver_end()
        for reason in self._early_loss:
            self._deliver_loss(reason)

    def _deliver_end(self) -> None:
        assert self._receiver is not None
        lines = [line for line in self._decoder.end() if self.takes_last(line)]
        if lines:
            self._receiver.messages_received(lines)
        self._receiver.end_of_input()

    def takes_last(self, line: Received) -> bool:
        """Tell whether what stands behind the last line end is to be delivered."""
        return True

    def _deliver_loss(self, reason: Exception | None) -> None:
        assert self._receiver is not None
        self._receiver.connection_lost(reason)


def is_torn_answer(line: Received) -> bool:
    r"""Tell whether a last line is an answer whose sender was gone before it was all written.

    >>> is_torn_answer(b'{"jsonrpc":"2.0","id":7,"result":{"con'), is_torn_answer(b"Bye")
    (True, False)
    """
    if not isinstance(line, bytes):
        return True
    message = decode_message(line)
    return isinstance(message, InvalidMessage) and message.code == PARSE_ERROR and message.answers


class ReadHalf(asyncio.Protocol):
    """Feeds a `StreamConnection` from a transport that only reads."""

    def __init__(self, connection: StreamConnection) -> None:
        self._connection = connection
        # Bound once: this is called for every chunk.
        self.data_received = connection.data_received  # type: ignore[method-assign]

    def eof_received(self) -> bool:
        """Pass the end of the input on."""
        return self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that nothing more can be read."""
        self._connection.half_lost(exc)
