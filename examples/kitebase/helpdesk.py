"""Kitebase's tickets and articles: made up, and few enough to read."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Ticket:
    """What a customer has reported."""

    id: str
    title: str
    status: Literal["open", "waiting", "solved"]
    priority: Literal["low", "normal", "urgent"]
    customer: str
    description: str
    articles: list[str]


@dataclass(frozen=True)
class Article:
    """A page of the help centre, in Markdown."""

    slug: str
    title: str
    text: str


TICKETS = {
    ticket.id: ticket
    for ticket in (
        Ticket(
            id="KITE-142",
            title="Customer locked out after SSO change",
            status="open",
            priority="urgent",
            customer="Harbour Logistics",
            description="They moved to a new identity provider last night; since then every "
            "sign-in ends in a redirect loop. 40 people cannot work.",
            articles=["sso-redirect-loop", "recovery-codes"],
        ),
        Ticket(
            id="KITE-143",
            title="Invoice shows the old address",
            status="waiting",
            priority="normal",
            customer="Lindqvist Bakery",
            description="The address was changed in March, the April invoice still has the old "
            "one.",
            articles=["billing-address"],
        ),
        Ticket(
            id="KITE-150",
            title="Export to CSV stops at 10,000 rows",
            status="solved",
            priority="low",
            customer="Ossa Research",
            description="Explained that larger exports arrive by mail.",
            articles=["large-exports"],
        ),
    )
}

ARTICLES = {
    article.slug: article
    for article in (
        Article(
            "sso-redirect-loop",
            "Sign-in ends in a redirect loop",
            "After a change of identity provider the old entity id is often still in place.\n\n"
            "1. Let an administrator sign in with a recovery code.\n"
            "2. Under *Settings, Single sign-on*, load the metadata of the new provider.\n"
            "3. Sign everybody out once.\n",
        ),
        Article(
            "recovery-codes",
            "Recovery codes for administrators",
            "Each administrator has ten. A code works once, and also while single sign-on is "
            "broken.\n",
        ),
        Article(
            "billing-address",
            "Change the address on invoices",
            "A new address counts from the next billing period on.\n",
        ),
        Article(
            "large-exports",
            "Exports of more than 10,000 rows",
            "They are prepared in the background and sent by mail.\n",
        ),
    )
}


def search(query: str) -> list[Article]:
    """Return the articles that share words with the query, the best first."""
    words = set(query.lower().split())

    def score(article: Article) -> int:
        text = f"{article.slug} {article.title} {article.text}".lower()
        return sum(word in text for word in words)

    found = [article for article in ARTICLES.values() if score(article)]
    return sorted(found, key=score, reverse=True)
