"""Everybody who listens for changes through one client, and how their subscriptions are kept.

Spec: basic/utilities/subscriptions, 2025-11-25 server/resources#subscriptions
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from wigwag.client.asking import Asking
from wigwag.client.events import Events
from wigwag.client.healing import Pauses, may_pass
from wigwag.client.link import Link, Timeouts
from wigwag.client.listening import Changes
from wigwag.errors import (
    ConnectionClosed,
    LocalProtocolError,
    McpError,
    RequestFailed,
    RequestTimedOut,
    SessionLost,
)
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.protocol.events import NotificationReceived
from wigwag.protocol.subscriptions import Change, honored
from wigwag.runtime.callbacks import Callbacks
from wigwag.runtime.client_connection import ClientConnection
from wigwag.schema import (
    RESOURCES_SUBSCRIBE,
    RESOURCES_UNSUBSCRIBE,
    SUBSCRIPTIONS_LISTEN,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)

__all__ = ["Listeners"]

# So often in a row a subscription is asked for in vain.
MAX_LISTEN_TRIES: Final = 6
# A subscription that was open so long was of use, even if nothing was reported.
_USEFUL_SECONDS: Final = 5.0


class Listeners:
    """The subscriptions of one client.

    Args:
        link: What connects to the server.
        asking: What asks it.
        timeouts: How long to wait.
        events: Who is told of subscriptions that were opened again.
        pauses: Where it is waited between two tries.
        on_missed: Called with each change that may have been missed meanwhile.
    """

    def __init__(
        self,
        link: Link,
        asking: Asking,
        timeouts: Timeouts,
        events: Events,
        pauses: Pauses,
        *,
        on_missed: Callable[[Change], object],
    ) -> None:
        self._link = link
        self._asking = asking
        self._timeouts = timeouts
        self._events = events
        self._pauses = pauses
        self._on_missed = on_missed
        self._listening: set[Changes] = set()
        self._callbacks = Callbacks()

    def offer(self, event: NotificationReceived) -> None:
        """Hand a notification to those whom it concerns."""
        for changes in list(self._listening):
            changes.offer(event)

    @asynccontextmanager
    async def listen(
        self, wanted: SubscriptionFilter, *, insist: bool = True
    ) -> AsyncIterator[Changes]:
        """Listen for changes, in whichever way the server's era has for it.

        Args:
            wanted: The changes.
            insist: Whether a legacy server that has declared none of them is not listened to.

        Raises:
            LocalProtocolError: The server reports none of them.
        """
        await self._link.get()
        changes = Changes(wanted)
        if not self._link.is_modern:
            changes.honored = honored(changes.wanted, self._link.known.capabilities)
            if insist:
                _check_honored(changes)
        self._listening.add(changes)
        listening: asyncio.Task[None] | None = None
        try:
            if self._link.is_modern:
                task = asyncio.get_running_loop().create_task(self._keep_listening(changes))
                listening = task
                await self._acknowledged(changes)
                if changes.failure is not None:
                    raise changes.failure
                _check_honored(changes)
                self._keep_nothing_from_before(changes)
            else:
                await self._subscribe(changes)
            yield changes
        finally:
            self._listening.discard(changes)
            if listening is not None:
                listening.cancel()
            if self._link.is_open:
                await self._unsubscribe(changes)

    def _keep_nothing_from_before(self, changes: Changes) -> None:
        # What has changed since an answer was kept, and before somebody listened, nobody reports.
        cache = self._asking.cache
        if cache is not None:
            for change in changes.all_listened_for():
                cache.note(change.method, change.uri)

    async def _subscribe(self, changes: Changes) -> None:
        for uri in changes.honored.resource_subscriptions or ():
            if not self._is_subscribed(uri):
                await self._asking.ask(RESOURCES_SUBSCRIBE, SubscribeRequestParams(uri=uri))
            changes.subscribed.append(uri)

    async def _unsubscribe(self, changes: Changes) -> None:
        for uri in dict.fromkeys(changes.subscribed):
            if not self._is_subscribed(uri):  # others may go on with it
                await self._asking.ask(RESOURCES_UNSUBSCRIBE, UnsubscribeRequestParams(uri=uri))

    def _is_subscribed(self, uri: str) -> bool:
        return any(uri in changes.subscribed for changes in self._listening)

    async def restore(self, live: ClientConnection, reason: Exception | None) -> None:
        """Subscribe to the same resources in a new legacy session, which replaces a lost one."""
        listening = [changes for changes in self._listening if not changes.has_ended]
        refused: dict[str, RequestFailed] = {}
        for uri in {uri for changes in listening for uri in changes.subscribed}:
            params = SubscribeRequestParams(uri=uri)
            limit = self._timeouts.request
            try:
                await live.request(RESOURCES_SUBSCRIBE, params, idle_timeout=limit)
            except RequestFailed as error:  # it concerns those who listen to that one alone
                refused[uri] = error
        for changes in listening:
            failure = next((refused[uri] for uri in changes.subscribed if uri in refused), None)
            if failure is not None:
                changes.subscribed = [uri for uri in changes.subscribed if uri not in refused]
                changes.end(failure)
            else:
                self._note_reopened(changes, reason, attempt=1)

    def offer_missed(self) -> None:
        """Report all that those who listen in a legacy session may have missed."""
        for changes in self._listening:
            self._offer_missed(changes)

    def _note_reopened(self, changes: Changes, reason: Exception | None, *, attempt: int) -> None:
        method = SUBSCRIPTIONS_LISTEN if self._link.is_modern else None
        self._events.tell("listen_reopened", reason, method=method, attempt=attempt)
        self._offer_missed(changes)

    def _offer_missed(self, changes: Changes) -> None:
        for change in changes.all_listened_for():
            changes.report(change)
            self._on_missed(change)

    def note_lost(self, reason: Exception) -> None:
        """Let those who listen in a legacy session go on in a new one, or learn that it is over."""
        # Modern ones have a request that fails by itself.
        if not self._listening or not self._link.is_wanted or self._link.is_modern:
            return
        healing = self._link.healing
        may_reopen = healing.session if isinstance(reason, SessionLost) else healing.restart
        if healing.listen and may_reopen:
            self._callbacks.call(self._listen_anew)
        else:
            self._end_all(reason)

    async def _listen_anew(self) -> None:
        """Open a new legacy session; `restore` does the rest."""
        tries = 0
        while self._link.is_wanted:
            try:
                await self._link.get()
            except McpError as error:
                tries += 1
                if tries >= MAX_LISTEN_TRIES or not may_pass(error):
                    self._end_all(error)
                    return
            else:
                return
            await self._pauses.wait(_delay(tries))

    def _end_all(self, reason: Exception) -> None:
        for changes in self._listening:
            changes.end(reason)

    async def _acknowledged(self, changes: Changes) -> None:
        limit = self._timeouts.request
        try:
            async with self._link.limit(limit):
                await changes.acknowledged.wait()
        except TimeoutError:
            why = f"{limit:g} s without an acknowledgement"
            raise RequestTimedOut(SUBSCRIPTIONS_LISTEN, limit, why) from None

    async def _keep_listening(self, changes: Changes) -> None:
        params = SubscriptionsListenRequestParams(notifications=changes.wanted)

        def note_id(request: OutgoingRequest) -> None:
            changes.subscription_id = request.id

        loop = asyncio.get_running_loop()
        reason: Exception | None = None
        opened_at: float | None = None
        was_open = False
        tries = 0

        def note_acknowledged() -> None:
            nonlocal opened_at
            if was_open:
                self._note_reopened(changes, reason, attempt=tries + 1)
            opened_at = loop.time()

        changes.on_acknowledged = note_acknowledged
        while True:
            end: Exception | None = None
            changes.is_of_use, opened_at = False, None
            try:
                live = await self._link.get()
                await live.request(SUBSCRIPTIONS_LISTEN, params, on_sent=note_id)
            except Exception as error:  # noqa: BLE001 - raised where the changes are read
                end = error
            if opened_at is not None:
                was_open = True
                changes.is_of_use |= loop.time() - opened_at >= _USEFUL_SECONDS
            tries = 0 if changes.is_of_use else tries + 1
            if tries >= MAX_LISTEN_TRIES or not self._may_listen_again(end):
                changes.end(end)
                return
            reason = end
            await self._pauses.wait(_delay(tries))
            if not self._link.is_wanted:
                changes.end(ConnectionClosed("the client was closed"))
                return

    def _may_listen_again(self, reason: Exception | None) -> bool:
        link = self._link
        may_reopen = link.healing.listen and link.is_wanted and link.may_be_used
        return may_reopen and reason is not None and may_pass(reason)


def _delay(tries: int) -> float:
    """Return how long to wait after so many tries in a row that were of no use."""
    # At once after what was of use; then a server that starts anew gets time.
    return 2.0 ** (tries - 2) if tries else 0.0


def _check_honored(changes: Changes) -> None:
    if changes.honored == SubscriptionFilter():
        raise LocalProtocolError("the server does not report any of these changes")
