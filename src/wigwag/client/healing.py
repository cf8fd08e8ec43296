"""What a client puts right by itself when a connection breaks, and how long it goes on trying.

Spec: basic/transports/streamable-http, 2025-11-25 basic/transports#session-management
"""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec import Struct

from wigwag.errors import (
    ConnectionClosed,
    HostNotFound,
    HttpStatusError,
    ServerUnreachable,
    SessionLost,
    TLSFailed,
)

__all__ = ["Healing", "Pauses", "may_pass", "retry_after", "was_not_carried_out"]

# What a server, or a proxy before one, answers while it is being started anew.
_PASSING_STATUSES: Final = (502, 503, 504)


class Healing(Struct, frozen=True, kw_only=True):
    """What a client puts right by itself; each part can be turned off.

    Spec: 2025-11-25 basic/transports#session-management

    Attributes:
        session: A legacy server has forgotten the session: open a new one.
        restart: The server process has died, or the connection to a socket or of HTTP+SSE is cut:
            start it, or connect, anew when something is next asked.
        resume: The stream of a legacy answer, or that of what the server says of its own accord,
            is cut: go on from the last event.
        resend: A request is lost: send it again, with a new id, if nothing of it was carried out or
            doing it twice does no more than doing it once.
        listen: A subscription is cut: subscribe again, and report to whoever listens what may have
            been missed.
    """

    session: bool = True
    restart: bool = True
    resume: bool = True
    resend: bool = True
    listen: bool = True

    @classmethod
    def of(cls, heal: bool | Healing, *, restart: bool | None = None) -> Healing:  # noqa: FBT001
        """Return what the options of a client mean.

        Raises:
            TypeError: They mean nothing.
        """
        if isinstance(heal, bool):
            members = dict.fromkeys(cls.__struct_fields__, heal)
        elif isinstance(heal, cls):
            members = {name: getattr(heal, name) for name in cls.__struct_fields__}
        else:
            raise TypeError(f"`heal` is True, False or a Healing, not {heal!r}")
        if restart is not None:
            members["restart"] = restart
        return cls(**members)


def may_pass(error: Exception) -> bool:
    """Tell whether a server with this failure may well be there again in a moment."""
    if isinstance(error, HttpStatusError):
        return error.status in _PASSING_STATUSES
    if isinstance(error, ServerUnreachable):
        return not isinstance(error, HostNotFound | TLSFailed)
    return isinstance(error, ConnectionClosed)


def was_not_carried_out(error: Exception) -> bool:
    """Tell whether a request with this failure cannot have had any effect."""
    if isinstance(error, SessionLost):
        return error.was_refused
    return isinstance(error, ServerUnreachable)


def retry_after(error: Exception) -> float:
    """Return how many seconds the server wants to be left alone; 0 when it does not say."""
    if not isinstance(error, HttpStatusError):
        return 0.0
    text = error.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() else 0.0


class Pauses:
    """Lets those wait who try again later, until the client is closed."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def wait(self, seconds: float) -> None:
        """Wait so long, or until `end` is called."""
        if seconds <= 0.0:
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(seconds, _wake, future)
        self._waiting.add(future)
        try:
            await future
        finally:
            timer.cancel()
            self._waiting.discard(future)

    def end(self) -> None:
        """Let nobody wait any longer."""
        for future in self._waiting:
            _wake(future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
