"""What every connection keeps to, whatever carries its messages.

Each check gets a `Transport`, which opens the two ends of a connection, neither of them started.
`CHECKS` has them all; run every one on every transport.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple

from wigwag.bindings.lines import LineTooLong
from wigwag.errors import ConnectionClosed, TransportError
from wigwag.transports.contract import Connection, Received

PATIENCE: Final = 60.0
"""Seconds for what happens at once on a machine that has nothing else to do."""
AWHILE: Final = 0.05
"""Seconds in which something that must not happen would have happened."""
LIMIT: Final = 1000
"""Bytes of a message on a connection that is opened with a limit."""

Check = Callable[["Transport"], Awaitable[None]]


class Ends(NamedTuple):
    """The two ends of a connection."""

    client: Connection
    server: Connection


class Raw(NamedTuple):
    """A connection whose other end is nothing but bytes, which are read only when a check does.

    Attributes:
        connection: The end that is judged.
        reader: The bytes that it sends.
        end: Sends nothing more, and reads on.
        drop: Goes away without a word.
    """

    connection: Connection
    reader: asyncio.StreamReader
    end: Callable[[], None]
    drop: Callable[[], None]


@dataclass(frozen=True)
class Transport:
    """One way to carry messages.

    Attributes:
        name: What it is called in the names of the tests.
        open: Opens two ends; with the limit for messages, if one is given.
        open_raw: Opens the end that is judged, against bytes; `None` where there are none.
        has_limit: Whether it refuses messages that are too long.
        reads_on: Whether the judged end can be told that the peer sends nothing more, and send all
            the same.
    """

    name: str
    open: Callable[[int | None], AbstractAsyncContextManager[Ends]]
    open_raw: Callable[[], AbstractAsyncContextManager[Raw]] | None = None
    has_limit: bool = True
    reads_on: bool = True


class Recorder:
    """A receiver that writes down what it is told, and refuses what the contract forbids."""

    def __init__(self) -> None:
        self.messages: list[Received] = []
        self.is_ended = False
        self.losses: list[Exception | None] = []
        self.faults: list[str] = []
        self._news = asyncio.Event()

    def messages_received(self, messages: Sequence[Received]) -> None:
        if self.is_ended or self.losses:
            self.faults.append(f"{len(messages)} messages after the end")
        if not messages:
            self.faults.append("no messages, and told so")
        self.messages += messages
        self._news.set()

    def end_of_input(self) -> None:
        if self.is_ended or self.losses:
            self.faults.append("the end of the input after the end")
        self.is_ended = True
        self._news.set()

    def connection_lost(self, reason: Exception | None) -> None:
        self.losses.append(reason)
        self._news.set()

    async def wait_until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    async def wait_for(self, count: int) -> list[Received]:
        """Wait for so many messages, and return all there are."""
        await self.wait_until(lambda: len(self.messages) >= count)
        return self.messages

    async def wait_ended(self) -> None:
        """Wait for the end of the input, or of the connection."""
        await self.wait_until(lambda: self.is_ended or self.losses)

    async def wait_lost(self) -> Exception | None:
        """Wait for the end of the connection, and return its reason."""
        await self.wait_until(lambda: self.losses)
        assert self.faults == []
        (reason,) = self.losses
        return reason


def start(*connections: Connection) -> list[Recorder]:
    """Start connections, each with a recorder."""
    recorders = [Recorder() for _ in connections]
    for connection, recorder in zip(connections, recorders, strict=True):
        connection.start(recorder)
    return recorders


async def close(*connections: Connection) -> None:
    """Close connections, the last first, as one that is told to leave does."""
    async with asyncio.timeout(PATIENCE):
        for connection in reversed(connections):
            await connection.aclose()


def text(value: str) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def numbered(count: int, size: int = 0) -> list[bytes]:
    return [b'"%d %b"' % (number, b"x" * size) for number in range(count)]


# --- carrying messages


async def messages_arrive_in_order_both_ways(transport: Transport) -> None:
    async with transport.open(None) as ends:
        recorders = start(*ends)
        for message in numbered(100):
            for connection in ends:
                connection.send([message])
        for connection in ends:
            connection.send(numbered(10))
        for recorder in recorders:
            assert await recorder.wait_for(110) == numbered(100) + numbered(10)
        await close(*ends)


async def many_small_messages_all_arrive(transport: Transport) -> None:
    async with transport.open(None) as ends:
        recorders = start(*ends)
        for connection in ends:
            connection.send(numbered(20_000))
        for recorder in recorders:
            assert await recorder.wait_for(20_000) == numbered(20_000)
        await close(*ends)


async def a_message_of_ten_megabytes_arrives_whole(transport: Transport) -> None:
    huge = text("x" * 10_000_000)
    async with transport.open(None) as ends:
        recorders = start(*ends)
        for connection in ends:
            connection.send([b'"before"', huge, b'"after"'])
            connection.send([huge])
        for recorder in recorders:
            assert await recorder.wait_for(4) == [b'"before"', huge, b'"after"', huge]
        await close(*ends)


async def no_character_but_the_line_feed_divides_messages(transport: Transport) -> None:
    odd = text("a\u2028b\u2029c\x85d\x7f é 中 🎉")
    messages = [odd, rb'"\n\r\u2028"', b'"\xc2\x85\xe2\x80\xa8"', b'{"a" :\t1 }', b'"\x0b\x0c\x1c"']
    async with transport.open(None) as ends:
        recorders = start(*ends)
        for connection in ends:
            connection.send(messages)
        for recorder in recorders:
            assert await recorder.wait_for(len(messages)) == messages
        await close(*ends)


async def a_message_with_line_feeds_in_it_stays_one(transport: Transport) -> None:
    pretty = json.dumps({"a": [1, {"b": "x\ny"}], "c": {}}, indent=2).encode()
    async with transport.open(None) as ends:
        recorders = start(*ends)
        for connection in ends:
            connection.send([b"1", pretty, b"2"])
            connection.send([pretty])
        for recorder in recorders:
            received = [json.loads(bytes(m)) for m in await recorder.wait_for(4)]  # type: ignore[arg-type]
            assert received == [1, json.loads(pretty), 2, json.loads(pretty)]
        await close(*ends)


async def what_is_sent_before_the_start_is_delivered_after_it(transport: Transport) -> None:
    async with transport.open(None) as ends:
        (client,) = start(ends.client)
        ends.client.send(numbered(3))
        # An answer shows that they are there, wherever the other end keeps them.
        early = Recorder()
        late = asyncio.Event()
        asyncio.get_running_loop().call_later(AWHILE, late.set)
        await late.wait()
        ends.client.send([b'"and"'])
        ends.server.start(early)
        ends.client.send([b'"more"'])
        assert await early.wait_for(5) == [*numbered(3), b'"and"', b'"more"']
        ends.server.send([b'"answer"'])
        assert await client.wait_for(1) == [b'"answer"']
        await close(*ends)


async def what_arrives_in_the_turn_of_the_start_keeps_its_place(transport: Transport) -> None:
    # Many pieces are on their way while the receiver comes: none may overtake another.
    loop = asyncio.get_running_loop()
    for turns, is_soon in product(range(6), (False, True)):
        async with transport.open(None) as ends:
            start(ends.client)
            recorder = Recorder()
            for turn, message in enumerate(numbered(12)):
                ends.client.send([message])
                if turn == turns and is_soon:  # in a turn in which something can be read, too
                    loop.call_soon(ends.server.start, recorder)
                elif turn == turns:
                    ends.server.start(recorder)
                turned = asyncio.Event()
                loop.call_soon(turned.set)
                await turned.wait()
            assert await recorder.wait_for(12) == numbered(12)
            await close(*ends)


async def an_overlong_message_is_reported_in_its_place(transport: Transport) -> None:
    if not transport.has_limit:
        return
    fits, overlong = text("x" * (LIMIT - 2)), text("x" * (LIMIT - 1))
    async with transport.open(LIMIT) as ends:
        recorders = start(*ends)
        for connection in ends:
            connection.send([b'"before"', overlong, fits])
            connection.send([text("y" * 300_000), b'"after"'])
        for recorder in recorders:
            before, long, whole, longer, after = await recorder.wait_for(5)
            assert (before, whole, after) == (b'"before"', fits, b'"after"')
            assert isinstance(long, LineTooLong)
            assert isinstance(longer, LineTooLong)
            assert (long.limit, longer.limit) == (LIMIT, LIMIT)
            assert overlong.startswith(long.head)
            assert longer.head.startswith(b'"yyyy')
        await close(*ends)


# --- the end


async def what_was_sent_before_the_close_still_arrives(transport: Transport) -> None:
    for closing in (0, 1):
        async with transport.open(None) as ends:
            recorders = start(*ends)
            ends[closing].send(numbered(50, 10_000))
            async with asyncio.timeout(PATIENCE):
                await ends[closing].aclose()
            assert await recorders[1 - closing].wait_for(50) == numbered(50, 10_000)
            await close(*ends)


async def a_client_learns_once_that_the_server_has_closed(transport: Transport) -> None:
    async with transport.open(None) as ends:
        client, server = start(*ends)
        ends.server.send([b'"last"'])
        await close(ends.server)
        # It does nothing for that: calls that wait are failed by this, and by nothing else.
        assert isinstance(await client.wait_lost(), ConnectionClosed)
        assert client.messages == [b'"last"']
        assert await server.wait_lost() is None
        await close(*ends)
        assert (len(client.losses), len(server.losses)) == (1, 1)


async def a_server_learns_that_the_client_has_closed(transport: Transport) -> None:
    async with transport.open(None) as ends:
        client, server = start(*ends)
        ends.client.send([b'"last"'])
        await close(ends.client)
        assert await client.wait_lost() is None
        await server.wait_ended()
        assert server.messages == [b'"last"']
        await close(*ends)
        reason = await server.wait_lost()
        assert reason is None or isinstance(reason, ConnectionClosed)
        assert (len(client.losses), len(server.losses)) == (1, 1)


async def an_end_before_the_start_is_told_after_it(transport: Transport) -> None:
    async with transport.open(None) as ends:
        start(ends.server)
        ends.server.send([b'"last words"'])
        await close(ends.server)
        late = asyncio.Event()
        asyncio.get_running_loop().call_later(AWHILE, late.set)
        await late.wait()
        (client,) = start(ends.client)
        assert isinstance(await client.wait_lost(), ConnectionClosed)
        assert client.messages == [b'"last words"']
        await close(*ends)


async def sending_after_the_end_does_nothing(transport: Transport) -> None:
    for closing in (0, 1):
        async with transport.open(None) as ends:
            recorders = start(*ends)
            async with asyncio.timeout(PATIENCE):
                await ends[closing].aclose()
                await recorders[1 - closing].wait_ended()
                for connection in ends:
                    connection.send([b'"too late"'])
                    connection.send(numbered(3, 100_000))
                    await connection.drain()
            await close(*ends)
            for recorder in recorders:
                assert recorder.messages == []
                await recorder.wait_lost()


async def it_can_be_closed_twice_and_by_several_tasks(transport: Transport) -> None:
    async with transport.open(None) as ends:
        recorders = start(*ends)
        for connection in ends:
            connection.send([b'"x"'])
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for connection in (*ends, *ends):
                group.create_task(connection.aclose())
        await close(*ends)
        for recorder in recorders:
            await recorder.wait_lost()


async def a_cancelled_close_closes_all_the_same(transport: Transport) -> None:
    async with transport.open(None) as ends:
        recorders = start(*ends)
        for connection in ends:
            closing = asyncio.ensure_future(connection.aclose())
            await asyncio.wait({closing}, timeout=0)
            closing.cancel()
            await asyncio.wait({closing})
        for recorder in recorders:
            await recorder.wait_lost()
        await close(*ends)


async def one_that_was_never_started_can_be_closed(transport: Transport) -> None:
    async with transport.open(None) as ends:
        await close(*ends)


async def an_abort_ends_both_ends_at_once(transport: Transport) -> None:
    for aborting in (0, 1):
        async with transport.open(None) as ends:
            recorders = start(*ends)
            ends[aborting].abort()
            ends[aborting].abort()
            assert await recorders[aborting].wait_lost() is None
            await recorders[1 - aborting].wait_ended()
            await close(*ends)
            await recorders[1 - aborting].wait_lost()
            assert [len(recorder.losses) for recorder in recorders] == [1, 1]


async def one_that_was_ended_before_the_start_says_so_after_it(transport: Transport) -> None:
    for ending in (0, 1):
        async with transport.open(None) as ends:
            ends[ending].abort()
            (recorder,) = start(ends[ending])
            assert await recorder.wait_lost() is None
            assert recorder.messages == []
            await close(*ends)


# --- a peer that does not read, or that goes away without a word


async def drain_waits_for_a_peer_that_does_not_read(transport: Transport) -> None:
    if transport.open_raw is None:
        return
    async with transport.open_raw() as (connection, reader, _, _):
        start(connection)
        async with asyncio.timeout(PATIENCE):
            await connection.drain()  # nothing has been sent
        connection.send(numbered(16, 1_000_000))
        draining = asyncio.ensure_future(connection.drain())
        done, _ = await asyncio.wait({draining}, timeout=AWHILE)
        assert not done
        async with asyncio.timeout(PATIENCE):
            await reader.readexactly(16_000_000)
            await draining
        await close(connection)


async def drain_returns_when_the_connection_is_gone(transport: Transport) -> None:
    if transport.open_raw is None:
        return
    async with transport.open_raw() as (connection, *_):
        start(connection)
        connection.send(numbered(16, 1_000_000))
        draining = asyncio.ensure_future(connection.drain())
        done, _ = await asyncio.wait({draining}, timeout=AWHILE)
        assert not done
        connection.abort()
        async with asyncio.timeout(PATIENCE):
            await draining
        await close(connection)


async def a_peer_that_does_not_read_cannot_hold_up_the_close(transport: Transport) -> None:
    if transport.open_raw is None:
        return
    async with transport.open_raw() as (connection, *_):
        (recorder,) = start(connection)
        connection.send(numbered(16, 1_000_000))
        await close(connection)
        assert await recorder.wait_lost() is None


async def what_is_sent_after_the_end_of_the_input_still_arrives(transport: Transport) -> None:
    if transport.open_raw is None or not transport.reads_on:
        return
    async with transport.open_raw() as (connection, reader, end, _):
        (recorder,) = start(connection)
        end()
        await recorder.wait_ended()
        connection.send([b'"the answer"'])
        async with asyncio.timeout(PATIENCE):
            assert b'"the answer"' in await reader.read(1000)
        assert recorder.losses == []
        await close(connection)
        assert await recorder.wait_lost() is None


async def a_peer_that_drops_the_connection_is_a_reason(transport: Transport) -> None:
    if transport.open_raw is None:
        return
    async with transport.open_raw() as (connection, _, _, drop):
        (recorder,) = start(connection)
        connection.send(numbered(16, 1_000_000))  # what is under way is lost with it
        drop()
        reason = await recorder.wait_lost()
        assert isinstance(reason, TransportError)
        assert str(reason)
        connection.send([b'"too late"'])
        await close(connection)
        assert len(recorder.losses) == 1


CHECKS: Final[tuple[Check, ...]] = (
    messages_arrive_in_order_both_ways,
    many_small_messages_all_arrive,
    a_message_of_ten_megabytes_arrives_whole,
    no_character_but_the_line_feed_divides_messages,
    a_message_with_line_feeds_in_it_stays_one,
    what_is_sent_before_the_start_is_delivered_after_it,
    what_arrives_in_the_turn_of_the_start_keeps_its_place,
    an_overlong_message_is_reported_in_its_place,
    what_was_sent_before_the_close_still_arrives,
    a_client_learns_once_that_the_server_has_closed,
    a_server_learns_that_the_client_has_closed,
    an_end_before_the_start_is_told_after_it,
    sending_after_the_end_does_nothing,
    it_can_be_closed_twice_and_by_several_tasks,
    a_cancelled_close_closes_all_the_same,
    one_that_was_never_started_can_be_closed,
    an_abort_ends_both_ends_at_once,
    one_that_was_ended_before_the_start_says_so_after_it,
    drain_waits_for_a_peer_that_does_not_read,
    drain_returns_when_the_connection_is_gone,
    a_peer_that_does_not_read_cannot_hold_up_the_close,
    what_is_sent_after_the_end_of_the_input_still_arrives,
    a_peer_that_drops_the_connection_is_a_reason,
)
