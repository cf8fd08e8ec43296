"""Handlers that end as no handler should: each is answered, and the server lives."""

import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.interaction.connecting import TIMEOUTS, serving_http, text_of, texts
from tests.interaction.rascals import DEEDS, outcome_of, rascals
from wigwag import Client, RequestFailed
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    REVISIONS,
    PromptReference,
)

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("rascals.py")
WAYS = [
    *(("memory", revision) for revision in REVISIONS),
    *((transport, r) for transport in ("http", "stdio") for r in (LATEST_LEGACY, LATEST_MODERN)),
]


@asynccontextmanager
async def connected(transport: str, revision: str, **options: Any) -> AsyncIterator[Client]:
    options = {"mode": revision, "timeouts": TIMEOUTS, **options}
    if transport == "memory":
        async with Client(rascals(), **options) as client:
            yield client
    elif transport == "stdio":
        async with Client([sys.executable, str(PROGRAM)], **options) as client:
            yield client
    else:
        async with (
            serving_http(rascals()) as origin,
            Client(f"{origin}/mcp", **options) as client,
        ):
            yield client


@pytest.mark.parametrize(("transport", "revision"), WAYS)
@pytest.mark.parametrize("tool", ["in_task", "in_thread", "on_loop", "later"])
async def test_a_tool_may_end_as_it_likes(transport: str, revision: str, tool: str) -> None:
    async with connected(transport, revision) as client:
        for deed in DEEDS:
            code, text = outcome_of(deed)
            if code != -32603:
                with pytest.raises(RequestFailed) as caught:
                    await client.call_tool(tool, {"deed": deed})
                assert caught.value.code == code
                assert caught.value.data == {"until": "Monday"}
                continue
            result = await client.call_tool(tool, {"deed": deed})
            assert result.is_error is True, deed
            (found,) = texts(result)
            expected = text.replace("Internal", f"{tool} failed: an internal")
            assert re.fullmatch(expected, found), (deed, found)
        assert await text_of(client, "echo", text="alive") == "alive"


@pytest.mark.parametrize(("transport", "revision"), WAYS)
@pytest.mark.parametrize("how", ["in_task", "in_thread"])
@pytest.mark.parametrize("kind", ["resource", "prompt", "completion"])
async def test_any_other_handler_may_end_as_it_likes(
    transport: str, revision: str, how: str, kind: str
) -> None:
    if kind == "completion" and revision == "2024-11-05":
        kind = "prompt"
    async with connected(transport, revision) as client:
        for deed in DEEDS:
            code, text = outcome_of(deed)
            reference = PromptReference(name=f"prompt_{how}")
            asking: dict[str, Callable[[], Awaitable[Any]]] = {
                "resource": partial(client.read_resource, f"{how.removeprefix('in_')}://{deed}"),
                "prompt": partial(client.get_prompt, f"prompt_{how}", {"deed": deed}),
                "completion": partial(client.complete, reference, "deed", deed),
            }
            with pytest.raises(RequestFailed) as caught:
                await asking[kind]()
            assert caught.value.code == code, deed
            assert re.fullmatch(text, caught.value.message), (deed, caught.value.message)
        assert await text_of(client, "echo", text="alive") == "alive"


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_what_a_handler_has_left_behind_fails_alone(revision: str) -> None:
    lines: list[str] = []
    async with connected("stdio", revision, on_stderr=lines.append) as client:
        assert await text_of(client, "leave_behind", deed="crash_unprintably") == "left"
        assert await text_of(client, "echo", text="alive") == "alive"
    assert "Task exception was never retrieved" in "\n".join(lines)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_tool_that_ignores_its_limit_is_answered_with_what_it_returns(
    revision: str,
) -> None:
    async with connected("memory", revision) as client:
        assert await text_of(client, "ignore_cancellation") == "I do not mind"


async def test_nothing_of_it_reaches_the_client_but_the_log_has_it_all() -> None:
    lines: list[str] = []
    async with connected("stdio", LATEST_MODERN, on_stderr=lines.append) as client:
        result = await client.call_tool("in_task", {"deed": "leave_together"})
    assert "secret" not in result.text
    told = "\n".join(lines)
    assert "secret detail" in told
    assert result.text.partition("reference ")[2][:8] in told
