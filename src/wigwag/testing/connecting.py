"""Connects a test to a server: in memory, to a process, or over HTTP on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from wigwag.client.questions import Roots
from wigwag.server.server import Server
from wigwag.testing.answers import Script
from wigwag.testing.hang_watch import HangWatch
from wigwag.testing.scripted_client import ScriptedClient
from wigwag.testing.wire_record import RECORD

__all__ = ["connect"]

TRANSPORTS: Final = ("memory", "stdio", "http")


@asynccontextmanager
async def connect(
    server: Any,
    *,
    revision: str | None = None,
    transport: str | None = None,
    elicit: Script = None,
    sample: Script = None,
    roots: Roots | None = None,
    timeout: float | None = 10.0,  # noqa: ASYNC109 - it is for each request
    **options: Any,
) -> AsyncIterator[ScriptedClient]:
    """Connect to a server, and leave nothing behind.

    >>> async def test_adding() -> None:
    ...     async with connect(server, transport="http", revision="2025-06-18") as client:
    ...         result = await client.call_tool("add", {"a": 1, "b": 2})
    ...     assert result.structured_content == {"sum": 3}

    A client declares what it has answers for, and nothing else: without `elicit` it is one that
    cannot ask its user.

    Args:
        server: A `Server`, or whatever `Client` connects to: a command, a file, a URL.
        revision: The one revision to speak; by default the newest that the server speaks.
        transport: `memory`, `stdio` for a process of its own, or `http` for a socket of this
            machine; by default `memory` for a `Server`.
        elicit: What the user answers: a dict is an accepted form, `accept`, `decline` and `cancel`
            are what else a user does; a function is given what is asked. A list has one answer for
            each question, in this order; anything else is the answer to all.
        sample: What the model answers: text, a content block, a `CreateMessageResult`, or a
            function that is given the conversation. A list as above.
        roots: The folders that the client works in.
        timeout: Seconds that each request may take; `None` for as long as `Client` waits.
        options: Whatever else `Client` takes.

    Raises:
        ScriptError: The server asked what there is no answer for, or did not ask for all answers
            of a list.
        RequestTimedOut: The server did not answer in time; raised by the request.
        ServerHangs: A handler blocked the event loop for longer than `timeout`.
        ValueError: There is no such transport to this server.
        RuntimeError: What runs the test is not asyncio.
    """
    _check_loop()
    async with AsyncExitStack() as stack:
        stack.enter_context(RECORD.listening())
        watch = stack.enter_context(HangWatch(timeout))
        target = await _target(server, transport, stack)
        client = ScriptedClient(
            target,
            revision=revision,
            elicit=elicit,
            sample=sample,
            roots=roots,
            timeout=timeout,
            **options,
        )
        client.hang_watch = watch
        async with client:
            try:
                yield client
            except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # pytest's own failures are no `Exception`
                # Why it failed, whatever the test has made of it; both are shown.
                reason = client.reason()
                if reason not in (None, error):
                    raise reason from error
                raise
        client.check()


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "MCP servers are tested on asyncio: with anyio's plugin, let the fixture "
            "`anyio_backend` return 'asyncio'"
        ) from None


async def _target(server: Any, transport: str | None, stack: AsyncExitStack) -> Any:
    """Return what a client connects to; whatever must be started for that ends with the stack."""
    if transport not in (None, *TRANSPORTS):
        raise ValueError(
            f"there is no transport {transport!r}: choose one of {', '.join(TRANSPORTS)}"
        )
    if not isinstance(server, Server):
        carried = _transport_of(server)
        if transport not in (None, carried):
            raise ValueError(f"{server!r} is reached over {carried}, not over {transport}")
        return server
    if transport == "http":
        from wigwag.testing.http_socket import serving  # noqa: PLC0415 - few tests need it

        return await stack.enter_async_context(serving(server))
    if transport == "stdio":
        from wigwag.testing.process import command_for  # noqa: PLC0415 - few tests need it

        return command_for(server)
    return server


def _transport_of(target: Any) -> str | None:
    if isinstance(target, str):
        scheme, found, _ = target.partition("://")
        if found and scheme.lower() in ("http", "https"):
            return "http"
        return "stdio" if target.endswith(".py") else "a socket"
    return "a function" if callable(target) else "stdio"
