"""How long the answer to a request may be kept, and for whom.

Spec: server/utilities/caching
"""

from msgspec import UNSET, UnsetType

from wigwag.schema.base import CacheScope
from wigwag.schema.basic import Result


class CacheableResult(Result, kw_only=True, frozen=True):
    """A result that may be kept for a while.

    Spec: server/utilities/caching#cache-hints
    """

    ttl_ms: int | float | UnsetType = UNSET
    """A whole number of milliseconds; fractions are read, never written."""
    cache_scope: CacheScope | UnsetType = UNSET
    """Whether everyone may be given the kept answer, or only whoever asked."""
