"""How modern clients are asked: rounds on the wire, and the state that they carry."""

import asyncio
import json
from typing import Any

import pytest

from tests.interaction.asker import Asker, accepted, asked, refusal, text
from wigwag import (
    Context,
    InputRequired,
    Limits,
    QuestionFailed,
    Server,
    elicit,
    list_roots,
    sample,
)

pytestmark = pytest.mark.anyio

Json = Any

ALL: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
KEY, OTHER_KEY = b"k" * 32, "o" * 40


def make_server(**options: Any) -> Server:
    server = Server("quiz", **options)

    @server.tool
    async def greet(ctx: Context, greeting: str = "Hello") -> str:
        name = await ctx.elicit("What is your name?", {"name": str}, key="user_name")
        color = await ctx.elicit("Color?", {"color": str}, key="color")
        assert name.action == color.action == "accept"
        return f"{greeting}, {name.data['name']} in {color.data['color']}!"

    return server


@pytest.fixture
def server() -> Server:
    return make_server()


async def test_each_round_asks_the_next_question_and_remembers_the_answers(server: Server) -> None:
    async with Asker(server) as client:
        questions, first = asked(await client.call_with())
        assert questions == {
            "user_name": {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "message": "What is your name?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}},
                        "required": ["name"],
                    },
                },
            }
        }
        questions, second = asked(await client.call_with(first, {"user_name": accepted(name="A")}))
        assert list(questions) == ["color"]
        assert second != first
        # The answer of the first round is in the state alone.
        answer = await client.call_with(second, {"color": accepted(color="red")})
        assert text(answer) == "Hello, A in red!"


async def test_questions_are_numbered_where_they_have_no_key(server: Server) -> None:
    @server.tool
    async def many(ctx: Context) -> str:
        first = await ctx.elicit("1", str)
        second, model, roots, third = await asyncio.gather(
            ctx.elicit("2", str), ctx.sample("m"), ctx.list_roots(), ctx.elicit("3", str)
        )
        return f"{first.data}{second.data}{third.data}{model.text}{roots}"

    async with Asker(server, ALL) as client:
        questions, state = asked(await client.call_with(tool="many"))
        assert list(questions) == ["elicitation"]
        yes = accepted(value="x")
        questions, state = asked(await client.call_with(state, {"elicitation": yes}, "many"))
        assert {key: question["method"] for key, question in questions.items()} == {
            "elicitation-2": "elicitation/create",
            "sampling": "sampling/createMessage",
            "roots": "roots/list",
            "elicitation-3": "elicitation/create",
        }
        said = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "s"}}
        # What is answered in part is remembered; only the rest is asked again.
        some = {"elicitation-2": yes, "sampling": said}
        questions, state = asked(await client.call_with(state, some, "many"))
        assert list(questions) == ["roots", "elicitation-3"]
        rest = {"roots": {"roots": []}, "elicitation-3": yes}
        assert text(await client.call_with(state, rest, "many")) == "xxxs[]"


# --- answers


ODD: Json = [
    None,
    {},
    {"wrong_key": accepted(name="A")},
    {"user_name": {"action": "accept"}},
    {"user_name": {"action": "accept", "content": {}}},
    {"user_name": {"action": "accept", "content": {"name": 3}}},
    {"user_name": {"roots": []}},
]
BROKEN: Json = [
    {"user_name": 42},
    {"user_name": None},
    {"user_name": {}},
    {"user_name": []},
    {"user_name": {"action": "perhaps"}},
    {"user_name": {"action": "accept", "content": {"name": None}}},
]


@pytest.mark.parametrize("responses", ODD, ids=json.dumps)
async def test_what_is_no_answer_is_asked_again(server: Server, responses: Json) -> None:
    await is_asked_again(server, responses)


@pytest.mark.broken_messages("client")
@pytest.mark.parametrize("responses", BROKEN, ids=json.dumps)
async def test_what_has_no_form_of_an_answer_is_asked_again(
    server: Server, responses: Json
) -> None:
    await is_asked_again(server, responses)


