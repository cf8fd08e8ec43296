"""Tests of turns among tasks; that event loops take turns is part of the contract of stores."""

import asyncio
from collections import deque

import pytest

from wigwag.stores.turns import Turns

pytestmark = pytest.mark.anyio


async def test_turns_come_in_the_order_of_asking() -> None:
    turns = Turns()
    came = []

    async def take(number: int) -> None:
        async with turns.turn("a"):
            came.append(number)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(take(number))
    assert came == [0, 1, 2, 3, 4]


async def test_nothing_is_remembered_of_names_that_nobody_waits_for() -> None:
    turns = Turns()
    async with turns.turn("a"), turns.turn("b"):
        pass
    assert vars(turns)["_waiting"] == {}


async def test_who_gave_up_when_the_turn_had_come_passes_it_on() -> None:
    turns = Turns()

    async def take() -> None:
        async with turns.turn("a"):
            pass

    async with turns.turn("a"):
        first, second = asyncio.create_task(take()), asyncio.create_task(take())
        await asyncio.sleep(0)
    first.cancel()  # the turn is on its way to it
    await second
    assert first.cancelled()


def test_those_whose_event_loop_is_gone_are_passed_over() -> None:
    turns = Turns()
    gone = asyncio.new_event_loop()
    gone.run_until_complete(turns.take("a"))
    waiting = turns.take("a")

    async def begin_to_wait() -> None:
        waiting.send(None)

    gone.run_until_complete(begin_to_wait())
    gone.close()
    turns.pass_on("a")

    async def take_it() -> None:
        async with turns.turn("a"):
            waiting.close()  # takes nothing from whoever is inside
            assert vars(turns)["_waiting"] == {"a": deque()}

    asyncio.run(take_it())
