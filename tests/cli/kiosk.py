"""A server with one of everything that commands have to show, ask or pass on."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from wigwag import Audio, Context, Image, Server, ToolError, ToolResult
from wigwag.schema import (
    BlobResourceContents,
    EmbeddedResource,
    ReadResourceResult,
    ResourceContents,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 16
# Clears the screen, and names the window.
HOSTILE = "\x1b[2J\x1b]0;mine\x07"


@dataclass
class Wish:
    what: Literal["bread", "tea"]
    count: int = 1


kiosk = Server("kiosk", version="2.0", title="The kiosk", instructions=f"Be kind.{HOSTILE}")


@kiosk.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first one.
        b: The second one.
    """
    return a + b


@kiosk.tool
def tag(names: list[str], level: int | None = None) -> str:
    """Say what was tagged."""
    return f"{' and '.join(names)} at {level!r}"


@kiosk.tool
def fail() -> str:
    """Fail."""
    raise ToolError(f"no paper{HOSTILE}")


@kiosk.tool
def hostile() -> str:
    """Say what would take the terminal over."""
    return f"so {HOSTILE}it is"


@kiosk.tool
def everything() -> list[TextContent | Image | Audio | ResourceLink | EmbeddedResource]:
    """Return one of each kind of content."""
    return [
        TextContent(text="words"),
        Image(data=PNG, format="png"),
        Audio(data=b"beep", format="wav"),
        ResourceLink(uri="kiosk://menu", name="menu", mime_type="text/plain", size=1200),
        EmbeddedResource(resource=ResourceContents(uri="kiosk://note", text="a note")),
    ]


@kiosk.tool
def apart() -> ToolResult:
    """Return content that says something else than the structured content."""
    return ToolResult("three rows", structured_content={"rows": 3})


@kiosk.tool
async def bake(ctx: Context) -> str:
    """Tell how far it is."""
    for step in (1, 2):
        await ctx.report_progress(step, total=2, message="in the oven")
        await ctx.info(f"step {step}", logger="oven")
    return "bread"


@kiosk.tool
async def order(ctx: Context) -> str:
    """Ask what is wanted."""
    answer = await ctx.elicit("What would you like?", Wish)
    return f"{answer.data.count} {answer.data.what}" if answer.action == "accept" else answer.action


@kiosk.tool
async def think(ctx: Context) -> str:
    """Ask the model."""
    answer = await ctx.sample("Which bread is best?", max_tokens=50)
    return f"it says {answer.text}"


@kiosk.tool
async def sleep(ctx: Context) -> str:
    """Take for ever."""
    await ctx.info("asleep")
    await asyncio.Event().wait()
    return "never"


@kiosk.resource("kiosk://menu", title="The menu", mime_type="text/plain")
def menu() -> str:
    """What there is."""
    return "bread\ntea"


@kiosk.resource("kiosk://logo", mime_type="image/png")
def logo() -> bytes:
    """What it looks like."""
    return PNG


@kiosk.resource("kiosk://both")
def both() -> ReadResourceResult:
    """Two in one."""
    return ReadResourceResult(
        contents=[
            ResourceContents(uri="kiosk://both/1", text="one"),
            BlobResourceContents(uri="kiosk://both/2", blob="dHdv", mime_type="text/x-two"),
        ]
    )


@kiosk.resource("kiosk://shelf/{row}/{place}", mime_type="text/plain")
def shelf(row: int, place: str) -> str:
    """One place on a shelf."""
    return f"{row} {place}"


@kiosk.prompt
def greet(name: str, tone: str = "kind") -> str:
    """Greet somebody.

    Args:
        name: Whom.
        tone: How.
    """
    return f"Greet {name}, and be {tone}."


@kiosk.completion("greet", "tone")
def complete_tone(typed: str) -> list[str]:
    """Offer what begins like this."""
    return [tone for tone in ("kind", "kindly", "stern") if tone.startswith(typed)]


@kiosk.completion("kiosk://shelf/{row}/{place}", "place")
def complete_place(typed: str, known: dict[str, str]) -> list[str]:
    """Offer places of the row."""
    return [f"{known.get('row', 'any')}-left", "right"]


if __name__ == "__main__":
    kiosk.run()
