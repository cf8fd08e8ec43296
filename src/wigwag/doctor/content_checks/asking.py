"""Asks a server for what it offers, as far as it gives that without asking back."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from wigwag.client.client import Client
from wigwag.errors import RequestFailed
from wigwag.schema import MISSING_REQUIRED_CLIENT_CAPABILITY

__all__ = ["ask_for"]


async def ask_for(client: Client, method: str, params: dict[str, Any]) -> Any:
    """Return a complete result, whatever it is; `UNSET` if the server wants to ask somebody first.

    Raises:
        RequestFailed: It refuses.
        RequestTimedOut: It does not answer in time.
        TransportError: It has gone.
    """
    try:
        result = await client.request(method, params)
    except RequestFailed as error:
        if error.code == MISSING_REQUIRED_CLIENT_CAPABILITY:
            return UNSET
        raise
    if isinstance(result, dict) and result.get("resultType", "complete") != "complete":
        return UNSET
    return result
