"""What is put around the messages of a client: code that sees what is asked and told, both ways."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from wigwag.errors import InvalidResult
from wigwag.jsonrpc.codec import encode_value
from wigwag.protocol.events import NotificationReceived
from wigwag.runtime.callbacks import Callbacks
from wigwag.runtime.middleware import MiddlewareList, inside_of
from wigwag.schema import (
    ELICITATION_CREATE,
    METHODS,
    NOTIFICATIONS_PROGRESS,
    ROOTS_LIST,
    SAMPLING_CREATE_MESSAGE,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    ProgressNotificationParams,
)

if TYPE_CHECKING:
    from wigwag.client.asking import Asking
    from wigwag.runtime.client_connection import OnProgress

__all__ = ["ClientContext", "ClientMiddleware", "Passage"]

_logger = logging.getLogger("wigwag.client")

_ANSWERS: Final[Mapping[str, type[Struct]]] = {
    ELICITATION_CREATE: ElicitResult,
    SAMPLING_CREATE_MESSAGE: CreateMessageResult,
    ROOTS_LIST: ListRootsResult,
}


class ClientContext:
    """A message on its way between a client and its server.

    Attributes:
        client: The `Client`.
        direction: Whether the client sends it or has received it.
        method: Its method.
        params: Its params: the type of `wigwag.schema` for the method, or what `request` or
            `notify` was given. A middleware may set others.
        meta: For an outgoing request, what goes into its `_meta` besides what the protocol puts
            there; to be changed in place. For others it is empty.
        is_notification: Whether nobody answers it.
    """

    __slots__ = ("client", "direction", "is_notification", "meta", "method", "params")

    def __init__(
        self,
        client: Any,
        direction: Literal["outgoing", "incoming"],
        method: str,
        params: Any,
        *,
        meta: Mapping[str, Any] | None = None,
        is_notification: bool = False,
    ) -> None:
        self.client = client
        self.direction = direction
        self.method = method
        self.params = params
        self.meta: dict[str, Any] = dict(meta or {})
        self.is_notification = is_notification

    def __repr__(self) -> str:
        """Which message it is."""
        kind = "notification" if self.is_notification else "request"
        return f"<{self.direction} {kind} {self.method}>"


CallNext: TypeAlias = "Callable[[ClientContext], Awaitable[Any]]"
ClientMiddleware: TypeAlias = "Callable[[ClientContext, CallNext], Awaitable[Any]]"
Send: TypeAlias = "Callable[..., Awaitable[Raw]]"


class Passage:
    """What the messages of one client pass through.

    Args:
        client: The `Client`.
        asking: What asks its server.
        on_change: Called when there is another list of middleware.
    """

    def __init__(self, client: Any, asking: Asking, on_change: Callable[[], None]) -> None:
        self._client = client
        self._asking = asking
        self.steps: MiddlewareList[ClientMiddleware] = MiddlewareList(on_change)
        self._incoming = _InOrder()
        self._callbacks = Callbacks()

    async def ask(
        self,
        send: Send,
        method: str,
        params: Any,
        *,
        timeout: float | None,  # noqa: ASYNC109 - it is the protocol's
        on_progress: OnProgress | None,
        meta: Mapping[str, Any] | None,
    ) -> Raw:
        """Send a request, and return its result, or that which a middleware gave in its place.

        Args:
            send: Sends it.
            method: Its method.
            params: Its params.
            timeout: Seconds to wait for an answer or a sign of progress.
            on_progress: Called with each sign of progress.
            meta: More members for `_meta`.
        """
        received: list[tuple[Any, Raw]] = []
        progress = _InOrder()

        def hear(params: ProgressNotificationParams) -> None:
            progress.add(lambda: self._hear(NOTIFICATIONS_PROGRESS, params, told))

        def told(context: ClientContext) -> None:
            if on_progress is not None:
                self._callbacks.call(on_progress, context.params)

        async def handle(context: ClientContext) -> Any:
            raw = await send(
                context.method,
                context.params,
                timeout=timeout,
                on_progress=hear,
                meta=context.meta,
            )
            await progress.settle()  # it came before the result
            received.append((self._read(context.method, raw), raw))
            return received[-1][0]

        context = ClientContext(self._client, "outgoing", method, params, meta=meta)
        result = await inside_of(self.steps, handle)(context)
        for found, raw in received:
            if found is result:  # nobody has changed it
                return raw
        if not isinstance(result, Struct | Mapping):
            raise TypeError(
                f"a middleware returned {type(result).__name__} for {method}: it must return what "
                "`call_next` returned, or a result of its own"
            )
        return Raw(encode_value(result))

    async def notify(
        self, send: Callable[[str, Any], Awaitable[None]], method: str, params: Any
    ) -> None:
        """Send a notification, unless a middleware keeps it back."""

        async def handle(context: ClientContext) -> None:
            await send(context.method, context.params)

        context = ClientContext(self._client, "outgoing", method, params, is_notification=True)
        await inside_of(self.steps, handle)(context)

    async def answer(
        self, answer: Callable[[str, Any], Awaitable[Struct]], method: str, params: Any
    ) -> Struct:
        """Answer a question of the server, or let a middleware do it."""

        async def handle(context: ClientContext) -> Struct:
            return await answer(context.method, context.params)

        context = ClientContext(self._client, "incoming", method, params)
        result = await inside_of(self.steps, handle)(context)
        wanted = _ANSWERS.get(method, Struct)
        if not isinstance(result, wanted):
            raise TypeError(
                f"a middleware returned {type(result).__name__} for {method}: it must return a "
                f"{wanted.__name__}, as `call_next` does"
            )
        return result

    def hear(
        self, event: NotificationReceived, tell: Callable[[NotificationReceived], None]
    ) -> None:
        """Have a notification told, after those before it, unless a middleware keeps it back."""

        def told(context: ClientContext) -> None:
            tell(NotificationReceived(context.method, context.params))

        self._incoming.add(lambda: self._hear(event.method, event.params, told))

    async def _hear(self, method: str, params: Any, tell: Callable[[ClientContext], None]) -> None:
        async def handle(context: ClientContext) -> None:
            tell(context)

        context = ClientContext(self._client, "incoming", method, params, is_notification=True)
        await inside_of(self.steps, handle)(context)

    def _read(self, method: str, raw: Raw) -> Any:
        if method in METHODS:
            try:
                return self._asking.read(method, raw)
            except InvalidResult:
                pass  # told to whoever has asked, if he cares
        try:
            return msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidResult(f"the result of {method} cannot be read: {error}") from None


class _InOrder:
    """Does one thing after the other; what goes wrong is noted in the log."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], Awaitable[None]]] = deque()
        self._task: asyncio.Task[None] | None = None

    def add(self, job: Callable[[], Awaitable[None]]) -> None:
        self._waiting.append(job)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def settle(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            while self._waiting:
                try:
                    await self._waiting.popleft()()
                except Exception:
                    _logger.exception("a middleware of the client failed")
        finally:
            self._task = None
