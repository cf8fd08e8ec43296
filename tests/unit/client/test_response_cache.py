"""Which answers are kept, for whom and how long. Spec: server/utilities/caching."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw, UnsetType

from wigwag.client import response_cache
from wigwag.client.cache_policy import CachePolicy
from wigwag.client.response_cache import MAX_INVALID, CacheInfo, ResponseCache, principal_of
from wigwag.errors import (
    ConnectionClosed,
    ConnectionRefused,
    HttpStatusError,
    InvalidResult,
    McpError,
    RequestFailed,
    RequestTimedOut,
    TLSFailed,
)
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_TEMPLATES_LIST,
    SERVER_DISCOVER,
    TOOLS_LIST,
    ClientCapabilities,
)
from wigwag.stores.contract import CacheStore, Kept
from wigwag.stores.memory import MemoryCacheStore

pytestmark = pytest.mark.anyio

URL = "https://example.com/mcp"
PATIENCE = 60.0


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Origin:
    """A server: it counts how often it is asked, and answers what the test wants."""

    def __init__(self, **hints: Any) -> None:
        self.hints: dict[str, Any] = {"resultType": "complete", **hints}
        self.asked = 0
        self._news = asyncio.Event()
        self.error: Exception | None = None
        self.gate: asyncio.Event | None = None
        self.cancelled = 0

    async def __call__(self) -> Raw:
        self.asked += 1
        self._news.set()
        answer = Raw(msgspec.json.encode({**self.hints, "answer": self.asked}))
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.error is not None:
            raise self.error
        return answer

    async def wait_asked(self, times: int) -> None:
        """Wait until it has been asked so often."""
        while self.asked < times:
            self._news.clear()
            await self._news.wait()


def keeping(ttl_ms: Any = 1000, scope: Any = "private") -> Origin:
    return Origin(ttlMs=ttl_ms, cacheScope=scope)


def cache_of(
    *,
    revision: str = LATEST_MODERN,
    url: str | None = URL,
    headers: Any = None,
    http_client: Any = None,
    capabilities: ClientCapabilities | None = None,
    clock: Callable[[], float] | None = None,
    **policy: Any,
) -> ResponseCache:
    wanted = CachePolicy(**policy)
    cache = ResponseCache(
        wanted,
        url=url,
        name="the server",
        principal=principal_of(wanted, headers, http_client),
        clock=clock or Clock(),
    )
    cache.connected(revision, capabilities or ClientCapabilities())
    return cache


async def number(
    cache: ResponseCache, origin: Origin, method: str = TOOLS_LIST, **options: Any
) -> int:
    """Return which answer of the server one gets: the first, the second, and so on."""
    raw = await cache.fetch(method, origin, **options)
    answer: int = msgspec.json.decode(raw)["answer"]
    return answer


# --- how long


async def test_an_answer_is_kept_for_as_long_as_the_server_says() -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock), keeping(1000)
    assert await number(cache, origin) == 1
    clock.now += 0.999
    assert await number(cache, origin) == 1
    clock.now += 0.001  # fresh *before* the end
    assert await number(cache, origin) == 2
    assert await number(cache, origin) == 2
    assert cache.info == CacheInfo(hits=2, misses=2, joined=0, stale=0)


@pytest.mark.parametrize(
    "hints",
    [
        {},
        {"ttlMs": 0},
        {"ttlMs": -1},
        {"ttlMs": -1e300},
        {"ttlMs": None},
        {"ttlMs": "1000"},
        {"ttlMs": True},
        {"ttlMs": [1000]},
    ],
)
async def test_without_a_time_nothing_is_kept(hints: dict[str, Any]) -> None:
    store = MemoryCacheStore()
    cache, origin = cache_of(store=store), Origin(cacheScope="public", **hints)
    assert [await number(cache, origin) for _ in range(3)] == [1, 2, 3]
    assert len(store) == 0


@pytest.mark.parametrize("ttl_ms", [1e300, 10**400, 2**63, 4e12])
async def test_a_time_that_never_ends_is_a_year(ttl_ms: float) -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock), keeping(ttl_ms)
    assert await number(cache, origin) == 1
    clock.now += 364 * 24 * 3600
    assert await number(cache, origin) == 1
    clock.now += 2 * 24 * 3600
    assert await number(cache, origin) == 2


async def test_a_fraction_of_a_millisecond_is_a_time() -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock), keeping(1.5)
    assert await number(cache, origin) == 1
    clock.now += 0.00125
    assert await number(cache, origin) == 1
    clock.now += 0.0005
    assert await number(cache, origin) == 2


async def test_the_time_begins_when_the_answer_has_arrived() -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock), keeping(1000)

    async def slow() -> Raw:
        raw = await origin()
        clock.now += 30  # on its way
        return raw

    await cache.fetch(TOOLS_LIST, slow)
    clock.now += 0.9
    assert await number(cache, origin) == 1


class LazyStore(MemoryCacheStore):
    """A store that takes a second to forget something."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self._moved = clock

    async def delete(self, groups: Sequence[str], keys: Sequence[str] | None = None) -> None:
        self._moved.now += 1
        await super().delete(groups, keys)


