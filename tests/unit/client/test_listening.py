"""Listening for changes."""

import asyncio
from typing import Any

import pytest
from msgspec import UNSET

from wigwag.client.listening import (
    Changes,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from wigwag.errors import ConnectionClosed
from wigwag.protocol.events import NotificationReceived
from wigwag.protocol.subscriptions import Change
from wigwag.schema import (
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    SUBSCRIPTION_ID_KEY,
    NotificationParams,
    ResourceUpdatedNotificationParams,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams,
)

pytestmark = pytest.mark.anyio

WANTED = SubscriptionFilter(tools_list_changed=True, resource_subscriptions=["a://x"])
TOOLS = Change(NOTIFICATIONS_TOOLS_LIST_CHANGED)


def meta(tag: Any) -> Any:
    return UNSET if tag is None else {SUBSCRIPTION_ID_KEY: tag}


def tools_changed(tag: Any = None) -> NotificationReceived:
    return NotificationReceived(TOOLS.method, NotificationParams(meta=meta(tag)))


def updated(uri: str, tag: Any = None) -> NotificationReceived:
    params = ResourceUpdatedNotificationParams(uri=uri, meta=meta(tag))
    return NotificationReceived(NOTIFICATIONS_RESOURCES_UPDATED, params)


def update(uri: str) -> Change:
    return Change(NOTIFICATIONS_RESOURCES_UPDATED, uri)


async def read_all(changes: Changes) -> list[Change]:
    async with asyncio.timeout(30):
        return [change async for change in changes]


async def test_changes_arrive_in_the_order_in_which_they_were_reported() -> None:
    changes = Changes(WANTED)
    changes.offer(updated("a://x/1"))
    changes.offer(tools_changed())
    changes.offer(updated("a://x"))
    changes.end(None)
    assert await read_all(changes) == [update("a://x/1"), TOOLS, update("a://x")]


async def test_a_change_that_has_not_been_read_is_not_reported_twice() -> None:
    changes = Changes(WANTED)
    for _ in range(3):
        changes.offer(tools_changed())
        changes.offer(updated("a://x"))
    assert await anext(changes) == TOOLS
    changes.offer(tools_changed())  # after it was read it is a new one
    changes.end(None)
    assert await read_all(changes) == [update("a://x"), TOOLS]


async def test_a_reader_waits_for_the_next_change() -> None:
    changes = Changes(WANTED)
    reader = asyncio.ensure_future(anext(changes))
    asyncio.get_running_loop().call_soon(changes.offer, tools_changed())
    async with asyncio.timeout(30):
        assert await reader == TOOLS


async def test_what_was_not_asked_for_is_dropped() -> None:
    changes = Changes(WANTED)
    changes.offer(updated("a://xy"))
    changes.offer(updated("b://x"))
    changes.offer(NotificationReceived(NOTIFICATIONS_PROMPTS_LIST_CHANGED, NotificationParams()))
    changes.offer(NotificationReceived(NOTIFICATIONS_PROMPTS_LIST_CHANGED, UNSET))
    changes.end(None)
    assert await read_all(changes) == []


async def test_a_notification_without_params_counts_in_a_legacy_session() -> None:
    changes = Changes(WANTED)
    changes.offer(NotificationReceived(TOOLS.method, UNSET))
    changes.end(None)
    assert await read_all(changes) == [TOOLS]


@pytest.mark.parametrize("own", [1, "1", 0, ""])
async def test_a_modern_subscription_hears_only_what_bears_its_id_of_the_same_type(
    own: Any,
) -> None:
    changes = Changes(WANTED)
    changes.subscription_id = own
    for tag in (None, 1, "1", 0, "", 1.0, True, False, 2):
        changes.offer(updated(f"a://x/{tag!r}", tag))
    changes.offer(NotificationReceived(TOOLS.method, UNSET))
    changes.end(None)
    assert await read_all(changes) == [update(f"a://x/{own!r}")]


async def test_the_acknowledgement_says_what_will_be_reported() -> None:
    changes = Changes(WANTED)
    changes.subscription_id = 1
    assert changes.honored == WANTED
    granted = SubscriptionFilter(tools_list_changed=True)

    def acknowledge(tag: Any) -> None:
        params = SubscriptionsAcknowledgedNotificationParams(notifications=granted, meta=meta(tag))
        changes.offer(NotificationReceived(NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED, params))

    acknowledge("1")
    assert not changes.acknowledged.is_set()
    acknowledge(1)
    assert changes.acknowledged.is_set()
    assert changes.honored == granted
    changes.end(None)
    assert await read_all(changes) == []  # it is no change itself


async def test_an_orderly_end_ends_the_iteration_again_and_again() -> None:
    changes = Changes(WANTED)
    changes.offer(tools_changed())
    changes.end(None)
    assert await read_all(changes) == [TOOLS]
    assert await read_all(changes) == []
    assert changes.failure is None
    assert changes.acknowledged.is_set()  # nobody waits for it in vain


async def test_a_failure_is_raised_once_what_came_before_it_was_read() -> None:
    changes = Changes(WANTED)
    changes.offer(tools_changed())
    failure = ConnectionClosed("gone")
    changes.end(failure)
    assert changes.failure is failure
    assert await anext(changes) == TOOLS
    for _ in range(2):
        with pytest.raises(ConnectionClosed, match="gone"):
            await anext(changes)


@pytest.mark.parametrize("reason", [None, ConnectionClosed("gone")])
async def test_a_waiting_reader_is_let_go_at_the_end(reason: Exception | None) -> None:
    changes = Changes(WANTED)
    expected = StopAsyncIteration if reason is None else ConnectionClosed
    asyncio.get_running_loop().call_soon(changes.end, reason)
    async with asyncio.timeout(30):
        with pytest.raises(expected):
            await anext(changes)


async def test_the_first_end_is_the_one_that_counts() -> None:
    orderly, failed = Changes(WANTED), Changes(WANTED)
    orderly.end(None)
    orderly.end(ConnectionClosed("gone"))
    assert orderly.failure is None
    first = ConnectionClosed("first")
    failed.end(first)
    failed.end(None)
    assert failed.failure is first


async def test_what_may_have_been_missed_is_one_change_of_all_that_is_reported() -> None:
    changes = Changes(WANTED)
    changes.honored = SubscriptionFilter(
        tools_list_changed=True,
        prompts_list_changed=True,
        resources_list_changed=True,
        resource_subscriptions=["s://a", "s://b"],
    )
    assert changes.all_listened_for() == [
        ToolsListChanged(),
        PromptsListChanged(),
        ResourcesListChanged(),
        ResourceUpdated(uri="s://a"),
        ResourceUpdated(uri="s://b"),
    ]
    changes.honored = SubscriptionFilter(prompts_list_changed=True)
    assert changes.all_listened_for() == [PromptsListChanged()]


async def test_what_is_still_to_be_read_is_not_reported_twice() -> None:
    changes = Changes(WANTED)
    for _ in range(2):
        changes.report(ToolsListChanged())
        changes.report(PromptsListChanged())
    assert [await anext(changes), await anext(changes)] == [
        ToolsListChanged(),
        PromptsListChanged(),
    ]
    changes.end(None)
    assert [change async for change in changes] == []
