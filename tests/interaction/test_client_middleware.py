"""Code around what a client asks and is told, in both eras."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.interaction.connecting import PATIENCE, TIMEOUTS, serving_http
from tests.interaction.peers import PeerServer, client_of
from wigwag import Client, ClientContext, Context, RequestFailed, Server, SyncClient
from wigwag.errors import LocalProtocolError
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    REVISIONS,
    V2025_06_18,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    LoggingMessageNotificationParams,
    ProgressNotificationParams,
    Result,
    TextContent,
    Tool,
)

pytestmark = pytest.mark.anyio

ERAS = (LATEST_LEGACY, LATEST_MODERN)


class Witness:
    """A middleware that writes down what passes through it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.params: list[Any] = []
        self.results: list[Any] = []

    async def __call__(self, context: ClientContext, call_next: Any) -> Any:
        arrow = ">" if context.direction == "outgoing" else "<"
        self.seen.append((arrow, context.method))
        self.params.append(context.params)
        result = await call_next(context)
        if context.is_notification:
            assert result is None
        else:
            self.results.append(result)
        return result


def kites() -> Server:
    server = Server("kites", page_size=2)

    @server.tool
    async def fly(height: int, ctx: Context) -> str:
        await ctx.report_progress(1, total=1)
        await ctx.info("up")
        return f"{height} m"

    @server.tool
    async def choose(ctx: Context) -> str:
        outcome = await ctx.elicit("Which one?", {"name": str})
        assert outcome.data is not None
        return str(outcome.data["name"])

    @server.tool
    def add(name: str) -> None:
        server.tool(name=name)(lambda: "new")

    @server.resource("kite://wind")
    def wind() -> str:
        return "calm"

    @server.prompt
    def advise(height: int) -> str:
        return f"Fly at {height} m."

    @server.method("com.example/echo")
    def echo(a: int) -> Any:
        return {"echo": a}

    return server


def says(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)])


# --- requests


async def test_each_request_passes_with_the_types_of_its_params_and_its_result(
    revision: str,
) -> None:
    witness = Witness()
    async with Client(kites(), mode=revision, middleware=[witness]) as client:
        assert len((await client.list_tools()).tools) == 3
        assert (await client.call_tool("fly", {"height": 3})).text == "3 m"
        await client.read_resource("kite://wind")
        await client.get_prompt("advise", {"height": "4"})
        await client.ping()
    asked = [method for arrow, method in witness.seen if arrow == ">"]
    assert asked[:5] == [
        "tools/list",
        "tools/list",  # of another page
        "tools/call",
        "resources/read",
        "prompts/get",
    ]
    assert [type(result) for result in witness.results[:3]] == [
        ListToolsResult,
        ListToolsResult,
        CallToolResult,
    ]
    call = next(one for one in witness.params if isinstance(one, CallToolRequestParams))
    assert (call.name, bytes(call.arguments)) == ("fly", b'{"height":3}')  # type: ignore[arg-type]
    assert asked[5:] == (["server/discover"] if revision == LATEST_MODERN else ["ping"])
    assert isinstance(witness.results[5], Result)


@pytest.mark.parametrize("mode", ERAS)
async def test_messages_over_http_pass_too(mode: str) -> None:
    witness = Witness()
    async with (
        serving_http(kites()) as origin,
        Client(f"{origin}/mcp", mode=mode, middleware=[witness]) as client,
    ):
        assert (await client.call_tool("fly", {"height": 3})).text == "3 m"
    assert (">", "tools/call") in witness.seen
    assert ("<", "notifications/progress") in witness.seen


async def test_params_and_meta_may_be_changed_on_the_way() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:

        @client.middleware
        async def change(context: ClientContext, call_next: Any) -> Any:
            assert context.meta == {"mine": 1}
            context.meta["com.example/tenant"] = "a"
            context.params = msgspec.structs.replace(context.params, name="other")
            return await call_next(context)

        calling = asyncio.create_task(client.call_tool("t", meta={"mine": 1}))
        asked = await peer.next("tools/call")
        peer.reply(asked, content=[])
        await calling
        assert asked["params"]["name"] == "other"
        assert asked["params"]["_meta"]["mine"] == 1
        assert asked["params"]["_meta"]["com.example/tenant"] == "a"

        @client.middleware
        async def overreach(context: ClientContext, call_next: Any) -> Any:
            context.meta["progressToken"] = 1
            return await call_next(context)

        with pytest.raises(LocalProtocolError, match="`progressToken` in `_meta`"):
            await client.call_tool("t", meta={"mine": 1})


