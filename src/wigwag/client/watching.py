"""Watching a server for its user: what has changed is listed anew, and told.

Theory of operation: one subscription (`Listeners.listen`) reports all that is watched. A *teller*
stands for each callback: it is told that something is due, waits a moment for more of the same,
gets the list and calls. When the resources that are watched change, a subscription to the new ones
is open before the old one ends.

Spec: basic/utilities/subscriptions, 2025-11-25 server/resources#subscriptions
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final

from msgspec import UNSET

from wigwag.client.link import Link
from wigwag.client.listeners import Listeners
from wigwag.client.listening import Changes
from wigwag.errors import ConnectionClosed, LocalProtocolError, McpError, RequestFailed
from wigwag.protocol.subscriptions import FILTER_MEMBERS, Change, is_declared
from wigwag.schema import (
    NOTIFICATIONS_RESOURCES_UPDATED,
    SubscriptionFilter,
)

__all__ = ["Teller", "WatchedList", "Watching"]

_logger = logging.getLogger("wigwag.client")

# Changes often come in bursts: seconds for which more of the same are waited for.
GATHERING: Final = 0.2


class Teller:
    """Does something once it is due: once for all that comes together, and never twice at a time.

    Args:
        prepare: Gets what there is to tell.
        tell: Tells it; it may be `async`.
        delay: Seconds for which more is waited for.
    """

    def __init__(
        self,
        prepare: Callable[[], Awaitable[Iterable[Any]]],
        tell: Callable[[Any], object],
        delay: float,
    ) -> None:
        self._prepare = prepare
        self._tell = tell
        self._delay = delay
        self._is_due = False
        self._is_telling = False
        self._task: asyncio.Task[None] | None = None

    def due(self) -> None:
        """Note that there is something to tell."""
        self._is_due = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Tell nothing more; a callback that is being called is left to its end."""
        self._is_due = False
        task = self._task
        if task is None or task.done() or self._is_telling:
            return
        task.cancel()
        await asyncio.wait([task])
        if self._is_due:  # of the next life already
            self.due()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._task is task:
            self._task = None
        if self._is_due and not task.cancelled():  # since it looked last
            self.due()

    async def _run(self) -> None:
        while self._is_due:
            await asyncio.sleep(self._delay)
            self._is_due = False
            for what in await self._prepare():
                await self._call(what)

    async def _call(self, what: Any) -> None:
        self._is_telling = True
        try:
            outcome = self._tell(what)
            if inspect.isawaitable(outcome):
                await outcome
        except Exception:
            _logger.exception("a callback of the client failed")
        finally:
            self._is_telling = False


class WatchedList:
    """A list that somebody wants to be told of.

    Args:
        name: What it is a list of.
        fetch: Gets all of it.
        tell: Called with it.
    """

    def __init__(
        self,
        name: str,
        fetch: Callable[[], Awaitable[list[Any]]],
        tell: Callable[[Any], object],
    ) -> None:
        self.name = name
        self.fetch = fetch
        self.tell = tell


class _Subscription:
    """A subscription that is read."""

    def __init__(
        self,
        listening: AbstractAsyncContextManager[Changes],
        note: Callable[[Change], None],
        ended: Callable[[_Subscription, Exception | None], None],
    ) -> None:
        self._listening = listening
        self._note = note
        self._ended = ended
        self._reading: asyncio.Task[None] | None = None
        self._is_left = False

    @property
    def is_over(self) -> bool:
        """Whether nobody reads it any more, perhaps because its event loop has ended."""
        return self._reading is not None and self._reading.done()

    async def open(self) -> Changes:
        changes = await self._listening.__aenter__()
        self._reading = asyncio.get_running_loop().create_task(self._read(changes))
        return changes

    async def _read(self, changes: Changes) -> None:
        reason: Exception | None = None
        try:
            async for change in changes:
                self._note(change)
        except McpError as error:
            reason = error
        self._ended(self, reason)
        with suppress(McpError):  # it has ended in any case
            await self._leave()

    async def close(self) -> None:
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await self._leave()

    async def _leave(self) -> None:
        if not self._is_left:
            self._is_left = True
            await self._listening.__aexit__(None, None, None)


