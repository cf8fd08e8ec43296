"""Refuses every revision but its own."""

from typing import Any

from manners import serve


def refuse(message: dict[str, Any]) -> dict[str, Any] | None:
    error = {"code": -32602, "message": "Unsupported protocol version"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error} if "id" in message else None


serve(answer=refuse)
