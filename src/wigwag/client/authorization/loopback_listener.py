"""Listens on this machine for the browser that comes back from the authorization server.

Spec: RFC 8252 sections 7.3 and 8.3
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from hmac import compare_digest
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from wigwag.client.authorization.login_pages import (
    DONE,
    NOT_FOUND,
    NOT_UNDERSTOOD,
    ONLY_GET,
    REFUSED,
    STALE,
    TOO_LARGE,
    WRONG_HOST,
    Page,
)
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.urls import is_loopback, read_url

__all__ = ["LoopbackListener"]

CALLBACK: Final = "/callback"

# Codes may be whole JWTs, and cookies of other programs on this machine come along.
_MAX_HEAD_BYTES: Final = 64 * 1024
# Browsers open connections that they may never use.
_HEAD_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 5.0


_is_target: Final = re.compile(r"/[!-~]*").fullmatch


class _Place(NamedTuple):
    """Where the browser is to come back to."""

    host: str
    port: int
    """0 for any that is free."""
    rest: str
    """Path and query."""
    text: str = ""
    """The whole redirect URI as it is registered; empty if it is not."""

    def uri(self, port: int) -> str:
        """Return the redirect URI; authorization servers compare it letter for letter."""
        if self.text and port == self.port:
            return self.text
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{port}{self.rest}"


class LoopbackListener:
    """Waits for one redirect, on this machine only, and answers it with a page.

    Args:
        host: The loopback address to listen at, where no registered redirect URI says another.
        port: The port; 0 for any that is free, and for one that is registered before all.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host = host
        self._port = port
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._redirect_uri = ""
        self._is_waiting = False
        self._state: str | None = None
        self._answer: asyncio.Future[str] | None = None
        self.has_seen_another = False
        """Whether a browser came back that was not the answer to what was asked."""

    async def open(self, registered: tuple[str, ...]) -> str:
        """Begin to listen, and return the redirect URI.

        Args:
            registered: The redirect URIs that may be used; one of another port if theirs is taken.

        Raises:
            AuthorizationFailed: None of them is on this machine, or there is no port.
        """
        places = list(self._places(registered))
        if not places:
            raise AuthorizationFailed(
                "no redirect URI that the client is registered with is of this machine",
                "",
                "register one such as http://127.0.0.1/callback, or give `login` what can be "
                "reached by them",
            )
        failure: OSError | None = None
        for place in places:
            try:
                port = await self._listen(place)
            except OSError as error:
                failure = failure or error
            else:
                self._answer = asyncio.get_running_loop().create_future()
                self._redirect_uri = place.uri(port)
                return self._redirect_uri
        said = os.strerror(failure.errno) if failure and failure.errno else "it has no address"
        at = f"{places[0].host}:{places[0].port}"
        raise AuthorizationFailed(
            f"nothing can listen at {at} for the browser to come back: {said}",
            "",
            "choose another port, or end what has it",
        )

    async def wait(self, state: str | None) -> str:
        """Wait for the browser, and return the URL that it came to.

        Args:
            state: What it must bring along; `None` for whatever it brings.
        """
        assert self._answer is not None, "it has not been opened"
        self._state, self._is_waiting = state, True
        try:
            return await self._answer
        finally:
            self._is_waiting = False
            self._stop()

    async def aclose(self) -> None:
        """Stop listening, whatever is under way."""
        self._stop()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    def _stop(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()

    def _places(self, registered: tuple[str, ...]) -> Iterator[_Place]:
        """Return what to try, in this order."""
        if self._port or not registered:
            yield _Place(self._host, self._port, CALLBACK)
            return
        found = []
        for text in registered:
            url = read_url(text)
            if url.scheme == "http" and is_loopback(url):
                port = url.port if urlsplit(text).port is not None else 0
                rest = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
                found.append(_Place(url.host, port, rest, text))
        yield from found
        # Authorization servers must let the port of a loopback address vary; most do.
        yield from (place._replace(port=0) for place in found if place.port)

    async def _listen(self, place: _Place) -> int:
        """Listen at each loopback address that the host may stand for, and return the port."""
        addresses = [place.host]
        if place.host.endswith("localhost"):  # a browser may try either of them
            addresses = ["127.0.0.1", "::1"]
        port = place.port
        for address in addresses:
            try:
                server = await asyncio.start_server(
                    self._accept, address, port, limit=_MAX_HEAD_BYTES
                )
            except OSError:
                if not port or address == addresses[0]:
                    raise
                continue  # there is no IPv6 here, or somebody else has the port there
            self._servers.append(server)
            port = server.sockets[0].getsockname()[1]
        return port

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived: str | None = None
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                page, arrived = await self._read(reader)
            async with asyncio.timeout(_ANSWER_SECONDS):
                writer.write(page.response())
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the browser has gone; what it brought counts all the same
        finally:
            writer.transport.abort()
        # Not before it has its page: whoever waits may end the program next.
        if arrived is not None and self._answer is not None and not self._answer.done():
            self._answer.set_result(arrived)

    async def _read(self, reader: asyncio.StreamReader) -> tuple[Page, str | None]:
        """Read a request, and return the page for it, and the redirect if it is one."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return TOO_LARGE, None
        request = _parsed(head)
        if request is None:
            return NOT_UNDERSTOOD, None
        own = read_url(self._redirect_uri)
        # A page whose name somebody has made to lead here must not get anything out of it.
        if request.origin != own.origin:
            return WRONG_HOST, None
        path, _, query = request.target.partition("?")
        if path != (own.path or "/"):
            return NOT_FOUND, None
        if request.method != "GET":
            return ONLY_GET, None
        page = self._judge(parse_qs(query, keep_blank_values=True))
        return page, (None if page is STALE else f"{own.origin}{request.target}")

    def _judge(self, fields: dict[str, list[str]]) -> Page:
        states = fields.get("state", [""])
        if not self._is_waiting or (
            self._state is not None
            and not any(compare_digest(each.encode(), self._state.encode()) for each in states)
        ):
            # A window of an earlier time, or a page that tries what happens.
            self.has_seen_another = True
            return STALE
        return REFUSED if "error" in fields else DONE


class _Request(NamedTuple):
    method: str
    target: str
    origin: str
    """Whom it was meant for."""


def _parsed(head: bytes) -> _Request | None:
    try:
        lines = head.decode("ascii").split("\r\n")
        method, target, version = lines[0].split(" ")
        (host,) = (line.partition(":")[2] for line in lines[1:] if line[:5].lower() == "host:")
        origin = read_url(f"http://{host.strip()}").origin
    except ValueError:
        return None
    is_sound = version.startswith("HTTP/1.") and _is_target(target)
    return _Request(method, target, origin) if is_sound else None
