"""What is put around the handlers of a server: code that sees every request and notification."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Raw, Struct

from wigwag.protocol.events import NotificationReceived, RequestReceived
from wigwag.runtime.dispatch import Dispatch, Outcome
from wigwag.runtime.failures import without_leaving
from wigwag.schema import METHODS, decode_result
from wigwag.server.context import Context
from wigwag.server.parameters.callables import is_either

if TYPE_CHECKING:
    from wigwag.server.principal import Identify

_logger = logging.getLogger("wigwag.server")

CallNext: TypeAlias = "Callable[[Context[Any]], Awaitable[Any]]"
Middleware: TypeAlias = "Callable[[Context[Any], CallNext], Awaitable[Any]]"
Serve: TypeAlias = "Callable[[RequestReceived, Dispatch, Context[Any] | None], Any]"


class MiddlewareList:
    """The middleware of a server, outermost first.

    It is a decorator as well:

    >>> from wigwag import Server
    >>> server = Server("kites")
    >>> @server.middleware
    ... async def announce(context, call_next):
    ...     print("begin", context.method)
    ...     return await call_next(context)
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._steps: list[Middleware] = []
        self._on_change = on_change

    def __call__(self, middleware: Middleware) -> Middleware:
        """Add one, inside of those that are there."""
        self.append(middleware)
        return middleware

    def __iter__(self) -> Iterator[Middleware]:
        """All of them, outermost first."""
        return iter(list(self._steps))

    def __len__(self) -> int:
        """How many there are."""
        return len(self._steps)

    def append(self, middleware: Middleware) -> None:
        """Add one, inside of those that are there.

        Raises:
            TypeError: It is no async function of a context and of what comes next.
        """
        if not is_either(inspect.iscoroutinefunction, middleware):
            raise TypeError(
                f"{middleware!r} is no middleware: write `async def name(context, call_next)`"
            )
        self._steps.append(middleware)
        self._on_change()

    def remove(self, middleware: Middleware) -> None:
        """Take one away.

        Raises:
            ValueError: It is not there.
        """
        self._steps.remove(middleware)
        self._on_change()


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
        result = await self._around(handle)(context)
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
            await without_leaving(self._around(handle)(context))
        except Exception:
            _logger.exception("the handler of %s failed", notification.method)

    def _around(self, handle: CallNext) -> CallNext:
        call = handle
        for step in reversed(self._steps):
            call = partial(_call, step, call)
        return call


async def _call(step: Middleware, call_next: CallNext, context: Context[Any]) -> Any:
    return await step(context, call_next)


async def _recognise(identify: Identify, context: Context[Any]) -> Any:
    principal = identify(context.http_request)
    return await principal if inspect.isawaitable(principal) else principal


def _decoded(request: RequestReceived, members: tuple[bytes, ...]) -> Any:
    """Return encoded members as the result that they are."""
    body = b"{%b}" % b"".join(members)
    if request.method in METHODS:
        return decode_result(request.method, Raw(body))
    return members
