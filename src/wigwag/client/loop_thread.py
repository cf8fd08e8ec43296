"""An event loop in a thread of its own, for code that is not `async`."""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

from wigwag.errors import ConnectionClosed, LocalProtocolError

T = TypeVar("T")
Job = Callable[[], object]

# On Windows only a wait with a limit can be interrupted by Ctrl+C.
_POLL_SECONDS: Final = 0.2 if sys.platform == "win32" else None
# What is still open when the interpreter ends gets this long to close; a server process that does
# not leave by itself needs some seconds.
_EXIT_SECONDS: Final = 15.0


class Call(Generic[T]):
    """A coroutine that one thread waits for while the loop's runs it."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._task: asyncio.Task[T] | None = None
        # What the waiting thread is to do meanwhile; `None` once there is nothing to wait for.
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()

    def start(self) -> None:
        """Begin, in the loop's thread."""
        self._task = asyncio.get_running_loop().create_task(self._coroutine)
        self._task.add_done_callback(lambda _: self._inbox.put(None))

    def cancel(self) -> None:
        """Cancel, in the loop's thread."""
        if self._task is not None:
            self._task.cancel()

    def hand_over(self, job: Job) -> None:
        """Have the waiting thread do something."""
        self._inbox.put(job)

    def abandon(self) -> None:
        """Stop waiting: the loop is gone."""
        if self._task is None:
            self._coroutine.close()
        self._inbox.put(None)

    def wait(self) -> T:
        """Do what is handed over until the coroutine is done, and return its result."""
        while (job := self._next()) is not None:
            job()
        task, self._task = self._task, None
        if task is not None and task.done() and not task.cancelled():
            return task.result()
        raise ConnectionClosed("the client was closed")

    def _next(self) -> Job | None:
        while True:
            with suppress(queue.Empty):
                return self._inbox.get(timeout=_POLL_SECONDS)


class LoopThread:
    """An event loop that runs in a daemon thread until it is told to end.

    What still runs when the interpreter ends is ended then.

    Args:
        at_end: Runs on the loop as the last thing.
        after_end: Called in the thread once the loop is closed.
    """

    def __init__(self, at_end: Callable[[], Coroutine[Any, Any, None]], after_end: Job) -> None:
        self._at_end = at_end
        self._after_end = after_end
        self._pid = os.getpid()
        # Reentrant: the garbage collector may call `ask_to_end` at any point.
        self._lock = threading.RLock()
        self._calls: set[Call[Any]] = set()
        self._is_ending = False
        self._failure: Exception | None = None
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._run, name="wigwag-client", daemon=True)
        _running.add(self)
        self._thread.start()
        self._ready.wait()

    @property
    def is_ending(self) -> bool:
        """Whether it was told to end, or has ended: nothing more can be run on it."""
        return self._is_ending

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process has the thread; one that was forked off has not."""
        return os.getpid() == self._pid

    def begin(self, call: Call[Any]) -> None:
        """Have a coroutine run; `finish` waits for it.

        Raises:
            LocalProtocolError: The caller is another process, or the loop itself.
            ConnectionClosed: The loop ends, or has ended.
        """
        try:
            self._check_caller()
            with self._lock:
                if self._is_ending:
                    raise ConnectionClosed("the client was closed")
                self._calls.add(call)
                self._loop.call_soon_threadsafe(call.start)
        except BaseException:
            call.abandon()
            raise

    def finish(self, call: Call[T]) -> T:
        """Wait for a coroutine and return its result; Ctrl+C cancels it."""
        try:
            return call.wait()
        except BaseException:
            with self._lock, suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(call.cancel)
            raise
        finally:
            with self._lock:
                self._calls.discard(call)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine; see `begin` and `finish`."""
        call = Call(coroutine)
        self.begin(call)
        return self.finish(call)

    def ask_to_end(self) -> None:
        """Let it end soon; may be called by any thread, again and again."""
        with self._lock:
            if not self._is_ending:
                self._is_ending = True
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._stop.set)

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended.

        Raises:
            LocalProtocolError: The loop itself would wait.
            Exception: What `at_end` has raised.
        """
        self._check_caller()
        self._thread.join(timeout)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _check_caller(self) -> None:
        if not self.is_of_this_process:
            raise LocalProtocolError(
                "this client was connected by another process, from which this one was forked: "
                "make a client in this process"
            )
        if threading.current_thread() is self._thread:
            raise LocalProtocolError(
                "an `async def` callback of a SyncClient cannot call its methods, which would wait "
                "for themselves: make it a plain function"
            )

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                self._stop = asyncio.Event()
                self._ready.set()
                runner.run(self._serve())
        except Exception as error:  # noqa: BLE001 - raised where the end is waited for
            self._failure = error
        except (SystemExit, KeyboardInterrupt):
            pass  # a callback has raised it: it ends the loop, and whoever waits hears of it
        finally:
            with self._lock:
                self._is_ending = True
                calls = list(self._calls)
            for call in calls:
                call.abandon()
            self._after_end()
            _running.discard(self)

    async def _serve(self) -> None:
        await self._stop.wait()
        await self._at_end()


_running: set[LoopThread] = set()


@atexit.register
def _end_all() -> None:
    mine = [thread for thread in list(_running) if thread.is_of_this_process]
    for thread in mine:
        thread.ask_to_end()
    for thread in mine:
        with suppress(Exception):  # nobody is there to hear of it
            thread.join(_EXIT_SECONDS)
