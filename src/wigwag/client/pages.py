"""Lists that come in pages, read to their end.

Spec: server/utilities/pagination
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from wigwag.client.asking import Asking
from wigwag.client.link import Link
from wigwag.errors import LocalProtocolError, RemoteProtocolError, RequestFailed
from wigwag.protocol.gates import server_declares
from wigwag.schema import METHODS, PaginatedRequestParams

__all__ = ["Pages"]

_logger = logging.getLogger("wigwag.client")

R = TypeVar("R")

# A list of more pages than this never ends.
MAX_PAGES: Final = 10_000


class Pages:
    """Gets the lists of one server.

    Args:
        link: What connects to the server.
        asking: What asks it.
    """

    def __init__(self, link: Link, asking: Asking) -> None:
        self._link = link
        self._asking = asking

    async def list(
        self,
        method: str,
        result_type: type[R],
        member: str,
        cursor: str | None = None,
        *,
        refresh: bool = False,
    ) -> R:
        """Get one page, or all of them as one; with `refresh`, nothing that is kept."""
        if not await self._is_declared(method):
            # It must not be asked, and has none.
            empty: R = msgspec.convert({_wire_name(member): []}, result_type)
            return empty
        if cursor is not None:
            if not isinstance(cursor, str):
                raise LocalProtocolError(
                    f"{cursor!r} is no cursor: there is no next page where `next_cursor` is UNSET, "
                    "so ask `if page.next_cursor is not UNSET`"
                )
            return await self._page(method, cursor, result_type, refresh=refresh)
        hits = self._hits
        try:
            return await self._whole(method, result_type, member, refresh=refresh)
        except RequestFailed:
            if self._hits == hits:
                raise
        # A page that was kept may have had a cursor that means nothing any more.
        return await self._whole(method, result_type, member, refresh=True)

    @property
    def _hits(self) -> int:
        cache = self._asking.cache
        return 0 if cache is None else cache.info.hits

    async def _whole(self, method: str, result_type: type[R], member: str, *, refresh: bool) -> R:
        page: Any = await self._page(method, UNSET, result_type, refresh=refresh)
        if page.next_cursor is UNSET:
            result: R = page
            return result
        items = list(getattr(page, member))
        async for page in self._pages_after(  # noqa: B020
            page, method, result_type, member, refresh=refresh
        ):
            items += getattr(page, member)
        whole: R = msgspec.structs.replace(page, **{member: items, "next_cursor": UNSET})
        return whole

    async def pages(
        self, method: str, result_type: type[R], member: str, *, refresh: bool = False
    ) -> AsyncIterator[R]:
        """Get one page after the other."""
        if not await self._is_declared(method):
            return
        page: Any = await self._page(method, UNSET, result_type, refresh=refresh)
        yield page
        async for page in self._pages_after(  # noqa: B020
            page, method, result_type, member, refresh=refresh
        ):
            yield page

    async def _is_declared(self, method: str) -> bool:
        if self._link.connected is None:
            await self._link.get()
        known = self._link.known
        return server_declares(known.capabilities, method, known.revision)

    async def _pages_after(
        self, page: Any, method: str, result_type: type[Any], member: str, *, refresh: bool
    ) -> AsyncIterator[Any]:
        """Get the pages after one; what a server gives that goes round in circles, but once."""
        before: dict[str, list[Any]] = {}  # what was on the page that gave the cursor
        # Any cursor counts, the empty one too.
        while (cursor := page.next_cursor) is not UNSET:
            if len(before) >= MAX_PAGES:
                raise RemoteProtocolError(f"{method} has more than {MAX_PAGES} pages")
            before[cursor] = getattr(page, member)
            page = await self._page(method, cursor, result_type, refresh=refresh)
            if page.next_cursor in before:  # it would go on for ever
                _logger.warning(
                    "the server gave the cursor %r twice: %s ends here", page.next_cursor, method
                )
                items = getattr(page, member)
                # Whoever takes no notice of cursors has given the same page again.
                fresh = [] if items == before[page.next_cursor] else items
                page = msgspec.structs.replace(page, **{member: fresh, "next_cursor": UNSET})
            yield page

    async def _page(
        self, method: str, cursor: str | UnsetType, result_type: type[R], *, refresh: bool
    ) -> R:
        params = PaginatedRequestParams(cursor=cursor)
        if not METHODS[method].cacheable:
            return await self._asking.call(method, params, result_type)
        return await self._asking.look(method, params, result_type, cursor=cursor, refresh=refresh)


def _wire_name(member: str) -> str:
    head, *rest = member.split("_")
    return head + "".join(map(str.capitalize, rest))
