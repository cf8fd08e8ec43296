"""Who is told of which changes."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from wigwag.protocol.subscriptions import Change, covers, honored, is_declared, is_within
from wigwag.schema import (
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    SubscriptionFilter,
    ToolsCapability,
)

EVERYTHING = SubscriptionFilter(
    tools_list_changed=True,
    prompts_list_changed=True,
    resources_list_changed=True,
    resource_subscriptions=["kite://tickets"],
)
LISTS = {
    NOTIFICATIONS_TOOLS_LIST_CHANGED: "tools_list_changed",
    NOTIFICATIONS_PROMPTS_LIST_CHANGED: "prompts_list_changed",
    NOTIFICATIONS_RESOURCES_LIST_CHANGED: "resources_list_changed",
}


@pytest.mark.parametrize(
    ("uri", "wanted", "within"),
    [
        ("kite://tickets", "kite://tickets", True),
        ("kite://tickets/7", "kite://tickets", True),
        ("kite://tickets/7", "kite://tickets/", True),
        ("kite://tickets2", "kite://tickets", False),
        ("kite://tickets", "kite://tickets/7", False),
    ],
)
def test_a_part_of_a_resource_is_within_it_and_its_namesakes_are_not(
    uri: str, wanted: str, within: object
) -> None:
    assert is_within(uri, wanted) is within


@pytest.mark.parametrize("method", LISTS)
def test_a_filter_covers_the_lists_that_it_names_and_no_others(method: str) -> None:
    only = msgspec.structs.replace(SubscriptionFilter(), **{LISTS[method]: True})
    assert [other for other in LISTS if covers(only, Change(other))] == [method]


def test_a_filter_with_false_asks_for_nothing() -> None:
    nothing = SubscriptionFilter(tools_list_changed=False)
    assert not covers(nothing, Change(NOTIFICATIONS_TOOLS_LIST_CHANGED))


def test_a_filter_covers_the_resources_that_it_names() -> None:
    updated = Change(NOTIFICATIONS_RESOURCES_UPDATED, "kite://tickets/7")
    assert covers(EVERYTHING, updated)
    assert not covers(SubscriptionFilter(resources_list_changed=True), updated)
    assert not covers(EVERYTHING, Change(NOTIFICATIONS_RESOURCES_UPDATED, "kite://articles"))


def test_only_what_the_server_declares_is_honored() -> None:
    tools_only = ServerCapabilities(
        tools=ToolsCapability(list_changed=True),
        prompts=PromptsCapability(),
        resources=ResourcesCapability(subscribe=False),
    )
    assert honored(EVERYTHING, tools_only) == SubscriptionFilter(tools_list_changed=True)


def test_what_was_not_asked_for_is_not_honored() -> None:
    capabilities = ServerCapabilities(
        tools=ToolsCapability(list_changed=True),
        prompts=PromptsCapability(list_changed=True),
        resources=ResourcesCapability(subscribe=True, list_changed=True),
    )
    assert honored(SubscriptionFilter(), capabilities) == SubscriptionFilter()
    assert honored(EVERYTHING, capabilities) == EVERYTHING


@pytest.mark.parametrize("method", [*LISTS, NOTIFICATIONS_RESOURCES_UPDATED])
def test_a_server_without_features_declares_no_changes(method: str) -> None:
    assert not is_declared(ServerCapabilities(tools=UNSET), method)
