"""Speaks the newest revision alone, and says nothing to anything else."""

from typing import Any

from manners import serve

RESULT = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {},
    "ttlMs": 0,
    "cacheScope": "private",
}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    if message["method"] != "server/discover":
        return None
    return {"jsonrpc": "2.0", "id": message["id"], "result": RESULT}


serve(answer=answer)
