"""A server that asks its client, by hand: in revision 2026-07-28, or with `--legacy` as before.

Its tools `ask_user`, `ask_model` and `list_roots` return what the client has answered.
"""

import json
import sys
from typing import Any

Message = dict[str, Any]

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "card": {"type": "boolean", "title": "Send a card", "default": True},
    },
    "required": ["name"],
}
HAIKU = {"role": "user", "content": {"type": "text", "text": "A haiku about books, please."}}
QUESTIONS: dict[str, tuple[str, Message]] = {
    "ask_user": ("elicitation/create", {"message": "Who are you?", "requestedSchema": FORM}),
    "ask_model": ("sampling/createMessage", {"messages": [HAIKU], "maxTokens": 100}),
    "list_roots": ("roots/list", {}),
}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in QUESTIONS]
MODERN: Message = {"resultType": "complete"}
CACHE = {"ttlMs": 0, "cacheScope": "private"}

called: dict[str, Any] = {}
"""Under the id of each question of a legacy server, the id of the call that it belongs to."""


def send(message: Message) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value: Any) -> Message:
    """Return a result that is text."""
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


def serve_modern(request: Message) -> None:
    """Answer a request of 2026-07-28."""
    request_id, method, params = request.get("id"), request["method"], request.get("params", {})
    if method == "server/discover":
        known: Message = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        send({"id": request_id, "result": {**MODERN, **CACHE, **known}})
    elif method == "tools/list":
        send({"id": request_id, "result": {**MODERN, **CACHE, "tools": TOOLS}})
    elif method == "tools/call" and "inputResponses" in params:
        answer = params["inputResponses"]["question"]
        send({"id": request_id, "result": {**MODERN, **text(answer)}})
    elif method == "tools/call":
        question, asked = QUESTIONS[params["name"]]
        requests = {"question": {"method": question, "params": asked}}
        result = {"resultType": "input_required", "inputRequests": requests, "requestState": "-"}
        send({"id": request_id, "result": result})


def serve_legacy(message: Message) -> None:
    """Answer a message as up to 2025-11-25."""
    message_id, method, params = message.get("id"), message.get("method"), message.get("params")
    if method == "initialize":
        assert params is not None
        about = {
            "serverInfo": {"name": "asking", "version": "1.0.0"},
            "capabilities": {"tools": {}},
        }
        version = params["protocolVersion"]
        send({"id": message_id, "result": {"protocolVersion": version, **about}})
    elif method == "tools/list":
        send({"id": message_id, "result": {"tools": TOOLS}})
    elif method == "tools/call":
        assert params is not None
        question, asked = QUESTIONS[params["name"]]
        called[question] = message_id
        send({"id": question, "method": question, "params": asked})
    elif message_id in called:
        answer = message.get("result", message.get("error"))
        send({"id": called.pop(str(message_id)), "result": text(answer)})
    elif message_id is not None:
        send({"id": message_id, "error": {"code": -32601, "message": f"no {method} here"}})


for line in sys.stdin:
    (serve_legacy if "--legacy" in sys.argv else serve_modern)(json.loads(line))
