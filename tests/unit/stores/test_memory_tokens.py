"""What `MemoryTokenStore` adds to the contract, which tests/contract holds it to."""

import pytest

from wigwag.stores.memory_tokens import MemoryTokenStore

pytestmark = pytest.mark.anyio


async def test_it_shows_nothing_of_what_it_keeps() -> None:
    store = MemoryTokenStore()
    await store.save("tokens https://as.example", b"secret")
    assert repr(store) == "MemoryTokenStore(1 kept)"
