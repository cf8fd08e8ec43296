"""Kitebase, a help desk as an MCP server.

A host starts it; `main.py` beside it is the smallest host there is. With `--http` it is a web
service instead, for any number of hosts.
"""

import argparse
import logging
import sys
from dataclasses import dataclass

from helpdesk import ARTICLES, TICKETS, Ticket, search

from wigwag import RequestFailed, Server, ToolError
from wigwag.schema import RESOURCE_NOT_FOUND, ToolAnnotations

log = logging.getLogger("kitebase")

kite = Server(
    "kitebase",
    version="1.0.0",
    title="Kitebase help desk",
    instructions="Look a ticket up with get_ticket, find articles that help with search_help, and "
    "read them at kitebase://articles/{slug}.",
)

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@dataclass(frozen=True)
class Hit:
    """An article that was found, and where to read it."""

    title: str
    uri: str


@kite.tool(title="Search the help centre", annotations=READ_ONLY)
def search_help(query: str, limit: int = 3) -> list[Hit]:
    """Find help articles, the best match first.

    Args:
        query: A few words, for example "redirect loop".
        limit: How many articles at most.
    """
    log.info("search_help called with %r", query)
    found = search(query)[:limit]
    return [Hit(article.title, f"kitebase://articles/{article.slug}") for article in found]


@kite.tool(title="Look a ticket up", annotations=READ_ONLY)
def get_ticket(ticket_id: str) -> Ticket:
    """Look one ticket up.

    Args:
        ticket_id: For example KITE-142.
    """
    log.info("get_ticket called with %r", ticket_id)
    ticket = TICKETS.get(ticket_id.strip().upper())
    if ticket is None:
        # The model reads this and can try again: the request succeeds, the tool does not.
        raise ToolError(f"There is no ticket {ticket_id!r}. There are: {', '.join(TICKETS)}.")
    return ticket


@kite.resource("kitebase://articles", title="All help articles", mime_type="text/markdown")
def articles() -> str:
    """The titles of all help articles, with their addresses."""
    return "".join(f"- [{a.title}](kitebase://articles/{a.slug})\n" for a in ARTICLES.values())


@kite.resource("kitebase://articles/{slug}", title="A help article", mime_type="text/markdown")
def article(slug: str) -> str:
    """One help article."""
    if slug not in ARTICLES:
        uri = f"kitebase://articles/{slug}"
        raise RequestFailed(RESOURCE_NOT_FOUND, f"There is no article {slug!r}", {"uri": uri})
    return f"# {ARTICLES[slug].title}\n\n{ARTICLES[slug].text}"


@kite.prompt(title="Triage a ticket")
def triage(ticket_id: str) -> str:
    """Judge how urgent a ticket is, and draft a first answer.

    Args:
        ticket_id: For example KITE-142.
    """
    return (
        f"Look up ticket {ticket_id} with get_ticket and find articles that help with search_help. "
        "Say how urgent it is and why, then draft a first answer to the customer."
    )


@kite.completion("triage", "ticket_id")
def complete_ticket_id(typed: str) -> list[str]:
    """Offer the tickets that begin with what was typed."""
    return [ticket_id for ticket_id in TICKETS if ticket_id.startswith(typed.upper())]


@kite.completion("kitebase://articles/{slug}", "slug")
def complete_slug(typed: str) -> list[str]:
    """Offer the articles that begin with what was typed."""
    return [slug for slug in ARTICLES if slug.startswith(typed)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Kitebase, a help desk as an MCP server.")
    parser.add_argument(
        "--noisy", action="store_true", help="print to stdout first, as a bad server would"
    )
    parser.add_argument(
        "--http",
        nargs="?",
        type=int,
        const=8765,
        metavar="PORT",
        help="serve HTTP on this port of 127.0.0.1 (8765 unless given) rather than a host",
    )
    options = parser.parse_args()
    if options.noisy:
        print("Kitebase server starting...", flush=True)
    # The standard output belongs to the protocol; the log goes where people look.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    if options.http is None:
        kite.run()
    else:
        kite.run("http", port=options.http)
