"""A protected server for tests, and tokens that its verifier knows."""

from collections.abc import Mapping
from typing import Any

from tests.asgi import Site, modern, modern_call
from wigwag import (
    Context,
    InvalidToken,
    Principal,
    Protection,
    Server,
    VerifiedToken,
    VerifierUnavailable,
)
from wigwag.oauth.secret import Secret

ISSUER = "https://login.example.com"
HOST = "mcp.example.com"
RESOURCE = f"http://{HOST}/mcp"


class Ledger:
    """A verifier that knows tokens by heart: who sent them, and which server they are meant for."""

    issuer = ISSUER

    def __init__(self) -> None:
        self.tokens: dict[str, VerifiedToken] = {}
        self.audiences: dict[str, str] = {}
        self.is_out_of_order = False
        self.asked = 0

    def issue(
        self,
        token: str,
        subject: str,
        *scopes: str,
        roles: tuple[str, ...] = (),
        issuer: str = ISSUER,
        audience: str = RESOURCE,
        expires_at: float | None = None,
        client_id: str | None = "app",
    ) -> str:
        """Make a token good."""
        principal = Principal(subject, issuer, frozenset(scopes), roles=frozenset(roles))
        self.tokens[token] = VerifiedToken(
            principal=principal, expires_at=expires_at, client_id=client_id, max_age=0
        )
        self.audiences[token] = audience
        return token

    async def verify(self, token: Secret, resource: str) -> VerifiedToken | None:
        """Return what a token says."""
        self.asked += 1
        if self.is_out_of_order:
            raise VerifierUnavailable("the keys cannot be had", retry_after=7)
        verified = self.tokens.get(token.reveal())
        if verified is None:
            return None
        audience = self.audiences[token.reveal()]
        if audience != resource:
            raise InvalidToken(f"it is meant for {audience}", "the token is for another server")
        return verified


def vault(ledger: Ledger, **options: Any) -> Server:
    """Return a server with something for everybody."""
    server = Server("vault", version="1.0.0", auth=Protection(ledger, **options))

    @server.tool
    async def who(ctx: Context) -> str:
        return "nobody" if ctx.principal is None else ctx.principal.subject

    @server.tool(scopes=["vault:write"])
    async def put(what: str) -> str:
        return f"{what} is in the vault"

    @server.tool(scopes=["vault:write", "vault:keys"])
    def change_lock() -> str:
        return "changed"

    @server.tool(roles=["owner", "auditor"])
    async def count() -> int:
        return 7

    @server.tool
    async def take(what: str, ctx: Context) -> str:
        if what == "gold":
            ctx.require_scopes("vault:write", "vault:gold")
        return what

    _furnish(server)
    return server


def _furnish(server: Server) -> None:
    @server.resource("vault://door")
    def door() -> str:
        return "shut"

    @server.resource("vault://gold", scopes=["vault:write"])
    def gold() -> str:
        return "gold"

    @server.resource("vault://boxes/{name}", roles=["owner"])
    def box(name: str) -> str:
        return name

    @server.prompt(scopes=["vault:write"])
    def plan(what: str) -> str:
        return f"Plan for {what}."

    @server.completion("plan", "what")
    def whats(value: str) -> list[str]:
        return ["gold"]


def bearer(token: str | None, **more: str) -> dict[str, str]:
    """Return the headers of somebody with a token."""
    headers = {"host": HOST, **more}
    return headers if token is None else {**headers, "authorization": f"Bearer {token}"}


async def call(
    site: Site, token: str | None, tool: str, arguments: Mapping[str, Any] | None = None
) -> Any:
    """Call a tool in the modern era."""
    message, headers = modern_call(1, tool, dict(arguments or {}))
    return await site.ask(message, {**headers, **bearer(token)})


async def ask(site: Site, token: str | None, method: str, **params: Any) -> Any:
    """Make a request in the modern era."""
    message, headers = modern(1, method, params)
    return await site.ask(message, {**headers, **bearer(token)})
