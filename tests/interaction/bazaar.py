"""The server that most of the interaction tests talk to: something of everything.

Run as a program it serves over stdio.
"""

import asyncio
import sys
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Literal, NoReturn, TypedDict

import msgspec

from wigwag import Context, RequestFailed, Server, ToolError
from wigwag.schema import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    PromptReference,
    ResourceLink,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

DOT = b"GIF89a\x01\x00\x01\x00"


class Ticket(msgspec.Struct):
    id: str
    open: bool = True
    tags: list[str] = []


@dataclass
class Point:
    x: int
    y: int


class Row(TypedDict):
    name: str
    count: int


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Day:
    """One lifespan of the server.

    Attributes:
        entries: What happened in the tools, in order; whoever likes can wait for an entry.
        gates: What threads wait at.
    """

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.gates: defaultdict[str, threading.Event] = defaultdict(threading.Event)
        self._news = asyncio.Condition()

    async def write(self, entry: str) -> None:
        async with self._news:
            self.entries.append(entry)
            self._news.notify_all()

    async def wait_for(self, entry: str) -> None:
        async with self._news:
            await self._news.wait_for(lambda: entry in self.entries)


@cache
def bazaar() -> Server:
    """Return the server, which keeps nothing between its lifespans."""
    server = Server(
        "bazaar",
        version="1.2.3",
        title="The bazaar",
        instructions="Buy something.",
        lifespan=_opening_hours,
    )
    for add in (
        _add_values,
        _add_numbers,
        _add_objects,
        _add_blocks,
        _add_failures,
        _add_impossible_values,
        _add_arguments,
        _add_work,
        _add_threads_and_limits,
        _add_talk,
        _add_context,
        _add_resources,
        _add_prompts,
        _add_completions,
    ):
        add(server)
    return server


@asynccontextmanager
async def _opening_hours(server: Server) -> AsyncIterator[Day]:
    yield Day()


def _add_values(server: Server) -> None:
    @server.tool(
        title="Echo", annotations=ToolAnnotations(read_only_hint=True), meta={"example.com/a": 1}
    )
    async def echo(text: str) -> str:
        """Say it again.

        Args:
            text: What to say.
        """
        return text

    @server.tool
    def give_text() -> str:
        return "text"

    @server.tool
    def give_text_untyped():  # type: ignore[no-untyped-def]  # that is the point
        return "text"

    @server.tool
    def give_nothing() -> None: ...

    @server.tool
    def give_maybe_text(count: int) -> str | None:
        return "text" if count else None


def _add_numbers(server: Server) -> None:
    @server.tool
    def give_number() -> int:
        return 7

    @server.tool
    def give_truth() -> bool:
        return True

    @server.tool
    def give_numbers() -> list[int]:
        return [1, 2]

    @server.tool
    def give_texts() -> list[str]:
        return ["a", "b"]


def _add_objects(server: Server) -> None:
    @server.tool
    def give_object() -> dict[str, Any]:
        return {"a": 1, "b": [True, None]}

    @server.tool
    def give_untyped_object():  # type: ignore[no-untyped-def]  # that is the point
        return {"a": 1}

    @server.tool
    def give_struct() -> Ticket:
        return Ticket("T-1", tags=["new"])

    @server.tool
    def give_dataclass() -> Point:
        return Point(1, 2)

    @server.tool
    def give_typed_dict() -> Row:
        return {"name": "n", "count": 3}

    @server.tool
    def give_date() -> date:
        return date(2026, 7, 28)

    @server.tool
    def give_enum() -> Color:
        return Color.BLUE

    @server.tool
    def give_path() -> PurePosixPath:
        return PurePosixPath("/a/b")


def _add_blocks(server: Server) -> None:
    @server.tool
    def give_block() -> TextContent:
        return TextContent(text="block")

    @server.tool
    def give_blocks() -> list[TextContent | ImageContent | AudioContent | ResourceLink]:
        return [
            TextContent(text="look and listen"),
            ImageContent(data="AAAA", mime_type="image/gif"),
            AudioContent(data="BBBB", mime_type="audio/wav"),
            ResourceLink(uri="bazaar://sign", name="sign"),
        ]

    @server.tool
    def give_mixture():  # type: ignore[no-untyped-def]  # that is the point
        return ["text", TextContent(text="block"), {"a": 1}]

    @server.tool
    def give_embedded() -> EmbeddedResource:
        contents = TextResourceContents(uri="bazaar://sign", text="open")
        return EmbeddedResource(resource=contents)

    @server.tool
    def give_result() -> CallToolResult:
        return CallToolResult(
            content=[TextContent(text="by hand")],
            structured_content={"by": "hand"},
            meta={"example.com/hand": "left"},
        )


