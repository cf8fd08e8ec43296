"""Tasks of 2025-11-25, and requests of extensions."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.interaction.peers import EVERYTHING, PeerServer, client_of
from tests.watch import WireWatch
from wigwag import Client, RequestFailed, RequestTimedOut, Timeouts
from wigwag.errors import InvalidResult, LocalProtocolError
from wigwag.schema import ListToolsResult, PaginatedRequestParams

pytestmark = pytest.mark.anyio

TASK: Any = {
    "taskId": "t1",
    "status": "working",
    "statusMessage": "half way",
    "createdAt": "2025-11-25T10:00:00Z",
    "lastUpdatedAt": "2025-11-25T10:00:01Z",
    "ttl": 60000,
    "pollInterval": 500,
}
RELATED = {"io.modelcontextprotocol/related-task": {"taskId": "t1"}}
WITH_TASKS = {
    **EVERYTHING,
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}


async def test_a_tool_can_be_called_as_a_task_and_followed_to_its_end() -> None:
    peer = PeerServer("2025-11-25", capabilities=WITH_TASKS)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool_as_task("slow", {"n": 1}, ttl=60_000))
        asked = await peer.next("tools/call")
        assert asked["params"]["task"] == {"ttl": 60_000}
        assert asked["params"]["arguments"] == {"n": 1}
        peer.reply(asked, task=TASK)
        created = (await calling).task
        assert (created.task_id, created.status, created.ttl) == ("t1", "working", 60_000)

        getting = asyncio.create_task(client.get_task("t1"))
        asked = await peer.next("tasks/get")
        assert asked["params"]["taskId"] == "t1"
        peer.reply(asked, **{**TASK, "status": "completed", "ttl": None})
        got = await getting
        assert (got.status, got.status_message, got.ttl) == ("completed", "half way", None)

        fetching = asyncio.create_task(client.get_task_result("t1"))
        asked = await peer.next("tasks/result")
        peer.reply(asked, content=[{"type": "text", "text": "done"}], _meta=RELATED)
        assert (await fetching).text == "done"


async def test_tasks_can_be_listed_page_by_page_and_cancelled() -> None:
    peer = PeerServer("2025-11-25", capabilities=WITH_TASKS)
    async with client_of(peer) as client:
        listing = asyncio.create_task(client.list_tasks())
        peer.reply(await peer.next("tasks/list"), tasks=[TASK], nextCursor="2")
        asked = await peer.next("tasks/list")
        assert asked["params"]["cursor"] == "2"
        peer.reply(asked, tasks=[{**TASK, "taskId": "t2"}])
        assert [task.task_id for task in (await listing).tasks] == ["t1", "t2"]

        cancelling = asyncio.create_task(client.cancel_task("t2"))
        asked = await peer.next("tasks/cancel")
        peer.reply(asked, **{**TASK, "taskId": "t2", "status": "cancelled"})
        assert (await cancelling).status == "cancelled"


async def test_the_end_of_a_task_may_take_longer_than_other_answers() -> None:
    peer = PeerServer("2025-11-25", capabilities=WITH_TASKS)
    timeouts = Timeouts(request=0.05, ceiling=10, connect=10, probe=10)
    async with client_of(peer, timeouts=timeouts) as client:
        fetching = asyncio.create_task(client.get_task_result("t1"))
        asked = await peer.next("tasks/result")
        with pytest.raises(RequestTimedOut):
            await client.get_task("t1")
        peer.reply(asked, content=[], _meta=RELATED)
        assert (await fetching).content == []


async def test_a_task_that_failed_is_a_result_like_that_of_any_tool() -> None:
    peer = PeerServer("2025-11-25", capabilities=WITH_TASKS)
    async with client_of(peer) as client:
        fetching = asyncio.create_task(client.get_task_result("t1"))
        asked = await peer.next("tasks/result")
        peer.reply(asked, content=[{"type": "text", "text": "no"}], isError=True, _meta=RELATED)
        assert (await fetching).is_error is True
        fetching = asyncio.create_task(client.get_task_result("t9"))
        peer.refuse(await peer.next("tasks/result"), -32602, "Failed to retrieve task")
        with pytest.raises(RequestFailed, match="Failed to retrieve task"):
            await fetching


async def test_the_status_of_a_task_may_be_told() -> None:
    heard: list[Any] = []
    peer = PeerServer("2025-11-25", capabilities=WITH_TASKS)
    async with client_of(peer, on_notification=lambda _, params: heard.append(params)):
        peer.tell("notifications/tasks/status", {**TASK, "status": "input_required"})
        await peer.settle()
    assert [(params.task_id, params.status) for params in heard] == [("t1", "input_required")]


async def test_a_server_that_did_not_declare_tasks_is_not_asked_for_one(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        with pytest.raises(LocalProtocolError):
            await client.call_tool_as_task("slow")
        for ask in (client.get_task, client.get_task_result, client.cancel_task):
            with pytest.raises(LocalProtocolError):
                await ask("t1")
        assert peer.unread == []


async def test_a_server_that_runs_the_tool_at_once_has_not_made_a_task() -> None:
    peer = PeerServer("2025-11-25", capabilities=WITH_TASKS)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool_as_task("slow"))
        peer.reply(await peer.next("tools/call"), content=[])
        with pytest.raises(InvalidResult, match="answered with a result of type"):
            await calling


# --- what only extensions know


class Weather(msgspec.Struct):
    sky: str
    degrees: float = 0.0


async def test_an_extension_can_be_asked_and_its_result_read(
    revision: str, wire: WireWatch
) -> None:
    wire.allow_extensions("example.com/weather")
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        for result_type in (None, Weather):
            asking = asyncio.create_task(
                client.request(
                    "example.com/weather",
                    {"place": "Delft"},
                    result_type=result_type,
                    meta={"k": 1},
                )
            )
            asked = await peer.next("example.com/weather")
            assert asked["params"]["place"] == "Delft"
            assert asked["params"]["_meta"]["k"] == 1
            peer.reply(asked, sky="grey", more=[1])
            answer = await asking
            if result_type is None:
                assert (answer["sky"], answer["more"]) == ("grey", [1])
            else:
                assert answer == Weather("grey")


async def test_a_result_that_is_not_of_the_type_is_invalid(revision: str, wire: WireWatch) -> None:
    wire.allow_extensions("example.com/weather")
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        asking = asyncio.create_task(client.request("example.com/weather", result_type=Weather))
        peer.reply(await peer.next(), sky=5)
        with pytest.raises(InvalidResult, match="is not what was expected"):
            await asking


async def test_an_extension_that_the_server_lacks_is_its_answer(
    local_client: Client, wire: WireWatch
) -> None:
    wire.allow_extensions("example.com/weather")
    with pytest.raises(RequestFailed) as caught:
        await local_client.request("example.com/weather", {"place": "Delft"})
    assert caught.value.code == -32601


async def test_methods_of_the_protocol_can_be_asked_in_the_raw(local_client: Client) -> None:
    plain = await local_client.request("tools/list")
    assert plain["tools"][0]["name"] == "echo"
    typed = await local_client.request(
        "tools/list", PaginatedRequestParams(), result_type=ListToolsResult
    )
    assert typed.tools[0].name == "echo"


async def test_notifications_of_extensions_can_be_sent(revision: str, wire: WireWatch) -> None:
    wire.allow_extensions("example.com/knock")
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        await client.notify("example.com/knock")
        told = await peer.next("example.com/knock")
    assert "id" not in told
