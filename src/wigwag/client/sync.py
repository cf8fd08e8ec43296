"""The blocking form of `Client`, for scripts, notebooks and threads.

Spec: client
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
)
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from wigwag.client.blocking_callbacks import CallbackThread, call_safely, made_blocking
from wigwag.client.client import Client
from wigwag.client.following import FollowedCall
from wigwag.client.listening import Changes
from wigwag.client.loop_thread import Call, LoopThread
from wigwag.client.response_cache import CacheInfo
from wigwag.errors import ConnectionClosed, LocalProtocolError
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.callables import is_async
from wigwag.schema import (
    DiscoverResult,
    Implementation,
    ProgressNotificationParams,
    ServerCapabilities,
    SubscriptionFilter,
)

if TYPE_CHECKING:  # few clients have any
    from wigwag.client.middleware import ClientMiddleware
    from wigwag.runtime.middleware import MiddlewareList

__all__ = ["SyncCall", "SyncChanges", "SyncClient", "connect_sync"]

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])


class SyncChanges:
    """The changes that a server reports, as an iterator; it ends when the server ends it."""

    def __init__(self, changes: Changes, loop: LoopThread) -> None:
        self._changes = changes
        self._loop = loop

    @property
    def honored(self) -> SubscriptionFilter:
        """What the server agreed to report; compare it with what was asked for."""
        return self._changes.honored

    def __iter__(self) -> Iterator[Change]:
        """Iterate over the changes as they are reported."""
        return self

    def __next__(self) -> Change:
        """Wait for the next change.

        Raises:
            StopIteration: The server has ended the subscription.
            ConnectionClosed: The connection is gone.
        """
        try:
            return self._loop.run(self._changes.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def wait(self, timeout: float) -> Change | None:
        """Wait for the next change for so many seconds; return `None` if there was none.

        Raises:
            ConnectionClosed: The connection is gone, or the server has ended the subscription.
        """
        return self._loop.run(self._wait(timeout))

    async def _wait(self, timeout: float) -> Change | None:  # noqa: ASYNC109 - it is the caller's
        try:
            return await asyncio.wait_for(self._changes.__anext__(), timeout)
        except TimeoutError:
            return None
        except StopAsyncIteration:
            raise ConnectionClosed("the server has ended the subscription") from None


class SyncCall(Generic[R_co]):
    """A call of a tool under way: the signs of its progress, and its result.

    It begins with the `with` block. Leaving the block before the end cancels it; the server is
    told.
    """

    def __init__(self, call: FollowedCall[R_co], loop: LoopThread) -> None:
        self._call = call
        self._loop = loop

    def __enter__(self) -> Self:
        """Call the tool."""
        self._loop.run(self._call.__aenter__())
        return self

    def __exit__(self, *exc: object) -> None:
        """Cancel the call, if it is still under way."""
        if not self._loop.is_ending:  # else it is over already
            self._loop.run(self._call.__aexit__(*exc))

    def __iter__(self) -> Iterator[ProgressNotificationParams]:
        """Iterate over the signs of progress, until the call is done or has failed."""
        return self

    def __next__(self) -> ProgressNotificationParams:
        """Wait for the next sign of progress."""
        try:
            return self._loop.run(self._call.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def result(self) -> R_co:
        """Wait for the result; may be called again, and after the block.

        Raises:
            LocalProtocolError: The call was cancelled, because its block was left.
            McpError: Whatever `call_tool` raises.
        """
        return self._loop.run(self._call.result())


def _blocking(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SyncClient, P], R]:
    """Return the method that waits until one of `Client` is done."""

    def call(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(method, *args, **kwargs)

    return _named_like(method, call)


def _listening(
    method: Callable[Concatenate[Client, P], AbstractAsyncContextManager[Changes]],
) -> Callable[Concatenate[SyncClient, P], AbstractContextManager[SyncChanges]]:
    """Return the blocking form of `Client.listen`."""

    def listen(
        self: SyncClient, /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[SyncChanges]:
        return self._listen(method(self._client, *args, **kwargs))

    return _named_like(method, listen)


def _paging(
    method: Callable[Concatenate[Client, P], AsyncIterator[R]],
) -> Callable[Concatenate[SyncClient, P], Iterator[R]]:
    """Return the method that iterates as one of `Client` does."""

    def iterate(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        return self._iterate(method(self._client, *args, **kwargs))

    return _named_like(method, iterate)


def _following(
    method: Callable[Concatenate[Client, P], FollowedCall[R]],
) -> Callable[Concatenate[SyncClient, P], SyncCall[R]]:
    """Return the blocking form of `Client.follow_tool`."""

    def follow(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> SyncCall[R]:
        return SyncCall(method(self._client, *args, **kwargs), self._connected_loop())

    return _named_like(method, follow)


def _named_like(method: Callable[..., Any], function: F) -> F:
    """Give a method the name, the signature and the text that `help` shows of another."""
    functools.update_wrapper(function, method)
    function.__module__ = __name__
    function.__qualname__ = f"SyncClient.{function.__name__}"
    return function


def _made_like(
    init: Callable[Concatenate[Client, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[SyncClient, P], None]]:
    """Give a constructor the parameters of `Client`, for `help` and for type checkers."""

    def decorate(function: Callable[..., None]) -> Callable[Concatenate[SyncClient, P], None]:
        function.__signature__ = inspect.signature(init)  # type: ignore[attr-defined]  # PEP 362
        return function

    return decorate


def _connecting(
    init: Callable[Concatenate[Client, P], None],
) -> Callable[[Callable[..., SyncClient]], Callable[P, SyncClient]]:
    """The same, for a function that returns the client."""

    def decorate(function: Callable[..., SyncClient]) -> Callable[P, SyncClient]:
        made = inspect.signature(init)
        parameters = list(made.parameters.values())[1:]
        function.__signature__ = made.replace(  # type: ignore[attr-defined]  # PEP 362
            parameters=parameters, return_annotation="SyncClient"
        )
        return function

    return decorate


class SyncClient:
    """A `Client` whose methods wait until they are done: for code that is not `async`.

    It has the options, methods and properties of `Client`, and its exceptions. Its event loop runs
    in a thread of its own, so that it also works where one runs already, as in a notebook. Use it
    as `with SyncClient(target) as client:`, or call `connect` and `close`, from whatever threads,
    as often as you like; several threads may use one client at the same time. One that is never
    closed is closed when the interpreter ends.

    Ctrl+C interrupts whatever the main thread waits for: the server is told, `KeyboardInterrupt`
    is raised, and the client can be used further.

    Plain functions among the options run in threads, and may block, ask a person, and use this
    client: what tells something (`on_log`, `on_notification`, `on_stderr`) one after the other,
    what answers something (`elicitation`, `sampling`, `roots`, `headers`, `auth`) each in a thread
    of its own. `on_progress` is called in the thread that waits. Functions that are `async` run on
    the client's event loop. An `http_client` must not belong to another event loop.

    A process that was forked off cannot use it, and makes a client of its own.

    Args:
        target: What `Client` takes.
        options: The same.
    """

    @_made_like(Client.__init__)
    def __init__(self, target: Any, **options: Any) -> None:
        self._callbacks = CallbackThread()
        self._client = Client(target, **made_blocking(options, self._callbacks, self))
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._depth = 0  # of `with`
        self._is_lazy = options.get("lazy", False)

    # --- connecting

    def connect(self) -> Self:
        """Open the connection and find out what the server speaks; does nothing when it is open.

        Raises:
            ServerStartFailed: A server process could not be started, or ended at once.
            ConnectionClosed: The connection ended meanwhile.
            HttpStatusError: An HTTP server refused; 401 and 403 mean that it wants credentials.
            ServerUnreachable: There is no HTTP server.
            TransportError: Nobody can be reached there.
            NotMcp: What answers is no MCP server.
            RemoteProtocolError: There is no revision that both speak.
            RequestFailed: The server refused.
        """
        return self._open(Client.connect)

    def _open(self, opening: Callable[[Client], Coroutine[Any, Any, Client]]) -> Self:
        loop, is_new = self._loop_to_connect()
        try:
            loop.run(opening(self._client))
        except BaseException:  # also for Ctrl+C: nobody would close what is being opened
            if is_new:
                self.close()
            raise
        return self

    def close(self) -> None:
        """Close the connection; a server process is ended. May be called twice, by any thread.

        Requests still under way fail with `ConnectionClosed`.
        """
        loop = self._loop
        if loop is None or not loop.is_of_this_process:
            return
        loop.ask_to_end()
        if not self._callbacks.is_current():  # which the end waits for
            loop.join()

    def __enter__(self) -> Self:
        """Connect, unless `lazy` leaves that to the first request."""
        with self._lock:
            self._depth += 1
        try:
            return self._open(Client.__aenter__)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exc: object) -> None:
        """Close, when nobody else has entered."""
        with self._lock:
            self._depth -= 1
            is_last = self._depth == 0
        if is_last:
            self.close()

    def __repr__(self) -> str:
        """What it is a client of, and whether it is connected."""
        return f"<Sync{repr(self._client).removeprefix('<')}"

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open, as far as is known."""
        return self._client.is_connected

    @property
    def protocol_version(self) -> str:
        """The revision that is spoken, for example `2026-07-28`."""
        return self._client.protocol_version

    @property
    def revision(self) -> str:
        """The same as `protocol_version`."""
        return self._client.revision

    @property
    def server_info(self) -> Implementation | None:
        """What the server calls itself, if it says so. Nobody vouches for it: display only."""
        return self._client.server_info

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """What the server declared that it offers."""
        return self._client.server_capabilities

    @property
    def capabilities(self) -> ServerCapabilities:
        """The same as `server_capabilities`."""
        return self._client.capabilities

    @property
    def discovered(self) -> DiscoverResult | None:
        """What a modern server said when it was asked, for `prior_discover` of another client.

        It can be stored: `msgspec.json.encode` and `decode(data, type=DiscoverResult)`. `None` for
        a legacy server, which has to be greeted each time.
        """
        return self._client.discovered

    @property
    def instructions(self) -> str | None:
        """What the server wants the model to know."""
        return self._client.instructions

    def cache_info(self) -> CacheInfo:
        """Tell how often a list, a resource or `discover` was answered without the server."""
        return self._client.cache_info()

    @property
    def middleware(self) -> MiddlewareList[ClientMiddleware]:
        """What is put around what is asked and told, both ways: a list, or a decorator.

        A middleware is an async function of a `ClientContext` and of what comes next, and runs on
        the client's event loop. It returns what `await call_next(context)` returns, the result of a
        request, or another one; or raises. What the protocol does by itself does not pass through
        it: the handshake, cancellations, and the requests that last as long as somebody listens.
        """
        return self._client.middleware

    # --- what `Client` has, with the same signatures

    request = _blocking(Client.request)
    list_tools = _blocking(Client.list_tools)
    call_tool = _blocking(Client.call_tool)
    follow_tool = _following(Client.follow_tool)
    tool_pages = _paging(Client.tool_pages)
    list_resources = _blocking(Client.list_resources)
    resource_pages = _paging(Client.resource_pages)
    list_resource_templates = _blocking(Client.list_resource_templates)
    resource_template_pages = _paging(Client.resource_template_pages)
    read_resource = _blocking(Client.read_resource)
    subscribe_resource = _blocking(Client.subscribe_resource)
    unsubscribe_resource = _blocking(Client.unsubscribe_resource)
    list_prompts = _blocking(Client.list_prompts)
    prompt_pages = _paging(Client.prompt_pages)
    get_prompt = _blocking(Client.get_prompt)
    complete = _blocking(Client.complete)
    ping = _blocking(Client.ping)
    discover = _blocking(Client.discover)
    set_logging_level = _blocking(Client.set_logging_level)
    notify = _blocking(Client.notify)
    send_roots_list_changed = _blocking(Client.send_roots_list_changed)
    listen = _listening(Client.listen)
    call_tool_as_task = _blocking(Client.call_tool_as_task)
    get_task = _blocking(Client.get_task)
    get_task_result = _blocking(Client.get_task_result)
    list_tasks = _blocking(Client.list_tasks)
    cancel_task = _blocking(Client.cancel_task)

    # --- the loop

    def _loop_to_connect(self) -> tuple[LoopThread, bool]:
        """Return the loop, and whether it was started for this."""
        with self._lock:
            loop = self._loop
            if loop is not None and loop.is_ending and loop.is_of_this_process:
                loop.join()
            elif loop is not None:  # that of another process says so when it is used
                return loop, False
            loop = self._loop = LoopThread(self._client.close, self._callbacks.end)
            # Whoever forgets the client neither keeps its server running nor waits for its end.
            weakref.finalize(self, loop.ask_to_end).atexit = False
            return loop, True

    def _run(self, method: Callable[..., Coroutine[Any, Any, R]], *args: Any, **kwargs: Any) -> R:
        loop = self._connected_loop()
        on_progress = kwargs.get("on_progress")
        if on_progress is None or is_async(on_progress):
            return loop.run(method(self._client, *args, **kwargs))

        def show_progress(progress: Any) -> None:
            call.hand_over(lambda: call_safely(on_progress, progress))

        call: Call[R] = Call(
            method(self._client, *args, **{**kwargs, "on_progress": show_progress})
        )
        loop.begin(call)
        return loop.finish(call)

    def _connected_loop(self) -> LoopThread:
        loop = self._loop
        if loop is None and self._is_lazy:
            return self._loop_to_connect()[0]
        if loop is None or (loop.is_ending and loop.is_of_this_process):
            raise LocalProtocolError("not connected: use `with client:` or `connect()`")
        return loop

    def _iterate(self, pages: AsyncIterator[R]) -> Iterator[R]:
        loop = self._connected_loop()
        try:
            while True:
                try:
                    page = loop.run(_next_of(pages))
                except StopAsyncIteration:
                    return
                yield page
        finally:
            if not loop.is_ending:  # else it is over already
                loop.run(_end_of(pages))

    @contextmanager
    def _listen(self, listening: AbstractAsyncContextManager[Changes]) -> Iterator[SyncChanges]:
        loop = self._connected_loop()
        changes = loop.run(_enter(listening))
        try:
            yield SyncChanges(changes, loop)
        finally:
            if not loop.is_ending:  # else it is over already
                loop.run(_leave(listening))


async def _next_of(pages: AsyncIterator[R]) -> R:
    return await anext(pages)


async def _end_of(pages: AsyncIterator[Any]) -> None:
    if isinstance(pages, AsyncGenerator):
        await pages.aclose()


async def _enter(listening: AbstractAsyncContextManager[Changes]) -> Changes:
    return await listening.__aenter__()


async def _leave(listening: AbstractAsyncContextManager[Changes]) -> None:
    await listening.__aexit__(None, None, None)


@_connecting(Client.__init__)
def connect_sync(target: Any, **options: Any) -> SyncClient:
    """Connect to a server, and return the client; see `SyncClient`.

    Use it as `with connect_sync(target) as client:`, or call `close` in the end.

    Raises:
        TransportError: Nobody can be reached there; see `SyncClient.connect` for all.
    """
    return SyncClient(target, **options).connect()
