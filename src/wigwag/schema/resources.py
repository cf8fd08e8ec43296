"""Resources: data that a server lets clients read, each under a URI.

Spec: server/resources
"""

from collections.abc import Iterator

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import Annotations, CacheScope, Icon, MetaObject, Schema
from wigwag.schema.basic import NotificationParams, RequestParams
from wigwag.schema.caching import CacheableResult
from wigwag.schema.input_required import InputResponseRequestParams
from wigwag.schema.pagination import PaginatedResult
from wigwag.schema.resource_contents import ResourceContents


class Resource(Schema, kw_only=True, frozen=True):
    """Something that can be read.

    Spec: server/resources#resource
    """

    uri: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    """In bytes, before any encoding."""
    annotations: Annotations | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ResourceTemplate(Schema, kw_only=True, frozen=True):
    """A pattern of URIs that can be read.

    Spec: server/resources#resource-templates
    """

    uri_template: str
    """A template of RFC 6570."""
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    """The type of everything the template matches, when it is one type."""
    annotations: Annotations | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ListResourcesResult(PaginatedResult, kw_only=True, frozen=True):
    """One page of resources.

    Spec: server/resources#listing-resources
    """

    resources: list[Resource]
    ttl_ms: int | float | UnsetType = UNSET
    cache_scope: CacheScope | UnsetType = UNSET


class ListResourceTemplatesResult(PaginatedResult, kw_only=True, frozen=True):
    """One page of resource templates.

    Spec: server/resources#resource-templates
    """

    resource_templates: list[ResourceTemplate]
    ttl_ms: int | float | UnsetType = UNSET
    cache_scope: CacheScope | UnsetType = UNSET


class ResourceRequestParams(RequestParams, kw_only=True, frozen=True):
    """Which resource a request is about."""

    uri: str


class ReadResourceRequestParams(InputResponseRequestParams, kw_only=True, frozen=True):
    """Which resource to read.

    Spec: server/resources#reading-resources
    """

    uri: str


class ReadResourceResult(CacheableResult, kw_only=True, frozen=True):
    """What was read; a resource that is a folder may have several contents.

    Spec: server/resources#reading-resources
    """

    contents: list[ResourceContents]

    def __iter__(self) -> Iterator[ResourceContents]:
        """The contents, one after the other."""
        return iter(self.contents)


class SubscribeRequestParams(ResourceRequestParams, kw_only=True, frozen=True):
    """Which resource to report updates of.

    Spec: 2025-11-25 server/resources#subscriptions
    """


class UnsubscribeRequestParams(ResourceRequestParams, kw_only=True, frozen=True):
    """Which resource to report no more updates of.

    Spec: 2025-11-25 server/resources#subscriptions
    """


class ResourceUpdatedNotificationParams(NotificationParams, kw_only=True, frozen=True):
    """Which resource has changed; it may lie below the one that was subscribed to.

    Spec: server/resources#subscriptions
    """

    uri: str
