"""A hand-written authorization server on a real socket, which misbehaves as a test wants it.

It asks nobody: the authorization endpoint answers at once with the redirect. Tokens are opaque;
`is_good` says what a resource may do with one.
"""

import asyncio
import hashlib
import json
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from tests.interaction.connecting import PATIENCE
from tests.interaction.http_server import Handle, HttpRequest, HttpServer

FORM = "application/x-www-form-urlencoded"


class AuthorizationServer(HttpServer):
    """Issues tokens: use it as `async with`.

    Args:
        path: That of its issuer, such as `/tenant`.
        lifetime: Seconds that access tokens are good for; `None` to say nothing about that.
    """

    def __init__(self, *, path: str = "", lifetime: float | None = 3600.0) -> None:
        super().__init__()
        self.path = path
        self.lifetime = lifetime
        self.counts: Counter[str] = Counter()
        """How often each endpoint was asked: metadata, register, authorize, token, revoke; the
        kinds of grants, too."""
        self.forms: list[dict[str, str]] = []
        """What the token endpoint was asked, in order."""
        self.queries: list[dict[str, str]] = []
        """What the authorization endpoint was asked, in order."""
        self.proofs: list[dict[str, Any]] = []
        """The claims of the DPoP proofs that came with it."""
        self.clients: dict[str, dict[str, Any]] = {}
        self.failures: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        """What endpoints and grants answer before they work, each once."""
        self.answers: dict[str, Handle] = {}
        """What answers kinds of grants instead."""
        self.metadata: dict[str, Any] = {}
        """Members of the metadata that replace others; `None` to leave one out."""
        self.well_known = ("/.well-known/oauth-authorization-server",)
        """Where the metadata is; a path at the end of the issuer's, if it begins with `+`."""
        self.iss: str | None = None
        """What redirects say in `iss`; `None` for the truth, an empty text for nothing."""
        self.tells_refresh_token = True
        """Whether the answer to a refresh has a new refresh token in it."""
        self.nonce: str | None = None
        """What DPoP proofs must carry."""
        self.gate: asyncio.Event | None = None
        """What the token endpoint waits for."""
        self.tokens: dict[str, dict[str, Any]] = {}
        self._codes: dict[str, dict[str, str]] = {}
        self._refresh: dict[str, dict[str, Any]] = {}
        self._number = 0

    @property
    def issuer(self) -> str:
        return f"{self.origin}{self.path}"

    def document(self) -> dict[str, Any]:
        """Return the metadata."""
        document = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "revocation_endpoint": f"{self.issuer}/revoke",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }
        return {name: value for name, value in document.items() if value is not None}

    def is_good(self, token: str, *scopes: str) -> bool:
        """Tell whether an access token is good, and for these scopes."""
        found = self.tokens.get(token)
        return found is not None and set(scopes) <= set(found["scope"].split())

    def revoke_all(self) -> None:
        """Accept no access token any more that was issued so far; refresh tokens stay good."""
        self.tokens.clear()

    def forget_refresh_tokens(self) -> None:
        """Accept no refresh token any more that was issued so far."""
        self._refresh.clear()

    async def wait_for(self, endpoint: str, count: int) -> None:
        """Wait for the so manieth request of an endpoint."""
        async with asyncio.timeout(PATIENCE):
            while self.counts[endpoint] < count:
                self._news.clear()
                await self._news.wait()

    async def handle(self, request: HttpRequest) -> None:
        path = urlsplit(request.path).path
        if any(path == self._where(place) for place in self.well_known):
            endpoint = "metadata"
        else:
            endpoint = path.removeprefix(f"{self.path}/")
        answer = getattr(self, f"_{endpoint.replace('-', '_')}", None)
        if answer is None or endpoint not in _ENDPOINTS:
            self.counts[path] += 1
            await request.answer(404, b"{}")
            return
        self.counts[endpoint] += 1
        self._news.set()
        if self.failures.get(endpoint):
            status, body = self.failures[endpoint].pop(0)
            await request.json(body, status)
            return
        await answer(request)

    def _where(self, place: str) -> str:
        return f"{self.path}{place[1:]}" if place.startswith("+") else f"{place}{self.path}"

    async def _metadata(self, request: HttpRequest) -> None:
        await request.json(self.document())

    async def _register(self, request: HttpRequest) -> None:
        client = json.loads(request.body)
        client["client_id"] = f"client-{len(self.clients) + 1}"
        self.clients[client["client_id"]] = client
        await request.json(client, 201)

    async def _authorize(self, request: HttpRequest) -> None:
        query = _only(parse_qs(urlsplit(request.path).query))
        self.queries.append(query)
        back: dict[str, str] = {"state": query["state"]}
        failure = self.failures.get("login")
        if failure:
            back |= failure.pop(0)[1]
        else:
            back["code"] = self._new("code")
            self._codes[back["code"]] = query
        iss = self.issuer if self.iss is None else self.iss
        if iss:
            back["iss"] = iss
        location = f"{query['redirect_uri']}?{urlencode(back)}"
        await request.answer(302, headers=[("Location", location)])

    async def _revoke(self, request: HttpRequest) -> None:
        form = _only(parse_qs(request.body.decode()))
        self.tokens.pop(form["token"], None)
        self._refresh.pop(form["token"], None)
        await request.answer(200)

    async def _token(self, request: HttpRequest) -> None:
        form = _only(parse_qs(request.body.decode()))
        form |= _client_of(request)
        kind = form["grant_type"].rpartition(":")[2]
        self.forms.append(form)
        self.counts[kind] += 1
        proof = request.headers.get("dpop")
        if proof is not None:
            self.proofs.append(claims_of(proof))
            if self.nonce is not None and self.proofs[-1].get("nonce") != self.nonce:
                headers = [("DPoP-Nonce", self.nonce)]
                await request.json({"error": "use_dpop_nonce"}, 400, headers=headers)
                return
        if self.gate is not None:
            await self.gate.wait()
        if self.failures.get(kind):
            status, body = self.failures[kind].pop(0)
            await request.json(body, status)
            return
        if (
            form.get("client_id", "").startswith("client-")
            and form["client_id"] not in self.clients
        ):
            await request.json({"error": "invalid_client"}, 401)
            return
        if kind in self.answers:
            await self.answers[kind](request)
            return
        granted = self._granted(form)
        if granted is None:
            await request.json({"error": "invalid_grant"}, 400)
            return
        is_refresh = form["grant_type"] == "refresh_token"
        await request.json(
            self._issue(
                granted,
                kind="DPoP" if proof else "Bearer",
                has_refresh=not is_refresh or self.tells_refresh_token,
            )
        )

    def _granted(self, form: dict[str, str]) -> dict[str, Any] | None:
        """Return what a grant allows; `None` if it is worth nothing."""
        match form["grant_type"]:
            case "authorization_code":
                query = self._codes.pop(form["code"], None)
                if query is None or not _is_proven(form, query):
                    return None
                return {"scope": query.get("scope", ""), "resource": query["resource"]}
            case "refresh_token" if self.tells_refresh_token:
                return self._refresh.pop(form["refresh_token"], None)  # good for once
            case "refresh_token":
                return self._refresh.get(form["refresh_token"])
            case _:
                return {"scope": form.get("scope", ""), "resource": form.get("resource", "")}

    def _issue(self, granted: dict[str, Any], *, kind: str, has_refresh: bool) -> dict[str, Any]:
        token = self._new("access")
        self.tokens[token] = granted
        issued = {"access_token": token, "token_type": kind, "scope": granted["scope"]}
        if self.lifetime is not None:
            issued["expires_in"] = self.lifetime
        if has_refresh:
            issued["refresh_token"] = self._new("refresh")
            self._refresh[issued["refresh_token"]] = granted
        return issued

    def _new(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}-of-{self.port}"


_ENDPOINTS = ("metadata", "register", "authorize", "token", "revoke")


def claims_of(jwt: str) -> dict[str, Any]:
    """Return what a JWT says, unverified."""
    part = jwt.split(".")[1]
    claims: dict[str, Any] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def _only(query: dict[str, list[str]]) -> dict[str, str]:
    return {name: value for name, (value,) in query.items()}


def _client_of(request: HttpRequest) -> dict[str, str]:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme != "Basic":
        return {}
    client_id, _, secret = b64decode(value).decode().partition(":")
    return {"client_id": unquote_plus(client_id), "client_secret": unquote_plus(secret)}


def _is_proven(form: dict[str, str], query: dict[str, str]) -> bool:
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode() == query["code_challenge"]
