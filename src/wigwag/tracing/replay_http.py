"""The recorded server as a web service: one endpoint, in the way it was recorded."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from wigwag.bindings.http_headers import RequestHeaders
from wigwag.bindings.http_hosts import HostRules
from wigwag.bindings.sse import encode_event
from wigwag.jsonrpc.codec import UNDECODABLE, encode_error
from wigwag.jsonrpc.codes import INVALID_REQUEST, PARSE_ERROR
from wigwag.schema import INITIALIZE, PROTOCOL_VERSION_KEY
from wigwag.tracing.player import Manner, Player, Said, Stage
from wigwag.tracing.script import Script, meta_of
from wigwag.transports.asgi import (
    Answer,
    BodyTooLarge,
    ClientGone,
    Receive,
    Scope,
    Send,
    read_body,
    wait_until_gone,
)

if TYPE_CHECKING:
    from wigwag.server.http_app import ForwardedReader

__all__ = ["ReplayApp"]

_logger = logging.getLogger("wigwag.http")

_SESSION_ID: Final = b"mcp-session-id"
MAX_BODY_BYTES: Final = 64 * 1024 * 1024
# What is said of its own accord waits for a stream as long as there are not too many of it.
_MAX_KEPT: Final = 1000


class ReplayApp:
    """An ASGI application that answers as a recorded server did.

    Args:
        script: What it says.
        path: Of its endpoint.
        host: The address that it is bound to, if that is known.
        allowed_hosts: As `Server.http_app` takes them.
        allowed_origins: As above.
        manner: How it is played.
    """

    def __init__(
        self,
        script: Script,
        *,
        path: str,
        host: str | None,
        allowed_hosts: Sequence[str] | None,
        allowed_origins: Sequence[str] | None,
        manner: Manner,
    ) -> None:
        self.path = path.rstrip("/")
        self.read_forwarded: ForwardedReader | None = None
        self._script = script
        self._manner = manner
        self._rules = HostRules(
            host=host, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins
        )
        self._sessions: dict[str, _Session] = {}
        self._sessionless = _Session(script)
        self._open: set[asyncio.Event] = set()

    async def start(self) -> None:
        """Begin to serve; there is nothing to do."""

    async def aclose(self) -> None:
        """End all streams."""
        for stop in self._open:
            stop.set()
        for session in (self._sessionless, *self._sessions.values()):
            await session.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of an ASGI server."""
        if scope["type"] != "http":
            return
        answer = Answer(send)
        headers = RequestHeaders(scope["headers"]).values
        refusal = self._rules.refusal(headers.get(b"host"), headers.get(b"origin"))
        if refusal is not None:
            _logger.warning("%s", refusal.reason)
            await answer.whole(403, encode_error(None, INVALID_REQUEST, refusal.reason))
        elif scope["path"].rstrip("/") != self.path:
            reason = f"Not Found: the MCP endpoint of this recording is {self.path or '/'}"
            await answer.whole(404, encode_error(None, INVALID_REQUEST, reason))
        elif scope["method"] == "POST":
            await self._post(headers, receive, answer)
        elif scope["method"] == "GET" and self._script.is_legacy:
            await self._get(headers, receive, answer)
        elif scope["method"] == "DELETE" and self._script.has_sessions:
            await self._delete(headers, answer)
        else:
            await answer.whole(405, headers=((b"allow", b"POST"),))

    async def _post(self, headers: dict[bytes, bytes], receive: Receive, answer: Answer) -> None:
        try:
            body = await read_body(receive, MAX_BODY_BYTES)
            decoded = msgspec.json.decode(body)
        except BodyTooLarge as error:
            await answer.whole(413, encode_error(None, INVALID_REQUEST, str(error)))
            return
        except ClientGone:
            await answer.nobody()
            return
        except UNDECODABLE as error:
            await answer.whole(400, encode_error(None, PARSE_ERROR, f"Parse error: {error}"))
            return
        messages = decoded if isinstance(decoded, list) else [decoded]
        session = await self._session_of(headers, messages, answer)
        if session is not None:
            await self._play(session, body, messages, receive, answer)

    async def _session_of(
        self, headers: dict[bytes, bytes], messages: list[Any], answer: Answer
    ) -> _Session | None:
        """Return the session that messages belong to; otherwise it has been answered."""
        if not self._script.has_sessions or any(map(_is_modern, messages)):
            return self._sessionless
        if any(isinstance(each, dict) and each.get("method") == INITIALIZE for each in messages):
            if not self._script.is_legacy:
                return self._sessionless
            name = secrets.token_hex(16)
            self._sessions[name] = _Session(self._script)
            answer.add_header(_SESSION_ID, name.encode())
            return self._sessions[name]
        named = headers.get(_SESSION_ID)
        if named is None and not self._sessions:
            return self._sessionless
        return await self._known(named, answer)

    async def _known(self, named: bytes | None, answer: Answer) -> _Session | None:
        if named is None:
            reason = "Bad Request: the header Mcp-Session-Id is missing"
            await answer.whole(400, encode_error(None, INVALID_REQUEST, reason))
            return None
        session = self._sessions.get(named.decode("latin-1"))
        if session is None:
            reason = "Not Found: there is no such session; send `initialize` to begin one"
            await answer.whole(404, encode_error(None, INVALID_REQUEST, reason))
        return session

    async def _play(
        self,
        session: _Session,
        body: bytes,
        messages: list[Any],
        receive: Receive,
        answer: Answer,
    ) -> None:
        asked = {json.dumps(each["id"]) for each in messages if _is_request(each)}
        exchange = _Exchange(asked, session.say)
        player = Player(session.stage, exchange.say, manner=self._manner)
        player.receive(body)
        if not asked and not exchange.has_more:
            session.keep(player)
            await answer.whole(202)
            return
        try:
            await self._while_there(exchange.respond(answer), receive)
        finally:
            await player.aclose()

    async def _get(self, headers: dict[bytes, bytes], receive: Receive, answer: Answer) -> None:
        if b"text/event-stream" not in headers.get(b"accept", b""):
            await answer.whole(406)
            return
        session: _Session | None = self._sessionless
        if self._script.has_sessions:
            session = await self._known(headers.get(_SESSION_ID), answer)
        if session is not None:
            await self._while_there(session.tell(answer), receive)

    async def _delete(self, headers: dict[bytes, bytes], answer: Answer) -> None:
        session = await self._known(headers.get(_SESSION_ID), answer)
        if session is not None:
            del self._sessions[headers[_SESSION_ID].decode("latin-1")]
            await session.aclose()
            await answer.whole(204)

    async def _while_there(self, speaking: Any, receive: Receive) -> None:
        """Speak until all is said, the client has gone or the server ends."""
        stop = asyncio.Event()
        self._open.add(stop)
        tasks = [
            asyncio.ensure_future(each)
            for each in (speaking, wait_until_gone(receive), stop.wait())
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.discard(stop)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not tasks[0].cancelled():
            tasks[0].result()


class _Session:
    """One client, and the stream for what it is told of the server's own accord."""

    def __init__(self, script: Script) -> None:
        self.stage = Stage(script)
        self._kept: asyncio.Queue[bytes] = asyncio.Queue(_MAX_KEPT)
        self._players: list[Player] = []

    def say(self, said: Said) -> None:
        """Say something on that stream, now or when it is open."""
        if not self._kept.full():
            self._kept.put_nowait(said.data)

    def keep(self, player: Player) -> None:
        """Let a player go on that has nobody to answer."""
        self._players = [each for each in (*self._players, player) if not each.is_idle]

    async def tell(self, answer: Answer) -> None:
        """Speak on that stream for as long as it is open."""
        await answer.begin_events()
        await answer.more(b": open\n\n")
        while not answer.is_gone:
            await answer.more(encode_event(await self._kept.get()))

    async def aclose(self) -> None:
        """Say nothing more."""
        for player in self._players:
            await player.aclose()


class _Exchange:
    """One POST: what is said on its way, until all that it asked is answered."""

    def __init__(self, asked: set[str], elsewhere: Callable[[Said], None]) -> None:
        self._asked = asked
        self._elsewhere = elsewhere
        self._said: asyncio.Queue[Said] = asyncio.Queue()

    @property
    def has_more(self) -> bool:
        """Whether something waits to be sent."""
        return not self._said.empty()

    def say(self, said: Said) -> None:
        """Say something; what belongs to no request of this exchange goes elsewhere."""
        if said.is_answer or json.dumps(said.request_id) in self._asked:
            self._said.put_nowait(said)
        else:
            self._elsewhere(said)

    async def respond(self, answer: Answer) -> None:
        """Answer: with JSON where there is but one thing to say, otherwise with events."""
        said = await self._said.get()
        if said.is_answer and len(self._asked) < 2 and not said.is_event:
            await answer.whole(said.status, said.data)
            return
        await answer.begin_events()
        while True:
            await answer.more(encode_event(said.data))
            if said.is_answer:
                self._asked.discard(json.dumps(said.request_id))
                if not self._asked:
                    break
            said = await self._said.get()
        await answer.end()


def _is_request(message: Any) -> bool:
    return isinstance(message, dict) and "method" in message and "id" in message


def _is_modern(message: Any) -> bool:
    params = message.get("params") if isinstance(message, dict) else None
    return isinstance(params, dict) and PROTOCOL_VERSION_KEY in meta_of(params)
