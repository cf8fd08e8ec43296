"""A call of a tool whose progress is followed while it is under way.

Spec: basic/utilities/progress
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final, Generic, Self, TypeVar

from wigwag.errors import LocalProtocolError
from wigwag.runtime.client_connection import OnProgress
from wigwag.schema import ProgressNotificationParams

__all__ = ["FollowedCall"]

_logger = logging.getLogger("wigwag.client")

R_co = TypeVar("R_co", covariant=True)

# Of what a slow reader has not read, the oldest is dropped: progress only grows.
MAX_UNREAD: Final = 1000


class FollowedCall(Generic[R_co]):
    """A call of a tool under way: the signs of its progress, and its result.

    It begins with the `async with` block. Leaving the block before the end cancels it; the server
    is told.

    Args:
        tool: The tool.
        start: Calls it.
    """

    def __init__(self, tool: str, start: Callable[[OnProgress], Coroutine[Any, Any, R_co]]) -> None:
        self._tool = tool
        self._start = start
        self._unread: deque[ProgressNotificationParams] = deque(maxlen=MAX_UNREAD)
        self._news = asyncio.Event()
        self._task: asyncio.Task[R_co] | None = None
        self._is_asked = False

    async def __aenter__(self) -> Self:
        """Call the tool."""
        if self._task is not None:
            raise LocalProtocolError("this call was made already: call the tool anew")
        self._task = asyncio.get_running_loop().create_task(self._start(self._take))
        self._task.add_done_callback(lambda _: self._news.set())
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Cancel the call, if it is still under way."""
        task = self._begun()
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._is_asked and exc[:1] == (None,):
            _logger.warning(
                "a call of the tool %r failed, and nobody asked for its result: %s",
                self._tool,
                error,
            )

    def __aiter__(self) -> AsyncIterator[ProgressNotificationParams]:
        """Iterate over the signs of progress, until the call is done or has failed."""
        return self

    async def __anext__(self) -> ProgressNotificationParams:
        """Wait for the next sign of progress."""
        task = self._begun()
        while not self._unread:
            if task.done():
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._unread.popleft()

    async def result(self) -> R_co:
        """Wait for the result; may be called again, and after the block.

        Raises:
            LocalProtocolError: The call was cancelled, because its block was left.
            McpError: Whatever `call_tool` raises.
        """
        task = self._begun()
        self._is_asked = True
        await asyncio.wait([task])  # who gives up waiting does not cancel the call
        if task.cancelled():
            raise LocalProtocolError(f"the call of {self._tool!r} was cancelled before its end")
        return task.result()

    def _begun(self) -> asyncio.Task[R_co]:
        if self._task is None:
            raise LocalProtocolError("use `async with client.follow_tool(…) as call:`")
        return self._task

    def _take(self, progress: ProgressNotificationParams) -> None:
        self._unread.append(progress)
        self._news.set()
