"""One stream of events, over as many responses as it takes.

In the legacy era a stream whose events have ids outlives its responses: after a cut, or after the
server closed a response to save a connection, a GET that names the last event goes on from there.
Spec: 2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from wigwag.bindings.sse import EVENT_STREAM, SseDecoder
from wigwag.errors import ConnectionClosed, HttpStatusError, TransportError
from wigwag.transports.contract import Received
from wigwag.transports.http_client_authorization import Held
from wigwag.transports.http_client_engine import HttpResponse
from wigwag.transports.http_client_peer import HttpPeer

__all__ = ["EventStream", "is_event_stream"]

# When the server does not say how long to wait before a stream is resumed, in seconds.
_DEFAULT_RETRY: Final = 1.0
_MAX_BACKOFF: Final = 30.0
# So often in a row a stream is asked for in vain: there is somebody who waits for an answer, and
# nobody who waits for what a server may say some day.
_MAX_TRIES_FOR_ANSWER: Final = 3
_MAX_TRIES_TO_LISTEN: Final = 9
# A response that was open so long was of use, even if nothing came.
_USEFUL_SECONDS: Final = 5.0
# How long a response may go on behind what was waited for before it is cut.
_TAIL_TIMEOUT: Final = 1.0


class EventStream:
    """Delivers the messages of a stream.

    Args:
        peer: Whom to ask for the rest of it.
        headers: Returns the headers that every request has.
        deliver: Takes the messages.
        is_done: Tells whether what was waited for has come.
        on_resumed: Called when it goes on after an end, with the reason for that, and whether it
            goes on behind the last event.
        held: What is told when it has to wait to be authorized.
    """

    def __init__(
        self,
        peer: HttpPeer,
        *,
        headers: Callable[[], dict[str, str]],
        deliver: Callable[[Sequence[Received]], None],
        is_done: Callable[[], bool],
        on_resumed: Callable[[str, bool], None],
        held: Held | None = None,
    ) -> None:
        self._peer = peer
        self._headers = headers
        self._deliver = deliver
        self._is_done = is_done
        self._on_resumed = on_resumed
        self._held = held
        self._end = ""  # of the response that was read last
        self._decoder = SseDecoder(max_event_bytes=peer.max_message_bytes)
        self.is_open = False
        """Whether the server has a stream that it sends something on, as far as is known."""
        self.was_open = False
        """Whether it had one before."""
        self.refusal: HttpStatusError | None = None
        """Why the stream was not to be had, the last time it was asked for."""

    @property
    def is_resumable(self) -> bool:
        """Whether the server gave an id to go on from."""
        return self._decoder.last_event_id != ""

    async def read(self, response: HttpResponse) -> bool:
        """Deliver what a response carries, to its end or a cut; tell whether it was of use."""
        begun = asyncio.get_running_loop().time()
        last_event_id = self._decoder.last_event_id
        is_useful = False
        self._decoder.restart()
        try:
            while chunk := await response.read():
                events = self._decoder.feed(chunk)
                messages = [e.data for e in events if e.type == "message" and e.data]
                if messages:
                    is_useful = True
                    self._deliver(messages)
                    if self._is_done():
                        await _finish(response)
                        return True
            self._end = "the server ended it"
        except ConnectionClosed as cut:  # it is like any other end without the answer
            self._end = str(cut)
        return (
            is_useful
            or self._decoder.last_event_id != last_event_id
            or asyncio.get_running_loop().time() - begun >= _USEFUL_SECONDS
        )

    async def listen(self, *, again: bool) -> None:
        """Ask for the stream, and again whenever it ends, until there is no use in that.

        Args:
            again: Whether it may be asked for more than once.
        """
        if again:
            await self._get_again(0.0, _MAX_TRIES_TO_LISTEN)
        else:
            await self._get()

    async def resume(self) -> str:
        """Go on from the last event until it is done, and return why it is not done, if so."""
        return await self._get_again(self._delay(0), _MAX_TRIES_FOR_ANSWER)

    async def _get_again(self, delay: float, max_tries: int) -> str:
        tries = 0
        reason = ""
        while not self._is_done():
            if tries >= max_tries:
                return reason or "it ends again and again"
            await asyncio.sleep(delay)
            try:
                is_useful, reason = await self._get()
            except TransportError as error:
                is_useful, reason = False, str(error)
            if is_useful is None:
                return reason
            tries = 0 if is_useful else tries + 1
            delay = self._delay(tries)
        return ""

    async def _get(self) -> tuple[bool | None, str]:
        """Ask for the stream and read it; `None` means that it will not be had."""
        headers = {"Accept": EVENT_STREAM, "Cache-Control": "no-store", **self._headers()}
        if self.is_resumable:
            headers["Last-Event-ID"] = self._decoder.last_event_id
        response = await self._peer.request("GET", headers, operation="GET", held=self._held)
        try:
            if response.status == 200 and is_event_stream(response):
                self.is_open = self.was_open = True
                if self._end:
                    self._on_resumed(self._end, self.is_resumable)
                return await self.read(response), ""
            self.refusal = await self._peer.refusal(response)
            return (False if response.status >= 500 else None), str(self.refusal)
        finally:
            self.is_open = False
            await response.aclose()

    def _delay(self, tries: int) -> float:
        retry = self._decoder.retry
        delay = _DEFAULT_RETRY if retry is None else retry
        return max(delay, min(2.0 ** (tries - 1) * delay, _MAX_BACKOFF))


async def _finish(response: HttpResponse) -> None:
    """See a response off, so that its connection can be used again."""
    try:
        async with asyncio.timeout(_TAIL_TIMEOUT):
            while await response.read():
                pass
    except (TimeoutError, ConnectionClosed):
        pass


def is_event_stream(response: HttpResponse) -> bool:
    """Tell whether a response carries events."""
    return response.header("content-type").partition(";")[0].strip().lower() == EVENT_STREAM
