"""A small server that asks; run as a program it serves over stdio."""

from typing import Any, Literal

from wigwag import Context, Server

quiz = Server("quiz")


@quiz.tool
async def interview(ctx: Context) -> str:
    name = await ctx.elicit("Ada", {"name": str})
    color = await ctx.elicit("Which color?", Literal["red", "blue"])
    assert name.action == "accept"
    return f"name: {name.data['name']}, color: {color.data}"


@quiz.tool
def plain(ctx: Context) -> str:
    model: Any = ctx.sample("hello", max_tokens=10)
    roots: Any = ctx.list_roots()
    return f"{model.text} {roots[0].uri}"


@quiz.tool
async def abilities(ctx: Context) -> str:
    return str([ctx.can_elicit, ctx.can_elicit_url, ctx.can_sample, ctx.can_list_roots])


if __name__ == "__main__":
    quiz.run()
