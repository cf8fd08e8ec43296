"""Handlers that ask whatever they like: each question once, and the same answers in either era."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.interaction.connecting import TIMEOUTS
from wigwag import Client, Context, Server, elicit, list_roots, sample
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    TextContent,
)

# What a handler does, step by step.
ONE = st.sampled_from(["form", "no", "model", "roots", "once", "turn"])
MANY = st.tuples(st.sampled_from(["ask", "gather", "group"]), st.lists(ONE, min_size=1, max_size=4))


class Run:
    """One handler at work in one era.

    Attributes:
        asked: What the client was asked, and how often.
        worked: How often something was done that must be done once.
    """

    def __init__(self, steps: list[Any], *, is_plain: bool) -> None:
        self.asked: Counter[str] = Counter()
        self.worked = 0
        self._steps = steps
        self.server = Server("random")
        if is_plain:
            self.server.tool("run")(self._run_plainly)
        else:
            self.server.tool("run")(self._run)

    async def result(self, revision: str) -> str:
        options: dict[str, Any] = {"mode": revision, "timeouts": TIMEOUTS}
        answers: dict[str, Any] = {
            "elicitation": self._user,
            "sampling": self._model,
            "roots": self._roots,
        }
        async with Client(self.server, **options, **answers) as client:
            result = await client.call_tool("run")
            assert not result.is_error, result.text
            return result.text

    # --- the client

    def _user(self, params: ElicitRequestFormParams) -> ElicitResult:
        self.asked[params.message] += 1
        if params.message.startswith("no"):
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"value": len(params.message)})

    def _model(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        [message] = params.messages
        assert isinstance(message.content, TextContent)
        self.asked[message.content.text] += 1
        content = TextContent(text=message.content.text.upper())
        return CreateMessageResult(role="assistant", model="m", content=content)

    def _roots(self) -> list[str]:
        self.asked["roots"] += 1
        return ["file:///srv"]

    # --- the handler

    def _work(self) -> int:
        self.worked += 1
        return self.worked

    def _question(self, kind: str, text: str) -> Any:
        match kind:
            case "form" | "no":
                return elicit(f"{kind} {text}", int)
            case "model":
                return sample(f"model {text}", max_tokens=1)
            case _:
                return list_roots()

    def _start(self, ctx: Context, kind: str, text: str) -> Any:
        match kind:
            case "form" | "no":
                return ctx.elicit(f"{kind} {text}", int)
            case "model":
                return ctx.sample(f"model {text}", max_tokens=1)
            case "roots":
                return ctx.list_roots()
            case "once":
                return ctx.once("work", self._work)
        return asyncio.sleep(0)

    async def _run(self, ctx: Context) -> str:
        said: list[str] = []
        for place, step in enumerate(self._steps):
            # Each question depends on the answers before.
            text = f"{place} {len(' '.join(said))}"
            if isinstance(step, str):
                said.append(shown(await self._start(ctx, step, text)))
                continue
            how, kinds = step
            texts = [f"{text}.{number}" for number in range(len(kinds))]
            if how == "ask":
                asked = [kind for kind in kinds if kind not in ("once", "turn")]
                questions = {
                    f"q{n}": self._question(kind, texts[n]) for n, kind in enumerate(asked)
                }
                said += map(shown, (await ctx.ask(questions)).values())
                continue
            starts = [self._start(ctx, *each) for each in zip(kinds, texts, strict=True)]
            if how == "gather":
                said += map(shown, await asyncio.gather(*starts))
            else:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(awaited(start)) for start in starts]
                said += [shown(task.result()) for task in tasks]
        return " ".join(said)

    def _run_plainly(self, ctx: Context) -> str:
        said: list[str] = []
        for place, step in enumerate(self._steps):
            text = f"{place} {len(' '.join(said))}"
            for number, kind in enumerate([step] if isinstance(step, str) else step[1]):
                if kind != "turn":
                    said.append(shown(self._start(ctx, kind, f"{text}.{number}")))
        return " ".join(said)


async def awaited(start: Awaitable[Any]) -> Any:
    return await start


def shown(answer: Any) -> str:
    if isinstance(answer, CreateMessageResult):
        return answer.text
    if isinstance(answer, list):
        return str([root.uri for root in answer])
    return str(getattr(answer, "data", answer))


async def compare(steps: list[Any], *, is_plain: bool) -> None:
    legacy, modern = (Run(steps, is_plain=is_plain) for _ in range(2))
    assert await legacy.result(LATEST_LEGACY) == await modern.result(LATEST_MODERN)
    assert legacy.asked == modern.asked
    assert legacy.worked == modern.worked


@given(steps=st.lists(ONE | MANY, max_size=6))
def test_async_handlers_get_the_same_answers_in_both_eras(steps: list[Any]) -> None:
    asyncio.run(compare(steps, is_plain=False))


@given(steps=st.lists(ONE | MANY, max_size=3))  # a client does not take part in endless rounds
def test_plain_handlers_get_the_same_answers_in_both_eras(steps: list[Any]) -> None:
    asyncio.run(compare(steps, is_plain=True))
