"""Callbacks that may block: plain functions, called in threads rather than on the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from wigwag.runtime.callables import is_async

# The names of options that answer something; all the others that take functions tell something.
_ANSWERING: Final = ("sampling", "elicitation", "roots", "headers", "auth")
_ANSWERING_WITH_CLIENT: Final = ("sampling_callback", "elicitation_callback", "list_roots_callback")
# How long the end of a client waits for what was told before.
_DRAIN_SECONDS: Final = 2.0

_logger = logging.getLogger("wigwag.client")


class CallbackThread:
    """Calls functions one after the other, in a daemon thread that starts with the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inbox: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def is_current(self) -> bool:
        """Tell whether the caller is one of these functions."""
        return threading.current_thread() is self._thread

    def in_order(self, function: Callable[..., object]) -> Callable[..., object]:
        """Return a function that has this one called, and does not wait for it."""
        if is_async(function):
            return function

        @functools.wraps(function, updated=())
        def call_later(*args: Any) -> None:
            self._put(functools.partial(function, *args))

        return call_later

    def end(self) -> None:
        """Wait a little for what is still to be called, and end the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._inbox.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join(_DRAIN_SECONDS)

    def _put(self, job: Callable[[], object]) -> None:
        with self._lock:
            if self._thread is None:
                self._inbox = queue.SimpleQueue()
                self._thread = threading.Thread(
                    target=_call_all, args=(self._inbox,), name="wigwag-callbacks", daemon=True
                )
                self._thread.start()
            self._inbox.put(job)


def _call_all(inbox: queue.SimpleQueue[Callable[[], object] | None]) -> None:
    while (job := inbox.get()) is not None:
        call_safely(job)


def call_safely(function: Callable[..., object], *args: Any) -> None:
    """Call a function; what it raises goes to the log."""
    try:
        function(*args)
    except Exception:
        _logger.exception("a callback of the client failed")


def in_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an async function that calls this one in a daemon thread of its own.

    No pool: who waits for a person must keep neither others nor the end of the process waiting.
    """
    if is_async(function):
        return function

    @functools.wraps(function, updated=())
    async def call(*args: Any) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        job = functools.partial(_answer, loop, future, function, args)
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(job,), name="wigwag-question", daemon=True
        ).start()
        answer = await future
        return await answer if inspect.isawaitable(answer) else answer

    return call


def _answer(
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[Any],
    function: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    settle: Callable[[Any], None] = future.set_result
    try:
        outcome: Any = function(*args)
    except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
        settle, outcome = future.set_exception, error
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            # These mean something else to an event loop.
            outcome = RuntimeError(f"a callback of the client raised {type(error).__name__}")
            outcome.__cause__ = error

    def deliver() -> None:
        if not future.done():
            settle(outcome)

    with suppress(RuntimeError):  # the loop is closed: nobody waits
        loop.call_soon_threadsafe(deliver)


def made_blocking(
    options: Mapping[str, Any], callbacks: CallbackThread, client: Any
) -> dict[str, Any]:
    """Return the options of a `Client` such that plain functions among them may block.

    Args:
        options: As they were given.
        callbacks: Where what tells something is called, in order.
        client: What plain functions get that get a client.
    """
    return {
        name: _made_blocking(name, value, callbacks, client) if callable(value) else value
        for name, value in options.items()
    }


def _made_blocking(name: str, function: Any, callbacks: CallbackThread, client: Any) -> Any:
    if name in _ANSWERING and not isinstance(function, type):
        return in_thread(function)
    if name in _ANSWERING_WITH_CLIENT and not is_async(function):
        return in_thread(lambda _, *params: function(client, *params))
    if name.startswith("on_") or name == "logging_callback":
        return callbacks.in_order(function)
    return function
