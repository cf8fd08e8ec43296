"""What the servers of the zoo share: they answer a handshake, ping and lists as they should."""

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

Message = dict[str, Any]


def answer(message: Message) -> Message | None:
    """Return the response to a message, if it is a request."""
    if "id" not in message:
        return None
    results = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "zoo", "version": "1.0.0"},
        },
        "ping": {},
        "tools/list": {"tools": []},
    }
    head = {"jsonrpc": "2.0", "id": message["id"]}
    result = results.get(message["method"])
    if result is None:
        return {**head, "error": {"code": -32601, "message": "Method not found"}}
    return {**head, "result": result}


def write(message: Message) -> None:
    """Write a message as it should be."""
    print(json.dumps(message), flush=True)


def serve(
    write: Callable[[Message], object] = write,
    *,
    answer: Callable[[Message], Message | None] = answer,
    lines: Iterable[str | bytes] | None = None,
) -> None:
    """Serve until the end of the input."""
    for line in sys.stdin if lines is None else lines:
        response = answer(json.loads(line))
        if response is not None:
            write(response)
