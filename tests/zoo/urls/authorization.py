"""Servers that want a token, and break the way on which a client gets one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.interaction.http_server import HttpRequest, HttpServer
from tests.zoo.urls.patients import Place, always, patient

RESOURCE_PATH = "/.well-known/oauth-protected-resource/mcp"
ISSUER_PATH = "/.well-known/oauth-authorization-server"


class Guarded(HttpServer):
    """An MCP server and its authorization server at one origin, both sound at first.

    `resource` and `issuer` are members of the metadata that replace others, `None` to leave one
    out; `answers` is what answers at a path instead.
    """

    def __init__(self) -> None:
        super().__init__()
        self.challenge: str | None = 'Bearer resource_metadata="{metadata}"'
        self.resource: dict[str, Any] = {}
        self.issuer: dict[str, Any] = {}
        self.answers: dict[str, Any] = {}

    @property
    def metadata_url(self) -> str:
        return f"{self.origin}{RESOURCE_PATH}"

    async def handle(self, request: HttpRequest) -> None:
        answer = self.answers.get(request.path)
        if answer is not None:
            await answer(request)
        elif request.path == "/mcp":
            headers = []
            if self.challenge is not None:
                said = self.challenge.format(metadata=self.metadata_url)
                headers.append(("WWW-Authenticate", said))
            await request.answer(401, b"who are you", kind="text/plain", headers=headers)
        elif request.path == RESOURCE_PATH:
            found = {"resource": self.url, "authorization_servers": [self.origin]}
            await request.json(_changed(found, self.resource))
        elif request.path == ISSUER_PATH:
            await request.json(_changed(self._sound_issuer(), self.issuer))
        else:
            await request.answer(404)

    def _sound_issuer(self) -> dict[str, Any]:
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }


def _changed(members: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**members, **changes}.items() if value is not None}


@asynccontextmanager
async def guarded(
    *, resource: dict[str, Any] | None = None, issuer: dict[str, Any] | None = None, **answers: Any
) -> AsyncIterator[Guarded]:
    server = Guarded()
    server.resource, server.issuer = resource or {}, issuer or {}
    server.answers = {f"/{path}": answer for path, answer in answers.items()}
    async with server:
        yield server


@patient("challenge-missing")
async def says_nothing_with_401() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.challenge = None
        yield Place(server.url)


@patient("challenge-not-bearer")
async def basic_login_of_a_proxy() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.challenge = 'Basic realm="staging"'
        yield Place(server.url)


@patient("token-refused")
async def refuses_the_token() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.challenge = 'Bearer error="invalid_token", error_description="it has expired"'
        yield Place(server.url, headers={"Authorization": "Bearer a-secret-token"})


@patient("metadata-not-https")
async def names_metadata_without_tls() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.challenge = 'Bearer resource_metadata="http://mcp.example/.well-known/x"'
        yield Place(server.url)


@patient("resource-metadata-missing")
async def has_no_metadata() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.answers = {RESOURCE_PATH: always(404)}
        yield Place(server.url)


@patient("resource-metadata-missing")
async def has_metadata_of_2025_03_26_alone() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.challenge = "Bearer"
        server.answers = {RESOURCE_PATH: always(404)}
        yield Place(server.url)


@patient("metadata-wants-token")
async def guards_its_metadata() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.answers = {RESOURCE_PATH: always(401)}
        yield Place(server.url)


@patient("metadata-broken")
async def has_a_page_for_every_path() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.answers = {RESOURCE_PATH: always(200, b"<!doctype html><p>hello")}
        yield Place(server.url)


@patient("resource-mismatch")
async def calls_itself_by_an_inner_name() -> AsyncIterator[Place]:
    async with guarded(resource={"resource": "http://127.0.0.1:8000/mcp"}) as server:
        yield Place(server.url)


@patient("no-authorization-server")
async def names_no_issuer() -> AsyncIterator[Place]:
    async with guarded(resource={"authorization_servers": None}) as server:
        yield Place(server.url)


@patient("issuer-not-https")
async def names_an_issuer_without_tls() -> AsyncIterator[Place]:
    named = {"authorization_servers": ["http://login.example"]}
    async with guarded(resource=named) as server:
        yield Place(server.url)


@patient("authorization-server-unreachable")
async def names_an_inner_issuer() -> AsyncIterator[Place]:
    named = {"authorization_servers": ["https://keycloak.invalid/realms/a"]}
    async with guarded(resource=named) as server:
        yield Place(server.url)


@patient("server-metadata-missing")
async def has_no_metadata_of_the_issuer() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.answers = {ISSUER_PATH: always(404)}
        yield Place(server.url)


@patient("issuer-mismatch")
async def issuer_with_a_slash() -> AsyncIterator[Place]:
    async with guarded() as server:
        server.issuer = {"issuer": f"{server.origin}/"}
        yield Place(server.url)


@patient("endpoint-missing")
async def names_no_token_endpoint() -> AsyncIterator[Place]:
    async with guarded(issuer={"token_endpoint": None}) as server:
        yield Place(server.url)


@patient("endpoint-not-https")
async def endpoints_without_tls() -> AsyncIterator[Place]:
    async with guarded(issuer={"token_endpoint": "http://login.example/token"}) as server:
        yield Place(server.url)


@patient("pkce-not-declared")
async def says_nothing_of_pkce() -> AsyncIterator[Place]:
    async with guarded(issuer={"code_challenge_methods_supported": None}) as server:
        yield Place(server.url)


@patient("code-flow-missing")
async def gives_out_no_codes() -> AsyncIterator[Place]:
    async with guarded(issuer={"grant_types_supported": ["client_credentials"]}) as server:
        yield Place(server.url)


@patient("no-registration")
async def lets_nobody_register() -> AsyncIterator[Place]:
    async with guarded(issuer={"registration_endpoint": None}) as server:
        yield Place(server.url)


@patient("public-clients-refused")
async def wants_secrets_of_everybody() -> AsyncIterator[Place]:
    wrong = {
        "registration_endpoint": None,
        "client_id_metadata_document_supported": True,
        "token_endpoint_auth_methods_supported": ["private_key_jwt"],
    }
    async with guarded(issuer=wrong) as server:
        yield Place(server.url)
