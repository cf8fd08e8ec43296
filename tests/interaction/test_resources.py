"""Resources: what is listed, what is read, and what is refused."""

import base64
from collections.abc import Callable

import msgspec
import pytest

from tests.interaction.bazaar import DOT, bazaar
from tests.interaction.connecting import text_of
from wigwag import Client, File, Image, RequestFailed, Server
from wigwag.schema import MODERN_REVISIONS, ReadResourceResult, TextResourceContents

pytestmark = pytest.mark.anyio


async def test_resources_and_templates_are_two_lists(client: Client) -> None:
    resources = (await client.list_resources()).resources
    templates = (await client.list_resource_templates()).resource_templates
    assert [resource.uri for resource in resources] == [
        "bazaar://sign",
        "bazaar://dot",
        "bazaar://prices",
        "bazaar://parts",
        "bazaar://broken",
        "bazaar://left",
        "bazaar://left-at-once",
    ]
    assert [(template.uri_template, template.name) for template in templates] == [
        ("bazaar://tickets/{number}", "ticket"),
        ("bazaar://shelf/{+path}", "shelf"),
    ]
    assert (resources[0].name, resources[0].description) == ("sign", "Over the door.")
    assert (resources[1].mime_type, templates[1].mime_type) == ("image/gif", "text/markdown")
    assert templates[0].description == "One ticket."


async def test_text_bytes_and_other_values_can_be_read(client: Client) -> None:
    (sign,) = (await client.read_resource("bazaar://sign")).contents
    assert (sign.uri, sign.text, sign.mime_type) == ("bazaar://sign", "open", "text/plain")
    (dot,) = (await client.read_resource("bazaar://dot")).contents
    assert (dot.text, dot.mime_type) == (msgspec.UNSET, "image/gif")
    assert isinstance(dot.blob, str)
    assert base64.b64decode(dot.blob, validate=True) == DOT
    (prices,) = (await client.read_resource("bazaar://prices")).contents
    assert (prices.text, prices.mime_type) == ('{"tea":2}', "application/json")


async def test_a_resource_may_have_several_contents(local_client: Client) -> None:
    one, two = (await local_client.read_resource("bazaar://parts")).contents
    assert (one.uri, one.text) == ("bazaar://parts/1", "one")
    assert (two.uri, two.blob) == ("bazaar://parts/2", "AAAA")


async def test_contents_and_results_made_by_hand_are_sent_as_they_are(revision: str) -> None:
    server = Server("s")
    made = TextResourceContents(uri="s://other", text="made", mime_type="text/x-made")

    @server.resource("s://contents")
    def contents() -> TextResourceContents:
        return made

    @server.resource("s://result")
    def result() -> ReadResourceResult:
        return ReadResourceResult(contents=[made], ttl_ms=1500, cache_scope="public")

    async with Client(server, mode=revision) as client:
        one = await client.read_resource("s://contents")
        other = await client.read_resource("s://result")
    for read in (one, other):
        (found,) = read.contents
        assert (found.uri, found.text, found.mime_type) == ("s://other", "made", "text/x-made")
    # How long a result may be kept is for the modern revisions; without a word it is not kept.
    if revision in MODERN_REVISIONS:
        assert (one.ttl_ms, one.cache_scope) == (0, "private")
        assert (other.ttl_ms, other.cache_scope) == (1500, "public")
    else:
        assert (other.ttl_ms, other.cache_scope) == (msgspec.UNSET, msgspec.UNSET)


async def test_one_read_may_have_text_bytes_media_and_values(revision: str) -> None:
    server = Server("s")

    @server.resource("s://mix")
    def mix() -> list[object]:
        return ["text", b"\x00", Image(data=b"GIF89a"), File(data="f", uri="s://f"), {"a": [1]}]

    @server.resource("s://picture")
    def picture() -> Image:
        return Image(data=b"GIF89a")

    @server.resource("s://names")
    def names() -> list[str]:
        return ["a", "b"]

    async with Client(server, mode=revision) as client:
        contents = (await client.read_resource("s://mix")).contents
        assert [(part.uri, part.mime_type, part.text or part.blob) for part in contents] == [
            ("s://mix", "text/plain", "text"),
            ("s://mix", "application/octet-stream", "AA=="),
            ("s://mix", "image/gif", "R0lGODlh"),
            ("s://f", "text/plain", "f"),
            ("s://mix", "application/json", '{"a":[1]}'),
        ]
        (one,) = (await client.read_resource("s://picture")).contents
        assert (one.mime_type, one.blob) == ("image/gif", "R0lGODlh")
        (listed,) = (await client.read_resource("s://names")).contents
        assert (listed.mime_type, listed.text) == ("application/json", '["a","b"]')


