"""What handlers may do around their questions, though a modern client has them run again."""

import asyncio
import gc
import json
import weakref
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from msgspec import Raw

from tests.interaction.answering import ABLE, fill_in
from tests.interaction.asker import Asker, accepted, asked, text
from tests.interaction.connecting import PATIENCE, TIMEOUTS, error_of, text_of
from tests.interaction.peers import cancelled
from wigwag import (
    Client,
    Context,
    InputRequired,
    Limits,
    QuestionFailed,
    Server,
    ToolError,
    elicit,
)
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
)

pytestmark = pytest.mark.anyio

Json = Any

both_eras = pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])


@pytest.fixture
def server() -> Server:
    return Server("rounds")


class Answering:
    """A client that answers forms, and knows which."""

    def __init__(self, server: Server, revision: str) -> None:
        self.questions: list[str] = []
        options: Any = {**ABLE, "elicitation": self._fill_in}
        self.client = Client(server, mode=revision, timeouts=TIMEOUTS, **options)

    async def call(self, tool: str, **arguments: Json) -> str:
        async with self.client as client:
            return await text_of(client, tool, **arguments)

    def _fill_in(self, params: ElicitRequestFormParams) -> dict[str, Any]:
        self.questions.append(params.message)
        return fill_in(params)


async def pass_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


# --- tasks beside each other


@both_eras
@pytest.mark.parametrize("turns", [0, 1, 10])
async def test_tasks_may_come_to_their_questions_in_another_order_when_run_again(
    server: Server, revision: str, turns: int
) -> None:
    runs = 0

    async def ask(ctx: Context, what: str, delay: int) -> str:
        await pass_turns(delay)
        first = await ctx.elicit(what, str)
        second = await ctx.elicit(f"{first.data} again", str)
        return str(second.data)

    @server.tool
    async def race(ctx: Context) -> str:
        nonlocal runs
        runs += 1
        async with asyncio.TaskGroup() as group:
            one = group.create_task(ask(ctx, "one", turns * (runs % 2)))
            two = group.create_task(ask(ctx, "two", turns * ((runs + 1) % 2)))
        return f"{one.result()}, {two.result()}"

    answering = Answering(server, revision)
    assert await answering.call("race") == "one again, two again"
    assert sorted(answering.questions) == ["one", "one again", "two", "two again"]


@both_eras
async def test_the_same_question_in_several_tasks_is_asked_of_each(
    server: Server, revision: str
) -> None:
    @server.tool
    async def poll(ctx: Context) -> str:
        answers = await asyncio.gather(*(ctx.elicit("same", str) for _ in range(3)))
        more = await ctx.elicit("same", str)
        return " ".join(str(answer.data) for answer in [*answers, more])

    answering = Answering(server, revision)
    assert await answering.call("poll") == "same same same same"
    assert answering.questions == ["same"] * 4


@both_eras
async def test_tasks_that_are_awaited_one_after_the_other_leave_nothing_to_complain_of(
    server: Server, revision: str, log_text: Callable[[], str]
) -> None:
    @server.tool
    async def both(ctx: Context) -> str:
        one = asyncio.ensure_future(ctx.elicit("one", str))
        two = asyncio.ensure_future(ctx.elicit("two", str))
        return f"{(await one).data} {(await two).data}"

    answering = Answering(server, revision)
    assert await answering.call("both") == "one two"
    assert answering.questions == ["one", "two"]
    gc.collect()
    assert log_text() == ""