async def test_a_result_may_be_changed_and_a_request_answered_without_the_server() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:

        @client.middleware
        async def louder(context: ClientContext, call_next: Any) -> Any:
            result = await call_next(context)
            return says(result.text.upper())

        calling = asyncio.create_task(client.call_tool("t"))
        peer.reply(await peer.next("tools/call"), content=[{"type": "text", "text": "hi"}])
        assert (await calling).text == "HI"

        @client.middleware
        async def answer(context: ClientContext, call_next: Any) -> Any:
            return says("nobody asked")

        assert (await client.call_tool("t")).text == "NOBODY ASKED"
        assert peer.unread == []
        client.middleware.remove(answer)
        client.middleware.remove(louder)
        calling = asyncio.create_task(client.call_tool("t"))
        peer.reply(await peer.next("tools/call"), content=[], structuredContent={"a": 1})
        assert (await calling).data == {"a": 1}


async def test_what_nobody_has_changed_is_all_that_the_server_sent() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, middleware=[Witness()]) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        peer.reply(await peer.next("tools/call"), content=[], surprise=[1])
        assert (await calling).raw["surprise"] == [1]


async def test_a_request_may_be_made_again_inside_of_one() -> None:
    tries: list[int] = []

    async def again(context: ClientContext, call_next: Any) -> Any:
        try:
            return await call_next(context)
        except RequestFailed as error:
            tries.append(error.code)
            return await call_next(context)

    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, middleware=[again]) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        peer.refuse(await peer.next("tools/call"), -32603)
        peer.reply(await peer.next("tools/call"), content=[])
        await calling
        assert tries == [-32603]


@pytest.mark.broken_messages("client")  # of no revision
async def test_custom_methods_have_plain_values(revision: str) -> None:
    witness = Witness()
    async with Client(kites(), mode=revision, middleware=[witness]) as client:
        assert (await client.request("com.example/echo", {"a": 1}))["echo"] == 1
        result = await client.request("tools/list")
        assert result["tools"]
    assert witness.params[:2] == [{"a": 1}, None]
    assert witness.results[0]["echo"] == 1


async def test_what_a_middleware_raises_comes_out_of_the_call(revision: str) -> None:
    async def refuse(context: ClientContext, call_next: Any) -> Any:
        raise PermissionError("not you")

    async def forget(context: ClientContext, call_next: Any) -> Any:
        await call_next(context)

    async with Client(kites(), mode=revision, middleware=[refuse]) as client:
        with pytest.raises(PermissionError, match="not you"):
            await client.call_tool("fly", {"height": 3})
        client.middleware.remove(refuse)
        client.middleware.append(forget)
        with pytest.raises(TypeError, match="returned NoneType for tools/call"):
            await client.call_tool("fly", {"height": 3})


# --- what the server asks


@pytest.mark.parametrize("revision", REVISIONS[REVISIONS.index(V2025_06_18) :])
async def test_questions_of_the_server_pass_as_well_in_both_eras(revision: str) -> None:
    witness = Witness()
    async with Client(
        kites(), mode=revision, elicitation=lambda _: {"name": "box"}, middleware=[witness]
    ) as client:
        assert (await client.call_tool("choose")).text == "box"
    assert ("<", "elicitation/create") in witness.seen
    form = next(one for one in witness.params if isinstance(one, ElicitRequestFormParams))
    assert form.message == "Which one?"
    assert ElicitResult(action="accept", content={"name": "box"}) in witness.results
    calls = [type(one) for one in witness.results if isinstance(one, Result) and one is not None]
    if revision == LATEST_MODERN:  # each round is a request
        assert InputRequiredResult in calls


@pytest.mark.parametrize("mode", ERAS)
async def test_a_middleware_may_answer_for_the_user(mode: str) -> None:
    async def answer(context: ClientContext, call_next: Any) -> Any:
        if context.direction == "outgoing":
            return await call_next(context)
        return ElicitResult(action="accept", content={"name": "delta"})

    options: Any = {
        "capabilities": ClientCapabilities(elicitation=ElicitationCapability(form={})),
        "middleware": [answer],
    }
    async with Client(kites(), mode=mode, **options) as client:
        assert (await client.call_tool("choose")).text == "delta"


async def test_a_middleware_that_answers_something_else_is_told_so() -> None:
    async def answer(context: ClientContext, call_next: Any) -> Any:
        return await call_next(context) if context.direction == "outgoing" else {"name": "delta"}

    async with Client(
        kites(), mode="modern", elicitation=lambda _: None, middleware=[answer]
    ) as client:
        with pytest.raises(
            TypeError, match=r"returned dict for elicitation/create: .*ElicitResult"
        ):
            await client.call_tool("choose")