# --- templates


async def test_the_variables_of_a_template_become_what_the_function_declares(
    client: Client,
) -> None:
    (ticket,) = (await client.read_resource("bazaar://tickets/7")).contents
    assert ticket.text == f"ticket 7 in {client.protocol_version}"
    assert ticket.uri == "bazaar://tickets/7"


async def test_a_variable_of_the_wrong_type_is_invalid_params(local_client: Client) -> None:
    with pytest.raises(RequestFailed) as caught:
        await local_client.read_resource("bazaar://tickets/seven")
    assert caught.value.code == -32602
    assert "bazaar://tickets/seven" in caught.value.message
    assert "`number`" in caught.value.message


async def test_values_in_a_uri_are_decoded(local_client: Client) -> None:
    (one,) = (await local_client.read_resource("bazaar://shelf/a%20b/%C3%A9.md")).contents
    assert one.text == "# a b/é.md"
    assert one.uri == "bazaar://shelf/a%20b/%C3%A9.md"


@pytest.mark.parametrize(
    "uri",
    [
        "bazaar://shelf/../secret",
        "bazaar://shelf/a/../../secret",
        "bazaar://shelf/%2e%2e/secret",
        "bazaar://shelf/a/..%2fsecret",
        "bazaar://shelf/a\\..\\secret",
        "bazaar://shelf/a%00b",
        "bazaar://tickets/..",
        "bazaar://tickets/1%2F2",
    ],
)
async def test_a_path_cannot_climb_out_of_its_template(local_client: Client, uri: str) -> None:
    with pytest.raises(RequestFailed, match="Resource not found"):
        await local_client.read_resource(uri)


# --- what is not there


@pytest.mark.parametrize("uri", ["bazaar://nothing", "bazaar://tickets/1/2", "x:y", ""])
async def test_what_is_not_there_is_named_under_the_code_of_the_revision(
    local_client: Client, uri: str
) -> None:
    with pytest.raises(RequestFailed) as caught:
        await local_client.read_resource(uri)
    is_modern = local_client.protocol_version in MODERN_REVISIONS
    assert caught.value.code == (-32602 if is_modern else -32002)
    assert caught.value.data == {"uri": uri}


async def test_a_crash_is_an_internal_error_with_a_reference_into_the_log(
    revision: str, log_text: Callable[[], str]
) -> None:
    async with Client(bazaar(), mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.read_resource("bazaar://broken")
        assert await text_of(client, "echo", text="alive") == "alive"
    assert caught.value.code == -32603
    assert "secret" not in str(caught.value)
    reference = caught.value.message.partition("reference ")[2][:8]
    assert reference
    assert reference in log_text()
    assert "ValueError: secret detail" in log_text()


async def test_a_resource_that_leaves_the_program_does_not(client: Client) -> None:
    for uri in ("bazaar://left", "bazaar://left-at-once"):
        with pytest.raises(RequestFailed) as caught:
            await client.read_resource(uri)
        assert caught.value.code == -32603
    assert await text_of(client, "echo", text="alive") == "alive"


# --- from within


async def test_a_tool_can_read_resources_of_its_own_server(client: Client) -> None:
    assert await text_of(client, "read", uri="bazaar://sign") == "open"
    assert await text_of(client, "read", uri="bazaar://tickets/3") == (
        f"ticket 3 in {client.protocol_version}"
    )
    with pytest.raises(RequestFailed, match="Resource not found"):
        await client.call_tool("read", {"uri": "bazaar://nothing"})
