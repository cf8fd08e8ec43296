"""What a fault server says: sound answers, and what becomes of them when they are to be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.faults.orders import Fault

Json: TypeAlias = Any
Message: TypeAlias = dict[str, Any]

MODERN = "2026-07-28"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
CAPABILITIES = {"tools": {"listChanged": True}}
BIG_BYTES = 40_000_000
ENDLESS = 10**9
PAGE = "<!doctype html><html><body><h1>Welcome to nginx!</h1></body></html>"

# `echo` always works, `odd` and `look` as they are told; `look` only looks.
TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "odd", "inputSchema": {"type": "object"}},
    {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]


def encode(message: Json) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def step_of(message: Message) -> str:
    """Return the step of a message: its method, or what it is; calls that always work have none."""
    method: str = message.get("method", "response")
    if method == "tools/call" and message["params"]["name"] in ("echo", "tell"):
        return message["params"]["name"]  # type: ignore[no-any-return]
    return method


def notification(method: str, params: Json) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def progress(message: Message, number: int) -> Message:
    """Return the sign of progress for a request."""
    token = message["params"]["_meta"]["progressToken"]
    return notification("notifications/progress", {"progressToken": token, "progress": number})


def changed(subscription: Json = None) -> Message:
    """Return the news that the list of tools has changed."""
    meta = {} if subscription is None else {"_meta": {SUBSCRIPTION: subscription}}
    return notification("notifications/tools/list_changed", meta)


def acknowledged(message: Message) -> Message:
    """Return the first thing that is said to somebody who listens."""
    params = {
        "notifications": {"toolsListChanged": True},
        "_meta": {SUBSCRIPTION: message["id"]},
    }
    return notification("notifications/subscriptions/acknowledged", params)


def answer_to(message: Message, revision: str, fault: Fault | None) -> Message:
    """Return the answer to a request; which page of a list it is depends on the fault."""
    members: Message
    is_modern = revision == MODERN
    cached = {"ttlMs": 0, "cacheScope": "private"} if is_modern else {}
    match message["method"]:
        case "server/discover" if is_modern:
            members = {"supportedVersions": [MODERN], "capabilities": CAPABILITIES, **cached}
        case "initialize" if not is_modern:
            info = {"name": "fault server", "version": "1"}
            members = {
                "protocolVersion": revision,
                "capabilities": CAPABILITIES,
                "serverInfo": info,
            }
        case "tools/list":
            members = {**(_page(message, fault) or {"tools": TOOLS}), **cached}
        case "tools/call":
            text = message["params"].get("arguments", {}).get("text", "done")
            members = {"content": [{"type": "text", "text": text}]}
        case "ping":
            members = {}
        case method:
            error = {"code": -32601, "message": f"Method not found: {method}"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    if is_modern:
        members["resultType"] = "complete"
    return {"jsonrpc": "2.0", "id": message["id"], "result": members}


def _page(message: Message, fault: Fault | None) -> Message | None:
    """Return a page of a list that has no end, if it is to be so."""
    if fault is None or fault["is"] != "pages":
        return None
    number = int(message["params"].get("cursor", "0"))
    tool = {"name": f"tool{number}", "inputSchema": {"type": "object"}}
    return {"tools": [tool], "nextCursor": str((number + 1) % fault.get("circle", ENDLESS))}


def spoiled(fault: Fault, answer: Message) -> list[bytes]:
    """Return what is said in place of an answer, one text after the other."""
    spoil = SPOILED.get(fault["is"])
    return [encode(answer)] if spoil is None else spoil(answer)


def _without(answer: Message, name: str) -> bytes:
    return encode({key: value for key, value in answer.items() if key != name})


def _with(answer: Message, **members: Json) -> bytes:
    return encode({**answer, **members})


def _instead(answer: Message, **members: Json) -> bytes:
    return encode({"jsonrpc": "2.0", "id": answer["id"], **members})


def _unasked(answer: Message) -> list[bytes]:
    others = (
        {**answer, "id": 999_999},
        {"jsonrpc": "2.0", "id": 999_999, "error": WRONG},
        {"jsonrpc": "2.0", "error": WRONG},
    )
    return [encode(other) for other in others]


def _long(answer: Message, length: int) -> bytes:
    return encode(answer).replace(b'"done"', b'"%b"' % (b"x" * length))


WRONG = {"code": -32000, "message": "it went wrong"}
SPOILED: dict[str, Callable[[Message], list[bytes]]] = {
    "garbage": lambda _: [b"Traceback (most recent call last):"],
    "garbage before": lambda a: [b"Starting up...", b"{}", b"[]", b"\xff\xfe", encode(a)],
    "page": lambda _: [PAGE.encode()],
    "nothing": lambda _: [],
    "truncated": lambda a: [encode(a)[:-9]],
    "twice": lambda a: [encode(a)] * 2,
    "unasked before": lambda a: [*_unasked(a), encode(a)],
    "wrong id": lambda a: [_with(a, id=a["id"] + 1000)],
    "text id": lambda a: [_with(a, id=str(a["id"]))],
    "null id": lambda a: [_with(a, id=None)],
    "no id": lambda a: [_without(a, "id")],
    "no version": lambda a: [_without(a, "jsonrpc")],
    "result and error": lambda a: [_with(a, error=WRONG)],
    "error": lambda a: [_instead(a, error=WRONG)],
    "error without code": lambda a: [_instead(a, error={"message": "it went wrong"})],
    "error is text": lambda a: [_instead(a, error="it went wrong")],
    "result is text": lambda a: [_instead(a, result="done")],
    "another result": lambda a: [_instead(a, result={"resultType": "complete", "odd": True})],
    "big": lambda a: [_long(a, BIG_BYTES)],
    "quite big": lambda a: [_long(a, BIG_BYTES // 10)],
}