@both_eras
@pytest.mark.parametrize("how", ["task", "gather"])
async def test_what_still_runs_when_the_handler_is_unwound_ends_quietly(
    server: Server, revision: str, how: str, log_text: Callable[[], str]
) -> None:
    left: list[asyncio.Task[str]] = []

    async def ask_later(ctx: Context) -> str:
        left.append(asyncio.current_task())  # type: ignore[arg-type]
        await pass_turns(20)
        return str((await ctx.elicit("two", str)).data)

    @server.tool
    async def both(ctx: Context) -> str:
        if how == "gather":
            one, two = await asyncio.gather(ctx.elicit("one", str), ask_later(ctx))
            return f"{one.data} {two}"
        later = asyncio.create_task(ask_later(ctx))
        return f"{(await ctx.elicit('one', str)).data} {await later}"

    answering = Answering(server, revision)
    assert await answering.call("both") == "one two"
    assert answering.questions == ["one", "two"]
    await asyncio.wait(left)
    left.clear()
    gc.collect()
    assert log_text() == ""


@both_eras
async def test_what_is_asked_for_at_once_must_be_questions(server: Server, revision: str) -> None:
    @server.tool
    async def wrong(ctx: Context) -> str:
        with pytest.raises(TypeError, match="'Who\\?' is no question"):
            await ctx.ask(who="Who?")  # type: ignore[arg-type]
        return str(await ctx.ask({}))

    assert await Answering(server, revision).call("wrong") == "{}"


@both_eras
async def test_what_fails_in_a_task_group_beside_a_question_is_what_the_model_reads(
    server: Server, revision: str
) -> None:
    async def fail() -> None:
        raise ToolError("out of stock")

    @server.tool
    async def both(ctx: Context) -> str:
        async def ask() -> None:
            await ctx.elicit("one", str)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(fail)
        return "never"

    options: Any = {"mode": revision, "timeouts": TIMEOUTS, **ABLE}
    async with Client(server, **options) as client:
        assert await error_of(client, "both") == "out of stock"


# --- what is done around a question


@both_eras
async def test_what_is_opened_around_a_question_is_closed_in_every_run(
    server: Server, revision: str
) -> None:
    opened: list[str] = []

    @server.tool
    async def careful(ctx: Context) -> str:
        opened.append("open")
        try:
            try:
                answer = await ctx.elicit("sure", str)
            except Exception:  # noqa: BLE001 - the point of it
                return "caught"
            return str(answer.data)
        finally:
            await asyncio.sleep(0)
            opened.append("close")

    answering = Answering(server, revision)
    assert await answering.call("careful") == "sure"
    assert opened == ["open", "close"] * (2 if revision == LATEST_MODERN else 1)
    assert answering.questions == ["sure"]


@both_eras
@pytest.mark.parametrize("does", ["ask", "fail", "return"])
async def test_what_finally_does_takes_no_question_away(
    server: Server, revision: str, does: str
) -> None:
    runs = 0

    @server.tool
    async def untidy(ctx: Context) -> str:
        nonlocal runs
        runs += 1
        is_answered = False
        try:
            answer = await ctx.elicit("one", str)
            is_answered = True
        finally:
            if does == "ask":
                await ctx.elicit("two", str)
            elif not is_answered and does == "fail":
                raise ValueError("on purpose")
            elif not is_answered:
                return "left early"
        return str(answer.data)

    answering = Answering(server, revision)
    assert await answering.call("untidy") == "one"
    assert answering.questions == (["one", "two"] if does == "ask" else ["one"])


async def test_a_handler_that_never_gives_up_asking_does_not_stop_the_server(
    server: Server,
) -> None:
    enough = asyncio.Event()

    @server.tool
    async def stubborn(ctx: Context) -> str:
        while not enough.is_set():
            try:
                answer = await ctx.elicit("well?", str, key="well")
            except BaseException:  # noqa: BLE001 - as bad handlers do
                continue
            return str(answer.data)
        return "gave up"

    async with Asker(server) as client:
        client.send(client.request("tools/call", {"name": "stubborn"}))
        await client.settle()
        listed = await client.ask(client.request("tools/list"))
        assert listed["result"]["tools"][0]["name"] == "stubborn"
        enough.set()
        questions, state = asked(await client.next())
        assert list(questions) == ["well"]
        answer = await client.call_with(state, {"well": accepted(value="yes")}, "stubborn")
        assert text(answer) == "gave up"


