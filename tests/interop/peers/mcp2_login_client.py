"""The official Python SDK, second line: a client that logs in."""

import asyncio
import sys
import warnings
from urllib.parse import parse_qs, urlsplit

import httpx2
import protected
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

warnings.simplefilter("ignore")


async def main(url: str) -> None:
    login = protected.Login()

    async def come_back() -> AuthorizationCodeResult:
        fields = parse_qs(urlsplit(login.back).query)
        return AuthorizationCodeResult(**{name: value for name, [value] in fields.items()})

    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="mcp2-peer", redirect_uris=[protected.REDIRECT_URI]
        ),
        storage=protected.Memory(),
        redirect_handler=login.go,
        callback_handler=come_back,
    )
    async with (
        httpx2.AsyncClient(auth=provider, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):

        async def call(name: str) -> str:
            return (await client.call_tool(name, {})).content[0].text

        await protected.tour(call)


asyncio.run(main(sys.argv[1]))
