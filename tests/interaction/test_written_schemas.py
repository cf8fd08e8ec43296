"""Tools whose input schema was written by hand."""

import pytest

from tests.interaction.connecting import error_of, text_of
from wigwag import Client, Context, Server

pytestmark = pytest.mark.anyio

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "title": "Somebody to reach",
    "properties": {"phone": {"$ref": "#/$defs/number"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "additionalProperties": False,
    "$defs": {"number": {"$anchor": "number", "type": "string", "pattern": "^[0-9]+$"}},
}


@pytest.fixture
def server() -> Server:
    server = Server("s")

    @server.tool(input_schema=SCHEMA)
    async def reach(ctx: Context, email: str = "nobody", phone: str = "none") -> str:
        """Reach somebody."""
        return f"{email} {phone} in {ctx.protocol_version}"

    @server.tool(input_schema={"type": "object"})
    def count(arguments: dict[str, object]) -> int:
        """Count the arguments."""
        return len(arguments)

    return server


async def test_the_schema_is_listed_as_it_was_written(server: Server, revision: str) -> None:
    async with Client(server, mode=revision) as client:
        assert (await client.list_tools()).tools[0].input_schema == SCHEMA


async def test_arguments_reach_the_function(server: Server, revision: str) -> None:
    async with Client(server, mode=revision) as client:
        assert await text_of(client, "reach", phone="5") == f"nobody 5 in {revision}"
        assert await text_of(client, "count", a=1, b=None) == "2"


async def test_arguments_that_break_the_schema_are_told_to_the_model(server: Server) -> None:
    async with Client(server) as client:
        assert await error_of(client, "reach", {"phone": "five"}) == (
            'Invalid arguments for reach: `phone`: "five" does not match "^[0-9]+$"'
        )
        assert (await error_of(client, "reach")).startswith("Invalid arguments for reach: ")
