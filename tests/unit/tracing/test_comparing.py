"""What a server answers otherwise than one that was recorded."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.tracing.recordings import MODERN, Told
from wigwag import Context, ServerStartFailed
from wigwag import Server as WigwagServer
from wigwag.errors import TransportError
from wigwag.tracing.comparing import Comparison, Outcome, compare_recordings, replay_against
from wigwag.tracing.records import MessageRecord
from wigwag.tracing.redaction import REDACTED
from wigwag.tracing.replaying import ReplayServer

pytestmark = pytest.mark.anyio


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def told_sum(said: str = "3", **arguments: Any) -> Told:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "add", "arguments": arguments or {"a": 1, "b": 2}})
    told.answers(1, text(said))
    return told


def library() -> WigwagServer:
    server = WigwagServer("library", version="2.0")

    @server.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    return server


def otherwise(comparison: Comparison) -> dict[str, list[str]]:
    """Where the answers differ, by method."""
    return {
        outcome.method: [each.path for each in outcome.differences]
        for outcome in comparison.outcomes
        if not outcome.is_alike
    }


async def test_a_server_that_answers_the_same_is_alike() -> None:
    told = told_sum()
    told.asks("u", "tools/call", {"name": "slow", "_meta": {"progressToken": "p"}})
    told.notifies("notifications/progress", {"progressToken": "p", "progress": 1})
    told.asks(9, "roots/list", sender="server")
    told.answers(9, {"roots": []}, sender="client")
    told.notifies("notifications/message", {"level": "info", "data": "x"})
    told.answers("u", text("done"))
    told.notifies("notifications/tools/list_changed")
    comparison = await replay_against(told.recording, ReplayServer(told.recording))
    assert comparison.is_alike, comparison
    assert [outcome.id for outcome in comparison.outcomes if outcome.id is not None] == [0, 1, "u"]
    assert len(comparison.outcomes) == 6


async def test_each_difference_is_named_with_both_sides() -> None:
    comparison = await replay_against(
        told_sum("4").recording, library(), ignore=["capabilities", "structuredContent"]
    )
    assert not comparison.is_alike
    (outcome,) = [each for each in comparison.outcomes if not each.is_alike]
    assert (outcome.method, outcome.subject, outcome.id, outcome.at) == ("tools/call", "add", 1, 4)
    (difference,) = outcome.differences
    assert difference.path == "result.content[0].text"
    assert (difference.recorded, difference.now) == ("4", "3")


async def test_an_error_in_the_place_of_a_result_is_a_difference() -> None:
    told = told_sum()
    told.refuses(5, 1, "no request has this id")
    told.asks(2, "prompts/get", {"name": "x"})
    told.answers(2, {"messages": []})
    found = otherwise(await replay_against(told.recording, library(), ignore=["capabilities"]))
    assert found["prompts/get"] == ["result", "error"]


async def test_what_a_server_makes_up_is_given_back_as_it_is_this_time() -> None:
    def book(state: str, cursor: str) -> Told:
        told = Told()
        told.greets()
        told.asks(1, "tools/list", {})
        told.answers(1, {"tools": [], "nextCursor": cursor})
        told.asks(2, "tools/list", {"cursor": cursor})
        told.answers(2, {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]})
        told.asks(3, "tools/call", {"name": "book"})
        told.answers(3, {"task": {"taskId": state, "createdAt": cursor}})
        told.asks(4, "tasks/get", {"taskId": state})
        told.answers(4, {"taskId": state, "status": "working"})
        return told

    then, now = book("s1", "c1"), book("s2", "c2")
    comparison = await replay_against(then.recording, ReplayServer(now.recording))
    assert comparison.is_alike, otherwise(comparison)


async def test_progress_and_notifications_that_are_missing_or_new_are_differences() -> None:
    told = told_sum()
    told.asks(2, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}})
    told.answers(2, text("2"))
    told.notifies("notifications/resources/list_changed")
    then = Told()
    then.greets()
    then.asks(1, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": {}})
    then.answers(1, text("3"))
    then.asks(
        2,
        "tools/call",
        {"name": "add", "arguments": {"a": 1, "b": 1}, "_meta": {"progressToken": 5}},
    )
    then.notifies("notifications/progress", {"progressToken": 5, "progress": 1})
    then.answers(2, text("2"))
    comparison = await replay_against(then.recording, ReplayServer(told.recording))
    assert otherwise(comparison) == {
        "tools/call": ["notifications/progress[0]"],
        "notifications/resources/list_changed": ["notifications/resources/list_changed[0]"],
    }
    ignored = await replay_against(
        then.recording,
        ReplayServer(told.recording),
        ignore=["notifications/progress", "notifications/resources/list_changed"],
    )
    assert ignored.is_alike


async def test_what_the_server_asks_is_answered_as_the_recorded_client_did() -> None:
    server = WigwagServer("library", version="2.0")

    @server.tool
    async def where(ctx: Context) -> str:
        """Tell where."""
        roots = await ctx.list_roots()
        return str(roots[0].uri)

    told = Told()
    info = {"name": "host", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": info}
    told.asks(0, "initialize", hello)
    told.answers(0, {"protocolVersion": "2025-11-25"})
    told.notifies("notifications/initialized", sender="client")
    told.asks(1, "tools/call", {"name": "where"})
    told.asks(9, "roots/list", sender="server")
    told.answers(9, {"roots": [{"uri": "file:///recorded"}]}, sender="client")
    told.answers(1, text("file:///recorded"))
    comparison = await replay_against(
        told.recording, server, ignore=["initialize:result", "structuredContent"]
    )
    assert comparison.is_alike, otherwise(comparison)


async def test_a_modern_recording_is_played_to_a_modern_server() -> None:
    told = Told()
    call = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": MODERN}
    told.asks(1, "tools/call", call)
    told.answers(1, {"resultType": "complete", **text("3")})
    comparison = await replay_against(
        told.recording, library(), ignore=["_meta", "structuredContent"]
    )
    assert comparison.is_alike, otherwise(comparison)


async def test_the_order_in_time_is_that_of_the_recording() -> None:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "a"})
    told.asks(2, "tools/call", {"name": "b"})
    told.answers(2, {})
    told.asks(3, "tools/call", {"name": "c"})
    told.answers(1, {})
    told.answers(3, {})
    comparison = await replay_against(told.recording, ReplayServer(told.recording))
    records = comparison.recording.records
    said = [json.loads(bytes(r.message)) for r in records if isinstance(r, MessageRecord)]
    asked = [each["params"]["name"] for each in said if each.get("method") == "tools/call"]
    assert asked == ["a", "b", "c"]
    b_answered = said.index(next(each for each in said if each.get("id") == 3 and "result" in each))
    c_asked = said.index(next(each for each in said if each.get("id") == 4))
    assert b_answered < c_asked


async def test_what_was_cancelled_is_cancelled_again_under_its_new_id() -> None:
    told = Told()
    told.greets()
    told.asks("slow", "tools/call", {"name": "a"})
    told.notifies("notifications/cancelled", {"requestId": "slow"}, sender="client")
    told.asks(2, "ping")
    told.answers(2, {})
    comparison = await replay_against(told.recording, ReplayServer(told.recording, faults=True))
    assert comparison.is_alike
    records = comparison.recording.records
    said = [json.loads(bytes(r.message)) for r in records if isinstance(r, MessageRecord)]
    (cancelled,) = [each for each in said if each.get("method") == "notifications/cancelled"]
    assert cancelled["params"] == {"requestId": 2}


async def test_no_answer_in_time_is_told_and_the_rest_is_played() -> None:
    told = told_sum()
    told.asks(2, "ping")
    told.answers(2, {})
    silent = Told()
    silent.greets()
    silent.asks(1, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    comparison = await replay_against(
        told.recording, ReplayServer(silent.recording, faults=True), timeout=1.0
    )
    assert [(each.method, each.failure) for each in comparison.outcomes] == [
        ("initialize", ""),
        ("tools/call", "no answer within 1 s"),
        ("ping", ""),
    ]


async def test_a_server_that_leaves_is_told_for_all_that_was_still_to_come() -> None:
    told = told_sum()
    told.asks(2, "ping")
    told.answers(2, {})
    crashing = Told()
    crashing.greets()
    crashing.asks(1, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    crashing.ends(1)
    comparison = await replay_against(told.recording, ReplayServer(crashing.recording, faults=True))
    assert [bool(each.failure) for each in comparison.outcomes] == [False, True, True]


async def test_a_server_that_never_answers_anything_is_a_failure_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text("raise SystemExit(7)")
    with pytest.raises(TransportError, match="exited with code 7"):
        await replay_against(told_sum().recording, program)
    with pytest.raises(ServerStartFailed):
        await replay_against(told_sum().recording, [str(tmp_path / "missing")])


async def test_what_was_taken_out_of_the_recording_is_named() -> None:
    told = told_sum(a=1, b=REDACTED)
    comparison = await replay_against(told.recording, ReplayServer(told.recording))
    assert comparison.redacted == ["tools/call add"]


async def test_what_is_to_be_ignored_must_make_sense_before_anything_is_asked() -> None:
    with pytest.raises(ValueError, match="is no path"):
        await replay_against(told_sum().recording, ReplayServer(told_sum().recording), ignore=[""])


def test_two_recordings_are_compared_request_by_request() -> None:
    then, now = told_sum("3"), told_sum("4")
    then.asks(2, "ping")
    then.answers(2, {})
    outcomes = compare_recordings(then.recording, now.recording)
    assert [(each.method, each.is_alike, each.failure) for each in outcomes] == [
        ("initialize", True, ""),
        ("tools/call", False, ""),
        ("ping", False, "it was not asked"),
    ]
    assert compare_recordings(then.recording, then.recording, ignore=["text"])[0] == Outcome(
        method="initialize", id=0, at=1.0
    )


async def test_the_caller_may_give_up_at_any_time() -> None:
    told = told_sum()
    silent = ReplayServer(_silent().recording, faults=True)
    playing = asyncio.ensure_future(replay_against(told.recording, silent))
    await asyncio.sleep(0)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing


def _silent() -> Told:
    told = Told()
    told.asks(1, "initialize", {})
    return told


IDS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    for number in ([1], {}, 1.5, None, message.get("id")):
        print(json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}), flush=True)
"""


async def test_answers_with_ids_that_are_none_answer_nothing() -> None:
    told = Told()
    told.asks(1, "ping")
    told.answers(1, {})
    comparison = await replay_against(told.recording, [sys.executable, "-S", "-c", IDS])
    assert comparison.is_alike, otherwise(comparison)
