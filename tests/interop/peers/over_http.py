"""Runs the server in a file of this folder over HTTP instead of stdio.

    python over_http.py FILE PORT [streamable-http | sse]

It serves `http://127.0.0.1:PORT/mcp`, or `/sse`.
"""

import runpy
import sys

file, port = sys.argv[1], int(sys.argv[2])
transport = sys.argv[3] if len(sys.argv) > 3 else "streamable-http"


def run_v1(self, *_, **__):
    self.settings.port = port
    run(self, transport)


def run_other(self, *_, **__):
    run(self, transport, host="127.0.0.1", port=port)


if "fastmcp4" in file:
    from fastmcp import FastMCP as Server

    replacement = run_other
elif "mcp1" in file:
    from mcp.server.fastmcp import FastMCP as Server

    replacement = run_v1
else:
    from mcp.server import MCPServer as Server

    replacement = run_other

run = Server.run
Server.run = replacement
runpy.run_path(file, run_name="__main__")
