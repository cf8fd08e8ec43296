"""The least a stdio server can do, by hand: decode, look up, call, encode. The others' measure.

It checks nothing and can do nothing beyond what is measured. One reader callback on the event loop,
so that it could run tools concurrently, as a real server must.
"""

import asyncio
import contextlib
import os
import sys
from typing import Any

import msgspec

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


class Params(msgspec.Struct):
    """The params of any request, as far as they are looked at."""

    name: str = ""
    arguments: dict[str, Any] = {}
    protocolVersion: str = ""  # noqa: N815 - as on the wire
    meta: dict[str, Any] = msgspec.field(name="_meta", default={})


class Request(msgspec.Struct):
    """A request, or a notification, which has no id."""

    method: str
    id: int | str | None = None
    params: Params | None = None


decode = msgspec.json.Decoder(Request).decode
encode = msgspec.json.Encoder().encode

TOOLS = [
    {
        "name": name,
        "description": f"Tool {name}.",
        "inputSchema": {
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
            "required": list(properties),
        },
    }
    for name, properties in (
        ("echo", {"text": "string"}),
        ("add", {"a": "integer", "b": "integer"}),
        ("sleep_ms", {"ms": "integer"}),
    )
]
LISTED = encode(TOOLS)


def answer(request: Request) -> bytes | None:
    """Answer a request; notifications are not answered."""
    if request.id is None:
        return None
    params = request.params or Params()
    modern = VERSION_KEY in params.meta
    head: dict[str, Any] = {"resultType": "complete"} if modern else {}
    result: dict[str, Any]
    match request.method:
        case "tools/call":
            text = params.arguments["text"]
            result = {"content": [{"type": "text", "text": text}], **head}
        case "tools/list":
            result = {"tools": msgspec.Raw(LISTED), "ttlMs": 0, "cacheScope": "private", **head}
        case "server/discover":
            versions = ["2026-07-28"]
            result = {"supportedVersions": versions, "capabilities": {"tools": {}}, **head}
            result |= {"ttlMs": 0, "cacheScope": "private"}
        case "initialize":
            info = {"name": "hand-written", "version": "1"}
            result = {"protocolVersion": params.protocolVersion, "capabilities": {"tools": {}}}
            result["serverInfo"] = info
        case _:
            result = {}
    return encode({"jsonrpc": "2.0", "id": request.id, "result": result})


def main() -> None:
    """Serve until the input ends."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl  # noqa: PLC0415 - exists on Unix only

        for fd in (0, 1):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1 << 20)
    loop = asyncio.new_event_loop()
    tail: list[bytes] = []

    def read() -> None:
        chunk = os.read(0, 1 << 20)
        if not chunk:
            loop.stop()
            return
        if b"\n" not in chunk:
            tail.append(chunk)
            return
        *lines, rest = b"".join([*tail, chunk]).split(b"\n")
        tail[:] = [rest] if rest else []
        replies = [reply for line in lines if (reply := answer(decode(line))) is not None]
        view = memoryview(b"\n".join([*replies, b""]))
        while view:
            view = view[os.write(1, view) :]

    loop.add_reader(0, read)
    loop.run_forever()
    sys.exit(0)


if __name__ == "__main__":
    main()
