"""Makes requests and keeps what came back, with the times at which it came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct, field

from wigwag._version import __version__
from wigwag.bindings.http_headers import is_json
from wigwag.bindings.lines import LineTooLong
from wigwag.bindings.sse import EVENT_STREAM, SseDecoder, SseEvent
from wigwag.doctor.patience import Patience
from wigwag.doctor.url_checks.messages import Question
from wigwag.errors import McpError
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.oauth.requests import told
from wigwag.oauth.secret import Secret
from wigwag.transports.http_client_engine import (
    TLS,
    HttpOptions,
    HttpResponse,
    public_url,
)

__all__ = ["Asker", "Exchange", "OpenStream"]

# More than any answer to what the doctor asks; what is longer is not read further.
_MAX_BODY_BYTES: Final = 8 * 1024 * 1024

# Secrets shorter than this would blot out ordinary words.
_MIN_SECRET_CHARACTERS: Final = 6

# Answers are not compressed unless it is asked for, so that it shows who does it all the same.
_USUAL: Final = {"Accept-Encoding": "identity", "User-Agent": f"wigwag-doctor/{__version__}"}

State = Literal["whole", "cut", "late", "failed"]


class Exchange(Struct, kw_only=True):
    """A request and what came back.

    Attributes:
        asked: Method and URL, as they may be shown.
        status: The status; 0 if there was no response.
        reason: The words that go with it.
        headers: The headers of the response, with names in lower case.
        body: What there was of its body.
        pieces: When each piece of the body came, in seconds since the request, and its length.
        seconds: How long it took until the head of the response; until it failed if it did.
        state: `whole`; `cut` if the body broke off; `late` if it did not end, or the head did not
            come, in time; `failed` if there was no response.
        error: Why, if it failed.
        taken_at: When the head came, in seconds since 1970.
    """

    asked: str
    status: int = 0
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    pieces: list[tuple[float, int]] = field(default_factory=list)
    seconds: float = 0.0
    state: State = "whole"
    error: McpError | None = None
    taken_at: float = 0.0

    @property
    def has_response(self) -> bool:
        """Whether there was a response, complete or not."""
        return self.status != 0

    @property
    def media_type(self) -> str:
        """What its body is said to be, in lower case and without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_stream(self) -> bool:
        """Whether its body is said to be a stream of events."""
        return self.media_type == EVENT_STREAM

    @property
    def is_html(self) -> bool:
        """Whether its body is a page for people."""
        start = self.body[:512].lstrip().lower()
        return self.media_type in ("text/html", "application/xhtml+xml") or start.startswith(
            (b"<!doctype html", b"<html")
        )

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def events(self) -> list[SseEvent]:
        """Return the events in its body."""
        return SseDecoder().feed(self.body)

    @property
    def message(self) -> dict[str, Any] | None:
        """The answer in it that JSON-RPC would take for one, however it was wrapped."""
        if not self.is_stream:
            return _response_in(self.body)
        for event in self.events():
            found = None if isinstance(event.data, LineTooLong) else _response_in(event.data)
            if found is not None:
                return found
        return None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result in it, if it has one."""
        found = (self.message or {}).get("result")
        return found if isinstance(found, dict) else None

    @property
    def error_code(self) -> int | None:
        """The code of the error in it, if it has one."""
        found = (self.message or {}).get("error")
        code = found.get("code") if isinstance(found, dict) else None
        return code if isinstance(code, int) else None

    @property
    def speaks_mcp(self) -> bool:
        """Whether it is the answer of an MCP server, be it an error."""
        if self.result is not None:
            return True
        # A method that is not known is a 404 too, in the modern era.
        is_usual = self.status in (200, 400) or self.error_code == METHOD_NOT_FOUND
        return self.message is not None and is_usual

    @property
    def says_json(self) -> bool:
        """Whether its body is said to be JSON."""
        return is_json(self.headers.get("content-type", "").encode("latin-1", "replace"))


def _response_in(data: bytes) -> dict[str, Any] | None:
    """Return the response in a JSON text; `None` if it is something else."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    if isinstance(found, list) and len(found) == 1:  # a batch, as some answer with
        found = found[0]
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return None
    return found if "result" in found or "error" in found else None


class OpenStream:
    """A response whose body is read as it comes.

    Args:
        exchange: What is known of it so far; pieces are added to it.
        response: The response.
        begun: When the request was made, by the monotonic clock.
    """

    def __init__(self, exchange: Exchange, response: HttpResponse, begun: float) -> None:
        self.exchange = exchange
        self._response = response
        self._begun = begun

    async def read(self, seconds: float, is_enough: Callable[[Exchange], bool]) -> bool:
        """Read until there is enough, the body ends, or the time is over.

        Returns:
            Whether there was enough.
        """
        exchange = self.exchange
        exchange.state = "late"
        try:
            async with asyncio.timeout(seconds):
                while not is_enough(exchange):
                    piece = await self._response.read()
                    if not piece:
                        exchange.state = "whole"
                        return is_enough(exchange)
                    exchange.pieces.append((time.monotonic() - self._begun, len(piece)))
                    exchange.body += piece
        except TimeoutError:
            return False
        except McpError:
            exchange.state = "cut"
            return False
        exchange.state = "whole"
        return True


