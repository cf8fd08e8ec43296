"""Wigwag's client against server-everything over HTTP, as it is published on npm."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop import catalogue, conversation, services
from tests.interop.conversation import Exchange, Oracle, Record
from tests.interop.our_client import text_of
from wigwag import Client, RequestFailed
from wigwag.schema import (
    CreateMessageRequestParams,
    CreateMessageResult,
    LoggingMessageNotificationParams,
    TextContent,
)

pytestmark = [
    pytest.mark.anyio,
    # It answers `server/discover` without its id.
    pytest.mark.broken_messages("server", sometimes=True),
]

TEST_SECONDS: Final = 30
PATHS: Final = {"streamableHttp": "/mcp", "sse": "/sse"}


@pytest.fixture(scope="module", params=list(PATHS))
def everything(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of server-everything in one of its modes over HTTP."""
    [port] = services.free_ports(1)
    command = catalogue.published("server-everything", request.param)
    with services.running(command, {"PORT": str(port)}, announces=rf"on port {port}"):
        yield f"http://127.0.0.1:{port}{PATHS[request.param]}"


class Crossed:
    """What crossed between our client and the server."""

    def __init__(self, folder: Path) -> None:
        [self.messages] = conversation.read(folder)
        self.exchanges: list[Exchange] = conversation.read_exchanges(folder)

    def sent(self) -> list[Record]:
        """What we sent."""
        return [record for record in self.messages if record.sender == "client"]


@pytest.fixture
def connect(everything: str, tmp_path: Path, oracle: Oracle) -> Any:
    """Connects to it; afterwards every message we sent must have been right."""

    @asynccontextmanager
    async def connected(**options: Any) -> AsyncIterator[Client]:
        with services.tapped(tmp_path, everything) as url:
            async with asyncio.timeout(TEST_SECONDS), Client(url, **options) as client:
                yield client
        assert oracle.problems(Crossed(tmp_path).sent()) == []

    return connected


async def test_everything_is_found_whatever_it_speaks(connect: Any) -> None:
    async with connect() as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info.name == "mcp-servers/everything"
        assert len((await client.list_resources()).resources) == 7
        assert text_of(await client.call_tool("echo", {"message": "Grüße"})) == "Echo: Grüße"


async def test_it_is_asked_as_over_stdio(connect: Any) -> None:
    async with connect() as client:
        calls = [client.call_tool("get-sum", {"a": n, "b": 1}) for n in range(20)]
        assert [text_of(each) for each in await asyncio.gather(*calls)] == [
            f"The sum of {n} and 1 is {n + 1}." for n in range(20)
        ]
        weather = await client.call_tool("get-structured-content", {"location": "Chicago"})
        assert weather.structured_content["temperature"] == 36
        [text] = (await client.read_resource("demo://resource/dynamic/text/1")).contents
        assert text.text.startswith("Resource 1: This is a plaintext resource")
        [message] = (await client.get_prompt("args-prompt", {"city": "Oslo"})).messages
        assert message.content.text == "What's weather in Oslo?"
        with pytest.raises(RequestFailed) as caught:
            await client.read_resource("demo://nonesuch")
        assert caught.value.code == -32602


async def test_its_progress_arrives(connect: Any) -> None:
    seen: list[Any] = []
    async with connect() as client:
        result = await client.call_tool(
            "trigger-long-running-operation",
            {"duration": 0.2, "steps": 2},
            on_progress=lambda params: seen.append((params.progress, params.total)),
        )
    assert text_of(result).startswith("Long running operation completed")
    assert seen == [(1, 2), (2, 2)]


async def test_it_asks_the_user_the_model_and_for_roots(connect: Any, tmp_path: Path) -> None:
    async def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
        said = TextContent(text=f"{params.max_tokens} tokens are enough.")
        return CreateMessageResult(role="assistant", content=said, model="demo-model")

    async with connect(
        elicitation=lambda _: {"name": "Ada", "check": True}, sampling=sample, roots=[tmp_path]
    ) as client:
        form = await client.call_tool("trigger-elicitation-request")
        assert "- Name: Ada" in text_of(form)
        said = await client.call_tool("trigger-sampling-request", {"prompt": "What is it?"})
        assert "100 tokens are enough." in text_of(said)
        roots = await client.call_tool("get-roots-list")
        assert tmp_path.as_uri() in text_of(roots)


async def test_it_logs_and_tells_of_updates(connect: Any) -> None:
    logs: asyncio.Queue[LoggingMessageNotificationParams] = asyncio.Queue()
    uri = "demo://resource/dynamic/text/1"
    async with connect(on_log=logs.put_nowait) as client:
        await client.set_logging_level("debug")
        async with client.listen(uris=[uri]) as changes:
            message = await logs.get()
            said = f"Received Subscribe Resource request for URI: {uri} from session "
            assert message.data.startswith(said)
            await client.call_tool("toggle-subscriber-updates")
            change = await anext(changes)
            assert (change.method, change.uri) == ("notifications/resources/updated", uri)
            await client.call_tool("toggle-subscriber-updates")


async def test_its_session_is_ended(connect: Any, everything: str, tmp_path: Path) -> None:
    async with connect() as client:
        await client.ping()
    methods = Counter(each.method for each in Crossed(tmp_path).exchanges)
    assert methods["GET"] == 1
    assert methods["DELETE"] == (1 if everything.endswith("/mcp") else 0)
