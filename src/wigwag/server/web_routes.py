"""Pages of a server's own beside the endpoint: `Server.custom_route`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wigwag.transports.asgi import Receive, Scope, Send


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
        self._routes: list[Any] = []

    def add(
        self, path: str, methods: Sequence[str], name: str | None, handler: Callable[..., Any]
    ) -> None:
        """Add a page."""
        self._routes.append(self._make(path, handler, methods=list(methods), name=name))

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request, if it is for one of them; tell whether it was."""
        for route in self._routes:
            match, more = route.matches(scope)
            if match is not self._none:
                await route.handle({**scope, **more}, receive, send)
                return True
        return False
