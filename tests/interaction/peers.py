"""Hand-written peers: the other end of a conversation, as a test wants it.

`PeerServer` is a server that a `Client` connects to, `PeerClient` a client of a `Server`; both say
nothing by themselves but the handshake.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self, TypeAlias

from tests.interaction.connecting import PATIENCE, TIMEOUTS
from tests.pair import (
    Message,
    discovered,
    error,
    initialize,
    initialized,
    modern_meta,
    notification,
    request,
    result,
)
from wigwag import Client, Server
from wigwag.schema import MODERN_REVISIONS
from wigwag.transports.contract import Connection, Received
from wigwag.transports.memory import memory_pair

Json: TypeAlias = Any

EVERYTHING: Json = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
}


class Peer:
    """One end of a connection in memory, spoken by the test."""

    def __init__(self) -> None:
        self.connection: Connection
        self.is_ended = False
        self.seen: list[Message] = []
        """Every message that has arrived."""
        self._unread: deque[Message] = deque()
        self._news = asyncio.Event()

    # --- Receiver

    def messages_received(self, messages: Sequence[Received]) -> None:
        for data in messages:
            message = json.loads(bytes(data))  # type: ignore[arg-type]  # memory has no limit
            self.seen.append(message)
            if not self.answers(message):
                self._unread.append(message)
        self._news.set()

    def end_of_input(self) -> None:
        self.is_ended = True
        self._news.set()

    def connection_lost(self, reason: Exception | None) -> None:
        self.end_of_input()

    def answers(self, message: Message) -> bool:
        """Answer a message without the test, or leave it to it."""
        return False

    # --- for tests

    def send(self, *messages: Message) -> None:
        """Say something; all messages arrive in the same turn of the event loop."""
        self.send_raw(*(json.dumps(message).encode() for message in messages))

    def send_raw(self, *messages: bytes) -> None:
        self.connection.send(list(messages))

    async def next(self, method: str | None = None) -> Message:
        """Wait for the next message, which must be of this method."""
        await self._wait_until(lambda: bool(self._unread) or self.is_ended)
        assert self._unread, "the other end has gone"
        message = self._unread.popleft()
        assert method in (None, message.get("method")), message
        return message

    async def wait_ended(self) -> None:
        """Wait until the other end has closed the connection."""
        await self._wait_until(lambda: self.is_ended)

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    async def settle(self) -> None:
        """Let everybody do what is due; then nothing must be unread."""
        for _ in range(20):
            turn = asyncio.Event()
            asyncio.get_running_loop().call_soon(turn.set)
            await turn.wait()

    @property
    def unread(self) -> list[Message]:
        return list(self._unread)


class PeerServer(Peer):
    """A server of one revision that answers the handshake and nothing else.

    Args:
        revision: The revision that it speaks.
        capabilities: What it declares.
    """

    def __init__(self, revision: str, *, capabilities: Json = None) -> None:
        super().__init__()
        self.revision = revision
        self.is_modern = revision in MODERN_REVISIONS
        self.opened = 0
        self._capabilities = EVERYTHING if capabilities is None else capabilities
        if revision == "2024-11-05":
            self._capabilities = {k: v for k, v in self._capabilities.items() if k != "completions"}

    async def open(self) -> Connection:
        """Open a connection to it: the target of a `Client`."""
        ours, theirs = memory_pair()
        theirs.start(self)
        self.connection = theirs
        self.is_ended = False
        self.opened += 1
        self._news.set()
        return ours

    async def wait_opened(self, count: int) -> None:
        """Wait until so many connections have been opened."""
        await self._wait_until(lambda: self.opened >= count)

    def answers(self, message: Message) -> bool:
        match message.get("method"):
            case "server/discover" if self.is_modern:
                found = discovered([self.revision], self._capabilities)
                self.send(result(message["id"], found))
            case "server/discover":
                self.send(error(message["id"], -32601, "Method not found"))
            case "initialize":
                self.send(result(message["id"], initialized(self.revision, self._capabilities)))
            case "notifications/initialized":
                pass
            case _:
                return False
        return True

    def reply(self, asked: Message, **members: Json) -> None:
        """Answer a request with a result."""
        if self.is_modern:
            members = {"resultType": "complete", **members}
            if asked["method"] in CACHEABLE:
                members = {"ttlMs": 0, "cacheScope": "private", **members}
        self.send(result(asked["id"], members))

    def refuse(self, asked: Message, code: int, message: str = "no", data: Json = None) -> None:
        """Answer a request with an error."""
        self.send(error(asked["id"], code, message, data))

    def tell(self, method: str, params: Json = None) -> None:
        """Send a notification."""
        self.send(notification(method, params))


CACHEABLE = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)


@asynccontextmanager
async def client_of(peer: PeerServer, **options: Any) -> AsyncIterator[Client]:
    """Connect a client to a hand-written server."""
    options = {"mode": peer.revision, "timeouts": TIMEOUTS, **options}
    async with Client(peer.open, **options) as client:
        yield client


class PeerClient(Peer):
    """A client of one revision, which numbers its requests and does nothing else by itself."""

    def __init__(self, server: Server, revision: str, *, capabilities: Json = None) -> None:
        super().__init__()
        self.revision = revision
        self.is_modern = revision in MODERN_REVISIONS
        self._server = server
        self._capabilities = {} if capabilities is None else capabilities
        self._last_id = 100

    async def __aenter__(self) -> Self:
        self.connection, theirs = memory_pair()
        self.connection.start(self)
        self._serving = asyncio.create_task(self._server.serve(theirs))
        if not self.is_modern:
            self.send(initialize(self.revision, id_="init", capabilities=self._capabilities))
            self.initialized = (await self.next())["result"]
            self.send(notification("notifications/initialized"))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.aclose()
        async with asyncio.timeout(PATIENCE):
            await self._serving

    def request(self, method: str, params: Json = None, *, id_: Json = None) -> Message:
        """Make a request, with the `_meta` that the revision wants."""
        if id_ is None:
            self._last_id += 1
            id_ = self._last_id
        params = dict(params or {})
        if self.is_modern:
            meta = params.pop("_meta", {})
            params["_meta"] = {
                **modern_meta(self.revision, capabilities=self._capabilities),
                **meta,
            }
        return request(id_, method, params or None)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Json] | None = None,
        *,
        id_: Json = None,
        meta: Json = None,
    ) -> Message:
        """Make a call of a tool."""
        params: Json = {"name": tool}
        if arguments is not None:
            params["arguments"] = arguments
        if meta:
            params["_meta"] = meta
        return self.request("tools/call", params, id_=id_)

    async def ask(self, message: Message) -> Message:
        """Send a request and wait for its answer, which must be the next message."""
        self.send(message)
        answer = await self.next()
        assert answer.get("id") == message["id"], answer
        return answer


def cancelled(id_: Json) -> Message:
    return notification("notifications/cancelled", {"requestId": id_, "reason": "changed my mind"})
