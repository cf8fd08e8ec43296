"""Pages of a server's own beside the endpoint: `Server.custom_route`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wigwag.transports.asgi import Receive, Scope, Send


class Page:
    """A page, found for one request.

    Args:
        route: The route of Starlette.
        more: What it adds to the scope.
        is_protected: Whether a good token is needed.
    """

    def __init__(self, route: Any, more: Any, *, is_protected: bool) -> None:
        self._route = route
        self._more = more
        self.is_protected = is_protected

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        await self._route.handle({**scope, **self._more}, receive, send)


class WebRoutes:
    """Routes of Starlette, in the order in which they are tried.

    Raises:
        RuntimeError: Starlette is not installed.
    """

    def __init__(self) -> None:
        try:
            from starlette.routing import Match, Route  # noqa: PLC0415 - few servers have pages
        except ImportError:
            raise RuntimeError("custom_route needs Starlette: pip install starlette") from None
        self._make: Callable[..., Any] = Route
        self._none = Match.NONE
        self._routes: list[tuple[Any, bool]] = []

    def add(
        self,
        path: str,
        methods: Sequence[str],
        name: str | None,
        handler: Callable[..., Any],
        *,
        is_protected: bool,
    ) -> None:
        """Add a page."""
        route = self._make(path, handler, methods=list(methods), name=name)
        self._routes.append((route, is_protected))

    def find(self, scope: Scope) -> Page | None:
        """Return the page that a request is for, if it is for one of them."""
        for route, is_protected in self._routes:
            match, more = route.matches(scope)
            if match is not self._none:
                return Page(route, more, is_protected=is_protected)
        return None
