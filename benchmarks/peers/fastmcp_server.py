"""FastMCP's server, for comparison: the tools that are measured, as its users write them.

fastmcp_server.py --http PORT [--json]
"""

import argparse
import os

os.environ.setdefault("FASTMCP_LOG_LEVEL", "ERROR")
os.environ.setdefault("FASTMCP_CHECK_FOR_UPDATES", "off")

import uvicorn
from fastmcp import Context, FastMCP

app = FastMCP("bench")


@app.tool(output_schema=None)
async def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@app.tool(output_schema=None)
async def echo_progress(text: str, ctx: Context) -> str:
    """Return the text unchanged, and tell of progress first."""
    await ctx.report_progress(1, 2)
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int, required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    asgi = app.http_app(path="/mcp", json_response=options.json)
    uvicorn.run(asgi, host="127.0.0.1", port=options.http, log_level="error", access_log=False)