async def is_asked_again(server: Server, responses: Json) -> None:
    async with Asker(server) as client:
        questions, state = asked(await client.call_with())
        again, state = asked(await client.call_with(state, responses))
        assert again == questions
        # And from there it goes on.
        questions, state = asked(await client.call_with(state, {"user_name": accepted(name="A")}))
        assert list(questions) == ["color"]


@pytest.mark.broken_messages("client")
async def test_answers_that_nobody_asked_for_are_ignored(server: Server) -> None:
    async with Asker(server) as client:
        _, state = asked(await client.call_with())
        more = {"user_name": accepted(name="A"), "color": accepted(color="x"), "odd": 1}
        questions, state = asked(await client.call_with(state, more))
        assert list(questions) == ["color"]
        assert text(await client.call_with(state, {"color": accepted(color="red"), "x": None}))


@pytest.mark.broken_messages("client")
async def test_answers_without_a_state_are_taken_from_who_knows_the_questions(
    server: Server,
) -> None:
    async with Asker(server) as client:
        both = {"user_name": accepted(name="A"), "color": accepted(color="red")}
        assert text(await client.call_with(None, both)) == "Hello, A in red!"
        questions, _ = asked(await client.call_with(None, {"user_name": 42}))
        assert list(questions) == ["user_name"]


@pytest.mark.broken_messages("client")
@pytest.mark.parametrize("broken", [{"inputResponses": None}, {"requestState": 3}], ids=str)
async def test_members_of_the_wrong_type_are_refused(server: Server, broken: Json) -> None:
    async with Asker(server) as client:
        answer = await client.ask(client.request("tools/call", {"name": "greet", **broken}))
        assert next(iter(broken)) in refusal(answer)


# --- the state


@pytest.mark.parametrize("change", ["appended", "changed", "cut", "empty", "foreign", "signed"])
async def test_a_state_that_was_changed_is_an_error(server: Server, change: str) -> None:
    async with Asker(server) as client:
        _, state = asked(await client.call_with())
        middle = len(state) // 2
        swapped = "A" if state[middle] != "A" else "B"
        broken = {
            "appended": f"{state}-TAMPERED",
            "changed": f"{state[:middle]}{swapped}{state[middle + 1 :]}",
            "cut": state[:-1],
            "empty": "",
            "foreign": "some other server's",
            "signed": f"s1.{state[3:]}",
        }[change]
        answer = await client.call_with(broken, {"user_name": accepted(name="A")})
        assert refusal(answer).startswith("Invalid params: `requestState` is not one for this")


async def test_a_state_is_good_for_the_same_request_only(server: Server) -> None:
    @server.tool
    async def leave(ctx: Context, greeting: str = "Hello") -> str:
        return f"{greeting} {await ctx.elicit('What is your name?', {'name': str})}"

    @server.prompt
    async def greet(ctx: Context, greeting: str = "Hello") -> str:
        return f"{greeting} {await ctx.elicit('What is your name?', {'name': str})}"

    yes = {"user_name": accepted(name="A")}
    async with Asker(server) as client:
        _, state = asked(await client.call_with(greeting="Hi"))
        for other in (
            await client.call_with(state, yes),
            await client.call_with(state, yes, greeting="Ho"),
            await client.call_with(state, yes, "leave", greeting="Hi"),
        ):
            assert "is not one for this request" in refusal(other)
        params: Json = {"name": "greet", "arguments": {"greeting": "Hi"}, "requestState": state}
        answer = await client.ask(client.request("prompts/get", params))
        assert "is not one for this request" in refusal(answer)
        # And as often as it likes for that one: nothing is remembered here.
        for _ in range(2):
            asked(await client.call_with(state, yes, greeting="Hi"))


