"""Streams of change notifications.

Spec: basic/utilities/subscriptions
"""

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import MetaObject, Schema
from wigwag.schema.basic import NotificationParams, RequestParams, Result


class SubscriptionFilter(Schema, kw_only=True, frozen=True):
    """The changes that are wanted, or that will be reported."""

    tools_list_changed: bool | UnsetType = UNSET
    prompts_list_changed: bool | UnsetType = UNSET
    resources_list_changed: bool | UnsetType = UNSET
    resource_subscriptions: list[str] | UnsetType = UNSET
    """The URIs of resources."""


class SubscriptionsListenRequestParams(RequestParams, kw_only=True, frozen=True):
    """The changes that the client wants to hear of."""

    notifications: SubscriptionFilter


class SubscriptionsAcknowledgedNotificationParams(NotificationParams, kw_only=True, frozen=True):
    """The part of the wish that the server will fulfil."""

    notifications: SubscriptionFilter


class SubscriptionsListenResult(Result, kw_only=True, frozen=True):
    """The orderly end of a stream."""

    meta: MetaObject = field(name="_meta")
    """Holds the id of the request under `SUBSCRIPTION_ID_KEY`."""
