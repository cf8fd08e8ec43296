"""A server whose handlers end in every way that Python has, on request.

Run as a program it serves over stdio; with `http`, over that.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import cache
from typing import NoReturn

from wigwag import RequestFailed, Server, ToolError


class Odd(BaseException):
    """What no `except Exception` catches."""


class Unspeakable(ToolError):
    def __str__(self) -> str:
        raise ValueError("no text")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def leave() -> NoReturn:
    raise SystemExit(3)


def interrupt() -> NoReturn:
    raise KeyboardInterrupt


def cancel() -> NoReturn:
    raise asyncio.CancelledError


def close() -> NoReturn:
    raise GeneratorExit


def stop() -> NoReturn:
    raise StopIteration


def be_odd() -> NoReturn:
    raise Odd("secret detail")


def crash_together() -> NoReturn:
    raise ExceptionGroup("two", [ValueError("secret detail"), KeyError("secret detail")])


def leave_together() -> NoReturn:
    raise BaseExceptionGroup("two", [SystemExit(3), ValueError("secret detail")])


def tell_together() -> NoReturn:
    inner = ExceptionGroup("inner", [ToolError("no paper"), ToolError("no ink")])
    raise ExceptionGroup("outer", [inner, ToolError("no paper")])


def tell_and_crash() -> NoReturn:
    raise ExceptionGroup("two", [ToolError("no paper"), ValueError("secret detail")])


def refuse_together() -> NoReturn:
    refused = RequestFailed(-32050, "Closed today", {"until": "Monday"})
    raise ExceptionGroup("two", [ToolError("no paper"), ExceptionGroup("inner", [refused])])


def say_nothing() -> NoReturn:
    raise Unspeakable


def crash_unprintably() -> NoReturn:
    raise Unprintable


DEEDS: dict[str, Callable[[], NoReturn]] = {
    deed.__name__: deed
    for deed in (
        leave,
        interrupt,
        cancel,
        close,
        stop,
        be_odd,
        crash_together,
        leave_together,
        tell_together,
        tell_and_crash,
        refuse_together,
        say_nothing,
        crash_unprintably,
    )
}


async def _do(deed: str) -> NoReturn:
    await asyncio.sleep(0)
    DEEDS[deed]()


@cache
def rascals() -> Server:
    """Return the server, which keeps nothing."""
    server = Server("rascals")
    _add_tools(server)
    _add_others(server)
    return server


def _add_tools(server: Server) -> None:
    @server.tool
    async def in_task(deed: str) -> str:
        DEEDS[deed]()

    @server.tool
    def in_thread(deed: str) -> str:
        DEEDS[deed]()

    @server.tool(thread=False)
    def on_loop(deed: str) -> str:
        DEEDS[deed]()

    @server.tool(timeout=60)
    async def later(deed: str) -> str:
        await asyncio.sleep(0)
        DEEDS[deed]()

    @server.tool
    async def in_group(deed: str) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(_do(deed))
        return "never"

    @server.tool
    async def leave_behind(deed: str) -> str:
        """Begin something that fails when nobody looks any more."""
        asyncio.get_running_loop().create_task(_do(deed))
        return "left"

    @server.tool(timeout=0.05)
    async def ignore_cancellation() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "I do not mind"
        return "never"

    @server.tool
    async def echo(text: str) -> str:
        return text


def _add_others(server: Server) -> None:
    @server.resource("task://{deed}")
    async def read_in_task(deed: str) -> str:
        DEEDS[deed]()

    @server.resource("thread://{deed}")
    def read_in_thread(deed: str) -> str:
        DEEDS[deed]()

    @server.prompt
    async def prompt_in_task(deed: str) -> str:
        DEEDS[deed]()

    @server.prompt
    def prompt_in_thread(deed: str) -> str:
        DEEDS[deed]()

    @server.completion("prompt_in_task", "deed")
    async def complete_in_task(value: str) -> list[str]:
        DEEDS[value]()

    @server.completion("prompt_in_thread", "deed")
    def complete_in_thread(value: str) -> list[str]:
        DEEDS[value]()


def outcome_of(deed: str) -> tuple[int, str]:
    """Return the code and a pattern of the text that a deed leads to."""
    reference = r"\(reference [0-9a-f]{8} in the server's log\)"
    outcomes: dict[str, tuple[int, str]] = {
        "tell_together": (-32603, "no paper; no ink"),
        "tell_and_crash": (-32603, f"no paper; and an internal error {reference}"),
        "refuse_together": (-32050, "Closed today"),
        "say_nothing": (-32603, "Unspeakable"),
    }
    return outcomes.get(deed, (-32603, f"Internal error {reference}"))


if __name__ == "__main__":
    if "http" in sys.argv:
        rascals().run("http", port=0)
    else:
        rascals().run()
