"""A client's connection over HTTP+SSE, the transport of revision 2024-11-05.

One GET stays open and carries all that the server says; its first event names the URL that messages
are posted to. When the stream ends, so does everything.
Spec: 2024-11-05 basic/transports#http-with-sse
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final
from urllib.parse import urljoin

from wigwag.bindings.http_envelope import Envelope, read_envelope
from wigwag.bindings.sse import EVENT_STREAM, SseDecoder
from wigwag.errors import ConnectionClosed, NotMcp
from wigwag.schema import NOTIFICATIONS_INITIALIZED
from wigwag.transports.contract import Received, Receiver
from wigwag.transports.http_client_authorization import Held
from wigwag.transports.http_client_connection import HttpConnection, wait_held
from wigwag.transports.http_client_engine import HttpResponse, is_same_origin, public_url
from wigwag.transports.http_client_peer import HttpPeer
from wigwag.transports.http_client_stream import is_event_stream
from wigwag.transports.pausable_timeout import PausableTimeout

__all__ = ["HttpSseConnection", "open_http_sse"]

_logger = logging.getLogger("wigwag.client")

_ENDPOINT_TIMEOUT: Final = 10.0
# How long a server may take to accept what needs no answer.
_ACCEPT_TIMEOUT: Final = 10.0
_CLOSE_TIMEOUT: Final = 1.0


async def open_http_sse(peer: HttpPeer) -> HttpSseConnection:
    """Open the stream and wait until the server has named the URL for messages.

    Raises:
        TransportError: The server refused, or could not be reached.
        NotMcp: It is no server of this transport.
    """
    response: HttpResponse | None = None
    try:
        async with PausableTimeout(_ENDPOINT_TIMEOUT) as limit:
            response = await peer.request(
                "GET", {"Accept": EVENT_STREAM}, operation="GET", held=limit
            )
            if response.status != 200:
                raise await peer.refusal(response)
            if not is_event_stream(response):
                raise NotMcp(f"{peer.name} has no stream of events")
            return await _await_endpoint(peer, response)
    except BaseException as error:
        if response is not None:
            await response.aclose()
        await peer.aclose()
        if isinstance(error, TimeoutError):
            raise NotMcp(f"{peer.name} has a stream, but names no endpoint on it") from None
        raise


async def _await_endpoint(peer: HttpPeer, response: HttpResponse) -> HttpSseConnection:
    decoder = SseDecoder(max_event_bytes=peer.max_message_bytes)
    while chunk := await response.read():
        events = decoder.feed(chunk)
        if not events:
            continue
        first, *early = events
        if first.type != "endpoint" or not isinstance(first.data, bytes):
            raise NotMcp(f"the stream of {peer.name} does not begin with an endpoint")
        endpoint = urljoin(peer.url, first.data.decode("utf-8", "replace").strip())
        if not is_same_origin(endpoint, peer.url):
            # Credentials for the one must not be sent to the other.
            raise NotMcp(f"{peer.name} wants messages at another origin: {public_url(endpoint)}")
        connection = HttpSseConnection(peer, endpoint, response, decoder)
        connection.early = [e.data for e in early if e.type == "message" and e.data]
        return connection
    raise NotMcp(f"the stream of {peer.name} ended before it named an endpoint")


class HttpSseConnection(HttpConnection):
    """A `Connection` of one stream for what is received, and a POST for each message sent.

    Args:
        peer: What answers at the URL; it is closed with the connection.
        endpoint: Where messages are posted to.
        response: The stream, read up to the event that named the endpoint.
        decoder: What has read it so far.
    """

    def __init__(
        self, peer: HttpPeer, endpoint: str, response: HttpResponse, decoder: SseDecoder
    ) -> None:
        super().__init__(peer)
        self._endpoint = endpoint
        self._response = response
        self._decoder = decoder
        self.early: list[Received] = []
        self._reading: asyncio.Task[None] | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._telling: set[asyncio.Task[None]] = set()  # of what needs no answer
        self._greeting: asyncio.Task[None] | None = None

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver."""
        super().start(receiver)
        self._reading = self._loop.create_task(self._read())

    def send(self, messages: list[bytes]) -> None:
        """Post each of the messages: a server may accept one only when it is done with it."""
        if self._is_closed:
            return
        for message in messages:
            envelope = read_envelope(message)
            task = self._loop.create_task(self._post(envelope, message))
            tasks = self._telling if envelope.request_id is None else self._asking
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            if envelope.method == NOTIFICATIONS_INITIALIZED:
                self._greeting = task

    async def drain(self) -> None:
        """Wait until the server has accepted what needs no answer."""
        if self._telling:
            await asyncio.wait(self._telling)

    async def aclose(self) -> None:
        """Send what is left, then leave the stream."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._telling:
            await asyncio.wait(self._telling, timeout=_CLOSE_TIMEOUT)
        if ended := self._cancel_all():
            await asyncio.wait(ended)
        await self._response.aclose()
        await self._peer.aclose()
        self._report_lost(None)

    def _cancel_all(self) -> set[asyncio.Task[None]]:
        tasks = {*self._asking, *self._telling}
        if self._reading is not None:
            tasks.add(self._reading)
        for task in tasks:
            task.cancel()
        return tasks

    async def _read(self) -> None:
        """Deliver the stream to its end, which is that of the connection."""
        why = "ended its stream"
        try:
            if self.early:
                self._receiver.messages_received(self.early)
            while chunk := await self._response.read():
                events = self._decoder.feed(chunk)
                messages = [e.data for e in events if e.type == "message" and e.data]
                if messages:
                    self._receiver.messages_received(messages)
        except ConnectionClosed:
            why = "cut its stream"
        if not self._is_closed:
            self._is_closed = True
            self._reading = None
            self._cancel_all()
            await self._response.aclose()
            await self._peer.aclose()
            self._report_lost(ConnectionClosed(f"{self._peer.name} {why}"))

    async def _post(self, envelope: Envelope, message: bytes) -> None:
        """Post a message; the answer to it comes on the stream."""
        try:
            if envelope.request_id is None:
                async with PausableTimeout(_ACCEPT_TIMEOUT) as limit:
                    await self._request(envelope, message, limit)
            else:
                held = self._held(envelope.request_id)
                if self._greeting is not None:  # no request overtakes the end of the handshake
                    await wait_held(self._greeting, held)
                await self._request(envelope, message, held)
        except Exception as error:  # noqa: BLE001 - also of the user's function for headers
            what = envelope.method or "an answer"
            if envelope.request_id is not None:
                self._receiver.request_failed(envelope.request_id, error)
            elif isinstance(error, TimeoutError):
                _logger.warning("%s did not accept %s in time", self._peer.name, what)
            else:
                _logger.warning("%s was not accepted: %s", what, error)

    async def _request(self, envelope: Envelope, message: bytes, held: Held | None) -> None:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        response = await self._peer.request(
            "POST",
            headers,
            message,
            url=self._endpoint,
            operation=envelope.operation,
            held=held,
        )
        try:
            if not 200 <= response.status < 300:
                raise await self._peer.refusal(response)
        finally:
            await response.aclose()
