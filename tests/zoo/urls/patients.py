"""Servers at URLs with one fault each, and what the doctor must say of them."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from msgspec import Struct, field

from tests.interaction.http_server import Handle, HttpRequest, HttpServer, McpUrl
from tests.pair import discovered, initialized, result
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.urls import check_url

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

# Nothing waits so long where something answers, however busy the machine is.
PATIENCE = Patience(answer=30.0, connect=30.0, slow_start=25.0, event=30.0, idle=0.1)
SILENT = Patience(answer=1.0, connect=30.0)
"""For servers that never answer."""
UNHEARD = Patience(answer=30.0, connect=30.0, slow_start=25.0, event=1.0, idle=0.1)
"""For servers whose streams bring nothing."""
ATTENTIVE = Patience(answer=30.0, connect=30.0, slow_start=25.0, idle=30.0)
"""For servers whose streams do something by themselves."""


class Place(Struct):
    """Where a patient is while it is served.

    Attributes:
        url: Its URL.
        tls: Whom to trust there.
        headers: What requests carry besides.
    """

    url: str
    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Serve = Callable[[], AbstractAsyncContextManager[Place]]


class Patient(Struct):
    """A server with one fault.

    Attributes:
        code: The finding that it must lead to.
        serve: Serves it.
        patience: How long to wait.
        call: A tool that reports progress.
    """

    code: str
    serve: Serve
    patience: Patience = PATIENCE
    call: tuple[str, dict[str, Any]] | None = None

    async def findings(self, facts: Facts | None = None) -> list[Finding]:
        """Serve it, and return what the doctor finds."""
        async with self.serve() as place:
            return [
                finding
                async for finding in check_url(
                    place.url,
                    headers=place.headers,
                    tls=place.tls,
                    call=self.call,
                    patience=self.patience,
                    facts={} if facts is None else facts,
                )
            ]


PATIENTS: dict[str, Patient] = {}
"""By their names, which say what is wrong with them."""


def patient(
    code: str,
    *,
    patience: Patience = PATIENCE,
    call: tuple[str, dict[str, Any]] | None = None,
) -> Callable[[Callable[[], AsyncIterator[Place]]], Serve]:
    """Take a generator that serves one, under its name, and the finding that it must lead to."""

    def take(serve: Callable[[], AsyncIterator[Place]]) -> Serve:
        served = asynccontextmanager(serve)
        PATIENTS[serve.__name__.replace("_", "-")] = Patient(code, served, patience, call)
        return served

    return take


async def answer_ping(request: HttpRequest) -> None:
    await request.result()


def legacy_server(*, session: str | None = "s", **replies: Handle) -> McpUrl:
    """Return a server without a fault, but for what is answered otherwise."""
    server = McpUrl(LEGACY, session=session)
    server.replies["ping"] = answer_ping
    server.replies.update({name.replace("__", "/"): reply for name, reply in replies.items()})
    return server


def modern_server(**replies: Handle) -> McpUrl:
    """Return one of the modern era alone, which holds headers to bodies."""
    server = McpUrl(MODERN)
    server.replies["server/discover"] = discovering({"tools": {}})
    server.replies.update({name.replace("__", "/"): reply for name, reply in replies.items()})
    return server


def discovering(capabilities: dict[str, Any]) -> Handle:
    """Return what answers `server/discover` as it should be answered."""

    async def discover(request: HttpRequest) -> None:
        if request.headers.get("mcp-method") == "server/discover":
            await request.result(**discovered([MODERN], capabilities))
        else:
            await request.refuse(400, -32020, "Mcp-Method is not the method of the body")

    return discover


def greeting(*headers: tuple[str, str], session: str | None = None) -> Handle:
    """Return what answers `initialize` with more headers."""

    async def greet(request: HttpRequest) -> None:
        found = result(request.message["id"], initialized(LEGACY, {"tools": {}}))
        own = [] if session is None else [("Mcp-Session-Id", session)]
        await request.json(found, headers=[*own, *headers])

    return greet


@asynccontextmanager
async def answering(handle: Handle, *, path: str = "/mcp") -> AsyncIterator[Place]:
    """Serve whatever answers each request."""
    async with HttpServer(handle) as server:
        yield Place(f"{server.origin}{path}")


def always(
    status: int,
    body: bytes = b"",
    *,
    kind: str = "text/html",
    headers: tuple[tuple[str, str], ...] = (),
) -> Handle:
    """Return what gives everybody the same answer."""

    async def reply(request: HttpRequest) -> None:
        await request.answer(status, body, kind=kind, headers=headers)

    return reply
