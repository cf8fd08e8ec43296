"""What connections to a URL have in common, whichever way their messages go."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from wigwag.transports.contract import ExchangeReceiver, Receiver
from wigwag.transports.http_client_peer import HttpPeer


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
