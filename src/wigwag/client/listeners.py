"""Everybody who listens for changes through one client, and how their subscriptions are kept.

Spec: basic/utilities/subscriptions, 2025-11-25 server/resources#subscriptions
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from wigwag.client.asking import Asking
from wigwag.client.link import Link, Timeouts
from wigwag.client.listening import Changes, is_worth_retrying
from wigwag.errors import LocalProtocolError, McpError, RequestTimedOut, SessionLost
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.protocol.events import NotificationReceived
from wigwag.protocol.subscriptions import honored
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


class Listeners:
    """The subscriptions of one client.

    Args:
        link: What connects to the server.
        asking: What asks it.
        timeouts: How long to wait.
    """

    def __init__(self, link: Link, asking: Asking, timeouts: Timeouts) -> None:
        self._link = link
        self._asking = asking
        self._timeouts = timeouts
        self._listening: set[Changes] = set()
        self._callbacks = Callbacks()

    def offer(self, event: NotificationReceived) -> None:
        """Hand a notification to those whom it concerns."""
        for changes in list(self._listening):
            changes.offer(event)

    @asynccontextmanager
    async def listen(self, wanted: SubscriptionFilter) -> AsyncIterator[Changes]:
        """Listen for changes, in whichever way the server's era has for it.

        Raises:
            LocalProtocolError: The server reports none of them.
        """
        await self._link.get()
        changes = Changes(wanted)
        if not self._link.is_modern:
            changes.honored = honored(changes.wanted, self._link.known.capabilities)
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
            else:
                for uri in changes.honored.resource_subscriptions or ():
                    await self._asking.ask(RESOURCES_SUBSCRIBE, SubscribeRequestParams(uri=uri))
                    changes.subscribed.append(uri)
            yield changes
        finally:
            self._listening.discard(changes)
            if listening is not None:
                listening.cancel()
            if self._link.is_open:
                for uri in changes.subscribed:
                    params = UnsubscribeRequestParams(uri=uri)
                    await self._asking.ask(RESOURCES_UNSUBSCRIBE, params)

    async def restore(self, live: ClientConnection) -> None:
        """Subscribe to the same resources in a new legacy session."""
        for uri in {uri for changes in self._listening for uri in changes.subscribed}:
            params = SubscribeRequestParams(uri=uri)
            limit = self._timeouts.request
            await live.request(RESOURCES_SUBSCRIBE, params, idle_timeout=limit)

    def note_lost(self, reason: Exception) -> None:
        """Let those who listen in a legacy session go on in a new one, or learn that it is over."""
        # Modern ones have a request that fails by itself.
        if not self._listening or not self._link.is_wanted or self._link.is_modern:
            return
        if self._link.may_restart or isinstance(reason, SessionLost):
            self._callbacks.call(self._listen_anew)
        else:
            for changes in self._listening:
                changes.end(reason)

    async def _listen_anew(self) -> None:
        try:
            await self._link.get(reopen=True)
        except McpError as error:
            for changes in self._listening:
                changes.end(error)

    async def _acknowledged(self, changes: Changes) -> None:
        limit = self._timeouts.request
        try:
            await asyncio.wait_for(changes.acknowledged.wait(), limit)
        except TimeoutError:
            why = f"{limit:g} s without an acknowledgement"
            raise RequestTimedOut(SUBSCRIPTIONS_LISTEN, limit, why) from None

    async def _keep_listening(self, changes: Changes) -> None:
        params = SubscriptionsListenRequestParams(notifications=changes.wanted)

        def note_id(request: OutgoingRequest) -> None:
            changes.subscription_id = request.id

        tries = 0
        while True:
            reason: Exception | None = None
            changes.is_open = False
            try:
                live = await self._link.get()
                await live.request(SUBSCRIPTIONS_LISTEN, params, on_sent=note_id)
            except Exception as error:  # noqa: BLE001 - raised where the changes are read
                reason = error
            tries = 0 if changes.is_open else tries + 1
            may_retry = self._link.may_restart and self._link.is_wanted and tries < MAX_LISTEN_TRIES
            if not (may_retry and is_worth_retrying(reason)):
                changes.end(reason)
                return
            # At once after a stream that was of use; then a server that starts anew gets time.
            await asyncio.sleep(2.0 ** (tries - 2) if tries else 0.0)


def _check_honored(changes: Changes) -> None:
    if changes.honored == SubscriptionFilter():
        raise LocalProtocolError("the server does not report any of these changes")
