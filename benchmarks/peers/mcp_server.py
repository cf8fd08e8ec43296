"""The official SDK's server, for comparison: the tool that is measured, as its users write it."""

from mcp.server import MCPServer

app = MCPServer("bench", log_level="ERROR")


@app.tool(structured_output=False)
async def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


if __name__ == "__main__":
    app.run("stdio")