async def test_the_order_and_the_spelling_of_the_arguments_do_not_matter() -> None:
    server = Server("quiz")

    @server.tool
    async def add(a: int, b: str, ctx: Context) -> str:
        return f"{a}{b}{(await ctx.elicit('c', str, key='c')).data}"

    async with Asker(server) as client:
        _, state = asked(await client.call_with(tool="add", a=1, b="é"))
        message = client.request("tools/call", {"name": "add"})
        message["params"] |= {"requestState": state, "inputResponses": {"c": accepted(value="x")}}
        raw = json.dumps(message)
        client.send_raw((raw[:-2] + r', "arguments": {"b": "\u00e9",  "a": 1}}}').encode())
        assert text(await client.next()) == "1éx"


async def test_a_state_expires() -> None:
    server = make_server(limits=Limits(state_lifetime=-2.0))
    async with Asker(server) as client:
        _, state = asked(await client.call_with())
        answer = await client.call_with(state, {"user_name": accepted(name="A")})
        assert "`requestState` has expired; begin again" in refusal(answer)


async def test_servers_with_the_same_key_stand_in_for_each_other() -> None:
    yes = {"user_name": accepted(name="A")}
    one, two = make_server(state_keys=[KEY]), make_server(state_keys=[KEY])
    rotated, other = make_server(state_keys=[OTHER_KEY, KEY]), make_server(state_keys=[OTHER_KEY])
    namesake = Server("other", state_keys=[KEY])

    @namesake.tool
    async def greet(ctx: Context, greeting: str = "") -> str:
        raise AssertionError("it must not come to this")

    async with Asker(one) as client:
        _, state = asked(await client.call_with())
    for server in (two, rotated):
        async with Asker(server) as client:
            questions, _ = asked(await client.call_with(state, yes))
            assert list(questions) == ["color"]
    for server in (other, make_server(), namesake):
        async with Asker(server) as client:
            assert "is not one for this" in refusal(await client.call_with(state, yes))


async def test_the_state_does_not_show_what_is_in_it(server: Server) -> None:
    async with Asker(server) as client:
        _, state = asked(await client.call_with())
        _, state = asked(await client.call_with(state, {"user_name": accepted(name="secret")}))
        assert state.startswith("e1.")
        assert "secret" not in state


async def test_there_is_a_limit_to_what_is_remembered() -> None:
    server = make_server(limits=Limits(state_bytes=1000))
    async with Asker(server) as client:
        _, state = asked(await client.call_with())
        answer = await client.call_with(state, {"user_name": accepted(name="A" * 1000)})
        assert answer["error"]["code"] == -32603
        assert "the server's limit is 1000" in answer["error"]["message"]
        # What need not be remembered may be as long as messages may.
        _, state = asked(await client.call_with(state, {"user_name": accepted(name="A")}))
        answer = await client.call_with(state, {"color": accepted(color="c" * 5000)})
        assert len(text(answer)) > 5000


def test_a_key_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 32 random bytes, not 5"):
        Server("quiz", state_keys=["short"])


# --- handlers


