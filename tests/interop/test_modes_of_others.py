"""Wigwag's client against servers of others that answer in JSON only, or that keep no sessions.

Such a server cannot do everything; what it can, our client gets.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from tests.interop import catalogue, conversation, our_client, services
from tests.interop.conversation import MODERN, Exchange, Oracle, Record
from wigwag.errors import RequestFailed
from wigwag.schema import LEGACY_REVISIONS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.broken_messages("server", sometimes=True),  # members of newer revisions
]

TEST_SECONDS: Final = 60
Kind = Literal["plain", "json", "stateless"]


@functools.cache
def served(peer: catalogue.Peer, kind: Kind) -> tuple[catalogue.Peer, Kind]:
    """A peer's server of a kind; always the same object, for the fixture is kept as long."""
    return peer, kind


def eras(kind: Kind) -> list[Any]:
    """Every peer's server of a kind, with each era that it speaks."""
    return [
        pytest.param(served(peer, kind), era, id=f"{peer.name}-{era}")
        for peer in catalogue.SDKS
        for era in ("modern", "legacy")
        if era in peer.eras
    ]


REVISIONS: Final = [
    pytest.param(served(peer, "plain"), revision, id=f"{peer.name}-{revision}")
    for peer in catalogue.SDKS
    for revision in (MODERN, *LEGACY_REVISIONS)
    if revision != MODERN or "modern" in peer.eras
]


class Visit:
    """Our client at a peer's server, and what crossed."""

    def __init__(self, client: our_client.Peer) -> None:
        self.ours = client
        self.messages: list[Record] = []
        self.exchanges: list[Exchange] = []


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a peer's server, for all the tests of its kind."""
    peer, kind = request.param
    with services.running(peer.http_server(kind), peer.environ) as (_, url):
        yield url


@pytest.fixture
def visit(server: str, tmp_path: Path, oracle: Oracle) -> Any:
    """Connects to the server; afterwards every message we sent must have been right."""

    @asynccontextmanager
    async def visited(mode: str) -> AsyncIterator[Visit]:
        with services.tapped(tmp_path, server) as before:
            made = Visit(our_client.Peer(before, mode=mode))
            async with asyncio.timeout(TEST_SECONDS), made.ours.client:
                yield made
        [made.messages] = conversation.read(tmp_path)
        made.exchanges = conversation.read_exchanges(tmp_path)
        sent = [record for record in made.messages if record.sender == "client"]
        assert oracle.problems(sent) == []
        assert conversation.problems_of("client", made.messages) == []

    return visited


async def look_around(ours: our_client.Peer) -> None:
    """Takes the steps that every server can serve."""
    assert {"echo", "add"} <= {tool["name"] for tool in await ours.tools()}
    assert (await ours.call("add", {"a": 2, "b": 3}))["text"] == "5"
    assert (await ours.call("fail", {}))["is_error"] is True
    calls = [ours.call("echo", {"text": f"number {n}"}) for n in range(20)]
    assert [each["text"] for each in await asyncio.gather(*calls)] == [
        f"number {n}" for n in range(20)
    ]
    assert await ours.read("demo://greeting") == [
        ["demo://greeting", "text/plain", "Hello, world!"]
    ]
    with pytest.raises(RequestFailed):
        await ours.read("demo://nonesuch")
    assert await ours.get("greet", {"name": "Ada"}) == [["user", "Please greet Ada."]]
    assert (await ours.complete("greet", "name", "A"))["values"] == ["Ada", "Alan"]


@pytest.mark.parametrize(("server", "era"), eras("json"), indirect=["server"], scope="module")
async def test_a_server_that_answers_in_json_only_is_used(visit: Any, era: str) -> None:
    seen: list[Any] = []

    async def on_progress(*args: Any) -> None:
        seen.append(args)

    async with visit(era) as visited:
        await look_around(visited.ours)
        result = await visited.ours.call("slow", {"seconds": 0.1, "steps": 2}, on_progress)
        assert result["text"] == "done"
    assert seen == []
    answers = [each for each in visited.exchanges if (each.method, each.status) == ("POST", 200)]
    assert {each.response["content-type"] for each in answers} == {"application/json"}


@pytest.mark.parametrize(("server", "era"), eras("stateless"), indirect=["server"], scope="module")
async def test_a_server_without_sessions_is_used(visit: Any, era: str) -> None:
    seen: list[Any] = []

    async def on_progress(*args: Any) -> None:
        seen.append(args)

    async with visit(era) as visited:
        await look_around(visited.ours)
        result = await visited.ours.call("slow", {"seconds": 0.1, "steps": 2}, on_progress)
        assert result["text"] == "done"
        if era == "modern":
            assert (await visited.ours.call("ask_name", {}))["text"].startswith("Hello, Ada")
    assert [(step, total) for step, total, _ in seen] == [(1, 2), (2, 2)]
    assert not [each for each in visited.exchanges if "mcp-session-id" in each.request]
    assert "DELETE" not in {each.method for each in visited.exchanges}


@pytest.mark.parametrize(("server", "revision"), REVISIONS, indirect=["server"], scope="module")
async def test_every_revision_can_be_insisted_on(visit: Any, revision: str) -> None:
    async with visit(revision) as visited:
        assert visited.ours.client.protocol_version == revision
        assert (await visited.ours.call("add", {"a": 2, "b": 3}))["text"] == "5"
        asked = await visited.ours.call("ask_roots", {})
        assert asked["text"] == '["file:///demo"]'
    # Only since 2025-06-18 do requests say what revision they are of.
    says = [each.request.get("mcp-protocol-version") for each in visited.exchanges]
    assert says[-1] == (revision if revision >= "2025-06-18" else None)
