"""Dependencies whose annotations are text, as `from __future__ import annotations` makes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import pytest

from wigwag import Client, Context, Depends, Server


@pytest.mark.anyio
async def test_annotations_may_name_what_is_local_to_where_they_stand() -> None:
    server = Server("shop")

    @dataclass
    class Till:
        coins: int

    def till(ctx: Context) -> Iterator[Till]:
        yield Till(len(ctx.method))

    class Clerk:
        def __init__(self, till: Annotated[Till, Depends(till)], name: str) -> None:
            self.text = f"{name} {till.coins}"

    @server.tool
    async def pay(
        name: str, clerk: Annotated[Clerk, Depends(Clerk)], till: Annotated[Till, Depends(till)]
    ) -> str:
        return f"{clerk.text} {till.coins}"

    async with Client(server) as client:
        assert (await client.call_tool("pay", {"name": "Ada"})).text == "Ada 10 10"


def test_what_nobody_knows_is_named() -> None:
    def till(owner: Unheard) -> int:  # type: ignore[name-defined]  # noqa: F821 - it is the test
        return 1

    def pay(till: Annotated[int, Depends(till)]) -> None: ...

    with pytest.raises(TypeError, match=r"an annotation of .*till cannot be understood.*Unheard"):
        Server("shop").tool(pay)
