"""What a client repeats of modern messages in headers, and what it makes of a disagreement."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.interaction.connecting import TIMEOUTS
from tests.interaction.http_server import HttpRequest, HttpServer, McpUrl
from tests.watch import WireWatch
from wigwag import Client, RequestFailed
from wigwag.errors import LocalProtocolError
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN

pytestmark = pytest.mark.anyio

EVERYTHING: Any = {"tools": {}, "prompts": {}, "resources": {}}


def client_of(server: HttpServer, **options: Any) -> Client:
    options = {"timeouts": TIMEOUTS, "era_cache": {}, **options}
    return Client(server.url, **options)


def tool(name: str, **properties: Any) -> Any:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def mirrored(type_: str, header: Any) -> Any:
    return {"type": type_, "x-mcp-header": header}


def lists(server: McpUrl, *pages: list[Any]) -> None:
    """Let the server list these pages of tools."""

    async def reply(message: HttpRequest) -> None:
        number = int(message.message["params"].get("cursor", 0))
        more = {"nextCursor": str(number + 1)} if number + 1 < len(pages) else {}
        await server.give(message, tools=pages[number], **more)

    server.replies["tools/list"] = reply


async def test_method_name_and_version_are_repeated() -> None:
    async with McpUrl(LATEST_MODERN, capabilities=EVERYTHING) as server:

        async def get(message: HttpRequest) -> None:
            await server.give(message, messages=[])

        async def read(message: HttpRequest) -> None:
            await server.give(message, contents=[], ttlMs=0, cacheScope="private")

        lists(server, [])
        server.replies["prompts/get"] = get
        server.replies["resources/read"] = read
        async with client_of(server) as client:
            await client.list_tools()
            await client.call_tool("add")
            await client.call_tool("ünï")
            await client.get_prompt("=?base64?x?=")
            await client.read_resource("file:///a%20b.txt")
        for message in server.requests:
            assert message.headers["mcp-protocol-version"] == LATEST_MODERN
            assert message.headers["mcp-method"] == message.asks
        names = {m.asks: m.headers["mcp-name"] for m in server.requests if "mcp-name" in m.headers}
        assert names == {
            "tools/call": "=?base64?w7xuw68=?=",
            "prompts/get": "=?base64?PT9iYXNlNjQ/eD89?=",
            "resources/read": "file:///a%20b.txt",
        }
        assert server.asked("tools/call")[0].headers["mcp-name"] == "add"


async def test_a_legacy_server_gets_none_of_these_headers() -> None:
    async with McpUrl(LATEST_LEGACY) as server, client_of(server, mode="legacy") as client:
        lists(server, [tool("t", region=mirrored("string", "Region"))])
        await client.list_tools()
        await client.call_tool("t", {"region": "x"})
        for message in server.requests:
            assert not [name for name in message.headers if name.startswith("mcp-") and
                        name != "mcp-protocol-version"]  # fmt: skip


async def test_arguments_are_repeated_as_the_tool_wants() -> None:
    async with McpUrl(LATEST_MODERN) as server, client_of(server) as client:
        nested = {"type": "object", "properties": {"n": mirrored("integer", "N")}}
        region, flag = mirrored("string", "Region"), mirrored("boolean", "Flag")
        lists(server, [tool("t", region=region, flag=flag, a=nested, other={"type": "string"})])
        await client.list_tools()
        arguments = {"region": " 世界", "flag": False, "a": {"n": 42}, "other": "x"}
        await client.call_tool("t", arguments)
        await client.call_tool("t", {"region": None, "a": 5})
        await client.call_tool("t", {"region": ""})
        await client.call_tool("t")
        sent = [
            {name: value for name, value in m.headers.items() if name.startswith("mcp-param-")}
            for m in server.asked("tools/call")
        ]
        assert sent == [
            {
                "mcp-param-region": "=?base64?IOS4lueVjA==?=",
                "mcp-param-flag": "false",
                "mcp-param-n": "42",
            },
            {},
            {"mcp-param-region": ""},
            {},
        ]


async def test_an_argument_that_no_header_can_carry_is_not_sent() -> None:
    async with McpUrl(LATEST_MODERN) as server, client_of(server) as client:
        lists(server, [tool("t", n=mirrored("integer", "N"))])
        await client.list_tools()
        with pytest.raises(LocalProtocolError, match="Mcp-Param-N cannot carry 'n'"):
            await client.call_tool("t", {"n": 2**53})
        assert server.asked("tools/call") == []


async def test_invalid_tools_are_left_out_and_named_once(
    log_text: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    bad = [tool("bad1", a=mirrored("object", "A")), tool("bad2", a=mirrored("string", "no way"))]
    async with McpUrl(LATEST_MODERN) as server, client_of(server) as client:
        lists(server, [tool("good"), bad[0]], [bad[1], tool("fine", a=mirrored("string", "A"))])
        for _ in range(2):
            assert [t.name for t in (await client.list_tools()).tools] == ["good", "fine"]
        page = await client.list_tools(cursor="1")
        assert [t.name for t in page.tools] == ["fine"]
    warnings = [line for line in log_text().splitlines() if "left out the tool" in line]
    assert len(warnings) == 2
    assert "'bad1'" in warnings[0]
    assert "type must be string, integer or boolean" in warnings[0]
    assert "'bad2'" in warnings[1]
    assert "cannot be part of a header's name" in warnings[1]


async def test_in_the_legacy_era_such_tools_can_be_used() -> None:
    async with McpUrl(LATEST_LEGACY) as server, client_of(server, mode="legacy") as client:
        lists(server, [tool("bad", a=mirrored("object", "A"))])
        assert [t.name for t in (await client.list_tools()).tools] == ["bad"]


def demands(server: McpUrl, header: str, value: str) -> None:
    """Let calls be refused as long as they do not have this header."""

    async def call(message: HttpRequest) -> None:
        if message.headers.get(header) == value:
            await server._reply(message)
        else:
            await message.refuse(400, -32020, f"Header mismatch: {header}", {"header": header})

    server.replies["tools/call"] = call


async def test_a_tool_that_was_never_listed_is_listed_when_its_headers_are_missed() -> None:
    async with McpUrl(LATEST_MODERN) as server, client_of(server) as client:
        lists(server, [tool("other")], [tool("t", region=mirrored("string", "Region"))])
        demands(server, "mcp-param-region", "x")
        assert (await client.call_tool("t", {"region": "x"})).text == "done"
        asked = [message.asks for message in server.requests[1:]]
        assert asked == ["tools/call", "tools/list", "tools/list", "tools/call"]
        assert (await client.call_tool("t", {"region": "x"})).text == "done"
        assert len(server.asked("tools/list")) == 2


async def test_a_tool_that_has_changed_is_listed_anew() -> None:
    async with McpUrl(LATEST_MODERN) as server, client_of(server) as client:
        lists(server, [tool("t", a=mirrored("string", "Old"))])
        await client.list_tools()
        lists(server, [tool("t", a=mirrored("string", "New"))])
        demands(server, "mcp-param-new", "x")
        assert (await client.call_tool("t", {"a": "x"})).text == "done"
        last = server.asked("tools/call")[-1]
        assert "mcp-param-old" not in last.headers
        ids = [message.message["id"] for message in server.asked("tools/call")]
        assert len(set(ids)) == 2


async def test_a_disagreement_that_stays_is_an_error_after_one_more_try() -> None:
    async with McpUrl(LATEST_MODERN) as server, client_of(server) as client:
        lists(server, [tool("t")])
        demands(server, "mcp-param-never", "x")
        with pytest.raises(RequestFailed, match="Header mismatch: mcp-param-never") as caught:
            await client.call_tool("t")
        assert caught.value.code == -32020
        assert caught.value.data == {"header": "mcp-param-never"}
        assert len(server.asked("tools/call")) == 2
        assert len(server.asked("tools/list")) == 1


@pytest.mark.parametrize("status", [400, 404, 409, 500, 503])
async def test_an_error_in_the_body_counts_whatever_the_status(status: int) -> None:
    async with McpUrl(LATEST_MODERN) as server, client_of(server) as client:

        async def call(message: HttpRequest) -> None:
            data: Any = {"requiredCapabilities": {"sampling": {}}}
            await message.refuse(status, -32021, "needs sampling", data)

        server.replies["tools/call"] = call
        with pytest.raises(RequestFailed, match="needs sampling") as caught:
            await client.call_tool("t")
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"sampling": {}}}


async def test_a_notification_says_its_method_and_any_success_will_do(wire: WireWatch) -> None:
    wire.allow_extensions("example/hello")
    async with McpUrl(LATEST_MODERN) as server, client_of(server) as client:

        async def accept(message: HttpRequest) -> None:
            await message.answer(204)

        server.replies["example/hello"] = accept
        await client.notify("example/hello")
        (told,) = server.asked("example/hello")
        assert told.message == {"jsonrpc": "2.0", "method": "example/hello"}
        assert told.headers["mcp-method"] == "example/hello"
        assert told.headers["mcp-protocol-version"] == LATEST_MODERN
