"""Who is told of which changes. Spec: basic/utilities/subscriptions.

A modern client listens on the stream of a request, with a filter. A legacy client is told of all
changes of lists that the server declared, and of the resources it subscribed to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Struct, UnsetType

from wigwag import schema
from wigwag.schema import (
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    ServerCapabilities,
)

if TYPE_CHECKING:  # loaded when first used
    from wigwag.schema import SubscriptionFilter

__all__ = ["FILTER_MEMBERS", "Change", "covers", "honored", "is_declared", "is_within"]

FILTER_MEMBERS: Final = {
    NOTIFICATIONS_TOOLS_LIST_CHANGED: "tools_list_changed",
    NOTIFICATIONS_PROMPTS_LIST_CHANGED: "prompts_list_changed",
    NOTIFICATIONS_RESOURCES_LIST_CHANGED: "resources_list_changed",
}
"""For each notification that a list has changed, the member of a filter that asks for it."""

_FEATURES: Final = {
    NOTIFICATIONS_TOOLS_LIST_CHANGED: "tools",
    NOTIFICATIONS_PROMPTS_LIST_CHANGED: "prompts",
    NOTIFICATIONS_RESOURCES_LIST_CHANGED: "resources",
}


class Change(Struct, frozen=True, eq=False):
    """Something of the server has changed: list or read it anew.

    Attributes:
        method: The notification that says so.
        uri: The resource, for `notifications/resources/updated`.
    """

    method: str
    uri: str | None = None

    def __eq__(self, other: object) -> bool:
        """Whether it is the same change, by whatever type."""
        if not isinstance(other, Change):
            return NotImplemented
        return (self.method, self.uri) == (other.method, other.uri)

    def __hash__(self) -> int:
        """As it is compared."""
        return hash((self.method, self.uri))


def is_within(uri: str, wanted: str) -> bool:
    """Tell whether a resource is the one that is wanted, or a part of it.

    >>> is_within("kite://tickets/7", "kite://tickets"), is_within("kite://tickets2", "kite://t")
    (True, False)
    """
    return uri == wanted or uri.startswith(wanted if wanted.endswith("/") else f"{wanted}/")


def covers(wanted: SubscriptionFilter, change: Change) -> bool:
    """Tell whether a filter asks for a change."""
    if change.method in FILTER_MEMBERS:
        return getattr(wanted, FILTER_MEMBERS[change.method]) is True
    uris = wanted.resource_subscriptions
    return (
        change.method == NOTIFICATIONS_RESOURCES_UPDATED
        and change.uri is not None
        and uris is not UNSET
        and any(is_within(change.uri, uri) for uri in uris)
    )


def is_declared(capabilities: ServerCapabilities, method: str) -> bool:
    """Tell whether a server with these capabilities reports changes by a notification."""
    if method in _FEATURES:
        feature = getattr(capabilities, _FEATURES[method])
        return feature is not UNSET and feature.list_changed is True
    resources = capabilities.resources
    return resources is not UNSET and resources.subscribe is True


def honored(wanted: SubscriptionFilter, capabilities: ServerCapabilities) -> SubscriptionFilter:
    """Return the part of a filter that a server with these capabilities fulfils."""

    def flag(method: str) -> bool | UnsetType:
        asked = getattr(wanted, FILTER_MEMBERS[method]) is True
        return True if asked and is_declared(capabilities, method) else UNSET

    has_updates = is_declared(capabilities, NOTIFICATIONS_RESOURCES_UPDATED)
    return schema.SubscriptionFilter(
        tools_list_changed=flag(NOTIFICATIONS_TOOLS_LIST_CHANGED),
        prompts_list_changed=flag(NOTIFICATIONS_PROMPTS_LIST_CHANGED),
        resources_list_changed=flag(NOTIFICATIONS_RESOURCES_LIST_CHANGED),
        resource_subscriptions=wanted.resource_subscriptions if has_updates else UNSET,
    )
