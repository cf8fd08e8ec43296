"""The state that modern clients carry: what it is good for, for whom, how long, and where."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.interaction.asker import Asker, accepted, asked, refusal, text
from tests.interaction.connecting import TIMEOUTS, serving_http
from tests.interaction.http_process import serving
from tests.pair import Message, modern_meta
from wigwag import Client, Context, InputRequired, Limits, Principal, Server, elicit
from wigwag.schema import LATEST_MODERN

pytestmark = pytest.mark.anyio

Json = Any

OLD, NEW = b"o" * 32, b"n" * 32
PROGRAM = Path(__file__).with_name("enquiry.py")
NOT_FOR_THIS = "Invalid params: `requestState` is not one for this request; begin again"


def make_server(name: str = "states", **options: Any) -> Server:
    """Make a server whose features all ask the same."""
    server = Server(name, **options)

    async def ask(ctx: Context, who: str) -> str:
        first = await ctx.elicit("first", str, key="first")
        second = await ctx.elicit("second", str, key="second")
        return f"{who} {first.data} {second.data}"

    for other in ("ask", "other"):

        @server.tool(other)
        async def tool(ctx: Context, who: str) -> str:
            return await ask(ctx, who)

        @server.prompt(other)
        async def prompt(ctx: Context, who: str) -> str:
            return await ask(ctx, who)

        @server.resource(f"states://{other}/{{who}}")
        async def template(ctx: Context, who: str) -> str:
            return await ask(ctx, who)

    return server


REQUESTS: list[tuple[str, Json]] = [
    (method, params)
    for name in ("ask", "other")
    for who in ("A", "B")
    for method, params in (
        ("tools/call", {"name": name, "arguments": {"who": who}}),
        ("prompts/get", {"name": name, "arguments": {"who": who}}),
        ("resources/read", {"uri": f"states://{name}/{who}"}),
    )
]
ONE_OF_EACH = REQUESTS[:3]
of_each_kind = pytest.mark.parametrize(("method", "params"), ONE_OF_EACH, ids=["t", "p", "r"])

FIRST, SECOND = {"first": accepted(value="1")}, {"second": accepted(value="2")}


async def send(
    client: Asker, method: str, params: Json, state: str | None = None, responses: Json = None
) -> Message:
    """Make a request, with a state and answers if there are any."""
    params = dict(params)
    if state is not None:
        params["requestState"] = state
    if responses is not None:
        params["inputResponses"] = responses
    return await client.ask(client.request(method, params))


def said(answer: Message) -> str:
    """Return the text of a tool, a prompt or a resource."""
    result = answer["result"]
    if "messages" in result:
        return str(result["messages"][0]["content"]["text"])
    return str(result["contents"][0]["text"]) if "contents" in result else text(answer)


@pytest.mark.parametrize(("method", "params"), REQUESTS, ids=json.dumps)
async def test_a_state_is_good_for_no_other_request(method: str, params: Json) -> None:
    async with Asker(make_server()) as client:
        _, state = asked(await send(client, method, params))
        for other_method, other in REQUESTS:
            answer = await send(client, other_method, other, state, FIRST)
            if (other_method, other) == (method, params):
                assert list(asked(answer)[0]) == ["second"]
            else:
                assert refusal(answer).startswith(NOT_FOR_THIS)


@of_each_kind
async def test_a_state_that_is_not_as_it_was_is_refused(method: str, params: Json) -> None:
    async with Asker(make_server()) as client:
        _, state = asked(await send(client, method, params))
        broken = [state[:length] for length in range(0, len(state), 7)]
        broken += [f"{state}=", f" {state}", state.upper(), state[::-1], "é", "\0", "null"]
        for changed in broken:
            answer = await send(client, method, params, changed, FIRST)
            assert refusal(answer).startswith(NOT_FOR_THIS)
        # None of that has done any harm to the good one.
        assert list(asked(await send(client, method, params, state, FIRST))[0]) == ["second"]


@of_each_kind
async def test_a_state_that_is_too_old_is_refused(method: str, params: Json) -> None:
    async with Asker(make_server(limits=Limits(state_lifetime=-2.0))) as client:
        _, state = asked(await send(client, method, params))
        answer = await send(client, method, params, state, FIRST)
        assert "`requestState` has expired; begin again" in refusal(answer)


@of_each_kind
async def test_states_may_come_again_and_in_any_order(method: str, params: Json) -> None:
    async with Asker(make_server()) as client:
        questions, one = asked(await send(client, method, params))
        assert list(questions) == ["first"]
        questions, two = asked(await send(client, method, params, one, FIRST))
        assert list(questions) == ["second"]
        # The answer to one question with the state of another is none: it is asked again.
        questions, _ = asked(await send(client, method, params, one, SECOND))
        assert list(questions) == ["first"]
        questions, _ = asked(await send(client, method, params, two, FIRST))
        assert list(questions) == ["second"]
        for _ in range(2):
            assert said(await send(client, method, params, two, SECOND)).endswith("1 2")
        # Another answer leads to another end, whatever was answered before.
        other = {"first": accepted(value="one")}
        _, two = asked(await send(client, method, params, one, other))
        assert said(await send(client, method, params, two, SECOND)).endswith("one 2")


@of_each_kind
@pytest.mark.parametrize(
    "responses",
    [
        {},
        {"unknown": accepted(value="1")},
        {"first": {"roots": []}},
        {"first": {"role": "assistant", "model": "m", "content": {"type": "text", "text": ""}}},
        {"first": accepted(other="1")},
        {"first": accepted(value=1)},
    ],
    ids=json.dumps,
)
async def test_what_is_no_answer_is_asked_again(method: str, params: Json, responses: Json) -> None:
    async with Asker(make_server()) as client:
        questions, state = asked(await send(client, method, params))
        again, state = asked(await send(client, method, params, state, responses))
        assert again == questions
        assert list(asked(await send(client, method, params, state, FIRST))[0]) == ["second"]


@of_each_kind
async def test_too_much_to_remember_is_an_error_that_says_so(method: str, params: Json) -> None:
    async with Asker(make_server(limits=Limits(state_bytes=1000))) as client:
        _, state = asked(await send(client, method, params))
        answer = await send(client, method, params, state, {"first": accepted(value="1" * 1000)})
        assert answer["error"]["code"] == -32603
        assert "the server's limit is 1000" in answer["error"]["message"]


# --- keys


async def test_keys_are_changed_one_at_a_time_without_breaking_what_is_under_way() -> None:
    method, params = ONE_OF_EACH[0]

    async def goes_on(sealed_with: list[bytes], opened_with: list[bytes]) -> bool:
        async with Asker(make_server(state_keys=sealed_with)) as client:
            _, state = asked(await send(client, method, params))
        async with Asker(make_server(state_keys=opened_with)) as client:
            answer = await send(client, method, params, state, FIRST)
        if "error" in answer:
            assert refusal(answer).startswith(NOT_FOR_THIS)
            return False
        return list(asked(answer)[0]) == ["second"]

    assert await goes_on([OLD], [OLD])
    # First all servers learn to open with the new one, then they seal with it.
    assert await goes_on([OLD], [OLD, NEW])
    assert await goes_on([OLD, NEW], [OLD])
    assert await goes_on([OLD, NEW], [NEW, OLD])
    assert await goes_on([NEW, OLD], [OLD, NEW])
    # Then the old one is taken away, and opens nothing any more.
    assert await goes_on([NEW, OLD], [NEW])
    assert not await goes_on([OLD, NEW], [NEW])
    assert not await goes_on([NEW, OLD], [OLD])
    # And a key is as good as its text.
    assert await goes_on([OLD], [OLD.decode()])  # type: ignore[list-item]


async def test_a_server_of_another_name_takes_no_states_though_it_has_the_key() -> None:
    method, params = ONE_OF_EACH[0]
    async with Asker(make_server(state_keys=[OLD])) as client:
        _, state = asked(await send(client, method, params))
    async with Asker(make_server("others", state_keys=[OLD])) as client:
        assert refusal(await send(client, method, params, state, FIRST)).startswith(NOT_FOR_THIS)


# --- replicas


@pytest.fixture(scope="module")
def replicas() -> Iterator[list[str]]:
    """URLs of two processes that share a key, and of one that does not."""
    keys = [OLD.decode(), OLD.decode(), NEW.decode()]
    with ExitStack() as stack:
        yield [f"{stack.enter_context(serving(PROGRAM, key))}/mcp" for key in keys]


def post(url: str, method: str, params: Json) -> Message:
    """Make a request of a server, over a connection of its own."""
    capabilities: Json = {"elicitation": {}, "sampling": {}, "roots": {}}
    params = {**params, "_meta": modern_meta(capabilities=capabilities)}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": LATEST_MODERN,
        "Mcp-Method": method,
        "Mcp-Name": params.get("name") or params["uri"],
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            answer: Message = json.load(response)
    except urllib.error.HTTPError as refused:
        with refused:
            answer = json.load(refused)
    return answer


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "async", "arguments": {"kind": "rounds"}}),
        ("tools/call", {"name": "plain", "arguments": {"kind": "rounds"}}),
        ("prompts/get", {"name": "async", "arguments": {"kind": "rounds"}}),
        ("resources/read", {"uri": "enquiry://plain/rounds"}),
    ],
    ids=["tool", "plain tool", "prompt", "template"],
)
def test_processes_with_the_same_key_serve_the_rounds_of_a_call_in_turn(
    replicas: list[str], method: str, params: Json
) -> None:
    one, two, stranger = replicas
    place = cycle([one, two])
    spoken: Json = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "ONE"}}
    content = {"value": "TWO"}
    answer = post(next(place), method, params)
    rounds = 0
    while answer["result"]["resultType"] == "input_required":
        rounds += 1
        responses = {
            key: accepted(**content) if question["method"] == "elicitation/create" else spoken
            for key, question in answer["result"]["inputRequests"].items()
        }
        state = answer["result"]["requestState"]
        retry = {**params, "requestState": state, "inputResponses": responses}
        assert refusal(post(stranger, method, retry)).startswith(NOT_FOR_THIS)
        answer = post(next(place), method, retry)
    assert rounds == 3
    assert said(answer) == "ONE"


async def test_what_once_remembers_is_known_to_the_next_process(replicas: list[str]) -> None:
    one, two, _ = replicas
    params: Json = {"name": "async", "arguments": {"kind": "once"}}
    result = post(one, "tools/call", params)["result"]
    [(key, question)] = result["inputRequests"].items()
    asked_for = question["params"]["messages"][0]["content"]["text"]
    spoken = {
        "role": "assistant",
        "model": "m",
        "content": {"type": "text", "text": asked_for.upper()},
    }
    params |= {"requestState": result["requestState"], "inputResponses": {key: spoken}}
    # The second process counts for itself: the number that was asked about is the first one's.
    assert said(post(two, "tools/call", params)).startswith("True ")


# --- whose it is


async def test_a_state_is_good_for_whoever_began() -> None:
    def identify(request: Any) -> Principal | None:
        name = request.headers.get("x-user")
        if name is None:
            return None
        subject, _, issuer = name.partition("@")
        return Principal(subject, issuer)

    server = Server("private", identify=identify)

    @server.tool
    async def secret(ctx: Context) -> str | InputRequired:
        who = None if ctx.principal is None else ctx.principal.subject
        answer = ctx.input_responses.get("sure")
        if answer is None:
            return InputRequired({"sure": elicit("sure", str)}, state=f"of {who}")
        return str(ctx.input_state)

    users = ["ann@a", "bob@a", "ann@b", None]
    async with serving_http(server) as origin:

        async def call(user: str | None, **more: Json) -> Any:
            headers = {} if user is None else {"x-user": user}
            options: Any = {"mode": LATEST_MODERN, "timeouts": TIMEOUTS, "headers": headers}
            able: Any = {"elicitation": lambda _: None}
            async with Client(f"{origin}/mcp", **options, **able) as client:
                return await client.request("tools/call", {"name": "secret", **more})

        for owner in users:
            state = (await call(owner))["requestState"]
            for user in users:
                more = {"requestState": state, "inputResponses": {"sure": accepted(value="x")}}
                if user == owner:
                    result = await call(user, **more)
                    who = None if owner is None else owner.partition("@")[0]
                    assert result["content"][0]["text"] == f"of {who}"
                else:
                    with pytest.raises(Exception, match="is not one for this request"):
                        await call(user, **more)
