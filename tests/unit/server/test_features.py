"""Tools, resources and prompts: a definition and a function."""

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal, cast

import pytest
from msgspec import UNSET, Meta, Raw

from wigwag.errors import RequestFailed, ResourceNotFound, ToolError
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.protocol.events import RequestReceived
from wigwag.runtime.server_connection import ServerConnection
from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import (
    TOOLS_CALL,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    GetPromptResult,
    Prompt,
    PromptArgument,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    Tool,
)
from wigwag.server.context import Context
from wigwag.server.features import (
    Function,
    Owner,
    PromptFeature,
    ResourceFeature,
    ToolFeature,
    prompt_arguments,
)
from wigwag.server.memory import Keeper
from wigwag.server.results import ToolOutput
from wigwag.server.signature import Parameters

pytestmark = pytest.mark.anyio

NEWEST = "2026-07-28"
# The handlers here do not talk to the client.
NO_CONNECTION = cast("ServerConnection", None)


class House(Owner):
    """A server's part of a context."""

    def __init__(self) -> None:
        self.lifespan_value = "lifespan"
        self.dependency_overrides = {}

    @property
    def pipeline(self) -> None:
        return None

    @property
    def keeper(self) -> Keeper:
        raise AssertionError("nobody asks here")

    async def read_resource(self, uri: str, context: Context) -> ReadResourceResult:
        raise AssertionError("nobody reads here")

    async def complete(self, params: Any, context: Context | None) -> Any:
        raise AssertionError("nothing is completed here")

    def resource_updated(self, uri: str) -> None:
        raise AssertionError("nothing changes here")

    def tools_changed(self) -> None:
        raise AssertionError("nothing changes here")

    resources_changed = prompts_changed = tools_changed


def request(arguments: Raw | Any = UNSET) -> RequestReceived:
    return RequestReceived(
        id=7,
        method=TOOLS_CALL,
        params=CallToolRequestParams(name="tool", arguments=arguments),
        source=b"{}",
        revision=NEWEST,
        is_modern=True,
        meta=UNSET,
        client_capabilities=ClientCapabilities(),
        client_info=UNSET,
    )


def function_of(
    function: Callable[..., Any], *, threads: bool = True, timeout: float | None = None
) -> Function[Parameters]:
    parameters = Parameters(function, Context)
    return Function(parameters, WorkerThreads() if threads else None, timeout)


async def run(function: Callable[..., Any], *, threads: bool = True) -> Any:
    known = function_of(function, threads=threads)
    async with asyncio.timeout(30):
        return await known.run(known.parameters.read(b"{}"), None)


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


# --- running functions


async def test_a_plain_function_runs_in_a_thread_unless_it_was_told_otherwise() -> None:
    assert await run(threading.current_thread) is not threading.current_thread()
    assert await run(threading.current_thread, threads=False) is threading.current_thread()


async def test_whatever_is_async_is_awaited_on_the_event_loop() -> None:
    async def later(number: int = 1) -> Any:
        return number, threading.current_thread()

    class Caller:
        async def __call__(self) -> Any:
            return await later()

        async def method(self) -> Any:
            return await later()

    def returns_something_to_await() -> Awaitable[Any]:
        return later()

    here = threading.current_thread()
    functions: list[Callable[..., Any]] = [
        later, Caller(), Caller().method, partial(later, 1), returns_something_to_await
    ]  # fmt: skip
    for function in functions:
        assert await run(function) == (1, here)


def test_a_function_that_yields_is_refused() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    async def more() -> Any:
        yield 1

    for function in (numbers, more):
        with pytest.raises(TypeError, match=r"yields; it must return its result"):
            function_of(function)


async def test_a_limit_stops_an_async_function() -> None:
    stopped: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("stopped")

    known = function_of(wait, timeout=0.01)
    async with asyncio.timeout(30):
        with pytest.raises(TimeoutError):
            await known.run(known.parameters.read(b"{}"), None)
    assert stopped == ["stopped"]


async def test_only_an_async_function_of_arguments_alone_is_called_directly() -> None:
    async def plain(a: int) -> None: ...
    async def with_context(ctx: Context) -> None: ...
    async def with_keyword(*, a: int) -> None: ...
    def in_a_thread(a: int) -> None: ...

    assert function_of(plain).is_direct
    assert not function_of(plain, timeout=1).is_direct
    for function in (with_context, with_keyword, in_a_thread):
        assert not function_of(function).is_direct


# --- tools


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


# --- resources


def resource(uri: str, function: Callable[..., Any], mime_type: str | None = None) -> Any:
    definition: Any = (
        ResourceTemplate(uri_template=uri, name="r") if "{" in uri else Resource(uri=uri, name="r")
    )
    return ResourceFeature(definition, function_of(function), mime_type, House())


def no_context() -> Context:
    raise AssertionError("no context is made for a function that wants none")


async def test_a_resource_is_read() -> None:
    feature = resource("a://x", lambda: "text", "text/css")
    assert feature.template is None
    async with asyncio.timeout(30):
        (contents,) = (await feature.read("a://x", {}, no_context)).contents
    assert (contents.uri, contents.text, contents.mime_type) == ("a://x", "text", "text/css")


async def test_a_template_gives_the_variables_of_the_uri_to_its_function() -> None:
    def article(slug: str, number: int, *, lang: str = "en") -> str:
        return f"{slug} {number!r} {lang}"

    feature = resource("a://{slug}/{number}", article)
    values = feature.template.match("a://s/7")
    async with asyncio.timeout(30):
        (contents,) = (await feature.read("a://s/7", values, no_context)).contents
    assert (contents.uri, contents.text) == ("a://s/7", "s 7 en")