# --- notifications


@pytest.mark.parametrize("mode", ERAS)
async def test_notifications_of_the_server_pass_before_they_are_told(mode: str) -> None:
    told: list[Any] = []
    progress: list[Any] = []
    changed: asyncio.Queue[Any] = asyncio.Queue()

    async def change(context: ClientContext, call_next: Any) -> Any:
        match context.params:
            case LoggingMessageNotificationParams():
                context.params = msgspec.structs.replace(context.params, data="censored")
            case ProgressNotificationParams():
                context.params = msgspec.structs.replace(context.params, message="nearly")
            case _:
                pass
        return await call_next(context)

    async with Client(
        kites(),
        mode=mode,
        middleware=[change],
        on_log=lambda message: told.append(message.data),
        on_tools_changed=changed.put_nowait,
    ) as client:
        await client.set_logging_level("info")
        await client.call_tool("fly", {"height": 3}, on_progress=progress.append)
        assert [sign.message for sign in progress] == ["nearly"]
        await client.call_tool("add", {"name": "more"})
        async with asyncio.timeout(PATIENCE):
            tools: list[Tool] = await changed.get()
        assert tools[-1].name == "more"
    assert told == ["censored"]


async def test_a_notification_that_is_kept_back_is_not_told_and_one_that_fails_is_in_the_log(
    log_text: Callable[[], str],
) -> None:
    told: list[str] = []
    arrived = asyncio.Event()

    def note(method: str, params: Any) -> None:
        told.append(params.data)
        arrived.set()

    async def keep_back(context: ClientContext, call_next: Any) -> Any:
        if context.params.data == "secret":
            return
        if context.params.data == "broken":
            raise ValueError("I broke")
        await call_next(context)

    peer = PeerServer(LATEST_LEGACY)
    async with client_of(peer, middleware=[keep_back], on_notification=note):
        for data in ("secret", "broken", "open"):
            peer.tell("notifications/message", {"level": "info", "data": data})
        async with asyncio.timeout(PATIENCE):
            await arrived.wait()
    assert told == ["open"]
    assert "ValueError: I broke" in log_text()


@pytest.mark.parametrize("mode", ERAS)
async def test_notifications_are_told_in_their_order_and_progress_before_the_result(
    mode: str,
) -> None:
    peer = PeerServer(mode)
    told: list[float] = []

    async def dawdle(context: ClientContext, call_next: Any) -> Any:
        if context.method == "notifications/progress" and context.params.progress == 1:
            await peer.settle()
        return await call_next(context)

    async with client_of(peer, middleware=[dawdle]) as client:
        calling = asyncio.create_task(
            client.call_tool("t", on_progress=lambda sign: told.append(sign.progress))
        )
        asked = await peer.next("tools/call")
        token = asked["params"]["_meta"]["progressToken"]
        for value in (1, 2):
            peer.tell("notifications/progress", {"progressToken": token, "progress": value})
        peer.reply(asked, content=[])
        await calling
        assert told == [1, 2]


async def test_notifications_of_the_client_pass_and_may_be_kept_back() -> None:
    peer = PeerServer(LATEST_LEGACY)
    witness = Witness()

    async def keep_back(context: ClientContext, call_next: Any) -> Any:
        assert context.is_notification
        if context.params is None:
            await call_next(context)

    async with client_of(peer, roots=["file:///a"], middleware=[witness]) as client:
        client.middleware.append(keep_back)
        await client.notify("com.example/secret", {"a": 1})
        await client.send_roots_list_changed()
        await peer.next("notifications/roots/list_changed")
    assert witness.seen == [
        (">", "com.example/secret"),
        (">", "notifications/roots/list_changed"),
    ]


# --- the list


async def test_what_is_no_async_function_is_refused() -> None:
    with pytest.raises(TypeError, match="async def name"):
        Client(kites(), middleware=[lambda context, call_next: None])  # type: ignore[list-item, return-value]


@pytest.mark.parametrize("mode", ERAS)
def test_a_blocking_client_has_it_too(mode: str) -> None:
    witness = Witness()
    with SyncClient(kites(), mode=mode, timeouts=TIMEOUTS, middleware=[witness]) as client:

        @client.middleware
        async def louder(context: ClientContext, call_next: Any) -> Any:
            result = await call_next(context)
            return says(result.text.upper()) if context.method == "tools/call" else result

        assert client.call_tool("fly", {"height": 3}).text == "3 M"
    assert (">", "tools/call") in witness.seen