async def test_the_time_that_the_store_takes_counts() -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock, store=LazyStore(clock)), keeping(5000)
    await number(cache, origin, refresh=True)
    clock.now += 3.9
    assert await number(cache, origin) == 1
    clock.now += 0.2
    assert await number(cache, origin) == 2
    brief = keeping(1000)
    await number(cache, brief, PROMPTS_LIST, refresh=True)
    assert await number(cache, brief, PROMPTS_LIST) == 2


@pytest.mark.parametrize("kind", ["input_required", "task", 3])
async def test_only_complete_results_are_kept(kind: Any) -> None:
    cache, origin = cache_of(), Origin(ttlMs=1000, resultType=kind)
    assert [await number(cache, origin, RESOURCES_READ, uri="a:b") for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("kind", [None, UNSET])
async def test_a_result_that_does_not_say_so_is_complete(kind: Any) -> None:
    cache, origin = cache_of(), keeping()
    origin.hints["resultType"] = kind
    if kind is UNSET:
        del origin.hints["resultType"]
    assert [await number(cache, origin) for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("text", ["[]", "null", "{", '{"ttlMs": 1000, "ttlMs": }'])
async def test_what_is_no_result_is_not_kept_and_not_lost(text: str) -> None:
    cache = cache_of()
    asked = 0

    async def ask() -> Raw:
        nonlocal asked
        asked += 1
        return Raw(text)

    for _ in range(2):
        assert bytes(await cache.fetch(TOOLS_LIST, ask)) == text.encode()
    assert asked == 2


async def test_the_answer_of_a_legacy_server_is_never_kept() -> None:
    store = MemoryCacheStore()
    cache, origin = cache_of(revision=LATEST_LEGACY, store=store), keeping(1000, "public")
    assert [await number(cache, origin) for _ in range(2)] == [1, 2]
    assert len(store) == 0


async def test_what_is_kept_is_the_very_bytes_of_the_server() -> None:
    cache = cache_of()
    text = b'{ "ttlMs":\n1000, "x": "\xe2\x98\x83\\n", "unknown": 1.0 }'

    async def ask() -> Raw:
        return Raw(text)

    for _ in range(2):
        assert bytes(await cache.fetch(TOOLS_LIST, ask)) == text
    assert cache.info.hits == 1


# --- for which request


async def test_an_answer_is_given_to_the_same_request_alone() -> None:
    cache, origin = cache_of(), keeping()
    requests: list[tuple[str, dict[str, Any]]] = [
        (TOOLS_LIST, {}),
        (TOOLS_LIST, {"cursor": ""}),
        (TOOLS_LIST, {"cursor": "2"}),
        (PROMPTS_LIST, {}),
        (PROMPTS_LIST, {"cursor": "2"}),
        (RESOURCES_LIST, {}),
        (RESOURCES_TEMPLATES_LIST, {}),
        (SERVER_DISCOVER, {}),
        (RESOURCES_READ, {"uri": "a:b"}),
        (RESOURCES_READ, {"uri": "a:B"}),
        (RESOURCES_READ, {"uri": "a:b/"}),
        (RESOURCES_READ, {"uri": ""}),
    ]
    first = [await number(cache, origin, method, **which) for method, which in requests]
    assert first == list(range(1, len(requests) + 1))
    again = [await number(cache, origin, method, **which) for method, which in requests]
    assert again == first


async def test_each_page_has_its_own_time() -> None:
    clock = Clock()
    cache = cache_of(clock=clock)
    pages: dict[str | UnsetType, Origin] = {UNSET: keeping(60_000), "2": keeping(1000)}
    for cursor, page in pages.items():
        assert await number(cache, page, cursor=cursor) == 1
    clock.now += 30
    assert await number(cache, pages[UNSET]) == 1
    assert await number(cache, pages["2"], cursor="2") == 2


async def test_who_asks_for_a_refresh_is_not_given_what_is_kept() -> None:
    cache, origin = cache_of(), keeping()
    assert await number(cache, origin) == 1
    assert await number(cache, origin, refresh=True) == 2
    assert await number(cache, origin) == 2


async def test_a_refresh_that_may_not_be_kept_takes_away_what_was() -> None:
    cache, origin = cache_of(), keeping(60_000)
    assert await number(cache, origin) == 1
    origin.hints["ttlMs"] = 0
    assert await number(cache, origin, refresh=True) == 2
    assert await number(cache, origin) == 3


async def test_a_refresh_of_one_page_leaves_the_others() -> None:
    cache, first, second = cache_of(), keeping(), keeping()
    await number(cache, first)
    await number(cache, second, cursor="2")
    assert await number(cache, first, refresh=True) == 2
    assert await number(cache, second, cursor="2") == 1


async def test_what_proved_useless_is_asked_for_anew() -> None:
    cache, list_, one, other = cache_of(), keeping(), keeping(), keeping()
    for _ in range(2):
        await number(cache, list_)
        await number(cache, list_, cursor="2")
        await number(cache, one, RESOURCES_READ, uri="a:1")
        await number(cache, other, RESOURCES_READ, uri="a:2")
        await cache.discard(TOOLS_LIST)
        await cache.discard(RESOURCES_READ, uri="a:1")
    assert (list_.asked, one.asked, other.asked) == (4, 2, 1)


# --- for whom


async def asked_by(
    store: CacheStore, origin: Origin, method: str = TOOLS_LIST, **options: Any
) -> int:
    """Return which answer a new client gets that has this store."""
    return await number(cache_of(store=store, **options), origin, method)


async def test_public_answers_are_shared_and_private_ones_are_not() -> None:
    public, private, store = keeping(1000, "public"), keeping(1000), MemoryCacheStore()
    assert [await asked_by(store, public, TOOLS_LIST) for _ in range(3)] == [1, 1, 1]
    assert [await asked_by(store, private, PROMPTS_LIST) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("scope", [None, "everyone", "Public", True, UNSET])
async def test_what_does_not_say_that_it_is_public_is_private(scope: Any) -> None:
    origin, store = Origin(ttlMs=1000), MemoryCacheStore()
    if scope is not UNSET:
        origin.hints["cacheScope"] = scope
    cache = cache_of(store=store)
    assert [await number(cache, origin) for _ in range(2)] == [1, 1]
    assert await asked_by(store, origin) == 2


async def test_clients_of_one_principal_share_private_answers() -> None:
    origin, store = keeping(), MemoryCacheStore()
    assert await asked_by(store, origin, principal="ann") == 1
    assert await asked_by(store, origin, principal="ann") == 1
    assert await asked_by(store, origin, principal="bob") == 2
    assert await asked_by(store, origin, principal="") == 3
    assert await asked_by(store, origin) == 4


async def test_one_client_may_serve_several_principals() -> None:
    who: str | None = "ann"
    cache, origin = cache_of(principal=lambda: who), keeping()
    assert [await number(cache, origin) for _ in range(2)] == [1, 1]
    who = "bob"
    assert [await number(cache, origin) for _ in range(2)] == [2, 2]
    who = None  # nobody knows
    assert [await number(cache, origin) for _ in range(2)] == [3, 4]
    who = "ann"
    assert await number(cache, origin) == 1


@pytest.mark.parametrize("options", [{"headers": dict}, {"http_client": object()}])
async def test_where_nobody_can_tell_who_asks_only_public_answers_are_kept(
    options: dict[str, Any],
) -> None:
    cache, private, public = cache_of(**options), keeping(), keeping(1000, "public")
    assert [await number(cache, private) for _ in range(2)] == [1, 2]
    assert [await number(cache, public, PROMPTS_LIST) for _ in range(2)] == [1, 1]
    known, private = cache_of(principal="ann", **options), keeping()
    assert [await number(known, private) for _ in range(2)] == [1, 1]


async def test_other_headers_are_somebody_else() -> None:
    headers = {"Authorization": "Bearer ann", "X": "1"}
    cache, origin = cache_of(headers=headers), keeping()
    assert [await number(cache, origin) for _ in range(2)] == [1, 1]
    headers["Authorization"] = "Bearer bob"
    assert [await number(cache, origin) for _ in range(2)] == [2, 2]
    headers["Authorization"] = "Bearer ann"
    assert await number(cache, origin) == 1


async def test_an_answer_that_becomes_private_is_no_longer_shared() -> None:
    origin, store = keeping(1000, "public"), MemoryCacheStore()
    cache = cache_of(store=store)
    assert await number(cache, origin) == 1
    origin.hints["cacheScope"] = "private"
    assert await number(cache, origin, refresh=True) == 2
    assert await number(cache, origin) == 2
    assert await asked_by(store, origin) == 3


async def test_an_answer_that_becomes_public_is_shared() -> None:
    clock = Clock()
    origin, store = keeping(1000), MemoryCacheStore(clock=clock)
    cache = cache_of(store=store, clock=clock)
    assert await number(cache, origin) == 1
    origin.hints["cacheScope"] = "public"
    clock.now += 2
    assert await number(cache, origin) == 2
    assert await asked_by(store, origin, clock=clock) == 2
    assert await number(cache, origin) == 2


async def test_servers_revisions_and_capabilities_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(response_cache, "MODERN_REVISIONS", (LATEST_MODERN, "2027-01-01"))
    origin, store = keeping(1000, "public"), MemoryCacheStore()
    assert await asked_by(store, origin) == 1
    assert await asked_by(store, origin, url=f"{URL}?tenant=2") == 2
    assert await asked_by(store, origin, url="https://other.example/mcp") == 3
    other = ClientCapabilities(experimental={"x": {}})
    assert await asked_by(store, origin, capabilities=other) == 4
    cache = cache_of(store=store)
    cache.connected("2027-01-01", ClientCapabilities())
    assert await number(cache, origin) == 5
    assert await asked_by(store, origin) == 1


async def test_servers_without_a_url_are_others_each_time_unless_they_have_a_name() -> None:
    origin, store = keeping(1000, "public"), MemoryCacheStore()
    cache = cache_of(store=store, url=None)
    assert [await number(cache, origin) for _ in range(2)] == [1, 1]
    cache.connected(LATEST_MODERN, ClientCapabilities())  # another process
    assert await number(cache, origin) == 2
    assert await asked_by(store, origin, url=None) == 3
    assert await asked_by(store, origin, url=None, server="kitchen") == 4
    assert await asked_by(store, origin, url=None, server="kitchen") == 4
    assert await asked_by(store, origin, url=URL, server="kitchen") == 4


async def test_neither_urls_nor_credentials_stand_in_the_keys() -> None:
    store = MemoryCacheStore()
    secret = "s3cret"
    for options in (
        {"url": f"https://u:{secret}@example.com/?key={secret}"},
        {"principal": secret},
        {"headers": {"Authorization": secret}},
        {"server": secret},
    ):
        await asked_by(store, keeping(1000), **options)
        await asked_by(store, keeping(1000, "public"), PROMPTS_LIST, **options)
    assert len(store) == 7  # what is public is so for whoever asks at the same URL
    assert secret not in repr(store._answers)


# --- what becomes invalid


@pytest.mark.parametrize(
    ("what", "methods"),
    [
        ("tools/list_changed", {TOOLS_LIST}),
        ("prompts/list_changed", {PROMPTS_LIST}),
        ("resources/list_changed", {RESOURCES_LIST, RESOURCES_TEMPLATES_LIST}),
        ("message", set()),
    ],
)
async def test_a_list_that_has_changed_is_asked_for_anew_with_all_its_pages(
    what: str, methods: set[str]
) -> None:
    cache = cache_of()
    lists = (TOOLS_LIST, PROMPTS_LIST, RESOURCES_LIST, RESOURCES_TEMPLATES_LIST)
    places: list[tuple[str, dict[str, Any]]] = [
        *((method, which) for method in lists for which in ({}, {"cursor": "2"})),
        (RESOURCES_READ, {"uri": "a:b"}),
        (SERVER_DISCOVER, {}),
    ]
    origins = [keeping() for _ in places]
    for (method, which), origin in zip(places, origins, strict=True):
        await number(cache, origin, method, **which)
    cache.note(f"notifications/{what}")
    for (method, which), origin in zip(places, origins, strict=True):
        expected = 2 if method in methods else 1
        assert await number(cache, origin, method, **which) == expected, (method, which)


async def test_a_resource_that_has_changed_is_read_anew_and_so_is_what_it_is_a_part_of() -> None:
    cache = cache_of()
    uris = ["kite://t", "kite://t/7", "kite://t/", "kite://t/8", "kite://t/7/x", "other:7"]
    origins = {uri: keeping() for uri in uris}
    for uri, origin in origins.items():
        await number(cache, origin, RESOURCES_READ, uri=uri)
    cache.note("notifications/resources/updated", "kite://t/7")
    cache.note("notifications/resources/updated", "other:8")
    asked = {
        uri: await number(cache, origin, RESOURCES_READ, uri=uri) for uri, origin in origins.items()
    }
    assert [uri for uri, times in asked.items() if times == 2] == uris[:3]


async def test_a_name_may_be_as_long_as_a_server_likes() -> None:
    store = MemoryCacheStore()
    cache = cache_of(store=store)
    names = ["x" * 10_000, "x" * 10_001, "a://" + "b/" * 100_000]
    first, second = keeping(), keeping()
    for _ in range(2):
        numbers = [await number(cache, first, RESOURCES_READ, uri=name) for name in names]
        assert numbers == [1, 2, 3]
        assert [await number(cache, second, cursor=name) for name in names] == [1, 2, 3]
    assert max(len(group) + len(key) for group, key in store._answers) < 1000
    cache.note("notifications/resources/updated", names[2])
    assert len(cache._invalid) < 100
    assert await number(cache, first, RESOURCES_READ, uri=names[2]) == 4


async def test_what_one_client_hears_is_true_for_all_who_share_the_store() -> None:
    origin, store = keeping(1000, "public"), MemoryCacheStore()
    listening, other = cache_of(store=store), cache_of(store=store)
    assert await number(listening, origin) == 1
    listening.note("notifications/tools/list_changed")
    await listening.settle()
    assert await number(other, origin) == 2
    private = keeping()
    assert await asked_by(store, private, PROMPTS_LIST, principal="ann") == 1
    listening.note("notifications/prompts/list_changed")
    await listening.settle()
    assert await asked_by(store, private, PROMPTS_LIST, principal="ann") == 2


async def test_what_is_invalid_is_forgotten_at_the_latest_when_the_client_is_closed() -> None:
    origin, store = keeping(1000, "public"), MemoryCacheStore()
    cache = cache_of(store=store)
    await number(cache, origin)
    cache.note("notifications/tools/list_changed")
    await cache.closed()
    assert len(store) == 0


async def test_an_answer_that_was_on_its_way_when_something_changed_is_not_kept() -> None:
    cache, origin = cache_of(), keeping()
    origin.gate = asyncio.Event()
    task = asyncio.ensure_future(number(cache, origin))
    await origin.wait_asked(1)
    cache.note("notifications/tools/list_changed")
    origin.gate.set()
    assert await task == 1
    assert await number(cache, origin) == 2
    assert await number(cache, origin) == 2


async def test_who_asks_after_a_change_does_not_join_who_asked_before() -> None:
    cache, origin = cache_of(), keeping()
    origin.gate = asyncio.Event()
    before = asyncio.ensure_future(number(cache, origin))
    await origin.wait_asked(1)
    cache.note("notifications/tools/list_changed")
    after = asyncio.ensure_future(number(cache, origin))
    await origin.wait_asked(2)
    origin.gate.set()
    assert (await before, await after) == (1, 2)
    assert await number(cache, origin) == 2


class BrittleStore(MemoryCacheStore):
    """A store that forgets nothing as long as the test does not want it to."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def delete(self, groups: Sequence[str], keys: Sequence[str] | None = None) -> None:
        await self.gate.wait()
        if self.refuses:
            raise OSError("no")
        await super().delete(groups, keys)


async def test_what_a_store_could_not_forget_is_not_given_to_anybody_by_this_client() -> None:
    clock = Clock()
    store = BrittleStore()
    cache, origin = cache_of(store=store, clock=clock), keeping(3_600_000)
    await number(cache, origin)
    store.refuses = True
    cache.note("notifications/tools/list_changed")
    assert [await number(cache, origin) for _ in range(2)] == [2, 3]
    clock.now += 60
    assert await number(cache, origin) == 4
    store.refuses = False
    clock.now += 60
    assert [await number(cache, origin) for _ in range(2)] == [5, 5]


async def test_a_second_change_while_the_store_forgets_counts_too() -> None:
    store = BrittleStore()
    cache, origin = cache_of(store=store), keeping()
    await number(cache, origin)
    store.gate.clear()
    cache.note("notifications/tools/list_changed")
    settling = asyncio.ensure_future(cache.settle())
    await asyncio.sleep(0)
    cache.note("notifications/tools/list_changed")
    assert len(cache._invalid) == 1
    store.gate.set()
    await settling
    assert len(cache._invalid) == 1
    await cache.settle()
    assert len(cache._invalid) == 0


async def test_no_more_is_remembered_than_a_store_that_fails_is_worth() -> None:
    store = BrittleStore()
    cache, origin = cache_of(store=store), keeping()
    await number(cache, origin, RESOURCES_READ, uri="a:0")
    store.refuses = True
    for each in range(MAX_INVALID + 1):
        cache.note("notifications/resources/updated", f"a:{each}")
    assert len(cache._invalid) <= MAX_INVALID
    assert await number(cache, origin, RESOURCES_READ, uri="a:0") == 2


# --- several at once


async def test_who_asks_the_same_at_once_waits_for_one_answer() -> None:
    cache, origin = cache_of(), Origin()
    origin.gate = asyncio.Event()
    tasks = [asyncio.ensure_future(number(cache, origin)) for _ in range(5)]
    await origin.wait_asked(1)
    origin.gate.set()
    assert await asyncio.gather(*tasks) == [1] * 5
    assert cache.info == CacheInfo(hits=0, misses=1, joined=4, stale=0)
    assert await number(cache, origin) == 2


async def test_legacy_requests_are_joined_too() -> None:
    cache, origin = cache_of(revision=LATEST_LEGACY), Origin()
    assert await asyncio.gather(*(number(cache, origin) for _ in range(3))) == [1] * 3


async def test_who_asks_for_something_else_at_once_gets_that() -> None:
    cache, origin = cache_of(), Origin()
    different: list[dict[str, Any]] = [
        {},
        {"cursor": "2"},
        {"method": PROMPTS_LIST},
        {"timeout": 5.0},
        {"refresh": True},
    ]
    numbers = await asyncio.gather(*(number(cache, origin, **which) for which in different))
    assert numbers == [1, 2, 3, 4, 5]


async def test_who_may_know_of_a_change_does_not_join_who_asked_before() -> None:
    cache, origin = cache_of(), Origin()
    numbers = await asyncio.gather(*(number(cache, origin, since=each) for each in (1, 1, 2, 2)))
    assert numbers == [1, 1, 2, 2]


async def test_a_late_answer_does_not_take_the_place_of_one_that_was_asked_for_after_it() -> None:
    cache, old, new = cache_of(), keeping(), keeping()
    old.gate = asyncio.Event()
    late = asyncio.ensure_future(number(cache, old))
    await old.wait_asked(1)
    new.asked = 10
    assert await number(cache, new, refresh=True) == 11
    old.gate.set()
    assert await late == 1
    assert await number(cache, old) == 11


async def test_a_late_answer_that_is_not_kept_leaves_one_that_was_asked_for_after_it() -> None:
    clock = Clock()
    cache, old, new = cache_of(clock=clock), keeping(), keeping(60_000)
    await number(cache, old)
    clock.now += 2
    old.gate = asyncio.Event()
    late = asyncio.ensure_future(number(cache, old))
    await old.wait_asked(2)
    assert await number(cache, new, refresh=True) == 1
    old.gate.set()
    assert await late == 2
    assert await number(cache, old) == 1


async def test_what_another_server_answers_is_not_kept_as_this_ones() -> None:
    store = MemoryCacheStore()
    cache, origin = cache_of(store=store, url=None), keeping()

    async def reconnect() -> Raw:
        cache.connected(LATEST_MODERN, ClientCapabilities())
        return await origin()

    await cache.fetch(TOOLS_LIST, reconnect)
    assert len(store) == 0


async def test_different_principals_join_nobody() -> None:
    names = iter(["ann", "bob", "ann", None, None])
    cache, origin = cache_of(principal=lambda: next(names)), Origin()
    assert await asyncio.gather(*(number(cache, origin) for _ in range(5))) == [1, 2, 1, 3, 4]


async def test_who_gives_up_takes_nothing_from_the_others() -> None:
    cache, origin = cache_of(), Origin()
    origin.gate = asyncio.Event()
    first, second = (asyncio.ensure_future(number(cache, origin)) for _ in range(2))
    await origin.wait_asked(1)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert origin.cancelled == 0
    origin.gate.set()
    assert await second == 1


async def test_when_the_last_one_gives_up_the_request_is_cancelled() -> None:
    cache, origin = cache_of(), keeping()
    origin.gate = asyncio.Event()
    tasks = [asyncio.ensure_future(number(cache, origin)) for _ in range(3)]
    await origin.wait_asked(1)
    for task in tasks:
        task.cancel()
    another = asyncio.ensure_future(number(cache, origin))  # joins nobody who is on his way out
    await asyncio.wait(tasks)
    await asyncio.wait_for(origin.wait_asked(2), PATIENCE)
    assert origin.cancelled == 1
    origin.gate.set()
    assert await another == 2


async def test_a_failure_goes_to_all_who_wait() -> None:
    cache, origin = cache_of(), Origin()
    origin.error = RequestFailed(-32000, "no", {"a": 1})
    failures = await asyncio.gather(
        *(number(cache, origin) for _ in range(3)), return_exceptions=True
    )
    assert origin.asked == 1
    assert [(type(each), each.args) for each in failures if isinstance(each, Exception)] == [
        (RequestFailed, (-32000, "no", {"a": 1}))
    ] * 3
    assert len({id(each) for each in failures}) == 3  # whose tracebacks are their own
    origin.error = None
    assert await number(cache, origin) == 2


async def test_each_answers_the_questions_of_the_server_for_himself() -> None:
    cache, origin = cache_of(), Origin(resultType="input_required")
    numbers = await asyncio.gather(
        *(number(cache, origin, RESOURCES_READ, uri="a:b") for _ in range(3))
    )
    assert sorted(numbers) == [1, 2, 3]


# --- when the server cannot be asked


def http(status: int) -> HttpStatusError:
    return HttpStatusError(URL, status, "", "", {})


PASSING = [
    ConnectionClosed("it is gone"),
    ConnectionRefused("nobody is there"),
    RequestTimedOut(TOOLS_LIST, 5, "the limit"),
    http(500),
    http(503),
]
MEANT = [
    RequestFailed(-32603, "Internal error"),
    InvalidResult("nonsense"),
    TLSFailed("no trust"),
    http(401),
    http(404),
    http(429),
]


@pytest.mark.parametrize("error", PASSING, ids=repr)
async def test_what_is_no_longer_fresh_is_better_than_nothing(
    error: McpError, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock), keeping(1000)
    await number(cache, origin)
    origin.error = error
    clock.now += 2
    with caplog.at_level(logging.WARNING, "wigwag.client"):
        assert [await number(cache, origin) for _ in range(3)] == [1, 1, 1]
    assert caplog.messages == [
        f"the server could not be asked, and what it answered before is used: {error}"
    ]
    assert origin.asked == 4  # it is tried each time
    assert cache.info.stale == 3
    origin.error = None
    assert await number(cache, origin) == 5


@pytest.mark.parametrize("error", MEANT, ids=repr)
async def test_what_the_server_answers_on_purpose_is_raised(error: McpError) -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock), keeping(1000)
    await number(cache, origin)
    origin.error = error
    clock.now += 2
    with pytest.raises(type(error)):
        await number(cache, origin)


async def test_what_is_too_old_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock, max_stale=10), keeping(1000)
    await number(cache, origin)
    origin.error = ConnectionClosed("it is gone")
    clock.now += 10.9
    assert await number(cache, origin) == 1
    clock.now += 0.2
    with pytest.raises(ConnectionClosed):
        await number(cache, origin)
    never = cache_of(clock=clock, max_stale=0)
    origin.error = None
    await number(never, origin)
    clock.now += 1.1
    origin.error = ConnectionClosed("it is gone")
    with pytest.raises(ConnectionClosed):
        await number(never, origin)


async def test_a_refresh_fails_rather_than_to_return_what_is_kept() -> None:
    cache, origin = cache_of(), keeping()
    await number(cache, origin)
    origin.error = ConnectionClosed("it is gone")
    with pytest.raises(ConnectionClosed):
        await number(cache, origin, refresh=True)
    assert await number(cache, origin) == 1  # it is still fresh


async def test_what_has_changed_is_not_used_instead() -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock), keeping(1000)
    await number(cache, origin)
    clock.now += 2
    origin.error, origin.gate = ConnectionClosed("it is gone"), asyncio.Event()
    task = asyncio.ensure_future(number(cache, origin))
    await origin.wait_asked(2)
    cache.note("notifications/tools/list_changed")
    origin.gate.set()
    with pytest.raises(ConnectionClosed):
        await task
    with pytest.raises(ConnectionClosed):
        await number(cache, origin)


async def test_who_closes_the_client_is_told_so() -> None:
    clock = Clock()
    cache, origin = cache_of(clock=clock), keeping(1000)
    await number(cache, origin)
    clock.now += 2
    origin.error = ConnectionClosed("the client was closed")
    await cache.closed()
    with pytest.raises(ConnectionClosed):
        await number(cache, origin)
    cache.connected(LATEST_MODERN, ClientCapabilities())
    assert await number(cache, origin) == 1


def test_a_client_may_live_on_in_another_event_loop() -> None:
    store = SlowStore()
    cache = cache_of(store=store)

    async def live() -> None:
        cache.connected(LATEST_MODERN, ClientCapabilities())
        origins = [keeping() for _ in range(3)]
        methods = (TOOLS_LIST, PROMPTS_LIST, RESOURCES_LIST)  # which wait for one another's writing
        asking = [
            cache.fetch(method, origin, refresh=True)
            for method, origin in zip(methods, origins, strict=True)
        ]
        await asyncio.gather(*asking)
        never = keeping()
        never.gate = asyncio.Event()
        task = asyncio.ensure_future(cache.fetch(SERVER_DISCOVER, never))
        await never.wait_asked(1)
        await cache.closed()
        assert cache._flights == {}
        task.cancel()

    for _ in range(2):
        asyncio.run(live())
    assert len(store) == 3


# --- what others do to the store


async def test_what_somebody_else_has_written_there_is_not_read() -> None:
    store = MemoryCacheStore()
    cache, origin = cache_of(store=store), keeping()
    await number(cache, origin)
    ((group, key),) = store._answers
    for value in (b"", b"rubbish", b"x\n{}"):
        await store.save(group, key, value, 60)
        assert await number(cache, origin) == origin.asked
        assert await store.load(group, [key]) is not None
    assert origin.asked == 4


class SlowStore(MemoryCacheStore):
    """A store that takes its time, as it goes over a network."""

    async def load(self, group: str, keys: Sequence[str]) -> Kept | None:
        await asyncio.sleep(0)
        return await super().load(group, keys)

    async def save(self, group: str, key: str, value: bytes, lifetime: float) -> None:
        await asyncio.sleep(0)
        await super().save(group, key, value, lifetime)


async def test_who_comes_while_the_store_is_asked_joins_as_well() -> None:
    cache, origin = cache_of(store=SlowStore()), keeping()
    assert await asyncio.gather(*(number(cache, origin) for _ in range(4))) == [1] * 4
    assert await asyncio.gather(*(number(cache, origin) for _ in range(4))) == [1] * 4
    assert origin.asked == 1


async def test_a_change_while_the_store_is_asked_counts() -> None:
    cache, origin = cache_of(store=SlowStore()), keeping()
    await number(cache, origin)
    task = asyncio.ensure_future(number(cache, origin))
    await asyncio.sleep(0)
    cache.note("notifications/tools/list_changed")
    assert await task == 2
