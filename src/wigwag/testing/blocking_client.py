"""A connected client for tests that are not `async`."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any

from wigwag.testing.scripted_client import ScriptedClient

__all__ = ["BlockingClient"]


class BlockingClient:
    """A `ScriptedClient` of which each method waits until it is done.

    The event loop runs only meanwhile: between two calls nothing happens.
    """

    def __init__(self, client: ScriptedClient, runner: asyncio.Runner) -> None:
        self.client = client
        """The client itself."""
        self._runner = runner

    def __repr__(self) -> str:
        """That of the client."""
        return repr(self.client)

    def __getattr__(self, name: str) -> Any:
        """Return what the client has under this name; what is `async` there is not so here."""
        value = getattr(self.client, name)
        if inspect.iscoroutinefunction(value):
            return functools.wraps(value)(lambda *args, **kw: self._runner.run(value(*args, **kw)))
        if inspect.isasyncgenfunction(inspect.unwrap(value)):
            raise AttributeError(f"`{name}` goes on meanwhile: make the test an `async def` one")
        return value


@contextmanager
def blocking(connecting: AbstractAsyncContextManager[ScriptedClient]) -> Iterator[BlockingClient]:
    """Have a connection of `connect` in code that is not `async`."""
    with asyncio.Runner() as runner:
        client = runner.run(_enter(connecting))
        try:
            yield BlockingClient(client, runner)
        except BaseException as error:
            if not runner.run(_exit(connecting, error)):
                raise
        else:
            runner.run(_exit(connecting, None))


async def _enter(connecting: AbstractAsyncContextManager[ScriptedClient]) -> ScriptedClient:
    return await connecting.__aenter__()


async def _exit(
    connecting: AbstractAsyncContextManager[ScriptedClient], error: BaseException | None
) -> bool | None:
    if error is None:
        return await connecting.__aexit__(None, None, None)
    return await connecting.__aexit__(type(error), error, error.__traceback__)
