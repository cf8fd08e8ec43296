"""Gets metadata from places that servers name, and from nowhere else than authorization may."""

from __future__ import annotations

from typing import Any, Self

from msgspec import Struct

from wigwag.doctor.url_checks.exchanges import Asker
from wigwag.errors import McpError
from wigwag.oauth.fetch_rules import Networks
from wigwag.oauth.requests import get_request
from wigwag.oauth.urls import read_url, shown
from wigwag.transports.document_fetching import DocumentFetcher, addresses_of

__all__ = ["Document", "Documents"]


class Document(Struct, frozen=True):
    """What was found where metadata should be.

    Attributes:
        url: Where that is.
        outcome: What came of asking, in one line.
        status: The status; 0 if there was no response.
        members: The JSON object, if it is one with status 200.
    """

    url: str
    outcome: str
    status: int
    members: dict[str, Any] | None


class Documents:
    """Gets documents, each once.

    Args:
        fetcher: Makes the requests.
        asker: Knows what of their texts may be told.
    """

    def __init__(self, fetcher: DocumentFetcher, asker: Asker) -> None:
        self._fetcher = fetcher
        self._asker = asker
        self._known: dict[str, Document] = {}

    @classmethod
    async def around(cls, asker: Asker) -> Self:
        """Return what may fetch from where the server at a URL can be expected to point to."""
        server = read_url(asker.url)
        networks = Networks.around(server, await addresses_of(server.host, server.port))
        fetcher = DocumentFetcher(networks=networks, timeout=asker.patience.answer, ssl=asker.tls)
        return cls(fetcher, asker)

    async def get(self, url: str) -> Document:
        """Get a document; that it cannot be had is told in it."""
        if url not in self._known:
            self._known[url] = await self._get(url)
        return self._known[url]

    async def _get(self, url: str) -> Document:
        name = self._asker.told(shown(url))
        try:
            response = await self._fetcher.fetch(get_request(url))
        except McpError as error:
            return Document(name, f"{name} → {self._asker.told(error)}", 0, None)
        members = response.read_object() if response.status == 200 else None
        outcome = f"{name} → {response.status}"
        if members is None:
            words = self._asker.told(response.body[:1000].decode("utf-8", "replace"))
            outcome += f": {words}" if words else ""
        return Document(name, outcome, response.status, members)
