"""What a modern server is and can do, for clients that ask first.

Spec: server/discover
"""

from msgspec import UNSET, UnsetType

from wigwag.schema.caching import CacheableResult
from wigwag.schema.capabilities import ServerCapabilities


class DiscoverResult(CacheableResult, kw_only=True, frozen=True):
    """The server's description of itself; its name is in `meta`, under `SERVER_INFO_KEY`."""

    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str | UnsetType = UNSET
    """For the model: how to use the server."""
