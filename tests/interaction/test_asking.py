"""Handlers that ask the client in the middle of a call: one body, the same answers in each era."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from tests.interaction.answering import ABLE, fill_in, say
from tests.interaction.connecting import TIMEOUTS, error_of, serving_http, text_of
from tests.interaction.quiz import quiz
from wigwag import (
    AcceptedElicitation,
    CancelledElicitation,
    Client,
    Context,
    DeclinedElicitation,
    InputRequired,
    QuestionFailed,
    RequestFailed,
    Server,
    elicit,
    list_roots,
    sample,
)
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    REVISIONS,
    V2025_06_18,
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ModelHint,
    ModelPreferences,
    SamplingCapability,
    SamplingMessage,
    TextContent,
    Tool,
    ToolUseContent,
)

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("quiz.py")
WITH_FORMS = [revision for revision in REVISIONS if revision >= V2025_06_18]
WITH_PAGES = [LATEST_LEGACY, LATEST_MODERN]
forms = pytest.mark.parametrize("revision", WITH_FORMS)
pages = pytest.mark.parametrize("revision", WITH_PAGES)


@dataclass
class Person:
    name: str
    age: int = 36


@asynccontextmanager
async def asked_by(server: Server, revision: str, **options: Any) -> AsyncIterator[Client]:
    """Connect a client that answers to a server in this process."""
    options = {**ABLE, **options}
    async with Client(server, mode=revision, timeouts=TIMEOUTS, **options) as client:
        yield client


@pytest.fixture
def server() -> Server:
    return Server("quiz")


# --- one question


@forms
async def test_a_form_is_filled_in_and_comes_back_as_the_type_asked_for(
    server: Server, revision: str
) -> None:
    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Ada", Person)
        assert isinstance(answer, AcceptedElicitation)
        assert answer.content == {"name": "Ada", "age": 7}
        return repr((answer.action, answer.data))

    async with asked_by(server, revision) as client:
        assert await text_of(client, "greet") == repr(("accept", Person("Ada", 7)))


@forms
@pytest.mark.parametrize(
    ("did", "outcome"),
    [
        (ElicitResult(action="decline"), DeclinedElicitation()),
        (ElicitResult(action="cancel"), CancelledElicitation()),
        (None, CancelledElicitation()),
    ],
    ids=str,
)
async def test_that_the_user_says_no_or_nothing_is_an_answer(
    server: Server, revision: str, did: Any, outcome: Any
) -> None:
    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", str)
        assert answer == outcome
        assert answer.data is None
        return answer.action

    async with asked_by(server, revision, elicitation=lambda _: did) as client:
        assert await text_of(client, "greet") == outcome.action


@forms
async def test_a_single_value_is_asked_for_as_a_form_of_one_field(
    server: Server, revision: str
) -> None:
    @server.tool
    async def greet(ctx: Context) -> str:
        found: list[Any] = []
        for schema in (str, int, bool, Literal["a", "b"], ["c", "d"], None, {"x": int}):
            answer = await ctx.elicit("hm", schema)
            found.append(answer.data)
        return repr(found)

    async with asked_by(server, revision) as client:
        expected = ["hm", 7, True, "b", "d", {}, {"x": 7}]
        assert await text_of(client, "greet") == repr(expected)


@pages
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_the_user_is_asked_to_visit_a_page(
    server: Server, revision: str, action: Literal["accept", "decline"]
) -> None:
    seen: list[ElicitRequestURLParams] = []

    def visit(params: Any) -> ElicitResult:
        seen.append(params)
        return ElicitResult(action=action)

    @server.tool
    async def sign_in(ctx: Context) -> str:
        assert ctx.can_elicit_url
        answer = await ctx.elicit_url("Sign in", "https://example.com/in")
        assert answer.data is None
        return answer.action

    able = ClientCapabilities(elicitation=ElicitationCapability(url={}))
    async with asked_by(server, revision, elicitation=visit, capabilities=able) as client:
        assert await text_of(client, "sign_in") == action
    [params] = seen
    assert (params.message, params.url) == ("Sign in", "https://example.com/in")
    # That revision alone has an id for it.
    assert isinstance(params.elicitation_id, str) is (revision == LATEST_LEGACY)


async def test_the_model_is_asked(server: Server, revision: str) -> None:
    seen: list[CreateMessageRequestParams] = []

    def model(params: CreateMessageRequestParams) -> CreateMessageResult:
        seen.append(params)
        return say(params)

    @server.tool
    async def shout(ctx: Context) -> str:
        answer = await ctx.sample(
            "hello",
            max_tokens=5,
            system_prompt="Shout.",
            temperature=0.5,
            stop_sequences=["!"],
            model_preferences="claude",
        )
        return f"{answer.text} {answer.model}"

    async with asked_by(server, revision, sampling=model) as client:
        assert await text_of(client, "shout") == "HELLO m"
    [params] = seen
    assert params.messages == [SamplingMessage(role="user", content=TextContent(text="hello"))]
    assert (params.max_tokens, params.system_prompt, params.temperature) == (5, "Shout.", 0.5)
    assert params.stop_sequences == ["!"]
    assert params.model_preferences == ModelPreferences(hints=[ModelHint(name="claude")])


@pages
async def test_the_model_is_given_tools_where_the_client_can(server: Server, revision: str) -> None:
    def model(params: CreateMessageRequestParams) -> CreateMessageResult:
        assert params.tools is not None
        assert params.tool_choice.mode == "required"  # type: ignore[union-attr]
        use = ToolUseContent(id="1", name=params.tools[0].name, input={"x": 1})  # type: ignore[index]
        return CreateMessageResult(role="assistant", model="m", content=[use])

    @server.tool
    async def think(ctx: Context) -> str:
        tool = Tool(name="look", input_schema={"type": "object"})
        answer = await ctx.sample("?", tools=[tool], tool_choice="required")
        assert isinstance(answer.content, list)
        [use] = answer.content
        assert isinstance(use, ToolUseContent)
        assert answer.text == ""
        return f"{use.name} {use.input}"

    able = ClientCapabilities(sampling=SamplingCapability(tools={}))
    async with asked_by(server, revision, sampling=model, capabilities=able) as client:
        assert await text_of(client, "think") == "look {'x': 1}"


async def test_the_roots_are_listed(server: Server, revision: str) -> None:
    @server.tool
    async def where(ctx: Context) -> str:
        return " ".join(root.uri for root in await ctx.list_roots())

    async with asked_by(server, revision, roots=["file:///a", "file:///b"]) as client:
        assert await text_of(client, "where") == "file:///a file:///b"


# --- several


@forms
async def test_a_long_conversation_has_every_answer_in_its_place(
    server: Server, revision: str
) -> None:
    @server.tool
    async def interview(ctx: Context, questions: int) -> str:
        said = [await ctx.elicit(f"question {n}", str) for n in range(questions)]
        return ", ".join(str(answer.data) for answer in said)

    async with asked_by(server, revision) as client:
        expected = ", ".join(f"question {n}" for n in range(10))
        assert await text_of(client, "interview", questions=10) == expected


@forms
async def test_later_questions_may_depend_on_earlier_answers(server: Server, revision: str) -> None:
    @server.tool
    async def shop(ctx: Context) -> str:
        what = await ctx.elicit("bread", str)
        reply = await ctx.sample(f"is there {what.data}?")
        roots = await ctx.list_roots()
        done = await ctx.elicit(f"{reply.text} at {roots[0].uri}", str)
        return str(done.data)

    async with asked_by(server, revision) as client:
        assert await text_of(client, "shop") == "IS THERE BREAD? at file:///srv"


@forms
async def test_several_questions_are_put_at_the_same_time(server: Server, revision: str) -> None:
    both = asyncio.Barrier(3)

    async def together(answer: Any) -> Any:
        await both.wait()
        return answer

    @server.tool
    async def everything(ctx: Context) -> str:
        answers = await ctx.ask(
            {"the form": elicit("Ada", str)}, model=sample("hi", max_tokens=3), where=list_roots()
        )
        assert list(answers) == ["the form", "model", "where"]
        return f"{answers['the form'].data} {answers['model'].text} {answers['where'][0].uri}"

    able: dict[str, Any] = {
        "elicitation": lambda params: together(fill_in(params)),
        "sampling": lambda params: together(say(params)),
    }
    async with asked_by(server, revision, **able) as client:
        asking = asyncio.create_task(text_of(client, "everything"))
        await both.wait()  # for the form and the model, which wait for each other
        assert await asking == "Ada HI file:///srv"


@forms
@pytest.mark.parametrize("how", ["gather", "group", "anyio"])
async def test_questions_may_be_gathered_or_asked_in_a_task_group(
    server: Server, revision: str, how: str
) -> None:
    @server.tool
    async def both(ctx: Context) -> str:
        first = await ctx.elicit("first", str)
        if how == "gather":
            second, third = await asyncio.gather(
                ctx.elicit(f"{first.data}, second", str), ctx.sample("third")
            )
        elif how == "anyio":
            found: dict[str, Any] = {}

            async def find(name: str, asking: Awaitable[Any]) -> None:
                with anyio.fail_after(5):
                    found[name] = await asking

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(find, "2", ctx.elicit(f"{first.data}, second", str))
                tasks.start_soon(find, "3", ctx.sample("third"))
            second, third = found["2"], found["3"]
        else:
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(_asking(ctx, f"{first.data}, second"))
                model = group.create_task(_sampling(ctx, "third"))
            second, third = asking.result(), model.result()
        last = await ctx.elicit(f"{second.data}, {third.text}, last", str)
        return str(last.data)

    async with asked_by(server, revision) as client:
        assert await text_of(client, "both") == "first, second, THIRD, last"


async def _asking(ctx: Context, message: str) -> Any:
    return await ctx.elicit(message, str)


async def _sampling(ctx: Context, message: str) -> CreateMessageResult:
    return await ctx.sample(message)


# --- the ways of handlers


@forms
async def test_plain_functions_wait_for_the_answer(server: Server, revision: str) -> None:
    @server.tool
    def plain(ctx: Context) -> str:
        who: Any = ctx.elicit("Ada", str)
        model: Any = ctx.sample("hi")
        several: Any = ctx.ask(x=elicit("x", int), roots=list_roots())
        return f"{who.data} {model.text} {several['x'].data} {several['roots'][0].uri}"

    async with asked_by(server, revision) as client:
        assert await text_of(client, "plain") == "Ada HI 7 file:///srv"


@forms
async def test_a_plain_function_on_the_event_loop_cannot_ask_and_is_told(
    server: Server, revision: str
) -> None:
    @server.tool(thread=False)
    def plain(ctx: Context) -> str:
        with pytest.raises(Exception, match="thread=False cannot wait for an answer"):
            ctx.elicit("Who?", str)
        return "told"

    async with asked_by(server, revision) as client:
        assert await text_of(client, "plain") == "told"


@forms
@pytest.mark.parametrize(
    "catches", ["Exception", "BaseException", "finally", "timeout", "wait_for"]
)
async def test_handlers_may_guard_what_they_do(server: Server, revision: str, catches: str) -> None:
    @server.tool
    async def careful(ctx: Context) -> str:
        match catches:
            case "Exception":
                try:
                    answer = await ctx.elicit("hello", str)
                except Exception:  # noqa: BLE001 - the point of it
                    return "caught"
            case "BaseException":
                try:
                    answer = await ctx.elicit("hello", str)
                except BaseException:
                    await asyncio.sleep(0)
                    raise
            case "finally":
                try:
                    answer = await ctx.elicit("hello", str)
                finally:
                    await asyncio.sleep(0)
            case "timeout":
                async with asyncio.timeout(30):
                    answer = await ctx.elicit("hello", str)
            case _:
                answer = await asyncio.wait_for(ctx.elicit("hello", str), 30)
        return str(answer.data)

    async with asked_by(server, revision) as client:
        assert await text_of(client, "careful") == "hello"


@forms
async def test_prompts_and_resources_ask_as_well(server: Server, revision: str) -> None:
    @server.prompt
    async def letter(to: str, ctx: Context) -> str:
        return f"To {to}: {(await ctx.elicit('text', str)).data}"

    @server.resource("quiz://{name}")
    def page(name: str, ctx: Context) -> str:
        answer: Any = ctx.elicit(name, str)
        return f"page {answer.data}"

    async with asked_by(server, revision) as client:
        [message] = (await client.get_prompt("letter", {"to": "Ada"})).messages
        assert message.content == TextContent(text="To Ada: text")
        [contents] = (await client.read_resource("quiz://one")).contents
        assert contents.text == "page one"


@forms
async def test_a_resource_that_a_tool_reads_may_ask(server: Server, revision: str) -> None:
    @server.resource("quiz://page")
    async def page(ctx: Context) -> str:
        return f"page {(await ctx.elicit('two', str)).data}"

    @server.tool
    async def read(ctx: Context) -> str:
        first = await ctx.elicit("one", str)
        [contents] = (await ctx.read_resource("quiz://page")).contents
        return f"{first.data}: {contents.text}"

    async with asked_by(server, revision) as client:
        assert await text_of(client, "read") == "one: page two"


@forms
async def test_calls_that_ask_at_the_same_time_do_not_mix(server: Server, revision: str) -> None:
    @server.tool
    async def echo(ctx: Context, text: str) -> str:
        first = await ctx.elicit(text, str)
        second = await ctx.elicit(f"{text} again", str)
        return f"{first.data}, {second.data}"

    async with asked_by(server, revision) as client:
        calls = [text_of(client, "echo", text=str(n)) for n in range(20)]
        assert await asyncio.gather(*calls) == [f"{n}, {n} again" for n in range(20)]


# --- work that is not repeated


@dataclass
class Receipt:
    number: int


@forms
@pytest.mark.parametrize("kind", ["async", "plain", "thread"])
async def test_what_once_runs_is_run_once(server: Server, revision: str, kind: str) -> None:
    charged: list[str] = []

    def charge(who: str) -> Receipt:
        charged.append(who)
        return Receipt(len(charged))

    async def charge_later(who: str) -> Receipt:
        await asyncio.sleep(0)
        return charge(who)

    if kind == "thread":

        @server.tool
        def buy(ctx: Context) -> str:
            receipt: Any = ctx.once("charge", charge, "Ada")
            later: Any = ctx.once("later", charge_later, "Bob")
            sure: Any = ctx.elicit("sure", str)
            return f"{receipt} {later} {sure.data}"
    else:

        @server.tool("buy")
        async def buy_async(ctx: Context) -> str:
            receipt = await ctx.once("charge", charge if kind == "plain" else charge_later, "Ada")
            sure = await ctx.elicit("sure", str)
            later = await ctx.once("later", charge, "Bob")
            last = await ctx.elicit("sure", str)
            assert last.data == "sure"
            return f"{receipt} {later} {sure.data}"

    async with asked_by(server, revision) as client:
        assert await text_of(client, "buy") == f"{Receipt(1)} {Receipt(2)} sure"
        assert charged == ["Ada", "Bob"]
        # Another call is another matter.
        assert await text_of(client, "buy") == f"{Receipt(3)} {Receipt(4)} sure"


@forms
async def test_a_handler_is_not_unwound_while_once_is_at_work(
    server: Server, revision: str
) -> None:
    begun, ended = 0, 0

    async def work() -> int:
        nonlocal begun, ended
        begun += 1
        for _ in range(20):
            await asyncio.sleep(0)
        ended += 1
        return ended

    @server.tool
    async def both(ctx: Context) -> str:
        answer, done = await asyncio.gather(ctx.elicit("hi", str), ctx.once("work", work))
        return f"{answer.data} {done}"

    async with asked_by(server, revision) as client:
        assert await text_of(client, "both") == "hi 1"
    assert (begun, ended) == (1, 1)


@forms
async def test_the_same_name_again_is_another_result(server: Server, revision: str) -> None:
    numbers = iter(range(10))

    @server.tool
    async def count(ctx: Context) -> str:
        first = await ctx.once("n", lambda: next(numbers))
        second = await ctx.once("n", lambda: next(numbers))
        await ctx.elicit("hi", str)
        return f"{first} {second}"

    async with asked_by(server, revision) as client:
        assert await text_of(client, "count") == "0 1"


@forms
async def test_what_once_runs_cannot_ask(server: Server, revision: str) -> None:
    @server.tool
    async def wrong(ctx: Context) -> str:
        async def ask() -> Any:
            return (await ctx.elicit("hi", str)).data

        with pytest.raises(RuntimeError, match="what `once` runs cannot ask"):
            await ctx.once("ask", ask)
        return str((await ctx.elicit("and now", str)).data)

    async with asked_by(server, revision) as client:
        assert await text_of(client, "wrong") == "and now"


@forms
async def test_a_result_comes_back_as_its_function_declares_it(
    server: Server, revision: str
) -> None:
    def receipts() -> list[Receipt]:
        return [Receipt(1)]

    def liar() -> int:
        return "text"  # type: ignore[return-value]

    def stranger() -> "Unknown":  # type: ignore[name-defined]  # noqa: F821
        return Receipt(2)

    @server.tool
    async def read(ctx: Context) -> str:
        found = await ctx.once("receipts", receipts), await ctx.once("stranger", stranger)
        with pytest.raises(TypeError, match="liar returned something that it does not declare"):
            await ctx.once("liar", liar)
        await ctx.elicit("hi", str)
        return repr(found)

    async with asked_by(server, revision) as client:
        assert await text_of(client, "read") == repr(([Receipt(1)], {"number": 2}))


@forms
async def test_what_json_has_no_form_for_cannot_be_remembered(
    server: Server, revision: str
) -> None:
    @server.tool
    async def wrong(ctx: Context) -> str:
        with pytest.raises(TypeError, match="the result of 'thing' cannot be remembered"):
            await ctx.once("thing", object)
        return "told"

    async with asked_by(server, revision) as client:
        assert await text_of(client, "wrong") == "told"


# --- by hand


@forms
async def test_a_handler_may_ask_by_hand(server: Server, revision: str) -> None:
    @server.tool
    async def by_hand(ctx: Context) -> str | InputRequired:
        if not ctx.input_responses:
            assert ctx.input_state is None
            questions: Any = {
                "who": elicit("Ada", str),
                "roots": list_roots(),
                "m": sample("hi", max_tokens=3),
            }
            return InputRequired(questions, state={"round": [1]})
        if ctx.input_state == {"round": [1]}:
            first = ctx.input_responses
            said = [first["who"].content["value"], first["roots"].roots[0].uri, first["m"].text]
            return InputRequired({"sure": elicit("sure", bool)}, state=said)
        assert list(ctx.input_responses) == ["sure"]
        return f"{ctx.input_state} {ctx.input_responses['sure'].content}"

    async with asked_by(server, revision) as client:
        expected = "['Ada', 'file:///srv', 'HI'] {'value': True}"
        assert await text_of(client, "by_hand") == expected


@forms
async def test_prompts_and_resources_ask_by_hand_too(server: Server, revision: str) -> None:
    @server.prompt
    async def letter(ctx: Context) -> str | InputRequired:
        if "text" not in ctx.input_responses:
            return InputRequired({"text": elicit("hello", str)})
        return str(ctx.input_responses["text"].content["value"])

    @server.resource("quiz://page")
    async def page(ctx: Context) -> str | InputRequired:
        if ctx.input_state is None:
            return InputRequired(state="been here")
        return str(ctx.input_state)

    async with asked_by(server, revision) as client:
        [message] = (await client.get_prompt("letter")).messages
        assert message.content == TextContent(text="hello")
        [contents] = (await client.read_resource("quiz://page")).contents
        assert contents.text == "been here"


@forms
async def test_by_hand_and_in_the_middle_go_together(server: Server, revision: str) -> None:
    @server.tool
    async def mixed(ctx: Context) -> str | InputRequired:
        first = await ctx.elicit("first", str)
        if "second" not in ctx.input_responses:
            return InputRequired({"second": elicit("second", str)})
        return f"{first.data}, {ctx.input_responses['second'].content['value']}"

    asked: list[str] = []

    def answer(params: ElicitRequestFormParams) -> dict[str, Any]:
        asked.append(params.message)
        return fill_in(params)

    async with asked_by(server, revision, elicitation=answer) as client:
        assert await text_of(client, "mixed") == "first, second"
    assert asked == ["first", "second"]


# --- clients that cannot


@pytest.mark.parametrize("method", ["elicit", "elicit_url", "sample", "list_roots"])
async def test_a_client_that_did_not_declare_it_is_not_asked_and_the_caller_told_at_once(
    server: Server, revision: str, method: str
) -> None:
    @server.tool
    async def ask(ctx: Context) -> str:
        assert not getattr(ctx, f"can_{method}")
        match method:
            case "elicit":
                await ctx.elicit("hi", str)
            case "elicit_url":
                await ctx.elicit_url("hi", "https://example.com")
            case "sample":
                await ctx.sample("hi")
            case _:
                await ctx.list_roots()
        raise AssertionError("there was an answer")

    nothing: dict[str, Any] = {"elicitation": None, "sampling": None, "roots": None}
    needed: Any = {
        "elicit": {"elicitation": {}},
        "elicit_url": {"elicitation": {"url": {}}},
        "sample": {"sampling": {}},
        "list_roots": {"roots": {}},
    }[method]
    async with asyncio.timeout(30), asked_by(server, revision, **nothing) as client:
        if revision == LATEST_MODERN:
            with pytest.raises(RequestFailed) as refused:
                await client.call_tool("ask")
            assert refused.value.code == -32021
            assert refused.value.data == {"requiredCapabilities": needed}
        else:
            [capability] = needed
            text = await error_of(client, "ask")
            if capability == "elicitation" and revision < V2025_06_18:
                reason = f"there is no elicitation/create in {revision}"
            else:
                reason = f"it did not declare `{capability}"
            assert text.startswith(f"the client cannot be asked: {reason}")


@forms
async def test_a_handler_may_do_without(server: Server, revision: str) -> None:
    @server.tool
    async def polite(ctx: Context) -> str:
        try:
            return str((await ctx.elicit("hi", str)).data)
        except (RequestFailed, QuestionFailed):
            return f"nobody to ask; roots {ctx.can_list_roots}"

    async with asked_by(server, revision, elicitation=None) as client:
        assert await text_of(client, "polite") == "nobody to ask; roots True"


@forms
async def test_a_question_in_a_task_group_fails_as_plainly_as_elsewhere(
    server: Server, revision: str
) -> None:
    @server.tool
    async def group(ctx: Context) -> str:
        async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
            inner.create_task(_asking(ctx, "hi"))
            outer.create_task(asyncio.sleep(0))
        raise AssertionError("there was an answer")

    async with asked_by(server, revision, elicitation=None) as client:
        if revision == LATEST_MODERN:
            with pytest.raises(RequestFailed, match="-32021"):
                await client.call_tool("group")
        else:
            assert "did not declare `elicitation`" in await error_of(client, "group")


@forms
async def test_a_form_that_no_client_could_show_is_refused_by_name(
    server: Server, revision: str
) -> None:
    @dataclass
    class Address:
        person: Person

    @server.tool
    async def wrong(ctx: Context) -> str:
        with pytest.raises(TypeError, match="field `person` cannot be in a form"):
            await ctx.elicit("hi", Address)
        return "told"

    async with asked_by(server, revision) as client:
        assert await text_of(client, "wrong") == "told"


# --- over what carries messages elsewhere


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_questions_cross_the_pipe(revision: str) -> None:
    options: Any = {"mode": revision, "timeouts": TIMEOUTS, **ABLE}
    async with Client([sys.executable, str(PROGRAM)], **options) as client:
        assert await text_of(client, "interview") == "name: Ada, color: blue"
        assert await text_of(client, "plain") == "HELLO file:///srv"


@pytest.mark.parametrize("revision", [*WITH_FORMS, "sse"])
async def test_questions_cross_http(revision: str) -> None:
    path, mode = ("sse", "legacy") if revision == "sse" else ("mcp", revision)
    options: Any = {"mode": mode, "timeouts": TIMEOUTS, **ABLE}
    async with serving_http(quiz, sse=True) as origin, Client(f"{origin}/{path}", **options) as c:
        calls = [text_of(c, "plain"), *(text_of(c, "interview") for _ in range(5))]
        plain, *others = await asyncio.gather(*calls)
        assert plain == "HELLO file:///srv"
        assert others == ["name: Ada, color: blue"] * 5


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_without_sessions_only_modern_clients_are_asked(revision: str) -> None:
    options: Any = {"mode": revision, "timeouts": TIMEOUTS, **ABLE}
    async with (
        asyncio.timeout(30),
        serving_http(quiz, sessions=False) as origin,
        Client(f"{origin}/mcp", **options) as client,
    ):
        if revision == LATEST_MODERN:
            assert await text_of(client, "interview") == "name: Ada, color: blue"
            return
        assert await error_of(client, "interview") == (
            "the client cannot be asked: elicitation/create of 2025-11-25 needs a session, "
            "and this server keeps none"
        )
        assert await text_of(client, "abilities") == "[False, False, False, False]"
