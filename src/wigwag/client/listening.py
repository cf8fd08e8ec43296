"""Listening for changes: one interface over both eras.

Modern servers report on the stream of a `subscriptions/listen` request, legacy ones to everyone in
the session, after `resources/subscribe` where it is about one resource.
Spec: basic/utilities/subscriptions, 2025-11-25 server/resources#subscriptions
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypedDict

from msgspec import UNSET

from wigwag.jsonrpc.messages import RequestId
from wigwag.protocol.events import NotificationReceived
from wigwag.protocol.subscriptions import FILTER_MEMBERS, Change, covers
from wigwag.schema import (
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    SUBSCRIPTION_ID_KEY,
    SubscriptionFilter,
)


class ToolsListChanged(Change, frozen=True, eq=False):
    """The list of tools has changed."""

    method: str = NOTIFICATIONS_TOOLS_LIST_CHANGED


class PromptsListChanged(Change, frozen=True, eq=False):
    """The list of prompts has changed."""

    method: str = NOTIFICATIONS_PROMPTS_LIST_CHANGED


class ResourcesListChanged(Change, frozen=True, eq=False):
    """The list of resources, or that of templates, has changed."""

    method: str = NOTIFICATIONS_RESOURCES_LIST_CHANGED


class ResourceUpdated(Change, frozen=True, eq=False):
    """The resource at `uri` has changed."""

    method: str = NOTIFICATIONS_RESOURCES_UPDATED


_KINDS: dict[str, type[Change]] = {
    NOTIFICATIONS_TOOLS_LIST_CHANGED: ToolsListChanged,
    NOTIFICATIONS_PROMPTS_LIST_CHANGED: PromptsListChanged,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED: ResourcesListChanged,
    NOTIFICATIONS_RESOURCES_UPDATED: ResourceUpdated,
}


class FilterMembers(TypedDict, total=False):
    """What can be listened for, by the names that the protocol has for it."""

    tools_list_changed: bool
    prompts_list_changed: bool
    resources_list_changed: bool
    resource_subscriptions: Sequence[str]


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
        self.on_acknowledged: Callable[[], object] = lambda: None
        """Called each time the server has agreed."""
        self.is_of_use = False
        """Whether the server has reported anything, since it was last asked."""
        self.subscribed: list[str] = []
        """The resources that a legacy session was asked to report on."""
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
            self.on_acknowledged()
        else:
            kind = _KINDS.get(event.method, Change)
            change = kind(method=event.method, uri=getattr(event.params, "uri", None))
            if covers(self.wanted, change):
                self.is_of_use = True
                self.report(change)

    def report(self, change: Change) -> None:
        """Let a change be read, unless it is still to be read from before."""
        self._pending[change] = None
        self._arrived.set()

    def all_listened_for(self) -> list[Change]:
        """Return one change of all that is listened for: what may have been missed."""
        honored = self.honored
        lists = (
            method for method, member in FILTER_MEMBERS.items() if getattr(honored, member) is True
        )
        return [
            *(_KINDS[method](method=method) for method in lists),
            *(ResourceUpdated(uri=uri) for uri in honored.resource_subscriptions or ()),
        ]

    def end(self, reason: Exception | None) -> None:
        """Let the iteration end, once what was reported before has been read."""
        if not self._ended:
            self._ended = reason or True
            self.acknowledged.set()
            self._arrived.set()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will be reported."""
        return self._ended is not False

    @property
    def failure(self) -> Exception | None:
        """Why it has ended, when that was no orderly end."""
        return self._ended if isinstance(self._ended, Exception) else None


def _is_same(one: object, other: RequestId) -> bool:
    return type(one) is type(other) and one == other
