"""A server written by hand, with the standard library alone; its first argument is how it is odd.

It keeps a diary of what it received in the file that is its second argument: the methods, one a
line, and a line `started` for each start. Into a third file it writes its process id.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

ODDITY, DIARY = sys.argv[1], Path(sys.argv[2])
MODERN = {
    "resultType": "complete",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "by hand", "version": "1"}},
}
TOOL = {"name": "hello", "inputSchema": {"type": "object"}}
PIECE_BYTES = 4096
JUNK = b"Server starting...\n\n\xff\xfe\n[INFO] ready\n  \n\x1b[32mok\x1b[0m\n{}\n[]\nnull\n"


def write(data: bytes) -> None:
    for start in range(0, len(data), PIECE_BYTES):
        piece = data[start : start + PIECE_BYTES]
        while piece:
            piece = piece[os.write(1, piece) :]


def note(text: str) -> None:
    with DIARY.open("a") as diary:
        diary.write(f"{text}\n")


def send(message: dict[str, Any]) -> None:
    if ODDITY == "noisy":
        write(JUNK)
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def refuse(number: Any, code: int, **data: Any) -> None:
    error: dict[str, Any] = {"code": code, "message": f"error {code}"}
    if data:
        error["data"] = data
    send({"id": number, "error": error})


def count(method: str) -> int:
    return DIARY.read_text().split("\n").count(method)


def answer_probe(number: Any) -> None:
    if ODDITY.startswith("-"):
        refuse(number, int(ODDITY))
    elif ODDITY == "dies":
        sys.stderr.write("what is server/discover?\n")
        sys.exit(1)
    elif ODDITY == "closes":
        os.close(1)
        time.sleep(600)
    elif ODDITY in PROBE_ANSWERS:
        for message in PROBE_ANSWERS[ODDITY]:
            send({key: number if value is ID else value for key, value in message.items()})
    elif ODDITY == "unsupported once" and count("server/discover") == 1:
        refuse(number, -32022, supported=["2026-07-28"], requested="2026-07-28")
    elif ODDITY in ("modern", "unsupported once"):
        send({"id": number, "result": discovery()})
    else:
        refuse(number, -32601)


ID = object()
INVALID = {"code": -32600, "message": "Invalid Request"}
PROBE_ANSWERS: dict[str, list[dict[str, Any]]] = {
    "silent": [],
    "empty": [{"id": ID, "result": {}}],
    "wrong": [{"id": ID, "result": {"tools": []}}],
    # Who cannot read a request answers without its id: first as null, since 2025-11-25 with none.
    "null id": [{"id": None, "error": INVALID}],
    "no id": [{"error": INVALID}],
    "unsupported, legacy": [
        {
            "id": ID,
            "error": {
                "code": -32022,
                "message": "Unsupported protocol version",
                "data": {"supported": ["2025-06-18"], "requested": "2026-07-28"},
            },
        }
    ],
}


def discovery() -> dict[str, Any]:
    return {
        **MODERN,
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
    }


def answer(message: dict[str, Any]) -> None:
    number, params = message["id"], message.get("params", {})
    is_modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
    more = MODERN if is_modern else {}
    match message["method"]:
        case "server/discover":
            answer_probe(number)
        case "initialize":
            if ODDITY == "dies anyway":
                sys.stderr.write("line 1\nline 2: no configuration ✓\n")
                sys.exit(3)
            result: dict[str, Any] = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "by hand", "version": "1"},
            }
            send({"id": number, "result": result})
        case "tools/list":
            cached = {"ttlMs": 0, "cacheScope": "private"} if is_modern else {}
            send({"id": number, "result": {**more, **cached, "tools": [TOOL]}})
        case "tools/call":
            text = "hello" * params.get("arguments", {}).get("times", 1)
            content = [{"type": "text", "text": text}]
            send({"id": number, "result": {**more, "content": content}})
        case _:
            refuse(number, -32601)


def main() -> None:
    note("started")
    for file in sys.argv[3:]:
        Path(file).write_text(str(os.getpid()))
    if ODDITY == "noisy":
        write(JUNK)
    if ODDITY == "slow":
        time.sleep(0.6)
    if ODDITY == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        note(message["method"])
        if "id" in message:
            answer(message)
    while ODDITY == "deaf":
        time.sleep(600)


if __name__ == "__main__":
    main()
