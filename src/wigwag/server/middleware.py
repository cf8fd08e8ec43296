"""What is put around the handlers of a server: code that sees every request and notification."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Raw, Struct

from wigwag.protocol.events import NotificationReceived, RequestReceived
from wigwag.runtime.dispatch import Dispatch, Outcome
from wigwag.runtime.failures import without_leaving
from wigwag.runtime.middleware import inside_of
from wigwag.schema import METHODS, decode_result
from wigwag.server.context import Context

if TYPE_CHECKING:
    from wigwag.server.principal import Identify

_logger = logging.getLogger("wigwag.server")

CallNext: TypeAlias = "Callable[[Context[Any]], Awaitable[Any]]"
Middleware: TypeAlias = "Callable[[Context[Any], CallNext], Awaitable[Any]]"
Serve: TypeAlias = "Callable[[RequestReceived, Dispatch, Context[Any] | None], Any]"


class Pipeline:
    """Runs handlers inside of middleware, and finds out before who asks.

    Args:
        owner: The server whose it is.
        steps: The middleware, outermost first.
        identify: Recognises who has sent a request.
    """

    def __init__(
        self, owner: Any, steps: tuple[Middleware, ...], identify: Identify | None
    ) -> None:
        self._owner = owner
        self._steps = steps
        self._identify = identify

    async def serve(
        self, handler: Serve, request: RequestReceived, connection: Dispatch
    ) -> Outcome:
        """Serve a request, from its beginning."""
        context: Context[Any] = Context(self._owner, connection, request)
        if self._identify is not None:
            context.principal = await _recognise(self._identify, context)
        work = self.run(handler, request, connection, context)
        return await without_leaving(context.settle(work))

    async def run(
        self,
        handler: Serve,
        request: RequestReceived,
        connection: Dispatch,
        context: Context[Any],
    ) -> Outcome:
        """Serve a request whose context there is already."""
        encoded: tuple[Any, Outcome] | None = None

        async def handle(context: Context[Any]) -> Any:
            nonlocal encoded
            outcome = handler(request, connection, context)
            outcome = await outcome if inspect.isawaitable(outcome) else outcome
            if not isinstance(outcome, tuple):
                return outcome
            encoded = _decoded(request, outcome), outcome
            return encoded[0]

        if not self._steps:
            outcome = handler(request, connection, context)
            found: Outcome = await outcome if inspect.isawaitable(outcome) else outcome
            return found
        result = await inside_of(self._steps, handle)(context)
        if encoded is not None and result is encoded[0]:
            return encoded[1]  # nobody has changed it
        if result is not None and not isinstance(result, Struct | tuple):
            raise TypeError(
                f"a middleware returned {type(result).__name__} for {request.method}: it must "
                "return what `call_next` returned, or a result of its own"
            )
        return result

    async def hear(
        self,
        receive: Callable[[NotificationReceived, Context[Any]], Awaitable[None]],
        notification: NotificationReceived,
        context: Context[Any],
    ) -> None:
        """Take a notification; whatever goes wrong is noted in the log, for nobody is answered."""

        async def handle(context: Context[Any]) -> None:
            await receive(notification, context)

        try:
            if self._identify is not None:
                context.principal = await _recognise(self._identify, context)
            await without_leaving(inside_of(self._steps, handle)(context))
        except Exception:
            _logger.exception("the handler of %s failed", notification.method)


async def _recognise(identify: Identify, context: Context[Any]) -> Any:
    principal = identify(context.http_request)
    return await principal if inspect.isawaitable(principal) else principal


def _decoded(request: RequestReceived, members: tuple[bytes, ...]) -> Any:
    """Return encoded members as the result that they are."""
    body = b"{%b}" % b"".join(members)
    if request.method in METHODS:
        return decode_result(request.method, Raw(body))
    return members
