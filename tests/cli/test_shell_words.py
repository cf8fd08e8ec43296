"""What may be typed next in the shell."""

from collections.abc import AsyncIterator
from typing import Literal

import pytest

from tests.cli.kiosk import kiosk
from wigwag import Client, Server
from wigwag.cli.offered import Offered
from wigwag.cli.shell_words import Suggestion, suggestions

pytestmark = pytest.mark.anyio

paints = Server("paints")


@paints.tool
def paint(
    *, colour: Literal["red", "dark red"], coats: list[Literal["thin", "thick"]], dry: bool = False
) -> str:
    """Paint it.

    Args:
        colour: Which colour.
        coats: How.
        dry: Whether to wait.
    """
    return "done"


@paints.prompt
def mix(shade: str) -> str:
    """Mix a shade."""
    return shade


@paints.completion("mix", "shade")
def complete_shade(typed: str) -> list[str]:
    """Offer a shade, and what would move the cursor."""
    return ["blue", "bl\x1b[2J"]


@pytest.fixture
async def offered() -> AsyncIterator[Offered]:
    async with Client(kiosk) as client:
        yield Offered(client)


@pytest.mark.parametrize(
    ("line", "word", "texts"),
    [
        ("ca", "ca", ["call"]),
        ("ad", "ad", ["add"]),
        ("list t", "t", ["tools", "templates", "tag", "think"]),
        ("call ba", "ba", ["bake"]),
        ("add ", "", ["a=", "b="]),
        ("add a=1 ", "", ["b="]),
        ("call add a:=1 ", "", ["b="]),
        ("call --json add ", "", ["a=", "b="]),
        ("tag names=x n", "n", ["names="]),
        ("call --un", "--un", ["--unchecked"]),
        ("add --js", "--js", ["--json"]),
        ("read kiosk://m", "kiosk://m", ["kiosk://menu"]),
        ("read kiosk://s", "kiosk://s", ["kiosk://shelf/{row}/{place}"]),
        ("read kiosk://shelf/{row}/{place} ", "", ["row=", "place="]),
        ("read kiosk://shelf/{row}/{place} row=3 place=3", "place=3", ["place=3-left"]),
        ("read kiosk://menu ", "", []),
        ("prompt g", "g", ["greet"]),
        ("prompt greet ", "", ["name=", "tone="]),
        ("prompt greet tone=ki", "tone=ki", ["tone=kind", "tone=kindly"]),
        ("prompt nobody ", "", []),
        ("complete g", "g", ["greet"]),
        ("complete greet to", "to", ["tone="]),
        ("complete kiosk://shelf/{row}/{place} pl", "pl", ["place="]),
        ("listen kiosk://m", "kiosk://m", ["kiosk://menu"]),
        ("ping ", "", []),
        ("help pi", "pi", ["ping"]),
        ("nothing ", "", []),
        ("call add 'a", "", []),
    ],
)
async def test_the_word_at_the_end_of_a_line_is_completed(
    line: str, word: str, texts: list[str], offered: Offered
) -> None:
    found, suggested = await suggestions(offered, line)
    assert found == word
    assert [each.text for each in suggested] == texts


async def test_values_are_suggested_where_they_are_listed_and_quoted_where_they_must_be() -> None:
    async with Client(paints) as client:
        offered = Offered(client)
        _, colours = await suggestions(offered, "paint colour=")
        assert [each.text for each in colours] == ["colour=red", "colour='dark red'"]
        _, coats = await suggestions(offered, "paint coats=thi")
        assert [each.text for each in coats] == ["coats=thin", "coats=thick"]
        _, dry = await suggestions(offered, "paint dry=")
        assert [each.text for each in dry] == ["dry=true", "dry=false"]
        _, names = await suggestions(offered, "paint co")
        assert names == [Suggestion("colour=", "Which colour."), Suggestion("coats=", "How.")]


async def test_what_nobody_can_type_is_not_suggested() -> None:
    async with Client(paints) as client:
        _, shades = await suggestions(Offered(client), "prompt mix shade=")
        assert shades == [Suggestion("shade=blue")]


async def test_a_server_that_has_gone_suggests_nothing() -> None:
    async with Client(kiosk, heal=False) as client:
        offered = Offered(client)
        await client.close()
        assert await suggestions(offered, "call ") == ("", [])
