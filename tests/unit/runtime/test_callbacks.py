"""Callbacks of users: plain or async, and never the end of a connection."""

import asyncio
import logging

import pytest

from wigwag.runtime.callbacks import Callbacks

pytestmark = pytest.mark.anyio


async def test_a_plain_function_is_called_at_once() -> None:
    seen: list[int] = []
    Callbacks().call(seen.append, 1)
    assert seen == [1]


async def test_an_async_function_is_awaited_in_the_order_of_the_calls() -> None:
    seen: list[int] = []
    done = asyncio.Event()

    async def note(number: int) -> None:
        seen.append(number)
        if number == 3:
            done.set()

    callbacks = Callbacks()
    for number in (1, 2, 3):
        callbacks.call(note, number)
    async with asyncio.timeout(30):
        await done.wait()
    assert seen == [1, 2, 3]


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_what_a_callback_raises_goes_to_the_log_and_nowhere_else(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    logged = asyncio.Event()

    class Watcher(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.set()

    def fail() -> None:
        raise ValueError("broken callback")

    async def fail_later() -> None:
        fail()

    watcher = Watcher(logging.ERROR)
    logging.getLogger("wigwag.client").addHandler(watcher)
    try:
        Callbacks().call(fail if kind == "plain" else fail_later)
        async with asyncio.timeout(30):
            await logged.wait()
    finally:
        logging.getLogger("wigwag.client").removeHandler(watcher)
    assert "ValueError: broken callback" in caplog.text
