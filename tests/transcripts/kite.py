"""The help-desk that the transcripts talk to: small, and the same every time."""

import asyncio
from typing import Any

from wigwag import Context, Server, ToolError
from wigwag.schema import (
    REVISIONS,
    ClientCapabilities,
    PromptMessage,
    SamplingCapability,
    TextContent,
)

TICKETS = {"KITE-142": "Customer locked out after SSO change", "KITE-7": "Printer on fire"}


def make_server(
    *, revisions: tuple[str, ...] = REVISIONS, page_size: int | None = None, bare: bool = False
) -> Server:
    """Make the help-desk; a bare one has nothing on offer."""
    server = Server(
        "kite",
        version="1.0.0",
        instructions="Look tickets up before you answer.",
        revisions=revisions,
        page_size=page_size,
    )
    if not bare:
        _add_tools(server)
        _add_resources(server)
        _add_prompts(server)
    return server


def _add_tools(server: Server) -> None:
    @server.tool(title="Ticket")
    async def get_ticket(ticket_id: str) -> dict[str, str]:
        """Look one ticket up."""
        if ticket_id not in TICKETS:
            raise ToolError(f"There is no ticket {ticket_id}.")
        return {"id": ticket_id, "title": TICKETS[ticket_id]}

    @server.tool
    async def count(upto: int, ctx: Context) -> str:
        """Count, slowly, and say so."""
        for number in range(1, upto + 1):
            await ctx.report_progress(number, upto, f"at {number}")
            await ctx.debug(f"counted {number}")
        await ctx.warning({"counted": upto}, logger="kite.count")
        return f"counted to {upto}"

    @server.tool
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    @server.tool
    async def crash() -> str:
        """Fail in a way that nobody should hear of."""
        raise ValueError("the password is hunter2")

    @server.tool
    async def ask_model(ctx: Context) -> str:
        """Need a model."""
        ctx.require_capability(ClientCapabilities(sampling=SamplingCapability()))
        return "asked"

    @server.tool
    async def echo(text: str) -> str:
        """Say it again."""
        return text


def _add_resources(server: Server) -> None:
    @server.resource("kite://articles/sso", title="Single sign-on", mime_type="text/markdown")
    async def sso() -> str:
        """How single sign-on is set up."""
        return "# Single sign-on"

    @server.resource("kite://logo", mime_type="image/png")
    async def logo() -> bytes:
        """The logo."""
        return b"\x89PNG"

    @server.resource("kite://tickets/{ticket_id}", mime_type="text/plain")
    async def ticket(ticket_id: str) -> str:
        """A ticket."""
        return TICKETS[ticket_id]


def _add_prompts(server: Server) -> None:
    @server.prompt(title="Triage")
    async def triage(ticket_id: str, tone: str = "kind") -> list[PromptMessage]:
        """Sort a ticket."""
        text = f"Triage {ticket_id} in a {tone} tone."
        return [PromptMessage(role="user", content=TextContent(text=text))]

    @server.completion("triage", "ticket_id")
    async def tickets(typed: str) -> list[str]:
        return [ticket for ticket in TICKETS if ticket.startswith(typed)]

    @server.completion("kite://tickets/{ticket_id}", "ticket_id")
    async def ticket_ids(typed: str, known: dict[str, Any]) -> list[str]:
        return [ticket for ticket in TICKETS if ticket.startswith(typed)]