def _add_failures(server: Server) -> None:
    @server.tool
    async def fail(text: str) -> Ticket:
        raise ToolError(text)

    @server.tool
    async def crash() -> str:
        raise ValueError("secret detail")

    @server.tool
    def crash_in_thread() -> str:
        raise ValueError("secret detail")

    @server.tool
    async def refuse() -> str:
        raise RequestFailed(-32050, "Closed today", {"until": "Monday"})

    @server.tool
    def leave() -> NoReturn:
        sys.exit(3)

    @server.tool
    async def leave_async() -> NoReturn:
        sys.exit(3)


def _add_impossible_values(server: Server) -> None:
    @server.tool
    def fail_with_lone_surrogate() -> str:
        raise ToolError("a\ud800b")

    @server.tool
    def give_nan() -> float:
        return float("nan")

    @server.tool
    def give_infinities() -> list[float]:
        return [float("inf"), 1.0]

    @server.tool
    def give_lone_surrogate() -> str:
        return "a\ud800b"

    @server.tool
    def give_something_else() -> int:
        return "seven"  # type: ignore[return-value]  # that is the point

    @server.tool
    def give_broken_struct() -> Ticket:
        return Ticket(id=5)  # type: ignore[arg-type]  # that is the point

    @server.tool
    def give_strange_object() -> Any:
        return object()


def _add_arguments(server: Server) -> None:
    @server.tool
    async def order(
        items: list[int],
        note: str = "",
        speed: Literal["slow", "fast"] = "slow",
        color: Color = Color.RED,
        to: Ticket | None = None,
    ) -> str:
        return f"{items} {note!r} {speed} {color.name} {to}"

    @server.tool
    async def nothing_needed(maybe: int = 1) -> str:
        return f"maybe {maybe}"

    @server.tool
    async def no_arguments() -> str:
        return "none"


def _add_work(server: Server) -> None:
    @server.tool
    async def hang(name: str, ctx: Context) -> str:
        """Wait for ever."""
        diary = ctx.lifespan
        await diary.write(f"{name} began")
        try:
            await asyncio.Event().wait()
        finally:
            await diary.write(f"{name} was stopped")
        return "never"

    @server.tool
    async def wait_for(entry: str, ctx: Context) -> str:
        """Wait until something has happened."""
        await ctx.lifespan.wait_for(entry)
        return entry

    @server.tool
    async def write(entry: str, ctx: Context) -> None:
        """Let something happen."""
        await ctx.lifespan.write(entry)

    @server.tool
    def block(name: str, ctx: Context) -> str:
        """Block a thread until somebody unblocks it."""
        ctx.lifespan.gates[name].wait(30)
        return f"{name} in {threading.current_thread().name}"

    @server.tool
    async def unblock(name: str, ctx: Context) -> None:
        ctx.lifespan.gates[name].set()


def _add_threads_and_limits(server: Server) -> None:
    @server.tool(timeout=0.05)
    async def take_too_long() -> str:
        await asyncio.Event().wait()
        return "never"

    @server.tool(timeout=0.05)
    def take_too_long_in_thread(ctx: Context) -> str:
        ctx.lifespan.gates["too long"].wait(30)
        return "never"

    @server.tool
    def thread_of_thread() -> str:
        return threading.current_thread().name

    @server.tool(thread=False)
    def thread_of_loop() -> str:
        asyncio.get_running_loop()
        return threading.current_thread().name

    @server.tool
    async def timeout_inside() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            current = asyncio.current_task()
            return f"timed out in {type(current).__name__}"
        return "never"