async def test_a_uri_whose_variables_do_not_fit_is_invalid_params() -> None:
    def article(number: int) -> str:
        return str(number)

    feature = resource("a://{number}", article)
    with pytest.raises(RequestFailed, match="Invalid URI a://x: `number`: expected") as caught:
        await feature.read("a://x", {"number": "x"}, no_context)
    assert caught.value.code == INVALID_PARAMS


async def test_a_resource_gets_a_context_if_it_wants_one() -> None:
    async def look(ctx: Context, x: str) -> str:
        return f"{ctx.request_id} {x}"

    feature = resource("a://{x}", look)
    read = await feature.read(
        "a://1", {"x": "1"}, lambda: Context(House(), NO_CONNECTION, request())
    )
    assert read.contents[0].text == "7 1"


def test_variables_and_parameters_have_the_same_names() -> None:
    def take(x: str) -> str:
        return x

    def take_more(x: str, y: str, z: str = "") -> str:
        return x + y + z

    mismatches: list[tuple[str, Callable[..., Any]]] = [
        ("a://{y}", take),
        ("a://{x}/{y}", take),
        ("a://{x}", take_more),
    ]
    for uri, function in mismatches:
        with pytest.raises(TypeError, match=r"the parameters of its function .* the same names"):
            resource(uri, function)
    with pytest.raises(TypeError, match="a://x has no variables, but its function takes x"):
        resource("a://x", take)
    with pytest.raises(ValueError, match="a brace is opened and not closed"):
        resource("a://{x", take)


async def test_what_is_not_found_has_the_uri_that_was_read() -> None:
    def find(x: str) -> str:
        raise ResourceNotFound(f"no {x}")

    with pytest.raises(ResourceNotFound) as caught:
        await resource("a://{x}", find).read("a://b", {"x": "b"}, no_context)
    assert (caught.value.message, caught.value.data) == ("no b", {"uri": "a://b"})


def test_features_know_what_their_arguments_can_be() -> None:
    def take(x: Literal["b", "c"], y: str) -> str:
        return x + y

    assert resource("a://{x}/{y}", take).suggestions == {"x": ["b", "c"]}
    prompt = PromptFeature(Prompt(name="take"), function_of(take), House())
    assert prompt.suggestions == {"x": ["b", "c"]}


# --- prompts


async def test_a_prompt_is_made_of_its_arguments_as_text() -> None:
    def review(count: int, style: str = "short") -> list[str]:
        return [f"{count!r} {style}"]

    feature = PromptFeature(
        Prompt(name="review", description="About."), function_of(review), House()
    )
    async with asyncio.timeout(30):
        result = await feature.get({"count": "3"}, no_context)
    assert isinstance(result, GetPromptResult)
    (message,) = result.messages
    assert message.content == TextContent(text="3 short")
    assert result.description == "About."


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "`count` is missing"),
        ({"count": "x"}, "`count`: expected `int`, got `str`"),
        ({"count": "1", "counts": "1"}, "did you mean `count`?"),
    ],
)
async def test_arguments_of_a_prompt_that_do_not_fit_are_invalid_params(
    values: dict[str, str], words: str
) -> None:
    def review(count: int) -> str:
        return str(count)

    feature = PromptFeature(Prompt(name="review"), function_of(review), House())
    with pytest.raises(RequestFailed, match="Invalid arguments for prompt review") as caught:
        await feature.get(values, no_context)
    assert caught.value.code == INVALID_PARAMS
    assert words in caught.value.message


async def test_a_prompt_gets_a_context_if_it_wants_one() -> None:
    async def look(ctx: Context) -> str:
        return str(ctx.request_id)

    feature = PromptFeature(Prompt(name="look"), function_of(look), House())
    result = await feature.get({}, lambda: Context(House(), NO_CONNECTION, request()))
    assert isinstance(result, GetPromptResult)
    assert result.messages[0].content == TextContent(text="7")
    assert result.description is UNSET


def test_the_parameters_of_a_function_are_the_arguments_of_a_prompt() -> None:
    def review(
        ctx: Context, code: str, style: Annotated[str, "How."] = "short", *, count: int
    ) -> str:
        """Review.

        Args:
            ctx: The request.
            code: What.
            style: Not this.
            count: How often.
        """
        return code

    assert prompt_arguments(Parameters(review, Context)) == [
        PromptArgument(name="code", description="What.", required=True),
        PromptArgument(name="style", description="How.", required=False),
        PromptArgument(name="count", description="How often.", required=True),
    ]
    assert prompt_arguments(Parameters(lambda: "x", Context)) == []


def test_arguments_that_are_json_in_text_say_so_in_their_description() -> None:
    def plan(
        steps: list[int],
        where: Annotated[dict[str, str], "Where to."],
        text: Annotated[str, Meta(title="The text")],
    ) -> str:
        return f"{steps} {where} {text}"

    steps, where, text = prompt_arguments(Parameters(plan, Context))
    assert (where.title, text.title) == (UNSET, "The text")
    assert steps.description == 'In JSON: {"type":"array","items":{"type":"integer"}}'
    assert where.description == (
        'Where to. In JSON: {"type":"object","additionalProperties":{"type":"string"}}'
    )
    assert text.description is UNSET
