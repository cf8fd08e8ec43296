"""What connections to a URL have in common, whichever way their messages go."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from wigwag.jsonrpc.messages import RequestId
from wigwag.transports.contract import ExchangeReceiver, Receiver
from wigwag.transports.http_client_peer import HttpPeer

__all__ = ["HeldRequest", "HttpConnection", "wait_held"]


class HeldRequest:
    """Tells a receiver when one of its requests is held up.

    Args:
        receiver: The receiver.
        request_id: The request.
    """

    def __init__(self, receiver: ExchangeReceiver, request_id: RequestId) -> None:
        self._receiver = receiver
        self._request_id = request_id

    def hold(self) -> None:
        """Say that it is."""
        self._receiver.request_held(self._request_id)

    def release(self) -> None:
        """Say that it is not any more."""
        self._receiver.request_released(self._request_id)


class HttpConnection(ABC):
    """A `Connection` to what answers at a URL.

    Args:
        peer: What answers; it is closed with the connection.
    """

    def __init__(self, peer: HttpPeer) -> None:
        self._loop = asyncio.get_running_loop()
        self._peer = peer
        self._receiver: ExchangeReceiver
        self._is_closed = False
        self._keeper: asyncio.Task[None] | None = None

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver."""
        if not isinstance(receiver, ExchangeReceiver):
            raise TypeError("over HTTP each request may fail by itself: use an ExchangeReceiver")
        self._receiver = receiver
        self._keeper = self._loop.create_task(self._keep())

    def abort(self) -> None:
        """Drop everything at once; the server is told nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._cancel_all()
            self._peer.abort()
            self._report_lost(None)

    def _held(self, request_id: RequestId) -> HeldRequest | None:
        """Return what is told when a request is held up, where one can be."""
        return HeldRequest(self._receiver, request_id) if self._peer.is_authorized else None

    @abstractmethod
    async def aclose(self) -> None:
        """Send what is left, then end the connection. May be called twice."""

    @abstractmethod
    def _cancel_all(self) -> set[asyncio.Task[None]]:
        """Cancel what is under way, and return it."""

    def _report_lost(self, reason: Exception | None) -> None:
        """Tell the receiver that the connection is gone."""
        self._receiver.connection_lost(reason)
        if self._keeper is not None:
            self._keeper.cancel()

    async def _keep(self) -> None:
        """Close the connection when the event loop ends first, which cancels this."""
        try:
            await self._loop.create_future()
        finally:
            await self.aclose()


async def wait_held(earlier: asyncio.Task[None], held: HeldRequest | None) -> None:
    """Let a request wait for an earlier message, which may be held up by a person itself."""
    if held is not None:
        held.hold()
    try:
        await asyncio.wait({earlier})
    finally:
        if held is not None:
            held.release()