def _add_talk(server: Server) -> None:
    @server.tool
    async def count(to: int, ctx: Context) -> str:
        """Report progress."""
        for number in range(1, to + 1):
            await ctx.report_progress(number, total=to, message=f"at {number}")
        return "counted"

    @server.tool
    def count_in_thread(to: int, ctx: Context) -> str:
        for number in range(1, to + 1):
            ctx.report_progress(number, to)
        return "counted"

    @server.tool
    def count_and_block(name: str, ctx: Context) -> str:
        ctx.report_progress(1)
        ctx.lifespan.gates[name].wait(30)
        return "counted"

    @server.tool
    async def count_badly(ctx: Context) -> str:
        for progress in (1.0, 1.0, 0.5, float("nan"), float("inf"), 2.0):
            await ctx.report_progress(progress, total=float("inf"))
        return "counted"

    @server.tool
    async def log(ctx: Context) -> str:
        await ctx.debug("d")
        await ctx.info({"i": 1}, logger="till")
        await ctx.warning(["w"])
        await ctx.error(None)
        await ctx.log("emergency", "fire")
        return "logged"

    @server.tool
    def log_in_thread(ctx: Context) -> str:
        ctx.info("from a thread")
        return "logged"


def _add_context(server: Server) -> None:
    @server.tool
    async def about_me(ctx: Context) -> dict[str, Any]:
        info = ctx.client_info
        return {
            "id": ctx.request_id,
            "revision": ctx.protocol_version,
            "client": None if info is None else [info.name, info.version],
            "capabilities": msgspec.to_builtins(ctx.client_capabilities),
            "meta": ctx.meta,
            "lifespan": type(ctx.lifespan).__name__,
        }

    @server.tool
    async def read(uri: str, ctx: Context) -> str:
        result = await ctx.read_resource(uri)
        return result.contents[0].text or ""


def _add_resources(server: Server) -> None:
    @server.resource("bazaar://sign", title="The sign", description="Over the door.")
    def sign() -> str:
        return "open"

    @server.resource("bazaar://dot", mime_type="image/gif")
    async def dot() -> bytes:
        return DOT

    @server.resource("bazaar://prices")
    async def prices() -> dict[str, int]:
        return {"tea": 2}

    @server.resource("bazaar://parts")
    async def parts() -> list[TextResourceContents | BlobResourceContents]:
        return [
            TextResourceContents(uri="bazaar://parts/1", text="one", mime_type="text/plain"),
            BlobResourceContents(uri="bazaar://parts/2", blob="AAAA"),
        ]

    @server.resource("bazaar://broken")
    async def broken() -> str:
        raise ValueError("secret detail")

    @server.resource("bazaar://left")
    def left() -> str:
        sys.exit(3)

    @server.resource("bazaar://left-at-once")
    async def left_at_once() -> str:
        sys.exit(3)

    @server.resource("bazaar://tickets/{number}")
    async def ticket(number: int, ctx: Context) -> str:
        """One ticket."""
        return f"ticket {number!r} in {ctx.protocol_version}"

    @server.resource("bazaar://shelf/{+path}", mime_type="text/markdown")
    def shelf(path: str) -> str:
        return f"# {path}"


def _add_prompts(server: Server) -> None:
    @server.prompt(title="Haggle")
    def haggle(goods: str, offer: int = 1) -> str:
        """Talk about the price.

        Args:
            goods: What to buy.
            offer: What to pay.
        """
        return f"{goods} for {offer * 2}?"

    @server.prompt
    async def dialogue() -> list[Any]:
        return [
            "hello",
            PromptMessage(role="assistant", content=TextContent(text="yes?")),
            ImageContent(data="AAAA", mime_type="image/gif"),
            {"role": "user", "content": "bye"},
        ]

    @server.prompt
    async def broken_prompt() -> str:
        raise ValueError("secret detail")

    @server.prompt
    def left_prompt() -> str:
        sys.exit(3)


def _add_completions(server: Server) -> None:
    @server.completion("haggle", "goods")
    def goods(typed: str) -> list[str]:
        return [name for name in ("tea", "toys", "rugs") if name.startswith(typed)]

    @server.completion("haggle", "offer")
    async def offer(typed: str, known: dict[str, str]) -> list[str]:
        return [f"{typed}1 for {known.get('goods', 'nothing')}"]

    @server.completion("bazaar://tickets/{number}", "number")
    def number(typed: str) -> list[str]:
        return [f"{typed}{n}" for n in range(150)]

    @server.completion("haggle", "exit")
    def leave_again(typed: str) -> NoReturn:
        sys.exit(3)

    @server.completion
    async def anything(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        if argument.name == "unknown":
            return None
        name = ref.name if isinstance(ref, PromptReference) else ref.uri
        return Completion(values=[f"{name}.{argument.name}={argument.value}"], total=9)


if __name__ == "__main__":
    bazaar().run()