@both_eras
async def test_what_fails_in_once_is_done_again(server: Server, revision: str) -> None:
    tries = 0

    def work() -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError("busy")
        return tries

    @server.tool
    async def patient(ctx: Context) -> str:
        try:
            done = await ctx.once("work", work)
        except OSError:
            done = await ctx.once("work again", work)
        answer = await ctx.elicit("sure", str)
        return f"{done} {answer.data}"

    answering = Answering(server, revision)
    found = await answering.call("patient")
    # A later run does what failed in an earlier one: that is how it finds out whether it would now.
    assert found == ("3 sure" if revision == LATEST_MODERN else "2 sure")


@both_eras
async def test_cancelling_and_declining_are_values_in_every_place(
    server: Server, revision: str
) -> None:
    @server.tool
    async def ask(ctx: Context) -> str:
        one, two = await asyncio.gather(ctx.elicit("one", str), ctx.elicit("two", str))
        all_of_it = await ctx.ask(three=elicit("three", str))
        return f"{one.action} {two.action} {all_of_it['three'].action}"

    actions = {"one": "decline", "two": "cancel", "three": "accept"}

    def act(params: Any) -> ElicitResult:
        action: Any = actions[params.message]
        return ElicitResult(action=action, content={"value": "x"})

    options: Any = {"mode": revision, "timeouts": TIMEOUTS, "elicitation": act}
    async with Client(server, **options) as client:
        assert await text_of(client, "ask") == "decline cancel accept"


# --- by hand


@both_eras
async def test_what_was_asked_by_hand_is_kept_while_something_else_is_asked(
    server: Server, revision: str
) -> None:
    @server.tool
    async def mixed(ctx: Context) -> str | InputRequired:
        if "a" not in ctx.input_responses:
            return InputRequired({"a": elicit("by hand", str)}, state={"mine": 1})
        two = await ctx.elicit("two", str)
        three = await ctx.elicit("three", str)
        said = ctx.input_responses["a"].content["value"]
        return f"{said} {two.data} {three.data} {ctx.input_state}"

    answering = Answering(server, revision)
    assert await answering.call("mixed") == "by hand two three {'mine': 1}"
    assert answering.questions == ["by hand", "two", "three"]


