"""The same for a whole server and a whole client: no crash, no silence, nothing left running."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.pair import discovered, initialize, modern, notification, request, result
from tests.properties.strategies import damaged, encoded, nearly_messages, texts, values
from tests.transcripts.kite import make_server
from wigwag import Client
from wigwag.errors import McpError
from wigwag.schema import LEGACY_REVISIONS
from wigwag.transports.contract import Received
from wigwag.transports.memory import MemoryConnection, memory_pair

WIRE = logging.getLogger("wigwag.wire")
PATIENCE = 60.0
TOOLS = ["get_ticket", "count", "ask_model", "echo", "no_such"]

calls = st.builds(
    lambda id_, name, arguments, is_modern: request(
        id_,
        "tools/call",
        (modern() if is_modern else {}) | {"name": name, "arguments": arguments},
    ),
    st.integers(0, 9) | texts,
    st.sampled_from(TOOLS),
    values | st.fixed_dictionaries({}, optional={"text": values, "ticket_id": values}),
    st.booleans(),
)


@st.composite
def lines(draw: st.DrawFn) -> list[bytes]:
    """Draw what a peer says that knows no rules."""
    one = damaged() | (nearly_messages() | calls).flatmap(encoded)
    return [line.replace(b"\n", b" ") for line in draw(st.lists(one, max_size=8))]


@contextmanager
def unwatched() -> Iterator[None]:
    """Keep the messages from those who look for broken ones: here they are meant to be."""
    level = WIRE.level
    WIRE.setLevel(logging.INFO)
    try:
        yield
    finally:
        WIRE.setLevel(level)


class Stranger:
    """The other end: keeps what it hears, and answers if it is told how."""

    def __init__(self, connection: MemoryConnection) -> None:
        self.heard: list[Any] = []
        self.has_heard = asyncio.Event()
        self.answer: Callable[[Any], list[bytes]] = lambda _: []
        self._connection = connection
        connection.start(self)

    def messages_received(self, messages: Sequence[Received]) -> None:
        for data in messages:
            assert isinstance(data, bytes)
            message = json.loads(data)
            self.heard.append(message)
            self._connection.send(self.answer(message))
        self.has_heard.set()

    def end_of_input(self) -> None: ...

    def connection_lost(self, reason: Exception | None) -> None: ...

    async def wait_for_answer_to(self, id_: str) -> Any:
        while True:
            for message in self.heard:
                if isinstance(message, dict) and message.get("id") == id_:
                    return message
            self.has_heard.clear()
            await asyncio.wait_for(self.has_heard.wait(), PATIENCE)


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def and_look_around() -> None:
        await main()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with unwatched():
        asyncio.run(and_look_around())


@given(said=lines(), revision=st.sampled_from([None, *LEGACY_REVISIONS]))
def test_a_server_answers_whatever_was_said_before(said: list[bytes], revision: str | None) -> None:
    async def main() -> None:
        server = make_server()
        async with server.running():
            ours, theirs = memory_pair()
            served = server.start(ours)
            stranger = Stranger(theirs)
            if revision is not None:
                hello = initialize(revision, id_="hello")
                done = notification("notifications/initialized")
                theirs.send([json.dumps(hello).encode(), json.dumps(done).encode()])
            theirs.send(said)
            ask = request("still there?", "server/discover", modern())
            theirs.send([json.dumps(ask).encode()])
            answer = await stranger.wait_for_answer_to("still there?")
            assert answer["result"]["supportedVersions"] == ["2026-07-28"]
            await served.aclose()

    run(main)


@given(said=lines())
def test_a_client_gets_its_answer_or_an_error_of_ours_whatever_is_said_before(
    said: list[bytes],
) -> None:
    async def open_connection() -> MemoryConnection:
        ours, theirs = memory_pair()
        stranger = Stranger(theirs)
        strangers.append(stranger)

        def answer(message: Any) -> list[bytes]:
            if message.get("method") == "server/discover":
                return [json.dumps(result(message["id"], discovered())).encode()]
            if "id" not in message or "method" not in message:
                return []
            listed = {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            return [*said, json.dumps(result(message["id"], listed)).encode()]

        stranger.answer = answer
        return ours

    async def main() -> None:
        async with Client(open_connection) as client:
            try:
                tools = await asyncio.wait_for(client.list_tools(), PATIENCE)
            except McpError:
                pass
            else:
                assert isinstance(tools.tools, list)
        assert all("method" in message for stranger in strangers for message in stranger.heard)

    strangers: list[Stranger] = []
    run(main)
