"""The official SDK's server, for comparison: the tools that are measured, as its users write them.

mcp_server.py --stdio | --http PORT [--json]
"""

import argparse

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

app = MCPServer("bench", log_level="ERROR")


@app.tool(structured_output=False)
async def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@app.tool(structured_output=False)
async def echo_progress(text: str, ctx: Context) -> str:
    """Return the text unchanged, and tell of progress first."""
    await ctx.report_progress(1, 2)
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--http", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.http:
        import uvicorn

        asgi = app.streamable_http_app(json_response=options.json)
        uvicorn.run(asgi, host="127.0.0.1", port=options.http, log_level="error", access_log=False)
    else:
        app.run("stdio")
