"""What a server offers, asked for once."""

import pytest

from tests.cli.kiosk import kiosk
from wigwag import Client
from wigwag.cli.offered import KINDS, Offered

pytestmark = pytest.mark.anyio


async def test_each_kind_goes_by_its_names() -> None:
    async with Client(kiosk) as client:
        offered = Offered(client)
        names = {kind: (await offered.names(kind))[:2] for kind in KINDS}
        assert (await offered.named("tools", "add")).description == "Add two numbers."
        assert await offered.named("tools", "nothing") is None
    assert names == {
        "tools": ["add", "tag"],
        "prompts": ["greet"],
        "resources": ["kiosk://menu", "kiosk://logo"],
        "templates": ["kiosk://shelf/{row}/{place}"],
    }


async def test_a_list_is_asked_for_once_until_it_is_forgotten() -> None:
    asked: list[str] = []

    async def note(context: object, call_next: object) -> object:
        asked.append(context.method)  # type: ignore[attr-defined]
        return await call_next(context)  # type: ignore[operator]

    async with Client(kiosk, cache=False, middleware=[note]) as client:
        offered = Offered(client)
        for _ in range(2):
            await offered.names("tools")
        offered.forget()
        await offered.names("tools")
    assert asked == ["tools/list", "tools/list"]
