"""Says what is wrong with messages, by the types of the official Python SDK (mcp-types).

Reads one JSON object a line: `{sender, revision, method, kind, message}`, where `kind` is request,
notification, result or error, and `method` is that of the request where the message answers one.
After an empty line it prints, on one line, a JSON array of `{problem, record}`; and so on.
"""

import json
import sys
from typing import Any

import mcp_types.methods as methods
from mcp_types import jsonrpc
from pydantic import TypeAdapter, ValidationError

MAPS = {
    ("client", "request"): methods.CLIENT_REQUESTS,
    ("server", "request"): methods.SERVER_REQUESTS,
    ("client", "notification"): methods.CLIENT_NOTIFICATIONS,
    ("server", "notification"): methods.SERVER_NOTIFICATIONS,
    ("client", "result"): methods.CLIENT_RESULTS,
    ("server", "result"): methods.SERVER_RESULTS,
}
MEMBERS = {
    "request": {"jsonrpc", "id", "method", "params"},
    "notification": {"jsonrpc", "method", "params"},
    "result": {"jsonrpc", "id", "result"},
    "error": {"jsonrpc", "id", "error"},
}
ENVELOPES = {
    "request": jsonrpc.JSONRPCRequest,
    "notification": jsonrpc.JSONRPCNotification,
    "result": jsonrpc.JSONRPCResponse,
    "error": jsonrpc.JSONRPCError,
}


def lost(sent: Any, kept: Any, path: str) -> list[str]:
    """The members that were sent and that the types do not know."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        return [
            found
            for key, value in sent.items()
            for found in (
                lost(value, kept[key], f"{path}.{key}") if key in kept else [f"{path}.{key}"]
            )
        ]
    if isinstance(sent, list) and isinstance(kept, list):
        return [
            found
            for n, (a, b) in enumerate(zip(sent, kept, strict=False))
            for found in lost(a, b, f"{path}[{n}]")
        ]
    return []


def nulls(value: Any, path: str) -> list[str]:
    """Members that are null: none of MCP's own may be, only what tools and callers put in."""
    if isinstance(value, dict):
        free = {
            "structuredContent",
            "arguments",
            "data",
            "content",
            "_meta",
            "default",
            "metadata",
            "input",
        }
        return [
            found
            for key, item in value.items()
            for found in (
                [f"{path}.{key}"]
                if item is None
                else nulls(item, f"{path}.{key}")
                if key not in free
                else []
            )
        ]
    if isinstance(value, list):
        return [found for n, item in enumerate(value) for found in nulls(item, f"{path}[{n}]")]
    return []


def problems(record: dict[str, Any]) -> list[str]:
    kind, message = record["kind"], record["message"]
    found = [f"unknown member {name}" for name in message.keys() - MEMBERS[kind]]
    found += [f"null at {path}" for path in nulls(message, "$")]
    try:
        ENVELOPES[kind].model_validate(message, strict=True)
        if kind == "error":
            return found
        table = MAPS[record["sender"], kind]
        adapter = TypeAdapter(table[record["method"], record["revision"]])
        body = message["result"] if kind == "result" else message
        model = adapter.validate_python(body, by_name=False)
        kept = adapter.dump_python(model, by_alias=True, mode="json", exclude_unset=True)
        found += [f"unknown member {path}" for path in lost(body, kept, "$")]
    except KeyError:
        sender, revision = record["sender"], record["revision"]
        found.append(f"{revision} has no {kind} of {record['method']} from a {sender}")
    except ValidationError as error:
        found.append(str(error))
    return found


batch: list[dict[str, Any]] = []
for line in sys.stdin:
    if line.strip():
        batch.append(json.loads(line))
        continue
    report = [{"problem": problem, "record": each} for each in batch for problem in problems(each)]
    print(json.dumps(report), flush=True)
    batch = []
