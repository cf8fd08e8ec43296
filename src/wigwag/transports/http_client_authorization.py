"""What authorizes the HTTP requests of a client, as far as a transport has to know.

Spec: basic/authorization#access-token-usage
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["Authorizer", "Held", "RequestAuthorization", "ResponseHead"]


class ResponseHead(Protocol):
    """The head of a response."""

    status: int

    def header(self, name: str) -> str:
        """Return the first value of a header, `""` where there is none."""
        ...

    def headers(self) -> dict[str, str]:
        """Return all headers, with names in lower case."""
        ...


class Held(Protocol):
    """Something with a limit of time that is held up for authorization, perhaps by a person."""

    def hold(self) -> None:
        """Stop counting."""
        ...

    def release(self) -> None:
        """Go on counting."""
        ...


class RequestAuthorization(Protocol):
    """What authorizes one request, however often it has to be made."""

    async def headers(self, method: str, url: str) -> Mapping[str, str]:
        """Return the headers to make it with, this time.

        Raises:
            AuthorizationFailed: There are none at the moment.
        """
        ...

    def is_refusal(self, response: ResponseHead) -> bool:
        """Learn of a response; tell whether it wants other authorization, so that `renew` is next.

        Any other response is the answer to the request.
        """
        ...

    async def renew(self) -> None:
        """Get what the request is then to be made again with.

        Raises:
            AuthorizationFailed: There is nothing that helps.
        """
        ...


class Authorizer(Protocol):
    """What authorizes the requests of one client to one server."""

    def begin(self, operation: str) -> RequestAuthorization:
        """Begin a request.

        Args:
            operation: What it is to do, such as `tools/call get_ticket`.
        """
        ...

    def at_hand(self, method: str, url: str) -> Mapping[str, str]:
        """Return headers for a request that is not worth waiting for anything."""
        ...
