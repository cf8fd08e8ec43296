"""An authorization server on a real socket, as far as who verifies tokens sees it."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.unit.oauth.signing import SigningKey

Handler = Callable[[web.Request], Any]


class IssuerServer:
    """Publishes metadata and keys, and answers questions about tokens."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: list[dict[str, Any]] = []
        self.tokens: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.forms: list[dict[str, str]] = []
        self.users: list[str | None] = []
        self.metadata: dict[str, Any] = {}
        self.headers: dict[str, str] = {}
        self.closing = asyncio.Event()
        self.instead: dict[str, Handler] = {}
        """What answers at a path in place of this server."""

    @property
    def issuer(self) -> str:
        return self.url

    def count(self, path: str) -> int:
        return self.asked.count(path)

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = time.time()
        claims = {
            "iss": self.issuer,
            "sub": "ada",
            "aud": "https://mcp.example/mcp",
            "exp": now + 300,
            "iat": now,
            "client_id": "c1",
            "scope": "read write",
        }
        return {name: value for name, value in {**claims, **changes}.items() if value is not ...}

    def sign(self, key: SigningKey, alg: str = "ES256", /, **changes: Any) -> str:
        return key.sign(self.claims(**changes), alg, typ="at+jwt")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        await asyncio.sleep(0)
        if request.path in self.instead:
            answer: web.StreamResponse = await self.instead[request.path](request)
            return answer
        if request.path == "/.well-known/oauth-authorization-server":
            return web.json_response(
                {
                    "issuer": self.issuer,
                    "jwks_uri": f"{self.url}/jwks",
                    "introspection_endpoint": f"{self.url}/introspect",
                    **self.metadata,
                }
            )
        if request.path == "/jwks":
            return web.json_response({"keys": self.keys}, headers=self.headers)
        if request.path == "/introspect":
            return await self.introspect(request)
        return web.Response(status=404)

    async def introspect(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.forms.append(form)
        scheme, _, pair = request.headers.get("authorization", "").partition(" ")
        self.users.append(base64.b64decode(pair).decode() if scheme == "Basic" else None)
        known = self.tokens.get(form["token"])
        answer = {"active": False} if known is None else {"active": True, **known}
        return web.Response(text=json.dumps(answer), content_type="application/json")


@asynccontextmanager
async def issuer_server() -> AsyncIterator[IssuerServer]:
    server = IssuerServer()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        server.closing.set()
        await runner.cleanup()