@both_eras
@pytest.mark.parametrize("feature", ["tool", "prompt", "resource"])
async def test_a_result_that_asks_as_the_protocol_has_it_is_served_like_any_other(
    server: Server, revision: str, feature: str
) -> None:
    params: Json = {
        "mode": "form",
        "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    }

    def by_hand(ctx: Context) -> str | InputRequiredResult:
        answer = ctx.input_responses.get("who")
        if answer is None:
            request = InputRequest(method="elicitation/create", params=Raw(json.dumps(params)))
            return InputRequiredResult(
                result_type="input_required",
                input_requests={"who": request},
                request_state="mine",
            )
        return f"{answer.content['name']} {ctx.input_state}"

    server.tool("by_hand")(by_hand)
    server.prompt("by_hand")(by_hand)
    server.resource("rounds://by_hand")(by_hand)
    options: Any = {"mode": revision, "timeouts": TIMEOUTS, **ABLE}
    async with Client(server, **options) as client:
        if feature == "tool":
            assert await text_of(client, "by_hand") == "Who? mine"
        elif feature == "prompt":
            [message] = (await client.get_prompt("by_hand")).messages
            assert message.content.text == "Who? mine"  # type: ignore[union-attr]
        else:
            [contents] = (await client.read_resource("rounds://by_hand")).contents
            assert contents.text == "Who? mine"


@both_eras
@pytest.mark.parametrize("what", [InputRequest(method="tools/list"), "a text"], ids=str)
async def test_what_is_no_question_is_the_fault_of_the_handler(
    server: Server, revision: str, what: Any, log_text: Callable[[], str]
) -> None:
    @server.tool
    async def wrong(ctx: Context) -> InputRequired:
        return InputRequired({"x": what})

    options: Any = {"mode": revision, "timeouts": TIMEOUTS, **ABLE}
    async with Client(server, **options) as client:
        assert "internal error" in await error_of(client, "wrong")
    assert "the client cannot be asked tools/list" in log_text() or "no question" in log_text()


# --- where nothing can be asked


async def test_what_goes_on_around_a_list_cannot_ask_a_modern_client() -> None:
    async def ask(ctx: Context, call_next: Any) -> Any:
        if ctx.method == "tools/list":
            with pytest.raises(QuestionFailed, match="while it waits for tools/list"):
                await ctx.elicit("hm", str)
        return await call_next(ctx)

    server = Server("rounds", middleware=[ask])

    @server.tool
    def t() -> str:
        return "t"

    async with Client(server, mode=LATEST_MODERN, timeouts=TIMEOUTS, **ABLE) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["t"]


@both_eras
async def test_middleware_asks_as_handlers_do(revision: str) -> None:
    async def confirm(ctx: Context, call_next: Any) -> Any:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        sure = await ctx.elicit("sure", bool)
        return await call_next(ctx) if sure.data else None

    server = Server("rounds", middleware=[confirm])

    @server.tool
    async def ask(ctx: Context) -> str:
        return str((await ctx.elicit("one", str)).data)

    @server.tool
    async def plain() -> str:
        return "plain"

    for tool, said, questions in (("ask", "one", ["sure", "one"]), ("plain", "plain", ["sure"])):
        answering = Answering(server, revision)
        assert await answering.call(tool) == said
        assert answering.questions == questions


# --- clients that go


async def test_a_call_that_is_cancelled_between_question_and_answer_ends_quietly(
    server: Server, log_text: Callable[[], str]
) -> None:
    began = asyncio.Event()

    @server.tool
    async def slow(ctx: Context) -> str:
        answer = await ctx.elicit("one", str, key="one")
        began.set()
        await asyncio.Event().wait()
        return str(answer.data)

    async with Asker(server) as client:
        questions, state = asked(await client.call_with(tool="slow"))
        params: Json = {"name": "slow", "requestState": state}
        retry = client.request(
            "tools/call", params | {"inputResponses": {"one": accepted(value="1")}}
        )
        client.send(retry)
        async with asyncio.timeout(PATIENCE):
            await began.wait()
        client.send(cancelled(retry["id"]))
        # Nothing more is said of it, and it may begin anew with the same state.
        again, _ = asked(await client.call_with(state, {}, "slow"))
        assert again == questions
        assert client.unread == []
    assert log_text() == ""


async def test_nothing_is_left_of_a_call_whose_client_never_comes_back() -> None:
    server = Server("rounds", limits=Limits(worker_threads=1))
    left: list[weakref.ref[Any]] = []

    class Thing:
        """Something that the handler holds."""

    @server.tool
    def ping() -> str:
        return "pong"

    @server.tool
    async def ask(ctx: Context) -> str:
        thing = Thing()
        left.extend([weakref.ref(thing), weakref.ref(ctx)])
        await asyncio.gather(ctx.elicit("one", str), ctx.list_roots())
        return repr(thing)

    @server.tool
    def ask_plainly(ctx: Context) -> str:
        thing = Thing()
        left.extend([weakref.ref(thing), weakref.ref(ctx)])
        answer: Any = ctx.elicit("one", str)
        return f"{thing} {answer}"

    async with Asker(server, {"elicitation": {}, "roots": {}}) as client:
        tasks = asyncio.all_tasks()
        for tool in ("ask", "ask_plainly") * 3:
            asked(await client.call_with(tool=tool))
        await client.settle()
        assert asyncio.all_tasks() == tasks
        # The one thread is free again, and it too has forgotten all of it.
        assert text(await client.call_with(tool="ping")) == "pong"
        gc.collect()
        assert [ref() for ref in left] == [None] * 12
