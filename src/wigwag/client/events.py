"""What happens to the connection of a client, told to whoever wants to know."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from wigwag.errors import SessionLost
from wigwag.runtime.callbacks import Callbacks

__all__ = ["ClientEvent", "EventKind", "Events", "OnEvent"]

_logger = logging.getLogger("wigwag.client")

EventKind = Literal[
    "session_reopened",
    "server_restarted",
    "reconnected",
    "stream_resumed",
    "request_resent",
    "listen_reopened",
    "logged_in",
    "token_refreshed",
]

_WORDS: Final[dict[EventKind, str]] = {
    "session_reopened": "opened a new session",
    "server_restarted": "started the server anew",
    "reconnected": "connected anew",
    "stream_resumed": "went on with a stream that was cut",
    "request_resent": "asked again",
    "listen_reopened": "listens again",
    "logged_in": "got a new token",
    "token_refreshed": "refreshed the token",
}


class ClientEvent(Struct, frozen=True, kw_only=True):
    """Something that a client has put right by itself.

    Attributes:
        kind: `session_reopened`: a legacy server had forgotten the session, there is a new one.
            `server_restarted`: the server process had died, there is a new one. `reconnected`: the
            same for any other connection. `stream_resumed`: a legacy stream was cut, and went on.
            `request_resent`: a request was lost, and was sent again. `listen_reopened`: a
            subscription was cut, and whoever listens is told what may have been missed.
            `logged_in`: there was no token for the server, or none that allows enough, and now
            there is. `token_refreshed`: the token had expired, and there is a new one.
        server: The server, in words for a person.
        reason: What had happened.
        method: The method that it is about, if it is about one.
        attempt: How often it was tried: 2 for a request that was sent a second time, 1 for what
            went well at once.
    """

    kind: EventKind
    server: str
    reason: Exception | str | None = None
    method: str | None = None
    attempt: int = 1


OnEvent = Callable[[ClientEvent], object]


class Events:
    """Tells the log, and whoever else wants to know, what happens to one client.

    Args:
        server: The server, in words for a person.
        on_event: Called with each event; what it raises goes to the log.
    """

    def __init__(self, server: str, on_event: OnEvent | None = None) -> None:
        self._server = server
        self._on_event = on_event
        self._callbacks = Callbacks()

    def tell_reopened(self, reason: Exception, *, is_process: bool) -> None:
        """Say that there is a new connection in place of one that was lost."""
        kind: EventKind = "server_restarted" if is_process else "reconnected"
        self.tell("session_reopened" if isinstance(reason, SessionLost) else kind, reason)

    def tell(
        self,
        kind: EventKind,
        reason: Exception | str | None,
        *,
        method: str | None = None,
        attempt: int = 1,
    ) -> None:
        """Say that something was put right."""
        _logger.info(
            "%s: %s%s%s%s",
            self._server,
            _WORDS[kind],
            "" if method is None else f" ({method})",
            "" if attempt == 1 else f", attempt {attempt}",
            "" if reason is None else f": {reason}",
        )
        if self._on_event is not None:
            event = ClientEvent(
                kind=kind, server=self._server, reason=reason, method=method, attempt=attempt
            )
            self._callbacks.call(self._on_event, event)
