"""A server that asks everything that can be asked, in every place; it serves stdio or HTTP.

python enquiry.py
python enquiry.py http [key ...]
"""

import sys
from dataclasses import dataclass
from typing import Any

from wigwag import Context, Server, elicit, list_roots, sample

enquiry = Server("enquiry", state_keys=sys.argv[2:] if __name__ == "__main__" else ())

PAGE = "https://example.com/page"


@dataclass
class Person:
    name: str
    age: int = 36


_taken = 0


def take_number() -> int:
    global _taken
    _taken += 1
    return _taken


async def enquire(ctx: Context, kind: str) -> str:  # noqa: PLR0911 - one for each kind
    """Ask in an `async` handler."""
    match kind:
        case "form":
            form = await ctx.elicit("Ada", Person)
            return f"{form.action} {form.data}"
        case "page":
            page = await ctx.elicit_url("Ada", PAGE)
            return f"{page.action} {page.data}"
        case "model":
            return (await ctx.sample("hello", max_tokens=5)).text
        case "roots":
            return " ".join(root.uri for root in await ctx.list_roots())
        case "several":
            answers = await ctx.ask(
                form=elicit("Ada", Person), model=sample("hello", max_tokens=5), roots=list_roots()
            )
            return f"{answers['form'].data} {answers['model'].text} {answers['roots'][0].uri}"
        case "rounds":
            first = await ctx.sample("one")
            second = await ctx.elicit(f"{first.text}, two", str)
            third = await ctx.sample(f"{second.data}, three")
            return third.text
        case "once":
            number = await ctx.once("number", take_number)
            said = await ctx.sample(f"number {number}")
            again = await ctx.once("number", take_number)
            return f"{said.text == f'NUMBER {number}'} {again - number} {_taken - again}"
    raise AssertionError(kind)


def enquire_plainly(ctx: Any, kind: str) -> str:
    """Ask in a plain handler, which waits in its thread."""
    match kind:
        case "form":
            form = ctx.elicit("Ada", Person)
            return f"{form.action} {form.data}"
        case "page":
            page = ctx.elicit_url("Ada", PAGE)
            return f"{page.action} {page.data}"
        case "several":
            answers = ctx.ask(
                form=elicit("Ada", Person), model=sample("hello", max_tokens=5), roots=list_roots()
            )
            return f"{answers['form'].data} {answers['model'].text} {answers['roots'][0].uri}"
        case "rounds":
            first = ctx.sample("one")
            second = ctx.elicit(f"{first.text}, two", str)
            return str(ctx.sample(f"{second.data}, three").text)
        case "once":
            number = ctx.once("number", take_number)
            said = ctx.sample(f"number {number}")
            again = ctx.once("number", take_number)
            return f"{said.text == f'NUMBER {number}'} {again - number} {_taken - again}"
    raise AssertionError(kind)


@enquiry.tool("async")
async def ask(kind: str, ctx: Context) -> str:
    return await enquire(ctx, kind)


@enquiry.tool("plain")
def ask_plainly(kind: str, ctx: Context) -> str:
    return enquire_plainly(ctx, kind)


@enquiry.prompt("async")
async def write(kind: str, ctx: Context) -> str:
    return await enquire(ctx, kind)


@enquiry.prompt("plain")
def write_plainly(kind: str, ctx: Context) -> str:
    return enquire_plainly(ctx, kind)


@enquiry.resource("enquiry://async/{kind}")
async def read(kind: str, ctx: Context) -> str:
    return await enquire(ctx, kind)


@enquiry.resource("enquiry://plain/{kind}")
def read_plainly(kind: str, ctx: Context) -> str:
    return enquire_plainly(ctx, kind)


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        enquiry.run("http", host="127.0.0.1", port=0)
    else:
        enquiry.run()
