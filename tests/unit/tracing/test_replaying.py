"""A recorded server, in the place of the real one."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.tracing.recordings import MODERN, Told
from wigwag import Client, RequestFailed
from wigwag.tracing.records import JunkRecord, RecordingError
from wigwag.tracing.replaying import ReplayServer
from wigwag.transports.memory import memory_pair

pytestmark = pytest.mark.anyio

TOOLS = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


class Host:
    """Somebody who speaks to a server in messages.

    Attributes:
        lost: Set once the server is gone.
    """

    def __init__(self, server: ReplayServer) -> None:
        ours, theirs = memory_pair()
        self._connection = ours
        self._said: asyncio.Queue[bytes] = asyncio.Queue()
        self.lost = asyncio.Event()
        self._serving = asyncio.ensure_future(server.serve(theirs))
        ours.start(self)

    async def __aenter__(self) -> "Host":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.aclose()
        await self._serving

    def says(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._connection.send([data])

    def asks(self, number: Any, method: str, params: Any = None) -> None:
        request = {"jsonrpc": "2.0", "id": number, "method": method}
        self.says(request if params is None else {**request, "params": params})

    async def hears(self) -> Any:
        return json.loads(await self.hears_bytes())

    async def hears_bytes(self) -> bytes:
        return await asyncio.wait_for(self._said.get(), 20)

    @property
    def hears_nothing(self) -> bool:
        return self._said.empty()

    def messages_received(self, messages: Any) -> None:
        for message in messages:
            self._said.put_nowait(message)

    def end_of_input(self) -> None:
        pass

    def connection_lost(self, reason: Exception | None) -> None:
        self.lost.set()


async def test_a_client_gets_the_answers_that_were_recorded(tmp_path: Path) -> None:
    told = Told()
    told.greets()
    told.asks(1, "tools/list")
    told.answers(1, TOOLS)
    told.asks(2, "tools/call", {"name": "add", "arguments": {"a": 1}})
    told.answers(2, text("2"))
    file = told.write(tmp_path / "trace.jsonl")
    async with Client(ReplayServer(file)) as client:
        assert client.revision == "2025-11-25"
        assert client.server_info is not None
        assert client.server_info.name == "library"
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
        assert (await client.call_tool("add", {"a": 1})).text == "2"
        with pytest.raises(RequestFailed, match=r"has arguments\.a 1, not 5"):
            await client.call_tool("add", {"a": 5})
        await client.ping()


async def test_a_modern_client_is_answered_in_its_era() -> None:
    told = Told()
    told.asks(1, "server/discover", {"_meta": MODERN})
    told.answers(
        1,
        {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
        },
    )
    told.asks(2, "tools/call", {"name": "add", "arguments": {}, "_meta": MODERN})
    told.answers(2, {"resultType": "complete", **text("2")})
    async with Client(ReplayServer(told.recording)) as client:
        assert client.revision == "2026-07-28"
        assert (await client.call_tool("add")).text == "2"


async def test_an_answer_keeps_every_digit_and_member_and_gets_the_id_of_who_asks() -> None:
    told = Told()
    told.asks(7, "x/y")
    told.says(
        "server",
        b'{"jsonrpc":"2.0", "id":7,"extra":1.0,"result":{"n":12345678901234567890,"f":2.0}}',
    )
    async with Host(ReplayServer(told.recording)) as host:
        host.asks("mine", "x/y")
        assert await host.hears_bytes() == (
            b'{"jsonrpc":"2.0","id":"mine","extra":1.0,"result":{"n":12345678901234567890,"f":2.0}}'
        )


async def test_progress_has_the_token_of_who_asks_and_none_goes_to_who_wants_none() -> None:
    told = Told()
    for number in (1, 2):
        told.asks(number, "tools/call", {"name": "slow", "_meta": {"progressToken": "p"}})
        told.notifies("notifications/progress", {"progressToken": "p", "progress": number})
        told.answers(number, text("done"))
    async with Host(ReplayServer(told.recording)) as host:
        host.asks(5, "tools/call", {"name": "slow", "_meta": {"progressToken": 50}})
        assert (await host.hears())["params"] == {"progressToken": 50, "progress": 1}
        assert (await host.hears())["id"] == 5
        host.asks(6, "tools/call", {"name": "slow"})
        assert (await host.hears())["id"] == 6


async def test_a_question_is_asked_and_its_answer_waited_for() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "ask"})
    told.asks(9, "roots/list", sender="server")
    told.answers(9, {"roots": []}, sender="client")
    told.answers(1, text("done"))
    async with Host(ReplayServer(told.recording)) as host:
        host.asks(5, "tools/call", {"name": "ask"})
        host.asks(6, "tools/call", {"name": "ask"})
        first, second = await host.hears(), await host.hears()
        assert (first["method"], first["id"], second["id"]) == ("roots/list", 9, "9-2")
        host.says({"jsonrpc": "2.0", "id": "9-2", "result": {"roots": []}})
        assert (await host.hears())["id"] == 6
        assert host.hears_nothing
        host.says({"jsonrpc": "2.0", "id": 9, "error": {"code": -1, "message": "no"}})
        assert (await host.hears())["id"] == 5


async def test_notifications_come_in_their_place() -> None:
    told = Told()
    told.greets()
    told.notifies("notifications/tools/list_changed")
    async with Host(ReplayServer(told.recording)) as host:
        host.asks(5, "initialize", {"protocolVersion": "2025-11-25"})
        assert (await host.hears())["id"] == 5
        host.says({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (await host.hears())["method"] == "notifications/tools/list_changed"


async def test_a_listener_is_told_under_its_own_id_and_nobody_who_does_not_listen() -> None:
    told = Told()
    key = "io.modelcontextprotocol/subscriptionId"
    told.asks(1, "subscriptions/listen", {"notifications": {}, "_meta": MODERN})
    told.asks(2, "tools/call", {"name": "grow", "_meta": MODERN})
    told.answers(2, text("grown"))
    told.notifies("notifications/tools/list_changed", {"_meta": {key: 1}})
    grow = {"name": "grow", "_meta": MODERN}
    async with Host(ReplayServer(told.recording)) as host:
        host.asks(4, "tools/call", grow)
        assert (await host.hears())["id"] == 4
        host.asks("l", "subscriptions/listen", {"notifications": {}, "_meta": MODERN})
        host.asks(5, "tools/call", grow)
        assert (await host.hears())["id"] == 5
        assert (await host.hears())["params"]["_meta"] == {key: "l"}


async def test_what_was_never_answered_is_refused_unless_faults_are_wanted() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "hang"})
    told.asks(2, "ping")
    told.answers(2, {})
    async with Host(ReplayServer(told.recording)) as host:
        host.asks(5, "tools/call", {"name": "hang"})
        assert "never answered this" in (await host.hears())["error"]["message"]
    async with Host(ReplayServer(told.recording, faults=True)) as host:
        host.asks(5, "tools/call", {"name": "hang"})
        host.asks(6, "ping")
        assert (await host.hears())["id"] == 6
        host.says(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        )
        assert host.hears_nothing


async def test_with_faults_junk_comes_again_and_the_crash() -> None:
    told = Told()
    told.records.append(JunkRecord(at=0.5, sender="server", text="Starting…"))
    told.asks(1, "ping")
    told.records.append(JunkRecord(at=told.tick(), sender="server", text="debug"))
    told.answers(1, {})
    told.asks(2, "tools/call", {"name": "crash"})
    told.ends(1)
    async with Host(ReplayServer(told.recording, faults=True)) as host:
        assert await host.hears_bytes() == "Starting…".encode()
        host.asks(1, "ping")
        assert await host.hears_bytes() == b"debug"
        assert (await host.hears())["id"] == 1
        host.asks(2, "tools/call", {"name": "crash"})
        await asyncio.wait_for(host.lost.wait(), 20)


async def test_a_request_that_is_taken_back_is_not_answered_any_more() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "ask"})
    told.asks(9, "roots/list", sender="server")
    told.answers(9, {"roots": []}, sender="client")
    told.answers(1, text("done"))
    async with Host(ReplayServer(told.recording)) as host:
        host.asks(5, "tools/call", {"name": "ask"})
        assert (await host.hears())["method"] == "roots/list"
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": 5}}
        host.says({"jsonrpc": "2.0", **cancelled})
        host.says({"jsonrpc": "2.0", "id": 9, "result": {"roots": []}})
        host.asks(6, "ping")
        assert (await host.hears())["id"] == 6
        assert host.hears_nothing


async def test_what_is_no_message_is_answered_with_an_error() -> None:
    async with Host(ReplayServer(Told().recording)) as host:
        for broken, code in (
            (b"{", -32700),
            (b"[5]", -32600),
            (b"{}", -32600),
            (b"[]", -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        ):
            host.says(broken)
            assert (await host.hears())["error"]["code"] == code
        host.says(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]')
        assert await host.hears() == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_the_time_that_the_server_took_is_taken_if_that_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "ask"})
    told.asks(9, "roots/list", sender="server")
    told.tick()
    told.answers(9, {"roots": []}, sender="client")
    told.tick()
    told.answers(1, text("done"))
    slept: list[float] = []
    sleep: Callable[[float], Any] = asyncio.sleep

    async def no_time(seconds: float) -> None:
        slept.append(seconds)
        await sleep(0)

    monkeypatch.setattr("wigwag.tracing.player.asyncio.sleep", no_time)
    async with Host(ReplayServer(told.recording, pace=0.5)) as host:
        host.asks(5, "tools/call", {"name": "ask"})
        await host.hears()
        host.says({"jsonrpc": "2.0", "id": 9, "result": {"roots": []}})
        await host.hears()
    # The second after the question is not the server's: it is what the client took.
    assert slept == [0.5, 1.0]


async def test_each_connection_begins_the_recording_anew() -> None:
    told = Told()
    for number, said in enumerate(("one", "two"), 1):
        told.asks(number, "tools/call", {"name": "next"})
        told.answers(number, text(said))
    server = ReplayServer(told.recording)
    for _ in range(2):
        async with Host(server) as host:
            host.asks(1, "tools/call", {"name": "next"})
            assert (await host.hears())["result"] == text("one")


async def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")
    with pytest.raises(RecordingError, match="is no recording"):
        ReplayServer(tmp_path / "x.jsonl")
    with pytest.raises(ValueError, match="makes no sense"):
        ReplayServer(Told().recording, pace=-1)
    with pytest.raises(ValueError, match="no transport 'carrier-pigeon'"):
        ReplayServer(Told().recording).run("carrier-pigeon")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs the path"):
        ReplayServer(Told().recording).run("unix")