class Asker:
    """Makes requests to one URL, follows no redirect, and keeps nothing between two of them.

    Args:
        url: The URL.
        headers: What each request carries besides; their values are never told.
        tls: Whom to trust.
        patience: How long to wait.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], tls: TLS | None, patience: Patience
    ) -> None:
        self.url = url
        self.headers = dict(headers)
        self.tls = tls
        self.patience = patience

    @property
    def name(self) -> str:
        """The URL as it may be shown."""
        return public_url(self.url)

    def at(self, url: str) -> Asker:
        """Return one that asks at another URL in the same way."""
        return Asker(url, headers=self.headers, tls=self.tls, patience=self.patience)

    def told(self, text: object) -> str:
        """Return what a server said: one short line, without the secrets that it was sent."""
        secrets = [Secret(s) for s in self._secrets()]
        return told(text if isinstance(text, str) else str(text), secrets)

    def _beside(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return what every request carries, but for what this one has of its own."""
        own = {name.lower() for name in headers}
        return {name: value for name, value in self.headers.items() if name.lower() not in own}

    def _secrets(self) -> list[str]:
        found = list(self.headers.values())
        found += [value for _, value in parse_qsl(urlsplit(self.url).query)]
        for value in self.headers.values():
            found += value.split()[1:]  # a token without its scheme
        long = [one for one in found if len(one) >= _MIN_SECRET_CHARACTERS]
        return sorted(long, key=len, reverse=True)

    def shown(self, exchange: Exchange) -> str:
        """Return a request and its outcome in one line."""
        if exchange.status == 0:
            return f"{exchange.asked} → {self.told(exchange.error or 'no answer in time')}"
        line = f"{exchange.asked} → {exchange.status} {self.told(exchange.reason)}".rstrip()
        words = self.told(exchange.text[:2000])
        return f"{line}: {words}" if words else line

    async def post(self, question: Question, **more: str) -> Exchange:
        """Ask something of the protocol; more headers may be given, with `_` for `-`."""
        headers = {**question.headers, **{n.replace("_", "-"): v for n, v in more.items()}}
        return await self.ask("POST", headers, question.body, seconds=self.patience.event)

    async def ask(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        url: str | None = None,
        is_ours: bool = True,
        seconds: float | None = None,
    ) -> Exchange:
        """Make a request and wait for the whole response, or for the answer on its stream.

        Args:
            method: The method of HTTP.
            headers: The headers of the request.
            body: Its body.
            url: Another URL than that of the server.
            is_ours: Whether the headers that every request carries may go there.
            seconds: How long to wait for the answer on a stream, if not as for any answer.
        """
        async with self.opened(method, headers, body, url=url, is_ours=is_ours) as (exchange, it):
            if it is not None:
                limit = seconds if exchange.is_stream else None
                await it.read(limit or self.patience.answer, _is_answered)
        return exchange

    @asynccontextmanager
    async def opened(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        url: str | None = None,
        is_ours: bool = True,
        seconds: float | None = None,
    ) -> AsyncIterator[tuple[Exchange, OpenStream | None]]:
        """Make a request and wait for the head of the response; `None` if there is none.

        Args:
            method: The method of HTTP.
            headers: The headers of the request.
            body: Its body.
            url: Another URL than that of the server.
            is_ours: Whether the headers that every request carries may go there.
            seconds: How long to wait, if not as for any answer.

        Raises:
            TransportError: aiohttp is not installed, or certificates cannot be read.
        """
        from wigwag.transports.http_client_aiohttp import AiohttpEngine  # noqa: PLC0415 - few ask

        target = url or self.url
        exchange = Exchange(asked=f"{method} {public_url(target)}")
        sent = {**_USUAL, **(self._beside(headers) if is_ours else {}), **headers}
        engine = AiohttpEngine(HttpOptions(ssl=self.tls), target)
        response: HttpResponse | None = None
        begun = time.monotonic()
        try:
            try:
                async with asyncio.timeout(seconds or self.patience.answer):
                    response = await engine.request(method, target, sent, body)
            except TimeoutError:
                exchange.state = "late"
            except McpError as error:
                exchange.state, exchange.error = "failed", error
            exchange.seconds = time.monotonic() - begun
            exchange.taken_at = time.time()
            if response is None:
                yield exchange, None
            else:
                exchange.status, exchange.reason = response.status, response.reason
                exchange.headers = response.headers()
                yield exchange, OpenStream(exchange, response, begun)
        finally:
            if response is not None:
                await response.aclose()
            await engine.aclose()


def _is_answered(exchange: Exchange) -> bool:
    """Tell whether nothing more is to be read: what was asked is answered, or too much came."""
    if len(exchange.body) >= _MAX_BODY_BYTES:
        return True
    return exchange.is_stream and exchange.message is not None
