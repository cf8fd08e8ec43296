"""Keeps answers of a server as long as it allows, and asks but once what several want at once.

Theory of operation: an answer has a *place* in the store, a group and a key. What becomes invalid
together is a group: all pages of a list, or all that has been read at one URI. The key says for
whom it is, and which page. A request that is on its way is a *flight*, a task that everybody waits
for who wants the same; it keeps the answer, unless the place became invalid meanwhile. What is
invalid is noted at once, and forgotten by the store before anything is looked for there.

Spec: server/utilities/caching
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.client.cache_policy import CachePolicy
from wigwag.client.guarded_store import GuardedStore
from wigwag.errors import (
    HttpStatusError,
    RequestFailed,
    RequestTimedOut,
    TLSFailed,
    TransportError,
)
from wigwag.schema import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    METHODS,
    MODERN_REVISIONS,
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCE_NOT_FOUND,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_TEMPLATES_LIST,
    RESULT_COMPLETE,
    TOOLS_CALL,
    TOOLS_LIST,
    ClientCapabilities,
)
from wigwag.stores.contract import CacheStore
from wigwag.stores.memory import MemoryCacheStore

if TYPE_CHECKING:
    from wigwag.client.authorization.authorizer import ClientAuthorizer

__all__ = ["CacheInfo", "ResponseCache", "cache_of", "principal_of"]

Ask = Callable[[], Awaitable[Raw]]

# A server that means "for ever" may say so; a store need not be able to count that far.
MAX_TTL_MS: Final = 365 * 24 * 3_600_000
# While a store fails, no more groups are noted that it has to forget.
MAX_INVALID: Final = 10_000
# Names that a server chooses stand in keys as they are up to so many characters.
MAX_NAME: Final = 256
# What is read at URIs so many levels above one that has changed may be another, too.
MAX_PARENTS: Final = 32

_CHANGED: Final[Mapping[str, Sequence[str]]] = {
    NOTIFICATIONS_TOOLS_LIST_CHANGED: (TOOLS_LIST,),
    NOTIFICATIONS_PROMPTS_LIST_CHANGED: (PROMPTS_LIST,),
    NOTIFICATIONS_RESOURCES_LIST_CHANGED: (RESOURCES_LIST, RESOURCES_TEMPLATES_LIST),
}

# What the server knows nothing of, and where a client may have read that it does.
_NOT_THERE: Final = (INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND)
_LISTED_BY: Final[Mapping[str, Sequence[str]]] = {
    TOOLS_CALL: (TOOLS_LIST,),
    PROMPTS_GET: (PROMPTS_LIST,),
    RESOURCES_READ: (RESOURCES_LIST, RESOURCES_TEMPLATES_LIST),
}

_logger = logging.getLogger("wigwag.client")


class CacheInfo(NamedTuple):
    """How often a client had what it was asked for."""

    hits: int
    """Answered from what is kept."""
    misses: int
    """Asked of the server."""
    joined: int
    """Answered with what somebody else had just asked for."""
    stale: int
    """Answered with what was no longer fresh, because the server could not be reached."""


class _Place(NamedTuple):
    group: str
    keys: Sequence[str]
    """First that of private answers, if they can be kept; then that of public ones."""


class _Hints(Struct, rename="camel"):
    """What a result says of itself; a server may say anything."""

    result_type: Any = UNSET
    ttl_ms: Any = UNSET
    cache_scope: Any = UNSET


class _Flight:
    """A request on its way, and how many wait for its answer."""

    __slots__ = ("has_company", "is_outdated", "limit", "since", "task", "waiting")

    task: asyncio.Task[Raw]

    def __init__(self, since: object, limit: float | None) -> None:
        self.since = since
        self.limit = limit
        self.waiting = 0
        self.has_company = False
        self.is_outdated = False


class ResponseCache:
    """The cache of one client.

    Args:
        policy: How its user wants it.
        url: The whole URL of the server, if it has one.
        name: What the log calls the server.
        principal: Returns what tells who asks from others; `None` if nobody can tell.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        policy: CachePolicy,
        *,
        url: str | None,
        name: str,
        principal: Callable[[], str | None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._policy = policy
        self._server = url if policy.server is None else policy.server
        self._name = name
        self._principal = principal
        self._clock = clock
        if policy.store is None:
            own = MemoryCacheStore(clock=clock)
            self._store = GuardedStore(own, patience=None, clock=clock)
        else:
            self._store = GuardedStore(policy.store, clock=clock)
        self._base = ""
        self._is_modern = False
        self._flights: dict[tuple[str, str], _Flight] = {}
        # Groups that the store has still to forget, each with a mark of when that became so.
        self._invalid: dict[str, object] = {}
        self._writing = asyncio.Lock()
        self._is_closed = False
        self._has_warned = False
        self._hits = self._misses = self._joined = self._stale = 0

    @property
    def info(self) -> CacheInfo:
        """How often there was something in it."""
        return CacheInfo(self._hits, self._misses, self._joined, self._stale)

    def connected(self, revision: str, capabilities: ClientCapabilities) -> None:
        """Note what is spoken with the server from now on, and what it knows of the client."""
        self._is_closed = False
        self._is_modern = revision in MODERN_REVISIONS
        # What is no URL is another server each time: it was started for this connection.
        server = _unique() if self._server is None else self._server
        declared = msgspec.json.encode(capabilities, order="deterministic").decode()
        self._base = _digest(server, revision, declared)

    def closing(self) -> None:
        """Note that the user closes the client: what fails from now on, fails."""
        self._is_closed = True

    async def closed(self) -> None:
        """Let the store forget what is invalid; the client has been closed."""
        self._is_closed = True
        if self._invalid:
            await self.settle()
        # Nobody of the next life, which may have another event loop, waits for these.
        self._flights.clear()
        self._writing = asyncio.Lock()

    # --- answers

    async def fetch(
        self,
        method: str,
        ask: Ask,
        *,
        uri: str = "",
        cursor: str | UnsetType = UNSET,
        refresh: bool = False,
        since: object = None,
        timeout: float | None = None,  # noqa: ASYNC109 - it only tells requests apart
    ) -> Raw:
        """Return the answer to a request: the one that is kept, or else the server's.

        Args:
            method: The method, one of those that only look.
            ask: Asks the server.
            uri: The resource that is read.
            cursor: The page of a list.
            refresh: Whether only the server's will do.
            since: Something that is another once the server has answered anything: the caller may
                know by that of a change, and joins nobody who has asked before.
            timeout: How long the caller waits; it joins only those who wait as long.
        """
        place = self._place(method, uri, cursor)
        flight = None if refresh else self._joinable(place, since, timeout)
        kept: Raw | None = None  # what is no longer fresh
        if flight is None and not refresh and self._is_modern:
            kept, is_fresh = await self._load(place)
            if kept is not None and is_fresh:
                self._hits += 1
                return kept
            flight = self._joinable(place, since, timeout)
        if flight is None:
            flight = self._start(place, ask, since, timeout, kept, is_replacing=refresh)
            self._misses += 1
            return await _landing(flight)
        self._joined += 1
        flight.has_company = True
        raw = await _landing(flight)
        if METHODS[method].input_required and _is_interim(raw):
            return await ask()  # each answers the questions of the server for himself
        return raw

    async def discard(self, method: str, *, uri: str = "") -> None:
        """Forget an answer that proved to be of no use; of a list all pages."""
        self._invalidate([self._group(method, uri)])
        await self.settle()

    def _joinable(self, place: _Place, since: object, limit: float | None) -> _Flight | None:
        if len(place.keys) < 2:  # nobody can tell whether it is the same who asks
            return None
        flight = self._flights.get((place.group, place.keys[0]))
        if flight is None or flight.is_outdated or (flight.since, flight.limit) != (since, limit):
            return None
        return flight

    def _start(
        self,
        place: _Place,
        ask: Ask,
        since: object,
        limit: float | None,
        kept: Raw | None,
        *,
        is_replacing: bool,
    ) -> _Flight:
        flight = _Flight(since, limit)
        asking = self._ask(flight, place, ask, kept, is_replacing=is_replacing)
        flight.task = asyncio.get_running_loop().create_task(asking)
        key = (place.group, place.keys[0])
        if key in self._flights:
            self._flights[key].is_outdated = True  # should it be answered later all the same
        self._flights[key] = flight

        def landed(task: asyncio.Task[Raw]) -> None:
            if self._flights.get(key) is flight:
                del self._flights[key]
            if not task.cancelled():
                task.exception()  # raised where it is waited for, if anywhere

        flight.task.add_done_callback(landed)
        return flight

    async def _ask(
        self, flight: _Flight, place: _Place, ask: Ask, kept: Raw | None, *, is_replacing: bool
    ) -> Raw:
        try:
            raw = await ask()
        except RequestFailed:
            # It is not there any more; or it is a page whose cursor came from one that is outdated.
            self._invalidate([place.group])
            raise
        except (TransportError, RequestTimedOut) as error:
            if kept is None or flight.is_outdated or self._is_closed or not _is_passing(error):
                raise
            self._stale += 1
            if not self._has_warned:
                self._has_warned = True
                _logger.warning(
                    "%s could not be asked, and what it answered before is used: %s",
                    self._name,
                    error,
                )
            return kept
        self._has_warned = False
        if self._is_modern:
            await self._keep(flight, place, raw, is_replacing=is_replacing or kept is not None)
        return raw

    # --- the store

    async def _load(self, place: _Place) -> tuple[Raw | None, bool]:
        if self._invalid:
            async with self._writing:
                if not await self._forget_invalid():
                    return None, False
        kept = await self._store.load(place.group, place.keys)
        if kept is None or place.group in self._invalid:
            return None, False
        head, _, answer = kept.value.partition(b"\n")
        try:
            fresh_for = float(head)
        except ValueError:  # somebody else has written there
            return None, False
        return Raw(answer), kept.age < fresh_for

    async def _keep(self, flight: _Flight, place: _Place, raw: Raw, *, is_replacing: bool) -> None:
        received_at = self._clock()
        fresh_for, is_public = _permission_of(raw)
        key = place.keys[-1] if is_public else place.keys[0]
        is_kept = fresh_for > 0 and (is_public or len(place.keys) > 1)
        if not is_kept and not is_replacing:
            return
        async with self._writing:
            if not await self._forget_invalid() or flight.is_outdated:
                return
            if not place.group.startswith(self._base):  # another revision answered
                return
            if is_replacing:
                await self._store.delete([place.group], place.keys)
            left = fresh_for - (self._clock() - received_at)
            if is_kept and left > 0:
                value = b"%r\n%b" % (left, bytes(raw))
                await self._store.save(place.group, key, value, left + self._policy.max_stale)

    async def _forget_invalid(self) -> bool:
        """Let the store forget what is invalid; tell whether nothing invalid is left in it."""
        if self._invalid:
            noted = dict(self._invalid)
            if not await self._store.delete(list(noted)):
                return False
            for group, mark in noted.items():
                if self._invalid.get(group) is mark:  # not again meanwhile
                    del self._invalid[group]
        return True

    # --- what becomes invalid

    def note(self, notification: str, uri: str | None = None) -> bool:
        """Note what the server reports; tell whether it is something for `settle` to do.

        Args:
            notification: The method of the notification.
            uri: The resource that it is about.
        """
        if notification in _CHANGED:
            self.invalidate(*_CHANGED[notification])
        elif notification == NOTIFICATIONS_RESOURCES_UPDATED and uri is not None:
            # It may be a part of what was read.
            self._invalidate([self._group(RESOURCES_READ, each) for each in _with_parents(uri)])
        else:
            return False
        return self._is_modern

    def note_refused(self, method: str, code: int) -> None:
        """Note that the server refused a request: what was listed may be there no more.

        Args:
            method: The method of the request.
            code: The code of the error.
        """
        if code in _NOT_THERE and method in _LISTED_BY:
            self.invalidate(*_LISTED_BY[method])

    def invalidate(self, *methods: str) -> None:
        """Give no answer any more that was got for these methods so far; not for reading."""
        self._invalidate([self._group(method) for method in methods])

    def _invalidate(self, groups: Sequence[str]) -> None:
        if self._is_modern:
            self._invalid.update((group, object()) for group in groups)
            if len(self._invalid) > MAX_INVALID:  # all is, then
                self._invalid.clear()
                self._base = _digest(self._base, _unique())
        for key, flight in list(self._flights.items()):
            if key[0] in groups:
                flight.is_outdated = True
                del self._flights[key]

    async def settle(self) -> None:
        """Let the store forget what is invalid; otherwise it does when it is used next."""
        async with self._writing:
            await self._forget_invalid()

    # --- places

    def _group(self, method: str, uri: str = "") -> str:
        return f"{self._base}/{method}/{uri if len(uri) <= MAX_NAME else _digest(uri)}"

    def _place(self, method: str, uri: str, cursor: str | UnsetType) -> _Place:
        page = ""
        if cursor is not UNSET:
            page = f"?{cursor if len(cursor) <= MAX_NAME else _digest(cursor)}"
        principal = self._principal()
        keys = [f"public{page}"]
        if principal is not None:
            keys.insert(0, f"{principal}{page}")
        return _Place(self._group(method, uri), keys)


def cache_of(
    cache: bool | CacheStore | CachePolicy,  # noqa: FBT001 - it is the option of a client
    *,
    url: str | None,
    name: str,
    headers: Any,
    http_client: Any,
    auth: ClientAuthorizer | None = None,
) -> ResponseCache | None:
    """Return the cache that a client is to have; `None` if it is to have none.

    Args:
        cache: What its user wants.
        url: The whole URL of the server, if it has one.
        name: What the log calls the server.
        headers: What requests carry besides.
        http_client: What makes the requests.
        auth: What authorizes them.

    Raises:
        TypeError: It is nothing that a user can want.
    """
    if cache is False:
        return None
    policy = CachePolicy()
    if isinstance(cache, CachePolicy):
        policy = cache
    elif hasattr(cache, "load"):
        policy = CachePolicy(store=cast("CacheStore", cache))
    elif cache is not True:
        raise TypeError(f"`cache` is True, False, a CachePolicy or a store, not {cache!r}")
    principal = principal_of(policy, headers, http_client, auth)
    return ResponseCache(policy, url=url, name=name, principal=principal)


def principal_of(
    policy: CachePolicy, headers: Any, http_client: Any, auth: ClientAuthorizer | None = None
) -> Callable[[], str | None]:
    """Return what tells who asks, in a form that gives nothing away.

    Args:
        policy: It may say who.
        headers: What requests carry besides: another one who asks may have others.
        http_client: What makes the requests; it may add credentials of which nothing is known.
        auth: What authorizes them: after a log-in it may be another who asks.
    """
    given = policy.principal
    if isinstance(given, str):
        digest = _digest("principal", given)
        return lambda: digest
    if given is not None:
        name = given

        def computed() -> str | None:
            who = name()
            return None if who is None else _digest("principal", who)

        return computed
    if callable(headers) or http_client is not None:
        return lambda: None
    own = _unique()
    if not headers and auth is None:
        return lambda: own

    def who_asks() -> str | None:
        who = "" if auth is None else auth.principal()
        if who is None:
            return None
        # A mapping that is changed later changes who asks.
        return _digest(
            own, who, *(part for item in sorted((headers or {}).items()) for part in item)
        )

    return who_asks


async def _landing(flight: _Flight) -> Raw:
    """Wait for an answer; the request is cancelled when nobody waits any more."""
    flight.waiting += 1
    try:
        await asyncio.wait([flight.task])
    finally:
        flight.waiting -= 1
        if not flight.waiting and not flight.task.done():
            flight.is_outdated = True
            flight.task.cancel()
    error = flight.task.exception()
    if error is None:
        return flight.task.result()
    # One that is raised in several places at once grows a traceback of them all.
    raise copy.copy(error) if flight.has_company else error


def _permission_of(raw: Raw) -> tuple[float, bool]:
    """Return for how many seconds an answer may be kept, and whether for everybody."""
    try:
        hints = msgspec.json.decode(raw, type=_Hints)
    except (msgspec.DecodeError, RecursionError):
        return 0.0, False
    is_number = isinstance(hints.ttl_ms, int | float) and not isinstance(hints.ttl_ms, bool)
    if not is_number or hints.result_type not in (UNSET, None, RESULT_COMPLETE):
        return 0.0, False
    return max(min(hints.ttl_ms, MAX_TTL_MS), 0) / 1000, hints.cache_scope == "public"


def _is_interim(raw: Raw) -> bool:
    try:
        kind = msgspec.json.decode(raw, type=_Hints).result_type
    except (msgspec.DecodeError, RecursionError):
        return False
    return kind not in (UNSET, None, RESULT_COMPLETE)


def _is_passing(error: Exception) -> bool:
    """Tell whether a server could not be asked, and may be again later."""
    if isinstance(error, HttpStatusError):
        return error.status >= 500
    return not isinstance(error, TLSFailed)


def _with_parents(uri: str) -> list[str]:
    """Return a URI and those that it is a part of.

    >>> _with_parents("kite://tickets/7")
    ['kite://tickets/7', 'kite://tickets', 'kite://tickets/']
    """
    found = [uri]
    scheme, mark, path = uri.partition("://")
    path = path.rstrip("/")
    for _ in range(MAX_PARENTS):
        path, slash, _ = path.rpartition("/")
        if not (mark and slash):
            break
        path = path.rstrip("/")
        found += [f"{scheme}{mark}{path}", f"{scheme}{mark}{path}/"]
    return found


def _digest(*parts: str) -> str:
    encoded = msgspec.json.encode(parts)
    return hashlib.sha256(encoded).hexdigest()[:32]


def _unique() -> str:
    return os.urandom(16).hex()
