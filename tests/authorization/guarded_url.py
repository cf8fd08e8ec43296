"""A hand-written MCP server on a real socket that wants tokens, and says so as a test wants it."""

import json
from typing import Any

from tests.authorization.authorization_server import AuthorizationServer, claims_of
from tests.interaction.http_server import HttpRequest, HttpServer, McpUrl
from wigwag.schema import LATEST_MODERN


class Guard(HttpServer):
    """Wants a token of an authorization server for whatever is asked; it goes before a server."""

    def guarded_by(self, issuer: AuthorizationServer) -> None:
        """Begin to want tokens."""
        self.issuer = issuer
        self.open: set[str] = set()
        """What can be asked without a token."""
        self.scopes: dict[str, str] = {}
        """The scopes that methods need."""
        self.metadata: dict[str, Any] = {}
        """Members of the metadata that replace others."""
        self.metadata_body: bytes | None = None
        """All of the metadata, in place of what it should be."""
        self.has_metadata = True
        self.demand: str | None = None
        """What the challenge says instead."""
        self.nonce: str | None = None
        """What DPoP proofs must carry."""
        self.proofs: list[dict[str, Any]] = []
        self.refusals = 0
        self.reads_of_metadata = 0

    @property
    def metadata_url(self) -> str:
        return f"{self.origin}/.well-known/oauth-protected-resource/mcp"

    async def handle(self, request: HttpRequest) -> None:
        if request.path.startswith("/.well-known/"):
            await self._tell(request)
            return
        refusal = self._refusal(request)
        if refusal is None:
            await super().handle(request)
            return
        self.refusals += 1
        status, challenge = refusal
        headers = [("WWW-Authenticate", challenge)]
        if self.nonce is not None:
            headers.append(("DPoP-Nonce", self.nonce))
        await request.answer(status, b'{"error":"no"}', headers=headers)

    def asked(self, what: str) -> list[HttpRequest]:
        """Return the requests of a method, but for those of the metadata."""
        return [one for one in super().asked(what) if not one.path.startswith("/.well-known/")]

    async def _tell(self, request: HttpRequest) -> None:
        self.reads_of_metadata += 1
        if not self.has_metadata or request.path != "/.well-known/oauth-protected-resource/mcp":
            await request.answer(404)
            return
        document = {
            "resource": self.url,
            "authorization_servers": [self.issuer.issuer],
            **self.metadata,
        }
        body = json.dumps(document).encode() if self.metadata_body is None else self.metadata_body
        await request.answer(200, body)

    def _refusal(self, request: HttpRequest) -> tuple[int, str] | None:
        asks = request.asks or "response"
        if asks in self.open or "anything" in self.open:
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        challenge = self.demand or f'Bearer resource_metadata="{self.metadata_url}"'
        if not self.issuer.is_good(token):
            error = ', error="invalid_token"' if token else ""
            return 401, f"{challenge}{error}"
        if scheme == "DPoP":
            self.proofs.append(claims_of(request.headers["dpop"]))
            if self.nonce is not None and self.proofs[-1].get("nonce") != self.nonce:
                return 401, 'DPoP error="use_dpop_nonce"'
        needed = self.scopes.get(asks)
        if needed is not None and not self.issuer.is_good(token, *needed.split()):
            return 403, f'{challenge}, error="insufficient_scope", scope="{needed}"'
        return None

    def tokens_of(self, what: str) -> list[str]:
        """Return the tokens that requests of a method came with; empty for none."""
        found = [request.headers.get("authorization", "") for request in self.asked(what)]
        return [value.partition(" ")[2] for value in found]


class GuardedUrl(Guard, McpUrl):
    """A `McpUrl` that wants tokens.

    Args:
        issuer: Who issues them.
        revision: The revision that it speaks.
        session: The id that sessions get.
        capabilities: What it declares.
        replies: What answers other requests than those of `McpUrl`, by method.
    """

    def __init__(
        self,
        issuer: AuthorizationServer,
        revision: str = LATEST_MODERN,
        *,
        session: str | None = None,
        capabilities: Any = None,
        **replies: Any,
    ) -> None:
        super().__init__(revision, session=session, capabilities=capabilities, **replies)
        self.guarded_by(issuer)
