"""The lists that a server answers with: paged, in the order of registration, kept as bytes.

Spec: server/utilities/pagination
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.protocol.server import Members, encode_members

_MAX_PAGES_FOR_SOME: Final = 64


class FeatureList:
    """One of the lists, with its encoded pages.

    Args:
        make_page: Makes the result from the definitions on a page and the cursor of the next.
        page_size: How many definitions are on a page; `None` for all of them.
    """

    def __init__(
        self, make_page: Callable[[list[Any], str | UnsetType], Struct], page_size: int | None
    ) -> None:
        if page_size is not None and page_size < 1:
            raise ValueError("a page holds at least one item")
        self._make_page = make_page
        self._page_size = page_size
        self._pages: dict[tuple[str, str | UnsetType], Members] = {}
        self._pages_for_some: dict[tuple[str, str | UnsetType, tuple[str, ...]], Members] = {}

    def changed(self) -> None:
        """Forget the encoded pages: the features have changed."""
        self._pages.clear()
        self._pages_for_some.clear()

    def page(self, features: Mapping[str, Any], cursor: str | UnsetType, revision: str) -> Members:
        """Return the members of a page's result, as the revision knows it.

        Raises:
            RequestFailed: The cursor is not one that this list has given out.
        """
        page = self._pages.get((revision, cursor))
        if page is None:
            page = self._make(features, cursor, revision)
            # Only cursors that were given out get here, so this cannot be filled up by a peer.
            self._pages[revision, cursor] = page
        return page

    def page_for_some(
        self, features: Mapping[str, Any], cursor: str | UnsetType, revision: str
    ) -> Members:
        """Return what `page` does, where not everybody sees the same features.

        Most people see what some others see, too.
        """
        key = revision, cursor, tuple(features)
        page = self._pages_for_some.get(key)
        if page is None:
            page = self._make(features, cursor, revision)
            if len(self._pages_for_some) >= _MAX_PAGES_FOR_SOME:
                self._pages_for_some.clear()
            self._pages_for_some[key] = page
        return page

    def _make(self, features: Mapping[str, Any], cursor: str | UnsetType, revision: str) -> Members:
        names = list(features)
        start = 0 if cursor is UNSET else _position_after(names, cursor)
        end = len(names) if self._page_size is None else start + self._page_size
        following: str | UnsetType = _cursor(names[end - 1]) if end < len(names) else UNSET
        definitions = [features[name].definition for name in names[start:end]]
        result = self._make_page(definitions, following)
        return encode_members(result, revision)


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _position_after(names: list[str], cursor: str) -> int:
    try:
        return names.index(base64.b64decode(cursor, b"-_", validate=True).decode()) + 1
    except (ValueError, binascii.Error):
        message = f"Invalid params: {cursor!r} is no cursor of this list; begin again without one"
        raise RequestFailed(INVALID_PARAMS, message) from None
