"""A small server whose handlers depend on things; run as a program it serves over stdio."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from wigwag import (
    Context,
    Depends,
    Elicit,
    ElicitationResult,
    ListRoots,
    Resolve,
    Sample,
    Server,
    ToolError,
    elicit,
)
from wigwag.schema import CreateMessageResult, Root


def workshop() -> Server:  # noqa: C901, PLR0915 - a list of small functions
    """Make the server; what happens in it is written down in its journal."""
    server = Server("workshop")
    journal: list[str] = []
    news = asyncio.Condition()

    async def write(entry: str) -> None:
        async with news:
            journal.append(entry)
            news.notify_all()

    # --- what is depended on

    def bench() -> Iterator[str]:
        journal.append("bench up")
        try:
            yield "bench"
        except Exception as error:
            journal.append(f"bench saw {error}")
            raise
        finally:
            journal.append("bench down")

    async def vice(bench: Annotated[str, Depends(bench)], ctx: Context) -> AsyncIterator[str]:
        await write("vice up")
        try:
            yield f"vice on {bench}"
        except asyncio.CancelledError:
            await write("vice saw it cancelled")
            raise
        finally:
            await write("vice down")

    @contextmanager
    def saw() -> Iterator[str]:
        journal.append("saw up")
        yield "saw"
        journal.append("saw down")

    def count(words: str) -> int:
        journal.append("counted")
        return len(words.split())

    async def sure(words: str) -> bool | Elicit[bool]:
        return Elicit(f"Really {words}?", bool) if words else True

    def name(ctx: Context, bench: Annotated[str, Depends(bench)]) -> str:
        answer: Any = ctx.elicit("Your name?", str)
        return f"{answer.data} at {bench}"

    # --- handlers

    @server.tool
    async def work(
        words: str,
        vice: Annotated[str, Depends(vice)],
        saw: Annotated[str, Depends(saw)],
        bench: str = Depends(bench),
        *,
        number: Annotated[int, Depends(count)],
    ) -> str:
        await write("work")
        return f"{words} ({number}): {vice}, {saw}, {bench}"

    @server.tool
    def work_in_thread(
        words: str, vice: Annotated[str, Depends(vice)], number: Annotated[int, Depends(count)]
    ) -> str:
        journal.append("work")
        return f"{words} ({number}): {vice}"

    @server.tool
    async def break_down(reason: str, vice: Annotated[str, Depends(vice)]) -> str:
        raise ToolError(reason)

    @server.tool
    async def hang(vice: Annotated[str, Depends(vice)]) -> str:
        await write("hanging")
        await asyncio.Event().wait()
        return "never"

    @server.tool
    async def read() -> str:
        entries = ", ".join(journal)
        journal.clear()
        return entries

    @server.tool
    async def wait_for(entry: str) -> str:
        async with news:
            await news.wait_for(lambda: entry in journal)
        return entry

    @server.tool
    async def cut(
        words: str,
        sure: Annotated[bool, Resolve(sure)],
        vice: Annotated[str, Depends(vice)],
        did: Annotated[ElicitationResult[bool], Resolve(sure)],
    ) -> str:
        return f"{words}: {sure}, {did.action}, {vice}"

    @server.tool
    def sign(name: Annotated[str, Depends(name)]) -> str:
        return name

    @server.tool
    async def all_kinds(
        said: Annotated[CreateMessageResult, Resolve(lambda: Sample("hello", max_tokens=9))],
        roots: Annotated[list[Root], Resolve(lambda: ListRoots())],
        age: Annotated[int, Depends(lambda: elicit("Age?", int))],
    ) -> str:
        return f"{said.text}, {roots[0].uri}, {age}"

    @server.resource("workshop://tools/{words}")
    async def tool_shelf(
        words: str, vice: Annotated[str, Depends(vice)], number: Annotated[int, Depends(count)]
    ) -> str:
        return f"{words} ({number}): {vice}"

    @server.prompt
    def instruct(
        words: str, saw: Annotated[str, Depends(saw)], sure: Annotated[bool, Resolve(sure)]
    ) -> str:
        return f"{words} with the {saw}: {sure}"

    return server


if __name__ == "__main__":
    workshop().run()
