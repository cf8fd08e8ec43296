"""A server whose lists and texts may be kept for an hour, and which counts what it is asked for.

Run as a program it serves over stdio.
"""

from collections import Counter
from typing import Any

from wigwag import CacheHint, Context, Server

HOUR = CacheHint(3_600_000, "public")
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


def library() -> Server:
    """Return a library; `asked` tells how often each method, or each text, was asked for."""
    hints = {**dict.fromkeys(LISTS, HOUR), "server/discover": HOUR, "resources/read": HOUR}
    server = Server("library", page_size=2, cache_hints=hints)
    counts: Counter[str] = Counter()
    texts = {"library://poem": "a poem", "library://tale": "a tale"}

    @server.middleware
    async def count(ctx: Context, call_next: Any) -> Any:
        counts[ctx.method] += 1
        counts[getattr(ctx.params, "uri", "")] += 1
        return await call_next(ctx)

    @server.tool
    def asked() -> dict[str, int]:
        return dict(counts)

    @server.tool
    def write(uri: str, text: str, ctx: Context) -> None:
        texts[uri] = text
        ctx.resource_updated(uri)

    @server.tool
    def lend(name: str) -> None:
        server.tool(name=name)(lambda: "lent")

    server.resource("library://poem", name="poem")(lambda: texts["library://poem"])
    server.resource("library://tale", name="tale")(lambda: texts["library://tale"])
    server.resource("library://shelves/{name}", name="shelf")(lambda name: name)
    server.prompt(name="recite")(lambda: "Recite a poem.")
    return server


if __name__ == "__main__":
    library().run()
