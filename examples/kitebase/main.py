"""A client of the Kitebase server, written by hand: it shows every message that crosses the pipe.

It uses the standard library alone, so that nothing is hidden: an MCP server is a process that reads
JSON-RPC from its standard input, one message a line, and writes it to its standard output. With
`--sdk` Wigwag's client does the same.
"""

import argparse
import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SERVER = Path(__file__).resolve().with_name("server.py")
CLIENT = {"name": "kitebase-demo-client", "version": "0.1.0"}
MODERN, LEGACY = "2026-07-28", "2025-11-25"
Message = dict[str, Any]


class ConnectionBroken(Exception):
    """The server can no longer be talked to."""


def modern(call: Message, version: str) -> list[Message]:
    """Return what is said in 2026-07-28: each request tells who asks, and in which version."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {**call, "_meta": meta}},
    ]


def legacy(call: Message, version: str) -> list[Message]:
    """Return what was said before: a handshake settles the same once, for all that follows."""
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call},
    ]


def converse(command: list[str], messages: list[Message]) -> int:
    """Start the server, have the conversation, end it; returns the exit code for this program."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        for message in messages:
            send(server, message)
            # A notification has no id and no answer. Answers are told by their id, not their order.
            while "id" in message and receive(server).get("id") != message["id"]:
                pass
    except ConnectionBroken as error:
        print(f"Connection broken: {error}", flush=True)
        return 1
    finally:
        end(server)
    print(f"closed stdin, server exited with code {server.returncode}", flush=True)
    return 0 if server.returncode == 0 else 1


def end(server: subprocess.Popen[bytes]) -> None:
    """Close the server's stdin, which tells it to leave, and wait until it has."""
    try:
        server.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.communicate()


def send(server: subprocess.Popen[bytes], message: Message) -> None:
    """Write one message, as one line."""
    show("client -> server", message)
    assert server.stdin is not None
    try:
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
    except BrokenPipeError:
        pass  # the server is gone; whoever reads next finds out


def receive(server: subprocess.Popen[bytes]) -> Message:
    """Read one message."""
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line:
        raise ConnectionBroken(f"server exited with code {server.wait()}; its stderr says why")
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        text = line.decode(errors="replace").rstrip("\r\n")
        raise ConnectionBroken(f"server wrote something that isn't JSON-RPC to stdout: {text!r}")
    show("server -> client", message)
    return message


def show(direction: str, message: Message) -> None:
    """Print a message, spread out for people; on the wire it is a single line."""
    print(f"{direction}\n{json.dumps(message, indent=2)}\n", flush=True)


async def converse_with_sdk(command: list[str], call: Message, mode: str) -> int:
    """Do the same with Wigwag, which finds out by itself what the server speaks."""
    from wigwag import Client, McpError  # noqa: PLC0415 - all of the above does without it

    try:
        async with Client(command, mode=mode) as client:
            print("negotiated protocol version:", client.protocol_version, flush=True)
            print("tools:", [tool.name for tool in (await client.list_tools()).tools], flush=True)
            result = await client.call_tool(call["name"], call["arguments"])
            texts = [getattr(block, "text", block) for block in result.content]
            print("is_error:", bool(result.is_error))
            print("result:", result.structured_content or texts, flush=True)
    except (McpError, ValueError) as error:  # ValueError: there is no such version
        print(f"Connection broken: {error}", flush=True)
        return 1
    return 0


def main() -> int:
    """Read the command line, then talk."""
    parser = argparse.ArgumentParser(
        description="Start the Kitebase server and show all that is said.", allow_abbrev=False
    )
    add = parser.add_argument
    add("ticket", metavar="TICKET", nargs="?", default="KITE-142", help="default: %(default)s")
    add("--legacy", action="store_true", help=f"begin with a handshake, as up to {LEGACY}")
    add("--noisy", action="store_true", help="let the server print to its stdout, as none should")
    add("--version", metavar="V", help=f"protocol version to ask for, such as {MODERN}")
    add("--sdk", action="store_true", help="let Wigwag's client talk, and show what it makes of it")
    options = parser.parse_args()
    if importlib.util.find_spec("wigwag") is None:
        parser.exit(1, f"the server needs Wigwag, {sys.executable} has none: run `make demo`\n")
    command = [sys.executable, str(SERVER), *(["--noisy"] if options.noisy else [])]
    call = {"name": "get_ticket", "arguments": {"ticket_id": options.ticket}}
    if options.sdk:
        mode = options.version or ("legacy" if options.legacy else "auto")
        return asyncio.run(converse_with_sdk(command, call, mode))
    if options.legacy:
        return converse(command, legacy(call, options.version or LEGACY))
    return converse(command, modern(call, options.version or MODERN))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)  # the server was interrupted too, and has left
    except BrokenPipeError:  # whoever read this, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
