"""Holds every store of tokens to the contract."""

from collections.abc import Callable

import pytest

from tests.contract.token_store_contract import CHECKS, Check, Place
from wigwag.stores.memory_tokens import MemoryTokenStore

pytestmark = pytest.mark.anyio


def memory() -> Place:
    store = MemoryTokenStore()
    return Place(lambda: store)


@pytest.mark.parametrize("make", [memory])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_every_store_of_tokens_keeps_the_contract(
    check: Check, make: Callable[[], Place]
) -> None:
    await check(make())
