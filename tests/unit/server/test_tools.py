import asyncio
import json
import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec import UNSET, Raw

from tests.unit.server.house import NEWEST, NO_CONNECTION, House, function_of, request
from wigwag.errors import RequestFailed, ToolError
from wigwag.schema import (
    CallToolResult,
    TextContent,
    Tool,
)
from wigwag.server.context import Context
from wigwag.server.results.tool_results import ToolOutput
from wigwag.server.tools import ToolFeature

pytestmark = pytest.mark.anyio


async def called(
    function: Callable[..., Any], arguments: bytes | None = None, *, limit: float | None = None
) -> dict[str, Any]:
    """Call a function as a tool and return the members of its result."""
    known = function_of(function, timeout=limit)
    output = ToolOutput(known.parameters.return_type)
    definition = Tool(name="tool", input_schema=known.parameters.schema)
    feature = ToolFeature(definition, known, output, House())
    asked = request(UNSET if arguments is None else Raw(arguments))
    async with asyncio.timeout(30):
        result = await feature.call(asked, NO_CONNECTION, None)
    if isinstance(result, tuple):
        members = json.loads(b"{%b}" % b"".join(result))
        assert isinstance(members, dict)
        return members
    assert isinstance(result, CallToolResult)
    blocks = [{"type": "text", "text": cast("TextContent", b).text} for b in result.content]
    return {"content": blocks, "isError": result.is_error is True}


async def failure(function: Callable[..., Any], arguments: bytes | None = None) -> str:
    result = await called(function, arguments)
    assert result["isError"] is True
    assert "structuredContent" not in result
    (block,) = result["content"]
    assert isinstance(block["text"], str)
    return block["text"]


async def test_a_tool_returns_its_value() -> None:
    def add(a: int, b: int = 1) -> int:
        return a + b

    async def later(a: int, b: int = 1) -> int:
        return a + b

    for function in (add, later):
        assert await called(function, b'{"a": 2}') == {
            "content": [{"type": "text", "text": "3"}],
            "structuredContent": 3,
        }


async def test_arguments_may_be_absent() -> None:
    async def answer() -> str:
        return "ok"

    assert await called(answer) == {"content": [{"type": "text", "text": "ok"}]}


async def test_a_tool_gets_the_context_of_its_request() -> None:
    async def look(ctx: Context, a: int) -> str:
        return f"{ctx.request_id} {ctx.protocol_version} {ctx.lifespan} {a}"

    def look_in_a_thread(a: int, *, ctx: Context) -> str:
        return f"{ctx.request_id} {ctx.protocol_version} {ctx.lifespan} {a}"

    for function in (look, look_in_a_thread):
        result = await called(function, b'{"a": 1}')
        assert result["content"][0]["text"] == f"7 {NEWEST} lifespan 1"


async def test_arguments_that_do_not_fit_are_for_the_model_to_read() -> None:
    async def take(a: int) -> int:
        return a

    assert await failure(take, b'{"a": "x"}') == (
        "Invalid arguments for tool: `a`: expected `int`, got `str`"
    )
    assert await failure(take) == "Invalid arguments for tool: `a` is missing"


async def test_a_tool_error_is_for_the_model_to_read(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> str:
        raise ToolError("there is no article 7; there are 1 to 5")

    assert await failure(fail) == "there is no article 7; there are 1 to 5"
    assert caplog.records == []


async def test_a_tool_may_refuse_the_request_itself() -> None:
    refusal = RequestFailed(-32042, "no", {"a": 1})

    async def refuse() -> str:
        raise refusal

    with pytest.raises(RequestFailed) as caught:
        await called(refuse)
    assert caught.value is refusal


@pytest.mark.parametrize(
    "error",
    [ValueError("secret"), SystemExit("secret"), TimeoutError("secret"), KeyError("secret")],
)
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_anything_else_is_known_by_a_reference_into_the_log(
    error: BaseException, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> str:
        raise error

    async def fail_later() -> str:
        raise error

    text = await failure(fail if kind == "plain" else fail_later)
    found = re.fullmatch(
        r"tool failed: an internal error \(reference (\w{8}) in the server's log\)", text
    )
    assert found is not None
    (record,) = caplog.records
    assert record.name == "wigwag.server"
    assert record.getMessage() == f"tool tool failed (reference {found[1]})"
    assert "secret" in caplog.text


async def test_a_tool_that_breaks_its_promise_says_how(caplog: pytest.LogCaptureFixture) -> None:
    async def wrong() -> int:
        return cast("int", "x")

    text = await failure(wrong)
    assert text.startswith("tool failed: it is not what the tool declares to return: ")
    assert "reference" in text
    assert "InvalidOutput" in caplog.text


async def test_content_that_cannot_be_sent_is_the_failure_of_the_tool(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def surrogate() -> TextContent:
        return TextContent(text="\ud800")

    async def unknown() -> CallToolResult:
        return CallToolResult(content=[], structured_content=object())

    assert "surrogate" in await failure(surrogate)
    assert (await failure(unknown)).startswith("tool failed: ")


async def test_the_limit_of_a_tool_is_told_from_a_timeout_of_its_own() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    async def fail() -> None:
        raise TimeoutError("of a database")

    (block,) = (await called(wait, limit=0.01))["content"]
    assert block["text"] == "tool was stopped after its limit of 0.01 s"
    (block,) = (await called(fail, limit=60))["content"]
    assert block["text"].startswith("tool failed: an internal error")


async def test_a_tool_that_is_cancelled_has_no_result() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(called(wait))
    async with asyncio.timeout(30):
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
