"""Streams that are cut at any time: a client gets every message once and in order, or is told."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wigwag.runtime.event_stream import EventStream, StreamLog
from wigwag.stores.contract import Replay
from wigwag.stores.memory import MemoryEvents
from wigwag.transports.asgi import Answer

# What may happen to a stream and to the connections of its client.
ACTIONS = st.sampled_from(
    [
        "push",
        "push three",
        "cut",
        "come back",
        "come back unnoticed",
        "stop reading",
        "read",
        "turn",
    ]
)


class SlowEvents(MemoryEvents):
    """A store that is somewhere else: each call takes some turns of the event loop."""

    async def append(self, session_id: str, stream: str, messages: Sequence[bytes]) -> list[str]:
        await asyncio.sleep(0)
        ids = await super().append(session_id, stream, messages)
        await asyncio.sleep(0)
        return ids

    async def replay(self, session_id: str, last_event_id: str) -> Replay | None:
        await asyncio.sleep(0)
        replay = await super().replay(session_id, last_event_id)
        await asyncio.sleep(0)
        return replay


class Connection:
    """One connection of the client, and what came by it."""

    def __init__(self) -> None:
        self.body = b""
        self.is_cut = False
        self.has_ended = False
        self.over = 0
        self.reads = asyncio.Event()
        self.reads.set()
        self.answer = Answer(self._send)

    async def _send(self, message: Any) -> None:
        while not self.reads.is_set() and not self.is_cut:
            await self.reads.wait()
        if self.is_cut:
            return
        assert not self.has_ended
        self.body += message.get("body", b"")
        if message["type"] == "http.response.body":
            self.has_ended = not message.get("more_body", False)

    def is_over(self) -> None:
        """The server has given it up, or ended it."""
        self.over += 1

    def events(self) -> list[tuple[str, bytes]]:
        """Ids and data of the events that came whole."""
        blocks = self.body.split(b"\n\n")[:-1]
        fields = [dict(line.split(b": ", 1) for line in block.split(b"\n")) for block in blocks]
        return [(each[b"id"].decode(), each[b"data"]) for each in fields if b"id" in each]


class Client:
    """A client that comes back for what it has missed."""

    def __init__(self) -> None:
        self.connections = [Connection()]
        self.ends = 0
        self.stream: EventStream | None = None

    @property
    def latest(self) -> Connection:
        return self.connections[-1]

    def got(self) -> list[tuple[str, bytes]]:
        return [event for each in self.connections for event in each.events()]

    def end(self) -> None:
        self.ends += 1

    def cut(self) -> None:
        connection = self.latest
        connection.is_cut = True
        connection.reads.set()
        assert self.stream is not None
        self.stream.detach(connection.answer)

    async def come_back(self) -> None:
        """Come back, though the connection before may not be known to be dead."""
        got = self.got()
        if not got:
            return
        for connection in self.connections:  # nothing more arrives by those
            connection.is_cut = True
        fresh = Connection()
        self.connections.append(fresh)
        assert self.stream is not None
        assert await self.stream.attach(fresh.answer, got[-1][0], fresh.is_over)


async def play(actions: list[str], events: MemoryEvents, *, is_primed: bool) -> None:
    client = Client()
    log = StreamLog(events, "session", "stream", is_primed=is_primed, retry=1.0)
    client.stream = stream = EventStream(
        client.latest.answer,
        asyncio.get_running_loop(),
        log=log,
        on_detached=client.latest.is_over,
        on_end=client.end,
    )
    stream.open()
    pushed = 0

    def push(count: int) -> None:
        nonlocal pushed
        stream.push([b"%d" % number for number in range(pushed, pushed + count)])
        pushed += count

    async def settle() -> None:
        for _ in range(40):
            await asyncio.sleep(0)

    plain: dict[str, Callable[[], object]] = {
        "push": lambda: push(1),
        "push three": lambda: push(3),
        "cut": client.cut,
        "stop reading": lambda: client.latest.reads.clear(),
        "read": lambda: client.latest.reads.set(),
        "turn": lambda: None,
    }
    push(1)
    await settle()
    for action in actions:
        if action.startswith("come back"):
            if action == "come back":
                client.cut()
            await client.come_back()
        else:
            plain[action]()
        if action == "turn":
            await asyncio.sleep(0)
    stream.end()
    await client.come_back()
    await settle()
    await stream.written()
    await settle()
    data = [data for _, data in client.got() if data]
    assert data == [b"%d" % number for number in range(pushed)]
    ids = [event_id for event_id, _ in client.got()]
    assert len(set(ids)) == len(ids)
    assert client.latest.has_ended
    assert client.ends >= 1
    assert [connection.over for connection in client.connections] == [1] * len(client.connections)
    assert not stream.is_attached


@given(st.lists(ACTIONS, max_size=25), st.booleans(), st.sampled_from([MemoryEvents, SlowEvents]))
def test_a_client_gets_every_message_once_and_in_order(
    actions: list[str],
    is_primed: bool,  # noqa: FBT001 - hypothesis gives it
    store: type[MemoryEvents],
) -> None:
    asyncio.run(play(actions, store(), is_primed=is_primed))
