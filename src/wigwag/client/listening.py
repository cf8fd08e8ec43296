"""Listening for changes: one interface over both eras.

Modern servers report on the stream of a `subscriptions/listen` request, legacy ones to everyone in
the session, after `resources/subscribe` where it is about one resource.
Spec: basic/utilities/subscriptions, 2025-11-25 server/resources#subscriptions
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from msgspec import UNSET, Struct

from wigwag.errors import TransportError
from wigwag.jsonrpc.messages import RequestId
from wigwag.protocol.events import NotificationReceived
from wigwag.schema import (
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    SUBSCRIPTION_ID_KEY,
    SubscriptionFilter,
)

_LIST_CHANGES: Final = {
    NOTIFICATIONS_TOOLS_LIST_CHANGED: "tools_list_changed",
    NOTIFICATIONS_PROMPTS_LIST_CHANGED: "prompts_list_changed",
    NOTIFICATIONS_RESOURCES_LIST_CHANGED: "resources_list_changed",
}


class Change(Struct, frozen=True):
    """Something of the server has changed: list or read it anew.

    Attributes:
        method: The notification that said so.
        uri: The resource, for `notifications/resources/updated`.
    """

    method: str
    uri: str | None = None


class Changes:
    """The changes that a server reports, as an async iterator; it ends when the server ends it.

    Attributes:
        honored: What the server agreed to report; compare it with what was asked for.
    """

    def __init__(self, wanted: SubscriptionFilter) -> None:
        self.wanted = wanted
        self.honored = wanted
        self.subscription_id: RequestId | None = None
        """The id of the modern request; `None` in a legacy session."""
        self.acknowledged = asyncio.Event()
        # Each distinct change is queued once: a reader that is slow misses nothing by that.
        self._pending: dict[Change, None] = {}
        self._arrived = asyncio.Event()
        self._ended: Exception | bool = False

    def __aiter__(self) -> AsyncIterator[Change]:
        """Iterate over the changes as they are reported."""
        return self

    async def __anext__(self) -> Change:
        """Wait for the next change.

        Raises:
            StopAsyncIteration: The server has ended the subscription.
            ConnectionClosed: The connection is gone.
        """
        while not self._pending:
            if isinstance(self._ended, Exception):
                raise self._ended
            if self._ended:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        change = next(iter(self._pending))
        del self._pending[change]
        return change

    def offer(self, event: NotificationReceived) -> None:
        """Take a notification, if it belongs here."""
        meta = getattr(event.params, "meta", UNSET)
        tag = None if meta is UNSET else meta.get(SUBSCRIPTION_ID_KEY)
        if self.subscription_id is not None and not _is_same(tag, self.subscription_id):
            return
        if event.method == NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED:
            self.honored = event.params.notifications
            self.acknowledged.set()
        elif event.method in _LIST_CHANGES:
            if getattr(self.wanted, _LIST_CHANGES[event.method]) is True:
                self._add(Change(event.method))
        elif event.method == NOTIFICATIONS_RESOURCES_UPDATED:
            uri = event.params.uri
            uris = self.wanted.resource_subscriptions
            # It may be a part of the resource that was subscribed to.
            if uris is not UNSET and any(uri.startswith(wanted) for wanted in uris):
                self._add(Change(event.method, uri))

    def end(self, reason: Exception | None) -> None:
        """Let the iteration end, once what was reported before has been read."""
        if not self._ended:
            self._ended = reason or True
            self.acknowledged.set()
            self._arrived.set()

    @property
    def failure(self) -> Exception | None:
        """Why it has ended, when that was no orderly end."""
        return self._ended if isinstance(self._ended, Exception) else None

    def _add(self, change: Change) -> None:
        self._pending[change] = None
        self._arrived.set()


def _is_same(one: object, other: RequestId) -> bool:
    return type(one) is type(other) and one == other


def is_worth_retrying(reason: Exception | None) -> bool:
    """Tell whether a subscription ended because its connection did."""
    return isinstance(reason, TransportError)
