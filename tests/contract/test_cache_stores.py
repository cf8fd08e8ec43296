"""Holds every store of answers to the contract."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from tests.contract.cache_store_contract import CHECKS, Check, Shop
from wigwag.stores.contract import Kept
from wigwag.stores.memory import MemoryCacheStore

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def wait(self, seconds: float) -> None:
        self.now += seconds


class FarStore:
    """A store as somebody else may write it: every call takes its time, and it is one flat table.

    The contract must be one that this can keep as well.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._table: dict[tuple[str, str], tuple[bytes, float, float]] = {}

    async def load(self, group: str, keys: Sequence[str]) -> Kept | None:
        await asyncio.sleep(0)
        for key in keys:
            value, saved_at, end = self._table.get((group, key), (b"", 0.0, 0.0))
            if self._clock() < end:
                return Kept(value, self._clock() - saved_at)
        return None

    async def save(self, group: str, key: str, value: bytes, lifetime: float) -> None:
        await asyncio.sleep(0)
        self._table[group, key] = (value, self._clock(), self._clock() + lifetime)

    async def delete(self, groups: Sequence[str], keys: Sequence[str] | None = None) -> None:
        await asyncio.sleep(0)
        for group, key in list(self._table):
            if group in groups and (keys is None or key in keys):
                del self._table[group, key]


def memory() -> Shop:
    clock = Clock()
    return Shop(MemoryCacheStore(clock=clock), clock.wait)


def far_away() -> Shop:
    clock = Clock()
    return Shop(FarStore(clock), clock.wait)


@pytest.mark.parametrize("make", [memory, far_away])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_every_store_of_answers_keeps_the_contract(
    check: Check, make: Callable[[], Shop]
) -> None:
    await check(make())
