"""What goes wrong in a tool, and what the model, the client and the log are told."""

import re
from collections.abc import Callable

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import (
    Way,
    connected,
    error_of,
    text_of,
)
from wigwag import Client, RequestFailed, Server
from wigwag.schema import LATEST_MODERN

pytestmark = pytest.mark.anyio


async def test_a_deliberate_failure_reaches_the_model_with_its_text(client: Client) -> None:
    assert await error_of(client, "fail", {"text": "try KITE-142"}) == "try KITE-142"
    assert await error_of(client, "fail", {"text": ""}) == "ToolError"


@pytest.mark.parametrize("tool", ["crash", "crash_in_thread"])
async def test_a_crash_reaches_the_model_as_a_reference_into_the_log(
    revision: str, tool: str, log_text: Callable[[], str]
) -> None:
    async with Client(bazaar(), mode=revision) as client:
        text = await error_of(client, tool)
        assert await text_of(client, "echo", text="alive") == "alive"
    assert "secret" not in text
    assert "Traceback" not in text
    found = re.fullmatch(rf"{tool} failed: .*reference ([0-9a-f]{{8}}).*", text)
    assert found is not None, text
    assert f"tool {tool} failed (reference {found[1]})" in log_text()
    assert "ValueError: secret detail" in log_text()


async def test_a_crash_in_a_process_is_told_on_its_standard_error() -> None:
    lines: list[str] = []
    async with connected(Way("stdio", LATEST_MODERN), on_stderr=lines.append) as client:
        text = await error_of(client, "crash")
    reference = text.partition("reference ")[2][:8]
    told = "\n".join(lines)
    assert reference
    assert reference in told
    assert "ValueError: secret detail" in told


async def test_a_tool_may_refuse_the_request_itself(client: Client) -> None:
    with pytest.raises(RequestFailed) as caught:
        await client.call_tool("refuse")
    assert caught.value.code == -32050
    assert caught.value.message == "Closed today"
    assert caught.value.data == {"until": "Monday"}


async def test_a_tool_that_leaves_the_program_does_not(client: Client) -> None:
    assert "leave failed" in await error_of(client, "leave")
    assert "leave_async failed" in await error_of(client, "leave_async")
    assert await text_of(client, "echo", text="alive") == "alive"


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("give_nan", "NaN and infinity have no form in JSON"),
        ("give_infinities", "NaN and infinity have no form in JSON (at `$[0]`)"),
        ("give_lone_surrogate", "lone surrogate"),
        ("give_something_else", "not what the tool declares to return"),
        ("give_broken_struct", "not what the tool declares to return"),
        ("give_strange_object", "JSON has no form for object"),
    ],
)
async def test_what_cannot_be_sent_is_a_failure_of_the_tool(
    local_client: Client, tool: str, why: str
) -> None:
    text = await error_of(local_client, tool)
    assert text.startswith(f"{tool} failed: ")
    assert why in text
    assert await text_of(local_client, "echo", text="alive") == "alive"


async def test_the_text_of_a_failure_is_made_sendable(local_client: Client) -> None:
    assert await error_of(local_client, "fail_with_lone_surrogate") == "a?b"


async def test_a_tool_is_stopped_at_its_limit_and_the_model_is_told(client: Client) -> None:
    told = "take_too_long was stopped after its limit of 0.05 s"
    assert await error_of(client, "take_too_long") == told


async def test_a_plain_function_is_left_alone_at_its_limit_and_the_model_is_told(
    local_client: Client,
) -> None:
    told = "take_too_long_in_thread was stopped after its limit of 0.05 s"
    assert await error_of(local_client, "take_too_long_in_thread") == told
    await local_client.call_tool("unblock", {"name": "too long"})


async def test_a_timeout_of_the_tools_own_is_a_crash_like_any_other() -> None:
    server = Server("s")

    @server.tool(timeout=60)
    async def give_up() -> str:
        raise TimeoutError("the database")

    async with Client(server) as client:
        assert "give_up failed: an internal error" in await error_of(client, "give_up")


async def test_a_handler_runs_in_a_real_task(client: Client) -> None:
    assert await text_of(client, "timeout_inside") == "timed out in Task"
