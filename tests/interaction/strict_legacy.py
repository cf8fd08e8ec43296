"""A legacy stdio server that refuses all before the handshake, and notes what it is asked."""

import json
import sys
from pathlib import Path
from typing import Any

initialized = False


def answer(method: str) -> dict[str, Any]:
    """Return the result or the error that a method is answered with."""
    global initialized
    if method == "initialize":
        initialized = True
        info = {"name": "strict", "version": "1"}
        capabilities: dict[str, Any] = {"tools": {}}
        return {
            "result": {
                "protocolVersion": "2025-11-25",
                "serverInfo": info,
                "capabilities": capabilities,
            }
        }
    if not initialized:
        return {"error": {"code": -32602, "message": "Received request before initialization"}}
    if method == "tools/list":
        return {"result": {"tools": [{"name": "old", "inputSchema": {"type": "object"}}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if len(sys.argv) > 1:
            with Path(sys.argv[1]).open("a", encoding="utf-8") as log:
                print(message["method"], file=log)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"])}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