async def test_a_handler_that_asks_something_else_when_run_again_fails_and_says_why(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    count = 0

    @server.tool
    async def fickle(ctx: Context) -> str:
        nonlocal count
        count += 1
        return str(await ctx.elicit(f"Try {count}?", str, key="try"))

    async with Asker(server) as client:
        _, state = asked(await client.call_with(tool="fickle"))
        answer = await client.call_with(state, {"try": accepted(value="x")}, "fickle")
        assert answer["result"]["isError"] is True
    assert "the question 'try' is not the one that was answered" in caplog.text
    assert "let `once` remember what changes" in caplog.text


async def test_a_handler_that_swallows_the_unwinding_asks_all_the_same(server: Server) -> None:
    @server.tool
    async def greedy(ctx: Context) -> str:
        try:
            answer = await ctx.elicit("What?", str, key="what")
        except BaseException:  # noqa: BLE001 - as bad handlers do
            return "swallowed"
        return str(answer.data)

    @server.tool
    async def collecting(ctx: Context) -> str:
        found = await asyncio.gather(ctx.elicit("What?", str, key="what"), return_exceptions=True)
        return str(found[0].data)  # type: ignore[union-attr]

    async with Asker(server) as client:
        for tool in ("greedy", "collecting"):
            questions, state = asked(await client.call_with(tool=tool))
            assert list(questions) == ["what"]
            yes = {"what": accepted(value="this")}
            assert text(await client.call_with(state, yes, tool)) == "this"


async def test_a_failure_beside_a_question_is_a_failure(server: Server) -> None:
    async def fail() -> None:
        raise ValueError("on purpose")

    @server.tool
    async def both(ctx: Context) -> str:
        await asyncio.gather(ctx.elicit("What?", str), fail())
        raise AssertionError("it must not come to this")

    async with Asker(server) as client:
        answer = await client.call_with(tool="both")
        assert answer["result"]["isError"] is True


async def test_a_question_that_is_given_up_is_not_asked(server: Server) -> None:
    @server.tool
    async def hasty(ctx: Context) -> str:
        asking = asyncio.ensure_future(ctx.elicit("Never?", str, key="never"))
        asyncio.get_running_loop().call_soon(asking.cancel)
        await asyncio.wait([asking])
        return str((await ctx.elicit("What?", str, key="what")).data)

    async with Asker(server) as client:
        questions, _ = asked(await client.call_with(tool="hasty"))
        assert list(questions) == ["what"]


async def test_a_task_that_outlives_its_call_asks_nobody(server: Server) -> None:
    left: list[asyncio.Future[Any]] = []
    contexts: list[Context] = []

    @server.tool
    async def leave(ctx: Context) -> str:
        left.append(asyncio.ensure_future(ctx.elicit("What?", str)))
        contexts.append(ctx)
        return "gone"

    async with Asker(server) as client:
        assert text(await client.call_with(tool="leave")) == "gone"
        with pytest.raises(QuestionFailed, match="the call has been answered"):
            await left[0]
        with pytest.raises(QuestionFailed, match="the call has been answered"):
            await contexts[0].elicit("And now?", str)


async def test_what_once_remembers_is_not_run_in_later_rounds(server: Server) -> None:
    runs: list[int] = []

    def count() -> int:
        runs.append(1)
        return len(runs)

    @server.tool
    async def buy(ctx: Context) -> str:
        number = await ctx.once("number", count)
        sure = await ctx.elicit(f"Buy {number}?", bool, key="sure")
        return f"{number} {sure.data}"

    async with Asker(server) as client:
        _, state = asked(await client.call_with(tool="buy"))
        answer = await client.call_with(state, {"sure": accepted(value=True)}, "buy")
        assert text(answer) == "1 True"
        assert runs == [1]


# --- what the client declared


async def test_the_need_for_tools_or_pages_is_said(server: Server) -> None:
    @server.tool
    async def page(ctx: Context) -> str:
        return str(await ctx.elicit_url("Go", "https://example.com"))

    @server.tool
    async def think(ctx: Context) -> str:
        return str(await ctx.sample("x", max_tokens=1, tool_choice="auto"))

    some: Json = {"elicitation": {"form": {}}, "sampling": {}}
    async with Asker(server, some) as client:
        answer = await client.call_with(tool="page")
        assert answer["error"]["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}
        answer = await client.call_with(tool="think")
        assert answer["error"]["code"] == -32021
        assert answer["error"]["data"] == {"requiredCapabilities": {"sampling": {"tools": {}}}}


@pytest.mark.parametrize("declared", [{}, {"context": {}}], ids=str)
async def test_context_is_asked_for_where_the_client_has_some(
    server: Server, declared: Json
) -> None:
    @server.tool
    async def think(ctx: Context) -> str:
        return (await ctx.sample("x", max_tokens=1, include_context="thisServer")).text

    async with Asker(server, {"sampling": declared}) as client:
        questions, _ = asked(await client.call_with(tool="think"))
        params = questions["sampling"]["params"]
        assert ("includeContext" in params) is bool(declared)


async def test_only_what_the_client_declared_is_asked_by_a_handler_that_looks(
    server: Server,
) -> None:
    @server.tool
    async def picky(ctx: Context) -> str:
        questions: Json = {}
        if ctx.can_elicit:
            questions["name"] = elicit("Name?", str)
        if ctx.can_sample:
            questions["model"] = sample("Hi", max_tokens=1)
        if ctx.can_list_roots:
            questions["roots"] = list_roots()
        return str(await ctx.ask(questions))

    async with Asker(server, {"sampling": {}}) as client:
        questions, _ = asked(await client.call_with(tool="picky"))
        assert list(questions) == ["model"]


async def test_the_id_of_a_visit_is_no_part_of_the_question(server: Server) -> None:
    numbers = iter(range(10))

    @server.tool
    async def page(ctx: Context) -> str:
        url = "https://example.com"
        answer = await ctx.elicit_url("Go", url, f"visit-{next(numbers)}", key="page")
        await ctx.elicitation_complete("visit-0")
        return answer.action

    async with Asker(server, ALL) as client:
        questions, state = asked(await client.call_with(tool="page"))
        assert questions["page"]["params"] == {
            "mode": "url",
            "message": "Go",
            "url": "https://example.com",
        }
        answer = await client.call_with(state, {"page": {"action": "accept"}}, "page")
        assert text(answer) == "accept"


# --- by hand


@pytest.mark.broken_messages("client")
async def test_by_hand_without_a_state_none_is_sent(server: Server) -> None:
    @server.tool
    async def by_hand(ctx: Context) -> str | InputRequired:
        if "n" not in ctx.input_responses:
            return InputRequired({"n": elicit("N?", int)})
        return str(ctx.input_responses["n"].content)

    async with Asker(server) as client:
        questions, state = asked(await client.call_with(tool="by_hand"))
        assert (list(questions), state) == (["n"], None)
        again, state = asked(await client.call_with(None, {"n": 42}, "by_hand"))
        assert again == questions
        answer = await client.call_with(None, {"n": accepted(value=3)}, "by_hand")
        assert text(answer) == "{'value': 3}"


async def test_a_state_by_hand_is_sealed_like_any_other(server: Server) -> None:
    @server.tool
    async def by_hand(ctx: Context) -> str | InputRequired:
        if ctx.input_state is None:
            return InputRequired(state={"step": 1})
        return str(ctx.input_state)

    async with Asker(server) as client:
        questions, state = asked(await client.call_with(tool="by_hand"))
        assert questions is None
        assert text(await client.call_with(state, None, "by_hand")) == "{'step': 1}"
        refusal(await client.call_with(f"{state}x", None, "by_hand"))


async def test_by_hand_nothing_is_asked_that_the_client_did_not_declare(server: Server) -> None:
    @server.tool
    async def by_hand(ctx: Context) -> InputRequired:
        return InputRequired({"n": elicit("N?", int), "roots": list_roots()})

    async with Asker(server) as client:
        answer = await client.call_with(tool="by_hand")
        assert answer["error"]["data"] == {"requiredCapabilities": {"roots": {}}}


async def test_a_tool_that_may_ask_by_hand_keeps_its_output_schema(server: Server) -> None:
    @server.tool
    async def number(ctx: Context) -> int | InputRequired:
        return 3

    async with Asker(server) as client:
        answer = await client.ask(client.request("tools/list"))
        schemas = {tool["name"]: tool.get("outputSchema") for tool in answer["result"]["tools"]}
        assert schemas["number"] == {"type": "integer"}
        answer = await client.call_with(tool="number")
        assert answer["result"]["structuredContent"] == 3


async def test_what_is_read_after_questions_is_not_to_be_cached(server: Server) -> None:
    @server.resource("quiz://page")
    async def page(ctx: Context) -> str:
        return str((await ctx.elicit("What?", str, key="what")).data)

    async with Asker(server) as client:
        params: Json = {"uri": "quiz://page"}
        _, state = asked(await client.ask(client.request("resources/read", params)))
        params |= {"requestState": state, "inputResponses": {"what": accepted(value="x")}}
        result = (await client.ask(client.request("resources/read", params)))["result"]
        assert result["contents"][0]["text"] == "x"
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
