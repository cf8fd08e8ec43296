"""What was recorded of a published server, played again: in its place, and against itself."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop import catalogue
from wigwag import Client, ReplayServer, replay_against
from wigwag.schema import ProgressNotificationParams

pytestmark = pytest.mark.anyio

TEST_SECONDS: Final = 60
EVERYTHING: Final = "server-everything"


async def visit(target: Any) -> list[Any]:
    """Use a server, and return what it said."""
    said: list[Any] = []

    def note(progress: ProgressNotificationParams) -> None:
        said.append(progress.progress)

    async with Client(target, roots=["/tmp"]) as client:
        said.append(client.revision)
        said.append([tool.name for tool in (await client.list_tools()).tools])
        said.append((await client.call_tool("echo", {"message": "ahoy"})).text)
        said.append((await client.call_tool("get-tiny-image", {})).content)
        slow = {"duration": 0.2, "steps": 2}
        await client.call_tool("trigger-long-running-operation", slow, on_progress=note)
        said.append([prompt.name for prompt in (await client.list_prompts()).prompts])
        said.append((await client.get_prompt("simple-prompt")).messages)
        said.append((await client.list_resources()).resources)
    return said


async def test_a_recorded_server_says_what_it_said_to_whoever_asks(tmp_path: Path) -> None:
    recording = tmp_path / "trace.jsonl"
    server = catalogue.published(EVERYTHING)
    wigwag = [sys.executable, "-m", "wigwag"]
    traced = [*wigwag, "trace", "--quiet", "--out", str(recording), "--", *server]
    async with asyncio.timeout(TEST_SECONDS):
        said = await visit(traced)
        assert said[0] == "2025-11-25"
        assert await visit(ReplayServer(recording)) == said
        assert await visit([*wigwag, "replay", str(recording)]) == said
        comparison = await replay_against(recording, server, env={"PATH": os.environ["PATH"]})
    otherwise = [outcome for outcome in comparison.outcomes if not outcome.is_alike]
    # It tells of its tools once for each that it adds, and asks for roots when it gets round to it.
    requests = [outcome for outcome in otherwise if outcome.id is not None]
    assert requests == []
    assert len(comparison.outcomes) >= 9
