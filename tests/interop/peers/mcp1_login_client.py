"""The official Python SDK, first line: a client that logs in."""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

import httpx
import protected
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


async def main(url: str) -> None:
    login = protected.Login()

    async def come_back() -> tuple[str, str | None]:
        fields = parse_qs(urlsplit(login.back).query)
        return fields["code"][0], fields["state"][0]

    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="mcp1-peer", redirect_uris=[protected.REDIRECT_URI]
        ),
        storage=protected.Memory(),
        redirect_handler=login.go,
        callback_handler=come_back,
    )
    async with (
        httpx.AsyncClient(auth=provider, timeout=30) as http,
        streamable_http_client(url, http_client=http) as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        await session.initialize()

        async def call(name: str) -> str:
            return (await session.call_tool(name, {})).content[0].text

        await protected.tour(call)


asyncio.run(main(sys.argv[1]))
