"""What a store keeps, as time or another program changes it."""

import json
from typing import Any

from wigwag.stores.contract import TokenStore


async def kept(store: TokenStore, kind: str) -> dict[str, Any] | None:
    """Return the one thing of a kind that is kept: `tokens`, `registration` or `server`."""
    for key in await store.keys():
        if key.startswith(f"{kind} "):
            value = await store.load(key)
            assert value is not None
            found: dict[str, Any] = json.loads(value)
            return found
    return None


async def expire(store: TokenStore) -> None:
    """Let the access token that is kept have expired an hour ago."""
    (key,) = [key for key in await store.keys() if key.startswith("tokens ")]
    value = await store.load(key)
    assert value is not None
    tokens = json.loads(value)
    tokens["expires_at"] -= 7200
    await store.save(key, json.dumps(tokens).encode())
