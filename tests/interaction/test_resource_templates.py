"""Templates of resources: what a client reads by them, and what it is told otherwise."""

from enum import Enum
from pathlib import Path
from uuid import UUID

import pytest

from tests.interaction.connecting import TIMEOUTS, listening, serving_http
from wigwag import (
    Client,
    RequestFailed,
    ResourceNotFound,
    ResourceSecurity,
    Server,
    ToolError,
    UriTemplate,
)
from wigwag.schema import MODERN_REVISIONS

pytestmark = pytest.mark.anyio


class Sort(Enum):
    NEWEST = "newest"
    OLDEST = "oldest"


def bookshop() -> Server:
    server = Server("bookshop")

    @server.resource("reviews://{isbn}{?limit,sort,tags*}")
    def reviews(
        isbn: str, limit: int = 10, sort: Sort = Sort.NEWEST, tags: list[str] | None = None
    ) -> str:
        return f"{isbn!r} {limit!r} {sort!r} {tags!r}"

    @server.resource("orders://{order}/{+path}")
    async def order(order: UUID, path: Path) -> str:
        return f"{order.int} {path.as_posix()}"

    @server.resource("shelves://browse{/path*}")
    def shelf(path: list[str]) -> str:
        return " > ".join(path)

    @server.resource("points://{x},{y}{#unit}")
    def point(x: int, y: float, unit: str = "m") -> str:
        return f"{x!r} {y!r} {unit}"

    @server.resource("search://books{?q}")
    def search(q: str) -> str:
        return q

    @server.resource("imports://{+source}", security=ResourceSecurity(exempt_params={"source"}))
    def preview(source: str) -> str:
        return source

    _add_stock(server)
    return server


def _add_stock(server: Server) -> None:
    @server.resource("stock://{isbn}")
    def stock(isbn: str) -> str:
        if isbn == "broken":
            raise ValueError("secret detail")
        if isbn == "closed":
            raise ToolError("The stock is counted today; ask again tomorrow.")
        if isbn == "elsewhere":
            raise ResourceNotFound("It has moved.", uri="stock://here")
        raise ResourceNotFound(f"No book has the ISBN {isbn}.")


