"""Callbacks that may block."""

import asyncio
import contextvars
import logging
import threading
from typing import Any

import pytest

from tests.e2e.host import PATIENCE
from wigwag.client.blocking_callbacks import CallbackThread, in_thread, made_blocking

SPEAKER: contextvars.ContextVar[str] = contextvars.ContextVar("speaker")


async def answer_later(*args: Any) -> Any:
    return args


def test_functions_are_called_in_order_in_a_thread_of_their_own() -> None:
    calls: list[tuple[int, str]] = []
    thread = CallbackThread()
    tell = thread.in_order(lambda n: calls.append((n, threading.current_thread().name)))
    for number in range(100):
        tell(number)
    thread.end()
    assert calls == [(number, "wigwag-callbacks") for number in range(100)]


def test_after_an_end_there_may_be_more() -> None:
    calls: list[str] = []
    thread = CallbackThread()
    thread.end()
    for word in ("one", "two"):
        thread.in_order(calls.append)(word)
        thread.end()
    assert calls == ["one", "two"]


def test_a_function_may_end_the_thread_it_runs_in() -> None:
    thread, done = CallbackThread(), threading.Event()

    def end() -> None:
        assert thread.is_current()
        thread.end()
        done.set()

    assert not thread.is_current()
    thread.in_order(end)()
    assert done.wait(PATIENCE)


def test_what_one_raises_goes_to_the_log_and_the_next_is_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[int] = []

    def tell(number: int) -> None:
        calls.append(1 // number)

    thread = CallbackThread()
    for number in (0, 1):
        thread.in_order(tell)(number)
    with caplog.at_level(logging.ERROR, "wigwag.client"):
        thread.end()
    assert calls == [1]
    assert "a callback of the client failed" in caplog.text


def test_async_functions_are_left_on_the_loop() -> None:
    assert in_thread(answer_later) is answer_later
    assert CallbackThread().in_order(answer_later) is answer_later


@pytest.mark.anyio
async def test_a_plain_function_answers_from_a_thread_that_knows_who_asks() -> None:
    SPEAKER.set("Ada")

    def answer(word: str) -> str:
        return f"{SPEAKER.get()} {word} in {threading.current_thread().name}"

    assert await in_thread(answer)("says") == "Ada says in wigwag-question"


@pytest.mark.anyio
async def test_the_loop_goes_on_while_a_function_blocks() -> None:
    go_on = threading.Event()
    blocked = asyncio.ensure_future(in_thread(go_on.wait)(PATIENCE))
    await asyncio.sleep(0)
    go_on.set()
    assert await blocked


@pytest.mark.anyio
async def test_what_a_plain_function_returns_may_be_awaitable() -> None:
    assert await in_thread(lambda *args: answer_later(*args))(1, 2) == (1, 2)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("raised", "seen"),
    [(KeyError, KeyError), (SystemExit, RuntimeError), (StopIteration, RuntimeError)],
)
async def test_what_a_function_raises_is_raised_where_the_answer_is_awaited(
    raised: type[BaseException], seen: type[Exception]
) -> None:
    def answer() -> None:
        raise raised("no")

    with pytest.raises(seen):
        await in_thread(answer)()


@pytest.mark.anyio
async def test_an_answer_that_comes_too_late_is_dropped() -> None:
    go_on = threading.Event()
    blocked = asyncio.ensure_future(in_thread(go_on.wait)(PATIENCE))
    await asyncio.sleep(0)
    blocked.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await blocked


def test_only_functions_among_the_options_are_changed() -> None:
    roots = ["/tmp"]
    options = {"roots": roots, "restart": True, "on_log": None, "elicitation": answer_later}
    assert made_blocking(options, CallbackThread(), None) == options


@pytest.mark.anyio
async def test_plain_functions_by_the_official_names_get_the_blocking_client() -> None:
    client, own = object(), object()
    options = made_blocking(
        {"sampling_callback": lambda *args: args, "elicitation_callback": answer_later},
        CallbackThread(),
        client,
    )
    assert await options["sampling_callback"](own, "params") == (client, "params")
    assert await options["elicitation_callback"](own, "params") == (own, "params")