class Watching:
    """What one client watches of its server, on whatever connection there is.

    Args:
        link: What connects to the server.
        listeners: What listens to it.
        lists: The lists that are watched, by the notifications that say that they have changed.
        on_updated: Called with the URI of each resource that has changed, of those subscribed to.
        delay: Seconds for which changes of a list are gathered.
    """

    def __init__(
        self,
        link: Link,
        listeners: Listeners,
        lists: Mapping[str, WatchedList],
        on_updated: Callable[[str], object] | None,
        *,
        delay: float = GATHERING,
    ) -> None:
        self._link = link
        self._listeners = listeners
        self._tellers = {
            method: Teller(self._fetcher(watched), watched.tell, delay)
            for method, watched in lists.items()
        }
        self._updated: dict[str, None] = {}
        if on_updated is not None:
            updates = Teller(self._take_updated, on_updated, 0)
            self._tellers[NOTIFICATIONS_RESOURCES_UPDATED] = updates
        self._uris: list[str] = []
        self._subscription: _Subscription | None = None
        self._opening: asyncio.Task[None] | None = None
        self._has_missed = False
        self._switching = asyncio.Lock()

    # --- its life

    def resume(self) -> None:
        """Watch on a new connection, unless what was begun on an earlier one goes on."""
        if self._subscription is not None and self._subscription.is_over:
            self._subscription, self._has_missed = None, True
            self._switching = asyncio.Lock()
        is_idle = self._subscription is None and self._opening is None
        if is_idle and (self._tellers or self._uris):
            self._opening = asyncio.get_running_loop().create_task(self._open())

    async def close(self) -> None:
        """End it, until a connection is opened anew. The connection is closed already."""
        opening, subscription = self._opening, self._subscription
        self._opening = self._subscription = None
        self._has_missed = False
        self._updated.clear()
        self._switching = asyncio.Lock()  # that of the next life, which may have another event loop
        if opening is not None and not opening.done():
            opening.cancel()
            await asyncio.wait([opening])
        if subscription is not None:
            await subscription.close()
        for teller in self._tellers.values():
            await teller.stop()

    async def _open(self) -> None:
        try:
            async with self._switching:
                if self._subscription is None:
                    await self._begin()
        except McpError as error:
            if self._link.is_wanted:
                _logger.warning("cannot watch %s for changes: %s", self._link.name, error)
        finally:
            self._opening = None
        if self._has_missed:
            self._has_missed = False
            for method in FILTER_MEMBERS:
                self._note(Change(method))
            for uri in self._uris:
                self._note(Change(NOTIFICATIONS_RESOURCES_UPDATED, uri))

    async def _begin(self) -> None:
        try:
            await self._switch(self._uris)
        except RequestFailed as error:
            if not self._uris:
                raise
            # A resource that is gone must not keep lists from being watched.
            _logger.warning("cannot watch resources of %s: %s", self._link.name, error)
            await self._switch([])

    # --- resources

    async def subscribe(self, uri: str) -> None:
        """Watch a resource, too.

        Raises:
            LocalProtocolError: The server does not report its changes.
        """
        await self._link.get()
        async with self._switching:
            if uri in self._uris and self._subscription is not None:
                return
            if not is_declared(self._link.known.capabilities, NOTIFICATIONS_RESOURCES_UPDATED):
                raise LocalProtocolError(
                    "the server does not report changes of resources: it did not declare "
                    "`resources.subscribe`"
                )
            uris = [*(other for other in self._uris if other != uri), uri]
            await self._switch(uris, new=uri)
            self._uris = uris

    async def unsubscribe(self, uri: str) -> None:
        """Watch a resource no more."""
        async with self._switching:
            if uri in self._uris:
                uris = [other for other in self._uris if other != uri]
                await self._switch(uris)
                self._uris = uris

    # --- the subscription

    async def _switch(self, uris: list[str], *, new: str | None = None) -> None:
        """Listen for the changes of other resources from now on, without a gap."""
        life = self._switching
        wanted = self._wanted(uris)
        subscription: _Subscription | None = None
        if wanted != SubscriptionFilter():
            listening = self._listeners.listen(wanted, insist=False)
            subscription = _Subscription(listening, self._note, self._ended)
            changes = await subscription.open()
            if new is not None and new not in (changes.honored.resource_subscriptions or ()):
                await subscription.close()
                raise LocalProtocolError(f"the server does not report changes of {new}")
            if life is not self._switching:
                await subscription.close()
                raise ConnectionClosed("the client was closed")
        old, self._subscription = self._subscription, subscription
        if old is not None:
            await old.close()

    def _wanted(self, uris: list[str]) -> SubscriptionFilter:
        # A legacy server is only heard, not asked: many report what they did not declare.
        capabilities = self._link.known.capabilities
        lists = {
            member: True
            for method, member in FILTER_MEMBERS.items()
            if method in self._tellers
            and (not self._link.is_modern or is_declared(capabilities, method))
        }
        return SubscriptionFilter(**lists, resource_subscriptions=uris or UNSET)

    def _ended(self, subscription: _Subscription, reason: Exception | None) -> None:
        if self._subscription is not subscription:
            return
        self._subscription = None
        self._has_missed = True
        if self._link.is_wanted:
            why = reason or "it has ended the subscription"
            _logger.warning("%s is no longer watched for changes: %s", self._link.name, why)
            if isinstance(reason, RequestFailed) and not self._link.is_modern:
                self.resume()  # only one of the resources was refused

    # --- telling

    def _note(self, change: Change) -> None:
        teller = self._tellers.get(change.method)
        if teller is not None:
            if change.uri is not None:
                self._updated[change.uri] = None
            teller.due()

    async def _take_updated(self) -> list[str]:
        uris = list(self._updated)
        self._updated.clear()
        return uris

    def _fetcher(self, watched: WatchedList) -> Callable[[], Awaitable[Iterable[Any]]]:
        async def fetch() -> list[list[Any]]:
            try:
                return [await watched.fetch()]
            except McpError as error:
                if self._link.is_wanted:
                    _logger.warning(
                        "the %s of %s have changed, and could not be listed: %s",
                        watched.name,
                        self._link.name,
                        error,
                    )
            except Exception:
                _logger.exception("the %s could not be listed", watched.name)
            return []

        return fetch
