"""What client and server tell each other about themselves, and along with each request."""

import asyncio
import json
from typing import Any

import pytest

from tests.interaction.connecting import Connect
from tests.interaction.peers import PeerServer, client_of
from wigwag import Client, Server
from wigwag.errors import LocalProtocolError
from wigwag.schema import (
    MODERN_REVISIONS,
    ClientCapabilities,
    Icon,
    Implementation,
)

pytestmark = pytest.mark.anyio

EMPTY_MEMBER = {
    "tools/call": "content",
    "resources/read": "contents",
    "prompts/get": "messages",
    "tools/list": "tools",
}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"


async def about(client: Client, **meta: Any) -> Any:
    result = await client.call_tool("about_me", {}, meta=meta or None)
    return json.loads(result.text)


async def test_members_of_meta_reach_the_handler_as_they_are(client: Client) -> None:
    sent = {"traceparent": TRACE, "example.com/note": {"a": [1, None, "é"]}, "plain": True}
    seen = (await about(client, **sent))["meta"]
    assert {key: seen[key] for key in sent} == sent


async def test_members_that_are_the_protocols_cannot_be_set(local_client: Client) -> None:
    for key in ("progressToken", "io.modelcontextprotocol/protocolVersion"):
        with pytest.raises(LocalProtocolError, match="is for the protocol to set"):
            await local_client.call_tool("about_me", {}, meta={key: "x"})
    with pytest.raises(LocalProtocolError, match="give the members of `_meta` as `meta`"):
        await local_client.request("tools/call", {"name": "about_me", "_meta": {}})


async def test_every_method_that_takes_meta_sends_it(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        asking = [
            client.call_tool("t", meta={"k": 1}),
            client.read_resource("s://r", meta={"k": 2}),
            client.get_prompt("p", meta={"k": 3}),
            client.request("tools/list", meta={"k": 4}),
        ]
        tasks = [asyncio.create_task(each) for each in asking]
        found = []
        for _ in tasks:
            asked = await peer.next()
            found.append(asked["params"]["_meta"]["k"])
            peer.reply(asked, **{EMPTY_MEMBER[asked["method"]]: []})
        await asyncio.gather(*tasks)
    assert found == [1, 2, 3, 4]


async def test_the_server_hears_who_asks(connect: Connect) -> None:
    info = Implementation(
        name="shopper",
        version="9",
        title="Shopper",
        icons=[Icon(src="https://example.com/i.png")],
    )
    async with connect(info=info) as client:
        seen = await about(client)
        assert seen["client"] == ["shopper", "9"]
        assert seen["revision"] == client.protocol_version
        assert seen["lifespan"] == "Day"


async def test_without_a_name_the_client_is_called_after_the_library(local_client: Client) -> None:
    assert (await about(local_client))["client"][0] == "wigwag"


async def test_the_server_hears_what_the_client_can_do(connect: Connect) -> None:
    capabilities = ClientCapabilities(experimental={"example.com/x": {"y": 1}})
    async with connect(roots=["file:///tmp"], capabilities=capabilities) as client:
        seen = (await about(client))["capabilities"]
        assert seen["experimental"] == {"example.com/x": {"y": 1}}
        assert "roots" in seen
        assert "sampling" not in seen


async def test_the_client_hears_what_the_server_is_and_can_do(client: Client) -> None:
    info = client.server_info
    assert info is not None
    assert (info.name, info.version) == ("bazaar", "1.2.3")
    assert (info.title == "The bazaar") == (
        client.protocol_version not in ("2024-11-05", "2025-03-26")
    )
    assert client.instructions == "Buy something."
    capabilities = client.server_capabilities
    for feature in (capabilities.tools, capabilities.resources, capabilities.prompts):
        assert feature
    assert bool(capabilities.completions == {}) == (client.protocol_version != "2024-11-05")


async def test_a_server_declares_only_what_it_has(revision: str) -> None:
    server = Server("s")
    server.tool(name="t")(lambda: "x")
    async with Client(server, mode=revision) as client:
        capabilities = client.server_capabilities
        assert capabilities.tools
        assert not capabilities.resources
        assert not capabilities.prompts
        assert not capabilities.completions
        # What was not declared is not asked for: there is none.
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []
        with pytest.raises(LocalProtocolError, match="did not declare `resources`"):
            await client.read_resource("s://r")
        with pytest.raises(LocalProtocolError, match="did not declare `prompts`"):
            await client.get_prompt("p")


async def test_the_answer_to_a_modern_request_says_who_gives_it(revision: str) -> None:
    async with Client(Server("named", version="7"), mode=revision) as client:
        if revision not in MODERN_REVISIONS:
            return
        discovered = await client.discover()
        assert discovered.supported_versions == ["2026-07-28"]
        assert isinstance(discovered.meta, dict)
        assert discovered.meta["io.modelcontextprotocol/serverInfo"]["name"] == "named"


async def test_a_bare_server_has_no_instructions(revision: str) -> None:
    async with Client(Server("s"), mode=revision) as client:
        assert client.instructions is None
        assert (await client.list_tools()).tools == []
        await client.ping()