async def read(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    assert contents.uri == uri
    return str(contents.text)


READ = [
    ("reviews://978", "'978' 10 <Sort.NEWEST: 'newest'> None"),
    ("reviews://978?sort=oldest&limit=3", "'978' 3 <Sort.OLDEST: 'oldest'> None"),
    ("reviews://a%20b?tags=x&limit=1&tags=%C3%A9", "'a b' 1 <Sort.NEWEST: 'newest'> ['x', 'é']"),
    ("orders://00000000-0000-0000-0000-000000000007/a/b%20c.txt", "7 a/b c.txt"),
    ("shelves://browse", ""),
    ("shelves://browse/fiction/sci-fi", "fiction > sci-fi"),
    ("points://1,2.5", "1 2.5 m"),
    ("points://1,2#km", "1 2.0 km"),
    ("search://books?q=a%26b+c", "a&b+c"),
    ("imports:///etc/../passwd", "/etc/../passwd"),
]


@pytest.mark.parametrize(("uri", "text"), READ)
async def test_the_variables_are_what_the_function_declares(
    revision: str, uri: str, text: str
) -> None:
    async with Client(bookshop(), mode=revision) as client:
        assert await read(client, uri) == text


async def test_uris_are_the_same_over_every_transport() -> None:
    async with (
        serving_http(bookshop()) as origin,
        listening(bookshop(), "tcp") as address,
        Client(f"{origin}/mcp", timeouts=TIMEOUTS) as over_http,
        Client(address, timeouts=TIMEOUTS) as over_tcp,
    ):
        for uri, text in READ:
            assert await read(over_http, uri) == await read(over_tcp, uri) == text


async def test_a_client_expands_what_a_server_lists() -> None:
    async with Client(bookshop()) as client:
        templates = (await client.list_resource_templates()).resource_templates
        template = UriTemplate(templates[0].uri_template)
        uri = template.expand({"isbn": "9/7 8", "tags": ["a", "b&c"], "limit": 2})
        assert uri == "reviews://9%2F7%208?limit=2&tags=a&tags=b%26c"
        with pytest.raises(RequestFailed, match="Resource not found"):  # a slash in a segment
            await client.read_resource(uri)
        uri = template.expand({"isbn": "978", "tags": ["a", "b&c"], "limit": 2})
        assert await read(client, uri) == "'978' 2 <Sort.NEWEST: 'newest'> ['a', 'b&c']"


@pytest.mark.parametrize(
    ("uri", "complaint"),
    [
        ("reviews://978?limt=3", "`?limt` is not an argument; did you mean `limit`?"),
        ("reviews://978?limit=many", "`limit`: expected `int`, got `str`"),
        ("reviews://978?sort=best", "'best'; it must be one of 'newest', 'oldest'"),
        ("orders://7/a", "`order`: invalid UUID"),
        ("search://books", "`q` is missing"),
        ("points://1,x", "`y`: expected `float`, got `str`"),
    ],
)
async def test_a_value_that_does_not_fit_is_invalid_params_and_says_why(
    revision: str, uri: str, complaint: str
) -> None:
    async with Client(bookshop(), mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.read_resource(uri)
    assert caught.value.code == -32602
    assert caught.value.message.startswith(f"Invalid URI {uri}: ")
    assert complaint in caught.value.message


@pytest.mark.parametrize(
    ("uri", "message", "named"),
    [
        ("stock://978", "No book has the ISBN 978.", "stock://978"),
        ("stock://elsewhere", "It has moved.", "stock://here"),
        ("reviews://..", "Resource not found: reviews://..", "reviews://.."),
        ("reviews://978?limit=1&limit=2", "Resource not found: ", "reviews://978?limit=1&limit=2"),
        ("shelves://browse/a/%2e%2e", "Resource not found: ", "shelves://browse/a/%2e%2e"),
        ("search://books?q=..%2Fx", "Resource not found: ", "search://books?q=..%2Fx"),
    ],
)
async def test_what_is_not_found_has_the_code_of_the_revision_and_its_uri(
    revision: str, uri: str, message: str, named: str
) -> None:
    async with Client(bookshop(), mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.read_resource(uri)
    assert caught.value.code == (-32602 if revision in MODERN_REVISIONS else -32002)
    assert caught.value.message.startswith(message)
    assert caught.value.data == {"uri": named}


async def test_what_goes_wrong_is_told_if_it_is_meant_to_be(revision: str) -> None:
    async with Client(bookshop(), mode=revision) as client:
        with pytest.raises(RequestFailed) as told:
            await client.read_resource("stock://closed")
        with pytest.raises(RequestFailed) as crashed:
            await client.read_resource("stock://broken")
    assert (told.value.code, told.value.message) == (
        -32603, "The stock is counted today; ask again tomorrow.",
    )  # fmt: skip
    assert crashed.value.code == -32603
    assert "reference" in crashed.value.message
    assert "secret" not in str(crashed.value)


async def test_a_server_may_allow_what_is_refused_by_default(revision: str) -> None:
    server = Server("s", resource_security=ResourceSecurity(reject_path_traversal=False))

    @server.resource("a://{+path}")
    def loose(path: str) -> str:
        return path

    @server.resource("b://{+path}", security=ResourceSecurity())
    def strict(path: str) -> str:
        return path

    async with Client(server, mode=revision) as client:
        assert await read(client, "a://../x") == "../x"
        for uri in ("a:///x", "b://../x"):
            with pytest.raises(RequestFailed, match="Resource not found"):
                await client.read_resource(uri)


def test_a_template_that_cannot_be_told_apart_is_refused_at_once() -> None:
    server = Server("s")

    def take(x: str, y: str) -> str:
        return x + y

    with pytest.raises(ValueError, match=r"a://\{x\}\{y\} cannot be matched back: nothing tells"):
        server.resource("a://{x}{y}")(take)
    with pytest.raises(TypeError, match="must have the same names"):
        server.resource("a://{x}{?z}")(take)
