"""Servers that cannot be reached, or are reached in another way."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import trustme

from tests.interaction.http_server import HttpServer
from tests.zoo.urls.patients import (
    SILENT,
    Place,
    always,
    legacy_server,
    patient,
)

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def certified(
    name: str = "127.0.0.1", *, since: int = -1, until: int = 90
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of a server and of a client that trusts it, but for name and days."""
    authority = trustme.CA()
    now = datetime.now(UTC)
    certificate = authority.issue_cert(
        name,
        not_before=now + timedelta(days=since),
        not_after=now + timedelta(days=until),
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return server, client


@asynccontextmanager
async def talking(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve raw bytes on a port."""
    writers = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            await talk(reader, writer)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


@patient("url-not-usable")
async def misspelt_scheme() -> AsyncIterator[Place]:
    yield Place("htp://localhost:8000/mcp")


@patient("host-not-found")
async def unknown_host() -> AsyncIterator[Place]:
    yield Place("http://mcp.example.invalid/mcp")


@patient("nobody-listens")
async def stopped() -> AsyncIterator[Place]:
    with socket.socket() as bound:  # without listening, so nobody else gets the port
        bound.bind(("127.0.0.1", 0))
        yield Place(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp")


async def with_certificate(**wrong: int | str) -> AsyncIterator[Place]:
    tls, trusting = certified(**wrong)  # type: ignore[arg-type]  # names and days
    server = legacy_server()
    server._tls = tls
    async with server:
        yield Place(server.url, trusting)


@patient("certificate-expired")
async def expired_certificate() -> AsyncIterator[Place]:
    async for place in with_certificate(since=-30, until=-2):
        yield place


@patient("certificate-not-yet-valid")
async def early_certificate() -> AsyncIterator[Place]:
    async for place in with_certificate(since=2):
        yield place


@patient("certificate-expires-soon")
async def ending_certificate() -> AsyncIterator[Place]:
    async for place in with_certificate(until=2):
        yield place


@patient("certificate-wrong-name")
async def certificate_of_another() -> AsyncIterator[Place]:
    async for place in with_certificate(name="other.example"):
        yield place


@patient("certificate-not-trusted")
async def unknown_authority() -> AsyncIterator[Place]:
    async for place in with_certificate():
        yield Place(place.url)


@patient("https-to-plain-port")
async def plain_behind_https() -> AsyncIterator[Place]:
    async with legacy_server() as server:
        yield Place(server.url.replace("http:", "https:"))


@patient("http-to-tls-port")
async def tls_behind_http() -> AsyncIterator[Place]:
    async def send_alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n")
        writer.write(b"\x15\x03\x01\x00\x02\x02\x46")  # as OpenSSL answers what is no handshake
        await writer.drain()

    async with talking(send_alert) as port:
        yield Place(f"http://127.0.0.1:{port}/mcp")


@patient("http-to-tls-port")
async def nginx_with_tls_behind_http() -> AsyncIterator[Place]:
    page = b"<html><center>The plain HTTP request was sent to HTTPS port</center></html>"
    async with HttpServer(always(400, page)) as server:
        yield Place(server.url)


@patient("http2-only")
async def only_http2() -> AsyncIterator[Place]:
    async def send_settings(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not (await reader.readline()).startswith(b"PRI * HTTP/2.0"):
            return
        writer.write(bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
        await writer.drain()

    async with talking(send_settings) as port:
        yield Place(f"http://127.0.0.1:{port}/mcp")


@patient("http2-only")
async def only_http2_over_tls() -> AsyncIterator[Place]:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"\x15\x03\x03\x00\x02\x02\x78")  # the alert for that
        await writer.drain()

    async with talking(refuse) as port:
        yield Place(f"https://127.0.0.1:{port}/mcp")


@patient("not-http")
async def a_mail_server() -> AsyncIterator[Place]:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP ready\r\n")
        await writer.drain()
        await reader.read()

    async with talking(greet) as port:
        yield Place(f"http://127.0.0.1:{port}/mcp")


@patient("connection-dropped")
async def closes_at_once() -> AsyncIterator[Place]:
    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()

    async with talking(leave) as port:
        yield Place(f"http://127.0.0.1:{port}/mcp")


@patient("no-answer", patience=SILENT)
async def never_answers() -> AsyncIterator[Place]:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with talking(wait) as port:
        yield Place(f"http://127.0.0.1:{port}/mcp")
