"""Lists that arrive page by page.

Spec: server/utilities/pagination
"""

from msgspec import UNSET, UnsetType

from wigwag.schema.base import Cursor
from wigwag.schema.basic import RequestParams, Result


class PaginatedRequestParams(RequestParams, kw_only=True, frozen=True):
    """Which page of a list is wanted; the first when there is no cursor.

    Spec: server/utilities/pagination#request-format
    """

    cursor: Cursor | UnsetType = UNSET


class PaginatedResult(Result, kw_only=True, frozen=True):
    """One page of a list.

    Spec: server/utilities/pagination#response-format
    """

    next_cursor: Cursor | UnsetType = UNSET
    """Opaque, and the empty string counts; only its absence ends the list."""
