"""What a browser does when it comes back, on real sockets."""

import asyncio
from typing import NamedTuple

from wigwag.oauth.urls import read_url


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


async def send(host: str, port: int, data: bytes) -> bytes:
    """Send bytes, and return all that comes back."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(data)
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


async def get(url: str, *, method: str = "GET", host: str | None = None) -> Answer:
    """Ask for a page."""
    parts = read_url(url)
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    named = host or parts.origin.removeprefix("http://")
    head = f"{method} {target} HTTP/1.1\r\nHost: {named}\r\nAccept: text/html\r\n\r\n"
    return read_answer(await send(parts.host, parts.port, head.encode()))


def read_answer(data: bytes) -> Answer:
    head, _, body = data.decode().partition("\r\n\r\n")
    status, *lines = head.split("\r\n")
    headers = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines}
    assert int(headers["content-length"]) == len(body.encode())
    return Answer(int(status.split()[1]), headers, body)
