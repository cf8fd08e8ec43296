"""How clients of legacy sessions are asked: by requests, in the middle of their own."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE
from tests.interaction.peers import PeerClient, cancelled
from tests.pair import Message, error, initialize, result
from wigwag import Context, InputRequired, QuestionFailed, Server, elicit, list_roots, sample
from wigwag.schema import LATEST_LEGACY, V2025_06_18
from wigwag.transports.memory import memory_pair

pytestmark = pytest.mark.anyio

Json = Any

ALL: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


@pytest.fixture
def server() -> Server:
    server = Server("quiz")

    @server.tool
    async def greet(ctx: Context) -> str:
        name = await ctx.elicit("What is your name?", {"name": str})
        return f"{name.action} {name.data}"

    return server


def asker(server: Server, capabilities: Json = ALL, revision: str = LATEST_LEGACY) -> PeerClient:
    return PeerClient(server, revision, capabilities=capabilities)


def accepted(**content: Json) -> Json:
    return {"action": "accept", "content": content}


def text(answer: Message) -> str:
    found: str = answer["result"]["content"][0]["text"]
    return found


def failure(answer: Message) -> str:
    assert answer["result"]["isError"] is True, answer
    return text(answer)


async def test_the_client_is_asked_while_its_call_is_under_way(server: Server) -> None:
    async with asker(server) as client:
        call = client.call("greet")
        client.send(call)
        question = await client.next("elicitation/create")
        assert question["params"] == {
            "mode": "form",
            "message": "What is your name?",
            "requestedSchema": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
        }
        # Neither side waits for the other meanwhile.
        assert (await client.ask(client.request("ping")))["result"] == {}
        client.send(result(question["id"], accepted(name="A")))
        answer = await client.next()
        assert answer["id"] == call["id"]
        assert text(answer) == "accept {'name': 'A'}"


async def test_several_questions_are_asked_at_the_same_time_and_answered_in_any_order(
    server: Server,
) -> None:
    @server.tool
    async def many(ctx: Context) -> str:
        answers = await ctx.ask(a=elicit("a", str), b=elicit("b", str), roots=list_roots())
        return f"{answers['a'].data} {answers['b'].data} {answers['roots']}"

    async with asker(server) as client:
        client.send(client.call("many"))
        questions = [await client.next() for _ in range(3)]
        for question in reversed(questions):
            message = question.get("params", {}).get("message")
            said = accepted(value=message * 2) if message else {"roots": []}
            client.send(result(question["id"], said))
        assert text(await client.next()) == "aa bb []"


async def test_when_one_of_several_fails_the_others_are_taken_back(server: Server) -> None:
    @server.tool
    async def many(ctx: Context) -> str:
        return str(await ctx.ask(a=elicit("a", str), model=sample("b", max_tokens=1)))

    async with asker(server) as client:
        client.send(client.call("many"))
        form = await client.next("elicitation/create")
        model = await client.next("sampling/createMessage")
        client.send(error(model["id"], -1, "User rejected sampling request"))
        said = [await client.next(), await client.next()]
        [taken_back] = [m for m in said if m.get("method") == "notifications/cancelled"]
        [answer] = [m for m in said if "result" in m]
        assert taken_back["params"]["requestId"] == form["id"]
        assert "User rejected sampling request" in failure(answer)


async def test_a_client_that_refuses_fails_the_call_in_its_own_words(server: Server) -> None:
    async with asker(server) as client:
        client.send(client.call("greet"))
        question = await client.next("elicitation/create")
        client.send(error(question["id"], -32603, "the window has gone"))
        said = failure(await client.next())
        assert said == "the client refused elicitation/create: the window has gone (error -32603)"


async def test_a_handler_can_do_without_an_answer(server: Server) -> None:
    @server.tool
    async def think(ctx: Context) -> str:
        try:
            return (await ctx.sample("hi", max_tokens=1)).text
        except QuestionFailed as problem:
            return f"without: {problem}"

    async with asker(server) as client:
        client.send(client.call("think"))
        question = await client.next("sampling/createMessage")
        client.send(error(question["id"], -1, "no"))
        assert text(await client.next()) == (
            "without: the client refused sampling/createMessage: no (error -1)"
        )


async def test_a_form_that_does_not_fit_is_asked_once_more(server: Server) -> None:
    async with asker(server) as client:
        client.send(client.call("greet"))
        first = await client.next("elicitation/create")
        client.send(result(first["id"], accepted(name=3)))
        second = await client.next("elicitation/create")
        assert second["params"] == first["params"]
        client.send(result(second["id"], accepted(name="A")))
        assert text(await client.next()) == "accept {'name': 'A'}"

        client.send(client.call("greet"))
        for _ in range(2):
            question = await client.next("elicitation/create")
            client.send(result(question["id"], accepted()))
        said = failure(await client.next())
        assert said == "the client's answer is no use: it does not fit the form: `name` is missing"


@pytest.mark.broken_messages("client")
@pytest.mark.parametrize("said", [{}, {"action": "perhaps"}, {"roots": []}], ids=str)
async def test_what_is_no_answer_fails_the_call(server: Server, said: Json) -> None:
    async with asker(server) as client:
        client.send(client.call("greet"))
        question = await client.next("elicitation/create")
        client.send(result(question["id"], said))
        assert "it is no result of elicitation/create" in failure(await client.next())


async def test_a_client_that_never_answers_is_given_up_and_told(server: Server) -> None:
    @server.tool
    async def hasty(ctx: Context) -> str:
        return str(await ctx.elicit("Quick!", str, timeout=0.01))

    async with asker(server) as client:
        client.send(client.call("hasty"))
        question = await client.next("elicitation/create")
        taken_back = await client.next("notifications/cancelled")
        assert taken_back["params"]["requestId"] == question["id"]
        said = failure(await client.next())
        assert said.startswith("the client cannot be asked: no answer to elicitation/create")


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_cancelled_call_takes_its_question_back(server: Server, kind: str) -> None:
    ended = threading.Event()

    if kind == "async":

        @server.tool("wait")
        async def wait(ctx: Context) -> str:
            try:
                return str(await ctx.elicit("Well?", str))
            finally:
                ended.set()
    else:

        @server.tool("wait")
        def wait_in_thread(ctx: Context) -> str:
            try:
                return str(ctx.elicit("Well?", str))
            except Exception:  # noqa: BLE001 - it is not to be seen as a failure here
                return "caught"
            finally:
                ended.set()

    async with asker(server) as client:
        call = client.call("wait")
        client.send(call)
        question = await client.next("elicitation/create")
        client.send(cancelled(call["id"]))
        taken_back = await client.next("notifications/cancelled")
        assert taken_back["params"]["requestId"] == question["id"]
        assert await asyncio.to_thread(ended.wait, PATIENCE)
        # The connection lives, and nothing more is said about the call.
        assert (await client.ask(client.request("ping")))["result"] == {}


async def test_when_the_client_goes_whoever_waits_for_its_answer_goes_on_and_nothing_failed(
    server: Server, log_text: Callable[[], str]
) -> None:
    asked = threading.Semaphore(0)
    ended = threading.Event()

    @server.tool
    def wait(ctx: Context) -> str:
        try:
            return str(ctx.elicit("Well?", str))
        finally:
            ended.set()

    @server.tool
    async def wait_too(ctx: Context) -> str:
        try:
            return str(await asyncio.gather(ctx.elicit("Well?", str), ctx.list_roots()))
        finally:
            asked.release()

    async with asker(server) as client:
        client.send(client.call("wait"), client.call("wait_too"))
        for _ in range(3):
            await client.next()
    assert await asyncio.to_thread(ended.wait, PATIENCE)
    assert asked.acquire(blocking=False)
    assert log_text() == ""


async def test_a_plain_function_whose_call_is_over_asks_nobody(server: Server) -> None:
    began, gate, ended = threading.Event(), threading.Event(), threading.Event()
    problems: list[BaseException] = []

    @server.tool
    def late(ctx: Context) -> str:
        began.set()
        gate.wait(PATIENCE)
        try:
            return str(ctx.elicit("Well?", str))
        except QuestionFailed as problem:
            problems.append(problem)
            raise
        finally:
            ended.set()

    async with asker(server) as client:
        call = client.call("late")
        client.send(call)
        assert await asyncio.to_thread(began.wait, PATIENCE)
        client.send(cancelled(call["id"]))
        assert (await client.ask(client.request("ping")))["result"] == {}
        gate.set()
        assert await asyncio.to_thread(ended.wait, PATIENCE)
        assert str(problems[0]) == "the call has been answered: nothing can be asked any more"
        await client.settle()
        assert client.unread == []


async def test_the_limit_of_a_tool_stands_still_while_its_client_is_asked() -> None:
    server = Server("quiz")

    @server.tool(timeout=1.0)
    async def patient(ctx: Context) -> str:
        first, second = await asyncio.gather(ctx.elicit("a", str), ctx.elicit("b", str))
        third = await ctx.elicit("c", str)
        return f"{first.data} {second.data} {third.data}"

    @server.tool(timeout=0.05)
    async def slow(ctx: Context) -> str:
        await ctx.elicit("a", str)
        await asyncio.Event().wait()
        return "never"

    async with asker(server) as client:
        client.send(client.call("patient"))
        first, second = await client.next(), await client.next()
        passing = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(1.5, passing.set_result, None)
        await passing  # longer than the limit
        client.send(result(first["id"], accepted(value="1")))
        client.send(result(second["id"], accepted(value="2")))
        third = await client.next()
        client.send(result(third["id"], accepted(value="3")))
        assert text(await client.next()) == "1 2 3"
        # And goes on afterwards.
        client.send(client.call("slow"))
        question = await client.next()
        client.send(result(question["id"], accepted(value="1")))
        assert failure(await client.next()) == "slow was stopped after its limit of 0.05 s"


async def test_what_is_asked_by_hand_is_asked_at_once(server: Server) -> None:
    @server.tool
    async def by_hand(ctx: Context) -> str | InputRequired:
        if "n" not in ctx.input_responses:
            return InputRequired({"n": elicit("N?", int), "r": list_roots()}, state=[1])
        return f"{ctx.input_responses['n'].content} {ctx.input_state}"

    @server.tool
    async def endless(ctx: Context) -> InputRequired:
        return InputRequired(state="more")

    async with asker(server) as client:
        client.send(client.call("by_hand"))
        form, roots = await client.next("elicitation/create"), await client.next("roots/list")
        client.send(result(form["id"], accepted(value=3)), result(roots["id"], {"roots": []}))
        assert text(await client.next()) == "{'value': 3} [1]"
        said = failure(await client.ask(client.call("endless")))
        assert said == "the handler still asks after 16 rounds"


async def test_what_a_session_has_not_begun_for_cannot_be_asked(server: Server) -> None:
    client = asker(server)
    client.connection, theirs = memory_pair()
    client.connection.start(client)
    serving = asyncio.create_task(server.serve(theirs))
    client.send(initialize(LATEST_LEGACY, id_="init", capabilities=ALL))
    await client.next()
    said = failure(await client.ask(client.call("greet")))
    assert "must wait until the client is initialized" in said
    await client.connection.aclose()
    await serving


async def test_a_choice_of_several_comes_from_2025_06_18_as_a_text(server: Server) -> None:
    @server.tool
    async def choose(ctx: Context) -> str:
        schema: Json = {
            "type": "object",
            "properties": {
                "kites": {"type": "array", "items": {"type": "string", "enum": ["r", "g", "b"]}}
            },
        }
        return str((await ctx.elicit("Which?", schema)).data)

    async with asker(server, {"elicitation": {}}, V2025_06_18) as client:
        client.send(client.call("choose"))
        question = await client.next("elicitation/create")
        field = question["params"]["requestedSchema"]["properties"]["kites"]
        assert field["type"] == "string"
        client.send(result(question["id"], accepted(kites="r, b")))
        assert text(await client.next()) == "{'kites': ['r', 'b']}"


# --- pages


@pytest.mark.parametrize("given", ["deposit-7", None])
async def test_the_client_is_told_when_the_user_is_done_with_a_page(
    server: Server, given: str | None
) -> None:
    @server.tool
    async def pay(ctx: Context) -> str:
        answer = await ctx.elicit_url("Pay", "https://pay.example.com/7", elicitation_id=given)
        await ctx.elicitation_complete("deposit-7")
        return answer.action

    async with asker(server) as client:
        client.send(client.call("pay"))
        question = await client.next("elicitation/create")
        params = question["params"]
        assert params["mode"] == "url"
        if given is None:  # then nobody else has the same
            assert len(params["elicitationId"]) >= 16
        else:
            assert params["elicitationId"] == given
        client.send(result(question["id"], {"action": "accept"}))
        done = await client.next("notifications/elicitation/complete")
        assert done["params"] == {"elicitationId": "deposit-7"}
        assert text(await client.next()) == "accept"


async def test_revisions_without_such_ids_are_not_told(server: Server) -> None:
    @server.tool
    async def done(ctx: Context) -> str:
        await ctx.elicitation_complete("deposit-7")
        return "done"

    async with asker(server, {"elicitation": {}}, V2025_06_18) as client:
        assert text(await client.ask(client.call("done"))) == "done"
        assert client.unread == []
        assert all(m.get("method") != "notifications/elicitation/complete" for m in client.seen)
